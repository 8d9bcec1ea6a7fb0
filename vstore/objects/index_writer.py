"""Writing the cached index of objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from vstore.objects.durable import DurableIO
from vstore.objects.index_cache import NAME, VALUES, encode_index, entries_of, index_path
from vstore.objects.layout import CACHE
from vstore.objects.log import Tail
from vstore.objects.table_stack import TableFile, table_path
from vstore.objects.table_writer import write_cache, write_files

__all__ = ["save_index"]


def save_index(
    root: Path,
    tail: Tail,
    fresh: Iterable[tuple[bytes, int]],
    files: Sequence[TableFile],
    io: DurableIO,
) -> list[TableFile]:
    """Write an index that covers the log up to ``tail``.

    Args:
        root: The package's folder.
        tail: The end of the log; its last frame's digest is known.
        fresh: Ids and places that ``files`` don't have.
        files: What is there, oldest first.
        io: Writes.

    Returns:
        The files from now on, oldest first.

    Raises:
        DoubtfulCache: A file that is there is damaged.
        StorageError: Something can't be written.
    """
    folder = root / CACHE
    kept, gone = write_files(folder, NAME, files, [entries_of(fresh)], VALUES, io)
    write_cache(index_path(root), encode_index(tail, kept), io)
    for one in gone:
        io.discard(table_path(folder, NAME, one.digest))
    return kept
