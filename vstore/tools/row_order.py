"""What a table's rows are sorted by: a function of its schema alone.

By the rowid where there is one and it can be asked for: SQLite calls it ``rowid``, ``_rowid_``
and ``oid``, as far as no column has that name, and an INTEGER PRIMARY KEY is the rowid itself.
A table WITHOUT ROWID is sorted by its primary key. What remains (all three names taken; a
virtual table without rowids) keeps the order in which SQLite walks it.
"""

from __future__ import annotations

from typing import Final, Literal

from vstore.objects.text import text_to_bytes
from vstore.tools.items import TableSchema

__all__ = ["RowOrder", "key_columns", "row_order", "rowid_alias", "rowid_column", "schema_order"]

RowOrder = Literal["rowid", "key", "scan"]

_ALIASES: Final = (b"rowid", b"_rowid_", b"oid")
#: ASCII only, as SQLite compares names.
_LOWER: Final = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz")


def schema_order(entry: TableSchema) -> tuple[bytes, str]:
    """What schema entries are sorted by."""
    return text_to_bytes(entry.name), entry.type


def row_order(schema: TableSchema) -> RowOrder:
    """What the table's rows are sorted by."""
    if schema.without_rowid:
        return "scan" if schema.type == "virtual" else "key"
    if rowid_column(schema) is None and rowid_alias(schema) is None:
        return "scan"
    return "rowid"


def key_columns(schema: TableSchema) -> list[int]:
    """0-based places of the primary key's columns among all columns, in key order."""
    places = [place for place, column in enumerate(schema.columns) if column.primary_key]
    return sorted(places, key=lambda place: schema.columns[place].primary_key)


def rowid_alias(schema: TableSchema) -> str | None:
    """A name of the rowid that no column has, or None."""
    taken = {text_to_bytes(column.name).translate(_LOWER) for column in schema.columns}
    return next((alias.decode() for alias in _ALIASES if alias not in taken), None)


def rowid_column(schema: TableSchema) -> int | None:
    """The place of the column that is the rowid, or None.

    ``INTEGER PRIMARY KEY DESC`` is not: it has an index instead.
    """
    key = key_columns(schema)
    if schema.type not in ("table", "shadow") or schema.without_rowid or len(key) != 1:
        return None
    if text_to_bytes(schema.columns[key[0]].declared_type).translate(_LOWER) != b"integer":
        return None
    return None if any(index.origin == "pk" for index in schema.indices) else key[0]
