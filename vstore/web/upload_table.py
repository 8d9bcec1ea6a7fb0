"""What the database knows of uploads: one row for each file, received or stored."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final, NamedTuple

from vstore.objects.ids import ObjectId
from vstore.web.board import RequestKey
from vstore.web.desk_tables import of_request
from vstore.web.times import instant

__all__ = [
    "Upload",
    "Usage",
    "count_receiving",
    "delete_all",
    "find_upload",
    "insert_receiving",
    "old_tests",
    "set_stored",
    "stored_uploads",
    "usage_of",
]

_STORED: Final = of_request(
    "SELECT * FROM uploads WHERE {request} AND account_id = ? AND state = 'stored' ORDER BY number"
)
_ONE: Final = "SELECT * FROM uploads WHERE upload_id = ? AND state = 'stored'"
_RECEIVING: Final = "SELECT count(*) FROM uploads WHERE account_id = ? AND state = 'receiving'"
_OLD: Final = (
    "SELECT case_id, package_id, request_id, account_id FROM uploads"
    " GROUP BY case_id, package_id, request_id, account_id HAVING max(created_at) < ?"
)
_OF_REQUEST: Final = of_request(
    "SELECT count(*), coalesce(sum(size), 0) FROM uploads WHERE {request} AND account_id = ?"
)
_OF_TESTER: Final = "SELECT coalesce(sum(size), 0) FROM uploads WHERE account_id = ?"
_STORE: Final = (
    "UPDATE uploads SET state = 'stored', size = ?, object = ?, media_type = ? WHERE upload_id = ?"
)
_INSERT: Final = (
    "INSERT INTO uploads (upload_id, case_id, package_id, request_id, account_id, name, state,"
    " size, created_at) VALUES (?, ?, ?, ?, ?, ?, 'receiving', ?, ?)"
)
_DELETE: Final = of_request(
    "DELETE FROM uploads WHERE {request} AND account_id = ? RETURNING upload_id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that arrived.

    Attributes:
        upload_id: Names it: 32 hex digits.
        key: The test that it was uploaded for.
        account_id: Who uploaded it.
        name: What they call it.
        size: Bytes.
        object: The object id that its bytes will have in the package.
        media_type: What its first bytes show.
        created_at: When it began to come.
    """

    upload_id: str
    key: RequestKey
    account_id: int
    name: str
    size: int
    object: ObjectId
    media_type: str
    created_at: str


class Usage(NamedTuple):
    """What a tester has uploaded, or announced: files and bytes of a test, bytes of all."""

    request_files: int
    request_bytes: int
    tester_bytes: int


def stored_uploads(db: sqlite3.Connection, key: RequestKey, account_id: int) -> dict[str, Upload]:
    """What a tester has uploaded for a test, by upload id, in the order in which it came."""
    rows = db.execute(_STORED, (*key, account_id)).fetchall()
    return {row["upload_id"]: _upload(row) for row in rows}


def find_upload(db: sqlite3.Connection, upload_id: str) -> Upload | None:
    """A stored upload, whoever's it is."""
    row = db.execute(_ONE, (upload_id,)).fetchone()
    return None if row is None else _upload(row)


def usage_of(db: sqlite3.Connection, key: RequestKey, account_id: int) -> Usage:
    """How much of a tester's limits is used."""
    files, size = db.execute(_OF_REQUEST, (*key, account_id)).fetchone()
    (total,) = db.execute(_OF_TESTER, (account_id,)).fetchone()
    return Usage(files, size, total)


def count_receiving(db: sqlite3.Connection, account_id: int) -> int:
    """How many files of a tester are arriving."""
    (count,) = db.execute(_RECEIVING, (account_id,)).fetchone()
    return int(count)


def insert_receiving(
    db: sqlite3.Connection,
    upload_id: str,
    key: RequestKey,
    account_id: int,
    *,
    name: str,
    announced: int,
    now: int,
) -> None:
    """Write down that a file begins to come."""
    db.execute(_INSERT, (upload_id, *key, account_id, name, announced, now))


def set_stored(
    db: sqlite3.Connection, upload_id: str, *, size: int, object: ObjectId, media_type: str
) -> bool:
    """Write down that it has come; False where it was given up."""
    return db.execute(_STORE, (size, str(object), media_type, upload_id)).rowcount == 1


def delete_all(db: sqlite3.Connection, key: RequestKey, account_id: int) -> tuple[str, ...]:
    """Forget everything that a tester uploaded for a test; the ids."""
    rows = db.execute(_DELETE, (*key, account_id)).fetchall()
    return tuple(row["upload_id"] for row in rows)


def old_tests(db: sqlite3.Connection, before: int) -> list[tuple[RequestKey, int]]:
    """Tests, and testers by account id, whose uploads are all from before an instant."""
    rows = db.execute(_OLD, (before,)).fetchall()
    return [(RequestKey(*row[:3]), row["account_id"]) for row in rows]


def _upload(row: sqlite3.Row) -> Upload:
    return Upload(
        upload_id=row["upload_id"],
        key=RequestKey(row["case_id"], row["package_id"], row["request_id"]),
        account_id=row["account_id"],
        name=row["name"],
        size=row["size"],
        object=ObjectId.parse(row["object"]),
        media_type=row["media_type"],
        created_at=instant(row["created_at"]),
    )
