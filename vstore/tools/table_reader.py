"""Reading one SQLite table, in the snapshot's order, as a stream of rows.

SQL names the table only: columns get names of our own through a common table expression, so
that no name of a hostile schema matters, and ``NOT INDEXED`` makes SQLite walk the table
itself, not some index that holds the same columns.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from vstore.errors import LimitExceeded, StorageError
from vstore.objects.canonical import encode
from vstore.objects.memory import ObjectSink
from vstore.objects.text import RawText, Text
from vstore.tools.database_content import StoredRow, UnreadReason
from vstore.tools.row_order import RowOrder, key_columns, row_order, rowid_alias, rowid_column
from vstore.tools.row_sorter import RowSorter, raw_order
from vstore.tools.sqlite_open import OpenDatabase, SqliteLimits
from vstore.tools.sqlite_schema import ReadTable
from vstore.tools.values import value_from_sqlite

__all__ = ["RowBudget", "TableReader"]


class RowBudget:
    """Rows of a whole capture."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0

    @property
    def taken(self) -> int:
        """Rows so far."""
        return self._taken

    def restart(self, taken: int) -> None:
        """Count on from an earlier state."""
        self._taken = taken

    def take(self) -> None:
        """Count one row.

        Raises:
            LimitExceeded: It is one too many.
        """
        self._taken += 1
        if self._taken > self._limit:
            raise LimitExceeded(
                f"the database has more than {self._limit} rows",
                limit="max_rows",
                value=self._limit,
                asked=self._taken,
            )


