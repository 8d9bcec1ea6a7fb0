"""Folding the chains of evidence indices and ledger entries into states."""

from __future__ import annotations

from vstore.budget.documents import BudgetPolicy, LedgerEntry
from vstore.budget.replay import adopt
from vstore.budget.state import LedgerState
from vstore.controller.cached_tables import CaseTables
from vstore.errors import IntegrityError
from vstore.evidence.index_documents import EvidenceIndex, EvidenceRecord
from vstore.evidence.state import EvidenceState
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.sealed import Sealed, load

__all__ = ["empty_states", "fold_evidence", "fold_ledger", "not_continued"]


def empty_states(
    case_id: str, package_id: str, tables: CaseTables
) -> tuple[EvidenceState, LedgerState]:
    """The states of a case without evidence and ledger, growing into these tables."""
    evidence = EvidenceState(
        case_id=case_id,
        package_id=package_id,
        seen=tables.seen,
        contents=tables.contents,
        operations=tables.operations,
        actions=tables.actions,
    )
    ledger = LedgerState(
        case_id=case_id, package_id=package_id, outcomes=tables.outcomes, seen_refs=tables.refs
    )
    return evidence, ledger


def fold_evidence(
    state: EvidenceState, tables: CaseTables, objects: ObjectSource, head: ObjectId | None
) -> None:
    """Fold in the indices behind the state's head, up to another one.

    Raises:
        IntegrityError: They don't lead back to the state, or contradict it.
        NotFoundError, InvalidError, UnsupportedError: A document can't be read.
    """
    pending: list[Sealed[EvidenceIndex]] = []
    while head != state.head:
        if head is None:
            raise not_continued("evidence index")
        index = load(objects, head, EvidenceIndex)
        pending.append(index)
        head = index.document.parent
    for index in reversed(pending):
        records = [load(objects, one.object, EvidenceRecord) for one in index.document.records]
        state.adopt(index, records)
        tables.extend(index.document.records)


def fold_ledger(state: LedgerState, objects: ObjectSource, head: ObjectId | None) -> None:
    """Fold in the entries behind the state's head, up to another one.

    Raises:
        As :func:`fold_evidence`.
    """
    pending: list[Sealed[LedgerEntry]] = []
    while head != state.head:
        if head is None:
            raise not_continued("ledger")
        entry = load(objects, head, LedgerEntry)
        pending.append(entry)
        head = entry.document.parent
    for entry in reversed(pending):
        adopt(state, entry, lambda policy: objects.document(policy, BudgetPolicy))


def not_continued(what: str) -> IntegrityError:
    """What to raise where a chain doesn't lead to what was folded before."""
    return IntegrityError(
        f"the package's {what} no longer leads to what it held before",
        kind="history_replaced",
        hint="the package was replaced under a running process; start again and verify it",
    )
