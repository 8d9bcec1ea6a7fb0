"""Steps of an investigation: a call is opened, its reply accepted or refused (spec: investigation).

No model is called here. A refused reply changes nothing but the log of calls, and no reply
moves a credit: settling follows, with the assessment.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

from vstore.controller.investigation_fold import follow, frozen_contract
from vstore.controller.investigation_outcome import (
    OpenCall,
    Outcome,
    again,
    open_call,
    outcome_of,
)
from vstore.controller.investigation_plan import add_ending, add_opening, hints_for
from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    NotFoundError,
    OperationConflict,
    StateError,
)
from vstore.investigation.context import past_of
from vstore.investigation.contracts import contract_named
from vstore.investigation.documents import InvestigationAttempt, InvestigationStep
from vstore.investigation.entries import attempt_of, step_of, subject_of
from vstore.investigation.judgement import Refusal, judge
from vstore.investigation.rejection import Hint
from vstore.investigation.state import InvestigationState
from vstore.investigation.vocabulary import V13, V14
from vstore.objects.ids import ObjectId
from vstore.package.lifecycle import check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace, check_name

__all__ = ["InvestigationSteps", "OpenCall", "Outcome"]

_OPEN: Final = "investigation.open"
_IMPORT: Final = "investigation.import"


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
            call = state.call(call_id)
            repeated = call is not None
            if call is not None:
                if call.request.hypothesis_id != hypothesis_id or call.imported:
                    raise _used(call_id)
                repository.confirm()
            else:
                check(package.position, _OPEN)
                with repository.begin() as transaction:
                    hints = hints_for(state, package.objects, hypothesis_id, previous_rejection)
                    log, call = add_opening(
                        state,
                        transaction,
                        package,
                        contract_named(V14),
                        hypothesis_id,
                        call_id,
                        hints,
                    )
                    package = repository.publish(
                        transaction,
                        package,
                        events=[repository.event(_OPEN, operation_id=call_id, actor=actor)],
                        artifacts={"investigation_log": log.id},
                    )
                state.apply(log, call.request)
        # All evidence is read for the context: not while others wait to publish.
        return open_call(package, call, repeated=repeated)

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
                return again(repository, package, call, reply, cut_off=cut_off)
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
                ending = add_ending(state, transaction, package, call, reply, verdict)
                head = repository.publish(
                    transaction,
                    package,
                    events=[repository.event(event, operation_id=call_id, actor=actor)],
                    artifacts=ending.artifacts,
                )
            state.apply(ending.log, ending.document)
            return outcome_of(head, call, hints=ending.hints, repeated=False)

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
                return again(repository, package, known, reply, cut_off=cut_off)
            check(package.position, _IMPORT)
            with repository.begin() as transaction:
                hints = hints_for(state, package.objects, hypothesis_id, None)
                opening, call = add_opening(
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
                opened.apply(opening, call.request)
                call = opened.calls[package.revision, call_id]
                verdict = judge(
                    frozen,
                    reply,
                    subject_of(call.request),
                    past_of(transaction, call.request),
                    cut_off=cut_off,
                )
                ending = add_ending(opened, transaction, package, call, reply, verdict)
                head = repository.publish(
                    transaction,
                    package,
                    events=[repository.event(_IMPORT, operation_id=call_id, actor=actor)],
                    artifacts=ending.artifacts,
                )
            state.apply(opening, call.request)
            state.apply(ending.log, ending.document)
            known = state.calls[package.revision, call_id]
            return outcome_of(head, known, hints=ending.hints, repeated=False)

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
            return open_call(package, call, repeated=True)
        outcome = outcome_of(package, call, hints=None, repeated=True)
        stored = outcome.step or outcome.attempt
        assert stored is not None
        if stored.reply is None:
            return outcome
        raw = package.objects.get(stored.reply)
        verdict = judge(
            contract, raw, subject_of(call.request), past_of(package.objects, call.request)
        )
        derived: InvestigationStep | InvestigationAttempt = (
            attempt_of(call, raw, verdict)
            if isinstance(verdict, Refusal)
            else step_of(call, raw, verdict)
        )
        if derived != stored:
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
