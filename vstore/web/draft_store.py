"""Drafts: what testers have typed, with revisions, and with every text that came too late.

There is one draft for each test and tester. A save names the revision that it rests on. Where
another tab has saved since, the save is refused, but its text is kept first: nothing that
was typed is lost, and the tester decides which one is right.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vstore.errors import ConflictError, InvalidError, LimitExceeded, NotFoundError
from vstore.objects.document import MAX_INTEGER
from vstore.web.accounts import Account
from vstore.web.audit import Audit
from vstore.web.board import Board, RequestKey
from vstore.web.claims import Claims
from vstore.web.database import Database
from vstore.web.desk_tables import of_request
from vstore.web.draft_content import DraftContent
from vstore.web.times import instant

__all__ = ["KEPT_REVISIONS", "ConflictCopy", "Draft", "DraftStore", "Revision", "StaleDraft"]

#: Revisions of a draft that are kept, at the least.
KEPT_REVISIONS: Final = 50
_MAX_CONFLICTS: Final = 200

_DRAFT: Final = of_request(
    "SELECT d.draft_id, d.revision, r.content, r.saved_at, r.automatic"
    " FROM drafts d JOIN draft_revisions r USING (draft_id, revision)"
    " WHERE {request} AND account_id = ?"
)
_REVISIONS: Final = of_request(
    "SELECT r.* FROM drafts d JOIN draft_revisions r USING (draft_id)"
    " WHERE {request} AND account_id = ? ORDER BY r.revision DESC"
)
_OPEN_CONFLICTS: Final = (
    "SELECT * FROM draft_conflicts WHERE draft_id = ? AND resolved_at IS NULL ORDER BY conflict_id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCopy:
    """A text that was refused because another one had been saved in between.

    Attributes:
        conflict_id: Names it.
        base_revision: The revision that it rested on.
        content: The text.
        refused_at: When.
    """

    conflict_id: int
    base_revision: int
    content: DraftContent
    refused_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One saved state of a draft."""

    revision: int
    content: DraftContent
    saved_at: str
    automatic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A tester's draft for a test.

    Attributes:
        revision: Its number; 0 for the empty form, before anything was saved.
        content: What it says.
        saved_at: When it was saved, or None.
        automatic: Whether the page saved it by itself.
        conflicts: Refused texts that the tester hasn't dealt with, oldest first.
    """

    revision: int
    content: DraftContent
    saved_at: str | None = None
    automatic: bool = False
    conflicts: tuple[ConflictCopy, ...] = ()


class StaleDraft(ConflictError):
    """Another tab has saved since.

    Attributes:
        current: What is saved now; the refused text is among its conflicts.
        refused: The text that was refused.
    """

    kind = "stale_draft"

    def __init__(self, current: Draft, refused: DraftContent) -> None:
        super().__init__(
            "this draft was saved in another window since",
            hint="both texts are kept; compare them and choose",
            revision=current.revision,
        )
        self.current = current
        self.refused = refused


class DraftStore:
    """The drafts of all testers.

    Args:
        database: Where they are kept.
        board: The tests.
        claims: Who may write.
        audit: The trail of conflicts.
    """

    def __init__(self, database: Database, board: Board, claims: Claims, audit: Audit) -> None:
        self._database = database
        self._board = board
        self._claims = claims
        self._audit = audit

    def load(self, key: RequestKey, account: Account) -> Draft:
        """A tester's draft, or the empty form; it needs no claim.

        Raises:
            NotFoundError: No such test.
        """
        request = self._board.entry(key).request
        with self._database.reading() as db:
            found = self.current(db, key, account)
        return found or Draft(revision=0, content=DraftContent.template(request))

    def save(
        self,
        key: RequestKey,
        account: Account,
        fence: int,
        base_revision: int,
        content: DraftContent,
        *,
        automatic: bool = False,
    ) -> Draft:
        """Save a draft; the same text again is no new revision.

        Args:
            key: The test.
            account: Whose draft.
            fence: Their token.
            base_revision: The revision that the text was written on, 0 for none.
            content: The text.
            automatic: Whether the page saves by itself.

        Raises:
            StaleDraft: Another text was saved since; this one was kept beside it.
            ConflictError: Not, or no longer, theirs to write (``superseded``,
                ``not_claimed``), or it is being confirmed (``confirming``).
            LimitExceeded: It is too large, or too many refused texts wait to be dealt with
                (``too_many_conflicts``).
            InvalidError: A text that can't be stored (``invalid_draft``), or no revision.
            NotFoundError: No such test.
        """
        self._board.entry(key)
        if not 0 <= base_revision <= MAX_INTEGER:
            raise InvalidError("no draft has this revision", kind="invalid_revision")
        encoded = content.encode()
        with self._database.transaction() as db:
            self._claims.check(db, key, account, fence, writes=True)
            row = self._row(db, key, account)
            if row is not None and row["content"] == encoded:
                return self._draft(db, row)
            if row is None or base_revision == row["revision"]:
                self._append(db, key, account, row, encoded, automatic=automatic)
                return self._loaded(db, key, account)
            self._keep_refused(db, key, account, row, base_revision, encoded)
            current = self._loaded(db, key, account)
        # Raising inside would undo that the text was kept.
        raise StaleDraft(current, content.tidy())

    def resolve_conflict(
        self,
        key: RequestKey,
        account: Account,
        fence: int,
        base_revision: int,
        content: DraftContent,
        *,
        conflict_ids: Sequence[int],
    ) -> Draft:
        """Save what the tester made of refused texts, which then are dealt with.

        Args:
            key: The test.
            account: Whose draft.
            fence: Their token.
            base_revision: The revision that it rests on.
            content: The text that stands from now on.
            conflict_ids: The refused texts that were looked at.

        Raises:
            As :meth:`save`, and:
            NotFoundError: Not a refused text of this draft (``unknown_conflict``).
        """
        with self._database.transaction() as db:
            self._claims.check(db, key, account, fence, writes=True)
            row = self._row(db, key, account)
            known = (
                set()
                if row is None
                else {one.conflict_id for one in self._conflicts(db, row["draft_id"])}
            )
            if not known.issuperset(conflict_ids):
                raise NotFoundError(
                    "there is no such refused text", kind="unknown_conflict", hint="load the page"
                )
        draft = self.save(key, account, fence, base_revision, content)
        with self._database.transaction() as db:
            now = self._database.now()
            db.executemany(
                "UPDATE draft_conflicts SET resolved_at = ?"
                " WHERE conflict_id = ? AND resolved_at IS NULL",
                [(now, one) for one in conflict_ids],
            )
            draft = self._loaded(db, key, account)
            for one in conflict_ids:
                self._note(db, account, "draft.resolved", key, conflict=one)
        return draft

    def drafted(self, account: Account) -> set[RequestKey]:
        """The tests that a tester has a draft for."""
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT case_id, package_id, request_id FROM drafts WHERE account_id = ?",
                (account.account_id,),
            ).fetchall()
        return {RequestKey(*row) for row in rows}

    def revisions(self, key: RequestKey, account: Account) -> list[Revision]:
        """The saved states of a tester's draft that are still kept, newest first."""
        with self._database.reading() as db:
            rows = db.execute(_REVISIONS, (*key, account.account_id)).fetchall()
        return [
            Revision(
                revision=row["revision"],
                content=DraftContent.decode(row["content"]),
                saved_at=instant(row["saved_at"]),
                automatic=bool(row["automatic"]),
            )
            for row in rows
        ]

    def current(self, db: sqlite3.Connection, key: RequestKey, account: Account) -> Draft | None:
        """A tester's draft as a transaction sees it, or None before the first save."""
        row = self._row(db, key, account)
        return None if row is None else self._draft(db, row)

    # ---- inside

    def _row(self, db: sqlite3.Connection, key: RequestKey, account: Account) -> sqlite3.Row | None:
        row: sqlite3.Row | None = db.execute(_DRAFT, (*key, account.account_id)).fetchone()
        return row

    def _loaded(self, db: sqlite3.Connection, key: RequestKey, account: Account) -> Draft:
        found = self.current(db, key, account)
        assert found is not None
        return found

    def _draft(self, db: sqlite3.Connection, row: sqlite3.Row) -> Draft:
        return Draft(
            revision=row["revision"],
            content=DraftContent.decode(row["content"]),
            saved_at=instant(row["saved_at"]),
            automatic=bool(row["automatic"]),
            conflicts=tuple(self._conflicts(db, row["draft_id"])),
        )

    def _conflicts(self, db: sqlite3.Connection, draft_id: int) -> list[ConflictCopy]:
        return [
            ConflictCopy(
                conflict_id=row["conflict_id"],
                base_revision=row["base_revision"],
                content=DraftContent.decode(row["content"]),
                refused_at=instant(row["refused_at"]),
            )
            for row in db.execute(_OPEN_CONFLICTS, (draft_id,)).fetchall()
        ]

    def _append(
        self,
        db: sqlite3.Connection,
        key: RequestKey,
        account: Account,
        row: sqlite3.Row | None,
        encoded: bytes,
        *,
        automatic: bool,
    ) -> None:
        if row is None:
            draft_id = db.execute(
                "INSERT INTO drafts (case_id, package_id, request_id, account_id, revision)"
                " VALUES (?, ?, ?, ?, 1)",
                (*key, account.account_id),
            ).lastrowid
            revision = 1
        else:
            draft_id, revision = row["draft_id"], row["revision"] + 1
            db.execute("UPDATE drafts SET revision = ? WHERE draft_id = ?", (revision, draft_id))
        db.execute(
            "INSERT INTO draft_revisions VALUES (?, ?, ?, ?, ?)",
            (draft_id, revision, encoded, self._database.now(), int(automatic)),
        )
        db.execute(
            "DELETE FROM draft_revisions WHERE draft_id = ? AND revision <= ?",
            (draft_id, revision - KEPT_REVISIONS),
        )

    def _keep_refused(
        self,
        db: sqlite3.Connection,
        key: RequestKey,
        account: Account,
        row: sqlite3.Row,
        base_revision: int,
        encoded: bytes,
    ) -> None:
        draft_id = row["draft_id"]
        kept = db.execute(_OPEN_CONFLICTS, (draft_id,)).fetchall()
        if any(one["content"] == encoded for one in kept):
            return
        if len(kept) >= _MAX_CONFLICTS:
            raise LimitExceeded(
                "too many refused texts of this draft wait to be dealt with",
                kind="too_many_conflicts",
                hint="close the other windows, compare the texts and choose",
                limit="max_conflicts",
                value=_MAX_CONFLICTS,
                asked=len(kept) + 1,
            )
        db.execute(
            "INSERT INTO draft_conflicts (draft_id, base_revision, content, refused_at)"
            " VALUES (?, ?, ?, ?)",
            (draft_id, base_revision, encoded, self._database.now()),
        )
        self._note(db, account, "draft.conflict", key, revision=row["revision"])

    def _note(
        self, db: sqlite3.Connection, account: Account, action: str, key: RequestKey, **facts: int
    ) -> None:
        self._audit.note(
            db, account.name, action, case_id=key.case_id, request_id=key.request_id, **facts
        )
