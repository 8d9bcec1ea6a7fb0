"""Reading an SQLite database's schema into descriptors that no SQLite version changes.

Tables, views and triggers in byte order of their names. Indices and foreign keys stand with
their table. A view has the names of its columns only: their types are SQLite's inference,
which differs between versions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeVar

from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.text import Text, text_from_bytes, text_to_bytes
from vstore.tools.items import ColumnInfo, ForeignKey, IndexInfo, TableSchema
from vstore.tools.row_order import schema_order
from vstore.tools.sqlite_open import OpenDatabase, SqliteLimits

__all__ = ["ReadSchema", "ReadTable", "read_schema"]

_GENERATED: Final[dict[int, Literal["no", "stored", "virtual", "hidden"]]] = {
    0: "no",
    1: "hidden",
    2: "virtual",
    3: "stored",
}

_KINDS: Final = frozenset((b"table", b"index", b"trigger"))

T = TypeVar("T")


class ReadTable(NamedTuple):
    """A schema entry, and what capture needs to know besides."""

    schema: TableSchema
    #: The primary key of a table without rowids sorts as our order does: ascending, BINARY.
    key_sorted: bool
    #: SQLite could tell the columns.
    columns_known: bool


class ReadSchema(NamedTuple):
    """A database's schema."""

    entries: list[ReadTable]
    #: Rows of sqlite_master that describe nothing: of no known kind, or a second time.
    odd: int


class _MasterRow(NamedTuple):
    type: bytes
    table: bytes
    sql: Text | None


def read_schema(database: OpenDatabase, limits: SqliteLimits) -> ReadSchema:
    """Every table, view and trigger, sorted.

    Raises:
        LimitExceeded: Too many entries, or too much SQL text.
        InvalidError: SQLite can't tell what is there (``malformed_schema``).
    """
    connection = database.connection
    try:
        master, odd = _read_master(connection, limits)
        listed = connection.execute(
            "SELECT name, type, wr, strict FROM pragma_table_list"
            " WHERE schema = 'main' AND name <> 'sqlite_schema'"
        ).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise InvalidError("SQLite can't list the tables", kind="malformed_schema") from error
    found = [
        ReadTable(
            TableSchema(
                name=text_from_bytes(name),
                type="trigger",
                table=text_from_bytes(row.table),
                without_rowid=False,
                strict=False,
                columns=[],
                indices=[],
                foreign_keys=[],
                sql=row.sql,
            ),
            key_sorted=False,
            columns_known=True,
        )
        for (kind, name), row in master.items()
        if kind == b"trigger"
    ]
    found.extend(
        _read_table(connection, master, bytes(name), bytes(kind).decode(), wr == 1, strict == 1)
        for name, kind, wr, strict in listed
    )
    known = {bytes(name) for name, *_ in listed}
    found.extend(
        _unparsed(name, row)
        for (kind, name), row in master.items()
        if kind == b"table" and name not in known
    )
    return ReadSchema(sorted(found, key=lambda one: schema_order(one.schema)), odd)


def _read_master(
    connection: sqlite3.Connection, limits: SqliteLimits
) -> tuple[dict[tuple[bytes, bytes], _MasterRow], int]:
    master: dict[tuple[bytes, bytes], _MasterRow] = {}
    size = odd = 0
    for kind, name, table, sql in connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid"
    ):
        if not all(isinstance(cell, bytearray) for cell in (kind, name, table)):
            odd += 1
            continue
        kind, name, table = bytes(kind), bytes(name), bytes(table)
        text = bytes(sql) if isinstance(sql, bytearray) else None
        size += len(name) + len(table) + len(text or b"")
        if size > limits.max_schema_bytes:
            raise _exceeded("max_schema_bytes", limits.max_schema_bytes, size)
        if len(master) == limits.max_schema_entries:
            raise _exceeded("max_schema_entries", limits.max_schema_entries, len(master) + 1)
        lookup = b"table" if kind == b"view" else kind
        if lookup not in _KINDS or (lookup, name) in master:
            odd += 1
            continue
        master[lookup, name] = _MasterRow(
            kind, table, None if text is None else text_from_bytes(text)
        )
    return master, odd


def _unparsed(name: bytes, row: _MasterRow) -> ReadTable:
    """An entry that SQLite can't parse: its name and text are all there is."""
    text = b"" if row.sql is None else text_to_bytes(row.sql)
    kind: Literal["table", "view", "virtual"] = "table"
    if row.type == b"view":
        kind = "view"
    elif text[:14].upper() == b"CREATE VIRTUAL":
        kind = "virtual"
    schema = TableSchema(
        name=text_from_bytes(name),
        type=kind,
        table=text_from_bytes(name),
        without_rowid=False,
        strict=False,
        columns=[],
        indices=[],
        foreign_keys=[],
        sql=row.sql,
    )
    return ReadTable(schema, key_sorted=False, columns_known=False)


