"""How often something was tried lately, kept in the database so that a restart forgives nobody."""

from __future__ import annotations

import ipaddress
import sqlite3
from typing import Final

from vstore.web.database import Database
from vstore.web.problems import TooMany
from vstore.web.proofs import digest

__all__ = ["UPLOAD_RATE", "Rates", "network", "upload_key"]

#: Files that one account may begin to upload, and within how many seconds.
UPLOAD_RATE: Final = (600, 600)


def upload_key(account_id: int) -> str:
    """The key under which an account's uploads are counted, on the page and by the API."""
    return f"upload:{account_id}"


def network(address: str | None) -> str:
    """What counts as one place: an IPv4 address, or the /64 that one household or server has."""
    text = address or ""
    # Some proxies pass the port on too, which is another one with each connection.
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return (address or "unknown")[:100]
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


class Rates:
    """Sliding windows over what was tried; only hashes of the keys are kept.

    Args:
        database: Where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def check(self, key: str, limit: int, window_seconds: int) -> None:
        """Refuse when a key was hit too often; counts nothing.

        Args:
            key: What is counted, such as ``upload 7``.
            limit: How often is still fine, 1 or more.
            window_seconds: Within how many seconds, 1 or more.

        Raises:
            TooMany: It was hit ``limit`` times; ``details["retry_after"]`` in seconds.
        """
        with self._database.reading() as db:
            self._look(db, digest(key), limit, window_seconds)

    def hit(self, key: str, limit: int, window_seconds: int) -> None:
        """Count one more, or refuse it; what is refused doesn't count.

        Args:
            key: As for :meth:`check`.
            limit: As there.
            window_seconds: As there.

        Raises:
            TooMany: As there.
        """
        with self._database.transaction() as db:
            now = self._look(db, digest(key), limit, window_seconds)
            db.execute("DELETE FROM rates WHERE expires_at <= ?", (now,))
            # The clock was moved back: what it calls the future is no reason to refuse.
            db.execute("DELETE FROM rates WHERE key = ? AND at > ?", (digest(key), now))
            db.execute(
                "INSERT INTO rates (key, at, expires_at) VALUES (?, ?, ?)",
                (digest(key), now, now + window_seconds),
            )

    def give_back(self, key: str) -> None:
        """Take the newest hit of a key back, since it was none of the kind that is counted."""
        with self._database.transaction() as db:
            db.execute(
                "DELETE FROM rates WHERE rowid ="
                " (SELECT rowid FROM rates WHERE key = ? ORDER BY at DESC, rowid DESC LIMIT 1)",
                (digest(key),),
            )

    def clear(self, key: str) -> None:
        """Forget the hits of a key."""
        with self._database.transaction() as db:
            db.execute("DELETE FROM rates WHERE key = ?", (digest(key),))

    def _look(self, db: sqlite3.Connection, key: bytes, limit: int, window: int) -> int:
        now = self._database.now()
        row = db.execute(
            "SELECT at FROM rates WHERE key = ? AND at > ? AND at <= ?"
            " ORDER BY at DESC LIMIT 1 OFFSET ?",
            (key, now - window, now, limit - 1),
        ).fetchone()
        if row is not None:
            wait = row["at"] + window - now
            raise TooMany(
                "this was tried too often",
                hint=f"try again in {wait} seconds",
                limit=limit,
                value=limit,
                asked=1,
                retry_after=wait,
            )
        return now
