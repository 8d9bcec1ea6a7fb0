"""What SQLite may do while a hostile database is read: nothing but reading."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from vstore.errors import LimitExceeded

__all__ = ["Guard", "guard"]

_STEPS: Final = 1_000_000

#: Pragmas that only tell something; SQLite's own modules ask some of them too.
_TELLING: Final = frozenset(
    (
        "data_version",
        "encoding",
        "foreign_key_list",
        "index_list",
        "index_xinfo",
        "page_size",
        "table_info",
        "table_list",
        "table_xinfo",
    )
)
#: Pragmas that only tell something when they have no argument.
_TELLING_ALONE: Final = frozenset(("application_id", "user_version"))

#: Deterministic functions without side effects, which generated columns may use.
_FUNCTION_NAMES: Final = """
    abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws
    cos cosh count date datetime degrees exp floor format glob hex ifnull iif instr json
    json_array json_array_length json_error_position json_extract json_insert json_object
    json_patch json_quote json_remove json_replace json_set json_type json_valid julianday
    length like likelihood likely ln log log10 log2 lower ltrim max min mod nullif octet_length
    pi pow power printf quote radians replace round rtrim sign sin sinh soundex sqrt strftime
    substr substring sum tan tanh time timediff total trim trunc typeof unhex unicode unixepoch
    unlikely upper -> ->>
"""
_FUNCTIONS: Final = frozenset(_FUNCTION_NAMES.split())

_DEFENCES: Final = (
    ("DEFENSIVE", True),
    ("TRUSTED_SCHEMA", False),
    ("ENABLE_LOAD_EXTENSION", False),
    ("ENABLE_FTS3_TOKENIZER", False),
)

#: Virtual tables prepare their writing statements when they are first read; ``query_only``
#: refuses to run them, and so do the file's mode and, for its schema, defensive mode.
_ALLOWED: Final = frozenset(
    (
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
    )
)


class Guard:
    """The limit on SQLite's work between two rows, and the switch of the authorizer."""

    def __init__(self, connection: sqlite3.Connection, max_steps: int) -> None:
        self._connection = connection
        self._max_steps = max_steps
        self._millions = 0

    def progressed(self) -> None:
        """A row was returned: start to count again."""
        self._millions = 0

    def tick(self) -> bool:
        """SQLite ran another million of instructions; True stops it."""
        self._millions += 1
        return self._millions > self._max_steps

    def exceeded(self) -> LimitExceeded:
        """The error of a statement that was stopped."""
        return LimitExceeded(
            f"SQLite ran more than {self._max_steps} million instructions for one row",
            limit="max_steps",
            value=self._max_steps,
            asked=self._max_steps + 1,
        )

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """No authorizer, for one plain SELECT of an ordinary table.

        Python can't pass a column's name that is not UTF-8 to an authorizer, so SQLite would
        refuse to read it. A table without generated columns runs no code of the schema.
        """
        self._connection.set_authorizer(None)
        try:
            yield
        finally:
            self._connection.set_authorizer(_authorize)


def guard(
    connection: sqlite3.Connection, max_cell_bytes: int, max_steps: int, *, lenient: bool = False
) -> Guard:
    """Put every restraint on a connection, before it reads the first page.

    Args:
        connection: Newly opened.
        max_cell_bytes: SQLite's limit on the length of values and rows.
        max_steps: Millions of instructions between two rows.
        lenient: Go on without the schema entries that SQLite can't parse.
    """
    connection.text_factory = bytearray
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_cell_bytes)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    if lenient:
        connection.execute("PRAGMA writable_schema=ON").fetchall()
    _defend(connection)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    watch = Guard(connection, max_steps)
    connection.set_progress_handler(watch.tick, _STEPS)
    connection.set_authorizer(_authorize)
    return watch


def _defend(connection: sqlite3.Connection) -> None:
    """Defensive mode, where Python can set it (3.12 and newer)."""
    configure: Any = getattr(connection, "setconfig", None)
    if configure is not None:
        for name, value in _DEFENCES:
            configure(getattr(sqlite3, f"SQLITE_DBCONFIG_{name}"), value)


def _authorize(
    action: int, first: str | None, second: str | None, _schema: str | None, _within: str | None
) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and (
        first in _TELLING or (first in _TELLING_ALONE and second is None)
    ):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
