"""Tokens: what a bot shows instead of a password; shown once, revocable one by one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from vstore.errors import InvalidError, NotFoundError, StateError, StorageError
from vstore.web.accounts import Account, Accounts, account_of
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.proofs import TOKEN_PREFIX, digest, new_token
from vstore.web.times import instant

__all__ = ["Token", "Tokens"]

_MAX_LABEL: Final = 64
_TOUCH_SECONDS: Final = 60


@dataclass(frozen=True)
class Token:
    """What is known of a token; not its secret.

    Args:
        token_id: Its number.
        label: What it is for.
        created_at: The instant.
        last_used: When it was last shown, to the minute, or None.
        revoked_at: When it ended, or None.
    """

    token_id: int
    label: str
    created_at: str
    last_used: str | None
    revoked_at: str | None


class Tokens:
    """The tokens of one database.

    Args:
        database: Where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._accounts = Accounts(database)
        self._audit = Audit(database)

    def create(self, name: str, label: str, by: str) -> str:
        """A new token of an account.

        Args:
            name: Whose.
            label: What it is for, 1 to 64 printable characters.
            by: Who makes it, for the audit trail.

        Returns:
            The secret, ``vst_`` and 43 characters. Only its hash is kept.

        Raises:
            InvalidError: The label isn't one (``invalid_label``).
            NotFoundError: Nobody has the name.
            StateError: The account is disabled (``disabled_account``).
        """
        if not 1 <= len(label) <= _MAX_LABEL or not label.isprintable() or label != label.strip():
            raise InvalidError(
                f"a label has 1 to {_MAX_LABEL} printable characters", kind="invalid_label"
            )
        secret = new_token()
        with self._database.transaction() as db:
            account = self._accounts.get(name)
            if account.disabled:
                raise StateError(
                    "the account is disabled", kind="disabled_account", hint="enable it first"
                )
            (token_id,) = db.execute(
                "INSERT INTO tokens (token_hash, account_id, label, created_at)"
                " VALUES (?, ?, ?, ?) RETURNING token_id",
                (digest(secret), account.account_id, label, self._database.now()),
            ).fetchone()
            self._audit.note(
                db, by, "token.made", name=account.name, token_id=token_id, label=label
            )
        return secret

    def list(self, name: str) -> list[Token]:
        """The tokens of an account, also the revoked ones, oldest first.

        Raises:
            NotFoundError: Nobody has the name.
        """
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT * FROM tokens WHERE account_id = ? ORDER BY token_id",
                (self._accounts.get(name).account_id,),
            ).fetchall()
        return [
            Token(
                token_id=row["token_id"],
                label=row["label"],
                created_at=instant(row["created_at"]),
                last_used=None if row["last_used"] is None else instant(row["last_used"]),
                revoked_at=None if row["revoked_at"] is None else instant(row["revoked_at"]),
            )
            for row in rows
        ]

    def revoke(self, token_id: int, by: str) -> None:
        """End a token at once; one that has ended is fine.

        Args:
            token_id: Its number.
            by: Who does it, for the audit trail.

        Raises:
            NotFoundError: There is none (``unknown_token``).
        """
        with self._database.transaction() as db:
            row = db.execute(
                "SELECT * FROM tokens JOIN accounts USING (account_id) WHERE token_id = ?",
                (token_id if 0 < token_id < 2**63 else 0,),
            ).fetchone()
            if row is None:
                raise NotFoundError("there is no such token", kind="unknown_token")
            if row["revoked_at"] is None:
                db.execute(
                    "UPDATE tokens SET revoked_at = ? WHERE token_id = ?",
                    (self._database.now(), token_id),
                )
                self._audit.note(
                    db,
                    by,
                    "token.revoked",
                    name=row["name"],
                    token_id=token_id,
                    label=row["label"],
                )

    def find(self, secret: str) -> Account | None:
        """The account that a token stands for.

        Args:
            secret: What the bot showed.

        Returns:
            None when it is no token, it was revoked, or its account is disabled.
        """
        if not secret.startswith(TOKEN_PREFIX):
            return None
        with self._database.reading() as db:
            row = db.execute(
                "SELECT accounts.*, token_id, last_used FROM tokens"
                " JOIN accounts USING (account_id)"
                " WHERE token_hash = ? AND revoked_at IS NULL AND NOT disabled",
                (digest(secret),),
            ).fetchone()
            now = self._database.now()
        if row is None:
            return None
        if row["last_used"] is None or row["last_used"] <= now - _TOUCH_SECONDS:
            # As with a session: what a full disk can't note down, one may read all the same.
            with suppress(StorageError), self._database.transaction() as db:
                db.execute(
                    "UPDATE tokens SET last_used = ? WHERE token_id = ?", (now, row["token_id"])
                )
        return account_of(row)
