"""Who said that they won't do a test, and why: others see it with the test."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

from vstore.errors import InvalidError
from vstore.web.accounts import Account
from vstore.web.board import RequestKey
from vstore.web.desk_tables import of_request
from vstore.web.times import instant

__all__ = ["MAX_REASON", "Decline", "checked_reason", "declines_of", "put_decline", "take_back"]

#: Characters of a reason.
MAX_REASON: Final = 2_000

_PUT: Final = (
    "INSERT INTO declines VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
    " SET reason = excluded.reason, declined_at = excluded.declined_at"
)
_TAKE_BACK: Final = of_request("DELETE FROM declines WHERE {request} AND account_id = ?")
_OF_REQUEST: Final = of_request(
    "SELECT d.*, a.name FROM declines d JOIN accounts a USING (account_id)"
    " WHERE {request} ORDER BY declined_at, account_id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decline:
    """Somebody said that they won't do a test."""

    key: RequestKey
    account_id: int
    name: str
    reason: str
    declined_at: str


def checked_reason(reason: str) -> str:
    """A reason without white space around it.

    Raises:
        InvalidError: More than 2,000 characters, or none that can be stored
            (``invalid_reason``).
    """
    reason = reason.strip()
    if len(reason) > MAX_REASON or any("\ud800" <= one <= "\udfff" for one in reason):
        raise InvalidError(f"a reason has up to {MAX_REASON} characters", kind="invalid_reason")
    return reason


def put_decline(
    db: sqlite3.Connection, key: RequestKey, account: Account, reason: str, now: int
) -> Decline:
    """Write down that somebody declines; their latest reason counts."""
    db.execute(_PUT, (*key, account.account_id, reason, now))
    return Decline(
        key=key,
        account_id=account.account_id,
        name=account.name,
        reason=reason,
        declined_at=instant(now),
    )


def take_back(db: sqlite3.Connection, key: RequestKey, account: Account) -> None:
    """Forget that somebody declined: they took the test after all."""
    db.execute(_TAKE_BACK, (*key, account.account_id))


def declines_of(db: sqlite3.Connection, key: RequestKey) -> list[Decline]:
    """Who declined a test, oldest first."""
    return [
        Decline(
            key=key,
            account_id=row["account_id"],
            name=row["name"],
            reason=row["reason"],
            declined_at=instant(row["declined_at"]),
        )
        for row in db.execute(_OF_REQUEST, key).fetchall()
    ]
