"""Steps of an investigation: a call is opened, its reply accepted or refused (spec: investigation).

No model is called here. A refused reply changes nothing but the log of calls, and no reply
moves a credit: settling follows, with the assessment.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from vstore.controller.investigation_fold import follow, frozen_contract, latest_record
from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    NotFoundError,
    OperationConflict,
    StateError,
)
from vstore.investigation.context import context_of, messages_of, past_of
from vstore.investigation.contracts import Contract, contract_named
from vstore.investigation.documents import (
    Answered,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationRequest,
    InvestigationStep,
    InvestigationUpdate,
    Opened,
    Rejected,
    WorkingBrief,
)
from vstore.investigation.entries import (
    attempt_of,
    briefs_of,
    hypotheses_of,
    log_of,
    remembered_hints,
    request_of,
    step_of,
    subject_of,
)
from vstore.investigation.judgement import Refusal, judge
from vstore.investigation.normalise import Normalised
from vstore.investigation.rejection import TRUNCATED, Hint, hint_value
from vstore.investigation.state import Call, InvestigationState
from vstore.investigation.vocabulary import V13, V14
from vstore.objects.ids import ObjectId, digest_of, object_id
from vstore.objects.memory import ObjectSource
from vstore.objects.sealed import seal
from vstore.objects.transaction import Transaction
from vstore.package.lifecycle import check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace, check_name

__all__ = ["InvestigationSteps", "OpenCall", "Outcome"]

_OPEN: Final = "investigation.open"
_IMPORT: Final = "investigation.import"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call that waits for its reply, with everything that the model is sent.

    Attributes:
        call_id: The caller's id for it.
        request_id: The object id of the request; the reply is bound to it.
        request: The request.
        contract: The contract that the reply will be judged by.
        context: What the model is told, as data.
        messages: The same as messages: instructions, then the context.
        package: The head.
        repeated: Whether it had been opened before, so that nothing was published.
    """

    call_id: str
    request_id: ObjectId
    request: InvestigationRequest
    contract: Contract
    context: dict[str, Any]
    messages: list[dict[str, str]]
    package: PinnedPackage
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a reply.

    Attributes:
        call_id: The call.
        step: The step, or None where the reply was refused.
        step_id: Its object id.
        update: The reply in the controller's representation, or None.
        brief: The brief afterwards, or None where the reply was refused.
        attempt: The attempt, or None where the reply was accepted.
        hints: Why it was refused, by path; none where it was accepted. Of a repeat whose
            reply failed its schema only the code is left.
        package: The head.
        repeated: Whether the reply had been judged before, so that nothing was published.
    """

    call_id: str
    step: InvestigationStep | None
    step_id: ObjectId | None
    update: InvestigationUpdate | None
    brief: WorkingBrief | None
    attempt: InvestigationAttempt | None
    hints: tuple[Hint, ...]
    package: PinnedPackage
    repeated: bool

    @property
    def accepted(self) -> bool:
        """Whether the reply was accepted."""
        return self.step is not None

    @property
    def rejection(self) -> dict[str, Any]:
        """The hints as the next call's context has them; empty where it was accepted."""
        return hint_value(self.hints)


