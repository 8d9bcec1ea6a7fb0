"""Who holds a test: exclusive, for a lease that every write renews, with a fencing token.

The token is a number per test that only grows. Whoever was superseded has a smaller one, and
every later write of theirs is refused, however late it arrives. A lease that ran out costs
its holder nothing while nobody else has claimed the test: they may go on.

Leases are the one thing here that a clock decides, and a clock may be moved. Forwards it
ends leases early, which costs nobody a draft. Backwards it would prolong them, so no lease
is ever believed to last longer than a full one from now.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from vstore.errors import ConflictError, InvalidError, StateError
from vstore.handoff.documents import Executor
from vstore.web.accounts import Account
from vstore.web.audit import Audit
from vstore.web.board import Board, RequestKey
from vstore.web.database import Database
from vstore.web.declines import Decline, checked_reason, declines_of, put_decline, take_back
from vstore.web.desk_tables import of_request
from vstore.web.times import instant

__all__ = ["LEASE_SECONDS", "Claim", "Claims", "Decline"]

#: How long a claim lasts without a sign of life, by default.
LEASE_SECONDS: Final = 900
_MAX_LEASE: Final = 7 * 86_400

_HELD: Final = of_request(
    "SELECT c.fence, c.account_id, c.claimed_at, c.lease_until, a.name, a.disabled"
    " FROM claims c LEFT JOIN accounts a USING (account_id) WHERE {request}"
)
_CONFIRMING: Final = of_request("SELECT 1 FROM confirmations WHERE {request} AND state = 'begun'")
_RENEW: Final = of_request("UPDATE claims SET lease_until = ? WHERE {request}")
_CUT: Final = of_request("UPDATE claims SET lease_until = ? WHERE {request} AND lease_until > ?")
_FREE: Final = of_request("UPDATE claims SET account_id = NULL WHERE {request}")
_TAKE: Final = (
    "INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
    " fence = excluded.fence, account_id = excluded.account_id,"
    " claimed_at = excluded.claimed_at, lease_until = excluded.lease_until"
)
_ALL: Final = "SELECT c.*, a.name, a.disabled FROM claims c JOIN accounts a USING (account_id)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Somebody's hold on a test.

    Attributes:
        key: The test.
        account_id: Who holds it.
        name: Their name.
        fence: The token that every write of theirs shows, 1 or more.
        claimed_at: When they claimed it.
        lease_until: When it may be taken by others.
        live: Whether that is still to come.
    """

    key: RequestKey
    account_id: int
    name: str
    fence: int
    claimed_at: str
    lease_until: str
    live: bool


