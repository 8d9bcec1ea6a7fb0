"""Showing what would be confirmed, and confirming exactly that, once.

What a preview shows is bound by a digest: the BLAKE3 of the canonical answer without who
confirms it and when. A confirmation names that digest, so nothing that changed after the
preview is ever confirmed, and a second try is recognised. It takes these steps, and may die
between any two of them (see :mod:`vstore.web.recovery`):

1. the draft is frozen in the journal as ``begun``, if claim, revision and digest hold;
2. its files are attached to the test in the package;
3. the answer is confirmed there, and the case goes on;
4. the journal says ``done``, with the receipt; the claim is free, the uploads are gone.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from vstore.controller.test_attachments import Upload as PackageUpload
from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.errors import ConflictError, InvalidError, OperationConflict, VStoreError
from vstore.handoff.documents import AsyncTestFeedback
from vstore.handoff.drafts import CONFIRMATION, draft_digest, read_draft
from vstore.handoff.limits import HandoffLimits
from vstore.handoff.matching import feedback_faults, match_faults, refuse
from vstore.objects.canonical import encode, to_value
from vstore.objects.plain_json import encode_value
from vstore.package.workspace import Workspace
from vstore.web.accounts import Account
from vstore.web.board import Board, BoardEntry, RequestKey
from vstore.web.claims import Claims
from vstore.web.database import Database
from vstore.web.draft_content import FieldFault
from vstore.web.draft_store import Draft, DraftStore
from vstore.web.journal import Attempt, Journal, Receipt
from vstore.web.recovery import Recovery
from vstore.web.uploads import Upload, Uploads

__all__ = ["Confirming", "Preview"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a confirmation would store.

    Attributes:
        revision: The revision of the draft that it is made of.
        faults: What must be put right first; then there is nothing else.
        feedback: The answer, with who would confirm it and now as its time, or None.
        draft_digest: What a confirmation of it must name, or None.
        canonical: The bytes that this is the BLAKE3 digest of.
        uploads: The files that it lists, in its order.
    """

    revision: int
    faults: tuple[FieldFault, ...]
    feedback: AsyncTestFeedback | None = None
    draft_digest: str | None = None
    canonical: bytes = b""
    uploads: tuple[Upload, ...] = ()


