"""Accounts and open actions as the ledger's entries state them; read-only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vstore.budget.documents import (
    AccountFigures,
    BudgetPolicy,
    Fail,
    Initialise,
    RecordEvidence,
    RecordResult,
    Reopen,
    Reserve,
    Settle,
    Void,
)
from vstore.evidence.documents import EvidenceIndex, EvidenceRecord
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.package.pinned import PinnedPackage
from vstore_cli.happenings import ledger_entries

__all__ = ["Accounts", "OpenAction", "indexed_records", "read_accounts"]


@dataclass(frozen=True, kw_only=True)
class OpenAction:
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


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """The accounts of one analysis revision, in the order in which they were opened."""

    revision: int
    figures: list[AccountFigures]
    open_actions: list[OpenAction]
    #: Every action that was ever reserved in this revision, and for which hypothesis.
    actions: dict[str, str]
    policy: BudgetPolicy | None


def read_accounts(package: PinnedPackage) -> Accounts | None:
    """The accounts of the current revision; None where no budget was initialised.

    Reads the entries of this revision alone.
    """
    objects = package.objects
    figures: dict[str, AccountFigures] = {}
    order: list[str] = []
    reserved: dict[str, Reserve] = {}
    recorded: dict[str, str | None] = {}
    closed: set[str] = set()
    found = False
    for _, entry in ledger_entries(objects, package.artifact("budget_ledger")):
        if entry.analysis_revision != package.revision or isinstance(entry.event, Reopen):
            break
        found = True
        for one in entry.accounts:
            figures.setdefault(one.hypothesis_id, one)
        event = entry.event
        if isinstance(event, Initialise):
            order = [grant.hypothesis_id for grant in event.grants]
        elif isinstance(event, Reserve):
            reserved[event.action_id] = event
        elif isinstance(event, RecordEvidence):
            recorded[event.action_id] = event.record_id
        elif isinstance(event, RecordResult):
            recorded[event.action_id] = None
        elif isinstance(event, Settle | Void | Fail):
            closed.add(event.action_id)
    if not found:
        return None
    still_open = [one for action, one in reversed(reserved.items()) if action not in closed]
    waiting = {one.action_id for one in still_open if one.action_id not in recorded}
    answered = _answered(package, waiting) if waiting else {}
    policy = package.artifact("budget_policy")
    return Accounts(
        revision=package.revision,
        figures=[figures[name] for name in order if name in figures],
        open_actions=[
            OpenAction(
                hypothesis=one.hypothesis_id,
                action=one.action_id,
                operation=one.operation,
                cost=one.cost,
                status="recorded"
                if one.action_id in recorded
                else "answered"
                if one.action_id in answered
                else "reserved",
                record=recorded.get(one.action_id) or answered.get(one.action_id),
            )
            for one in still_open
        ],
        actions={one.action_id: one.hypothesis_id for one in reserved.values()},
        policy=None if policy is None else objects.document(policy, BudgetPolicy),
    )


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
