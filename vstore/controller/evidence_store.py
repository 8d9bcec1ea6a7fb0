"""Storing what tools and testers answered, after recomputing it (spec: evidence)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from vstore.controller.evidence_batch import (
    Batch,
    Split,
    check_generation,
    check_identity,
    check_reservations,
    documents_of,
    drafts_of,
    payload_of,
    read_batch,
    split_reply,
)
from vstore.controller.feedback_evidence import store_feedback
from vstore.controller.projection import Projection, following
from vstore.errors import ForgedReply, InvalidError, StateError
from vstore.evidence.documents import IndexedRecord
from vstore.evidence.index import check_actions, plan_publication
from vstore.evidence.limits import EvidenceLimits, check_limits
from vstore.evidence.state import Operation
from vstore.objects.canonical import decode, encode, to_value
from vstore.objects.difference import first_difference
from vstore.objects.ids import ObjectId
from vstore.package.lifecycle import check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace, check_name
from vstore.tools.reply import ToolReply
from vstore.tools.request import ToolRequest
from vstore.tools.router import Router

__all__ = ["EvidenceSnapshot", "EvidenceStore", "Saved"]

_EVENT: Final = "evidence.tool_results"


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch came to.

    Attributes:
        record_refs: Per position of the reply, the object id of its record; None for an
            error result, which has none.
        record_ids: Likewise, such as ``E000012``.
        index_ref: The evidence index afterwards; None where the case has no evidence.
        package: The head afterwards.
        repeated: Whether the batch had been stored before, so that nothing was published.
    """

    record_refs: tuple[ObjectId | None, ...]
    record_ids: tuple[str | None, ...]
    index_ref: ObjectId | None
    package: PinnedPackage
    repeated: bool


class EvidenceSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of a case.

    Attributes:
        index_ref: The latest index; None while there is no evidence.
        records: Id and object id of every record, in the order of creation.
        package: The generation that this is the evidence of.
    """

    index_ref: ObjectId | None
    records: tuple[IndexedRecord, ...]
    package: PinnedPackage


class EvidenceStore:
    """Publishes validated tool replies, and confirmed answers to tests, as evidence.

    Args:
        workspace: Where the cases are.
        router: Recomputes replies; it must know the contracts that requests name.
        limits: Operational limits.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        router: Router,
        limits: EvidenceLimits | None = None,
    ) -> None:
        self._workspace = workspace
        self._router = router
        self._limits = limits or EvidenceLimits()

    def store_tool_results(
        self,
        case_id: str,
        package_id: str,
        operation_id: str,
        request: ToolRequest,
        reply: ToolReply | dict[str, Any],
        *,
        actor: str | None = None,
    ) -> Saved:
        """Publish one batch of results as evidence records, all of it or nothing.

        The reply is believed in nothing: the router answers the request again on the current
        generation, and the two must be equal byte for byte. A repeat of an operation with the
        same payload returns what exists. A batch of errors only publishes nothing.

        Args:
            case_id: The case.
            package_id: Its package.
            operation_id: The caller's id for this batch, unique per analysis revision.
            request: What was asked; each query names a hypothesis and a reserved action.
            reply: What was answered, as the router gave it or as plain JSON.
            actor: Who acts; the workspace's actor by default.

        Raises:
            OperationConflict: The operation id was used with another payload.
            StateError: The case is in another state, or its budget isn't initialised.
            InvalidError: The request is malformed, or of another case, package or revision.
            StaleGeneration: Request or reply belong to an older generation: ask again.
            MissingReservation: A query's action isn't reserved for it, has a record, or
                stands in the batch twice.
            ForgedReply: The reply isn't what the pinned inputs yield; ``pointer`` names the
                first difference.
            LimitExceeded: The batch as a whole passes a limit.
            NotFoundError, ConflictError: No such case, or another package.
            IntegrityError, UnsupportedError, StorageError: The package can't be read or
                written.
        """
        check_name(operation_id, "operation")
        batch = read_batch(request, reply)
        repository = self._workspace.repository(case_id, package_id)
        with repository.evidence_lock(), following(repository) as (package, projection):
            if projection.evidence.carried_out(package.revision, operation_id):
                known = projection.evidence.recognise(
                    package.revision, operation_id, payload_of(batch)
                )
                assert known is not None
                return _repeated(repository, projection, package, known, batch)
            self._check(projection, package, batch)
            split = self._recompute(package, batch)
            return self._publish(repository, projection, package, operation_id, batch, split, actor)

    def store_feedback(
        self,
        case_id: str,
        package_id: str,
        operation_id: str,
        feedback_ref: ObjectId,
        *,
        actor: str | None = None,
    ) -> Saved:
        """Publish the confirmed answer to a test as one evidence record.

        Digests of the answer and its attachments are verified; nothing is submitted and no
        balance moves. A repeat returns the record that exists. An answer ``unable_to_test``
        becomes a record without items, of novelty 0.

        Args:
            case_id: The case.
            package_id: Its package.
            operation_id: The caller's id, unique per analysis revision, over both kinds of
                storing.
            feedback_ref: The object id of the answer, as a generation confirmed it.
            actor: Who acts; the workspace's actor by default.

        Raises:
            OperationConflict: The operation id was used with another payload.
            StateError: The case is in another state, or its budget isn't initialised.
            NotFoundError: No generation confirmed this answer (``unconfirmed_feedback``), or
                no such case.
            MissingReservation: The test's action isn't pending any more, or has a record.
            LimitExceeded: A limit would be passed.
            ConflictError: Another package.
            IntegrityError, InvalidError, UnsupportedError, StorageError: The package can't
                be read or written, or an attachment is damaged.
        """
        check_name(operation_id, "operation")
        repository = self._workspace.repository(case_id, package_id)
        stored = store_feedback(repository, operation_id, feedback_ref, self._limits, actor=actor)
        return Saved(
            record_refs=(stored.record.object,),
            record_ids=(stored.record.id,),
            index_ref=stored.index_ref,
            package=stored.package,
            repeated=stored.repeated,
        )

    def snapshot(self, case_id: str, package_id: str) -> EvidenceSnapshot:
        """Every record of the case, in the order of creation; legal in every state.

        Args:
            case_id: The case.
            package_id: Its package.

        Raises:
            NotFoundError, ConflictError: No such case, or another package.
            IntegrityError, InvalidError, UnsupportedError, StorageError: Not readable.
        """
        repository = self._workspace.repository(case_id, package_id)
        with following(repository) as (package, projection):
            return EvidenceSnapshot(
                index_ref=projection.evidence.head,
                records=tuple(projection.tables.records()),
                package=package,
            )

    def _check(self, projection: Projection, package: PinnedPackage, batch: Batch) -> None:
        """Everything that must hold before a batch is planned, in the order of the spec."""
        check(package.position, _EVENT)
        if not projection.ledger.is_initialised(package.revision):
            raise StateError(
                f"revision {package.revision} has no budget yet",
                kind="not_initialised",
                hint="initialise the budget first",
            )
        request = batch.request.document
        check_identity(package, request)
        check_generation(package, request.generation, unknown_is_forged=False)
        reply = batch.reply
        if isinstance(reply, ToolReply | dict):
            bound = reply.generation if isinstance(reply, ToolReply) else reply.get("generation")
            check_generation(package, bound, unknown_is_forged=True)
        check_reservations(projection, package.revision, request)

    def _recompute(self, package: PinnedPackage, batch: Batch) -> Split:
        """Ask again; where the answer is that of the batch, byte for byte, split it."""
        recomputed = self._router.answer(package, batch.request)
        if encode(recomputed) == batch.encoded:
            with suppress(InvalidError):
                return split_reply(batch.request.document, recomputed)
        given = to_value(batch.reply) if isinstance(batch.reply, ToolReply) else batch.reply
        pointer = first_difference(to_value(recomputed), given)
        raise ForgedReply(
            f"the reply is not what the pinned inputs yield; it first differs at "
            f"{pointer or 'its root'}",
            hint="ask the router again and store its reply unchanged",
            pointer=pointer or "",
        )

    def _publish(
        self,
        repository: Repository,
        projection: Projection,
        package: PinnedPackage,
        operation_id: str,
        batch: Batch,
        split: Split,
        actor: str | None,
    ) -> Saved:
        drafts = drafts_of(batch, split)
        if not drafts:
            none = (None,) * len(split.contents)
            return Saved(
                record_refs=none,
                record_ids=none,
                index_ref=projection.evidence.head,
                package=package,
                repeated=False,
            )
        check_actions(projection.evidence, package.revision, drafts)
        planned = plan_publication(
            projection.evidence,
            revision=package.revision,
            operation_id=operation_id,
            payload=split.payload,
            drafts=drafts,
            source_bytes=batch.request.size + split.envelope.size,
        )
        check_limits(
            self._limits, planned, {"request": batch.request.size, "reply": split.envelope.size}
        )
        with repository.begin() as transaction:
            for document in documents_of(batch, split, planned):
                transaction.put_sealed(document)
            head = repository.publish(
                transaction,
                package,
                events=[repository.event(_EVENT, operation_id=operation_id, actor=actor)],
                artifacts={"evidence_index": planned.index.id},
            )
        projection.evidence.apply(planned)
        projection.tables.extend(planned.index.document.records)
        with_record = [content is not None for content in split.contents]
        refs, ids = _aligned(planned.index.document.records, with_record)
        return Saved(
            record_refs=refs,
            record_ids=ids,
            index_ref=planned.index.id,
            package=head,
            repeated=False,
        )


def _aligned(
    records: Sequence[IndexedRecord], with_record: Iterable[bool]
) -> tuple[tuple[ObjectId | None, ...], tuple[str | None, ...]]:
    """Records in the positions of the reply; an error result has none."""
    remaining = iter(records)
    found = [next(remaining) if one else None for one in with_record]
    return (
        tuple(None if one is None else one.object for one in found),
        tuple(None if one is None else one.id for one in found),
    )


def _repeated(
    repository: Repository,
    projection: Projection,
    package: PinnedPackage,
    known: Operation,
    batch: Batch,
) -> Saved:
    """Answer a repeat: first make sure that what it found is durable and well referred to."""
    repository.confirm()
    results = decode(batch.encoded, ToolReply).results
    refs, ids = _aligned(known.records, (one.status == "ok" for one in results))
    return Saved(
        record_refs=refs,
        record_ids=ids,
        index_ref=projection.evidence.head,
        package=package,
        repeated=True,
    )
