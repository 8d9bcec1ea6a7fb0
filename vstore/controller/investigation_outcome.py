"""What a call comes to for its caller: open, accepted or refused; read from the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vstore.controller.investigation_fold import frozen_contract
from vstore.errors import IntegrityError, OperationConflict
from vstore.investigation.context import context_of, messages_of
from vstore.investigation.contracts import Contract
from vstore.investigation.documents import (
    Answered,
    InvestigationAttempt,
    InvestigationRequest,
    InvestigationStep,
    InvestigationUpdate,
    WorkingBrief,
)
from vstore.investigation.entries import remembered_hints
from vstore.investigation.rejection import TRUNCATED, Hint, hint_value
from vstore.investigation.state import Call
from vstore.objects.ids import ObjectId, digest_of, object_id
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository

__all__ = ["OpenCall", "Outcome", "again", "open_call", "outcome_of"]


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


def open_call(package: PinnedPackage, call: Call, *, repeated: bool) -> OpenCall:
    """A call that waits, with its context.

    Raises:
        IntegrityError, NotFoundError, InvalidError, UnsupportedError: It can't be read.
    """
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


def outcome_of(
    package: PinnedPackage, call: Call, *, hints: tuple[Hint, ...] | None, repeated: bool
) -> Outcome:
    """What a call that ended came to.

    Args:
        package: The head.
        call: The call.
        hints: Why it was refused; what is stored of that where None.
        repeated: Whether it had ended before.

    Raises:
        IntegrityError: What is stored is bound to another call (``reply_binding``).
        NotFoundError, InvalidError: It can't be read.
    """
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


def again(
    repository: Repository, package: PinnedPackage, call: Call, raw: bytes, *, cut_off: bool
) -> Outcome:
    """Answer a repeat: first make sure that what it found is durable and well referred to.

    Raises:
        OperationConflict: The call has another reply.
        IntegrityError, StorageError: The package can't be read or synced.
    """
    outcome = outcome_of(package, call, hints=None, repeated=True)
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
