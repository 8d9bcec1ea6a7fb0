"""Capturing JSON lines into the documents of a database snapshot.

A file is one table, ``lines``: a row per line, its rowid the line's number. Columns are the
member names in the order in which they first appear. Strings, integers within 64 bits, reals
and null keep their type; true and false become 1 and 0, arrays and objects their JSON text, as
SQLite's own JSON functions have it; an absent member is null. The file is read twice, in
bounded memory: for the names, then for the rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from blake3 import blake3

from vstore.errors import ConflictError, InvalidError, LimitExceeded, StorageError
from vstore.objects.canonical import encode
from vstore.objects.ids import Digest
from vstore.objects.memory import ObjectSink
from vstore.package.documents import Coverage, Origin, SnapshotDescriptor
from vstore.tools.capture_database import join_statement, origin_label
from vstore.tools.chunker import chunk_rows
from vstore.tools.database_content import (
    Chunk,
    DatabaseContent,
    DatabaseRowChunk,
    DatabaseSchemaDocument,
    StoredRow,
    TableContent,
)
from vstore.tools.items import ColumnInfo, TableSchema
from vstore.tools.row_order import row_order
from vstore.tools.sqlite_open import SqliteLimits
from vstore.tools.values import value_from_sqlite

__all__ = ["JSONL_TABLE", "capture_jsonl"]

JSONL_TABLE: Final = "lines"
_MAX_COLUMNS: Final = 2_000
_FACTS: Final = (
    "JSON lines: true and false stand as 1 and 0, arrays and objects as JSON text, an absent "
    "member as null"
)


def capture_jsonl(
    path: Path,
    sink: ObjectSink,
    *,
    name: str,
    label: str | None = None,
    statement: str | None = None,
    partial: bool = False,
    limits: SqliteLimits | None = None,
) -> SnapshotDescriptor:
    """Capture a file of JSON lines.

    Args:
        path: The file: UTF-8, one object a line.
        sink: Takes the documents and the large values; after an error what it took is unused.
        name: The snapshot's name.
        label: What the operator says about its origin; the file's name by default.
        statement: What the operator says about its coverage.
        partial: The operator knows that it lacks something.
        limits: ``max_database_bytes``, ``max_row_bytes`` (also of a line), ``max_rows``.

    Raises:
        InvalidError: A line is no JSON object of the accepted kind (``invalid_line``, with its
            number).
        LimitExceeded: A limit was reached, named in ``details``.
        ConflictError: Somebody wrote to it meanwhile (``changed_while_read``).
        StorageError: The operating system refuses to read.
    """
    bounds = limits or SqliteLimits()
    names: dict[str, None] = {}
    first = _Pass(bounds)
    for number, members in first.objects(path):
        names.update(dict.fromkeys(members))
        if len(names) > _MAX_COLUMNS:
            raise _exceeded("max_columns", _MAX_COLUMNS, len(names), number)
    table = _schema(list(names))
    order = row_order(table)
    second = _Pass(bounds)
    chunks = [
        Chunk(sink.put_document(DatabaseRowChunk(rows=chunk.rows)), len(chunk.rows))
        for chunk in chunk_rows(
            _rows(second, path, list(names), sink, bounds, numbered=order == "rowid"), order, []
        )
    ]
    if first.digest != second.digest:
        raise ConflictError(
            "the file was written to while it was read",
            kind="changed_while_read",
            hint="stop the program that writes it, or capture a copy",
        )
    schema = DatabaseSchemaDocument(entries=[table])
    content = DatabaseContent(
        tables_schema=sink.put_document(schema),
        tables=[
            TableContent(
                name=JSONL_TABLE,
                order=order,
                columns=list(names),
                key=[],
                rows=sum(chunk.rows for chunk in chunks),
                chunks=chunks,
                unread=None,
            )
        ],
    )
    return SnapshotDescriptor(
        name=name,
        kind="database",
        content=sink.put_document(content),
        origin=Origin(kind="jsonl", label=origin_label(path, label), digest=first.digest),
        coverage=Coverage(
            kind="partial" if partial else "complete",
            statement=join_statement(statement, _FACTS, []),
        ),
    )


def _schema(names: list[str]) -> TableSchema:
    return TableSchema(
        name=JSONL_TABLE,
        type="table",
        table=JSONL_TABLE,
        without_rowid=False,
        strict=False,
        columns=[
            ColumnInfo(
                name=name,
                declared_type="",
                not_null=False,
                default=None,
                primary_key=0,
                generated="no",
            )
            for name in names
        ],
        indices=[],
        foreign_keys=[],
        sql=None,
    )


def _rows(
    source: _Pass,
    path: Path,
    names: list[str],
    sink: ObjectSink,
    limits: SqliteLimits,
    *,
    numbered: bool,
) -> Iterator[tuple[StoredRow, int]]:
    for number, members in source.objects(path):
        cells = [_cell(members.get(name), number) for name in names]
        row = StoredRow(
            number if numbered else None, [value_from_sqlite(cell, sink) for cell in cells]
        )
        size = len(encode(row))
        if size > limits.max_row_bytes:
            raise _exceeded("max_row_bytes", limits.max_row_bytes, size, number)
        yield row, size


def _cell(value: Any, number: int) -> Any:
    """A member's value as the sqlite3 module would give it: text as ``bytearray``."""
    if value is None or type(value) is float:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise _invalid(number, "an integer past 64 bits")
        return value
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return bytearray(value.encode())


class _Pass:
    """One reading of the file."""

    def __init__(self, limits: SqliteLimits) -> None:
        #: Digest of what was read; whole after the last object.
        self.digest: Digest = ""
        self._limits = limits

    def objects(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line numbers, from 1, with their objects."""
        digest = blake3()
        try:
            with path.open("rb") as stream:
                for number, line in _lines(stream, self._limits):
                    digest.update(line)
                    yield number, _parse(line, number)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StorageError(
                f"reading the file failed: {reason}", kind="unreadable_file"
            ) from error
        self.digest = digest.hexdigest()


def _lines(stream: BinaryIO, limits: SqliteLimits) -> Iterator[tuple[int, bytes]]:
    number = size = 0
    while line := stream.readline(limits.max_row_bytes + 1):
        number += 1
        size += len(line)
        if len(line) > limits.max_row_bytes:
            raise _exceeded("max_row_bytes", limits.max_row_bytes, len(line), number)
        if size > limits.max_database_bytes:
            raise _exceeded("max_database_bytes", limits.max_database_bytes, size, number)
        if number > limits.max_rows:
            raise _exceeded("max_rows", limits.max_rows, number, number)
        yield number, line


def _parse(line: bytes, number: int) -> dict[str, Any]:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a member twice")
        return found

    def real(text: str) -> float:
        found = float(text)
        if math.isinf(found):
            raise ValueError("a real past binary64")
        return found

    def constant(_: str) -> Any:
        raise ValueError("not JSON")

    try:
        text = line.decode()
        # Lone surrogates have no UTF-8; the standard library lets them through.
        value = json.loads(
            text, object_pairs_hook=members, parse_float=real, parse_constant=constant
        )
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _invalid(number, "not JSON, a member twice, or a number out of range") from error
    if not isinstance(value, dict):
        raise _invalid(number, "not an object")
    return value


def _invalid(number: int, text: str) -> InvalidError:
    return InvalidError(f"line {number}: {text}", kind="invalid_line", line=number)


def _exceeded(limit: str, value: int, asked: int, number: int) -> LimitExceeded:
    return LimitExceeded(
        f"line {number}: more than {limit} allows",
        limit=limit,
        value=value,
        asked=asked,
        line=number,
    )
