"""Briefs for people: findings, and their history as ``git log -p`` shows a file's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vstore.investigation.context import brief_history
from vstore.investigation.documents import (
    BriefFinding,
    ChangeAudit,
    InvestigationAttempt,
    InvestigationStep,
    InvestigationUpdate,
    QueryMove,
    WorkingBrief,
    WorkingBriefs,
)
from vstore.investigation.reply_parts import Test
from vstore_cli.terminal import Terminal, safe
from vstore_cli.words import asked, short

if TYPE_CHECKING:
    from vstore.objects.document import Document
    from vstore.objects.memory import ObjectSource

__all__ = ["EFFECTS", "brief_lines", "history_lines", "investigation_lines", "move_text"]

#: What the findings do to the hypothesis, by the review's effect.
EFFECTS: Final = {
    "supports": "its findings speak for it",
    "contradicts": "its findings speak against it",
    "mixed": "its findings speak for and against it",
    "neutral": "it has no finding",
}
_SIGNS: Final = {"for": "+", "against": "-"}


def move_text(move: Any) -> str:
    """What is to be done next, in one line, safe to print."""
    if isinstance(move, QueryMove):
        return f"query {asked(move.arguments)} ({safe(move.reason)})"
    if isinstance(move, Test):
        return f"test by a person: {safe(move.question)} ({safe(move.reason)})"
    return f"finish ({safe(move.reason)})"


def investigation_lines(
    terminal: Terminal, objects: ObjectSource, document: Document
) -> list[str] | None:
    """The lines that show a document of an investigation; None for any other."""
    if isinstance(document, WorkingBrief):
        return [*brief_lines(terminal, document), "", *history_lines(terminal, objects, document)]
    if isinstance(document, WorkingBriefs):
        lines = []
        for one in document.briefs:
            brief = objects.document(one.brief, WorkingBrief)
            lines += [terminal.paint(one.brief, "id"), *brief_lines(terminal, brief), ""]
        return lines[:-1]
    if isinstance(document, InvestigationStep):
        update = objects.document(document.update, InvestigationUpdate)
        return [
            f"call {document.call_id} on {document.hypothesis_id}, {document.contract}",
            f"{update.confidence}: {EFFECTS[update.causal_review.effect]}",
            f"reply {short(document.reply)}, brief {short(document.brief)}",
            f"next: {move_text(update.next)}",
        ]
    if isinstance(document, InvestigationAttempt):
        kept = "not kept" if document.reply is None else short(document.reply)
        return [
            f"call {document.call_id} on {document.hypothesis_id}, {document.contract}",
            f"refused: {document.code}; {document.size:,} bytes, {kept}",
            *(
                f"  {one.rejection}  {one.details.field}: {one.details.requirement}"
                f"{': ' + ', '.join(one.details.ids) if one.details.ids else ''}"
                for one in document.hints
            ),
        ]
    return None


def brief_lines(terminal: Terminal, brief: WorkingBrief) -> list[str]:
    """A brief as it stands."""
    lines = [terminal.paint(f"brief of {brief.hypothesis_id}", "bold")]
    for one in brief.findings:
        lines += _finding(terminal, one)
    if not brief.findings:
        lines.append("  no finding")
    lines += [f"  unsure: {safe(one)}" for one in brief.uncertainties]
    lines.append(f"  next question: {safe(brief.next_question)}")
    return lines


def history_lines(terminal: Terminal, objects: ObjectSource, brief: WorkingBrief) -> list[str]:
    """What changed in a brief and in those before it, newest first, with the old texts."""
    versions = [brief, *(one for _, one in brief_history(objects, brief.parent))]
    lines: list[str] = []
    for position, now in enumerate(versions):
        before = versions[position + 1] if position + 1 < len(versions) else None
        number = len(versions) - position
        lines.append(terminal.paint(f"version {number}", "name"))
        lines += _changes(terminal, objects, before, now) or ["  no finding changed"]
    return lines


def _changes(
    terminal: Terminal, objects: ObjectSource, before: WorkingBrief | None, now: WorkingBrief
) -> list[str]:
    old = {} if before is None else {one.id: one for one in before.findings}
    new = {one.id: one for one in now.findings}
    reasons = {one.id: one.reason for one in now.changes if one.reason is not None}
    lines: list[str] = []
    for name in [*new, *(one for one in old if one not in new)]:
        if old.get(name) == new.get(name):
            continue
        if name in old and name in new:
            lines.append(f"  {terminal.paint(name, 'warn')} changed{_why(reasons, name)}")
            lines += _difference(terminal, old[name], new[name])
        elif name in new:
            lines.append(f"  {terminal.paint(name, 'good')} added{_why(reasons, name)}")
            lines += [terminal.paint("  + " + text, "good") for text in _texts(new[name])]
        else:
            lines.append(f"  {terminal.paint(name, 'bad')} removed{_why(reasons, name)}")
            lines += [terminal.paint("  - " + text, "bad") for text in _texts(old[name])]
    if now.change_audit is not None:
        audit = objects.document(now.change_audit, ChangeAudit)
        if audit.reordered:
            lines.append("  findings stand in another order")
    return lines


def _why(reasons: dict[str, str], name: str) -> str:
    return f": {safe(reasons[name])}" if name in reasons else ""


def _difference(terminal: Terminal, old: BriefFinding, new: BriefFinding) -> list[str]:
    lines = []
    for before, after in zip(_texts(old), _texts(new), strict=True):
        if before != after:
            lines.append(terminal.paint("  - " + before, "bad"))
            lines.append(terminal.paint("  + " + after, "good"))
    return lines


def _texts(finding: BriefFinding) -> list[str]:
    return [
        f"{finding.direction}: {safe(finding.text)}",
        f"scope: {safe(finding.scope)}",
        f"evidence: {', '.join(finding.evidence_refs)}",
    ]


def _finding(terminal: Terminal, finding: BriefFinding) -> list[str]:
    sign = _SIGNS[finding.direction]
    style = "good" if finding.direction == "for" else "bad"
    head = f"  {terminal.paint(finding.id, 'bold')} {terminal.paint(sign, style)} "
    return [
        head + safe(finding.text),
        f"          scope: {safe(finding.scope)}",
        f"          evidence: {', '.join(finding.evidence_refs)}",
    ]