class InvestigationSteps:
    """Opens calls and takes their replies.

    Args:
        workspace: Where the cases are.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def open_step(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        call_id: str,
        *,
        previous_rejection: Sequence[Hint] | None = None,
        actor: str | None = None,
    ) -> OpenCall:
        """Open a call under the newest contract: freeze it, and make the model's context.

        A call on the same hypothesis that still waits for its reply is void from then on.

        Args:
            case_id: The case.
            package_id: Its package.
            hypothesis_id: The hypothesis that the step is about.
            call_id: The caller's id for the call, unique per analysis revision.
            previous_rejection: The hints of the reply that was refused before; what is
                stored of them by default (of a reply that failed its schema, the code).
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError: The case is not in INVESTIGATING_HYPOTHESES.
            NotFoundError: No such case or hypothesis.
            OperationConflict: The call id was used for another hypothesis.
            InvalidError: The hints are not those of the last refusal, or not a call id.
            ConflictError, IntegrityError, UnsupportedError, StorageError: As publishing.
        """
        check_name(call_id, "call")
        repository = self._workspace.repository(case_id, package_id)
        with repository.locked() as package:
            state = _state_of(repository, package)
            known = state.call(call_id)
            if known is not None:
                if known.request.hypothesis_id != hypothesis_id or known.imported:
                    raise _used(call_id)
                repository.confirm()
                return _open_call(package, known, repeated=True)
            check(package.position, _OPEN)
            with repository.begin() as transaction:
                hints = _hints(state, package.objects, hypothesis_id, previous_rejection)
                log, call = _opening(
                    state, transaction, package, contract_named(V14), hypothesis_id, call_id, hints
                )
                sealed = seal(log)
                head = repository.publish(
                    transaction,
                    package,
                    events=[repository.event(_OPEN, operation_id=call_id, actor=actor)],
                    artifacts={"investigation_log": transaction.put(sealed.encoded)},
                )
            state.apply(sealed, call.request)
            return _open_call(head, call, repeated=False)

    def submit_reply(
        self,
        case_id: str,
        package_id: str,
        call_id: str,
        reply: bytes,
        *,
        request: ObjectId | None = None,
        cut_off: bool = False,
        actor: str | None = None,
    ) -> Outcome:
        """Judge the reply to a call; store what follows from it, or that it was refused.

        The original bytes are kept as they are. Nothing is settled and no tool is asked.
        A repeat with the same bytes returns what is stored.

        Args:
            case_id: The case.
            package_id: Its package.
            call_id: The call.
            reply: The reply, byte for byte.
            request: The request that it answers; compared where given.
            cut_off: The provider said that it stopped early: refused without a look.
            actor: Who acts; the workspace's actor by default.

        Raises:
            NotFoundError: No such case, or no such call in this revision.
            InvalidError: The reply answers another request (``reply_binding``).
            OperationConflict: The call has another reply.
            StateError: The case's state doesn't allow it, or a later call made this one void.
            IntegrityError: Call, request or frozen schema don't agree.
            ConflictError, UnsupportedError, StorageError: As publishing.
        """
        repository = self._workspace.repository(case_id, package_id)
        with repository.locked() as package:
            state = _state_of(repository, package)
            call = state.call(call_id)
            if call is None:
                raise _unknown(call_id)
            contract = frozen_contract(package.objects, call)
            if request is not None and request != call.request_id:
                raise InvalidError(
                    f"the reply answers another request than call {call_id} made",
                    kind="reply_binding",
                    hint="submit it under the call that it answers",
                    call_id=call_id,
                )
            if call.outcome is not None:
                return _again(repository, package, call, reply, cut_off=cut_off)
            if not state.waits(call_id):
                raise StateError(
                    f"a later call on {call.request.hypothesis_id} made call {call_id} void",
                    kind="call_superseded",
                    hint="submit the later call's reply, or open a new call",
                    call_id=call_id,
                )
            verdict = judge(
                contract,
                reply,
                subject_of(call.request),
                past_of(package.objects, call.request),
                cut_off=cut_off,
            )
            event = (
                "investigation.rejected"
                if isinstance(verdict, Refusal)
                else ("investigation.reply")
            )
            check(package.position, event)
            with repository.begin() as transaction:
                ending = _ending(state, transaction, package, call, reply, verdict)
                artifacts = ending.artifacts | {
                    "investigation_log": transaction.put_document(ending.log)
                }
                head = repository.publish(
                    transaction,
                    package,
                    events=[repository.event(event, operation_id=call_id, actor=actor)],
                    artifacts=artifacts,
                )
            state.apply(seal(ending.log), ending.document)
            return _outcome(head, call, hints=ending.hints, repeated=False)

    def import_step(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        call_id: str,
        reply: bytes,
        *,
        contract: str = V13,
        cut_off: bool = False,
        actor: str | None = None,
    ) -> Outcome:
        """Store a call and its reply that happened elsewhere, also under an older contract.

        For migration and measurement: it is judged here as it would have been there.

        Args:
            case_id: The case.
            package_id: Its package.
            hypothesis_id: The hypothesis that the step is about.
            call_id: Its id, unique per analysis revision.
            reply: The reply, byte for byte.
            contract: The contract that it was made under.
            cut_off: The provider had said that it stopped early.
            actor: Who acts; the workspace's actor by default.

        Raises:
            UnsupportedError: A contract that this version doesn't know.
            StateError, NotFoundError, OperationConflict, InvalidError: As :meth:`open_step`.
            ConflictError, IntegrityError, StorageError: As publishing.
        """
        check_name(call_id, "call")
        frozen = contract_named(contract)
        repository = self._workspace.repository(case_id, package_id)
        with repository.locked() as package:
            state = _state_of(repository, package)
            known = state.call(call_id)
            if known is not None:
                same = (known.request.hypothesis_id, known.request.contract, known.imported)
                if known.outcome is None or same != (hypothesis_id, contract, True):
                    raise _used(call_id)
                return _again(repository, package, known, reply, cut_off=cut_off)
            check(package.position, _IMPORT)
            with repository.begin() as transaction:
                hints = _hints(state, package.objects, hypothesis_id, None)
                opening, call = _opening(
                    state,
                    transaction,
                    package,
                    frozen,
                    hypothesis_id,
                    call_id,
                    hints,
                    imported=True,
                )
                # The state of this process moves only after the publication: fold a copy.
                opened = _copy(state)
                sealed = seal(opening)
                transaction.put(sealed.encoded)
                opened.apply(sealed, call.request)
                call = opened.calls[package.revision, call_id]
                verdict = judge(
                    frozen,
                    reply,
                    subject_of(call.request),
                    past_of(transaction, call.request),
                    cut_off=cut_off,
                )
                ending = _ending(opened, transaction, package, call, reply, verdict)
                artifacts = ending.artifacts | {
                    "investigation_log": transaction.put_document(ending.log)
                }
                head = repository.publish(
                    transaction,
                    package,
                    events=[repository.event(_IMPORT, operation_id=call_id, actor=actor)],
                    artifacts=artifacts,
                )
            state.apply(sealed, call.request)
            state.apply(seal(ending.log), ending.document)
            known = state.calls[package.revision, call_id]
            return _outcome(head, known, hints=ending.hints, repeated=False)

    def resume(self, case_id: str, package_id: str, call_id: str) -> OpenCall | Outcome:
        """Take up a call where it stands, after a restart or in another workspace.

        First the reply's binding to call and request and its frozen schema are checked, and
        everything that followed from the reply is derived again and compared.

        Args:
            case_id: The case.
            package_id: Its package.
            call_id: A call of the current revision.

        Returns:
            The open call, to be sent again; or what became of its reply.

        Raises:
            NotFoundError: No such case, or no such call in this revision.
            IntegrityError: Something doesn't agree: ``reply_binding``, ``frozen_schema`` or
                ``reply_not_reproduced``.
            ConflictError, UnsupportedError, StorageError: Not readable.
        """
        repository = self._workspace.repository(case_id, package_id)
        package = repository.pinned()
        with repository.mutex:
            state = _state_of(repository, package)
            call = state.call(call_id)
        if call is None:
            raise _unknown(call_id)
        contract = frozen_contract(package.objects, call)
        if call.outcome is None:
            return _open_call(package, call, repeated=True)
        outcome = _outcome(package, call, hints=None, repeated=True)
        stored = outcome.step or outcome.attempt
        assert stored is not None
        if stored.reply is None:
            return outcome
        raw = package.objects.get(stored.reply)
        verdict = judge(
            contract, raw, subject_of(call.request), past_of(package.objects, call.request)
        )
        again: InvestigationStep | InvestigationAttempt = (
            attempt_of(call, raw, verdict)
            if isinstance(verdict, Refusal)
            else step_of(call, raw, verdict)
        )
        if again != stored:
            raise IntegrityError(
                f"what is stored for call {call_id} doesn't follow from its reply",
                kind="reply_not_reproduced",
                hint="vstore verify says what is wrong",
                call_id=call_id,
            )
        return outcome

    def current_brief(self, case_id: str, package_id: str, hypothesis_id: str) -> ObjectId | None:
        """The object id of a hypothesis' brief in the current revision, or None.

        Raises:
            NotFoundError, ConflictError: No such case, or another package.
            IntegrityError, InvalidError, UnsupportedError, StorageError: Not readable.
        """
        repository = self._workspace.repository(case_id, package_id)
        package = repository.pinned()
        with repository.mutex:
            return _state_of(repository, package).briefs.get(hypothesis_id)


@dataclass(frozen=True, slots=True)
class _Ending:
    """What ends a call."""

    log: InvestigationLog
    document: InvestigationStep | InvestigationAttempt
    artifacts: dict[str, ObjectId]
    hints: tuple[Hint, ...]


_STATES: Final[WeakKeyDictionary[Repository, InvestigationState]] = WeakKeyDictionary()
_GUARD: Final = threading.Lock()


def _state_of(repository: Repository, package: PinnedPackage) -> InvestigationState:
    """The fold of a repository's calls, followed to this head; the caller holds the mutex."""
    with _GUARD:
        state = _STATES.get(repository)
        if state is None:
            state = _STATES[repository] = InvestigationState()
    follow(state, package)
    return state


