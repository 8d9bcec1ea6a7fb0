"""Reading the append-only log: where it ends, its frames forwards and backwards, its damage.

A log is a row of segment files, each a header and frames. Opening looks at the end only:
the last frame's trailer leads to its header. When the end is no valid frame, the last
segment is read from its beginning to tell a torn tail from damage (spec: storage,
"Recovery"). Nothing here takes a lock or writes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from blake3 import blake3

from vstore.errors import IntegrityError, StorageError, UnsupportedError
from vstore.objects.frame import (
    FRAME_MAGIC,
    HEADER_FIXED,
    MAX_HEADER_BYTES,
    NO_GENERATION,
    TRAILER_BYTES,
    FrameSummary,
    parse_header,
    parse_trailer,
    trailer_matches,
)
from vstore.objects.ids import ObjectId
from vstore.objects.layout import segment_name, segment_number
from vstore.objects.segment import SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_header

__all__ = ["Damage", "LogReader", "Tail"]

_STEP: Final = 1 << 20
_BACK_STEP: Final = 1 << 16
_READ_STEP: Final = 1 << 13
_MAX_OPEN_SEGMENTS: Final = 32


@dataclass(frozen=True, kw_only=True)
class Damage:
    """Bytes of the log that are not what was written there."""

    #: ``bad_frame``, ``bad_segment``, ``missing_segment``, ``wrong_parent``,
    #: ``wrong_sequence``, ``torn_bytes_changed``.
    kind: str
    segment: int
    #: The damaged bytes, from ``start`` up to ``end``; equal for damage without extent.
    start: int
    end: int
    #: Sequence numbers of lost frames: first, and how many (None: not known).
    first_lost: int
    frames_lost: int | None
    #: Ids of lost objects, as far as a readable table names them.
    objects_lost: tuple[ObjectId, ...] = ()

    def error(self) -> IntegrityError:
        """The error that says so."""
        count = "an unknown number of" if self.frames_lost is None else str(self.frames_lost)
        return IntegrityError(
            f"the log is damaged ({self.kind}) in segment {self.segment}, bytes {self.start} to "
            f"{self.end}: {count} frames lost from sequence {self.first_lost} on, "
            f"{len(self.objects_lost)} lost objects known by id",
            kind=self.kind,
            hint="restore the package from a bundle or another copy; don't delete anything",
            segment=self.segment,
            start=self.start,
            end=self.end,
            first_lost=self.first_lost,
            frames_lost=self.frames_lost,
            objects_lost=[str(oid) for oid in self.objects_lost],
        )


@dataclass(frozen=True, kw_only=True)
class Tail:
    """Where the log ends."""

    #: Number of the last segment with a valid header; 0 for a log without segments.
    segment: int
    #: Bytes of it that are valid, its header included.
    end: int
    #: Bytes behind that are no frame: torn by a crash, or being written right now.
    torn: int
    #: Sequence number of the last frame; 0 for none.
    sequence: int
    #: Head generation, 32 bytes, zeros for none.
    head: bytes
    #: Digest of the last frame, 32 bytes; empty when the segment has none yet.
    digest: bytes
    #: Feature bits of the last frame.
    features: int = 0


_EMPTY: Final = Tail(segment=0, end=0, torn=0, sequence=0, head=NO_GENERATION, digest=b"")


def _tail_after(frame: FrameSummary, torn: int = 0) -> Tail:
    return Tail(
        segment=frame.segment,
        end=frame.offset + frame.length,
        torn=torn,
        sequence=frame.sequence,
        head=frame.raw_head,
        digest=frame.digest,
        features=frame.features,
    )


class _Window:
    """Bytes of a file, read in steps as they are asked for, going forwards."""

    __slots__ = ("_base", "_end", "_step", "buffer", "fd")

    def __init__(self, fd: int, end: int, step: int = _STEP) -> None:
        self.fd = fd
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
        self.buffer = pread(self.fd, min(max(length, self._step), self._end - offset), offset)
        self._base = offset
        return 0 if len(self.buffer) >= length else None

    def available(self, offset: int) -> int:
        """The index in ``buffer`` of ``offset`` when a frame's fixed header lies behind, or -1."""
        index = offset - self._base
        if index >= 0 and index + HEADER_FIXED <= len(self.buffer):
            return index
        at = self.at(offset, HEADER_FIXED)
        return -1 if at is None else at


