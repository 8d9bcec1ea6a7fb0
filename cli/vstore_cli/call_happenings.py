"""What happened to a model's calls in one generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vstore_cli.happening import Happening

if TYPE_CHECKING:
    from vstore.objects.ids import ObjectId
    from vstore.objects.memory import ObjectSource
    from vstore.package.documents import Generation

__all__ = ["call_happenings"]

#: Entries of one generation that are told; an import adds two.
_MOST = 100


def call_happenings(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    """The calls that were opened, answered or refused, in order."""
    head = generation.artifacts.get("investigation_log")
    until = None if parent is None else parent.artifacts.get("investigation_log")
    if head is None or head == until:
        return []
    return _told(objects, head, until)


def _told(objects: ObjectSource, head: ObjectId | None, until: ObjectId | None) -> list[Happening]:
    from vstore.investigation.documents import (
        Answered,
        InvestigationAttempt,
        InvestigationLog,
        InvestigationStep,
        InvestigationUpdate,
        Opened,
    )

    found: list[Happening] = []
    while head is not None and head != until and len(found) < _MOST:
        entry = objects.document(head, InvestigationLog)
        event = entry.event
        if isinstance(event, Opened):
            if not entry.imported:
                what = f"opened {event.call_id}"
                found.append(
                    Happening(kind="investigation.open", what=what, hypothesis=event.hypothesis_id)
                )
        elif isinstance(event, Answered):
            step = objects.document(event.step, InvestigationStep)
            update = objects.document(step.update, InvestigationUpdate)
            done = "imported" if entry.imported else "took the reply to"
            what = f"{done} {event.call_id}, {update.confidence}, next {_kind(update.next)}"
            kind = "investigation.import" if entry.imported else "investigation.reply"
            brief = f"{event.call_id} {update.confidence}, next {_kind(update.next)}"
            found.append(
                Happening(kind=kind, what=what, brief=brief, hypothesis=step.hypothesis_id)
            )
        else:
            attempt = objects.document(event.attempt, InvestigationAttempt)
            code = attempt.code.removeprefix("INVESTIGATION_").lower().replace("_", " ")
            what = f"refused the reply to {event.call_id}: {code}"
            kind = "investigation.import" if entry.imported else "investigation.rejected"
            brief = f"{event.call_id} refused: {code}"
            found.append(
                Happening(kind=kind, what=what, brief=brief, hypothesis=attempt.hypothesis_id)
            )
        head = entry.parent
    return found[::-1]


def _kind(move: object) -> str:
    return {"QueryMove": "a query", "Test": "a test"}.get(type(move).__name__, "finish")
