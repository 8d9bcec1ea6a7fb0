"""A derived index of the log: object id to the frame that has it, kept under ``cache/``.

A file of fixed records, sorted by id, that a fresh process reads in a millisecond instead of
walking the whole log. It covers the log up to one frame, whose digest and place it names,
and ends with a checksum; anything doubtful about it and it isn't used. Even a valid one is
only a hint: an object that it names is looked up in its frame before anybody rests on it.

Little-endian: magic 8 | segment u64 | end u64 | sequence u64 | digest of the last frame 32
| count u64 | records: id 32, place u64 | BLAKE3 of all before 32. A place is the segment
shifted left by 40 bits, and the frame's offset.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from blake3 import blake3

from vstore.errors import VStoreError
from vstore.objects.frame import TRAILER_BYTES
from vstore.objects.layout import CACHE, read_file
from vstore.objects.log import LogReader, Tail, pread

__all__ = ["IndexCache", "encode_index", "index_path", "load_index"]

_MAGIC: Final = b"VSindex\x01"
_HEAD: Final = struct.Struct("<8sQQQ32sQ")
_RECORD: Final = 40
_PLACE: Final = struct.Struct("<Q")
_MAX_BYTES: Final = 1 << 30


def index_path(root: Path) -> Path:
    """Where the index of a package is kept."""
    return root / CACHE / "objects.index"


class IndexCache:
    """An index that was read; ``sequence`` is the last frame that it covers."""

    __slots__ = ("_count", "_raw", "sequence")

    def __init__(self, raw: bytes, sequence: int, count: int) -> None:
        self._raw = raw
        self._count = count
        self.sequence = sequence

    def find(self, oid: bytes) -> int | None:
        """The place of the frame that should have this object, None when there is none."""
        raw, low, high = self._raw, 0, self._count
        base = _HEAD.size
        while low < high:
            middle = (low + high) // 2
            at = base + middle * _RECORD
            found = raw[at : at + 32]
            if found < oid:
                low = middle + 1
            elif found > oid:
                high = middle
            else:
                return int(_PLACE.unpack_from(raw, at + 32)[0])
        return None

    def records(self) -> list[bytes]:
        """All records, sorted."""
        raw, base = self._raw, _HEAD.size
        end = base + self._count * _RECORD
        return [raw[at : at + _RECORD] for at in range(base, end, _RECORD)]


def encode_index(tail: Tail, new: Iterable[tuple[bytes, int]], old: IndexCache | None) -> bytes:
    """The bytes of an index that covers the log up to ``tail``.

    Args:
        tail: The end of the log; its last frame's digest is known.
        new: Ids and places; they win over ``old``.
        old: An index to take over, or None.
    """
    records = [oid + _PLACE.pack(place) for oid, place in new]
    if old is not None:
        fresh = {record[:32] for record in records}
        records += [record for record in old.records() if record[:32] not in fresh]
    records.sort()
    head = _HEAD.pack(_MAGIC, tail.segment, tail.end, tail.sequence, tail.digest, len(records))
    body = b"".join((head, *records))
    return body + blake3(body).digest()


def load_index(root: Path, log: LogReader) -> IndexCache | None:
    """The index of a package, None when there is none that fits the log."""
    try:
        raw = read_file(index_path(root), _MAX_BYTES)
        if raw is None or not _HEAD.size + 32 <= len(raw) <= _MAX_BYTES:
            return None
        magic, segment, end, sequence, digest, count = _HEAD.unpack_from(raw)
        if (
            magic != _MAGIC
            or len(raw) != _HEAD.size + count * _RECORD + 32
            or blake3(memoryview(raw)[:-32]).digest() != raw[-32:]
            or not 1 <= segment <= log.tail.segment
            or not TRAILER_BYTES <= end <= log.valid_end(segment)
            or sequence > log.tail.sequence
        ):
            return None
        # The frame it ends with must be in this log, at this place.
        trailer = pread(log.fd(segment), TRAILER_BYTES, end - TRAILER_BYTES)
    except VStoreError:
        return None
    return IndexCache(raw, sequence, count) if trailer[:32] == digest else None
