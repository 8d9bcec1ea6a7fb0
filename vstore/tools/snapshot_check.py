"""Checking that a snapshot's documents are well formed and canonical, from them alone.

What capture makes is a fixed function of what it read: order, chunk boundaries, encodings. A
snapshot that says the same in another way is a fault, since it would have another id and mint
novelty for what was seen before.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from vstore.errors import VStoreError
from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.text import Text, text_to_bytes
from vstore.objects.tree import MAX_TREE_DEPTH, Tree, check_tree
from vstore.tools.cell_order import order_bytes, order_key
from vstore.tools.chunker import MAX_BYTES, MIN_BYTES, ends_chunk, key_of
from vstore.tools.database_content import (
    HOLDS_ROWS,
    DatabaseContent,
    DatabaseRowChunk,
    DatabaseSchemaDocument,
    StoredRow,
    TableContent,
    stored_columns,
)
from vstore.tools.items import TableSchema
from vstore.tools.row_order import key_columns, row_order, rowid_column, schema_order
from vstore.tools.values import BigInteger, LargeBlob, LargeText, check_value

__all__ = ["SnapshotFault", "check_database", "check_source"]


class SnapshotFault(NamedTuple):
    """One fault.

    ``kind`` is stable: that of the error of an unreadable object, or ``wrong_size``,
    ``wrong_order``, ``wrong_columns``, ``wrong_count``, ``wrong_chunks``, ``wrong_schema``.
    """

    kind: str
    #: The object that shows it.
    object: ObjectId
    #: What is wrong, without text of the snapshot.
    message: str


def check_source(objects: ObjectSource, root: ObjectId) -> Iterator[SnapshotFault]:
    """Check a source tree: trees in canonical form, sizes as they are.

    Args:
        objects: Where the trees and files are; files are not read.
        root: The id of the root tree.
    """
    yield from _check_tree(objects, root, None, MAX_TREE_DEPTH, {})


def _check_tree(
    objects: ObjectSource,
    oid: ObjectId,
    claimed: int | None,
    depth: int,
    known: dict[ObjectId, int],
) -> Iterator[SnapshotFault]:
    if depth == 0:
        yield SnapshotFault("invalid_tree", oid, "a tree is nested too deep")
        return
    if oid not in known:
        try:
            tree = objects.document(oid, Tree)
            check_tree(tree)
        except VStoreError as error:
            yield SnapshotFault(error.kind, oid, error.message)
            return
        for entry in tree.entries:
            if entry.kind == "tree":
                yield from _check_tree(objects, entry.object, entry.size, depth - 1, known)
                continue
            yield from _check_size(objects, entry.object, entry.size)
        known[oid] = sum(entry.size for entry in tree.entries)
    if claimed is not None and known[oid] != claimed:
        yield SnapshotFault(
            "wrong_size", oid, f"a folder of {known[oid]} bytes is said to have {claimed}"
        )


def _check_size(objects: ObjectSource, oid: ObjectId, claimed: int) -> Iterator[SnapshotFault]:
    try:
        size = objects.size(oid)
    except VStoreError as error:
        yield SnapshotFault(error.kind, oid, error.message)
        return
    if size != claimed:
        yield SnapshotFault("wrong_size", oid, f"{size} bytes are said to be {claimed}")


def check_database(objects: ObjectSource, content: ObjectId) -> Iterator[SnapshotFault]:
    """Check a database snapshot: schema, columns, order of rows, values, chunk boundaries.

    Streams: one chunk is in memory at a time.

    Args:
        objects: Where its documents are.
        content: The id of its ``database-content-v1``.
    """
    try:
        document = objects.document(content, DatabaseContent)
        schema = objects.document(document.tables_schema, DatabaseSchemaDocument).entries
        keys = [schema_order(entry) for entry in schema]
        names = [text_to_bytes(table.name) for table in document.tables]
        for entry in schema:
            _check_texts(entry)
    except VStoreError as error:
        yield SnapshotFault(error.kind, content, error.message)
        return
    if any(one >= other for one, other in pairwise(keys)):
        yield SnapshotFault(
            "wrong_schema", document.tables_schema, "schema entries are out of order"
        )
    holding = {entry.name: entry for entry in schema if entry.type in HOLDS_ROWS}
    if names != sorted(text_to_bytes(name) for name in holding):
        yield SnapshotFault("wrong_schema", content, "tables differ from those of the schema")
    for table in document.tables:
        described = holding.get(table.name)
        if described is not None:
            yield from _check_described(content, table, described)
            yield from _TableCheck(objects, content, table, _rowid_place(table, described)).faults()


def _check_texts(entry: TableSchema) -> None:
    texts: list[Text | None] = [entry.name, entry.table, entry.sql]
    for column in entry.columns:
        texts += [column.name, column.declared_type, column.default]
    for index in entry.indices:
        texts += [index.name, index.sql, *index.columns]
    for foreign in entry.foreign_keys:
        texts += [foreign.table, *foreign.columns, *foreign.references]
    for text in texts:
        if text is not None:
            text_to_bytes(text)


def _check_described(
    content: ObjectId, table: TableContent, schema: TableSchema
) -> Iterator[SnapshotFault]:
    wanted = stored_columns(schema)
    if table.columns != wanted:
        virtual = {column.name for column in schema.columns if column.generated == "virtual"}
        if not virtual or table.columns != [name for name in wanted if name not in virtual]:
            yield SnapshotFault("wrong_columns", content, "columns differ from the schema's")
    order = row_order(schema)
    key: list[int] = []
    if order == "key":
        names = [schema.columns[place].name for place in key_columns(schema)]
        key = [table.columns.index(name) for name in names if name in table.columns]
    if (table.order, table.key) != (order, key):
        yield SnapshotFault("wrong_order", content, "a table's order is not what its schema asks")


def _rowid_place(table: TableContent, schema: TableSchema) -> int | None:
    place = rowid_column(schema)
    if place is None or schema.columns[place].name not in table.columns:
        return None
    return table.columns.index(schema.columns[place].name)


class _TableCheck:
    def __init__(
        self,
        objects: ObjectSource,
        content: ObjectId,
        table: TableContent,
        rowid_place: int | None,
    ) -> None:
        self._rowid_place = rowid_place
        self._objects = objects
        self._content = content
        self._table = table
        self._last: int | bytes | None = None

    def faults(self) -> Iterator[SnapshotFault]:
        table = self._table
        if any(place >= len(table.columns) for place in table.key):
            yield SnapshotFault("wrong_columns", self._content, "a key column that is absent")
            return
        if sum(chunk.rows for chunk in table.chunks) != table.rows:
            yield SnapshotFault("wrong_count", self._content, "a table's count of rows is wrong")
        for number, chunk in enumerate(table.chunks, 1):
            try:
                rows = self._objects.document(chunk.object, DatabaseRowChunk).rows
            except VStoreError as error:
                yield SnapshotFault(error.kind, chunk.object, error.message)
                self._last = None
                continue
            if len(rows) != chunk.rows:
                yield SnapshotFault("wrong_count", chunk.object, "a chunk's count of rows is wrong")
            yield from self._check_chunk(chunk.object, rows, last=number == len(table.chunks))

    def _check_chunk(
        self, oid: ObjectId, rows: list[StoredRow], *, last: bool
    ) -> Iterator[SnapshotFault]:
        table = self._table
        filled = 0
        for number, row in enumerate(rows, 1):
            if len(row.values) != len(table.columns):
                yield SnapshotFault("wrong_columns", oid, "a row has another number of values")
                return
            try:
                yield from self._check_values(oid, row)
                position = self._position(row)
            except VStoreError as error:
                yield SnapshotFault(error.kind, oid, error.message)
                return
            if position is not None and self._last is not None and position < self._last:  # type: ignore[operator]
                yield SnapshotFault("wrong_order", oid, "rows are out of order")
            self._last = position
            size = len(encode(row))
            filled += size
            ends = filled >= MIN_BYTES and (
                filled >= MAX_BYTES or ends_chunk(filled, size, key_of(row, table.order, table.key))
            )
            if ends != (number == len(rows)) and not (last and number == len(rows)):
                yield SnapshotFault("wrong_chunks", oid, "a chunk ends at another row")
                return

    def _check_values(self, oid: ObjectId, row: StoredRow) -> Iterator[SnapshotFault]:
        for value in row.values:
            # Most cells are plain; a string of 1,024 characters has 4,096 bytes at the most.
            if value is None or type(value) is int or (type(value) is str and len(value) <= 1024):
                continue
            check_value(value)
            if isinstance(value, LargeText | LargeBlob):
                yield from _check_size(self._objects, value.object, value.size)
        check_value(row.rowid)
        whole = isinstance(row.rowid, int | BigInteger)
        if whole != (self._table.order == "rowid") or not (whole or row.rowid is None):
            yield SnapshotFault("wrong_order", oid, "a rowid where none belongs, or none")
        place = self._rowid_place
        if place is not None and row.values[place] != row.rowid:
            yield SnapshotFault("wrong_order", oid, "an INTEGER PRIMARY KEY that is not the rowid")

    def _position(self, row: StoredRow) -> int | bytes | None:
        if self._table.order == "rowid":
            rowid = row.rowid
            if isinstance(rowid, BigInteger):
                return int(rowid.value)
            return rowid if isinstance(rowid, int) else None
        if self._table.order == "key":
            return b"".join(
                order_bytes(order_key(row.values[place], self._objects.get))
                for place in self._table.key
            )
        return None
