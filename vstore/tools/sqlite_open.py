"""Opening a hostile SQLite file so that it can be read and nothing else happens.

Who reads the file itself:

* Without a ``-wal`` or hot ``-journal`` beside it, the file is opened in place with ``mode=ro``
  and ``immutable=1``: SQLite takes no lock and creates no file. A digest of the file before and
  after tells whether somebody wrote to it meanwhile.
* Otherwise file and companion are copied to a private temporary folder and opened there, so
  that recovery and the ``-shm`` happen to the copy. Digests tell a torn copy.

SQLite itself is kept on a short lead: ``trusted_schema`` off, ``query_only`` on, page checks on,
defensive mode where Python can set it, an authorizer that lets nothing but reading through, length
limits, and a limit on the work between two rows. Extensions are never enabled.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from blake3 import blake3

from vstore.errors import ConflictError, InvalidError, LimitExceeded, StorageError, UnsupportedError
from vstore.objects.ids import Digest
from vstore.tools.sqlite_guard import Guard, guard

__all__ = ["MIN_SQLITE", "OpenDatabase", "SqliteLimits", "open_sqlite"]

#: ``PRAGMA table_list`` tells virtual, shadow, STRICT and WITHOUT ROWID tables apart since then.
MIN_SQLITE: Final = (3, 37, 0)
_MAGIC: Final = b"SQLite format 3\0"
_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class SqliteLimits:
    """Operational limits of a capture; each has its own name in the error it causes."""

    #: Bytes of the database file and of each companion.
    max_database_bytes: int = 64 << 30
    #: Tables, views, triggers and indices.
    max_schema_entries: int = 10_000
    #: Bytes of the schema's SQL text together.
    max_schema_bytes: int = 16 << 20
    #: Bytes of one cell, and of one row as SQLite stores it.
    max_cell_bytes: int = 128 << 20
    #: Canonical bytes of one row; large cells count as their ids.
    max_row_bytes: int = 16 << 20
    #: Rows of all tables together.
    max_rows: int = 100_000_000
    #: Millions of SQLite's instructions between two rows.
    max_steps: int = 2_000


@dataclass(frozen=True, kw_only=True)
class OpenDatabase:
    """A database that is open for reading."""

    connection: sqlite3.Connection
    guard: Guard
    #: Digest of the main file's bytes.
    digest: Digest
    #: What was read besides the file: ``-wal`` or ``-journal``, or the empty string.
    companion: str


@contextmanager
def open_sqlite(
    path: Path, limits: SqliteLimits, *, scratch: Path | None = None
) -> Iterator[OpenDatabase]:
    """Open a database for reading, in one read transaction.

    Args:
        path: The database file; a link to one is followed.
        limits: What to refuse.
        scratch: Where a private copy may be made; the system's temporary folder by default.

    Raises:
        InvalidError: Not a regular file, not a database (``not_a_database``), a schema that
            SQLite can't parse (``malformed_schema``).
        LimitExceeded: Too large.
        ConflictError: Somebody wrote to it meanwhile (``changed_while_read``).
        UnsupportedError: Python's SQLite library is too old.
        StorageError: The operating system refuses to read.
    """
    if sqlite3.sqlite_version_info < MIN_SQLITE:
        raise UnsupportedError(
            f"capture needs SQLite {'.'.join(map(str, MIN_SQLITE))} or newer",
            kind="unsupported_sqlite",
        )
    real = Path(os.path.realpath(path))
    companion = _examine(real, limits)
    if companion:
        with tempfile.TemporaryDirectory(prefix="vstore-", dir=scratch) as folder:
            copy = Path(folder) / "database"
            before = [_read(real, copy)]
            before.append(_read(_beside(real, companion), _beside(copy, companion)))
            _compare(real, companion, before)
            with _connect(copy, "mode=rw", limits) as (connection, watch):
                yield OpenDatabase(
                    connection=connection, guard=watch, digest=before[0], companion=companion
                )
        return
    before = [_read(real)]
    try:
        with _connect(real, "mode=ro&immutable=1", limits) as (connection, watch):
            yield OpenDatabase(
                connection=connection, guard=watch, digest=before[0], companion=companion
            )
    finally:
        # Also after a failure: a page torn by a writer looks like damage.
        _compare(real, "", before)


def _examine(real: Path, limits: SqliteLimits) -> str:
    """Check the file from outside; returns the companion that must be read with it."""
    _check_file(real, limits)
    try:
        with real.open("rb") as stream:
            head = stream.read(len(_MAGIC))
    except OSError as error:
        raise _storage(error) from error
    if head not in (b"", _MAGIC):
        raise InvalidError(
            "the file is not an SQLite database",
            kind="not_a_database",
            hint="an encrypted database must be decrypted first; JSON lines end in .jsonl",
        )
    wal = _beside(real, "-wal")
    journal = _beside(real, "-journal")
    if wal.exists() and _check_file(wal, limits):
        return "-wal"
    if journal.exists() and _check_file(journal, limits) and _is_hot(journal):
        return "-journal"
    return ""


def _is_hot(journal: Path) -> bool:
    try:
        with journal.open("rb") as stream:
            first = stream.read(1)
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - len(_JOURNAL_MAGIC)))
            end = stream.read()
    except OSError as error:
        raise _storage(error) from error
    if first == b"\0":
        return False
    if end == _JOURNAL_MAGIC:
        # Rolling back would open, and might delete, whatever file the journal names.
        raise InvalidError(
            "the database has a journal of a transaction over several files",
            kind="super_journal",
            hint="open it once with its own program, which ends the transaction",
        )
    return True


def _check_file(real: Path, limits: SqliteLimits) -> int:
    try:
        found = real.lstat()
    except FileNotFoundError as error:
        raise InvalidError("there is no such database file", kind="no_such_file") from error
    except OSError as error:
        raise _storage(error) from error
    if not stat.S_ISREG(found.st_mode):
        raise InvalidError("the database is not a regular file", kind="not_a_file")
    if found.st_size > limits.max_database_bytes:
        raise LimitExceeded(
            f"the database file has {found.st_size} bytes",
            limit="max_database_bytes",
            value=limits.max_database_bytes,
            asked=found.st_size,
        )
    return found.st_size


def _beside(real: Path, suffix: str) -> Path:
    return real.with_name(real.name + suffix)


def _read(source: Path, target: Path | None = None) -> Digest:
    """The digest of a file, copied on the way where a target is given."""
    digest = blake3()
    try:
        with source.open("rb") as stream:
            if target is None:
                while block := stream.read(_BLOCK):
                    digest.update(block)
            else:
                with target.open("xb") as copy:
                    while block := stream.read(_BLOCK):
                        digest.update(block)
                        copy.write(block)
    except OSError as error:
        raise _storage(error) from error
    return digest.hexdigest()


def _compare(real: Path, companion: str, before: list[Digest]) -> None:
    try:
        after = [_read(real)]
        if companion:
            after.append(_read(_beside(real, companion)))
    except StorageError:
        after = []
    if after != before:
        raise ConflictError(
            "the database was written to while it was read",
            kind="changed_while_read",
            hint="stop the program that uses it, or capture a backup made with its own tools",
        )


@contextmanager
def _connect(
    path: Path, mode: str, limits: SqliteLimits
) -> Iterator[tuple[sqlite3.Connection, Guard]]:
    uri = f"file:{quote(os.fsencode(path))}?{mode}"
    try:
        connection, watch = _begin(uri, limits, lenient=False)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise _refusal(error) from error
        # One bad entry must not hide the others; those left out are found in sqlite_master.
        try:
            connection, watch = _begin(uri, limits, lenient=True)
        except (sqlite3.Error, UnicodeDecodeError) as second:
            raise _refusal(second) from second
    try:
        yield connection, watch
    finally:
        connection.close()


def _begin(uri: str, limits: SqliteLimits, *, lenient: bool) -> tuple[sqlite3.Connection, Guard]:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        watch = guard(connection, limits.max_cell_bytes, limits.max_steps, lenient=lenient)
        connection.execute("BEGIN")
        # The first read starts the transaction and parses the schema.
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection, watch


def _refusal(error: Exception) -> InvalidError:
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
        return InvalidError("the file is not an SQLite database", kind="not_a_database")
    return InvalidError(
        "SQLite can't read the database's schema",
        kind="malformed_schema",
        hint="add the file as raw input instead: vstore input add",
    )


def _storage(error: OSError) -> StorageError:
    reason = error.strerror or type(error).__name__
    return StorageError(f"reading the database file failed: {reason}", kind="unreadable_file")
