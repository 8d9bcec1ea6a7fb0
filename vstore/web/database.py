"""The service's SQLite database: one connection a thread, short transactions, durable ones.

A transaction is on the disk when its block is left (WAL, ``synchronous=FULL``). Writers
queue up at ``BEGIN IMMEDIATE``, so what a block has read is still so when it writes.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

from filelock import FileLock, Timeout

from vstore.errors import IntegrityError, StateError, StorageError, VStoreError
from vstore.objects.durable import storage_error
from vstore.package.clock import Clock, utc_now
from vstore.web.migrations import MIGRATIONS, check_version, migrate
from vstore.web.times import seconds

__all__ = ["Database"]

#: Seconds that a writer waits for another one.
_PATIENCE: Final = 30.0

_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_KINDS: Final = {
    sqlite3.SQLITE_BUSY: ("database_busy", "somebody else writes to the testers' database"),
    sqlite3.SQLITE_LOCKED: ("database_busy", "somebody else writes to the testers' database"),
    sqlite3.SQLITE_FULL: ("disk_full", "the disk of the testers' database is full"),
    sqlite3.SQLITE_READONLY: ("read_only", "the testers' database can't be written"),
    sqlite3.SQLITE_CANTOPEN: ("read_only", "the testers' database can't be opened"),
    sqlite3.SQLITE_PERM: ("read_only", "the testers' database can't be opened"),
}


class _Open:
    """The connection of one thread, and what it is in the middle of."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.doing: Literal["read", "write"] | None = None
        self.depth = 0


class Database:
    """Opens a database, making or migrating it where needed.

    Args:
        path: The file; its folder exists and is private.
        clock: Says when things happen.
        migrations: The versions that are known.

    Raises:
        IntegrityError: The file is damaged (``damaged_database``).
        StorageError: It can't be made, opened or written.
        UnsupportedError: A newer release made it, or another program.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = utc_now,
        migrations: Sequence[str] = MIGRATIONS,
    ) -> None:
        self.path = path
        self.clock = clock
        self._registry = threading.Lock()
        self._open: dict[int, _Open] = {}
        self._process = os.getpid()
        self._closed = False
        if not path.parent.is_dir():
            raise StorageError("the folder of the testers' database is gone", kind="no_folder")
        try:
            # Two that start together would otherwise both create or migrate it.
            with FileLock(path.with_name(path.name + ".lock"), timeout=_PATIENCE, mode=0o600):
                self._prepare(migrations)
        except Timeout as error:
            raise StorageError(
                "somebody else prepares the testers' database", kind="database_busy"
            ) from error
        except sqlite3.Error as error:
            raise _told(error) from error
        except OSError as error:
            raise storage_error(error, "lock", path) from error

    def now(self) -> int:
        """The clock's instant, as seconds since 1970."""
        return seconds(self.clock())

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A block that writes: all of it happens, or none when it raises.

        Within another one of the same thread it is a part of that one, which undoes just
        this part when it raises.

        Raises:
            StorageError: Another writer didn't end in time (``database_busy``), or the disk
                failed.
            IntegrityError: The file is damaged.
            sqlite3.IntegrityError: A constraint of the tables, for whoever wrote the SQL.
        """
        mine = self._mine()
        if mine.doing == "read":
            raise RuntimeError("a block that reads can't go on to write")
        outer = mine.depth == 0
        begin, commit, back = (
            ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
            if outer
            else ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part")
        )
        with _telling():
            mine.connection.execute(begin)
            mine.doing = "write"
            mine.depth += 1
            try:
                yield mine.connection
                mine.connection.execute(commit)
            except BaseException:
                # SQLite ends the transaction by itself after some failures.
                if mine.connection.in_transaction:
                    with suppress(sqlite3.Error):
                        mine.connection.execute(back)
                        if not outer:
                            mine.connection.execute(commit)
                raise
            finally:
                mine.depth -= 1
                if outer:
                    mine.doing = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A block that reads one state of the database, whatever others write meanwhile.

        Raises:
            IntegrityError: The file is damaged.
            StorageError: It can't be read.
        """
        mine = self._mine()
        if mine.depth:
            yield mine.connection
            return
        with _telling():
            mine.connection.execute("BEGIN")
            mine.doing = "read"
            mine.depth += 1
            try:
                yield mine.connection
            finally:
                mine.depth -= 1
                mine.doing = None
                if mine.connection.in_transaction:
                    mine.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connections of all threads; nobody may be in the middle of a block."""
        with self._registry:
            self._closed = True
            for one in self._open.values():
                one.connection.close()
            self._open.clear()

    def _mine(self) -> _Open:
        """This thread's connection."""
        key = threading.get_ident()
        with self._registry:
            if self._closed:
                raise StateError("the testers' database is closed", kind="closed")
            if self._process != os.getpid():
                # SQLite's connections don't survive a fork; not even closing them is safe.
                self._open = {}
                self._process = os.getpid()
            mine = self._open.get(key)
            if mine is None:
                alive = {thread.ident for thread in threading.enumerate()}
                for gone in [other for other in self._open if other not in alive]:
                    self._open.pop(gone).connection.close()
                mine = self._open[key] = _Open(self._connect())
            return mine

    def _connect(self) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            # What was deleted (codes, drafts) doesn't stay in the file.
            connection.execute("PRAGMA secure_delete = ON")
        except sqlite3.Error as error:
            raise _told(error) from error
        return connection

    def _prepare(self, migrations: Sequence[str]) -> None:
        try:
            # Before SQLite makes it: with a mode for its owner alone, which its -wal takes on.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise storage_error(error, "create", self.path) from error
        # Read-only to begin with, so that what isn't ours is left as it was.
        first = sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            check_version(first, len(migrations))
        finally:
            first.close()
        connection = self._connect()
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, migrations)
        finally:
            connection.close()


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if type(error) in (sqlite3.DatabaseError, sqlite3.OperationalError):
            raise _told(error) from error
        raise


def _told(error: sqlite3.Error) -> VStoreError | sqlite3.Error:
    """What SQLite's complaint means; a mistake in our SQL stays what it is."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _DAMAGE:
        return IntegrityError(
            "the testers' database is damaged",
            kind="damaged_database",
            hint="restore it from a backup; the cases in the workspace are not affected",
        )
    if code == sqlite3.SQLITE_ERROR:
        return error
    kind, message = _KINDS.get(code, ("storage", "the testers' database can't be used"))
    return StorageError(message, kind=kind, errno=errno.EIO, sqlite_code=code)