def _exceeded(limit: str, value: int, asked: int) -> LimitExceeded:
    return LimitExceeded(
        "the database's schema is too large", limit=limit, value=value, asked=asked
    )


def _read_table(
    connection: sqlite3.Connection,
    master: dict[tuple[bytes, bytes], _MasterRow],
    name: bytes,
    kind: str,
    without_rowid: bool,
    strict: bool,
) -> ReadTable:
    row = master.get((b"table", name))
    columns = _ask(connection, "table_xinfo", name, _columns(view=kind == "view"))
    indices: list[IndexInfo] = []
    foreign_keys: list[ForeignKey] = []
    key_sorted = False
    if kind in ("table", "shadow"):
        found = _ask(
            connection, "index_list", name, lambda rows: _indices(connection, master, rows)
        )
        indices = found[0] if found else []
        key_sorted = bool(found and found[1])
        foreign_keys = _ask(connection, "foreign_key_list", name, _foreign_keys) or []
    schema = TableSchema(
        name=text_from_bytes(name),
        type=kind,  # type: ignore[arg-type]  # one of the four that table_list tells
        table=text_from_bytes(name),
        without_rowid=without_rowid,
        strict=strict,
        columns=columns or [],
        indices=indices,
        foreign_keys=foreign_keys,
        sql=row.sql if row else None,
    )
    return ReadTable(schema, key_sorted=key_sorted, columns_known=bool(columns))


def _ask(
    connection: sqlite3.Connection, pragma: str, name: bytes, read: Callable[[list[Any]], T]
) -> T | None:
    """What a telling pragma answers about a name, or None where SQLite refuses."""
    try:
        text: str | bytes = name.decode()
    except UnicodeDecodeError:
        text = name
    try:
        return read(
            connection.execute(
                f"SELECT * FROM pragma_{pragma}(CAST(? AS TEXT), 'main')",  # noqa: S608
                (text,),
            ).fetchall()
        )
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def _columns(*, view: bool) -> Callable[[list[Any]], list[ColumnInfo]]:
    def read(rows: list[Any]) -> list[ColumnInfo]:
        return [
            ColumnInfo(
                name=text_from_bytes(name),
                declared_type="" if view else text_from_bytes(declared or b""),
                not_null=not_null == 1,
                default=None if default is None else text_from_bytes(default),
                primary_key=primary_key,
                generated=_GENERATED[hidden],
            )
            for _, name, declared, not_null, default, primary_key, hidden in rows
        ]

    return read


def _indices(
    connection: sqlite3.Connection,
    master: dict[tuple[bytes, bytes], _MasterRow],
    rows: list[Any],
) -> tuple[list[IndexInfo], bool]:
    found: list[tuple[bytes, IndexInfo]] = []
    key_sorted = False
    for _, raw, unique, origin, partial in rows:
        name = bytes(raw)
        parts = _ask(connection, "index_xinfo", name, _key_parts) or []
        row = master.get((b"index", name))
        if origin == b"pk":
            key_sorted = all(not descending and plain for _, descending, plain in parts)
        found.append(
            (
                name,
                IndexInfo(
                    name=text_from_bytes(name),
                    unique=unique == 1,
                    partial=partial == 1,
                    origin=bytes(origin).decode(),
                    columns=[column for column, _, _ in parts],
                    sql=row.sql if row else None,
                ),
            )
        )
    return [index for _, index in sorted(found, key=lambda one: one[0])], key_sorted


def _key_parts(rows: list[Any]) -> list[tuple[Text | None, bool, bool]]:
    """Name, descending, collation BINARY, of an index's key columns."""
    return [
        (
            None if name is None else text_from_bytes(name),
            descending == 1,
            bytes(collation or b"").upper() == b"BINARY",
        )
        for _, _, name, descending, collation, is_key in rows
        if is_key
    ]


def _foreign_keys(rows: list[Any]) -> list[ForeignKey]:
    """In SQLite's order of their numbers: the last declared one first."""
    grouped: dict[int, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row[0], []).append(row)
    return [
        ForeignKey(
            table=text_from_bytes(parts[0][2]),
            columns=[text_from_bytes(part[3]) for part in parts],
            references=[None if part[4] is None else text_from_bytes(part[4]) for part in parts],
            on_update=bytes(parts[0][5]).decode(),
            on_delete=bytes(parts[0][6]).decode(),
        )
        for _, parts in sorted(grouped.items())
    ]
