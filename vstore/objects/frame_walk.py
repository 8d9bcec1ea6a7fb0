"""Going through the frames of a log: forwards with every check, and backwards from an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vstore.objects.damage import Damage, broken_at
from vstore.objects.frame import (
    FRAME_MAGIC,
    HEADER_FIXED,
    MAX_HEADER_BYTES,
    TRAILER_BYTES,
    FrameSummary,
    parse_header,
    parse_trailer,
    trailer_matches,
)
from vstore.objects.ids import ObjectId
from vstore.objects.segment import SEGMENT_HEADER_BYTES
from vstore.objects.segment_files import SegmentFiles, pread

__all__ = ["FrameWalk"]

_STEP: Final = 1 << 20
_BACK_STEP: Final = 1 << 16
_READ_STEP: Final = 1 << 13


class _Window:
    """Bytes of a segment, read in steps as they are asked for, going forwards."""

    __slots__ = ("_base", "_end", "_files", "_number", "_step", "buffer")

    def __init__(self, files: SegmentFiles, number: int, end: int, step: int = _STEP) -> None:
        self._files = files
        self._number = number
        self._step = step
        self._end = end
        self._base = 0
        self.buffer = b""

    def at(self, offset: int, length: int) -> int | None:
        """The index in ``buffer`` of ``length`` bytes at ``offset``; None past the end."""
        index = offset - self._base
        if index >= 0 and index + length <= len(self.buffer):
            return index
        if offset + length > self._end:
            return None
        self.buffer = pread(
            self._files.fd(self._number), min(max(length, self._step), self._end - offset), offset
        )
        self._base = offset
        return 0 if len(self.buffer) >= length else None

    def available(self, offset: int) -> int:
        """The index in ``buffer`` of ``offset`` when a frame's fixed header lies behind, or -1."""
        index = offset - self._base
        if index >= 0 and index + HEADER_FIXED <= len(self.buffer):
            return index
        at = self.at(offset, HEADER_FIXED)
        return -1 if at is None else at


