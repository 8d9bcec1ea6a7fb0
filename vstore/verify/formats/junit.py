"""JUnit XML: a suite a package, a test case an area of checks.

The names of test cases are the same in every run, so that CI shows what broke and what was
mended. It satisfies both schemas in use, Ant's and that of Jenkins' xUnit plug-in: a test
case has one outcome at the most, remarks stand in the suite's output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vstore.objects.display import visible
from vstore.verify.findings import Finding
from vstore.verify.formats.areas import AreaResult, by_area
from vstore.verify.formats.places import message, package_path
from vstore.verify.formats.run import Run
from vstore.verify.report import Report

__all__ = ["render"]

_CLASS: Final = "vstore.verify"
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def render(run: Run) -> bytes:
    """The run as one document."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for number, report in enumerate(run.reports):
        lines += _suite(number, report, run)
    for number, path in enumerate(run.skipped, len(run.reports)):
        case = _case("package", "skipped", ["not begun"], "")
        lines += _frame(number, visible(path), run, "0", [], [case], [])
    lines.append("</testsuites>")
    return ("\n".join(lines) + "\n").encode("utf-8")


def _suite(number: int, report: Report, run: Run) -> list[str]:
    results = by_area(report)
    cases = [_area(one) for one in results]
    remarks = [_line(finding) for one in results for finding in one.remarks]
    if report.unlisted:
        remarks.append(f"{report.unlisted} more findings are not listed")
        if report.by_severity["error"] > sum(len(one.errors) for one in results):
            cases.append(_case("unlisted", "failure", ["errors among the unlisted findings"], ""))
    properties = [
        ("verdict", report.verdict),
        ("head", report.head or ""),
        ("case_id", report.case_id or ""),
        ("package_id", report.package_id or ""),
    ]
    path = visible(package_path(report, run))
    return _frame(number, path, run, f"{report.seconds:.3f}", properties, cases, remarks)


def _frame(
    number: int,
    name: str,
    run: Run,
    seconds: str,
    properties: Sequence[tuple[str, str]],
    cases: Sequence[tuple[str, str]],
    remarks: Sequence[str],
) -> list[str]:
    outcomes = [outcome for outcome, _ in cases]
    counts = {
        "tests": len(cases),
        "failures": outcomes.count("failure"),
        "errors": outcomes.count("error"),
        "skipped": outcomes.count("skipped"),
        "time": seconds,
        "timestamp": run.at.removesuffix("Z"),
        "hostname": "localhost",
        "id": number,
        "package": _CLASS,
    }
    shown = "".join(f' {key}="{_text(str(value))}"' for key, value in counts.items())
    return [
        f'<testsuite name="{_text(name if name.strip() else ".")}"{shown}>',
        "<properties>",
        *(
            f'<property name="{_text(key)}" value="{_text(value)}"/>'
            for key, value in properties
            if value
        ),
        "</properties>",
        *(text for _, text in cases),
        "<system-out>" + "\n".join(_text(one) for one in remarks) + "</system-out>",
        "<system-err></system-err>",
        "</testsuite>",
    ]


def _area(result: AreaResult) -> tuple[str, str]:
    for outcome, findings in (("failure", result.errors), ("error", result.unjudged)):
        if findings:
            codes = ", ".join(dict.fromkeys(one.code for one in findings))
            more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
            lines = [f"{findings[0].code} {message(findings[0])}{more}", *_lines(findings)]
            return _case(result.name, outcome, lines, codes)
    if result.gaps:
        return _case(result.name, "skipped", ["; ".join(visible(one) for one in result.gaps)], "")
    return _case(result.name, "", [], "")


def _lines(findings: Sequence[Finding]) -> list[str]:
    lines: list[str] = []
    explained: set[str] = set()
    for one in findings:
        lines.append(_line(one))
        if one.code not in explained:
            explained.add(one.code)
            hint = one.rule.hint
            lines += [
                f"  {hint.means}",
                f"  What still holds: {hint.holds}",
                f"  What to do: {hint.do}",
            ]
    return lines


def _line(finding: Finding) -> str:
    place = "" if finding.file is None else f"; in {visible(finding.file)}"
    if finding.offset is not None:
        place += f" offset {finding.offset}"
    head = f"{finding.severity} {finding.code} {finding.rule.slug}"
    return f"{head}: {message(finding)}{place}"


def _case(name: str, outcome: str, lines: Sequence[str], kind: str) -> tuple[str, str]:
    """The outcome of a test case, and its XML; the first line is its message."""
    head = f'<testcase classname="{_CLASS}" name="{_text(name)}" time="0"'
    if not outcome:
        return outcome, head + "/>"
    of_type = f' type="{_text(kind)}"' if kind else ""
    body = "\n".join(_text(one) for one in lines[1:])
    inner = f'<{outcome}{of_type} message="{_text(lines[0])}">{body}</{outcome}>'
    return outcome, f"{head}>{inner}</testcase>"


def _text(text: str) -> str:
    """Text for an attribute or an element: nothing that XML forbids or reads as markup."""
    return "".join(_ESCAPES.get(one, one) for one in visible(text))
