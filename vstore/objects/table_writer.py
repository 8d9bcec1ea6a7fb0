"""Adding entries to files of sorted tables.

New entries go to a new file; a file is merged into the one before it unless that has several
times its entries. So there are few files, and an entry is written again a few times at most,
however many come.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from vstore.objects.durable import DurableIO
from vstore.objects.sorted_tables import KEY_BYTES, encode_tables
from vstore.objects.table_stack import TableFile, open_files, table_path

__all__ = ["write_cache", "write_files"]

#: A file stays as it is while it has this many times the entries of the next one.
_GROWTH: Final = 4


def write_files(
    folder: Path,
    name: str,
    files: Sequence[TableFile],
    fresh: Sequence[Sequence[bytes]],
    values: Sequence[int],
    io: DurableIO,
) -> tuple[list[TableFile], list[TableFile]]:
    """Write new entries, merged with files that are not much larger.

    Args:
        folder: Where to.
        name: What names begin with.
        files: What there is, oldest first.
        fresh: Per table, sorted entries; a key that an older file has too gets the new value.
        values: The sizes of the tables' values.
        io: Writes.

    Returns:
        The files from now on, oldest first, and those that are not needed any more: to be
        removed once nothing names them.

    Raises:
        DoubtfulCache: A file that was to be merged is damaged.
        StorageError: Something can't be written.
    """
    merged = [list(one) for one in fresh]
    count = sum(map(len, merged))
    kept, gone = list(files), []
    while kept and kept[-1].entries < _GROWTH * count:
        last = kept.pop()
        gone.append(last)
        (file,) = open_files(folder, name, [last], values)
        merged = [
            _merged(file.entries(table), new, value_bytes)
            for table, (new, value_bytes) in enumerate(zip(merged, values, strict=True))
        ]
        file.close()
        count += last.entries
    if count:
        content, digest = encode_tables(list(zip(values, merged, strict=True)))
        made = TableFile(digest=digest.hex(), entries=count)
        write_cache(table_path(folder, name, made.digest), content, io)
        kept.append(made)
        gone = [one for one in gone if one.digest != made.digest]
    return kept, gone


def write_cache(path: Path, content: bytes, io: DurableIO) -> None:
    """Write a file of ``cache/`` whole or not at all; it needn't survive a power cut.

    Raises:
        StorageError: It can't be written.
    """
    if not path.parent.is_dir():
        io.mkdir(path.parent)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    io.discard(temporary)
    io.write_atomic(path, content, temporary=temporary, durable=False)


def _merged(older: Iterable[bytes], newer: Iterable[bytes], value_bytes: int) -> list[bytes]:
    if not value_bytes:
        # Sets of keys, by far the largest tables.
        return sorted({*older, *newer})
    entries = {one[:KEY_BYTES]: one for one in older}
    entries.update((one[:KEY_BYTES], one) for one in newer)
    return sorted(entries.values())
