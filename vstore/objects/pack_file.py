"""Reading one pack: its directory at once, blocks and the index when they are asked for."""

from __future__ import annotations

import errno
import os
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from vstore.errors import IntegrityError, StorageError, UnsupportedError
from vstore.objects.damage import Damage, broken_at
from vstore.objects.frame_table import FrameSummary
from vstore.objects.pack import (
    PACK_MAGIC,
    TRAILER_BYTES,
    BlockPlace,
    PackedSegment,
    PackIndex,
    PackTrailer,
    bad_pack,
    encode_index,
    index_rows,
    parse_directory,
    parse_trailer,
)
from vstore.objects.pack_block import MalformedBlock, UnpackedBlock, decode_block
from vstore.objects.segment import SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_header
from vstore.objects.segment_files import digest_of_range, file_size, pread

if TYPE_CHECKING:
    from zstandard import ZstdDecompressor

__all__ = ["PackFile"]

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_DICTIONARY_MAGIC: Final = b"\x37\xa4\x30\xec"
#: Unpacked blocks that are kept, in bytes.
_CACHE_BYTES: Final = 4 * 1024 * 1024


class PackFile:
    """One pack, open for reading; several threads may share it.

    Args:
        path: The file.
        first, last: The segments that its name says it has.

    Raises:
        FileNotFoundError: It has gone: another pack may be in its place.
        IntegrityError: It is damaged as a whole (``bad_pack``).
        UnsupportedError: Features that this version doesn't know.
        StorageError: It can't be read.
    """

    def __init__(self, path: Path, first: int, last: int) -> None:
        self.name = path.name
        self.first, self.last = first, last
        self._mutex = threading.Lock()
        self._fd = -1
        self._index: PackIndex | None = None
        self._decompressor: ZstdDecompressor | None = None
        self._dictionary = 0
        self._cache: OrderedDict[int, UnpackedBlock] = OrderedDict()
        self._cached = 0
        try:
            # Never wait at a FIFO that somebody put here, never follow a link out.
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError(
                f"can't read the pack {self.name}: {os.strerror(error.errno or errno.EIO)}",
                kind="unreadable",
            ) from error
        self._trailer = self._read_trailer()
        self._segments, self._blocks = self._read_directory()
        self._headers = self._read_headers()
        self._places = self._find_places()
        #: Segment and offset of the first frame of each block.
        self._keys = [
            (place[0], block.offset)
            for place, block in zip(self._places, self._blocks, strict=True)
        ]

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    @property
    def block_count(self) -> int:
        """How many blocks it has."""
        return len(self._blocks)

    @property
    def object_count(self) -> int:
        """How many objects its blocks have, those that they have twice counted twice."""
        return sum(one.objects for one in self._blocks)

    # ---- what it is

    def _read_trailer(self) -> PackTrailer:
        self.size = file_size(self._fd)
        start = self.size - TRAILER_BYTES
        found = parse_trailer(pread(self._fd, TRAILER_BYTES, start)) if start >= 0 else None
        if found is not None and found.features:
            raise UnsupportedError(
                f"the pack {self.name} has features that this version doesn't know",
                kind="unsupported_pack",
                hint="a newer vstore may be able to read it",
                pack=self.name,
            )
        if found is None or (found.first, found.last) != (self.first, self.last):
            raise bad_pack(self.name, "it has another end than it must have")
        self._index_at = start - found.index_length
        self._directory_at = self._index_at - found.directory_length
        self._torn_at = self._directory_at - found.torn_length
        self._blocks_at = len(PACK_MAGIC) + found.dictionary_length
        if self._torn_at < self._blocks_at:
            raise bad_pack(self.name, "its parts don't fit into it")
        return found

    def _read_directory(self) -> tuple[list[PackedSegment], list[BlockPlace]]:
        trailer = self._trailer
        raw = pread(self._fd, trailer.directory_length, self._directory_at)
        found = None
        if blake3(raw).digest() == trailer.directory_digest:
            found = parse_directory(raw, trailer)
        if found is None or self._blocks_at + sum(one.stored for one in found[1]) != self._torn_at:
            raise bad_pack(self.name, "its directory is not what it must be")
        return found

    def _read_headers(self) -> list[SegmentHeader]:
        headers: list[SegmentHeader] = []
        for number, one in enumerate(self._segments, self.first):
            header = parse_segment_header(one.header, number)
            if header is None or header.features:
                raise bad_pack(self.name, f"its header of segment {number} is none")
            if headers and header.previous_valid != self._segments[number - self.first - 1].valid:
                raise bad_pack(self.name, f"segment {number} doesn't follow the one before")
            headers.append(header)
        return headers

    def _find_places(self) -> list[tuple[int, int, int, int]]:
        """Per block: its segment, its first frame's number, where it is, where its frames end."""
        places: list[tuple[int, int, int, int]] = []
        stored_at, at = self._blocks_at, 0
        for number, segment in enumerate(self._segments, self.first):
            sequence = self._headers[number - self.first].first_sequence
            blocks = self._blocks[at : at + segment.blocks]
            begins = [one.offset for one in blocks]
            if [*begins, segment.valid][0] != SEGMENT_HEADER_BYTES:
                raise bad_pack(self.name, f"segment {number} lacks its first frames")
            for block, end in zip(blocks, [*begins[1:], segment.valid], strict=False):
                places.append((number, sequence, stored_at, end))
                stored_at += block.stored
                sequence += block.frames
            at += segment.blocks
        return places

    def header(self, number: int) -> SegmentHeader:
        """The header that a segment had in the log."""
        return self._headers[number - self.first]

    def valid_end(self, number: int) -> int:
        """How many bytes of a segment were valid."""
        return self._segments[number - self.first].valid

    def torn(self, number: int) -> tuple[int, bytes]:
        """Length and digest of the torn bytes behind those, zeros for none."""
        length = self._segments[number - self.first].torn
        if not length:
            return 0, bytes(32)
        start = self._torn_at + sum(one.torn for one in self._segments[: number - self.first])
        return length, digest_of_range(self._fd, start, start + length)

    def torn_bytes(self, number: int) -> bytes:
        """The torn bytes of a segment."""
        start = self._torn_at + sum(one.torn for one in self._segments[: number - self.first])
        return pread(self._fd, self._segments[number - self.first].torn, start)

    # ---- blocks

    def blocks(self, number: int) -> range:
        """The numbers of the blocks of a segment."""
        position = number - self.first
        start = sum(one.blocks for one in self._segments[:position])
        return range(start, start + self._segments[position].blocks)

    def place(self, block: int) -> BlockPlace:
        """What the directory says of a block."""
        return self._blocks[block]

    def block(self, number: int) -> UnpackedBlock:
        """A block, unpacked and checked.

        Raises:
            IntegrityError: It is damaged.
            StorageError: It can't be read.
        """
        with self._mutex:
            known = self._cache.get(number)
            if known is not None:
                self._cache.move_to_end(number)
                return known
            found = self._unpack(number)
            self._cache[number] = found
            self._cached += self._blocks[number].raw
            while self._cached > _CACHE_BYTES and len(self._cache) > 1:
                gone, _ = self._cache.popitem(last=False)
                self._cached -= self._blocks[gone].raw
            return found

    def _unpack(self, number: int) -> UnpackedBlock:
        import zstandard

        place = self._blocks[number]
        segment, sequence, stored_at, end = self._places[number]
        stored = pread(self._fd, place.stored, stored_at)
        if blake3(stored).digest() != place.digest:
            raise bad_pack(self.name, f"block {number} has another digest")
        decompressor = self._decompressor or self._prepare()
        try:
            # The size that zstd would reserve is the claimed one, which is bounded.
            parameters = zstandard.get_frame_parameters(stored)
            if (
                stored[:4] != _ZSTD_MAGIC
                or parameters.content_size != place.raw
                or parameters.dict_id != self._dictionary
            ):
                raise bad_pack(self.name, f"block {number} is not one zstd frame of its size")
            raw = decompressor.decompress(stored, allow_extra_data=False)
            found = decode_block(raw, place, segment, sequence)
        except zstandard.ZstdError as error:
            raise bad_pack(self.name, f"block {number} can't be unpacked") from error
        except MalformedBlock as error:
            raise bad_pack(self.name, f"block {number}: {error}") from error
        last = found.frames[-1]
        follows = number + 1 < len(self._blocks) and self._places[number + 1][0] == segment
        if last.offset + last.length != end or (
            follows and last.raw_head != self._blocks[number + 1].head
        ):
            raise bad_pack(self.name, f"block {number} doesn't lead to the next one")
        return found

    def _prepare(self) -> ZstdDecompressor:
        """A decompressor that has the dictionary."""
        import zstandard

        start = pread(self._fd, self._blocks_at, 0)
        if (
            not start.startswith(PACK_MAGIC)
            or blake3(start).digest() != self._trailer.start_digest
            or (self._trailer.dictionary_length and not start.startswith(_DICTIONARY_MAGIC, 8))
        ):
            raise bad_pack(self.name, "its beginning is not what it must be")
        try:
            if self._trailer.dictionary_length:
                dictionary = zstandard.ZstdCompressionDict(start[len(PACK_MAGIC) :])
                self._decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)
                self._dictionary = dictionary.dict_id()
            else:
                self._decompressor = zstandard.ZstdDecompressor()
        except zstandard.ZstdError as error:
            raise bad_pack(self.name, "its dictionary is none") from error
        return self._decompressor

    # ---- frames

    def read(self, segment: int, offset: int) -> tuple[FrameSummary, bytes]:
        """A frame by the place that it had in the log, and its uncompressed objects.

        Raises:
            IntegrityError: No frame began there, or its block is damaged.
        """
        number = bisect_right(self._keys, (segment, offset)) - 1
        if number >= 0 and self._places[number][0] == segment:
            found = self.block(number)
            position = found.position(offset)
            if position is not None:
                return found.frames[position], found.payload(position)
        raise broken_at(segment, offset)

    def backwards(self, segment: int, end: int) -> Iterator[FrameSummary]:
        """The frames of a segment that ended at ``end`` or before, last first."""
        first = self.blocks(segment).start
        for number in range(bisect_left(self._keys, (segment, end)) - 1, first - 1, -1):
            for frame in reversed(self.block(number).frames):
                if frame.offset < end:
                    yield frame

    def ending_at(self, segment: int, end: int) -> FrameSummary | None:
        """The frame of a segment that ended there, None for none."""
        found = next(self.backwards(segment, end), None)
        return found if found is not None and found.offset + found.length == end else None

    def find(self, oid: bytes) -> FrameSummary | None:
        """A frame that has an object, 32 bytes; None when the pack lacks it.

        Raises:
            IntegrityError: The index or a block is damaged.
        """
        if self._index is None:
            raw = self._read_index()
            if blake3(raw).digest() != self._trailer.index_digest:
                raw = self._make_index()
            self._index = PackIndex(raw)
        for number in self._index.find(oid):
            if number >= len(self._blocks):
                raise bad_pack(self.name, "its index names a block that it lacks")
            found = self.block(number).find(oid)
            if found is not None:
                return found
        return None

    def _make_index(self) -> bytes:
        """An index of the blocks that can be read: the one that is there is damaged."""
        rows: list[bytes] = []
        for number in range(len(self._blocks)):
            with suppress(IntegrityError):
                for frame in self.block(number).frames:
                    rows += index_rows(number, frame.raw_ids())
        return encode_index(rows)

    def _read_index(self) -> bytes:
        return pread(self._fd, self._trailer.index_length, self._index_at)

    # ---- checking it in full

    def check(self, rows: list[bytes] | None) -> Iterator[Damage]:
        """Everything but the blocks: beginning, torn bytes, index.

        Args:
            rows: What the index must have; None where a block can't be read, so that nobody
                knows.
        """
        trailer = self._trailer
        try:
            self._prepare()
        except IntegrityError:
            yield self.damage(0, self._blocks_at)
        if digest_of_range(self._fd, self._torn_at, self._directory_at) != trailer.torn_digest:
            yield self.damage(self._torn_at, self._directory_at)
        raw = self._read_index()
        if blake3(raw).digest() != trailer.index_digest:
            yield self.damage(self._index_at, self.size - TRAILER_BYTES)
        elif rows is not None and encode_index(rows) != raw:
            yield self.damage(self._index_at, self.size - TRAILER_BYTES, kind="pack_index")

    def damage(self, start: int, end: int, kind: str = "bad_pack") -> Damage:
        """Damage of these bytes of the file which loses no frame."""
        return Damage(
            kind=kind,
            segment=self.first,
            start=start,
            end=end,
            first_lost=0,
            frames_lost=0,
            pack=self.name,
        )

    def block_damage(self, number: int) -> Damage:
        """The damage that a block which can't be read is."""
        place = self._blocks[number]
        segment, sequence, stored_at, _ = self._places[number]
        return Damage(
            kind="bad_pack",
            segment=segment,
            start=stored_at,
            end=stored_at + place.stored,
            first_lost=sequence,
            frames_lost=place.frames,
            pack=self.name,
        )
