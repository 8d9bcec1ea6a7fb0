"""Capturing an SQLite database into canonical documents.

Every table is read once, in one read transaction, and streamed: what is in memory at a time
is one chunk of rows. Rows keep their rowids and their order; nothing is dumped, vacuumed or
rebuilt on the way, since renumbered rowids would change the evidence (spec: lifecycle, "A
database snapshot is not the database file"). The same logical content gives the same content
id, whatever the SQLite version or the layout of pages.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from vstore.objects.memory import ObjectSink
from vstore.objects.text import RawText, Text
from vstore.package.documents import Coverage, Origin, SnapshotDescriptor
from vstore.tools.chunker import chunk_rows
from vstore.tools.database_content import (
    HOLDS_ROWS,
    Chunk,
    DatabaseContent,
    DatabaseRowChunk,
    DatabaseSchemaDocument,
    TableContent,
    UnreadReason,
)
from vstore.tools.sqlite_open import OpenDatabase, SqliteLimits, open_sqlite
from vstore.tools.sqlite_schema import ReadTable, read_schema
from vstore.tools.table_reader import RowBudget, TableReader

__all__ = ["SqliteLimits", "capture_sqlite", "join_statement", "origin_label"]

_MAX_STATEMENT: Final = 20_000
_MAX_LABEL: Final = 1_000

_MEANING: Final[dict[UnreadReason, str]] = {
    "malformed": "its pages are damaged or its rows are out of order; rows after the {rows} "
    "captured ones are missing",
    "unreadable": "SQLite can't read it here: it needs a module or function that is absent or "
    "forbidden, or has a name that can't be written in SQL; {rows} rows were captured",
}


def capture_sqlite(
    path: Path,
    sink: ObjectSink,
    *,
    name: str,
    label: str | None = None,
    statement: str | None = None,
    partial: bool = False,
    limits: SqliteLimits | None = None,
    scratch: Path | None = None,
) -> SnapshotDescriptor:
    """Capture a database.

    The file is never modified, and no file is created beside it: see
    :mod:`vstore.tools.sqlite_open`.

    Args:
        path: The database; its ``-wal`` is honoured.
        sink: Takes the documents and the large values; after an error what it took is unused.
        name: The snapshot's name.
        label: What the operator says about its origin: a version, a dump time; the file's
            name by default.
        statement: What the operator says about its coverage.
        partial: The operator knows that it lacks something.
        limits: Operational limits; the defaults where None.
        scratch: Where private copies may be made; the system's temporary folder by default.

    Returns:
        The descriptor; what couldn't be read makes it partial and stands in its statement.

    Raises:
        InvalidError: Not a database, or its schema can't be read.
        LimitExceeded: A limit was reached, named in ``details``.
        ConflictError: Somebody wrote to it meanwhile (``changed_while_read``).
        StorageError, UnsupportedError: As :func:`~vstore.tools.sqlite_open.open_sqlite`.
    """
    with open_sqlite(path, limits or SqliteLimits(), scratch=scratch) as database:
        work = _Capture(database, sink, limits or SqliteLimits(), scratch)
        content = work.run()
        facts = work.facts()
    return SnapshotDescriptor(
        name=name,
        kind="database",
        content=sink.put_document(content),
        origin=Origin(kind="sqlite", label=origin_label(path, label), digest=database.digest),
        coverage=Coverage(
            kind="partial" if partial or work.partial else "complete",
            statement=join_statement(statement, facts, work.notes),
        ),
    )


def origin_label(path: Path, label: str | None) -> str:
    """What the operator said, or the file's name as far as it is UTF-8."""
    text = os.fsencode(path.name).decode("utf-8", "replace") if label is None else label
    return text[:_MAX_LABEL]


def join_statement(statement: str | None, facts: str, notes: list[str]) -> str:
    """The coverage statement: the operator's words, facts, then what is missing."""
    text = "\n".join([statement, facts] if statement else [facts])[: _MAX_STATEMENT // 2]
    for number, note in enumerate(notes):
        rest = f"\nand {len(notes) - number} more"
        if len(text) + len(note) + len(rest) + 1 > _MAX_STATEMENT:
            return text + rest
        text += "\n" + note
    return text


def _shown(name: Text) -> str:
    """A name of a hostile database, in printable ASCII."""
    if isinstance(name, RawText):
        return f"x'{name.hex[:200]}'"
    return json.dumps(name if len(name) <= 100 else name[:100] + "...")


class _Capture:
    """One capture."""

    def __init__(
        self, database: OpenDatabase, sink: ObjectSink, limits: SqliteLimits, scratch: Path | None
    ) -> None:
        self.notes: list[str] = []
        self.partial = False
        self._database = database
        self._sink = sink
        self._limits = limits
        self._scratch = scratch
        self._budget = RowBudget(limits.max_rows)
        self._encoding = bytes(self._one("PRAGMA encoding")).decode()

    def _one(self, sql: str) -> Any:
        return self._database.connection.execute(sql).fetchone()[0]

    def facts(self) -> str:
        """What the file says of itself that no table holds."""
        companion = self._database.companion
        return (
            f"SQLite file{companion and f' with its {companion}'}: {self._encoding}, "
            f"user_version {self._one('PRAGMA user_version')}, "
            f"application_id {self._one('PRAGMA application_id')}"
        )

    def run(self) -> DatabaseContent:
        """Read everything."""
        found, odd = read_schema(self._database, self._limits)
        if odd:
            self.partial = True
            self.notes.append(f"{odd} rows of sqlite_master describe no table, view or trigger")
        schema = DatabaseSchemaDocument(entries=[one.schema for one in found])
        tables: list[TableContent] = []
        for one in found:
            if one.schema.type in HOLDS_ROWS:
                tables.append(self._table(one))
            elif not one.columns_known:
                self.notes.append(f"view {_shown(one.schema.name)}: SQLite can't tell its columns")
        return DatabaseContent(tables_schema=self._sink.put_document(schema), tables=tables)

    def _table(self, table: ReadTable) -> TableContent:
        before = self._budget.taken
        reader = TableReader(self._database, table, encoding=self._encoding)
        chunks = self._chunks(reader)
        if reader.unread == "unreadable" and reader.has_virtual:
            # An expression of the schema that fails takes only its own column away.
            self._budget.restart(before)
            reader = TableReader(
                self._database, table, encoding=self._encoding, without_virtual=True
            )
            chunks = self._chunks(reader)
            self._missing(table, "virtual generated columns can't be computed")
        count = sum(chunk.rows for chunk in chunks)
        if reader.unread is not None:
            self._missing(table, _MEANING[reader.unread].format(rows=count))
        elif reader.rowids_hidden:
            self._missing(table, "its rowids can't be read: columns take all names of the rowid")
        return TableContent(
            name=table.schema.name,
            order=reader.order,
            columns=reader.columns,
            key=reader.key,
            rows=count,
            chunks=chunks,
            unread=reader.unread,
        )

    def _chunks(self, reader: TableReader) -> list[Chunk]:
        rows = reader.rows(self._sink, self._limits, self._budget, self._scratch)
        return [
            Chunk(self._sink.put_document(DatabaseRowChunk(rows=chunk.rows)), len(chunk.rows))
            for chunk in chunk_rows(rows, reader.order, reader.key)
        ]

    def _missing(self, table: ReadTable, text: str) -> None:
        self.partial = True
        self.notes.append(f"table {_shown(table.schema.name)}: {text}")
