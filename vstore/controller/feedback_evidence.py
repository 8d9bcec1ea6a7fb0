"""Storing a confirmed answer to a test as evidence (spec: evidence, handoff).

The answer is there already: a generation confirmed it. What is published now is the record
of it, with the content that the pure rules make of it. Nothing is believed but what the
package itself says.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vstore.budget.ledger import find_reservation
from vstore.controller.projection import Projection, projection_of
from vstore.errors import MissingReservation, NotFoundError, StateError
from vstore.evidence.documents import FeedbackOrigin, IndexedRecord
from vstore.evidence.index import Draft, Publication, plan_publication
from vstore.evidence.limits import EvidenceLimits, check_limits
from vstore.evidence.payload import feedback_payload
from vstore.handoff.attachments import check_digest
from vstore.handoff.documents import OPERATION_OF, AsyncTestFeedback
from vstore.handoff.matching import feedback_faults, match_faults, refuse
from vstore.handoff.observations import content_of
from vstore.handoff.state import Handoff
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import load, seal
from vstore.package.lifecycle import check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository

__all__ = ["Stored", "store_feedback"]

_EVENT: Final = "evidence.feedback"


class Stored(NamedTuple):
    """The record of an answer.

    Attributes:
        record: Its id and object id.
        index_ref: The evidence index afterwards.
        package: The head afterwards.
        repeated: Whether it had been stored before, so that nothing was published.
    """

    record: IndexedRecord
    index_ref: ObjectId | None
    package: PinnedPackage
    repeated: bool


def store_feedback(
    repository: Repository,
    operation_id: str,
    feedback_ref: ObjectId,
    limits: EvidenceLimits,
    *,
    actor: str | None,
) -> Stored:
    """Publish a confirmed answer as one evidence record.

    Args:
        repository: The package.
        operation_id: The caller's id for it.
        feedback_ref: The confirmed answer.
        limits: Operational limits.
        actor: Who acts; the repository's actor by default.

    Raises:
        As :meth:`vstore.controller.evidence_store.EvidenceStore.store_feedback`.
    """
    with repository.evidence_lock():
        package = repository.pinned()
        projection = projection_of(repository, package)
        with projection.mutex:
            projection.follow(package)
            known = _repeated(repository, projection, package, operation_id, feedback_ref)
            if known is not None:
                return known
            # Large attachments are read through before the publication lock is taken.
            _plan(projection, package, operation_id, feedback_ref, limits)
            feedback = package.objects.document(feedback_ref, AsyncTestFeedback)
            check_digest(package.objects, feedback.attachments)
            # Nothing depends on the generation, so whatever the head is by now will do.
            with repository.locked() as package:
                projection.follow(package)
                known = _repeated(repository, projection, package, operation_id, feedback_ref)
                if known is not None:
                    return known
                planned = _plan(projection, package, operation_id, feedback_ref, limits)
                head = _publish(repository, package, planned, operation_id, actor)
            projection.evidence.apply(planned)
            projection.tables.extend(planned.index.document.records)
            return Stored(planned.index.document.records[0], planned.index.id, head, False)  # noqa: FBT003


def _repeated(
    repository: Repository,
    projection: Projection,
    package: PinnedPackage,
    operation_id: str,
    feedback_ref: ObjectId,
) -> Stored | None:
    payload = feedback_payload(feedback_ref)
    known = projection.evidence.recognise(package.revision, operation_id, payload)
    if known is None:
        return None
    repository.confirm()
    return Stored(known.records[0], projection.evidence.head, package, True)  # noqa: FBT003


def _publish(
    repository: Repository,
    package: PinnedPackage,
    planned: Publication,
    operation_id: str,
    actor: str | None,
) -> PinnedPackage:
    with repository.begin() as transaction:
        for assessed in planned.assessed:
            transaction.put_sealed(assessed.draft.content)
        for record in planned.records:
            transaction.put_sealed(record)
        transaction.put_sealed(planned.index)
        return repository.publish(
            transaction,
            package,
            events=[repository.event(_EVENT, operation_id=operation_id, actor=actor)],
            artifacts={"evidence_index": planned.index.id},
        )


def _plan(
    projection: Projection,
    package: PinnedPackage,
    operation_id: str,
    feedback_ref: ObjectId,
    limits: EvidenceLimits,
) -> Publication:
    """The publication that makes a confirmed answer evidence, after all checks.

    Args:
        projection: Follows the package.
        package: The head.
        operation_id: The caller's id for it; not used before in this revision.
        feedback_ref: The confirmed answer.
        limits: Operational limits.

    Raises:
        StateError: The case is in another state, or its budget isn't initialised.
        NotFoundError: No generation confirmed this answer (``unconfirmed_feedback``).
        InvalidError: It is of another revision, or doesn't match its request.
        MissingReservation: Its action isn't pending any more, or has a record.
        LimitExceeded: A limit would be passed.
    """
    check(package.position, _EVENT)
    if not projection.ledger.is_initialised(package.revision):
        raise StateError(
            f"revision {package.revision} has no budget yet",
            kind="not_initialised",
            hint="initialise the budget first",
        )
    handoff = projection.handoffs().answered_by(feedback_ref)
    if handoff is None:
        raise NotFoundError(
            "no generation of the case confirmed this feedback",
            kind="unconfirmed_feedback",
            hint="test confirm confirms an answer; test list shows which are",
            object=feedback_ref,
        )
    feedback = load(package.objects, feedback_ref, AsyncTestFeedback)
    refuse(match_faults(feedback.document, handoff.request, handoff.request_ref))
    refuse(feedback_faults(feedback.document))
    _check_pending(projection, package, handoff)
    planned = plan_publication(
        projection.evidence,
        revision=package.revision,
        operation_id=operation_id,
        payload=feedback_payload(feedback_ref),
        drafts=[
            Draft(
                hypothesis_id=handoff.request.hypothesis_id,
                action_id=handoff.request.action_id,
                content=seal(content_of(handoff.request, feedback.document)),
                origin=FeedbackOrigin(feedback=feedback_ref),
            )
        ],
        source_bytes=feedback.size,
    )
    check_limits(limits, planned, {"feedback": feedback.size})
    return planned


def _check_pending(projection: Projection, package: PinnedPackage, handoff: Handoff) -> None:
    """The reservation that the test was handed out for is the one that pays for the record."""
    request = handoff.request
    # A reservation of another revision is none of this one's.
    ledger = projection.ledger if request.analysis_revision == package.revision else None
    if ledger is None or projection.evidence.recorded(package.revision, request.action_id):
        raise MissingReservation(
            f"action {request.action_id} has a record already, or ended with its revision",
            kind="action_recorded",
            hint="a test can be answered and recorded once",
            action_id=request.action_id,
        )
    find_reservation(
        ledger,
        package.revision,
        request.hypothesis_id,
        request.action_id,
        OPERATION_OF[request.executor],
    )
