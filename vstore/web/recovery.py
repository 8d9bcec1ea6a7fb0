"""Settling confirmations that a dead service, or a failed disk, left half done.

The package decides. Where it has an answer that the draft is recognised by, the confirmation
came to pass: its publication is made sure of and the journal catches up. Where it has another
answer, the draft was too late. Where it has none, nothing happened, and the draft is a draft
again. Asking twice changes nothing.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Literal

from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.errors import NotFoundError, VStoreError
from vstore.handoff.documents import AsyncTestFeedback
from vstore.handoff.drafts import draft_digest
from vstore.package.workspace import Workspace
from vstore.web.audit import Audit
from vstore.web.board import Board, RequestKey
from vstore.web.claims import Claims
from vstore.web.database import Database
from vstore.web.journal import Attempt, Journal, Receipt
from vstore.web.uploads import Uploads

__all__ = ["Recovered", "Recovery"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a start of the service found half done.

    Attributes:
        done: Confirmations that had come to pass.
        withdrawn: Confirmations that had not, and are drafts again.
        lost: Confirmations that another answer came before.
        undecided: Confirmations whose package can't be read now; they stay begun.
        files: Half uploads, files that nothing names, and uploads for tests that somebody
            else answered long ago; they are gone.
    """

    done: int = 0
    withdrawn: int = 0
    lost: int = 0
    undecided: int = 0
    files: int = 0

    def sentences(self) -> list[str]:
        """The same for whoever starts the service; nothing where nothing was half done."""
        told = (
            (self.done, "{n} answer(s) had been confirmed when the service ended; that stands."),
            (self.withdrawn, "{n} answer(s) had not come so far; they are drafts again."),
            (self.lost, "{n} answer(s) came too late: another one was confirmed."),
            (self.undecided, "{n} confirmation(s) wait for a case that can't be read now."),
            (self.files, "{n} file(s) that nobody needs any more were removed."),
        )
        return [sentence.format(n=count) for count, sentence in told if count]


class Recovery:
    """Settles what is begun.

    Args:
        workspace: Where the packages are.
        coordinator: Knows which answers are confirmed.
        database: The service's own.
        board: Finds generations.
        claims: Are freed once an answer is there.
        uploads: Are dropped once they are in the package.
        journal: What was begun.
        audit: The trail.
    """

    def __init__(
        self,
        workspace: Workspace,
        coordinator: AsyncTestCoordinator,
        database: Database,
        board: Board,
        claims: Claims,
        uploads: Uploads,
        journal: Journal,
        audit: Audit,
    ) -> None:
        self._workspace = workspace
        self._coordinator = coordinator
        self._database = database
        self._board = board
        self._claims = claims
        self._uploads = uploads
        self._journal = journal
        self._audit = audit

    def run(self) -> Recovered:
        """Settle everything that is begun and clean up; for the start of a service.

        Raises:
            IntegrityError, StorageError: The service's database or folder can't be used.
        """
        with self._database.reading() as db:
            begun = self._journal.begun(db)
        counted = {"done": 0, "withdrawn": 0, "lost": 0, "begun": 0}
        for one in begun:
            try:
                counted[self.settle(one, reason="service_ended").state] += 1
            except VStoreError:
                # Of the package, or it is away: another day, or the next try, settles it.
                counted["begun"] += 1
        swept = self._uploads.sweep(self._is_answered)
        return Recovered(
            done=counted["done"],
            withdrawn=counted["withdrawn"],
            lost=counted["lost"],
            undecided=counted["begun"],
            files=self._uploads.clean() + swept,
        )

    def _is_answered(self, key: RequestKey) -> bool:
        try:
            return self._board.entry(key).status == "answered"
        except VStoreError:
            return False  # a case that is away may come back

    def settle(self, attempt: Attempt, *, reason: str | None = None) -> Attempt:
        """Bring the journal to what the package says; one that has ended stays as it is.

        Nobody may work on the same test meanwhile.

        Args:
            attempt: What was begun.
            reason: Why it would be withdrawn: the kind of an error.

        Returns:
            The confirmation as it stands now.

        Raises:
            NotFoundError: The package, or its request, is gone (it stays begun).
            ConflictError, IntegrityError, InvalidError, StorageError, UnsupportedError: The
                package can't be read, or made sure of (it stays begun).
        """
        key = attempt.key
        snapshot = self._coordinator.snapshot(key.case_id, key.package_id)
        found = next(
            (one for one in snapshot.handoffs if one.request.request_id == key.request_id), None
        )
        if found is None or found.request_ref != attempt.request_ref:
            raise NotFoundError("the test is no longer in its case", kind="unknown_request")
        if found.feedback_ref is None:
            return self._give_up(attempt, "withdrawn", reason)
        feedback = snapshot.package.objects.document(found.feedback_ref, AsyncTestFeedback)
        if draft_digest(feedback) != attempt.draft_digest:
            return self._give_up(attempt, "lost", "answered")
        # Who published it may have died before it was on the disk.
        self._workspace.repository(key.case_id, key.package_id).confirm()
        assert found.confirmed_in is not None
        return self._finish(
            attempt,
            Receipt(
                feedback_ref=found.feedback_ref,
                generation_id=self._board.generation_of(key),
                generation_number=found.confirmed_in,
                confirmed_by=feedback.confirmed_by,
                confirmed_at=feedback.confirmed_at,
                draft_digest=attempt.draft_digest,
                repeated=False,
            ),
        )

    def _finish(self, attempt: Attempt, receipt: Receipt) -> Attempt:
        """Write down that an answer is durable in the package, and clear the desk of it."""
        dropped: tuple[str, ...] = ()
        with self._database.transaction() as db:
            if self._journal.finish(db, attempt, receipt):
                self._claims.free(db, attempt.key)
                dropped = self._uploads.drop(db, attempt.key, attempt.account_id)
                self._note(
                    db,
                    attempt,
                    "test.confirm",
                    feedback=str(receipt.feedback_ref),
                    generation=receipt.generation_number,
                )
        self._uploads.discard(dropped)
        return replace(attempt, state="done", receipt=receipt)

    def _give_up(
        self, attempt: Attempt, state: Literal["withdrawn", "lost"], reason: str | None
    ) -> Attempt:
        with self._database.transaction() as db:
            if self._journal.give_up(db, attempt, state, reason):
                if state == "lost":
                    self._claims.free(db, attempt.key)
                self._note(db, attempt, f"test.confirm_{state}", reason=reason)
        return replace(attempt, state=state, reason=reason)

    def _note(
        self, db: sqlite3.Connection, attempt: Attempt, action: str, **facts: str | int | None
    ) -> None:
        self._audit.note(
            db,
            attempt.name,
            action,
            case_id=attempt.key.case_id,
            request_id=attempt.key.request_id,
            revision=attempt.revision,
            **facts,
        )