class FrameWalk:
    """Finds and checks frames in segment files.

    Args:
        files: The segments.
        lightly: Believe the digests of frames.
    """

    def __init__(self, files: SegmentFiles, *, lightly: bool = False) -> None:
        self.files = files
        self._lightly = lightly

    def read(self, number: int, offset: int, end: int) -> tuple[FrameSummary, bytes]:
        """One frame by its place, its stored payload with it, checked in full.

        Args:
            number: The segment.
            offset: Where the frame begins.
            end: Where the segment's valid bytes end.

        Raises:
            IntegrityError: There is no valid frame.
        """
        window = _Window(self.files, number, end, _READ_STEP)
        found = self._frame_at(window, number, self.files.header(number).salt, offset)
        if found is None:
            raise broken_at(number, offset)
        at = window.at(offset, found.length)
        assert at is not None
        begin = at + found.header_length
        return found, window.buffer[begin : begin + found.stored_length]

    def ending_at(self, number: int, end: int) -> FrameSummary | None:
        """The frame that ends there, checked in full; None when there is none."""
        start = end - TRAILER_BYTES
        if start < SEGMENT_HEADER_BYTES:
            return None
        fd = self.files.fd(number)
        length = parse_trailer(pread(fd, TRAILER_BYTES, start))
        if length is None or end - length < SEGMENT_HEADER_BYTES:
            return None
        buffer = pread(fd, length, end - length)
        if len(buffer) != length:
            return None
        found = parse_header(
            buffer, 0, segment=number, salt=self.files.header(number).salt, offset=end - length
        )
        if not isinstance(found, FrameSummary) or found.length != length:
            return None
        return found if trailer_matches(found, buffer, 0) else None

    def follows(self, frame: FrameSummary) -> bool:
        """Whether a frame stands right behind the one that it should stand behind.

        Torn bytes may end with what looks like a frame: objects may contain anything.
        """
        number, at = frame.segment, frame.offset
        header = self.files.header(number)
        if at == SEGMENT_HEADER_BYTES:
            return frame.sequence == header.first_sequence and frame.raw_parent == header.head
        length = parse_trailer(pread(self.files.fd(number), TRAILER_BYTES, at - TRAILER_BYTES))
        if length is None or at - length < SEGMENT_HEADER_BYTES:
            return False
        window = _Window(self.files, number, at, _READ_STEP)
        before = self._header_at(window, number, header.salt, at - length)
        return (
            before is not None
            and before.length == length
            and before.sequence == frame.sequence - 1
            and before.raw_head == frame.raw_parent
        )

    def walk(
        self, number: int, start: int, end: int, sequence: int, head: bytes, *, last: bool
    ) -> Iterator[FrameSummary | Damage]:
        """The frames of a segment from ``start`` to ``end``, and damage followed by a frame.

        Args:
            number: The segment.
            start: Where a frame begins.
            end: Where its valid bytes end, or the file when that is to be found out.
            sequence: Number of the frame before.
            head: Head generation before, 32 bytes.
            last: What lies behind the last valid frame of the last segment is a torn tail and
                not reported.
        """
        salt = self.files.header(number).salt
        window = _Window(self.files, number, end)
        position = start
        while position < end:
            found = self._frame_at(window, number, salt, position)
            if found is None:
                known = self._header_at(window, number, salt, position)
                at = self._next_frame(window, number, salt, position, known, end)
                if at is None:
                    if not last:
                        yield _lost(number, position, end, sequence, None, known)
                    return
                resumed = self._frame_at(window, number, salt, at)
                if resumed is None:  # pragma: no cover - it was valid a moment ago
                    return
                yield _lost(number, position, at, sequence, resumed, known)
                sequence, head = resumed.sequence - 1, resumed.raw_parent
                found = resumed
            if found.sequence != sequence + 1 or found.raw_parent != head:
                yield Damage(
                    kind="wrong_parent" if found.sequence == sequence + 1 else "wrong_sequence",
                    segment=number,
                    start=found.offset,
                    end=found.offset + found.length,
                    first_lost=sequence + 1,
                    frames_lost=max(0, found.sequence - sequence - 1),
                )
            yield found
            sequence, head = found.sequence, found.raw_head
            position = found.offset + found.length

    def _header_at(
        self, window: _Window, number: int, salt: bytes, offset: int
    ) -> FrameSummary | None:
        at = window.available(offset)
        if at < 0:
            return None
        light = self._lightly
        found = parse_header(
            window.buffer, at, segment=number, salt=salt, offset=offset, lightly=light
        )
        if isinstance(found, int):
            again = window.at(offset, found)
            if again is None:
                return None
            found = parse_header(
                window.buffer, again, segment=number, salt=salt, offset=offset, lightly=light
            )
        return found if isinstance(found, FrameSummary) else None

    def _frame_at(
        self, window: _Window, number: int, salt: bytes, offset: int
    ) -> FrameSummary | None:
        found = self._header_at(window, number, salt, offset)
        if found is None:
            return None
        at = window.at(offset, found.length)
        if at is None or not (self._lightly or trailer_matches(found, window.buffer, at)):
            return None
        return found

    def _next_frame(
        self,
        window: _Window,
        number: int,
        salt: bytes,
        bad: int,
        known: FrameSummary | None,
        end: int,
    ) -> int | None:
        """Where the next valid frame behind a bad one begins, None when there is none.

        Bytes inside a frame whose header is intact are never searched: an object may contain
        anything, even what looks like a frame.
        """
        position = bad + known.length if known is not None else bad + 1
        while position < end:
            chunk = pread(self.files.fd(number), min(_STEP, end - position), position)
            if len(chunk) < HEADER_FIXED:
                return None
            index = chunk.find(FRAME_MAGIC)
            if index < 0:
                position += len(chunk) - len(FRAME_MAGIC) + 1
                continue
            position += index
            if self._frame_at(window, number, salt, position) is not None:
                return position
            position += 1
        return None

    def backwards(
        self, number: int, end: int, sequence: int, head: bytes
    ) -> Iterator[FrameSummary]:
        """The frames of a segment up to ``end``, last first; payloads are not read.

        Args:
            number: The segment, 1 or more.
            end: Where its last frame ends.
            sequence: Number of that frame.
            head: Head generation after it, 32 bytes.

        Raises:
            IntegrityError: The chain is broken at some frame.
        """
        buffer, base = b"", 0
        while True:
            if end == SEGMENT_HEADER_BYTES:
                return
            fd = self.files.fd(number)
            if end - TRAILER_BYTES < base or not buffer:
                base = max(0, end - _BACK_STEP)
                buffer = pread(fd, end - base, base)
            length = (
                parse_trailer(buffer[end - base - TRAILER_BYTES : end - base])
                if len(buffer) >= end - base and end - base >= TRAILER_BYTES
                else None
            )
            if length is None or end - length < SEGMENT_HEADER_BYTES:
                raise broken_at(number, end)
            start = end - length
            if start < base:
                # A frame that is only partly in the buffer: only its header is needed.
                base = max(0, start - _BACK_STEP)
                buffer = pread(fd, min(end - base, _BACK_STEP + MAX_HEADER_BYTES), base)
            found = parse_header(
                buffer,
                start - base,
                segment=number,
                salt=self.files.header(number).salt,
                offset=start,
            )
            if (
                not isinstance(found, FrameSummary)
                or found.length != length
                or found.sequence != sequence
                or found.raw_head != head
            ):
                raise broken_at(number, start)
            yield found
            sequence, head, end = sequence - 1, found.raw_parent, start


def _lost(
    number: int,
    start: int,
    end: int,
    sequence: int,
    resumed: FrameSummary | None,
    known: FrameSummary | None,
) -> Damage:
    lost = None if resumed is None else max(0, resumed.sequence - sequence - 1)
    ids = known.raw_ids() if known is not None else []
    return Damage(
        kind="bad_frame",
        segment=number,
        start=start,
        end=end,
        first_lost=sequence + 1,
        frames_lost=lost,
        objects_lost=tuple(ObjectId.from_bytes(raw) for raw in ids),
    )