class Confirming:
    """Previews and confirms drafts.

    Args:
        workspace: Where the packages are.
        coordinator: Takes answers.
        database: The service's own.
        board: The tests.
        claims: Who may confirm.
        drafts: What they wrote.
        uploads: Their files.
        journal: Where confirmations are written down.
        recovery: Settles what was begun.
        limits: The coordinator's limits.
    """

    def __init__(
        self,
        workspace: Workspace,
        coordinator: AsyncTestCoordinator,
        database: Database,
        board: Board,
        claims: Claims,
        drafts: DraftStore,
        uploads: Uploads,
        journal: Journal,
        recovery: Recovery,
        limits: HandoffLimits,
    ) -> None:
        self._workspace = workspace
        self._coordinator = coordinator
        self._database = database
        self._board = board
        self._claims = claims
        self._drafts = drafts
        self._uploads = uploads
        self._journal = journal
        self._recovery = recovery
        self._limits = limits
        self._guard = threading.Lock()
        self._alone: dict[RequestKey, threading.Lock] = {}

    def preview(self, key: RequestKey, account: Account, fence: int, revision: int) -> Preview:
        """What confirming this revision of the draft would store; stores nothing.

        Args:
            key: The test.
            account: Who would confirm.
            fence: Their token.
            revision: Of their draft, as they saw it.

        Raises:
            ConflictError: As :meth:`vstore.web.claims.Claims.check`, or the draft was saved
                since (``changed_since_preview``).
            LimitExceeded: The answer is too large.
            NotFoundError: No such test.
        """
        entry = self._board.entry(key)
        with self._database.transaction() as db:
            self._claims.check(db, key, account, fence)
            return self._build(db, entry, account, self._draft(db, key, account, revision))

    def confirm(
        self, key: RequestKey, account: Account, fence: int, revision: int, expected_digest: str
    ) -> Receipt:
        """Confirm what was previewed; the answer is durable in the package when this returns.

        The same again returns the same receipt.

        Args:
            key: The test.
            account: Who confirms.
            fence: Their token.
            revision: Of their draft.
            expected_digest: What the preview was bound by.

        Raises:
            ConflictError: As :meth:`preview`, also where the digest is another one.
            OperationConflict: Another answer was confirmed (``answered``); the draft is kept.
            InvalidError: Something is missing (``incomplete``; ``details["faults"]``).
            LimitExceeded, StorageError: It can't be taken; it is still a draft, unless the
                message says that the outcome is unknown. The next try finds out.
        """
        with self._only_one(key):
            self._settle_begun(key)
            known = self._known(key, account, expected_digest)
            if known is not None:
                return known
            attempt = self._begin(key, account, fence, revision, expected_digest)
            failure: VStoreError | None = None
            try:
                self._publish(attempt, account)
            except VStoreError as error:
                failure = error
                if error.details.get("outcome") == "unknown":
                    # That writer trusts itself no more; what it left is looked at afresh.
                    self._workspace.forget(key.case_id)
            reason = None if failure is None else failure.kind
            try:
                settled = self._recovery.settle(attempt, reason=reason)
            except VStoreError as error:
                raise failure or error from error
        if settled.receipt is not None:
            return settled.receipt
        if settled.state == "lost":
            raise _answered() from failure
        assert failure is not None
        raise failure

    def catch_up(self, key: RequestKey) -> None:
        """Settle a confirmation of this test that a failure left half done, if there is one.

        Raises:
            VStoreError: The package can't be read now.
        """
        with self._database.reading() as db:
            begun = self._journal.find(db, key, "begun")
        if begun is None:
            return
        lock = self._lock(key)
        if lock.acquire(blocking=False):
            try:
                self._settle_begun(key)
            finally:
                lock.release()

    def receipt(self, key: RequestKey) -> Receipt | None:
        """The receipt of a test that was confirmed here, or None."""
        with self._database.reading() as db:
            done = self._journal.find(db, key, "done")
        return None if done is None else done.receipt

    def last(self, key: RequestKey, account: Account) -> Attempt | None:
        """How a tester's latest confirmation of a test ended, or None if there is none."""
        return self._journal.last(key, account.account_id)

    # ---- inside

    def _settle_begun(self, key: RequestKey) -> None:
        with self._database.reading() as db:
            begun = self._journal.find(db, key, "begun")
        if begun is not None:
            self._recovery.settle(begun, reason="interrupted")

    def _known(self, key: RequestKey, account: Account, digest: str) -> Receipt | None:
        with self._database.reading() as db:
            done = self._journal.find(db, key, "done")
        if done is not None:
            if (done.account_id, done.draft_digest) == (account.account_id, digest):
                return done.receipt
            raise _answered()
        if self._board.entry(key).status == "answered":
            raise _answered()
        return None

    def _begin(
        self, key: RequestKey, account: Account, fence: int, revision: int, expected_digest: str
    ) -> Attempt:
        entry = self._board.entry(key)
        with self._database.transaction() as db:
            self._claims.check(db, key, account, fence, writes=True)
            draft = self._draft(db, key, account, revision)
            preview = self._build(db, entry, account, draft)
            if preview.faults:
                raise InvalidError(
                    "the answer isn't complete",
                    kind="incomplete",
                    hint="the form says what is missing",
                    faults=[one._asdict() for one in preview.faults],
                )
            if preview.draft_digest != expected_digest:
                raise _changed()
            return self._journal.begin(
                db,
                key,
                account_id=account.account_id,
                fence=fence,
                revision=revision,
                request_ref=entry.request_ref,
                draft=preview.canonical,
                draft_digest=expected_digest,
                uploads=tuple(one.upload_id for one in preview.uploads),
            )

    def _publish(self, attempt: Attempt, account: Account) -> None:
        key = attempt.key
        if attempt.uploads:
            with self._database.reading() as db:
                known = self._uploads.stored(db, key, account)
            with ExitStack() as streams:
                files = [
                    PackageUpload(one.name, streams.enter_context(self._uploads.stream(one)))
                    for one in (known[upload_id] for upload_id in attempt.uploads)
                ]
                self._coordinator.attach(
                    key.case_id,
                    key.package_id,
                    files,
                    request_id=key.request_id,
                    actor=account.name,
                )
        self._coordinator.confirm_draft(
            key.case_id,
            key.package_id,
            attempt.draft,
            confirmed_by=account.name,
            actor=account.name,
        )

    def _draft(
        self, db: sqlite3.Connection, key: RequestKey, account: Account, revision: int
    ) -> Draft:
        draft = self._drafts.current(db, key, account)
        if draft is None or draft.revision != revision:
            raise _changed()
        return draft

    def _build(
        self, db: sqlite3.Connection, entry: BoardEntry, account: Account, draft: Draft
    ) -> Preview:
        uploads = self._uploads.stored(db, entry.key, account)
        request, content = entry.request, draft.content
        faults = tuple(content.faults(request, uploads))
        if faults:
            return Preview(revision=draft.revision, faults=faults)
        feedback = read_draft(
            content.to_feedback_value(request, entry.request_ref, uploads, account.name),
            request,
            (),
            confirmed_by=account.name,
            confirmed_at=self._database.clock(),
        )
        # What follows was asked field by field; to the coordinator a page is a stranger.
        refuse(match_faults(feedback, request, entry.request_ref))
        refuse(feedback_faults(feedback))
        self._limits.check("max_json_bytes", len(encode(feedback)))
        self._limits.check("max_attachments", len(feedback.attachments))
        for one in feedback.attachments:
            self._limits.check("max_attachment_bytes", one.size)
        value = to_value(feedback)
        for name in CONFIRMATION:
            del value[name]
        return Preview(
            revision=draft.revision,
            faults=(),
            feedback=feedback,
            draft_digest=draft_digest(feedback),
            canonical=encode_value(value),
            uploads=tuple(uploads[one] for one in content.used_uploads(request)),
        )

    @contextmanager
    def _only_one(self, key: RequestKey) -> Iterator[None]:
        with self._lock(key):
            yield

    def _lock(self, key: RequestKey) -> threading.Lock:
        with self._guard:
            return self._alone.setdefault(key, threading.Lock())


_HINT: Final = "look at it again, then confirm"


def _changed() -> ConflictError:
    return ConflictError(
        "the draft is no longer what the preview showed", kind="changed_since_preview", hint=_HINT
    )


def _answered() -> OperationConflict:
    return OperationConflict(
        "another answer to this test was confirmed",
        kind="answered",
        hint="your draft is kept; tell whoever asked, if it says something else",
    )
