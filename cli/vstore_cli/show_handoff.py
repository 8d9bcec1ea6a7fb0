"""Test requests and answers for people: every text in full, nothing raw."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from vstore.handoff.documents import (
    AsyncTestFeedback,
    AsyncTestRequest,
    Attachment,
    EnvironmentFact,
)
from vstore.objects.ids import ObjectId
from vstore_cli.terminal import Terminal, safe

__all__ = ["attachment_line", "feedback_lines", "request_lines"]

_INDENT = "  "


def request_lines(terminal: Terminal, request: AsyncTestRequest, oid: ObjectId) -> list[str]:
    """The lines that show a request."""
    lines = [
        terminal.paint(f"test {request.request_id}", "bold"),
        f"object       {terminal.paint(oid, 'id')}",
        f"case         {request.case_id}, revision {request.analysis_revision}",
        f"hypothesis   {request.hypothesis_id}, action {request.action_id}",
        f"executor     {request.executor}",
        f"deadline     {request.deadline}",
    ]
    lines += ["", *_paragraph(terminal, request.question, "")]
    if request.prerequisites:
        lines += ["", "First:"]
        for one in request.prerequisites:
            lines += _paragraph(terminal, one, "- ")
    lines += ["", "Steps:"]
    for number, one in enumerate(request.steps, 1):
        lines += _paragraph(terminal, one, f"{number}. ")
    lines += ["", "To observe:"]
    for wanted in request.observations:
        kind = "" if wanted.kind == "text" else f" ({wanted.kind.replace('_', ' or ')})"
        lines += _paragraph(terminal, f"{wanted.text}{kind}", f"{wanted.id}: ")
    return lines + _environment("Environment asked for:", request.environment)


def feedback_lines(terminal: Terminal, feedback: AsyncTestFeedback, oid: ObjectId) -> list[str]:
    """The lines that show an answer."""
    lines = [
        f"{terminal.paint('answer', 'bold')} {feedback.outcome}",
        f"object       {terminal.paint(oid, 'id')}",
        f"tested by    {safe(feedback.tester_id)}",
        f"confirmed    {feedback.confirmed_at} by {safe(feedback.confirmed_by)}",
    ]
    if feedback.observations:
        lines += ["", "Observed:"]
        for one in feedback.observations:
            lines += _paragraph(terminal, one.text, f"{one.id or 'also'}: ")
    if feedback.remarks:
        lines += ["", "Remarks:", *_paragraph(terminal, feedback.remarks, "")]
    lines += _environment("Environment:", feedback.environment)
    if feedback.attachments:
        lines += ["", "Attachments:"]
        lines += [_INDENT + attachment_line(terminal, one) for one in feedback.attachments]
    return lines


def attachment_line(terminal: Terminal, one: Attachment) -> str:
    """An attachment in one line: its id, size, type and name."""
    return (
        f"{terminal.paint(one.object, 'id')}  {one.size:,} bytes  {one.media_type}  "
        f"{safe(one.name)}"
    )


def _environment(title: str, facts: Iterable[EnvironmentFact]) -> list[str]:
    lines = [f"{_INDENT}{safe(one.name)} = {safe(one.value)}" for one in facts]
    return ["", title, *lines] if lines else []


def _paragraph(terminal: Terminal, text: str, start: str) -> list[str]:
    """A text with its own lines kept, wrapped, and indented behind ``start``."""
    first, rest = _INDENT + start, _INDENT + " " * len(start)
    width = max(40, (terminal.line_width or 80) - 1)
    lines: list[str] = []
    for line in text.splitlines() or [""]:
        lines += textwrap.wrap(
            safe(line.expandtabs(8)),
            width,
            initial_indent=rest if lines else first,
            subsequent_indent=rest,
            break_on_hyphens=False,
        ) or [rest if lines else first]
    return lines
