"""Who did what when: a trail that is only appended to, in the transaction of what it tells.

It never holds a secret, nor what somebody typed who isn't known.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

import msgspec

from vstore.web.database import Database
from vstore.web.times import instant

__all__ = ["Audit", "AuditEntry"]

_SECRETS: Final = frozenset({"code", "cookie", "password", "secret", "token"})
_MAX_FACT: Final = 1000


@dataclass(frozen=True)
class AuditEntry:
    """One thing that happened.

    Args:
        entry_id: Counts up; the order of the trail.
        at: The instant.
        actor: The account's name; ``operator:NAME`` at the command line, ``nobody`` for
            somebody who isn't known.
        action: Such as ``session.began``.
        case_id: The case it was about, or None.
        request_id: The test it was about, or None.
        facts: What else there is to say.
    """

    entry_id: int
    at: str
    actor: str
    action: str
    case_id: str | None
    request_id: str | None
    facts: dict[str, str | int | bool | None]


class Audit:
    """The trail of one database.

    Args:
        database: Where it is kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(
        self,
        db: sqlite3.Connection,
        actor: str,
        action: str,
        *,
        case_id: str | None = None,
        request_id: str | None = None,
        **facts: str | int | bool | None,
    ) -> None:
        """Append an entry.

        Args:
            db: The transaction in which the thing happens.
            actor: Who, as in :class:`AuditEntry`.
            action: What.
            case_id: The case it is about.
            request_id: The test it is about.
            facts: Numbers, ids and short texts; long ones are cut. No secrets.
        """
        if found := _SECRETS.intersection(facts):
            raise ValueError(f"no place for a secret: {sorted(found)}")
        kept = {
            name: fact[:_MAX_FACT] if isinstance(fact, str) else fact
            for name, fact in facts.items()
        }
        db.execute(
            "INSERT INTO audit (at, actor, action, case_id, request_id, facts)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                self._database.now(),
                actor,
                action,
                case_id,
                request_id,
                msgspec.json.encode(kept, order="sorted").decode(),
            ),
        )

    def recent(self, limit: int = 50, *, before: int | None = None) -> list[AuditEntry]:
        """The newest entries, newest first.

        Args:
            limit: At most how many, 1 to 1000.
            before: Only entries older than this one, for the next page.
        """
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT * FROM audit WHERE entry_id < ? ORDER BY entry_id DESC LIMIT ?",
                (
                    2**63 - 1 if before is None else max(0, min(before, 2**63 - 1)),
                    max(1, min(limit, 1000)),
                ),
            ).fetchall()
        return [
            AuditEntry(
                entry_id=row["entry_id"],
                at=instant(row["at"]),
                actor=row["actor"],
                action=row["action"],
                case_id=row["case_id"],
                request_id=row["request_id"],
                facts=msgspec.json.decode(row["facts"]),
            )
            for row in rows
        ]
