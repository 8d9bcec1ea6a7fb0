"""Documents of a database snapshot: its content, its schema, its rows in chunks.

The content document's id is the snapshot's identity. It names the schema document and,
per table, the chunks of rows in order; equal rows of two snapshots share their chunks.
Queries and verification need nothing else (spec: lifecycle, "A database snapshot is not
the database file").
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, cast

import msgspec

from vstore.objects.canonical import encode
from vstore.objects.document import (
    Asserted,
    Count,
    Derived,
    Document,
    Part,
    Pinned,
    Positive,
    document,
)
from vstore.objects.ids import Digest, ObjectId, digest_of
from vstore.objects.text import RawText, Text
from vstore.tools.items import TableSchema
from vstore.tools.row_order import RowOrder
from vstore.tools.values import Value

__all__ = [
    "HOLDS_ROWS",
    "Chunk",
    "DatabaseContent",
    "DatabaseRowChunk",
    "DatabaseSchemaDocument",
    "StoredRow",
    "TableContent",
    "UnreadReason",
    "row_digest",
    "row_pointer",
    "stored_columns",
]

#: Why rows are missing after the last captured one: damaged pages or rows out of order; or
#: SQLite can't read it here (an absent module or function, a forbidden one, a name that can't
#: be written in SQL).
UnreadReason = Literal["malformed", "unreadable"]

#: What kinds of schema entries hold rows.
HOLDS_ROWS: Final = frozenset(("table", "virtual", "shadow"))


class StoredRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One row, written as ``[rowid, [value, ...]]``."""

    #: An integer, or null in a table without readable rowids.
    rowid: Annotated[Value, Pinned]
    #: The table's columns in order.
    values: Annotated[list[Value], Pinned]


class Chunk(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A chunk of rows, written as ``[object id, number of rows]``."""

    object: Annotated[ObjectId, Pinned]
    rows: Annotated[Positive, Derived]


class TableContent(Part, frozen=True, kw_only=True):
    """The rows of one table."""

    name: Annotated[Text, Pinned]
    #: What rows are sorted by: the rowid, or the primary key of a table WITHOUT ROWID; where
    #: neither can be read, ``scan``: the order in which SQLite walks the table.
    order: Annotated[RowOrder, Pinned]
    #: Names of the columns that rows hold, in table order: all but hidden and unreadable ones.
    columns: Annotated[list[Text], Pinned]
    #: Where ``order`` is ``key``: 0-based places of the primary key's columns, in key order.
    key: Annotated[list[Count], Derived]
    #: Rows in all chunks together.
    rows: Annotated[Count, Derived]
    chunks: list[Chunk]
    #: Why there are rows that the snapshot lacks, or null.
    unread: Annotated[UnreadReason | None, Asserted]


@document
class DatabaseContent(Document, tag="database-content-v1", frozen=True, kw_only=True):
    """A database snapshot. Tables are sorted by the bytes of their names."""

    #: The snapshot's ``database-schema-v1``.
    tables_schema: Annotated[ObjectId, Pinned]
    tables: list[TableContent]


@document
class DatabaseSchemaDocument(Document, tag="database-schema-v1", frozen=True, kw_only=True):
    """Tables, views and triggers, sorted by the bytes of their names, then by type."""

    #: What the file's own schema said; in evidence the same descriptors are derived from here.
    entries: Annotated[list[TableSchema], Pinned]


@document
class DatabaseRowChunk(Document, tag="database-rows-v1", frozen=True, kw_only=True):
    """Consecutive rows of one table; :mod:`vstore.tools.chunker` says where one ends."""

    rows: Annotated[list[StoredRow], msgspec.Meta(min_length=1)]


def stored_columns(schema: TableSchema) -> list[Text]:
    """The columns of a table that ``SELECT *`` returns: all but a virtual table's hidden ones."""
    return [column.name for column in schema.columns if column.generated != "hidden"]


def row_digest(values: list[Value]) -> Digest:
    """BLAKE3 of the canonical array of a full row's values, in table order, without its rowid.

    A row that was renumbered keeps its digest; :class:`Location` tells the places apart.
    """
    return digest_of(encode(cast("msgspec.Struct", values)))


def row_pointer(table: Text, position: int) -> str:
    """The JSON pointer of a row, such as ``/tables/orders/rows/17``.

    The name is escaped as RFC 6901 says (``~0`` for ``~``, ``~1`` for ``/``). A name that is
    not UTF-8 is written as ``~x`` and the hex digits of its bytes: no UTF-8 name looks so.
    """
    if isinstance(table, RawText):
        escaped = "~x" + table.hex
    else:
        escaped = table.replace("~", "~0").replace("/", "~1")
    return f"/tables/{escaped}/rows/{position}"
