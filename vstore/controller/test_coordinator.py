"""Handing tests out, and taking each confirmed answer exactly once (spec: handoff).

Trusted, and never exposed to a model: whoever calls has authenticated the person or the
automaton that confirms. Decisions continue from the head under the publication lock, so
that nothing here is ever stale, and no clock decides anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from vstore.controller.projection import following, projection_of
from vstore.controller.test_attachments import (
    Attached,
    Upload,
    attach,
    unknown_request,
)
from vstore.controller.test_checks import (
    CONFIRM,
    Head,
    check_answer,
    check_reservation,
    check_revision,
    conflict,
)
from vstore.errors import (
    InvalidError,
)
from vstore.handoff.attachments import attachments_of, check_digest
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest
from vstore.handoff.drafts import draft_digest, read_draft, read_object
from vstore.handoff.limits import HandoffLimits
from vstore.handoff.matching import (
    match_faults,
    refuse,
    request_faults,
)
from vstore.handoff.state import FEEDBACK, REQUEST, Handoff
from vstore.objects.canonical import decode, encode
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId
from vstore.objects.plain_json import encode_value
from vstore.objects.sealed import Sealed, seal
from vstore.package.documents import Blocked
from vstore.package.lifecycle import check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace

__all__ = ["AsyncTestCoordinator", "Confirmed", "HandoffSnapshot", "Submitted"]

D = TypeVar("D", bound=Document)
_SUBMIT: Final = "test.submit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What handing a test out came to.

    Attributes:
        package: The head afterwards.
        request_ref: The object id of the request.
        request: The request as stored.
        repeated: Whether it had been handed out before, so that nothing was published.
    """

    package: PinnedPackage
    request_ref: ObjectId
    request: AsyncTestRequest
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What a confirmation came to.

    Attributes:
        package: The head afterwards.
        feedback_ref: The object id of the confirmed answer.
        feedback: The answer as stored.
        repeated: Whether it had been confirmed before, so that nothing was published.
    """

    package: PinnedPackage
    feedback_ref: ObjectId
    feedback: AsyncTestFeedback
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffSnapshot:
    """The tests of a case at one generation.

    Attributes:
        package: The generation.
        handoffs: Every test, in the order of submission.
        outstanding: The one whose answer is awaited, or None.
    """

    package: PinnedPackage
    handoffs: tuple[Handoff, ...]
    outstanding: Handoff | None


class AsyncTestCoordinator:
    """Hands tests out and takes confirmed answers.

    Args:
        workspace: Where the cases are.
        limits: Operational limits.
    """

    def __init__(self, workspace: Workspace, *, limits: HandoffLimits | None = None) -> None:
        self._workspace = workspace
        self._limits = limits or HandoffLimits()

    def submit(self, request: AsyncTestRequest | bytes, *, actor: str | None = None) -> Submitted:
        """Hand a test out: the case waits from now on, until its answer is confirmed.

        The same request again returns the current package and publishes nothing.

        Args:
            request: What is asked, or its JSON in any layout.
            actor: Who acts; the workspace's actor by default.

        Raises:
            OperationConflict: The request id was used with another content.
            InvalidError: Not a request, or of another revision or reservation
                (``identity_mismatch``).
            LimitExceeded: It passes ``max_json_bytes``.
            StateError: Not in INVESTIGATING_HYPOTHESES; so too while another test is
                outstanding.
            MissingReservation: The action isn't reserved for such a test, or was handed out
                or answered before.
            NotFoundError, ConflictError: No such case here, or another package.
            IntegrityError, StorageError: The package can't be read or written.
        """
        sealed = self._sealed(request, AsyncTestRequest)
        asked = sealed.document
        refuse(request_faults(asked))
        with self._head(asked.case_id, asked.package_id) as head:
            known = head.projection.handoffs().handoffs.get(asked.request_id)
            if known is not None:
                if known.request_ref != sealed.id:
                    raise conflict("request", asked.request_id)
                return Submitted(
                    package=head.repository.confirm(),
                    request_ref=known.request_ref,
                    request=known.request,
                    repeated=True,
                )
            check(head.package.position, _SUBMIT)
            check_revision(head.package, asked)
            check_reservation(head, asked)
            return self._submit(head, sealed, actor)

    def _submit(self, head: Head, sealed: Sealed[AsyncTestRequest], actor: str | None) -> Submitted:
        repository, request = head.repository, sealed.document
        with repository.begin() as transaction:
            package = repository.publish(
                transaction,
                head.package,
                events=[repository.event(_SUBMIT, operation_id=request.request_id, actor=actor)],
                blocked=Blocked(
                    reason="AWAITING_TEST_FEEDBACK",
                    resume_state=head.package.state,
                    retry_not_before=request.deadline,
                    automatic_retry=False,
                ),
                artifacts={REQUEST: transaction.put_sealed(sealed)},
            )
        return Submitted(package=package, request_ref=sealed.id, request=request, repeated=False)

    def attach(
        self,
        case_id: str,
        package_id: str,
        uploads: Sequence[Upload],
        *,
        request_id: str | None = None,
        actor: str | None = None,
    ) -> Attached:
        """Take files in as attachments of the outstanding test, all of them or none.

        They are streamed; the raw input stays as it is. What is there already, with this
        name, is not stored again.

        Args:
            case_id: The case.
            package_id: Its package.
            uploads: The files, one or more.
            request_id: The test that the caller means; the outstanding one where None.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError: The case doesn't wait for a test, or for another one.
            NotFoundError: The case never handed this test out, or no such case.
            InvalidError: A name that no attachment can have, or no files.
            LimitExceeded: A file passes ``max_attachment_bytes``, or there are more than
                ``max_attachments``.
            StorageError: The disk failed.
        """
        if not uploads:
            raise InvalidError("no files to attach", kind="empty_batch")
        repository = self._workspace.repository(case_id, package_id)
        return attach(repository, uploads, self._limits, request_id=request_id, actor=actor)

    def confirm_feedback(
        self, feedback: AsyncTestFeedback | bytes, *, actor: str | None = None
    ) -> Confirmed:
        """Take the answer that somebody authenticated has confirmed; the case goes on.

        It goes on in the state and the analysis revision that it waits in, before its
        deadline and after it. No balance, streak or reservation moves. The same answer again
        returns the current package and publishes nothing.

        Args:
            feedback: The answer, or its JSON in any layout.
            actor: Who acts; the workspace's actor by default.

        Raises:
            OperationConflict: Another answer to this request was confirmed.
            NotFoundError: The case never handed this test out (``unknown_request``), or no
                such case here.
            InvalidError: Not an answer, or it doesn't match the request: identities,
                executor, the request that the tester saw, observations, attachments.
            LimitExceeded: It passes ``max_json_bytes``.
            StateError: The case doesn't wait for this test.
            MissingReservation: The test's action isn't pending any more.
            IntegrityError: The ledger moved while the case waited, or an attachment is
                damaged.
            ConflictError, StorageError: Another package, or it can't be written.
        """
        sealed = self._sealed(feedback, AsyncTestFeedback)
        answer = sealed.document
        repository = self._workspace.repository(answer.case_id, answer.package_id)
        return self._confirm(repository, sealed, actor, by_draft=False)

    def confirm_draft(
        self,
        case_id: str,
        package_id: str,
        draft: Mapping[str, Any] | bytes,
        *,
        confirmed_by: str,
        actor: str | None = None,
    ) -> Confirmed:
        """Confirm a draft in the name of somebody authenticated, now.

        Whatever the draft says of who confirmed it is dropped. A repeat is recognised by the
        draft, whoever confirmed it and when, so that a second try is no conflict.

        Args:
            case_id: The case.
            package_id: Its package.
            draft: The answer as written, or its JSON; see
                :func:`vstore.handoff.drafts.read_draft`.
            confirmed_by: Who confirms, 1 to 200 characters.
            actor: Who acts; the workspace's actor by default.

        Raises:
            As :meth:`confirm_feedback`.
        """
        repository = self._workspace.repository(case_id, package_id)
        sealed = self._drafted(repository, draft, confirmed_by)
        return self._confirm(repository, sealed, actor, by_draft=True)

    def preview(
        self,
        case_id: str,
        package_id: str,
        draft: Mapping[str, Any] | bytes,
        *,
        confirmed_by: str,
    ) -> AsyncTestFeedback:
        """What :meth:`confirm_draft` would store now, after all its checks; writes nothing.

        Args:
            case_id: The case.
            package_id: Its package.
            draft: As there.
            confirmed_by: As there.

        Raises:
            As :meth:`confirm_feedback`.
        """
        repository = self._workspace.repository(case_id, package_id)
        sealed = self._drafted(repository, draft, confirmed_by)
        with self._following(repository) as head:
            known = self._recognise(head, sealed, by_draft=True)
            if known is not None:
                return head.package.objects.document(known, AsyncTestFeedback)
            check_answer(head, sealed)
        return sealed.document

    def snapshot(self, case_id: str, package_id: str) -> HandoffSnapshot:
        """Every test of the case; legal in every state.

        Raises:
            NotFoundError, ConflictError: No such case, or another package.
            IntegrityError, InvalidError, UnsupportedError, StorageError: Not readable.
        """
        with self._following(self._workspace.repository(case_id, package_id)) as head:
            state = head.projection.handoffs()
            return HandoffSnapshot(
                package=head.package,
                handoffs=tuple(state.handoffs.values()),
                outstanding=state.outstanding,
            )

    # ---- confirming

    def _drafted(
        self, repository: Repository, draft: Mapping[str, Any] | bytes, confirmed_by: str
    ) -> Sealed[AsyncTestFeedback]:
        encoded = draft if isinstance(draft, bytes) else encode_value(dict(draft))
        value = read_object(encoded, max_bytes=self._limits.max_json_bytes)
        with self._following(repository) as head:
            seen = value.get("request")
            handoffs = head.projection.handoffs().handoffs.values()
            known = next((one for one in handoffs if one.request_ref == seen), None)
            if known is None:
                raise InvalidError(
                    "the draft doesn't say which request of this case its author saw",
                    kind="other_request",
                    hint="test show --draft prints a draft to fill in",
                    pointer="/request",
                )
            answer = read_draft(
                value,
                known.request,
                attachments_of(head.package, known.request_ref),
                confirmed_by=confirmed_by,
                confirmed_at=repository.clock(),
            )
        return self._sealed(answer, AsyncTestFeedback)

    def _confirm(
        self,
        repository: Repository,
        sealed: Sealed[AsyncTestFeedback],
        actor: str | None,
        *,
        by_draft: bool,
    ) -> Confirmed:
        # Large attachments are read through before the lock is taken.
        with self._following(repository) as head:
            unknown = self._recognise(head, sealed, by_draft=by_draft) is None
            if unknown:
                check_answer(head, sealed)
        if unknown:
            check_digest(head.package.objects, sealed.document.attachments)
        with self._locked(repository) as head:
            known = self._recognise(head, sealed, by_draft=by_draft)
            if known is not None:
                return Confirmed(
                    package=repository.confirm(),
                    feedback_ref=known,
                    feedback=head.package.objects.document(known, AsyncTestFeedback),
                    repeated=True,
                )
            check_answer(head, sealed)
            with repository.begin() as transaction:
                package = repository.publish(
                    transaction,
                    head.package,
                    events=[
                        repository.event(
                            CONFIRM, operation_id=sealed.document.request_id, actor=actor
                        )
                    ],
                    artifacts={FEEDBACK: transaction.put_sealed(sealed)},
                )
        return Confirmed(
            package=package,
            feedback_ref=sealed.id,
            feedback=sealed.document,
            repeated=False,
        )

    def _recognise(
        self, head: Head, sealed: Sealed[AsyncTestFeedback], *, by_draft: bool
    ) -> ObjectId | None:
        """The confirmed answer that this one repeats, or None while there is none."""
        answer = sealed.document
        handoff = head.projection.handoffs().handoffs.get(answer.request_id)
        if handoff is None:
            raise unknown_request(answer.request_id)
        known = handoff.feedback_ref
        if known is None or known == sealed.id:
            return known
        stored = head.package.objects.document(known, AsyncTestFeedback)
        if by_draft and draft_digest(stored) == draft_digest(answer):
            return known
        refuse(match_faults(answer, handoff.request, handoff.request_ref))
        raise conflict("answer", answer.request_id)

    # ---- reading

    @contextmanager
    def _head(self, case_id: str, package_id: str) -> Iterator[Head]:
        with self._locked(self._workspace.repository(case_id, package_id)) as head:
            yield head

    @contextmanager
    def _locked(self, repository: Repository) -> Iterator[Head]:
        """The head with the publication lock held."""
        with repository.locked() as package:
            projection = projection_of(repository, package)
            with projection.mutex:
                projection.follow(package)
                yield Head(repository, package, projection)

    @contextmanager
    def _following(self, repository: Repository) -> Iterator[Head]:
        """The head as it is now; it may move on."""
        with following(repository) as (package, projection):
            yield Head(repository, package, projection)

    def _sealed(self, value: D | bytes, kind: type[D]) -> Sealed[D]:
        """A document as it would be stored, held against its own schema and the limit."""
        most = self._limits.max_json_bytes
        encoded = (
            encode_value(read_object(value, max_bytes=most))
            if isinstance(value, bytes)
            else encode(value)
        )
        self._limits.check("max_json_bytes", len(encoded))
        return seal(decode(encoded, kind))
