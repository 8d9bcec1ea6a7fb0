"""The envelope of a pack: sealed segments of the log in one file, written once.

A pack holds the frames of segments ``first`` to ``last``, some frames to a *block* that is
compressed as one, with a dictionary for the whole pack. Ids of objects are not stored: they
follow from the objects' bytes. All integers are little-endian and unsigned::

    magic 8 | dictionary | blocks, one zstd frame each | torn bytes of the segments
    | directory | index | trailer

    directory   per segment: its header 160, valid length u64, torn length u64, blocks u32
                per block: stored length u32, raw length u32, frames u32, objects u32,
                offset of its first frame u64, head before that 32, BLAKE3 of the stored bytes 32
    index       how many ids begin with each byte, 256 counts u32
                | per object, sorted: bytes 2 to 5 of its id, block u32 big-endian
    trailer     feature bits u32 | dictionary length u32 | segments u32 | blocks u32
                | first segment u64 | torn length u64 | directory length u64 | index length u64
                | BLAKE3 of magic and dictionary 32 | of the torn bytes 32 | of the directory 32
                | of the index 32 | of the trailer before 32 | magic 8

Everything in a pack is covered by one of these digests. This module is pure: bytes in,
values out. ``docs/spec/pack.md`` has the same for other languages.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from blake3 import blake3

from vstore.errors import IntegrityError
from vstore.objects.layout import MAX_PACK_SEGMENTS
from vstore.objects.segment import SEGMENT_HEADER_BYTES

__all__ = [
    "MAX_BLOCK_BYTES",
    "MAX_DICTIONARY_BYTES",
    "MAX_PACK_OBJECTS",
    "PACK_MAGIC",
    "TRAILER_BYTES",
    "BlockPlace",
    "PackIndex",
    "PackTrailer",
    "PackedSegment",
    "bad_pack",
    "encode_directory",
    "encode_index",
    "encode_trailer",
    "index_rows",
    "parse_directory",
    "parse_trailer",
]

PACK_MAGIC: Final = b"\x89VSP\r\n\x1a\n"
_END_MAGIC: Final = b"VSPend\r\n"

#: Bytes of a block before compression, its table included.
MAX_BLOCK_BYTES: Final = 1 << 25
MAX_DICTIONARY_BYTES: Final = 1 << 20
#: Objects of one pack at the most, so that its index fits in memory.
MAX_PACK_OBJECTS: Final = 1 << 21
_MAX_BLOCKS: Final = 1 << 20
_MAX_STORED: Final = MAX_BLOCK_BYTES + MAX_BLOCK_BYTES // 256 + 64

_SEGMENT: Final = struct.Struct(f"<{SEGMENT_HEADER_BYTES}sQQI")
_BLOCK: Final = struct.Struct("<IIIIQ32s32s")
_TRAILER: Final = struct.Struct("<IIIIQQQQ32s32s32s32s")
_COUNTS: Final = struct.Struct("<256I")
_ENTRY: Final = struct.Struct(">4sI")
TRAILER_BYTES: Final = _TRAILER.size + 32 + len(_END_MAGIC)


class PackedSegment(NamedTuple):
    """A segment of the log as a pack holds it."""

    #: Its header as it was in the log.
    header: bytes
    #: Bytes of it that were valid, its header included.
    valid: int
    #: Bytes behind those, which a crash left.
    torn: int
    blocks: int


class BlockPlace(NamedTuple):
    """A block, and the frames in it."""

    stored: int
    raw: int
    frames: int
    objects: int
    #: Where in its segment the first frame began.
    offset: int
    #: The head generation before that frame, 32 bytes, zeros for none.
    head: bytes
    digest: bytes


class PackTrailer(NamedTuple):
    """What the end of a pack says of it; lengths in bytes."""

    features: int
    dictionary_length: int
    segments: int
    blocks: int
    first: int
    torn_length: int
    directory_length: int
    index_length: int
    start_digest: bytes
    torn_digest: bytes
    directory_digest: bytes
    index_digest: bytes

    @property
    def last(self) -> int:
        """Number of the last segment."""
        return self.first + self.segments - 1


def bad_pack(name: str, what: str) -> IntegrityError:
    """The error of a pack that is not what was written."""
    return IntegrityError(
        f"the pack {name} is damaged: {what}",
        kind="bad_pack",
        hint="vstore verify says what is lost; restore the package from another copy",
        pack=name,
    )


def encode_trailer(trailer: PackTrailer) -> bytes:
    """The bytes of a trailer."""
    body = _TRAILER.pack(*trailer)
    return body + blake3(body).digest() + _END_MAGIC


def parse_trailer(raw: bytes) -> PackTrailer | None:
    """Read a trailer; None when these bytes are no valid one."""
    if len(raw) != TRAILER_BYTES or not raw.endswith(_END_MAGIC):
        return None
    body = raw[: _TRAILER.size]
    if blake3(body).digest() != raw[_TRAILER.size : _TRAILER.size + 32]:
        return None
    found = PackTrailer(*_TRAILER.unpack(body))
    if (
        not 1 <= found.segments <= MAX_PACK_SEGMENTS
        or found.blocks > _MAX_BLOCKS
        or found.dictionary_length > MAX_DICTIONARY_BYTES
        or found.first < 1
        or found.directory_length != found.segments * _SEGMENT.size + found.blocks * _BLOCK.size
        or not _COUNTS.size <= found.index_length <= _COUNTS.size + MAX_PACK_OBJECTS * _ENTRY.size
        or (found.index_length - _COUNTS.size) % _ENTRY.size
    ):
        return None
    return found


def encode_directory(segments: Iterable[PackedSegment], blocks: Iterable[BlockPlace]) -> bytes:
    """The bytes of a directory."""
    parts = [_SEGMENT.pack(*one) for one in segments]
    parts += [_BLOCK.pack(*one) for one in blocks]
    return b"".join(parts)


def parse_directory(
    raw: bytes, trailer: PackTrailer
) -> tuple[list[PackedSegment], list[BlockPlace]] | None:
    """Read a directory whose digest is right; None when its parts contradict each other."""
    split = trailer.segments * _SEGMENT.size
    segments = [PackedSegment(*one) for one in _SEGMENT.iter_unpack(raw[:split])]
    blocks = [BlockPlace(*one) for one in _BLOCK.iter_unpack(raw[split:])]
    objects = sum(one.objects for one in blocks)
    if (
        sum(one.blocks for one in segments) != len(blocks)
        or sum(one.torn for one in segments) != trailer.torn_length
        or trailer.index_length != _COUNTS.size + objects * _ENTRY.size
        or any(one.valid < SEGMENT_HEADER_BYTES for one in segments)
        or any(
            one.stored > _MAX_STORED or one.raw > MAX_BLOCK_BYTES or one.frames < 1
            for one in blocks
        )
    ):
        return None
    return segments, blocks


def index_rows(block: int, ids: Iterable[bytes]) -> list[bytes]:
    """What an index has of the objects of a block.

    Args:
        block: Its number.
        ids: The ids of its objects, 32 bytes each.
    """
    number = block.to_bytes(4, "big")
    return [oid[:5] + number for oid in ids]


def encode_index(rows: list[bytes]) -> bytes:
    """The bytes of an index that has these rows; the list is sorted."""
    rows.sort()
    ends = [bisect_left(rows, bytes((first,))) for first in range(1, 256)]
    counts = [end - start for start, end in pairwise((0, *ends, len(rows)))]
    return _COUNTS.pack(*counts) + b"".join([row[1:] for row in rows])


class PackIndex:
    """In which blocks of a pack an object may be.

    Args:
        raw: The bytes of an index whose digest and length are right.
    """

    __slots__ = ("_rows", "_starts")

    def __init__(self, raw: bytes) -> None:
        self._starts = [0, *accumulate(_COUNTS.unpack_from(raw))]
        self._rows = raw[_COUNTS.size :]

    def find(self, oid: bytes) -> Iterator[int]:
        """The numbers of blocks that may have this object, 32 bytes; most often one or none."""
        first = oid[0]
        key = oid[1:5]
        rows, size = self._rows, _ENTRY.size
        count = len(rows) // size
        low, end = min(self._starts[first], count), min(self._starts[first + 1], count)
        at = bisect_left(range(count), key, low, end, key=lambda n: rows[n * size : n * size + 4])
        while at < end and rows[at * size : at * size + 4] == key:
            yield _ENTRY.unpack_from(rows, at * size)[1]
            at += 1
