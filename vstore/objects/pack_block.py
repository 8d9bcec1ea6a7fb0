"""A block of a pack: some frames of one segment, with their objects, as one piece of bytes.

Before compression, all integers little-endian and unsigned::

    per frame          objects u32 | large objects u32 | length in the log u32 | publishes u8
    per frame          first 8 bytes of its digest in the log
    per frame with 2   its generation 32
    per object         kind and state u8: 1 for a document, 2 more for a withheld one
    per object         length u32
    per withheld one   its id 32
    per large object   its entry as in a frame 82
    the bytes of the objects that are not withheld

*Publishes* is 0 for a bulk frame, 1 where the generation is the frame's last object, 2 where
it is stated. Everything else of a frame follows: its number and place from those of the
first one, its parent from the frame before, ids of objects from their bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

from blake3 import blake3

from vstore.objects.frame import (
    FRAME_MAGIC,
    HEADER_FIXED,
    MAX_FRAME_BYTES,
    MAX_LARGE_ENTRIES,
    MAX_OBJECT_ENTRIES,
    MAX_RAW_BYTES,
)
from vstore.objects.frame_table import (
    KINDS,
    LARGE_ENTRY,
    NO_GENERATION,
    OBJECT_ENTRY,
    STATES,
    TRAILER_BYTES,
    FrameSummary,
    ObjectEntry,
)
from vstore.objects.ids import ObjectId
from vstore.objects.pack import BlockPlace

__all__ = ["DIGEST_BYTES", "MalformedBlock", "UnpackedBlock", "decode_block", "encode_block"]

#: Of the digest that a frame had in the log a pack keeps so many bytes: derived caches name
#: frames by it.
DIGEST_BYTES: Final = 8

_FRAME: Final = struct.Struct("<IIIB")
_BULK, _LAST, _STATED = range(3)
_ZEROS: Final = bytes(16)


class MalformedBlock(ValueError):
    """The bytes of a block whose digest is right contradict each other."""


class PackedFrame(FrameSummary):
    """A frame of a pack. Its table is made when somebody asks for it."""

    __slots__ = ("_ids", "_lengths", "_marks")

    #: Ids of present objects were made from their bytes, so nobody needs to compare them.
    derived = True

    def take(self, ids: list[bytes], marks: bytes, lengths: Sequence[int]) -> None:
        """Take its objects: ids, kinds and states, lengths."""
        self._ids, self._marks, self._lengths = ids, marks, lengths

    def raw_ids(self) -> list[bytes]:
        """See :meth:`FrameSummary.raw_ids`."""
        if not self._table:
            return self._ids
        step = LARGE_ENTRY.size
        return self._ids + [self._table[at : at + 32] for at in range(0, len(self._table), step)]

    @property
    def _large_table(self) -> bytes:
        return self._table

    @property
    def raw_table(self) -> bytes:
        """See :attr:`FrameSummary.raw_table`."""
        return b"".join([OBJECT_ENTRY.pack(*one) for one in self.raw_entries()]) + self._table

    @property
    def fingerprint(self) -> bytes:
        """See :attr:`FrameSummary.fingerprint`."""
        count = len(self._lengths)
        lengths = struct.pack(f"<{count + 1}I", count, *self._lengths)
        return b"".join([*self._ids, self._marks, lengths, self._table])

    def raw_entries(self) -> Iterator[tuple[bytes, int, int, int, int]]:
        """See :meth:`FrameSummary.raw_entries`."""
        position = 0
        for oid, mark, length in zip(self._ids, self._marks, self._lengths, strict=True):
            yield oid, mark & 1, mark >> 1, position, length
            if mark < 2:
                position += length

    def objects(self) -> Iterator[ObjectEntry]:
        """See :meth:`FrameSummary.objects`."""
        for oid, kind, state, position, length in self.raw_entries():
            yield ObjectEntry(
                ObjectId.from_bytes(oid), KINDS[kind], STATES[state], position, length
            )

    def check_table(self) -> None:
        """See :meth:`FrameSummary.check_table`: only what the log can have wrong."""
        for _ in self.large():
            pass


class UnpackedBlock:
    """The frames of a block, and their objects."""

    __slots__ = ("_positions", "_raw", "_starts", "frames")

    def __init__(self, frames: list[FrameSummary], starts: list[int], raw: bytes) -> None:
        self.frames = frames
        self._positions = {frame.offset: at for at, frame in enumerate(frames)}
        self._starts = starts
        self._raw = raw

    def payload(self, position: int) -> bytes:
        """The uncompressed objects of the frame at this position of the block."""
        start = self._starts[position]
        return self._raw[start : start + self.frames[position].raw_length]

    def position(self, offset: int) -> int | None:
        """The position of the frame that began at this offset of its segment, or None."""
        return self._positions.get(offset)

    def find(self, oid: bytes) -> FrameSummary | None:
        """The last frame of the block that has this object, 32 bytes; None for none."""
        return next((one for one in reversed(self.frames) if oid in one.raw_ids()), None)


def encode_block(frames: Sequence[tuple[FrameSummary, bytes]]) -> bytes:
    """The bytes of a block before compression.

    Args:
        frames: Frames that follow one another in a segment, checked in full and with known
            features, and their payloads.
    """
    heads: list[bytes] = []
    stated: list[bytes] = []
    marks = bytearray()
    lengths: list[int] = []
    withheld: list[bytes] = []
    large: list[bytes] = []
    for frame, _ in frames:
        objects, larges = frame.counts
        split = objects * OBJECT_ENTRY.size
        table = frame.raw_table
        last = b""
        for last, kind, state, _, length in frame.raw_entries():
            marks.append(kind | state << 1)
            lengths.append(length)
            if state:
                withheld.append(last)
        large.append(table[split:])
        publishes = _STATED
        if frame.raw_generation == NO_GENERATION:
            publishes = _BULK
        elif frame.raw_generation == last:
            publishes = _LAST
        else:
            stated.append(frame.raw_generation)
        heads.append(_FRAME.pack(objects, larges, frame.length, publishes))
    return b"".join(
        (
            *heads,
            *(frame.digest[:DIGEST_BYTES] for frame, _ in frames),
            *stated,
            marks,
            struct.pack(f"<{len(lengths)}I", *lengths),
            *withheld,
            *large,
            *(payload for _, payload in frames),
        )
    )


class _Cursor:
    """Takes parts of a block one after another."""

    __slots__ = ("_raw", "at")

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.at = 0

    def take(self, length: int) -> bytes:
        start = self.at
        self.at += length
        if self.at > len(self._raw):
            raise MalformedBlock("it ends too early")
        return self._raw[start : self.at]


def decode_block(raw: bytes, place: BlockPlace, segment: int, sequence: int) -> UnpackedBlock:
    """Read a block.

    Args:
        raw: Its bytes, uncompressed.
        place: What the directory says of it.
        segment: The segment that its frames were in.
        sequence: The number of its first frame.

    Raises:
        MalformedBlock: It isn't as it must be.
    """
    cursor = _Cursor(raw)
    heads = list(_FRAME.iter_unpack(cursor.take(place.frames * _FRAME.size)))
    small = large_count = stated_count = 0
    for objects, larges, length, publishes in heads:
        if (
            objects > MAX_OBJECT_ENTRIES
            or larges > MAX_LARGE_ENTRIES
            or length > MAX_FRAME_BYTES
            or publishes > _STATED
            or (publishes == _LAST and not objects)
        ):
            raise MalformedBlock("a frame that can't be")
        small += objects
        large_count += larges
        stated_count += publishes == _STATED
    if small + large_count != place.objects:
        raise MalformedBlock("another number of objects")
    digests = cursor.take(place.frames * DIGEST_BYTES)
    stated = cursor.take(32 * stated_count)
    marks = cursor.take(small)
    if marks.translate(None, b"\0\1\2\3"):
        raise MalformedBlock("an object that can't be")
    lengths = struct.unpack(f"<{small}I", cursor.take(4 * small))
    gone = cursor.take(32 * sum(mark > 1 for mark in marks))
    large = cursor.take(LARGE_ENTRY.size * large_count)
    begin = cursor.at
    states = bytes(mark >> 1 for mark in marks)
    present = lengths if not gone else [n * (1 - s) for n, s in zip(lengths, states, strict=True)]
    starts = list(accumulate(present, initial=begin))
    if starts[-1] != len(raw):
        raise MalformedBlock("objects that don't add up")
    view = memoryview(raw)
    ids = [blake3(view[a:b]).digest() for a, b in pairwise(starts)]
    if gone:
        withheld = iter(range(0, len(gone), 32))
        for at, state in enumerate(states):
            if state:
                first = next(withheld)
                ids[at] = gone[first : first + 32]
    frames: list[FrameSummary] = []
    firsts: list[int] = []
    offset, head = place.offset, place.head
    at = large_at = stated_at = 0
    for number, (objects, larges, length, publishes) in enumerate(heads):
        end = at + objects
        base = starts[at]
        large_end = large_at + larges * LARGE_ENTRY.size
        raw_length = starts[end] - base
        header = HEADER_FIXED + objects * OBJECT_ENTRY.size + larges * LARGE_ENTRY.size + 32
        stored = length - header - TRAILER_BYTES
        generation = NO_GENERATION
        if publishes == _LAST:
            generation = ids[end - 1]
        elif publishes == _STATED:
            generation = stated[stated_at : stated_at + 32]
            stated_at += 32
        if stored < 0 or raw_length > MAX_RAW_BYTES or (publishes and generation == NO_GENERATION):
            raise MalformedBlock("a frame that can't be")
        found = PackedFrame(
            segment,
            header,
            (
                FRAME_MAGIC,
                header,
                0,
                _ZEROS,
                offset,
                sequence + number,
                head,
                generation,
                objects,
                larges,
                stored,
                raw_length,
            ),
            large[large_at:large_end],
        )
        found.take(ids[at:end], marks[at:end], lengths[at:end])
        found.digest = digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
        frames.append(found)
        firsts.append(base)
        offset += length
        head = found.raw_head
        at, large_at = end, large_end
    return UnpackedBlock(frames, firsts, raw)
