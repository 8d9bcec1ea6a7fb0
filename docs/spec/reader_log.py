"""The log for the independent reader: segments, frames, objects."""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import zstandard
from blake3 import blake3

Report = Callable[[str, str, str], None]

ZEROS: Final = bytes(32)
_SEGMENT: Final = struct.Struct("<8sIIQ16sQ32sQQ32s")
_FRAME: Final = struct.Struct("<8sII16sQQ32s32sIIII")
_ENTRY: Final = struct.Struct("<32sBBII")
_LARGE: Final = struct.Struct("<32sBBQQ32s")
_TRAILER: Final = struct.Struct("<32sI4s")
SEGMENT_HEADER: Final = _SEGMENT.size + 32
_SEGMENT_MAGIC: Final = bytes.fromhex("8956534c0d0a1a0a")
_FRAME_MAGIC: Final = bytes.fromhex("895653460d0a1a0a")
_MAX_PAYLOAD: Final = 16 << 20
_MAX_STORED: Final = 16_842_816
_MAX_LARGE: Final = 1 << 44


class Unsupported(Exception):
    """The package uses what this reader doesn't know."""


class Unopenable(Exception):
    """The log has no end that can be found."""


class Header(NamedTuple):
    """The header of a segment."""

    salt: bytes
    first: int
    head: bytes
    previous: int
    torn: int
    torn_digest: bytes


class Frame(NamedTuple):
    """A valid frame; ``segment`` and ``end`` say where it ends."""

    segment: int
    end: int
    sequence: int
    before: bytes
    generation: bytes
    length: int
    features: int
    counts: tuple[int, int]
    table: bytes
    stored: bytes
    raw: int
    #: Whether ``stored`` is the payload as it is: the frame comes from a pack.
    plain: bool = False

    def large_bytes(self) -> int:
        """Bytes of the large objects that are present, as its table claims them."""
        entries = _LARGE.iter_unpack(self.table[self.counts[0] * _ENTRY.size :])
        return sum(length for _, _, state, length, _, _ in entries if state == 0)


def check_layout(log: Log, bundle: Any, frames: list[Frame], report: Report) -> None:
    """Check where the segments of a bundle end, and their salts."""
    head = ZEROS
    for before, after in pairwise(frames):
        if (before.end >= bundle.segment_bytes) != (before.segment != after.segment):
            report("container", "error", f"segment {before.segment} ends at another frame")
    if frames:
        last = frames[-1]
        head = last.before if last.generation == ZEROS else last.generation
    for number in range(1, frames[-1].segment + 1 if frames else 1):
        header = log.header(number)
        if header is not None and (header.torn or header.salt != bundle.salt(number, head)):
            report("container", "error", f"segment {number} has another salt, or torn bytes")


class Stored(NamedTuple):
    """An entry of a frame. ``content`` is None for withheld and large objects."""

    oid: str
    document: bool
    withheld: bool
    length: int
    content: bytes | None
    #: Stored length and digest of a large object.
    large: tuple[int, bytes] | None = None


def oid_of(raw: bytes) -> str:
    """The object id with these digest bytes."""
    return "b3:" + raw.hex()


def segment_header(data: bytes, number: int) -> Header | None:
    """The header of a segment, None when it isn't valid."""
    if len(data) < SEGMENT_HEADER:
        return None
    magic, length, features, own, salt, first, head, previous, torn, digest = _SEGMENT.unpack(
        data[: _SEGMENT.size]
    )
    if (
        (magic, length, own) != (_SEGMENT_MAGIC, SEGMENT_HEADER, number)
        or first < 1
        or (number == 1) != (previous == 0)
        or blake3(data[: _SEGMENT.size]).digest() != data[_SEGMENT.size : SEGMENT_HEADER]
    ):
        return None
    if features:
        raise Unsupported(f"segment {number} has unknown features")
    return Header(salt, first, head, previous, torn, digest)


def frame_at(data: bytes, at: int, end: int, salt: bytes) -> tuple[Frame | None, int]:
    """The frame at an offset, None when none is valid; and its length where its header is."""
    if at + _FRAME.size > end:
        return None, 0
    (
        magic,
        length,
        features,
        own_salt,
        offset,
        sequence,
        before,
        generation,
        small,
        large,
        size,
        raw,
    ) = _FRAME.unpack_from(data, at)
    table_end = _FRAME.size + small * _ENTRY.size + large * _LARGE.size
    if (
        (magic, own_salt, offset, length) != (_FRAME_MAGIC, salt, at, table_end + 32)
        or small > 65_536
        or large > 4_096
        or size > _MAX_STORED
        or raw > _MAX_PAYLOAD
        or at + length > end
        or blake3(data[at : at + table_end]).digest() != data[at + table_end : at + length]
    ):
        return None, 0
    total = length + size + _TRAILER.size
    if at + total > end:
        return None, total
    digest, claimed, magic = _TRAILER.unpack_from(data, at + length + size)
    if (claimed, magic) != (total, b"VSFe") or (
        blake3(data[at : at + length + size]).digest() != digest
    ):
        return None, total
    table = data[at + _FRAME.size : at + table_end]
    stored = data[at + length : at + length + size]
    return (
        Frame(
            0,
            at + total,
            sequence,
            before,
            generation,
            total,
            features,
            (small, large),
            table,
            stored,
            raw,
        ),
        total,
    )


