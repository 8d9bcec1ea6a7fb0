"""What happened in the ledger in one generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vstore.budget.documents import (
    Fail,
    Initialise,
    LedgerEntry,
    RecordEvidence,
    RecordResult,
    Reopen,
    Reserve,
    Settle,
    Void,
)
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.package.documents import Generation
from vstore_cli.happening import Happening
from vstore_cli.terminal import safe
from vstore_cli.words import count

__all__ = ["entry_happenings", "ledger_entries", "ledger_happenings"]

#: How far back the reservation of a settled action is looked for.
_LOOK_BACK = 100


def ledger_entries(
    objects: ObjectSource, head: ObjectId | None, until: ObjectId | None = None
) -> Iterator[tuple[ObjectId, LedgerEntry]]:
    """Ledger entries from ``head`` back, newest first, down to but without ``until``."""
    while head is not None and head != until:
        entry = objects.document(head, LedgerEntry)
        yield head, entry
        head = entry.parent


def ledger_happenings(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    """What happened in the ledger in a generation, given its parent, in order."""
    head = generation.artifacts.get("budget_ledger")
    until = None if parent is None else parent.artifacts.get("budget_ledger")
    if head is None or head == until:
        return []
    entries = list(ledger_entries(objects, head, until))
    return [
        happening
        for _, entry in reversed(entries)
        for happening in entry_happenings(objects, entry)
    ]


def entry_happenings(objects: ObjectSource, entry: LedgerEntry) -> list[Happening]:
    """What one ledger entry says."""
    event = entry.event
    if isinstance(event, Initialise):
        return [
            Happening(
                kind="budget.initialise",
                what=f"granted {count(one.credits, 'credit')}",
                hypothesis=one.hypothesis_id,
            )
            for one in event.grants
        ]
    if isinstance(event, Reserve):
        return [
            Happening(
                kind="budget.reserve",
                what=f"reserved {event.action_id} for {event.operation}",
                hypothesis=event.hypothesis_id,
                action=event.action_id,
                operation=event.operation,
                cost=event.cost,
            )
        ]
    if isinstance(event, Reopen):
        return _reopened(event)
    return [_closing(objects, entry)]


def _closing(objects: ObjectSource, entry: LedgerEntry) -> Happening:
    event = entry.event
    assert isinstance(event, RecordEvidence | RecordResult | Settle | Void | Fail)
    common: dict[str, Any] = {"hypothesis": event.hypothesis_id, "action": event.action_id}
    if isinstance(event, RecordEvidence):
        return Happening(
            kind="budget.record_evidence",
            what=f"recorded {event.record_id} for {event.action_id}",
            record=event.record_id,
            **common,
        )
    if isinstance(event, RecordResult):
        return Happening(
            kind="budget.record_result",
            what=f"recorded a result for {event.action_id}",
            reason=safe(event.result),
            **common,
        )
    cost = _cost(objects, entry, event.action_id)
    reason = safe(event.reason)
    if isinstance(event, Settle):
        stopped = any(one.status == "stopped" for one in entry.accounts)
        what = f"settled {event.action_id}, score {event.score}"
        return Happening(
            kind="budget.settle",
            what=what + (", account stopped" if stopped else ""),
            cost=cost,
            reward=event.reward,
            reason=reason,
            **common,
        )
    if isinstance(event, Void):
        what = f"voided {event.action_id}"
        return Happening(kind="budget.void", what=what, refund=cost, reason=reason, **common)
    what = f"failed {event.action_id}"
    return Happening(kind="budget.fail", what=what, cost=cost, reason=reason, **common)


def _reopened(event: Reopen) -> list[Happening]:
    reason = safe(event.reason)
    first = Happening(kind="budget.reopen", what="ended the accounts", reason=reason)
    return [
        first,
        *(
            Happening(
                kind="budget.reopen",
                what=f"{one.outcome} {one.action_id}",
                hypothesis=one.hypothesis_id,
                action=one.action_id,
            )
            for one in event.actions
        ),
    ]


def _cost(objects: ObjectSource, entry: LedgerEntry, action: str) -> int | None:
    for at, (_, earlier) in enumerate(ledger_entries(objects, entry.parent)):
        event = earlier.event
        if isinstance(event, Reserve) and event.action_id == action:
            return event.cost
        if at >= _LOOK_BACK or earlier.analysis_revision != entry.analysis_revision:
            break
    return None
