"""Sorting rows on disk, for tables whose own order is not ours.

A primary key with a collation, a descending column, or in a UTF-16 database sorts otherwise
than null < number < text (bytes) < blob. Rows then go through a private file, so that memory
stays bounded.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vstore.objects.canonical import decode, encode
from vstore.tools.cell_order import BLOB, NULL, NUMBER, TEXT, order_bytes
from vstore.tools.database_content import StoredRow

__all__ = ["RowSorter", "raw_order"]


def raw_order(cells: list[Any]) -> bytes:
    """Sorts as these cells do; they are None, int, float, ``bytearray`` (text) or ``bytes``."""
    return b"".join(map(_one, cells))


def _one(cell: Any) -> bytes:
    if cell is None:
        return order_bytes((NULL, 0))
    if type(cell) is bytearray:
        return order_bytes((TEXT, bytes(cell)))
    if type(cell) is bytes:
        return order_bytes((BLOB, cell))
    return order_bytes((NUMBER, cell))


class RowSorter:
    """Takes rows with sort keys in any order and gives them back sorted; ties keep theirs.

    Args:
        scratch: Where the private file is made; the system's temporary folder where None.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="vstore-", dir=scratch)
        self._connection = sqlite3.connect(
            Path(self._folder.name) / "rows", isolation_level=None, cached_statements=4
        )
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.execute("BEGIN")
        self._connection.execute(
            "CREATE TABLE rows (k BLOB, n INTEGER, row BLOB, PRIMARY KEY (k, n)) WITHOUT ROWID"
        )
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()
        self._folder.cleanup()

    def add(self, key: bytes, row: StoredRow) -> None:
        """Take one row; ``key`` is what :func:`raw_order` gives."""
        self._connection.execute(
            "INSERT INTO rows VALUES (?, ?, ?)", (key, self._count, encode(row))
        )
        self._count += 1

    def __iter__(self) -> Iterator[tuple[StoredRow, int]]:
        for (stored,) in self._connection.execute("SELECT row FROM rows ORDER BY k, n"):
            yield decode(stored, StoredRow), len(stored)
