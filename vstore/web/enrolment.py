"""How a person gets a password: with a code that works once, from an administrator."""

from __future__ import annotations

import sqlite3
from typing import Final

from vstore.errors import InvalidError, StateError
from vstore.web.accounts import Account, Accounts
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.passwords import check_password, hash_password, verify_password
from vstore.web.problems import NotLoggedIn
from vstore.web.proofs import code_digest, new_code
from vstore.web.rates import Rates

__all__ = ["CODE_SECONDS", "Enrolment"]

#: How long a code works, in seconds.
CODE_SECONDS: Final = 72 * 3600

#: Wrong current passwords of one account, and within how many seconds.
_CHANGES: Final = (10, 900)


class Enrolment:
    """Codes and passwords.

    Args:
        database: Where they are kept.
        accounts: Whose they are.
    """

    def __init__(self, database: Database, accounts: Accounts) -> None:
        self._database = database
        self._accounts = accounts
        self._audit = Audit(database)
        self._rates = Rates(database)

    def new_code(self, name: str, by: str) -> str:
        """A code with which somebody chooses a password, once and within 72 hours.

        An older code of the account works no more; its password still does, until then.

        Args:
            name: Whose.
            by: Who makes it, for the audit trail.

        Returns:
            The code. Only its hash is kept.

        Raises:
            NotFoundError: Nobody has the name.
            StateError: The account is disabled (``disabled_account``).
        """
        code = new_code()
        with self._database.transaction() as db:
            account = self._accounts.get(name)
            if account.disabled:
                raise StateError(
                    "the account is disabled", kind="disabled_account", hint="enable it first"
                )
            now = self._database.now()
            db.execute(
                "INSERT OR REPLACE INTO enrolment_codes VALUES (?, ?, ?, ?)",
                (code_digest(code), account.account_id, now, now + CODE_SECONDS),
            )
            self._audit.note(db, by, "enrolment.code_made", name=account.name)
        return code

    def reset(self, name: str, by: str) -> str:
        """As :meth:`new_code`, and the password and all sessions end at once.

        Tokens of bots go on; they are revoked one by one, or by disabling the account.

        Args:
            name: Whose.
            by: Who does it, for the audit trail.

        Raises:
            NotFoundError: Nobody has the name.
            StateError: The account is disabled (``disabled_account``).
        """
        with self._database.transaction() as db:
            account = self._accounts.get(name)
            code = self.new_code(name, by)
            mine = (account.account_id,)
            db.execute("DELETE FROM credentials WHERE account_id = ?", mine)
            ended = db.execute("DELETE FROM sessions WHERE account_id = ?", mine).rowcount
            self._audit.note(db, by, "access.reset", name=account.name, sessions_ended=ended)
        return code

    def redeem(self, code: str, password: str) -> Account:
        """Choose a password with a code. Of two at the same time one wins.

        Args:
            code: As it was shown; case, spaces and hyphens don't matter.
            password: 12 to 1024 characters.

        Raises:
            InvalidError: The code isn't one or was used (``unknown_code``), it is too old
                (``expired_code``), or the password is no good (``weak_password``).
        """
        check_password(password)
        key = code_digest(code)
        # Before the costly hash, so that made-up codes cost nothing.
        with self._database.reading() as db:
            _check_code(
                db.execute("SELECT * FROM enrolment_codes WHERE code_hash = ?", (key,)).fetchone(),
                self._database.now(),
            )
        hashed = hash_password(password)
        with self._database.transaction() as db:
            row = db.execute(
                "DELETE FROM enrolment_codes WHERE code_hash = ? RETURNING *", (key,)
            ).fetchone()
            account_id = _check_code(row, self._database.now())
            account = self._accounts.by_id(account_id)
            self._set(account, hashed, keep=None)
            self._audit.note(db, account.name, "enrolment.redeemed")
        return account

    def change_password(
        self, account_id: int, current: str, new: str, *, keep: bytes | None = None
    ) -> None:
        """Choose another password; all other sessions end.

        Args:
            account_id: Whose.
            current: The password until now.
            new: 12 to 1024 characters.
            keep: The id of the session that goes on.

        Raises:
            InvalidError: The new password is no good (``weak_password``).
            NotLoggedIn: The current one is wrong (``wrong_password``).
            TooMany: It was wrong too often.
        """
        check_password(new)
        account = self._accounts.by_id(account_id)
        key = f"password change {account_id}"
        self._rates.hit(key, *_CHANGES)
        stored = self._stored(account_id)
        if not verify_password(stored, current):
            with self._database.transaction() as db:
                self._audit.note(db, account.name, "password.refused")
            raise NotLoggedIn("the current password is not right", kind="wrong_password")
        hashed = hash_password(new)
        with self._database.transaction() as db:
            if self._stored(account_id) != stored or self._accounts.by_id(account_id).disabled:
                # Reset, disabled or changed elsewhere meanwhile: that one holds.
                raise NotLoggedIn("the current password is not right", kind="wrong_password")
            self._set(account, hashed, keep=keep)
            self._rates.clear(key)
            self._audit.note(db, account.name, "password.changed")

    def _stored(self, account_id: int) -> str | None:
        with self._database.reading() as db:
            row = db.execute(
                "SELECT password_hash FROM credentials WHERE account_id = ?", (account_id,)
            ).fetchone()
        return None if row is None else row["password_hash"]

    def _set(self, account: Account, hashed: str, *, keep: bytes | None) -> None:
        with self._database.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO credentials VALUES (?, ?, ?)",
                (account.account_id, hashed, self._database.now()),
            )
            db.execute(
                "DELETE FROM sessions WHERE account_id = ? AND session_hash IS NOT ?",
                (account.account_id, keep),
            )


def _check_code(row: sqlite3.Row | None, now: int) -> int:
    if row is None:
        raise InvalidError(
            "this code is not right, or was used already",
            kind="unknown_code",
            hint="a code works once; an administrator can make a new one",
        )
    if row["expires_at"] <= now:
        raise InvalidError(
            "this code is too old", kind="expired_code", hint="an administrator can make a new one"
        )
    return int(row["account_id"])
