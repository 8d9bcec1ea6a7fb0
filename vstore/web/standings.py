"""Where each account stands, for those who look after them."""

from __future__ import annotations

from dataclasses import dataclass

from vstore.web.accounts import Account, account_of
from vstore.web.database import Database
from vstore.web.times import instant

__all__ = ["Standing", "standings"]


@dataclass(frozen=True)
class Standing:
    """One account and what it can use.

    Args:
        account: The account.
        has_password: It can log in, unless disabled.
        code_until: Until when its code works, or None where it has none.
        last_seen: When one of its sessions was last used, or None.
        tokens: How many tokens of it are not revoked.
    """

    account: Account
    has_password: bool
    code_until: str | None
    last_seen: str | None
    tokens: int


def standings(database: Database) -> list[Standing]:
    """All accounts, by name.

    Args:
        database: Where they are kept.
    """
    with database.reading() as db:
        rows = db.execute(
            """
            SELECT accounts.*,
                EXISTS (SELECT 1 FROM credentials AS c WHERE c.account_id = accounts.account_id)
                    AS has_password,
                (SELECT expires_at FROM enrolment_codes AS e
                    WHERE e.account_id = accounts.account_id AND expires_at > ?) AS code_until,
                (SELECT max(last_seen) FROM sessions AS s
                    WHERE s.account_id = accounts.account_id) AS last_seen,
                (SELECT count(*) FROM tokens AS t
                    WHERE t.account_id = accounts.account_id AND revoked_at IS NULL) AS tokens
            FROM accounts ORDER BY name_key
            """,
            (database.now(),),
        ).fetchall()
    return [
        Standing(
            account=account_of(row),
            has_password=bool(row["has_password"]),
            code_until=None if row["code_until"] is None else instant(row["code_until"]),
            last_seen=None if row["last_seen"] is None else instant(row["last_seen"]),
            tokens=row["tokens"],
        )
        for row in rows
    ]