class TableReader:
    """How a table is read, and what came of it.

    Args:
        database: The open database.
        table: The table.
        encoding: The database's text encoding, as ``PRAGMA encoding`` says it.
        without_virtual: Leave out virtual generated columns, which failed.
    """

    def __init__(
        self,
        database: OpenDatabase,
        table: ReadTable,
        *,
        encoding: str,
        without_virtual: bool = False,
    ) -> None:
        #: Set when rows() has ended: why there are more rows.
        self.unread: UnreadReason | None = None
        self._database = database
        self._table = table
        schema = table.schema
        kept = [
            place
            for place, column in enumerate(schema.columns)
            if column.generated != "hidden"
            and not (without_virtual and column.generated == "virtual")
        ]
        self.columns: list[Text] = [schema.columns[place].name for place in kept]
        self._explicit = without_virtual
        self._codec = None if encoding == "UTF-8" else encoding.lower()
        place = rowid_column(schema)
        self._rowid_place = None if place is None else kept.index(place)
        self._alias: str | None = None
        self.order: RowOrder = row_order(schema)
        self.key: list[int] = []
        if self.order == "key":
            self.key = [kept.index(place) for place in key_columns(schema)]
        elif self.order == "rowid" and place is None:
            self._alias = rowid_alias(schema)
        self._needs_sorting = self.order == "key" and not (table.key_sorted and encoding == "UTF-8")
        #: There are rowids, but no name to ask for them.
        self.rowids_hidden = self.order == "scan" and not schema.without_rowid

    @property
    def has_virtual(self) -> bool:
        """Are there virtual generated columns, which could be left out?"""
        return not self._explicit and any(
            column.generated == "virtual" for column in self._table.schema.columns
        )

    def rows(
        self, sink: ObjectSink, limits: SqliteLimits, budget: RowBudget, scratch: Path | None
    ) -> Iterator[tuple[StoredRow, int]]:
        """The rows with their canonical sizes, in order; afterwards :attr:`unread` is set.

        Raises:
            LimitExceeded: A limit was reached.
            StorageError: The operating system failed to read.
        """
        rows = self._scan(sink, limits, budget)
        if not self._needs_sorting:
            for _, row, size in rows:
                yield row, size
            return
        with RowSorter(scratch) as sorter:
            for cells, row, _ in rows:
                sorter.add(raw_order([cells[place] for place in self.key]), row)
            yield from sorter

    def _scan(
        self, sink: ObjectSink, limits: SqliteLimits, budget: RowBudget
    ) -> Iterator[tuple[tuple[Any, ...], StoredRow, int]]:
        guard = self._database.guard
        place = self._rowid_place
        leads = self._alias is not None
        checks_key = self.order == "key" and not self._needs_sorting
        last: Any = None
        try:
            cursor = self._execute()
            if cursor is None:
                return
            for raw in cursor:
                guard.progressed()
                budget.take()
                cells = raw[1:] if leads else raw
                if self._codec is not None:
                    cells = _decoded(cells, self._codec)
                rowid = raw[0] if leads else None if place is None else cells[place]
                position = raw_order([cells[one] for one in self.key]) if checks_key else rowid
                if last is not None and position < last:
                    self.unread = "malformed"
                    return
                last = position
                row = StoredRow(
                    value_from_sqlite(rowid, sink),
                    [value_from_sqlite(cell, sink) for cell in cells],
                )
                size = len(encode(row))
                if size > limits.max_row_bytes:
                    raise LimitExceeded(
                        f"a row has {size} canonical bytes",
                        limit="max_row_bytes",
                        value=limits.max_row_bytes,
                        asked=size,
                    )
                yield cells, row, size
        except UnicodeDecodeError:
            self.unread = "unreadable"
        except MemoryError as error:
            raise _too_big(limits) from error
        except sqlite3.Error as error:
            self.unread = self._reason(error, limits)

    def _reason(self, error: sqlite3.Error, limits: SqliteLimits) -> UnreadReason:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return "malformed"
        if code == sqlite3.SQLITE_INTERRUPT:
            raise self._database.guard.exceeded() from error
        if code in (sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM) and not self.has_virtual:
            raise _too_big(limits) from error
        if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN):
            raise StorageError("reading the database file failed", kind="unreadable_file") from (
                error
            )
        return "unreadable"

    def _execute(self) -> sqlite3.Cursor | None:
        name = self._table.schema.name
        if isinstance(name, RawText) or not self._table.columns_known:
            self.unread = "unreadable"
            return None
        plain = self._table.schema.type != "virtual" and all(
            column.generated == "no" for column in self._table.schema.columns
        )
        foreign = any(isinstance(column, RawText) for column in self.columns)
        guard = self._database.guard
        self._database.guard.progressed()
        with guard.unwatched() if plain and foreign else nullcontext():
            return self._database.connection.execute(self._sql(name))

    def _sql(self, name: str) -> str:
        names = [f"c{place}" for place in range(len(self.columns))]
        wanted = ", ".join(map(_quoted, self.columns)) if self._explicit else "*"
        ordered = ""
        if self._alias is not None:
            names.insert(0, "r")
            wanted = f"{self._alias}, {wanted}"
            ordered = " ORDER BY r"
        elif self._rowid_place is not None:
            ordered = f" ORDER BY c{self._rowid_place}"
        walk = "" if self._table.schema.type == "virtual" else " NOT INDEXED"
        source = f"SELECT {wanted} FROM main.{_quoted(name)}{walk}"  # noqa: S608
        shown = "*" if self._codec is None else ", ".join(map(_with_bytes, names))
        return f"WITH v({', '.join(names)}) AS ({source}) SELECT {shown} FROM v{ordered}"  # noqa: S608


def _with_bytes(name: str) -> str:
    """A column and, where it is text, its bytes; the rowid alone."""
    return (
        name
        if name == "r"
        else f"{name}, CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) END"
    )


def _decoded(cells: tuple[Any, ...], codec: str) -> tuple[Any, ...]:
    """UTF-16 text as UTF-8.

    SQLite's own conversion loses noncharacters and lone surrogates. These become the three
    bytes that UTF-8 would have for them if it had, and so text that is not UTF-8.
    """
    return tuple(
        cell
        if raw is None
        else bytearray(
            raw[: len(raw) & ~1].decode(codec, "surrogatepass").encode("utf-8", "surrogatepass")
        )
        for cell, raw in zip(cells[::2], cells[1::2], strict=True)
    )


def _quoted(name: Text) -> str:
    if isinstance(name, RawText):
        raise UnicodeDecodeError("utf-8", b"", 0, 0, "a name that SQL can't hold")
    return '"' + name.replace('"', '""') + '"'


def _too_big(limits: SqliteLimits) -> LimitExceeded:
    return LimitExceeded(
        f"a cell or row has more than {limits.max_cell_bytes} bytes",
        limit="max_cell_bytes",
        value=limits.max_cell_bytes,
        asked=limits.max_cell_bytes + 1,
    )