def frame_objects(frame: Frame) -> Iterator[Stored]:
    """What a frame stores.

    Raises:
        Unsupported: Unknown features.
        ValueError: Entries or payload are not as they must be.
    """
    if frame.features:
        raise Unsupported("a frame has unknown features")
    payload = b""
    if frame.plain:
        payload = frame.stored
    elif frame.raw:
        try:
            facts = zstandard.get_frame_parameters(frame.stored)
            if (
                facts.content_size != frame.raw
                or facts.dict_id
                or frame.stored[:4] != b"\x28\xb5\x2f\xfd"
            ):
                raise ValueError("not one zstd frame of the stated size")
            payload = zstandard.ZstdDecompressor().decompress(
                frame.stored, max_output_size=frame.raw, allow_extra_data=False
            )
        except zstandard.ZstdError as error:
            raise ValueError("the payload can't be unpacked") from error
    elif frame.stored:
        raise ValueError("a payload of nothing is stored as something")
    split = frame.counts[0] * _ENTRY.size
    found: list[Stored] = []
    place = 0
    for raw, kind, state, offset, length in _ENTRY.iter_unpack(frame.table[:split]):
        if kind > 1 or state > 1 or offset != place:
            raise ValueError("a malformed entry")
        content = payload[place : place + length] if state == 0 else None
        place += length if state == 0 else 0
        found.append(Stored(oid_of(raw), kind == 1, state == 1, length, content))
    if place != frame.raw or len(payload) != frame.raw:
        raise ValueError("entries that don't add up to the payload")
    for raw, kind, state, length, size, digest in _LARGE.iter_unpack(frame.table[split:]):
        if kind > 1 or state > 1 or max(length, size) > _MAX_LARGE:
            raise ValueError("a malformed entry")
        found.append(Stored(oid_of(raw), kind == 1, state == 1, length, None, (size, digest)))
    return iter(found)


def _frame_before(data: bytes, end: int, salt: bytes) -> Frame | None:
    """The frame that ends there, its header valid; its body isn't looked at."""
    if end < SEGMENT_HEADER + _TRAILER.size:
        return None
    _, length, magic = _TRAILER.unpack_from(data, end - _TRAILER.size)
    start = end - length
    if magic != b"VSFe" or start < SEGMENT_HEADER:
        return None
    fields = _FRAME.unpack_from(data, start) if length >= _FRAME.size else None
    if fields is None or frame_at(data, start, end, salt)[1] != length:
        return None
    return Frame(0, end, fields[5], fields[6], fields[7], length, 0, (0, 0), b"", b"", 0)


def _ends_with_frame(data: bytes, header: Header) -> bool:
    """Whether a segment ends with a valid frame that follows what is right before it."""
    last = _frame_before(data, len(data), header.salt)
    if last is None or frame_at(data, last.end - last.length, last.end, header.salt)[0] is None:
        return False
    start = last.end - last.length
    if start == SEGMENT_HEADER:
        return (last.sequence, last.before) == (header.first, header.head)
    before = _frame_before(data, start, header.salt)
    if before is None:
        return False
    head = before.before if before.generation == ZEROS else before.generation
    return (last.sequence, last.before) == (before.sequence + 1, head)


