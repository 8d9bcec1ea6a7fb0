"""The journal of confirmations: what was begun, and how it ended.

A confirmation has to move two stores, the service's database and the package, and a service
may die between any two steps. So it is written down before anything happens to the package,
and whether it came to pass is never a matter of opinion: the package says so.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from vstore.objects.ids import ObjectId
from vstore.web.board import RequestKey
from vstore.web.database import Database
from vstore.web.desk_tables import of_request
from vstore.web.times import instant

__all__ = ["Attempt", "Journal", "Receipt"]

State = Literal["begun", "done", "withdrawn", "lost"]

_COLUMNS: Final = "SELECT c.*, a.name FROM confirmations c JOIN accounts a USING (account_id)"
_OF_REQUEST: Final = of_request(
    _COLUMNS + " WHERE {request} AND state = ? ORDER BY confirmation_id DESC"
)
_LAST: Final = of_request(
    _COLUMNS + " WHERE {request} AND account_id = ? ORDER BY confirmation_id DESC LIMIT 1"
)
_BEGUN: Final = _COLUMNS + " WHERE state = 'begun' ORDER BY confirmation_id"
_ONE: Final = _COLUMNS + " WHERE confirmation_id = ?"
_INSERT: Final = (
    "INSERT INTO confirmations (case_id, package_id, request_id, account_id, fence, revision,"
    " request_ref, draft, draft_digest, uploads, state, begun_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'begun', ?)"
)
_DONE: Final = (
    "UPDATE confirmations SET state = 'done', ended_at = ?, feedback_ref = ?,"
    " generation_id = ?, generation_number = ?, confirmed_by = ?, confirmed_at = ?"
    " WHERE confirmation_id = ? AND state = 'begun'"
)
_GIVEN_UP: Final = (
    "UPDATE confirmations SET state = ?, ended_at = ?, reason = ?"
    " WHERE confirmation_id = ? AND state = 'begun'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a tester is shown once their answer is durable in the package.

    Attributes:
        feedback_ref: The object id of the answer.
        generation_id: The generation that took it.
        generation_number: Its number, 1 or more.
        confirmed_by: Who confirmed it, as the answer says.
        confirmed_at: When, as the answer says.
        draft_digest: What it is recognised by.
        repeated: Whether it had been confirmed before.
    """

    feedback_ref: ObjectId
    generation_id: ObjectId
    generation_number: int
    confirmed_by: str
    confirmed_at: str
    draft_digest: str
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A confirmation that was begun.

    Attributes:
        attempt_id: Names it.
        key: The test.
        account_id: Who confirms.
        name: Their name.
        fence: Their token.
        revision: The revision of their draft that was frozen.
        request_ref: The request that they saw.
        draft: What was frozen, as the coordinator takes it.
        draft_digest: What that is recognised by.
        uploads: The ids of the uploads that it lists.
        state: ``begun``; ``done``; ``withdrawn``, so that it is a draft again; or ``lost``
            where another answer was confirmed.
        begun_at: When it was begun.
        ended_at: When it ended, or None.
        reason: The kind of the error that ended it, or None.
        receipt: Where it is ``done``.
    """

    attempt_id: int
    key: RequestKey
    account_id: int
    name: str
    fence: int
    revision: int
    request_ref: ObjectId
    draft: bytes
    draft_digest: str
    uploads: tuple[str, ...]
    state: State
    begun_at: str
    ended_at: str | None
    reason: str | None
    receipt: Receipt | None


class Journal:
    """The confirmations of all testers. Whoever changes it does so in a transaction.

    Args:
        database: Where it is kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self,
        db: sqlite3.Connection,
        key: RequestKey,
        *,
        account_id: int,
        fence: int,
        revision: int,
        request_ref: ObjectId,
        draft: bytes,
        draft_digest: str,
        uploads: tuple[str, ...],
    ) -> Attempt:
        """Write down that a confirmation begins.

        Raises:
            sqlite3.IntegrityError: One has begun or is done already; ask before.
        """
        listed = msgspec.json.encode(uploads).decode()
        values = (*key, account_id, fence, revision, str(request_ref), draft, draft_digest, listed)
        cursor = db.execute(_INSERT, (*values, self._database.now()))
        return _attempt(db.execute(_ONE, (cursor.lastrowid,)).fetchone())

    def finish(self, db: sqlite3.Connection, attempt: Attempt, receipt: Receipt) -> bool:
        """Write down that it came to pass; False where that is known already."""
        changed = db.execute(
            _DONE,
            (
                self._database.now(),
                str(receipt.feedback_ref),
                str(receipt.generation_id),
                receipt.generation_number,
                receipt.confirmed_by,
                receipt.confirmed_at,
                attempt.attempt_id,
            ),
        )
        return changed.rowcount == 1

    def give_up(
        self,
        db: sqlite3.Connection,
        attempt: Attempt,
        state: Literal["withdrawn", "lost"],
        reason: str | None,
    ) -> bool:
        """Write down that it didn't; False where it has ended already."""
        now = self._database.now()
        return db.execute(_GIVEN_UP, (state, now, reason, attempt.attempt_id)).rowcount == 1

    def begun(self, db: sqlite3.Connection) -> list[Attempt]:
        """Every confirmation that hasn't ended, oldest first."""
        return [_attempt(row) for row in db.execute(_BEGUN).fetchall()]

    def find(self, db: sqlite3.Connection, key: RequestKey, state: State) -> Attempt | None:
        """The latest confirmation of a test in a state, or None."""
        row = db.execute(_OF_REQUEST, (*key, state)).fetchone()
        return None if row is None else _attempt(row)

    def last(self, key: RequestKey, account_id: int) -> Attempt | None:
        """A tester's latest confirmation of a test, or None."""
        with self._database.reading() as db:
            row = db.execute(_LAST, (*key, account_id)).fetchone()
        return None if row is None else _attempt(row)


def _attempt(row: sqlite3.Row) -> Attempt:
    receipt = None
    if row["state"] == "done":
        receipt = Receipt(
            feedback_ref=ObjectId.parse(row["feedback_ref"]),
            generation_id=ObjectId.parse(row["generation_id"]),
            generation_number=row["generation_number"],
            confirmed_by=row["confirmed_by"],
            confirmed_at=row["confirmed_at"],
            draft_digest=row["draft_digest"],
            repeated=True,
        )
    return Attempt(
        attempt_id=row["confirmation_id"],
        key=RequestKey(row["case_id"], row["package_id"], row["request_id"]),
        account_id=row["account_id"],
        name=row["name"],
        fence=row["fence"],
        revision=row["revision"],
        request_ref=ObjectId.parse(row["request_ref"]),
        draft=row["draft"],
        draft_digest=row["draft_digest"],
        uploads=tuple(msgspec.json.decode(row["uploads"], type=list[str])),
        state=row["state"],
        begun_at=instant(row["begun_at"]),
        ended_at=None if row["ended_at"] is None else instant(row["ended_at"]),
        reason=row["reason"],
        receipt=receipt,
    )