class Claims:
    """Claims on the tests of a board.

    Args:
        database: Where they are kept.
        board: The tests.
        audit: The trail that they leave.
        lease_seconds: How long one lasts without a sign of life, 1 second to a week.

    Raises:
        InvalidError: Not such a number (``invalid_lease``).
    """

    def __init__(
        self,
        database: Database,
        board: Board,
        audit: Audit,
        *,
        lease_seconds: int = LEASE_SECONDS,
    ) -> None:
        if type(lease_seconds) is not int or not 1 <= lease_seconds <= _MAX_LEASE:
            raise InvalidError("a lease lasts from a second to a week", kind="invalid_lease")
        self.lease_seconds = lease_seconds
        self._database = database
        self._board = board
        self._audit = audit

    def claim(self, key: RequestKey, account: Account, *, executor: Executor = "human") -> Claim:
        """Take a test; one's own again only renews the lease.

        Args:
            key: The test.
            account: Who takes it.
            executor: ``human`` where a person is logged in, ``automated`` where a bot shows
                its token.

        Raises:
            ConflictError: Somebody else holds it (``claimed``; ``details`` has ``holder`` and
                ``lease_until``), or an answer is being confirmed (``confirming``).
            StateError: It is answered (``answered``), or for the other executor
                (``wrong_executor``).
            NotFoundError: No such test.
        """
        entry = self._board.entry(key)
        if entry.request.executor != executor:
            raise StateError(
                f"this test is for {_EXECUTORS[entry.request.executor]}", kind="wrong_executor"
            )
        if entry.status != "open":
            raise StateError("this test is answered already", kind="answered")
        with self._database.transaction() as db:
            now = self._now(db, key)
            row = self._row(db, key)
            if db.execute(_CONFIRMING, key).fetchone():
                refusal = ConflictError("an answer is being confirmed", kind="confirming")
            elif (
                row is None
                or not self._is_live(row, now)
                or row["account_id"] == (account.account_id)
            ):
                return self._take(db, key, account, row, now)
            else:
                refusal = ConflictError(
                    "somebody else does this test",
                    kind="claimed",
                    hint="it becomes free when they give it back or stay away",
                    holder=row["name"],
                    lease_until=instant(row["lease_until"]),
                )
        # Only now, since raising inside would undo that a lease was cut short.
        raise refusal

    def renew(self, key: RequestKey, account: Account, fence: int) -> Claim:
        """Give a sign of life.

        Raises:
            ConflictError: As :meth:`check`.
        """
        with self._database.transaction() as db:
            self.check(db, key, account, fence)
            row = self._row(db, key)
            assert row is not None
            return self._claim(key, row, self._database.now())

    def release(
        self, key: RequestKey, account: Account, fence: int, reason: str | None = None
    ) -> None:
        """Give a test back; the draft stays for whoever gave it back.

        Args:
            key: The test.
            account: Who holds it.
            fence: Their token.
            reason: For the audit trail, up to 2,000 characters.

        Raises:
            ConflictError: As :meth:`check`, or an answer is being confirmed.
            InvalidError: The reason is too long (``invalid_reason``).
        """
        reason = checked_reason(reason or "")
        with self._database.transaction() as db:
            self.check(db, key, account, fence, writes=True)
            self.free(db, key)
            facts = {"reason": reason} if reason else {}
            self._note(db, account, "test.release", key, **facts)

    def decline(self, key: RequestKey, account: Account, fence: int | None, reason: str) -> Decline:
        """Say that one won't do a test, and give it back where one holds it.

        Args:
            key: The test.
            account: Who declines.
            fence: Their token, or None where they don't hold it.
            reason: 1 to 2,000 characters; others see it.

        Raises:
            ConflictError: As :meth:`release`.
            InvalidError: No reason, or too long (``invalid_reason``).
            StateError: It is answered.
            NotFoundError: No such test.
        """
        reason = checked_reason(reason)
        if not reason:
            raise InvalidError(
                "say why", kind="invalid_reason", hint="others see the reason with the test"
            )
        if self._board.entry(key).status != "open":
            raise StateError("this test is answered already", kind="answered")
        with self._database.transaction() as db:
            row = self._row(db, key)
            if fence is not None:
                self.check(db, key, account, fence, writes=True)
            if row is not None and row["account_id"] == account.account_id:
                if fence is None:
                    self._refuse_confirming(db, key)
                self.free(db, key)
            now = self._database.now()
            declined = put_decline(db, key, account, reason, now)
            self._note(db, account, "test.decline", key, reason=reason)
        return declined

    def declines(self, key: RequestKey) -> list[Decline]:
        """Who said that they won't do a test, and why, oldest first."""
        with self._database.reading() as db:
            return declines_of(db, key)

    def holder(self, key: RequestKey) -> Claim | None:
        """Who holds a test, also when their lease has run out; None for nobody."""
        with self._database.reading() as db:
            row = self._row(db, key)
            if row is None or row["account_id"] is None:
                return None
            return self._claim(key, row, self._database.now())

    def holders(self) -> dict[RequestKey, Claim]:
        """Every hold, by test."""
        with self._database.reading() as db:
            rows = db.execute(_ALL).fetchall()
            now = self._database.now()
        keys = [RequestKey(row["case_id"], row["package_id"], row["request_id"]) for row in rows]
        return {key: self._claim(key, row, now) for key, row in zip(keys, rows, strict=True)}

    def check(
        self,
        db: sqlite3.Connection,
        key: RequestKey,
        account: Account,
        fence: int,
        *,
        writes: bool = False,
    ) -> None:
        """Refuse a write by whoever doesn't hold the test, and renew the lease of who does.

        Args:
            db: The transaction that writes.
            key: The test.
            account: Who writes.
            fence: Their token.
            writes: Refuse it too while an answer is being confirmed.

        Raises:
            ConflictError: Somebody else holds it by now, or they themselves with a newer
                token (``superseded``); nobody does, or they never did (``not_claimed``); or
                ``confirming``.
        """
        row = self._row(db, key)
        # Somebody disabled may be in the middle of something: their account ended, their
        # request didn't.
        mine = row is not None and row["account_id"] == account.account_id and not row["disabled"]
        if row is None or not mine or row["fence"] != fence:
            if row is not None and 1 <= fence < row["fence"]:
                raise ConflictError(
                    "somebody else has taken this test since"
                    if not mine
                    else "this test was given back and claimed again since",
                    kind="superseded",
                    hint="what you wrote is kept as your draft" if not mine else "load the page",
                    holder=row["name"],
                )
            raise ConflictError(
                "you don't hold this test", kind="not_claimed", hint="claim it first"
            )
        if writes:
            self._refuse_confirming(db, key)
        db.execute(_RENEW, (self._database.now() + self.lease_seconds, *key))

    def check_free(self, db: sqlite3.Connection, key: RequestKey, account: Account) -> None:
        """Refuse a write without a token by whoever holds the test, or is confirming it.

        Raises:
            ConflictError: They hold it (``claimed``), or an answer is being confirmed
                (``confirming``).
        """
        row = self._row(db, key)
        if row is not None and row["account_id"] == account.account_id:
            raise ConflictError("you hold this test", kind="claimed", holder=row["name"])
        self._refuse_confirming(db, key)

    def free(self, db: sqlite3.Connection, key: RequestKey) -> None:
        """Nobody holds the test any more; within a transaction."""
        db.execute(_FREE, key)

    # ---- inside

    def _take(
        self,
        db: sqlite3.Connection,
        key: RequestKey,
        account: Account,
        row: sqlite3.Row | None,
        now: int,
    ) -> Claim:
        again = row is not None and row["account_id"] == account.account_id
        before = 0 if row is None else row["fence"]
        since = row["claimed_at"] if row is not None and again else now
        fence = before if again else before + 1
        lease_until = now + self.lease_seconds
        db.execute(_TAKE, (*key, fence, account.account_id, since, lease_until))
        if not again:
            facts = {}
            if row is not None and row["account_id"] is not None:
                facts["superseded"] = row["name"]
            self._note(db, account, "test.claim", key, **facts)
            take_back(db, key, account)
        taken = self._row(db, key)
        assert taken is not None
        return self._claim(key, taken, now)

    def _now(self, db: sqlite3.Connection, key: RequestKey) -> int:
        """Now; a lease that would last longer than a full one from here is cut to that."""
        now = self._database.now()
        most = now + self.lease_seconds
        db.execute(_CUT, (most, *key, most))
        return now

    def _refuse_confirming(self, db: sqlite3.Connection, key: RequestKey) -> None:
        if db.execute(_CONFIRMING, key).fetchone():
            raise ConflictError(
                "an answer to this test is being confirmed",
                kind="confirming",
                hint="wait a moment, then look at the test again",
            )

    def _row(self, db: sqlite3.Connection, key: RequestKey) -> sqlite3.Row | None:
        row: sqlite3.Row | None = db.execute(_HELD, key).fetchone()
        return row

    def _is_live(self, row: sqlite3.Row, now: int) -> bool:
        return row["account_id"] is not None and not row["disabled"] and now < row["lease_until"]

    def _claim(self, key: RequestKey, row: sqlite3.Row, now: int) -> Claim:
        return Claim(
            key=key,
            account_id=row["account_id"],
            name=row["name"],
            fence=row["fence"],
            claimed_at=instant(row["claimed_at"]),
            lease_until=instant(min(row["lease_until"], now + self.lease_seconds)),
            live=self._is_live(row, now),
        )

    def _note(
        self,
        db: sqlite3.Connection,
        account: Account,
        action: str,
        key: RequestKey,
        **facts: str,
    ) -> None:
        self._audit.note(
            db,
            account.name,
            action,
            case_id=key.case_id,
            request_id=key.request_id,
            package_id=key.package_id,
            **facts,
        )


_EXECUTORS: Final = {"human": "a person", "automated": "a bot"}