class Log:
    """The segments of a package.

    Args:
        read: Gives the bytes of a segment by its number.
        numbers: The numbers of all segments.
        report: Takes findings: area, severity, message.
        head: The head before the first frame, zeros for none.
        packs: Has segments that are no files any more, or None.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        numbers: list[int],
        report: Report,
        head: bytes = ZEROS,
        packs: Any = None,
    ) -> None:
        self._start = head
        self._packs = packs
        self._read = read
        self._report = report
        self._numbers = sorted(numbers)
        self._headers: dict[int, Header | None] = {}
        #: Whether frames were lost.
        self.damaged = False
        self._gap = ""

    def header(self, number: int) -> Header | None:
        """The header of a segment, None when it isn't there or isn't valid."""
        pack = self._packed(number)
        if pack is not None:
            return pack.segment(number).header  # type: ignore[no-any-return]
        if number not in self._headers:
            found = number in self._numbers
            self._headers[number] = segment_header(self._read(number), number) if found else None
        return self._headers[number]

    def _packed(self, number: int) -> Any:
        """The pack that has a segment, or None."""
        return None if self._packs is None else self._packs.having(number)

    def damage(self, message: str) -> None:
        """Report damage that loses frames."""
        self._report("container", "error", message)
        self.damaged = True

    def frames(self) -> Iterator[Frame]:
        """All valid frames in order; damage is reported on the way.

        Raises:
            Unsupported: Unknown features of a segment.
            Unopenable: The last segment has no valid header.
        """
        last = self._open_end()
        sequence, head, known = 0, self._start, True
        for number in range(1, last + 1):
            header = self.header(number)
            following = self.header(number + 1) if number < last else None
            if header is None or (number < last and following is None):
                self.damage(f"segment {number}: missing, or its end is not known")
                known = False
                continue
            if known and (header.first, header.head) != (sequence + 1, head):
                self.damage(f"segment {number} doesn't continue the one before")
            known = True
            pack = self._packed(number)
            if pack is not None:
                position, sequence, head, known = yield from self._walk_pack(number, pack, header)
                torn = pack.segment(number).torn
                if following is not None and not self._is_torn(following, torn):
                    self._report("container", "error", f"segment {number}: torn bytes changed")
                continue
            data = self._read(number)
            end = len(data) if following is None else min(following.previous, len(data))
            position, sequence, head = yield from self._walk(number, data, header, end)
            if following is None:
                if position < len(data) and _ends_with_frame(data, header):
                    self.damage(f"segment {number}: bytes {position} on are damaged")
                elif position < len(data):
                    self._report("container", "torn", f"segment {number}: torn bytes at the end")
            else:
                if position < following.previous:
                    self.damage(f"segment {number}: bytes {position} on are no frame")
                short = len(data) < following.previous
                if short or not self._is_torn(following, data[following.previous :]):
                    self._report("container", "error", f"segment {number}: torn bytes changed")
        if self._gap:
            self.damage(self._gap)
        if self._packs is not None:
            self._packs.finish()

    @staticmethod
    def _is_torn(following: Header, torn: bytes) -> bool:
        """Whether these are the torn bytes that the next segment records."""
        wanted = blake3(torn).digest() if torn else ZEROS
        return (len(torn), wanted) == (following.torn, following.torn_digest)

    def _walk_pack(
        self, number: int, pack: Any, header: Header
    ) -> Generator[Frame, None, tuple[int, int, bytes, bool]]:
        """As :meth:`_walk`, and whether number and head at the end are known."""
        sequence, head, known = header.first - 1, header.head, True
        for frames in pack.frames(number):
            if frames is None:
                self.damage(f"segment {number}: a block of {pack.name} is damaged")
                known = False
                continue
            for frame in frames:
                if known and (frame.sequence, frame.before) != (sequence + 1, head):
                    self.damage(f"segment {number}: frame {frame.sequence} is out of order")
                yield frame
                sequence, known = frame.sequence, True
                head = frame.before if frame.generation == ZEROS else frame.generation
        return pack.segment(number).valid, sequence, head, known

    def _open_end(self) -> int:
        numbers = self._numbers
        packed = 0 if self._packs is None or not self._packs.packs else self._packs.packs[-1].last
        for number in list(numbers):
            if self._packed(number) is not None:
                self._report("container", "leftover", f"segment {number} is in a pack")
        if packed >= (numbers[-1] if numbers else 0):
            if packed:
                self._gap = f"segment {packed + 1} is missing"
            return packed
        if numbers and self.header(numbers[-1]) is None:
            data = self._read(numbers[-1])
            if len(data) > SEGMENT_HEADER and data.count(0) != len(data):
                raise Unopenable(f"the header of segment {numbers[-1]} is damaged")
            residue = numbers.pop()
            self._report("container", "leftover", f"segment {residue} was begun only")
            last = max(packed, numbers[-1] if numbers else 0)
            if last and residue != last + 1:
                self._gap = f"a segment before {residue} is missing"
            if last == packed:
                if packed:
                    self._gap = f"segment {packed + 1} is missing"
                return packed
        if numbers and self.header(numbers[-1]) is None:
            raise Unopenable(f"the header of segment {numbers[-1]} is damaged")
        return numbers[-1] if numbers else 0

    def _walk(
        self, number: int, data: bytes, header: Header, end: int
    ) -> Generator[Frame, None, tuple[int, int, bytes]]:
        """The frames of a segment; where the last valid one ends, its number, the head then."""
        sequence, head = header.first - 1, header.head
        position = SEGMENT_HEADER
        while position < end:
            frame, length = frame_at(data, position, end, header.salt)
            if frame is None:
                at = data.find(_FRAME_MAGIC, position + (length or 1), end)
                while at >= 0 and frame_at(data, at, end, header.salt)[0] is None:
                    at = data.find(_FRAME_MAGIC, at + 1, end)
                if at < 0:
                    break
                self.damage(f"segment {number}: bytes {position} to {at} are damaged")
                position = at
                frame = frame_at(data, at, end, header.salt)[0]
                assert frame is not None
            elif (frame.sequence, frame.before) != (sequence + 1, head):
                self.damage(f"segment {number}: the frame at {position} is out of order")
            yield frame._replace(segment=number)
            sequence = frame.sequence
            head = frame.before if frame.generation == ZEROS else frame.generation
            position += frame.length
        return position, sequence, head
