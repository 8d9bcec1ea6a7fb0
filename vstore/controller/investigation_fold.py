"""Reading a package's calls: the fold of its log, bindings checked on the way."""

from __future__ import annotations

from vstore.errors import IntegrityError
from vstore.evidence.documents import EvidenceRecord
from vstore.evidence.record_id import record_number
from vstore.investigation.context import records_back
from vstore.investigation.contracts import Contract, contract_named
from vstore.investigation.documents import (
    Answered,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationRequest,
    InvestigationStep,
    Opened,
)
from vstore.investigation.judgement import check_frozen
from vstore.investigation.state import Call, InvestigationState
from vstore.objects.memory import ObjectSource
from vstore.objects.sealed import Sealed, load
from vstore.package.pinned import PinnedPackage

__all__ = ["document_of", "follow", "frozen_contract", "latest_record"]


def follow(state: InvestigationState, package: PinnedPackage) -> None:
    """Fold in what was published since.

    Args:
        state: What was folded so far; changed in place.
        package: The head.

    Raises:
        IntegrityError: The package no longer leads to what was folded before, or its
            entries contradict each other.
        NotFoundError, InvalidError, UnsupportedError: A document can't be read.
    """
    objects = package.objects
    pending: list[Sealed[InvestigationLog]] = []
    oid = package.artifact("investigation_log")
    while oid != state.head:
        if oid is None:
            raise IntegrityError(
                "the package's investigation log no longer leads to what it held before",
                kind="history_replaced",
                hint="the package was replaced under a running process; verify it",
            )
        entry = load(objects, oid, InvestigationLog)
        pending.append(entry)
        oid = entry.document.parent
    for entry in reversed(pending):
        state.apply(entry, document_of(objects, entry.document))
    state.enter(package.revision)


def document_of(
    objects: ObjectSource, entry: InvestigationLog
) -> InvestigationRequest | InvestigationStep | InvestigationAttempt:
    """The document that a log entry names.

    Raises:
        NotFoundError, IntegrityError, InvalidError: It can't be read.
    """
    event = entry.event
    if isinstance(event, Opened):
        return objects.document(event.request, InvestigationRequest)
    if isinstance(event, Answered):
        return objects.document(event.step, InvestigationStep)
    return objects.document(event.attempt, InvestigationAttempt)


def frozen_contract(objects: ObjectSource, call: Call) -> Contract:
    """The contract of a call, after checking that its frozen schema is that contract's.

    Raises:
        UnsupportedError: A contract that this version doesn't know.
        IntegrityError: Another schema was frozen (``frozen_schema``).
        NotFoundError: It is absent.
    """
    contract = contract_named(call.request.contract)
    check_frozen(contract, objects.get(call.request.reply_schema))
    return contract


def latest_record(package: PinnedPackage, hypothesis_id: str, *, after: int) -> str | None:
    """The id of a hypothesis' latest record of this revision, or None.

    Args:
        package: The head.
        hypothesis_id: The hypothesis.
        after: Look no further back than the record of this number.
    """
    for indexed in records_back(package.objects, package.artifact("evidence_index")):
        if record_number(indexed.id) <= after:
            break
        record = package.objects.document(indexed.object, EvidenceRecord)
        if record.analysis_revision != package.revision:
            break
        if record.hypothesis_id == hypothesis_id:
            return record.id
    return None