def pread(fd: int, length: int, offset: int) -> bytes:
    """Read ``length`` bytes, fewer only at the end of the file.

    Raises:
        StorageError: The system failed.
    """
    try:
        chunk = os.pread(fd, length, offset)
        if len(chunk) == length or not chunk:
            return chunk
        parts = [chunk]
        have = len(chunk)
        while have < length:
            chunk = os.pread(fd, length - have, offset + have)
            if not chunk:
                break
            parts.append(chunk)
            have += len(chunk)
        return b"".join(parts)
    except OSError as error:
        raise StorageError(
            f"can't read the log: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
        ) from error


class LogReader:
    """A log, read only.

    Args:
        folder: ``objects/log`` of a package; an absent one is an empty log.

    Raises:
        IntegrityError: No end can be found: a segment is missing or its header is damaged.
        UnsupportedError: A segment with features that this version doesn't know.
        StorageError: A file can't be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fds: dict[int, int] = {}
        self._headers: dict[int, SegmentHeader] = {}
        self.tail = _EMPTY
        #: Number and path of the segment that would come next.
        self._following = (0, "")
        #: Number of a file behind the last segment that a crash while rolling left, or None.
        self.residue: int | None = None
        #: What is wrong, as far as opening and refreshing came across it.
        self.damage: list[Damage] = []
        self._open_end()

    def close(self) -> None:
        """Close all files."""
        fds, self._fds = self._fds, {}
        for fd in fds.values():
            os.close(fd)

    # ---- segments

    def fd(self, number: int) -> int:
        """A descriptor of a segment file for reading; the log keeps and closes it."""
        fd = self._fds.get(number)
        if fd is not None:
            return fd
        try:
            fd = os.open(
                self.folder / segment_name(number),
                os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC,
            )
        except FileNotFoundError:
            raise self._missing(number).error() from None
        except OSError as error:
            raise StorageError(
                f"can't read segment {number}: {os.strerror(error.errno or errno.EIO)}",
                kind="unreadable",
            ) from error
        if len(self._fds) >= _MAX_OPEN_SEGMENTS:
            os.close(self._fds.pop(next(iter(self._fds))))
        self._fds[number] = fd
        return fd

    def header(self, number: int) -> SegmentHeader:
        """The header of a segment.

        Raises:
            IntegrityError: Missing or damaged.
            UnsupportedError: Features that this version doesn't know.
        """
        known = self._headers.get(number)
        if known is not None:
            return known
        raw = pread(self.fd(number), SEGMENT_HEADER_BYTES, 0)
        found = parse_segment_header(raw, number)
        if found is None:
            raise Damage(
                kind="bad_segment",
                segment=number,
                start=0,
                end=SEGMENT_HEADER_BYTES,
                first_lost=0,
                frames_lost=None,
            ).error()
        if found.features:
            raise UnsupportedError(
                f"segment {number} has features that this version doesn't know",
                kind="unsupported_segment",
                hint="a newer vstore may be able to read it",
                segment=number,
            )
        self._headers[number] = found
        return found

    def valid_end(self, number: int) -> int:
        """How many bytes of a segment are valid: what the next one's header says, or the tail."""
        if number == self.tail.segment:
            return self.tail.end
        return self.header(number + 1).previous_valid

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names, not paths
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(
                f"can't read the log: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
            ) from error
        return sorted(number for name in names if (number := segment_number(name)) is not None)

    def _missing(self, number: int) -> Damage:
        return Damage(
            kind="missing_segment", segment=number, start=0, end=0, first_lost=0, frames_lost=None
        )

    def _is_residue(self, number: int) -> bool:
        """Whether a segment without a valid header is what a crash while rolling leaves."""
        fd = self.fd(number)
        window = 0
        size = file_size(fd)
        if size <= SEGMENT_HEADER_BYTES:
            # A header is synced before the first frame is written behind it.
            return parse_segment_header(pread(fd, size, 0), number) is None
        while window < size:
            chunk = pread(fd, _STEP, window)
            if not chunk:
                break
            if chunk.count(0) != len(chunk):
                return False
            window += len(chunk)
        return True

    # ---- the end

    def _open_end(self) -> None:
        numbers = self._numbers()
        if not numbers:
            return
        last = numbers[-1]
        raw = pread(self.fd(last), SEGMENT_HEADER_BYTES, 0)
        if parse_segment_header(raw, last) is None and self._is_residue(last):
            self.residue = last
            os.close(self._fds.pop(last))
            numbers.pop()
        if not numbers:
            return
        last = numbers[-1]
        if self.residue is not None and self.residue != last + 1:
            self.damage.append(self._missing(last + 1))
        expected = set(range(1, last + 1))
        for number in sorted(expected - set(numbers)):
            self.damage.append(self._missing(number))
        self._find_tail(last)

    def _find_tail(self, number: int) -> None:
        header = self.header(number)
        fd = self.fd(number)
        size = file_size(fd)
        start = Tail(
            segment=number,
            end=SEGMENT_HEADER_BYTES,
            torn=0,
            sequence=header.first_sequence - 1,
            head=header.head,
            digest=b"",
        )
        if size == SEGMENT_HEADER_BYTES:
            self.tail = start
            return
        last = self._frame_ending_at(number, size)
        if last is not None and self._follows(last):
            self.tail = _tail_after(last)
            return
        # No valid frame at the end: go through the segment to tell torn from damaged.
        self.tail = start
        self._extend_tail(size)

    def _frame_ending_at(self, number: int, end: int) -> FrameSummary | None:
        """The frame that ends there, checked in full; None when there is none."""
        start = end - TRAILER_BYTES
        if start < SEGMENT_HEADER_BYTES:
            return None
        fd = self.fd(number)
        length = parse_trailer(pread(fd, TRAILER_BYTES, start))
        if length is None or end - length < SEGMENT_HEADER_BYTES:
            return None
        buffer = pread(fd, length, end - length)
        if len(buffer) != length:
            return None
        found = parse_header(
            buffer, 0, segment=number, salt=self.header(number).salt, offset=end - length
        )
        if not isinstance(found, FrameSummary) or found.length != length:
            return None
        return found if trailer_matches(found, buffer, 0) else None

    def _follows(self, frame: FrameSummary) -> bool:
        """Whether a frame stands right behind the one that it should stand behind.

        Torn bytes may end with what looks like a frame: objects may contain anything.
        """
        number, at = frame.segment, frame.offset
        header = self.header(number)
        if at == SEGMENT_HEADER_BYTES:
            return frame.sequence == header.first_sequence and frame.raw_parent == header.head
        length = parse_trailer(pread(self.fd(number), TRAILER_BYTES, at - TRAILER_BYTES))
        if length is None or at - length < SEGMENT_HEADER_BYTES:
            return False
        window = _Window(self.fd(number), at, _READ_STEP)
        before = self._header_at(window, number, header.salt, at - length)
        return (
            before is not None
            and before.length == length
            and before.sequence == frame.sequence - 1
            and before.raw_head == frame.raw_parent
        )

    def _extend_tail(self, size: int) -> bool:
        """Follow the last segment from the known end; True when there were more frames."""
        before = self.tail
        tail = before
        for found in self._walk(before.segment, before.end, size):
            if isinstance(found, Damage):
                self.damage.append(found)
                continue
            tail = _tail_after(found)
        self.tail = replace(tail, torn=size - tail.end)
        return tail is not before

    def advance(self, frame: FrameSummary) -> None:
        """Take note of a frame that this process appended behind the tail."""
        self.tail = _tail_after(frame)

    def refresh(self) -> bool:
        """Look for frames that were appended since; True when there are any.

        Raises:
            IntegrityError: What was read before has gone.
            StorageError: A file can't be read.
        """
        changed = False
        if self.tail.segment == 0:
            self._open_end()
            return self.tail.segment != 0 and self.tail.sequence > 0
        while True:
            size = file_size(self.fd(self.tail.segment))
            if size < self.tail.end:
                raise Damage(
                    kind="bad_segment",
                    segment=self.tail.segment,
                    start=size,
                    end=self.tail.end,
                    first_lost=0,
                    frames_lost=None,
                ).error()
            if size > self.tail.end:
                # Even when the size is the same as before: torn bytes may be whole by now.
                changed |= self._extend_tail(size)
            if not self._next_segment():
                return changed

    def _next_segment(self) -> bool:
        """Step into the segment behind the tail when it has a valid header by now."""
        number = self.tail.segment + 1
        if self._following[0] != number:
            self._following = (number, str(self.folder / segment_name(number)))
        if not os.path.exists(self._following[1]):  # noqa: PTH110 - at each publication
            return False
        raw = pread(self.fd(number), SEGMENT_HEADER_BYTES, 0)
        header = parse_segment_header(raw, number)
        if header is None:
            os.close(self._fds.pop(number))
            self.residue = number
            return False
        self.residue = None
        header = self.header(number)
        if header.previous_valid != self.tail.end:
            # Frames that were complete in time are valid; anything else contradicts them.
            self.damage.append(
                Damage(
                    kind="bad_segment",
                    segment=number - 1,
                    start=min(header.previous_valid, self.tail.end),
                    end=max(header.previous_valid, self.tail.end),
                    first_lost=self.tail.sequence + 1,
                    frames_lost=None,
                )
            )
        self.tail = Tail(
            segment=number,
            end=SEGMENT_HEADER_BYTES,
            torn=0,
            sequence=header.first_sequence - 1,
            head=header.head,
            digest=b"",
        )
        return True

    # ---- frames

    def scan(self) -> Iterator[FrameSummary | Damage]:
        """All frames in order, each checked in full, and all damage between them."""
        sequence, head = 0, NO_GENERATION
        for number in range(1, self.tail.segment + 1):
            try:
                header = self.header(number)
                end = self.valid_end(number)
            except IntegrityError as error:
                yield Damage(
                    kind=error.kind,
                    segment=number,
                    start=0,
                    end=0,
                    first_lost=sequence + 1,
                    frames_lost=None,
                )
                sequence = -1
                continue
            if sequence >= 0 and (header.first_sequence != sequence + 1 or header.head != head):
                yield Damage(
                    kind="wrong_sequence" if header.head == head else "wrong_parent",
                    segment=number,
                    start=0,
                    end=SEGMENT_HEADER_BYTES,
                    first_lost=sequence + 1,
                    frames_lost=max(0, header.first_sequence - sequence - 1),
                )
            sequence, head = header.first_sequence - 1, header.head
            for found in self._walk(number, SEGMENT_HEADER_BYTES, end, sequence, head):
                if isinstance(found, FrameSummary):
                    sequence, head = found.sequence, found.raw_head
                yield found
            if number < self.tail.segment:
                yield from self._check_torn(number, end)

    def _check_torn(self, number: int, end: int) -> Iterator[Damage]:
        """Compare the bytes behind the valid ones with what the next segment recorded."""
        following = self.header(number + 1)
        fd = self.fd(number)
        size = file_size(fd)
        digest = bytes(32)
        if following.torn_length and size == end + following.torn_length:
            digest = digest_of_range(fd, end, size)
        if size != end + following.torn_length or digest != following.torn_digest:
            yield Damage(
                kind="torn_bytes_changed",
                segment=number,
                start=end,
                end=max(size, end),
                first_lost=following.first_sequence,
                frames_lost=0,
            )

    def _walk(
        self,
        number: int,
        start: int,
        end: int,
        sequence: int | None = None,
        head: bytes | None = None,
    ) -> Iterator[FrameSummary | Damage]:
        """The frames of a segment from ``start`` to ``end``, and damage followed by a frame.

        What lies behind the last valid frame is not reported for the last segment: it is a
        torn tail there.
        """
        salt = self.header(number).salt
        if sequence is None or head is None:
            sequence, head = self.tail.sequence, self.tail.head
        window = _Window(self.fd(number), end)
        position = start
        while position < end:
            found = self._frame_at(window, number, salt, position)
            if found is None:
                known = self._header_at(window, number, salt, position)
                at = self._next_frame(window, number, salt, position, known, end)
                if at is None:
                    if number < self.tail.segment:
                        yield self._lost(number, position, end, sequence, None, known)
                    return
                resumed = self._frame_at(window, number, salt, at)
                if resumed is None:  # pragma: no cover - it was valid a moment ago
                    return
                yield self._lost(number, position, at, sequence, resumed, known)
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

    def _lost(
        self,
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

    def _header_at(
        self, window: _Window, number: int, salt: bytes, offset: int
    ) -> FrameSummary | None:
        at = window.available(offset)
        if at < 0:
            return None
        found = parse_header(window.buffer, at, segment=number, salt=salt, offset=offset)
        if isinstance(found, int):
            again = window.at(offset, found)
            if again is None:
                return None
            found = parse_header(window.buffer, again, segment=number, salt=salt, offset=offset)
        return found if isinstance(found, FrameSummary) else None

    def _frame_at(
        self, window: _Window, number: int, salt: bytes, offset: int
    ) -> FrameSummary | None:
        found = self._header_at(window, number, salt, offset)
        if found is None:
            return None
        at = window.at(offset, found.length)
        if at is None or not trailer_matches(found, window.buffer, at):
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
            chunk = pread(window.fd, min(_STEP, end - position), position)
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

    def backwards(self) -> Iterator[FrameSummary]:
        """All frames from the last to the first; headers are checked, payloads are not read.

        Raises:
            IntegrityError: The chain is broken at some frame.
        """
        number, end = self.tail.segment, self.tail.end
        if number == 0:
            return
        sequence, head = self.tail.sequence, self.tail.head
        buffer, base = b"", 0
        while True:
            if end == SEGMENT_HEADER_BYTES:
                header = self.header(number)
                if header.first_sequence != sequence + 1 or header.head != head:
                    raise self._broken(number, end)
                if number == 1:
                    if sequence != 0 or head != NO_GENERATION:
                        raise self._broken(number, end)
                    return
                number, end = number - 1, header.previous_valid
                buffer, base = b"", 0
                continue
            fd = self.fd(number)
            if end - TRAILER_BYTES < base or not buffer:
                base = max(0, end - _BACK_STEP)
                buffer = pread(fd, end - base, base)
            length = (
                parse_trailer(buffer[end - base - TRAILER_BYTES : end - base])
                if len(buffer) >= end - base and end - base >= TRAILER_BYTES
                else None
            )
            if length is None or end - length < SEGMENT_HEADER_BYTES:
                raise self._broken(number, end)
            start = end - length
            if start < base:
                # A frame that is only partly in the buffer: only its header is needed.
                base = max(0, start - _BACK_STEP)
                buffer = pread(fd, min(end - base, _BACK_STEP + MAX_HEADER_BYTES), base)
            found = parse_header(
                buffer, start - base, segment=number, salt=self.header(number).salt, offset=start
            )
            if (
                not isinstance(found, FrameSummary)
                or found.length != length
                or found.sequence != sequence
                or found.raw_head != head
            ):
                raise self._broken(number, start)
            yield found
            sequence, head, end = sequence - 1, found.raw_parent, start

    def _broken(self, number: int, offset: int) -> IntegrityError:
        return IntegrityError(
            f"the log is damaged in segment {number} at byte {offset}",
            kind="bad_frame",
            hint="vstore verify says what is lost; restore the package from another copy",
            segment=number,
            start=offset,
        )

    def read(self, number: int, offset: int) -> tuple[FrameSummary, bytes]:
        """One frame by its place, its stored payload with it, checked in full.

        Raises:
            IntegrityError: There is no valid frame.
        """
        window = _Window(self.fd(number), self.valid_end(number), _READ_STEP)
        found = self._frame_at(window, number, self.header(number).salt, offset)
        if found is None:
            raise self._broken(number, offset)
        at = window.at(offset, found.length)
        assert at is not None
        begin = at + found.header_length
        return found, window.buffer[begin : begin + found.stored_length]


def file_size(fd: int) -> int:
    """The size of an open file in bytes."""
    try:
        return os.fstat(fd).st_size
    except OSError as error:  # pragma: no cover
        raise StorageError("can't read the log", kind="unreadable") from error


def digest_of_range(fd: int, start: int, end: int) -> bytes:
    """BLAKE3 of the bytes of a file from ``start`` to ``end``."""
    hasher = blake3()
    while start < end:
        chunk = pread(fd, min(_STEP, end - start), start)
        if not chunk:
            break
        hasher.update(chunk)
        start += len(chunk)
    return hasher.digest()