def _copy(state: InvestigationState) -> InvestigationState:
    return InvestigationState(
        head=state.head,
        sequence=state.sequence,
        revision=state.revision,
        calls=dict(state.calls),
        open=dict(state.open),
        briefs=dict(state.briefs),
        assessed=dict(state.assessed),
        refused=dict(state.refused),
    )


def _hints(
    state: InvestigationState,
    objects: ObjectSource,
    hypothesis_id: str,
    given: Sequence[Hint] | None,
) -> list[Hint]:
    """The hints of the next call: those given, held against what is stored, or what is stored."""
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


def _opening(
    state: InvestigationState,
    transaction: Transaction,
    package: PinnedPackage,
    contract: Contract,
    hypothesis_id: str,
    call_id: str,
    hints: Sequence[Hint],
    *,
    imported: bool = False,
) -> tuple[InvestigationLog, Call]:
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
    log = log_of(state, package.generation, event, imported=imported)
    return log, Call(request_id, request, imported)


def _ending(
    state: InvestigationState,
    transaction: Transaction,
    package: PinnedPackage,
    call: Call,
    raw: bytes,
    verdict: Normalised | Refusal,
) -> _Ending:
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
        transaction.put(verdict.update.encoded)
        transaction.put(verdict.brief.encoded)
        if verdict.audit is not None:
            transaction.put(verdict.audit.encoded)
        document = step_of(call, raw, verdict)
        event = Answered(call_id=call_id, step=transaction.put_document(document))
        briefs = state.briefs | {call.request.hypothesis_id: verdict.brief.id}
        artifacts["working_brief"] = transaction.put_document(briefs_of(package.generation, briefs))
        stated = package.hypotheses()
        if stated is not None:
            artifacts["hypotheses"] = transaction.put_document(
                hypotheses_of(stated, verdict.update.document)
            )
    log = log_of(state, package.generation, event, imported=call.imported)
    return _Ending(log, document, artifacts, hints)


