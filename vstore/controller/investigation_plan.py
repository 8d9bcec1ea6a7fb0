"""What a call adds to a package: put into a transaction, to be published by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vstore.controller.investigation_fold import latest_record
from vstore.errors import InvalidError, NotFoundError
from vstore.investigation.contracts import Contract
from vstore.investigation.documents import (
    Answered,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationStep,
    Opened,
    Rejected,
)
from vstore.investigation.entries import (
    attempt_of,
    briefs_of,
    hypotheses_of,
    log_of,
    remembered_hints,
    request_of,
    step_of,
)
from vstore.investigation.judgement import Refusal
from vstore.investigation.normalise import Normalised
from vstore.investigation.rejection import Hint
from vstore.investigation.state import Call, InvestigationState
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.sealed import Sealed, seal
from vstore.objects.transaction import Transaction
from vstore.package.pinned import PinnedPackage

__all__ = ["Ending", "add_ending", "add_opening", "hints_for"]


@dataclass(frozen=True, slots=True)
class Ending:
    """What ends a call.

    Attributes:
        log: The log entry.
        document: The step or the attempt.
        artifacts: What the publication sets, the log included.
        hints: Why the reply was refused; none where it was accepted.
    """

    log: Sealed[InvestigationLog]
    document: InvestigationStep | InvestigationAttempt
    artifacts: dict[str, ObjectId]
    hints: tuple[Hint, ...]


def hints_for(
    state: InvestigationState,
    objects: ObjectSource,
    hypothesis_id: str,
    given: Sequence[Hint] | None,
) -> list[Hint]:
    """The hints of the next call: those given, held against what is stored, or what is stored.

    Raises:
        InvalidError: Those given are not of the last refusal (``foreign_hints``).
    """
    refused = state.refused.get(hypothesis_id)
    stored = (
        [] if refused is None else remembered_hints(objects.document(refused, InvestigationAttempt))
    )
    if given is None:
        return stored
    complete = refused is not None and bool(stored and stored[0].details.field)
    codes = [one.rejection for one in given[:1]]
    if codes != [one.rejection for one in stored[:1]] or (complete and list(given) != stored):
        raise InvalidError(
            "these hints are not those of the last refusal on this hypothesis",
            kind="foreign_hints",
            hint="give the hints of the outcome, or leave them out",
            hypothesis_id=hypothesis_id,
        )
    return list(given)


def add_opening(
    state: InvestigationState,
    transaction: Transaction,
    package: PinnedPackage,
    contract: Contract,
    hypothesis_id: str,
    call_id: str,
    hints: Sequence[Hint],
    *,
    imported: bool = False,
) -> tuple[Sealed[InvestigationLog], Call]:
    """Add the frozen schema, the request and the log entry of a call that is opened.

    Raises:
        NotFoundError: The case has no such hypothesis (``unknown_hypothesis``).
    """
    stated = package.hypotheses()
    if stated is None or all(one.id != hypothesis_id for one in stated.hypotheses):
        raise NotFoundError(
            f"no hypothesis {hypothesis_id} in revision {package.revision}",
            kind="unknown_hypothesis",
            hint="vstore hypotheses lists them",
            hypothesis_id=hypothesis_id,
        )
    request = request_of(
        state,
        contract,
        package.generation_id,
        package.generation,
        hypothesis_id,
        call_id,
        latest=latest_record(package, hypothesis_id, after=state.assessed.get(hypothesis_id, 0)),
        hints=hints,
    )
    transaction.put(contract.encoded)
    request_id = transaction.put_document(request)
    event = Opened(hypothesis_id=hypothesis_id, call_id=call_id, request=request_id)
    log = seal(log_of(state, package.generation, event, imported=imported))
    transaction.put_document(log.document)
    return log, Call(request_id, request, imported)


def add_ending(
    state: InvestigationState,
    transaction: Transaction,
    package: PinnedPackage,
    call: Call,
    raw: bytes,
    verdict: Normalised | Refusal,
) -> Ending:
    """Add what a reply came to: a step with all that follows from it, or an attempt."""
    call_id = call.request.call_id
    document: InvestigationStep | InvestigationAttempt
    event: Answered | Rejected
    artifacts: dict[str, ObjectId] = {}
    hints: tuple[Hint, ...] = ()
    if isinstance(verdict, Refusal):
        hints = verdict.hints
        if verdict.readable:
            transaction.put(raw)
        document = attempt_of(call, raw, verdict)
        event = Rejected(call_id=call_id, attempt=transaction.put_document(document))
    else:
        transaction.put(raw)
        transaction.put_document(verdict.update.document)
        transaction.put_document(verdict.brief.document)
        if verdict.audit is not None:
            transaction.put_document(verdict.audit.document)
        document = step_of(call, raw, verdict)
        event = Answered(call_id=call_id, step=transaction.put_document(document))
        briefs = state.briefs | {call.request.hypothesis_id: verdict.brief.id}
        artifacts["working_brief"] = transaction.put_document(briefs_of(package.generation, briefs))
        stated = package.hypotheses()
        if stated is not None:
            artifacts["hypotheses"] = transaction.put_document(
                hypotheses_of(stated, verdict.update.document)
            )
    log = seal(log_of(state, package.generation, event, imported=call.imported))
    artifacts["investigation_log"] = transaction.put_document(log.document)
    return Ending(log, document, artifacts, hints)
