"""Findings and gaps by area of checks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from vstore.verify.findings import Finding
from vstore.verify.report import Report

__all__ = ["AREAS", "AreaResult", "by_area"]

#: Areas in the order of the report. Asking replies again is one of its own, for it can be
#: left out.
AREAS: Final = (
    "container",
    "objects",
    "history",
    "inputs",
    "evidence",
    "replies",
    "ledger",
    "handoff",
    "investigation",
    "trust",
    "verifier",
)
_OF_CODE: Final = {
    "CON": "container",
    "OBJ": "objects",
    "HIS": "history",
    "INP": "inputs",
    "EVD": "evidence",
    "LED": "ledger",
    "HND": "handoff",
    "INV": "investigation",
    "TRU": "trust",
    "VER": "verifier",
}
_REPLIES: Final = frozenset({"VS-EVD-022", "VS-EVD-027"})
#: Words of what was not checked, and whose check that is.
_OF_WORD: Final = {
    **{area: area for area in AREAS},
    "files": "container",
    "references": "objects",
    "generations": "history",
    "refs": "history",
    "head": "history",
    "records": "evidence",
    "reply": "replies",
    "request": "replies",
    "requests": "replies",
    "reservations": "evidence",
    "hypotheses": "history",
    "attachments": "handoff",
    "tests": "handoff",
}


@dataclass(slots=True)
class AreaResult:
    """What one area came to."""

    name: str
    errors: list[Finding] = field(default_factory=list)
    #: Findings that kept the verifier from judging.
    unjudged: list[Finding] = field(default_factory=list)
    #: Warnings and notes.
    remarks: list[Finding] = field(default_factory=list)
    #: What was not checked, one sentence each.
    gaps: list[str] = field(default_factory=list)


def by_area(report: Report) -> list[AreaResult]:
    """A report's findings and gaps by area; areas that this version has no check for are
    left out while nothing is said of them.
    """
    results = {name: AreaResult(name) for name in AREAS}
    for finding in report.findings:
        result = results[area_of(finding.code)]
        if finding.severity == "error":
            result.errors.append(finding)
        elif finding.rule.incomplete:
            result.unjudged.append(finding)
        else:
            result.remarks.append(finding)
    for gap in report.not_checked:
        for name in _areas_of_gap(gap):
            results[name].gaps.append(gap)
    known = set(_checked())
    if not report.counts.generations:
        # What was never reached is no pass, whether or not anything says so.
        read = {"container", "objects"} if report.counts.objects else set()
        for name in known - read - {"verifier"}:
            results[name].gaps.append("no generation was read")
    return [
        one
        for one in results.values()
        if one.name in known or one.errors or one.unjudged or one.remarks or one.gaps
    ]


def area_of(code: str) -> str:
    """The area of a finding's code; ``verifier`` for a code of no known area."""
    return "replies" if code in _REPLIES else _OF_CODE.get(code[3:6], "verifier")


def _areas_of_gap(gap: str) -> list[str]:
    """The areas that a sentence about something unchecked names before its colon."""
    named = re.findall("[a-z]+", gap.partition(":")[0])
    areas = dict.fromkeys(_OF_WORD[word] for word in named if word in _OF_WORD)
    # Better all than none: what wasn't checked must never look like a pass.
    return list(areas) or list(_checked())


def _checked() -> tuple[str, ...]:
    from vstore.verify.rules import RULES

    return tuple(dict.fromkeys(area_of(code) for code in RULES))
