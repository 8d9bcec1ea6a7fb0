"""Sessions: kept by the service, ended by it, and new with each login."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from vstore.errors import StorageError
from vstore.web.accounts import MAX_NAME, Account, account_of, name_key
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.passwords import hash_password, is_outdated, verify_password
from vstore.web.problems import NotLoggedIn
from vstore.web.proofs import digest, new_secret
from vstore.web.rates import Rates, network
from vstore.web.times import instant

__all__ = ["ABSOLUTE_SECONDS", "IDLE_SECONDS", "Session", "Sessions"]

#: A session ends when it wasn't used for this long, and at the latest after that.
IDLE_SECONDS: Final = 12 * 3600
ABSOLUTE_SECONDS: Final = 7 * 24 * 3600

#: Between two notes of when a session was last used.
_TOUCH_SECONDS: Final = 60

#: Failed logins, and within how many seconds: with one name from one place, and from one place.
_PER_NAME: Final = (10, 900)
_PER_PLACE: Final = (60, 900)


@dataclass(frozen=True)
class Session:
    """Somebody who is logged in.

    Args:
        session_id: The hash of the secret; no secret itself.
        account: Whose it is.
        created_at: The instant of the login.
        last_seen: When it was last used, to the minute.
    """

    session_id: bytes
    account: Account
    created_at: str
    last_seen: str


class Sessions:
    """The sessions of one database.

    Args:
        database: Where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._audit = Audit(database)
        self._rates = Rates(database)

    def log_in(
        self,
        name: str,
        password: str,
        *,
        address: str | None,
        replacing: str | None = None,
        counted: bool = True,
    ) -> str:
        """Begin a session.

        An unknown name, a disabled account and a wrong password take the same work and are
        told with the same words.

        Args:
            name: Whose, in any case.
            password: Its password.
            address: Where from, for the rates and the audit trail.
            replacing: The secret of a session that this browser had; it ends.
            counted: Count it for the rates, and let them refuse it. Not for who has just set
                this password with a code or the old one: what others tried wrongly from the
                same place must not hide from them that it is set.

        Returns:
            The secret of the new session. Only its hash is kept.

        Raises:
            NotLoggedIn: Name and password don't belong together (``wrong_login``).
            TooMany: There were too many failures, with this name or from there.
        """
        key, place = name_key(name[: 4 * MAX_NAME]), network(address)
        of_name, of_place = f"login {place} {key}", f"login {place}"
        # Counted before the password is looked at, so that many tries at once don't get by.
        if counted:
            with self._database.transaction():
                self._rates.hit(of_place, *_PER_PLACE)
                self._rates.hit(of_name, *_PER_NAME)
        with self._database.reading() as db:
            row = _login_row(db, key)
        known = None if row is None else row["password_hash"]
        matches = verify_password(known, password)
        if not matches or row is None or known is None or row["disabled"]:
            with self._database.transaction() as db:
                self._audit.note(
                    db, "nobody" if row is None else row["name"], "session.refused", address=place
                )
            raise _wrong()
        better = hash_password(password) if is_outdated(known) else known
        secret = new_secret()
        with self._database.transaction() as db:
            again = _login_row(db, key)
            if again is None or again["disabled"] or again["password_hash"] != known:
                # Disabled or reset while the password was looked at.
                raise _wrong()
            now = self._database.now()
            self._rates.clear(of_name)
            if counted:
                self._rates.give_back(of_place)
            db.execute(
                "DELETE FROM sessions WHERE created_at <= ? OR last_seen <= ?",
                (now - ABSOLUTE_SECONDS, now - IDLE_SECONDS),
            )
            if replacing is not None:
                db.execute("DELETE FROM sessions WHERE session_hash = ?", (digest(replacing),))
            if better != known:
                db.execute(
                    "UPDATE credentials SET password_hash = ? WHERE account_id = ?",
                    (better, again["account_id"]),
                )
            db.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?)",
                (digest(secret), again["account_id"], now, now),
            )
            self._audit.note(db, again["name"], "session.began", address=place)
        return secret

    def find(self, secret: str) -> Session | None:
        """The session with a secret, if it goes on.

        Args:
            secret: What the browser showed.

        Returns:
            None when there is none, it is over, or its account is disabled.
        """
        key = digest(secret)
        with self._database.reading() as db:
            row = db.execute(
                "SELECT accounts.*, last_seen, sessions.created_at AS began FROM sessions"
                " JOIN accounts USING (account_id) WHERE session_hash = ? AND NOT disabled",
                (key,),
            ).fetchone()
            now = self._database.now()
        if (
            row is None
            or row["began"] <= now - ABSOLUTE_SECONDS
            or row["last_seen"] <= now - IDLE_SECONDS
        ):
            return None
        if row["last_seen"] <= now - _TOUCH_SECONDS:
            # A full disk is no reason to keep somebody from reading what a test asks.
            with suppress(StorageError), self._database.transaction() as db:
                db.execute(
                    "UPDATE sessions SET last_seen = max(last_seen, ?) WHERE session_hash = ?",
                    (now, key),
                )
        return Session(
            session_id=key,
            account=account_of(row),
            created_at=instant(row["began"]),
            last_seen=instant(max(row["last_seen"], now)),
        )

    def log_out(self, secret: str) -> None:
        """End the session with a secret; an unknown one is fine."""
        with self._database.transaction() as db:
            row = db.execute(
                "DELETE FROM sessions WHERE session_hash = ? RETURNING account_id",
                (digest(secret),),
            ).fetchone()
            if row is not None:
                (name,) = db.execute(
                    "SELECT name FROM accounts WHERE account_id = ?", (row["account_id"],)
                ).fetchone()
                self._audit.note(db, name, "session.ended")

    def end_all(self, account_id: int) -> int:
        """End all sessions of an account; returns how many there were."""
        with self._database.transaction() as db:
            return db.execute("DELETE FROM sessions WHERE account_id = ?", (account_id,)).rowcount


def _login_row(db: sqlite3.Connection, key: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(
        "SELECT accounts.*, password_hash FROM accounts LEFT JOIN credentials USING (account_id)"
        " WHERE name_key = ?",
        (key,),
    ).fetchone()
    return row


def _wrong() -> NotLoggedIn:
    return NotLoggedIn(
        "name and password don't belong together",
        kind="wrong_login",
        hint="an administrator can reset the access",
    )
