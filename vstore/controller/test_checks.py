"""What must hold before a test is handed out or its answer ends the wait (spec: handoff)."""

from __future__ import annotations

from typing import Final, NamedTuple

from vstore.budget.ledger import find_reservation
from vstore.controller.projection import Projection
from vstore.controller.test_attachments import waiting_for
from vstore.errors import IntegrityError, InvalidError, MissingReservation, OperationConflict
from vstore.handoff.attachments import stored_attachments
from vstore.handoff.documents import OPERATION_OF, AsyncTestFeedback, AsyncTestRequest
from vstore.handoff.matching import feedback_faults, match_faults, missing_attachments, refuse
from vstore.objects.sealed import Sealed
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository

__all__ = ["CONFIRM", "Head", "check_answer", "check_reservation", "check_revision", "conflict"]

#: The event that ends the wait.
CONFIRM: Final = "test.confirm"


class Head(NamedTuple):
    """The head while its lock is held, and what it comes to."""

    repository: Repository
    package: PinnedPackage
    projection: Projection


def check_revision(package: PinnedPackage, document: AsyncTestRequest | AsyncTestFeedback) -> None:
    if document.analysis_revision != package.revision:
        raise InvalidError(
            f"of another analysis revision than {package.revision}, the current one",
            kind="identity_mismatch",
            pointer="/analysis_revision",
        )


def check_reservation(head: Head, request: AsyncTestRequest) -> None:
    """The action is reserved for such a test, by the entry that the request names."""
    projection, revision, action = head.projection, head.package.revision, request.action_id
    find_reservation(
        projection.ledger,
        revision,
        request.hypothesis_id,
        action,
        OPERATION_OF[request.executor],
    )
    if projection.handoffs().submitted(revision, action) or projection.evidence.recorded(
        revision, action
    ):
        raise MissingReservation(
            f"action {action} was handed out before",
            kind="action_submitted",
            hint="reserve another action for another test",
            action_id=action,
        )
    outcome = projection.ledger.outcomes.get((revision, "reserve", action))
    if outcome is None or outcome.entry != request.reservation:
        raise InvalidError(
            f"the request names another ledger entry than the one that reserved {action}",
            kind="identity_mismatch",
            pointer="/reservation",
        )


def check_answer(head: Head, sealed: Sealed[AsyncTestFeedback]) -> None:
    """Everything that must hold before an answer ends the wait."""
    answer, package, projection = sealed.document, head.package, head.projection
    handoff = projection.handoffs().handoffs[answer.request_id]
    refuse(match_faults(answer, handoff.request, handoff.request_ref))
    refuse(feedback_faults(answer))
    waiting_for(projection, package, answer.request_id, CONFIRM)
    check_revision(package, answer)
    find_reservation(
        projection.ledger,
        package.revision,
        answer.hypothesis_id,
        answer.action_id,
        OPERATION_OF[answer.executor],
    )
    if projection.ledger.head != handoff.ledger:
        raise IntegrityError(
            "the ledger moved while the case waited for its test",
            kind="ledger_moved",
            hint="vstore verify says what is wrong",
        )
    stored = stored_attachments(
        package.objects, package.generation.attachments, handoff.request_ref
    )
    for position, _ in missing_attachments(
        answer, ((one.object, one.name, one.size) for one in stored)
    ):
        raise InvalidError(
            "the answer lists an attachment that was not attached to its request",
            kind="attachments",
            hint="test attach takes it in; name, size and object id must agree",
            pointer=f"/attachments/{position}",
        )


def conflict(what: str, request_id: str) -> OperationConflict:
    return OperationConflict(
        f"another {what} with request id {request_id} stands in the case",
        hint="a request and its answer can be repeated only as they were",
        request_id=request_id,
    )
