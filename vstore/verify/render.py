"""Reports as lines and as plain values, which the formats put together. Pure: what a terminal
does with it is the command line's.
"""

from __future__ import annotations

import textwrap
from typing import Any, Final, NamedTuple

from vstore.objects.display import visible
from vstore.verify.findings import Finding, Hint
from vstore.verify.report import Report

__all__ = ["JSON_VERSION", "Line", "finding_value", "report_value", "text_lines"]

#: Grows by addition only; a member never changes its meaning.
JSON_VERSION: Final = 1
_INDENT: Final = "    "


class Line(NamedTuple):
    """One line of text, safe to show, and what it is: the command line chooses the colour."""

    #: ``verdict-verified``, ``verdict-faulty``, ``verdict-not-verified``, ``error``,
    #: ``warning``, ``note``, ``detail``, ``hint`` or ``plain``.
    style: str
    text: str


def text_lines(report: Report, *, width: int = 80, hints: bool = True) -> list[Line]:
    """A report for people.

    Args:
        report: What was found.
        width: Columns to wrap at, 40 or more.
        hints: Explain each kind of finding where it is met first.
    """
    lines: list[Line] = []
    explained: set[str] = set()
    for finding in report.findings:
        lines += _finding_lines(finding, width)
        if hints and finding.code not in explained:
            explained.add(finding.code)
            lines += _hint_lines(finding.rule.hint, width)
        lines.append(Line("plain", ""))
    if report.unlisted:
        lines.append(Line("plain", f"{report.unlisted} more findings are not listed."))
    if report.not_checked:
        lines.append(Line("plain", "Not checked:"))
        for one in report.not_checked:
            lines += [Line("detail", text) for text in _wrap(visible(one), width, "  - ", "    ")]
    lines += [Line("detail", one) for one in _wrap(_counts(report), width, "", "")]
    if report.head is not None:
        lines.append(Line("detail", f"head {report.head}"))
    style = "verdict-" + report.verdict.replace(" ", "-")
    lines.append(Line(style, f"{visible(report.path)}: {report.verdict}{_tally(report)}"))
    return lines


def report_value(report: Report) -> dict[str, Any]:
    """A report as a plain JSON value; no member holds text that a terminal acts on."""
    return {
        "format": "vstore-verify-report",
        "version": JSON_VERSION,
        "path": visible(report.path),
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "head": report.head,
        "case_id": report.case_id,
        "package_id": report.package_id,
        "findings": [finding_value(one) for one in report.findings],
        "unlisted_findings": report.unlisted,
        "by_severity": {name: report.by_severity[name] for name in ("error", "warning", "note")},
        "not_checked": [visible(one) for one in report.not_checked],
        "counts": {
            "generations": report.counts.generations,
            "records": report.counts.records,
            "ledger_entries": report.counts.entries,
            "objects": report.counts.objects,
            "bytes": report.counts.bytes,
            "recomputed_replies": report.counts.recomputed,
        },
        "milliseconds": round(report.seconds * 1000),
    }


def finding_value(finding: Finding) -> dict[str, Any]:
    """A finding as a plain JSON value."""
    return {
        "code": finding.code,
        "slug": finding.rule.slug,
        "severity": finding.severity,
        "object": finding.object,
        "pointer": _safe(finding.pointer),
        "file": _safe(finding.file),
        "offset": finding.offset,
        "expected": _safe(finding.expected),
        "actual": _safe(finding.actual),
        "message": visible(finding.message),
        "hint": finding.rule.hint.text(),
        "affects": [visible(one) for one in finding.affects],
        "fingerprint": finding.fingerprint,
    }


def _finding_lines(finding: Finding, width: int) -> list[Line]:
    head = f"{finding.severity} {finding.code} {finding.rule.slug}: {visible(finding.message)}"
    lines = [Line(finding.severity, one) for one in _wrap(head, width, "", _INDENT)]
    place = _place(finding)
    if place:
        lines.append(Line("detail", f"{_INDENT}at {place}"))
    for name in ("expected", "actual"):
        value = getattr(finding, name)
        if value is not None:
            lines.append(Line("detail", f"{_INDENT}{name:<8} {visible(value)}"))
    if finding.affects:
        affected = "affects  " + ", ".join(visible(one) for one in finding.affects)
        lines += [
            Line("detail", one) for one in _wrap(affected, width, _INDENT, _INDENT + "         ")
        ]
    return lines


def _hint_lines(hint: Hint, width: int) -> list[Line]:
    parts = (hint.means, f"What still holds: {hint.holds}", f"What to do: {hint.do}")
    return [Line("hint", one) for part in parts for one in _wrap(part, width, _INDENT, _INDENT)]


def _place(finding: Finding) -> str:
    parts: list[str] = []
    if finding.object is not None:
        parts.append(finding.object)
    if finding.pointer is not None:
        parts.append(visible(finding.pointer) or "(whole)")
    if finding.file is not None:
        parts.append(f"in {visible(finding.file)}" if parts else visible(finding.file))
    if finding.offset is not None:
        parts.append(f"offset {finding.offset}")
    return " ".join(parts)


def _counts(report: Report) -> str:
    counts = report.counts
    named = (
        (counts.generations, "generation", "generations"),
        (counts.records, "record", "records"),
        (counts.entries, "ledger entry", "ledger entries"),
        (counts.objects, "object", "objects"),
        (counts.bytes, "byte", "bytes"),
        (counts.recomputed, "reply recomputed", "replies recomputed"),
    )
    parts = [f"{count} {one if count == 1 else many}" for count, one, many in named]
    return f"{', '.join(parts)}, {report.seconds:.2f} s"


def _tally(report: Report) -> str:
    names = [
        f"{count} {name}{'' if count == 1 else 's'}"
        for name, count in (
            (name, report.by_severity[name]) for name in ("error", "warning", "note")
        )
        if count
    ]
    return f" ({', '.join(names)})" if names else ""


def _wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    ) or [""]


def _safe(text: str | None) -> str | None:
    return None if text is None else visible(text)
