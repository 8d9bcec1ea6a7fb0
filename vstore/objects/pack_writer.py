"""Writing a pack: frames of the log, some to a block, with a dictionary trained on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from blake3 import blake3

from vstore.errors import IntegrityError, LimitExceeded
from vstore.objects.frame import FrameSummary
from vstore.objects.log import LogReader
from vstore.objects.pack import (
    MAX_PACK_OBJECTS,
    PACK_MAGIC,
    BlockPlace,
    PackedSegment,
    PackTrailer,
    encode_directory,
    encode_index,
    encode_trailer,
    index_rows,
)
from vstore.objects.pack_block import DIGEST_BYTES, encode_block
from vstore.objects.pack_file import PackFile
from vstore.objects.segment import encode_segment_header

__all__ = ["LEVEL", "PackFacts", "check_pack", "write_pack"]

#: zstd's level. Higher ones take many times as long; with a dictionary they gain little.
LEVEL: Final = 3

#: A block ends with the frame that brings its objects to this many bytes.
_BLOCK_BYTES: Final = 64 * 1024
_DICTIONARY_BYTES: Final = 112_640
#: A dictionary has this share of what it is for, and there is none below this size.
_DICTIONARY_SHARE: Final = 100
_MIN_DICTIONARY: Final = 4096
_SAMPLES: Final = 1000
_SAMPLE_BYTES: Final = 16 * 1024


class PackFacts(NamedTuple):
    """What was written."""

    size: int
    frames: int
    objects: int
    #: Over everything that the frames say and hold.
    digest: bytes


def write_pack(
    log: LogReader, first: int, last: int, write: Callable[[bytes], None], *, level: int = LEVEL
) -> PackFacts:
    """Write a pack of segments of a log.

    Args:
        log: The log.
        first, last: The segments.
        write: Takes the bytes of the pack, in order.
        level: zstd's level, 1 to 22.

    Raises:
        IntegrityError: The log is damaged.
        UnsupportedError: It has features that this version doesn't know.
        LimitExceeded: More objects than a pack may have.
        StorageError: Something can't be read or written.
    """
    builder = _Builder(write, _train(log, first, last), level)
    for number in range(first, last + 1):
        builder.begin_segment(log, number)
        for frame in log.segment_frames(number):
            builder.add(frame, log.payload(frame))
        builder.end_segment()
    return builder.finish(log, first, last)


def check_pack(pack: PackFile, written: PackFacts) -> None:
    """Read all of a pack that was just written, before anything rests on it.

    Args:
        pack: The pack.
        written: What :func:`write_pack` said.

    Raises:
        IntegrityError: Something of it is not what the log has.
    """
    seen = blake3()
    rows: list[bytes] = []
    frames = 0
    for block in range(pack.block_count):
        for frame in pack.block(block).frames:
            seen.update(_facts(frame))
            rows += index_rows(block, frame.raw_ids())
            frames += 1
    if seen.digest() != written.digest or frames != written.frames:
        # Ids of objects in the pack are made from their bytes; the log's tables state them.
        raise IntegrityError(
            "an object of the log is not what its id says, or its pack can't be read back",
            kind="bad_object",
            hint="vstore verify says which one; restore the package from another copy",
        )

    damage = next(pack.check(rows), None)
    if damage is not None:
        raise damage.error()


def _facts(frame: FrameSummary) -> bytes:
    numbers = f"{frame.segment} {frame.offset} {frame.length} {frame.sequence} {frame.counts} "
    return b"".join(
        (
            numbers.encode(),
            frame.raw_parent,
            frame.raw_generation,
            frame.digest[:DIGEST_BYTES],
            frame.raw_table,
        )
    )


def _train(log: LogReader, first: int, last: int) -> bytes:
    """A dictionary for these segments; empty where they are too few or too different."""
    count = log.following(last).first_sequence - log.header(first).first_sequence
    step = max(1, count // _SAMPLES)
    samples: list[bytes | bytearray | memoryview[int]] = []
    raw = 0
    for frame in _frames(log, first, last):
        raw += frame.raw_length
        if frame.sequence % step == 0:
            samples.append(log.payload(frame)[:_SAMPLE_BYTES])
    size = min(_DICTIONARY_BYTES, raw // _DICTIONARY_SHARE)
    if size < _MIN_DICTIONARY:
        return b""
    import zstandard

    try:
        return zstandard.train_dictionary(size, samples).as_bytes()
    except zstandard.ZstdError:
        return b""


def _frames(log: LogReader, first: int, last: int) -> Iterator[FrameSummary]:
    for number in range(first, last + 1):
        yield from log.segment_frames(number)


class _Builder:
    """Collects frames into blocks.

    Args:
        write: Takes the bytes.
        dictionary: For all blocks; empty for none.
        level: zstd's.
    """

    def __init__(self, write: Callable[[bytes], None], dictionary: bytes, level: int) -> None:
        import zstandard

        shared = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        self._compressor = zstandard.ZstdCompressor(level=level, dict_data=shared)
        self._write = write
        self._start = PACK_MAGIC + dictionary
        self._size = 0
        self._seen = blake3()
        self._rows: list[bytes] = []
        self._segments: list[PackedSegment] = []
        self._blocks: list[BlockPlace] = []
        self._waiting: list[tuple[FrameSummary, bytes]] = []
        self._waiting_bytes = 0
        self._frames = 0
        self._before = 0
        self._put(self._start)

    def _put(self, part: bytes) -> None:
        self._size += len(part)
        self._write(part)

    def begin_segment(self, log: LogReader, number: int) -> None:
        """Begin with a segment of the log."""
        following = log.following(number)
        self._before = len(self._blocks)
        self._segments.append(
            PackedSegment(
                encode_segment_header(log.header(number)),
                following.previous_valid,
                following.torn_length,
                0,
            )
        )

    def add(self, frame: FrameSummary, payload: bytes) -> None:
        """Add a frame that was checked, and its uncompressed objects."""
        self._seen.update(_facts(frame))
        self._frames += 1
        self._waiting.append((frame, payload))
        self._waiting_bytes += len(payload)
        if self._waiting_bytes >= _BLOCK_BYTES:
            self._end_block()

    def _end_block(self) -> None:
        if not self._waiting:
            return
        raw = encode_block(self._waiting)
        stored = self._compressor.compress(raw)
        frames = [frame for frame, _ in self._waiting]
        for frame in frames:
            self._rows += index_rows(len(self._blocks), frame.raw_ids())
        if len(self._rows) > MAX_PACK_OBJECTS:
            raise LimitExceeded(
                "more objects than a pack has at the most",
                limit="max_pack_objects",
                value=MAX_PACK_OBJECTS,
                asked=len(self._rows),
            )
        self._blocks.append(
            BlockPlace(
                stored=len(stored),
                raw=len(raw),
                frames=len(frames),
                objects=sum(frame.object_count for frame in frames),
                offset=frames[0].offset,
                head=frames[0].raw_parent,
                digest=blake3(stored).digest(),
            )
        )
        self._put(stored)
        self._waiting.clear()
        self._waiting_bytes = 0

    def end_segment(self) -> None:
        """A block has frames of one segment only."""
        self._end_block()
        blocks = len(self._blocks) - self._before
        self._segments[-1] = self._segments[-1]._replace(blocks=blocks)

    def finish(self, log: LogReader, first: int, last: int) -> PackFacts:
        """Write what comes behind the blocks."""
        torn = blake3()
        for number, segment in enumerate(self._segments, first):
            if segment.torn:
                part = log.torn_bytes(number)
                torn.update(part)
                self._put(part)
        directory = encode_directory(self._segments, self._blocks)
        index = encode_index(self._rows)
        trailer = PackTrailer(
            features=0,
            dictionary_length=len(self._start) - len(PACK_MAGIC),
            segments=last - first + 1,
            blocks=len(self._blocks),
            first=first,
            torn_length=sum(one.torn for one in self._segments),
            directory_length=len(directory),
            index_length=len(index),
            start_digest=blake3(self._start).digest(),
            torn_digest=torn.digest(),
            directory_digest=blake3(directory).digest(),
            index_digest=blake3(index).digest(),
        )
        self._put(directory)
        self._put(index)
        self._put(encode_trailer(trailer))
        return PackFacts(self._size, self._frames, len(self._rows), self._seen.digest())
