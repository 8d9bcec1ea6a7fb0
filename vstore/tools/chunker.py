"""Where a chunk of rows ends: a fixed function of the rows.

A boundary depends on a digest of the row's key, so two snapshots of a table that differ in
some rows share the other chunks. Sizes are canonical bytes of the rows, separators left out:
after :data:`MIN_BYTES` each row ends its chunk with a chance in proportion to its size, one in
:data:`MEAN_BYTES` for each byte, and a chunk that has :data:`MAX_BYTES` ends in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from blake3 import blake3

from vstore.objects.canonical import encode
from vstore.tools.database_content import StoredRow
from vstore.tools.row_order import RowOrder

__all__ = ["MAX_BYTES", "MEAN_BYTES", "MIN_BYTES", "RowChunk", "chunk_rows", "ends_chunk", "key_of"]

MIN_BYTES: Final = 16 * 1024
MEAN_BYTES: Final = 32 * 1024
MAX_BYTES: Final = 128 * 1024


class RowChunk(NamedTuple):
    """Rows that belong into one chunk, and their canonical bytes together."""

    rows: list[StoredRow]
    size: int


def key_of(row: StoredRow, order: RowOrder, key: list[int]) -> bytes:
    """The canonical bytes of what identifies a row in its table.

    It is ``[rowid, []]``, or ``[null, [key value, ...]]``, or the whole row where a table has
    neither.
    """
    if order == "rowid":
        return encode(StoredRow(row.rowid, []))
    if order == "key":
        return encode(StoredRow(None, [row.values[place] for place in key]))
    return encode(row)


def ends_chunk(filled: int, row_size: int, key: bytes) -> bool:
    """Does a chunk end after this row?

    Args:
        filled: Canonical bytes of the chunk's rows, this one included; 1 or more.
        row_size: Canonical bytes of this row, 1 or more.
        key: What :func:`key_of` gives for it.
    """
    if filled >= MAX_BYTES:
        return True
    if filled < MIN_BYTES:
        return False
    draw = int.from_bytes(blake3(key).digest(8), "big")
    return draw * MEAN_BYTES < row_size << 64


def chunk_rows(
    rows: Iterable[tuple[StoredRow, int]], order: RowOrder, key: list[int]
) -> Iterator[RowChunk]:
    """Cut a table's rows, given with their sizes, into chunks; streams, one chunk in memory."""
    pending: list[StoredRow] = []
    filled = 0
    for row, size in rows:
        pending.append(row)
        filled += size
        # The key's digest is only needed in between.
        if filled >= MIN_BYTES and (
            filled >= MAX_BYTES or ends_chunk(filled, size, key_of(row, order, key))
        ):
            yield RowChunk(pending, filled)
            pending = []
            filled = 0
    if pending:
        yield RowChunk(pending, filled)
