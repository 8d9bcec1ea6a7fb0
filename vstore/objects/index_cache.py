"""A derived index of the log: object id to the frame that has it, kept under ``cache/``.

Sorted tables that a fresh process asks a page at a time instead of walking the log (see
:mod:`vstore.objects.table_stack`). The index covers the log up to one frame, whose digest
and place it names, and carries checksums; anything doubtful about it and it isn't used. Even
a valid one is only a hint: an object that it names is looked up in its frame before anybody
rests on it.

``cache/objects.index``, little-endian: magic 8 | segment u64 | end u64 | sequence u64 |
digest of the last frame 32 | count u64 | per file of tables: digest of its header 32,
entries u64 | BLAKE3 of all before 32. A place is the segment shifted left by 40 bits, and
the frame's offset.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from blake3 import blake3

from vstore.errors import VStoreError
from vstore.objects.layout import CACHE, read_file
from vstore.objects.log import LogReader, Tail
from vstore.objects.log_place import LogPlace, holds
from vstore.objects.sorted_tables import SortedTables
from vstore.objects.table_stack import TableFile, open_files

__all__ = ["NAME", "VALUES", "IndexCache", "encode_index", "entries_of", "index_path", "load_index"]

_MAGIC: Final = b"VSindex\x02"
_HEAD: Final = struct.Struct("<8sQQQ32sQ")
_FILE: Final = struct.Struct("<32sQ")
_PLACE: Final = struct.Struct("<Q")
NAME: Final = "objects"
VALUES: Final = (_PLACE.size,)
_MAX_FILES: Final = 64
_MAX_BYTES: Final = _HEAD.size + _MAX_FILES * _FILE.size + 32


def index_path(root: Path) -> Path:
    """Where the index of a package is kept."""
    return root / CACHE / "objects.index"


class IndexCache:
    """An index that was read; ``sequence`` is the last frame that it covers."""

    __slots__ = ("_tables", "files", "sequence")

    def __init__(
        self, tables: Sequence[SortedTables], files: Sequence[TableFile], sequence: int
    ) -> None:
        self._tables = tables
        #: Its files, oldest first.
        self.files = list(files)
        self.sequence = sequence

    def find(self, oid: bytes) -> int | None:
        """The place of the frame that should have this object, None when there is none.

        Raises:
            DoubtfulCache: It is damaged.
        """
        for table in self._tables:
            found = table.find(0, oid)
            if found is not None:
                return int(_PLACE.unpack(found)[0])
        return None


def encode_index(tail: Tail, files: Sequence[TableFile]) -> bytes:
    """The bytes of an index.

    Args:
        tail: The end of the log, up to which the files cover it; its digest is known.
        files: Its files, oldest first.
    """
    body = _HEAD.pack(_MAGIC, tail.segment, tail.end, tail.sequence, tail.digest, len(files))
    body += b"".join(_FILE.pack(bytes.fromhex(one.digest), one.entries) for one in files)
    return body + blake3(body).digest()


def entries_of(fresh: Iterable[tuple[bytes, int]]) -> list[bytes]:
    """The sorted entries for these ids and places; of an id's places the last one."""
    return sorted({oid: oid + _PLACE.pack(place) for oid, place in fresh}.values())


def load_index(root: Path, log: LogReader) -> IndexCache | None:
    """The index of a package, None when there is none that fits the log."""
    try:
        raw = read_file(index_path(root), _MAX_BYTES)
        if raw is None or not _HEAD.size + 32 <= len(raw) <= _MAX_BYTES:
            return None
        magic, segment, end, sequence, digest, count = _HEAD.unpack_from(raw)
        if (
            magic != _MAGIC
            or count > _MAX_FILES
            or len(raw) != _HEAD.size + count * _FILE.size + 32
            or blake3(memoryview(raw)[:-32]).digest() != raw[-32:]
            # The frame it ends with must be in this log, at this place.
            or not holds(
                log,
                LogPlace(segment=segment, end=end, sequence=sequence, digest=digest.hex()),
            )
        ):
            return None
        files = [
            TableFile(digest=one.hex(), entries=entries)
            for one, entries in _FILE.iter_unpack(raw[_HEAD.size : -32])
        ]
        return IndexCache(open_files(root / CACHE, NAME, files, VALUES), files, sequence)
    except VStoreError:
        return None