def _open_call(package: PinnedPackage, call: Call, *, repeated: bool) -> OpenCall:
    contract = frozen_contract(package.objects, call)
    context = context_of(package.objects, call.request)
    return OpenCall(
        call_id=call.request.call_id,
        request_id=call.request_id,
        request=call.request,
        contract=contract,
        context=context,
        messages=messages_of(contract.name, context),
        package=package,
        repeated=repeated,
    )


def _outcome(
    package: PinnedPackage, call: Call, *, hints: tuple[Hint, ...] | None, repeated: bool
) -> Outcome:
    """What a call that ended came to, read from the package."""
    objects, event = package.objects, call.outcome
    assert event is not None
    step = step_id = update = brief = attempt = None
    if isinstance(event, Answered):
        step_id = event.step
        step = objects.document(step_id, InvestigationStep)
        update = objects.document(step.update, InvestigationUpdate)
        brief = objects.document(step.brief, WorkingBrief)
    else:
        attempt = objects.document(event.attempt, InvestigationAttempt)
        if hints is None:
            hints = tuple(remembered_hints(attempt))
    stored = step or attempt
    assert stored is not None
    bound = (stored.call_id, stored.request, stored.contract, stored.reply_schema)
    request = call.request
    if bound != (request.call_id, call.request_id, request.contract, request.reply_schema):
        raise IntegrityError(
            f"the reply that is stored for call {request.call_id} is bound to another",
            kind="reply_binding",
            hint="vstore verify says what is wrong",
            call_id=request.call_id,
        )
    return Outcome(
        call_id=request.call_id,
        step=step,
        step_id=step_id,
        update=update,
        brief=brief,
        attempt=attempt,
        hints=hints or (),
        package=package,
        repeated=repeated,
    )


def _again(
    repository: Repository, package: PinnedPackage, call: Call, raw: bytes, *, cut_off: bool
) -> Outcome:
    """Answer a repeat: first make sure that what it found is durable and well referred to."""
    outcome = _outcome(package, call, hints=None, repeated=True)
    if outcome.step is not None:
        same = outcome.step.reply == object_id(raw) and not cut_off
    else:
        assert outcome.attempt is not None
        same = (outcome.attempt.size, outcome.attempt.digest) == (len(raw), digest_of(raw))
        same = same and cut_off == (outcome.attempt.code == TRUNCATED)
    if not same:
        raise OperationConflict(
            f"call {call.request.call_id} has another reply",
            hint="a new reply needs a new call",
            call_id=call.request.call_id,
        )
    repository.confirm()
    return outcome


def _used(call_id: str) -> ConflictError:
    return OperationConflict(
        f"the call id {call_id} was used for something else",
        hint="use a new call id for a new call",
        call_id=call_id,
    )


def _unknown(call_id: str) -> NotFoundError:
    return NotFoundError(
        f"no call {call_id} in this analysis revision",
        kind="unknown_call",
        hint="open it first",
        call_id=call_id,
    )
