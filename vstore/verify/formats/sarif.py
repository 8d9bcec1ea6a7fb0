"""SARIF 2.1.0: a run with all rules, a result a finding.

GitHub refuses a file in which a result lacks a physical location with a line, so each
result has one: the file that it is about, or the one that marks the package. Packages are
binary, so the line is always the first; the byte offset stands beside it.
"""

from __future__ import annotations

from typing import Any, Final

from vstore import __version__
from vstore.objects.display import visible
from vstore.verify.findings import Rule, Severity
from vstore.verify.formats.areas import area_of
from vstore.verify.formats.places import Located, located, message, package_path, uri
from vstore.verify.formats.plain import document
from vstore.verify.formats.run import Run
from vstore.verify.report import Report
from vstore.verify.rules import RULES

__all__ = ["render"]

_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVEL: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "note": "note"}
_INDEX: Final = {code: position for position, code in enumerate(RULES)}


def render(run: Run) -> bytes:
    """The run as one SARIF log with one run."""
    driver = {
        "name": "vstore",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(rule) for rule in RULES.values()],
    }
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [_invocation(run)],
                "columnKind": "unicodeCodePoints",
                "results": [_result(one) for one in located(run)],
                "properties": {"packages": [_package(one, run) for one in run.reports]},
            }
        ],
    }
    return document(log)


def _rule(rule: Rule) -> dict[str, Any]:
    hint = rule.hint
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.slug.split("-")),
        "shortDescription": {"text": rule.summary[0].upper() + rule.summary[1:] + "."},
        "fullDescription": {"text": hint.means},
        "help": {
            "text": hint.text(),
            "markdown": (
                f"{hint.means}\n\n**What still holds:** {hint.holds}\n\n**What to do:** {hint.do}"
            ),
        },
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {
            "tags": ["vstore", area_of(rule.code)],
            "precision": "very-high",
            "problem.severity": {"note": "recommendation"}.get(rule.severity, rule.severity),
        },
    }


def _result(one: Located) -> dict[str, Any]:
    finding = one.finding
    properties = {
        "object": finding.object,
        "pointer": None if finding.pointer is None else visible(finding.pointer),
        "offset": finding.offset,
        "expected": None if finding.expected is None else visible(finding.expected),
        "actual": None if finding.actual is None else visible(finding.actual),
        "affects": [visible(name) for name in finding.affects],
        "package": visible(one.report.path),
        "file": None if finding.file is None else visible(finding.file),
        "fingerprint": finding.fingerprint,
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": _INDEX[finding.code],
        "level": _LEVEL[finding.severity],
        "message": {"text": message(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(one.path)},
                    "region": {"startLine": 1},
                }
            }
        ],
        "partialFingerprints": {
            "vstoreFinding/v1": one.fingerprint,
            # The one that GitHub compares.
            "primaryLocationLineHash": f"{one.fingerprint[:16]}:1",
        },
        "properties": {key: value for key, value in properties.items() if value not in (None, [])},
    }


def _invocation(run: Run) -> dict[str, Any]:
    notes: list[dict[str, Any]] = []
    for report in run.reports:
        path = package_path(report, run)
        texts = [f"{visible(path)}: not checked: {visible(one)}" for one in report.not_checked]
        if report.unlisted:
            texts.append(f"{visible(path)}: {report.unlisted} more findings are not listed")
        notes += [_notification("note", text) for text in texts]
    notes += [_notification("warning", f"{visible(one)}: not begun") for one in run.skipped]
    invocation: dict[str, Any] = {
        # Whether vstore came to a verdict, whatever that is.
        "executionSuccessful": run.exit_code in (0, 1),
        "exitCode": run.exit_code,
    }
    if notes:
        invocation["toolExecutionNotifications"] = notes
    return invocation


def _notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}}


def _package(report: Report, run: Run) -> dict[str, Any]:
    return {
        "path": visible(package_path(report, run)),
        "verdict": report.verdict,
        "exitCode": report.exit_code,
        "head": report.head,
        "caseId": report.case_id,
        "packageId": report.package_id,
        "counts": dict(report.by_severity),
    }
