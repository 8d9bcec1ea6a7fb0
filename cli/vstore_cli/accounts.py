"""Accounts and open actions as the ledger's entries state them; read-only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from vstore.budget.documents import (
    AccountFigures,
    BudgetPolicy,
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
from vstore.errors import NotFoundError
from vstore.evidence.documents import EvidenceIndex, EvidenceRecord
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.package.pinned import PinnedPackage
from vstore_cli.ledger_happenings import ledger_entries

__all__ = [
    "Accounts",
    "OpenAction",
    "hypothesis_of",
    "indexed_records",
    "new_action_id",
    "read_accounts",
]

_NUMBERED: Final = re.compile(r"query-([0-9]{4,9})")
#: How many reservations are looked at for the newest numbered one.
_LOOK_BACK: Final = 1_000


class OpenAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action whose credits are reserved."""

    hypothesis: str
    action: str
    operation: str
    cost: int
    #: ``reserved``, ``answered`` (a record exists, the ledger doesn't know yet), ``recorded``.
    status: str
    record: str | None

    def value(self) -> dict[str, Any]:
        """The JSON value."""
        return {
            "hypothesis_id": self.hypothesis,
            "action_id": self.action,
            "operation": self.operation,
            "cost": self.cost,
            "status": self.status,
            "record_id": self.record,
        }


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """The accounts of one analysis revision, in the order in which they were opened."""

    revision: int
    figures: list[AccountFigures]
    open_actions: list[OpenAction]
    policy: BudgetPolicy | None


class _Walk:
    """What a walk back through the ledger has found so far."""

    def __init__(self, expected: list[str]) -> None:
        self.figures: dict[str, AccountFigures] = {}
        self.order = expected
        self.open: dict[str, Reserve] = {}
        self.recorded: dict[str, str | None] = {}
        self._closed: set[str] = set()
        self._unexplained = 0

    def take(self, entry: LedgerEntry) -> None:
        """Go one entry further back."""
        for one in entry.accounts:
            if one.hypothesis_id not in self.figures:
                self.figures[one.hypothesis_id] = one
                self._unexplained += one.reserved
        event = entry.event
        if isinstance(event, Initialise):
            self.order = [grant.hypothesis_id for grant in event.grants]
        elif isinstance(event, Reserve):
            if event.action_id not in self._closed:
                self.open[event.action_id] = event
                self._unexplained -= event.cost
        elif isinstance(event, RecordEvidence):
            self.recorded[event.action_id] = event.record_id
        elif isinstance(event, RecordResult):
            self.recorded[event.action_id] = None
        elif isinstance(event, Settle | Void | Fail):
            self._closed.add(event.action_id)

    @property
    def complete(self) -> bool:
        """Whether every account is known, and every reserved credit has its action."""
        return not self._unexplained and all(one in self.figures for one in self.order)


def read_accounts(package: PinnedPackage) -> Accounts | None:
    """The accounts of the current revision; None where no budget was initialised.

    Reads back through the ledger only until every figure has its source.
    """
    objects = package.objects
    hypotheses = package.hypotheses()
    walk = _Walk([] if hypotheses is None else [one.id for one in hypotheses.hypotheses])
    for _, entry in ledger_entries(objects, package.artifact("budget_ledger")):
        if entry.analysis_revision != package.revision or isinstance(entry.event, Reopen):
            break
        walk.take(entry)
        if walk.order and walk.complete:
            break
    if not walk.figures:
        return None
    waiting = {action for action in walk.open if action not in walk.recorded}
    answered = _answered(package, waiting) if waiting else {}
    policy = package.artifact("budget_policy")
    return Accounts(
        revision=package.revision,
        figures=[walk.figures[name] for name in walk.order if name in walk.figures],
        open_actions=[
            OpenAction(
                hypothesis=one.hypothesis_id,
                action=action,
                operation=one.operation,
                cost=one.cost,
                status="recorded"
                if action in walk.recorded
                else "answered"
                if action in answered
                else "reserved",
                record=walk.recorded.get(action) or answered.get(action),
            )
            for action, one in reversed(walk.open.items())
        ],
        policy=None if policy is None else objects.document(policy, BudgetPolicy),
    )


def hypothesis_of(package: PinnedPackage, action: str) -> str:
    """The hypothesis that an action of the current revision was reserved for.

    Raises:
        NotFoundError: No action of this id (``unknown_action``).
    """
    for reserve in _reservations(package):
        if reserve.action_id == action:
            return reserve.hypothesis_id
    raise NotFoundError(
        "no action of this id was reserved in this revision",
        kind="unknown_action",
        hint="vstore budget show lists the open ones",
    )


def new_action_id(package: PinnedPackage) -> str:
    """The action id after the newest one of the form ``query-0001``.

    Normally it is free; whoever reserves it compares what came back, since a person may
    have taken any id by hand.
    """
    for reserve in islice(_reservations(package), _LOOK_BACK):
        found = _NUMBERED.fullmatch(reserve.action_id)
        if found is not None:
            return f"query-{int(found[1]) + 1:04d}"
    return "query-0001"


def _reservations(package: PinnedPackage) -> Iterator[Reserve]:
    for _, entry in ledger_entries(package.objects, package.artifact("budget_ledger")):
        if entry.analysis_revision != package.revision:
            return
        if isinstance(entry.event, Reserve):
            yield entry.event


def indexed_records(
    objects: ObjectSource, head: ObjectId | None
) -> Iterator[tuple[EvidenceIndex, str, ObjectId]]:
    """Record ids and their objects with the index that added them, newest first."""
    while head is not None:
        index = objects.document(head, EvidenceIndex)
        for one in reversed(index.records):
            yield index, one.id, one.object
        head = index.parent


def _answered(package: PinnedPackage, waiting: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, name, oid in indexed_records(package.objects, package.artifact("evidence_index")):
        if index.analysis_revision != package.revision or len(found) == len(waiting):
            break
        record = package.objects.document(oid, EvidenceRecord)
        if record.action_id in waiting:
            found[record.action_id] = name
    return found
