"""Packs for the independent reader: segments of the log that were sealed."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import zstandard
from blake3 import blake3
from reader_log import SEGMENT_HEADER, ZEROS, Frame, Header, Unsupported, segment_header

_MAGIC: Final = bytes.fromhex("895653500d0a1a0a")
_TRAILER: Final = struct.Struct("<IIIIQQQQ32s32s32s32s")
_SEGMENT: Final = struct.Struct("<160sQQI")
_BLOCK: Final = struct.Struct("<IIIIQ32s32s")
_FRAME: Final = struct.Struct("<IIIB")
_ENTRY: Final = struct.Struct("<32sBBII")
_LARGE: Final = 82
_MAX_BLOCK: Final = 33_554_432

Report = Callable[[str, str, str], None]


class Segment(NamedTuple):
    """A segment in a pack; ``blocks`` are the numbers of its blocks."""

    header: Header
    valid: int
    torn: bytes
    blocks: range


class Block(NamedTuple):
    """A block; ``end`` is where its last frame ends in the segment."""

    start: int
    stored: int
    raw: int
    frames: int
    objects: int
    offset: int
    head: bytes
    digest: bytes
    sequence: int
    end: int
    next_head: bytes | None


class Pack:
    """A usable pack.

    Args:
        name: The file's name.
        data: Its bytes.

    Raises:
        ValueError: It isn't usable.
        Unsupported: It has unknown features.
    """

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self._data = name, data
        self.first, self.last = int(name[:8]), int(name[9:17])
        self._take_trailer()
        self._take_directory()
        self._rows: list[bytes] | None = []
        self._seen = 0

    def _take_trailer(self) -> None:
        data = self._data
        body, end = data[-216:-40], data[-40:]
        if len(data) < 224 or end != blake3(body).digest() + b"VSPend\r\n":
            raise ValueError("no trailer")
        features, *numbers = _TRAILER.unpack(body)
        dictionary, segments, blocks, first, torn, directory, index, *digests = numbers
        if (
            dictionary > 1_048_576
            or not 1 <= segments <= 65_536
            or blocks > 1_048_576
            or first < 1
            or directory != 180 * segments + 88 * blocks
            or not 1_024 <= index <= 1_024 + 8 * 2_097_152
            or index % 8
        ):
            raise ValueError("a trailer that can't be")
        if features:
            raise Unsupported(f"{self.name}: unknown features")
        if (first, first + segments - 1) != (self.first, self.last):
            raise ValueError("other segments than its name says")
        index_at = len(data) - 216 - index
        directory_at = index_at - directory
        torn_at = directory_at - torn
        self._start = data[: 8 + dictionary]
        if torn_at < len(self._start):
            raise ValueError("parts that don't fit")
        self._blocks_end = torn_at
        self._torn, self._index = data[torn_at:directory_at], data[index_at:-216]
        self._directory = data[directory_at:index_at]
        self._start_digest, self._torn_digest, self._directory_digest, self._index_digest = digests
        self._split = 180 * segments

    def _take_directory(self) -> None:
        if blake3(self._directory).digest() != self._directory_digest:
            raise ValueError("another digest of the directory")
        segments = list(_SEGMENT.iter_unpack(self._directory[: self._split]))
        blocks = list(_BLOCK.iter_unpack(self._directory[self._split :]))
        if (
            sum(one[3] for one in segments) != len(blocks)
            or sum(one[2] for one in segments) != len(self._torn)
            or len(self._start) + sum(one[0] for one in blocks) != self._blocks_end
            or len(self._index) != 1_024 + 8 * sum(one[3] for one in blocks)
            or any(one[0] > 33_685_568 or one[1] > _MAX_BLOCK or one[2] < 1 for one in blocks)
            or any(one[1] < SEGMENT_HEADER for one in segments)
        ):
            raise ValueError("a directory that doesn't add up")
        self._segments: list[Segment] = []
        self._blocks: list[Block] = []
        at, torn_at = len(self._start), 0
        for number, (raw, valid, torn, count) in enumerate(segments, self.first):
            try:
                header = segment_header(raw, number)
            except Unsupported:
                header = None
            if header is None:
                raise ValueError(f"no header of segment {number}")
            if self._segments and header.previous != self._segments[-1].valid:
                raise ValueError(f"segment {number} doesn't follow")
            first = len(self._blocks)
            own = blocks[first : first + count]
            if (own[0][4] if own else valid) != SEGMENT_HEADER:
                raise ValueError(f"segment {number} begins late")
            sequence = header.first
            for one, following in zip(own, [*own[1:], None], strict=True):
                end, head = (following[4], following[5]) if following else (valid, None)
                self._blocks.append(Block(at, *one, sequence, end, head))
                at += one[0]
                sequence += one[2]
            blocks_of = range(first, len(self._blocks))
            part = self._torn[torn_at : torn_at + torn]
            torn_at += torn
            self._segments.append(Segment(header, valid, part, blocks_of))

    def segment(self, number: int) -> Segment:
        """A segment that the pack has."""
        return self._segments[number - self.first]

    # ---- blocks

    def frames(self, number: int) -> Iterator[list[Frame] | None]:
        """The frames of each block of a segment; None for a block that is damaged."""
        for position in self.segment(number).blocks:
            self._seen += 1
            try:
                found = self._frames(number, self._blocks[position])
            except (ValueError, zstandard.ZstdError):
                found = self._rows = None
            if found is not None and self._rows is not None:
                block = position.to_bytes(4, "big")
                for frame in found:
                    self._rows += [oid[:5] + block for oid in _ids(frame)]
            yield found

    def _unpack(self, block: Block) -> bytes:
        stored = self._data[block.start : block.start + block.stored]
        dictionary = self._start[8:]
        if (
            blake3(self._start).digest() != self._start_digest
            or self._start[:8] != _MAGIC
            or (dictionary and dictionary[:4] != b"\x37\xa4\x30\xec")
            or blake3(stored).digest() != block.digest
            or stored[:4] != b"\x28\xb5\x2f\xfd"
        ):
            raise ValueError("another digest, or no zstd frame")
        facts = zstandard.get_frame_parameters(stored)
        wanted = int.from_bytes(dictionary[4:8], "little")
        if (facts.content_size, facts.dict_id) != (block.raw, wanted):
            raise ValueError("another size, or another dictionary")
        shared = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        unpacker = zstandard.ZstdDecompressor(dict_data=shared)
        raw = unpacker.decompress(stored, max_output_size=block.raw, allow_extra_data=False)
        if len(raw) != block.raw:
            raise ValueError("another size")
        return raw

    def _frames(self, number: int, block: Block) -> list[Frame]:
        raw = self._unpack(block)
        at = 0

        def take(length: int) -> bytes:
            nonlocal at
            at += length
            if at > len(raw):
                raise ValueError("a block that ends early")
            return raw[at - length : at]

        heads = list(_FRAME.iter_unpack(take(13 * block.frames)))
        take(8 * block.frames)
        if any(one[3] > 2 or one[0] > 65_536 or one[1] > 4_096 for one in heads):
            raise ValueError("a frame that can't be")
        small, large = sum(one[0] for one in heads), sum(one[1] for one in heads)
        if small + large != block.objects:
            raise ValueError("another number of objects")
        stated = [take(32) for one in heads if one[3] == 2]
        marks = take(small)
        lengths = struct.unpack(f"<{small}I", take(4 * small))
        if any(mark > 3 for mark in marks):
            raise ValueError("an object that can't be")
        gone = [take(32) for mark in marks if mark > 1]
        entries = [take(_LARGE) for _ in range(large)]
        found: list[Frame] = []
        sequence, offset, before = block.sequence, block.offset, block.head
        for objects, larges, length, publishes in heads:
            table, payload = b"", b""
            last = ZEROS
            for _ in range(objects):
                position = len(payload)
                mark, size = marks[0], lengths[0]
                marks, lengths = marks[1:], lengths[1:]
                if mark > 1:
                    last = gone.pop(0)
                else:
                    content = take(size)
                    payload += content
                    last = blake3(content).digest()
                table += _ENTRY.pack(last, mark & 1, mark >> 1, position, size)
            table += b"".join(entries.pop(0) for _ in range(larges))
            generation = (ZEROS, last, stated[0] if publishes == 2 else b"")[publishes]
            if publishes == 2:
                stated.pop(0)
            if (
                not 200 + len(table) <= length <= 19_931_400
                or len(payload) > 16_777_216
                or (publishes and generation == ZEROS)
            ):
                raise ValueError("a frame that can't be")
            offset += length
            found.append(
                Frame(number, offset, sequence, before, generation, length, 0,
                      (objects, larges), table, payload, len(payload), plain=True)
            )  # fmt: skip
            sequence += 1
            before = before if generation == ZEROS else generation
        if at != len(raw) or offset != block.end or block.next_head not in (None, before):
            raise ValueError("a block that doesn't add up")
        return found

    # ---- the end

    def finish(self, report: Report) -> None:
        """Judge what no frame depends on."""
        if (
            blake3(self._start).digest() != self._start_digest
            or self._start[:8] != _MAGIC
            or blake3(self._torn).digest() != self._torn_digest
            or blake3(self._index).digest() != self._index_digest
        ):
            report("container", "error", f"{self.name}: bytes were changed")
        elif self._rows is not None and self._seen == len(self._blocks):
            rows = sorted(self._rows)
            counts = [0] * 256
            for row in rows:
                counts[row[0]] += 1
            if struct.pack("<256I", *counts) + b"".join(row[1:] for row in rows) != self._index:
                report("container", "error", f"{self.name}: another index than its objects have")


def _ids(frame: Frame) -> Iterator[bytes]:
    split = frame.counts[0] * _ENTRY.size
    yield from (frame.table[at : at + 32] for at in range(0, split, _ENTRY.size))
    yield from (frame.table[at : at + 32] for at in range(split, len(frame.table), _LARGE))


class Packs:
    """The packs of a package: those that count, and what they replace.

    Args:
        files: Gives the names of packs and their bytes.
        report: Takes findings.
    """

    def __init__(self, files: Any, report: Report) -> None:
        self.packs: list[Pack] = []
        self._report = report
        self._lost: list[tuple[int, int]] = []
        names = [one for one in files.packs() if is_pack_name(one)]
        if len(names) > 128:
            raise Unsupported("more packs than this reader takes on")
        end = 0
        for name in sorted(names, key=lambda one: (int(one[:8]), -int(one[9:17]))):
            first, last = int(name[:8]), int(name[9:17])
            if last <= end:
                report("container", "leftover", f"{name}: replaced")
            elif first <= end:
                report("container", "error", f"{name}: overlaps another pack")
            else:
                try:
                    self.packs.append(Pack(name, files.read(f"objects/pack/{name}") or b""))
                    end = last
                except ValueError as error:
                    report("container", "error", f"{name}: {error}")
                    self._lost.append((first, last))

    def having(self, number: int) -> Pack | None:
        """The pack that has a segment."""
        return next((one for one in self.packs if one.first <= number <= one.last), None)

    def lost(self, number: int) -> bool:
        """Whether a segment was in a pack that isn't usable."""
        return any(first <= number <= last for first, last in self._lost)

    def finish(self) -> None:
        """Judge what no frame depends on."""
        for one in self.packs:
            one.finish(self._report)


def is_pack_name(name: str) -> bool:
    """Whether a file in the folder of packs is one."""
    found = re.fullmatch(r"([0-9]{8})-([0-9]{8})\.vpack", name)
    return found is not None and 1 <= int(found[1]) <= int(found[2]) < int(found[1]) + 65_536
