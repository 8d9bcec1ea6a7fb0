"""Accounts: who may answer tests, and who may administer."""

from __future__ import annotations

import sqlite3
import unicodedata
import zoneinfo
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

import msgspec

from vstore.errors import ConflictError, InvalidError, NotFoundError, StateError
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.times import instant

__all__ = ["MAX_NAME", "Account", "Accounts", "Role", "account_of", "name_key"]

Role: TypeAlias = Literal["tester", "admin"]

#: Characters of a name.
MAX_NAME: Final = 64


@dataclass(frozen=True)
class Account:
    """One person or bot.

    Args:
        account_id: Never given to another one.
        name: Stands as ``tester_id`` and ``confirmed_by`` in packages.
        role: An ``admin`` is a tester who may also administer.
        disabled: May do nothing.
        created_at: The instant.
        zone: The time zone chosen for display, such as ``Europe/Berlin``, or None.
        language: The language chosen, such as ``de``, or None.
    """

    account_id: int
    name: str
    role: Role
    disabled: bool
    created_at: str
    zone: str | None
    language: str | None

    @property
    def is_admin(self) -> bool:
        """Whether it may administer."""
        return self.role == "admin"


def account_of(row: sqlite3.Row) -> Account:
    """The account in a row that has the columns of ``accounts``."""
    return Account(
        account_id=row["account_id"],
        name=row["name"],
        role=row["role"],
        disabled=bool(row["disabled"]),
        created_at=instant(row["created_at"]),
        zone=row["zone"],
        language=row["language"],
    )


def name_key(name: str) -> str:
    """What two names that count as the same have in common."""
    text = name.encode("utf-8", "replace").decode()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip()


class Accounts:
    """The accounts of one database.

    Args:
        database: Where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._audit = Audit(database)

    def add(self, name: str, *, role: Role = "tester", by: str) -> Account:
        """Add an account, which can't log in before it has a password.

        Args:
            name: 1 to 64 printable characters without a colon.
            role: What it may do.
            by: Who adds it, for the audit trail.

        Raises:
            ConflictError: Somebody has this name, but for case (``name_taken``).
            InvalidError: It is no name (``invalid_account_name``).
        """
        name = unicodedata.normalize("NFC", name)
        key = name_key(name)
        if (
            not 1 <= len(name) <= MAX_NAME
            or not name.isprintable()
            or name != " ".join(name.split())
            or ":" in key
            or not key
        ):
            raise InvalidError(
                f"a name has 1 to {MAX_NAME} printable characters, no colon, and no spaces"
                " but single ones between words",
                kind="invalid_account_name",
            )
        with self._database.transaction() as db:
            if db.execute("SELECT 1 FROM accounts WHERE name_key = ?", (key,)).fetchone():
                raise ConflictError(
                    "somebody has this name already",
                    kind="name_taken",
                    hint="names that differ only in upper and lower case count as the same",
                )
            row = db.execute(
                "INSERT INTO accounts (name, name_key, role, created_at) VALUES (?, ?, ?, ?)"
                " RETURNING *",
                (name, key, role, self._database.now()),
            ).fetchone()
            self._audit.note(db, by, "account.added", name=name, role=role)
        return account_of(row)

    def list(self) -> list[Account]:
        """All accounts, by name."""
        with self._database.reading() as db:
            return [
                account_of(row) for row in db.execute("SELECT * FROM accounts ORDER BY name_key")
            ]

    def get(self, name: str) -> Account:
        """The account with a name, in any case.

        Raises:
            NotFoundError: Nobody has it (``unknown_account``).
        """
        return self._one("name_key", name_key(name[: 4 * MAX_NAME]))

    def by_id(self, account_id: int) -> Account:
        """The account with an id.

        Raises:
            NotFoundError: There is none (``unknown_account``).
        """
        return self._one("account_id", account_id if 0 < account_id < 2**63 else 0)

    def count_admins(self) -> int:
        """How many administrators are not disabled."""
        with self._database.reading() as db:
            (number,) = db.execute(
                "SELECT count(*) FROM accounts WHERE role = 'admin' AND NOT disabled"
            ).fetchone()
        return int(number)

    def disable(self, name: str, by: str) -> Account:
        """Shut an account out: its sessions, tokens and codes end in the same moment.

        Args:
            name: Whose.
            by: Who does it, for the audit trail.

        Raises:
            NotFoundError: Nobody has the name.
            StateError: It is the last administrator (``last_admin``).
        """
        with self._database.transaction() as db:
            account = self.get(name)
            if account.disabled:
                return account
            if account.is_admin and self.count_admins() == 1:
                raise StateError(
                    "this is the last administrator",
                    kind="last_admin",
                    hint="add another administrator first",
                )
            mine = (account.account_id,)
            db.execute("UPDATE accounts SET disabled = 1 WHERE account_id = ?", mine)
            sessions = db.execute("DELETE FROM sessions WHERE account_id = ?", mine).rowcount
            db.execute("DELETE FROM enrolment_codes WHERE account_id = ?", mine)
            tokens = db.execute(
                "UPDATE tokens SET revoked_at = ? WHERE account_id = ? AND revoked_at IS NULL",
                (self._database.now(), account.account_id),
            ).rowcount
            self._audit.note(
                db,
                by,
                "account.disabled",
                name=account.name,
                sessions_ended=sessions,
                tokens_revoked=tokens,
            )
            return self.by_id(account.account_id)

    def enable(self, name: str, by: str) -> Account:
        """Let an account in again, with its old password; its tokens stay revoked.

        Args:
            name: Whose.
            by: Who does it, for the audit trail.

        Raises:
            NotFoundError: Nobody has the name.
        """
        with self._database.transaction() as db:
            account = self.get(name)
            if not account.disabled:
                return account
            db.execute(
                "UPDATE accounts SET disabled = 0 WHERE account_id = ?", (account.account_id,)
            )
            self._audit.note(db, by, "account.enabled", name=account.name)
            return self.by_id(account.account_id)

    def set_preferences(
        self,
        account_id: int,
        *,
        zone: str | msgspec.UnsetType | None = msgspec.UNSET,
        language: str | msgspec.UnsetType | None = msgspec.UNSET,
    ) -> Account:
        """Keep how somebody wants things shown; what isn't given stays.

        Args:
            account_id: Whose.
            zone: A time zone of the IANA database, or None for none.
            language: A language code of two or three letters, or None for the browser's.

        Raises:
            InvalidError: There is no such zone (``unknown_zone``) or language
                (``unknown_language``).
            NotFoundError: There is no such account.
        """
        with self._database.transaction() as db:
            before = self.by_id(account_id)
            zone = before.zone if zone is msgspec.UNSET else zone
            language = before.language if language is msgspec.UNSET else language
            if zone is not None and zone not in _zones():
                raise InvalidError("there is no such time zone", kind="unknown_zone")
            if language is not None and not (
                2 <= len(language) <= 3 and language.isascii() and language.islower()
            ):
                raise InvalidError("there is no such language", kind="unknown_language")
            db.execute(
                "UPDATE accounts SET zone = ?, language = ? WHERE account_id = ?",
                (zone, language, account_id),
            )
            return self.by_id(account_id)

    def _one(self, column: str, value: object) -> Account:
        with self._database.reading() as db:
            row = db.execute(
                f"SELECT * FROM accounts WHERE {column} = ?",  # noqa: S608 - ours
                (value,),
            ).fetchone()
        if row is None:
            raise NotFoundError("nobody has this name", kind="unknown_account")
        return account_of(row)


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
