"""A few files of sorted tables, the older ones larger, that together hold a growing table.

A lookup asks them newest first; :mod:`vstore.objects.table_writer` adds to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from vstore.objects.sorted_tables import SortedTables

__all__ = ["TableFile", "open_files", "table_path"]


class TableFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file: the digest of its header in hex, and its entries."""

    digest: str
    entries: int


def table_path(folder: Path, name: str, digest: str) -> Path:
    """Where a file is: ``name`` and the beginning of its digest."""
    return folder / f"{name}-{digest[:16]}"


def open_files(
    folder: Path, name: str, files: Sequence[TableFile], values: Sequence[int]
) -> list[SortedTables]:
    """Open files for lookups.

    Args:
        folder: Where they are.
        name: What their names begin with.
        files: Oldest first.
        values: The sizes of the tables' values.

    Returns:
        Newest first, the order in which to ask them.

    Raises:
        DoubtfulCache: One is absent or damaged.
    """
    return [
        SortedTables(table_path(folder, name, one.digest), bytes.fromhex(one.digest), values)
        for one in reversed(files)
    ]
