"""Reading the append-only log: where it ends, its frames forwards and backwards, its damage.

A log is a row of segment files, each a header and frames. Opening looks at the end only:
the last frame's trailer leads to its header. When the end is no valid frame, the last
segment is read from its beginning to tell a torn tail from damage (spec: storage,
"Recovery"). Nothing here takes a lock or writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from vstore.errors import IntegrityError
from vstore.objects.damage import Damage, missing_segment
from vstore.objects.frame import NO_GENERATION, FrameSummary
from vstore.objects.frame_walk import FrameWalk
from vstore.objects.layout import segment_name
from vstore.objects.segment import SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_header
from vstore.objects.segment_files import (
    SegmentFiles,
    Window,
    digest_of_range,
    file_size,
    pread,
)

__all__ = ["Damage", "LogReader", "Tail", "digest_of_range", "file_size", "pread"]


class Tail(msgspec.Struct, frozen=True, kw_only=True):
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


class LogReader:
    """A log, read only.

    Args:
        folder: ``objects/log`` of a package; an absent one is an empty log.
        files: Its segments where they are no files of that folder.

    Raises:
        IntegrityError: No end can be found: a segment is missing or its header is damaged.
        UnsupportedError: A segment with features that this version doesn't know.
        StorageError: A file can't be read.
    """

    def __init__(self, folder: Path, files: SegmentFiles | None = None) -> None:
        self.folder = folder
        self.files = SegmentFiles(folder) if files is None else files
        self._frames = FrameWalk(self.files)
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
        self.files.close()

    def fd(self, number: int) -> int | Window:
        """A descriptor of a segment; errors as :meth:`SegmentFiles.fd`."""
        return self.files.fd(number)

    def header(self, number: int) -> SegmentHeader:
        """The header of a segment; errors as :meth:`SegmentFiles.header`."""
        return self.files.header(number)

    def valid_end(self, number: int) -> int:
        """How many bytes of a segment are valid: what the next one's header says, or the tail."""
        if number == self.tail.segment:
            return self.tail.end
        return self.header(number + 1).previous_valid

    # ---- the end

    def _open_end(self) -> None:
        numbers = self.files.numbers()
        if not numbers:
            return
        last = numbers[-1]
        raw = pread(self.fd(last), SEGMENT_HEADER_BYTES, 0)
        if parse_segment_header(raw, last) is None and self.files.is_residue(last):
            self.residue = last
            self.files.forget(last)
            numbers.pop()
        if not numbers:
            return
        last = numbers[-1]
        if self.residue is not None and self.residue != last + 1:
            self.damage.append(missing_segment(last + 1))
        expected = set(range(1, last + 1))
        for number in sorted(expected - set(numbers)):
            self.damage.append(missing_segment(number))
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
        last = self._frames.ending_at(number, size)
        if last is not None and self._frames.follows(last):
            self.tail = _tail_after(last)
            return
        # No valid frame at the end: go through the segment to tell torn from damaged.
        self.tail = start
        self._extend_tail(size)

    def _extend_tail(self, size: int) -> bool:
        """Follow the last segment from the known end; True when there were more frames."""
        before = self.tail
        tail = before
        for found in self._frames.walk(
            before.segment, before.end, size, before.sequence, before.head, last=True
        ):
            if isinstance(found, Damage):
                self.damage.append(found)
                continue
            tail = _tail_after(found)
        self.tail = msgspec.structs.replace(tail, torn=size - tail.end)
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
            self.files.forget(number)
            self.residue = number
            return False
        self.residue = None
        header = self.header(number)
        if self.tail.end < header.previous_valid:
            # Frames may have been added between the look at the size and the one at the file.
            self._extend_tail(file_size(self.fd(self.tail.segment)))
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

    def scan(self, head: bytes = NO_GENERATION) -> Iterator[FrameSummary | Damage]:
        """All frames in order, each checked in full, and all damage between them.

        Args:
            head: The head generation before the first frame, 32 bytes, zeros for none.
        """
        sequence = 0
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
            for found in self._frames.walk(
                number,
                SEGMENT_HEADER_BYTES,
                end,
                sequence,
                head,
                # The tail was found before: up to it, what is no frame is damage.
                last=False,
            ):
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

    def backwards(self) -> Iterator[FrameSummary]:
        """All frames from the last to the first; headers are checked, payloads are not read.

        Raises:
            IntegrityError: The chain is broken at some frame.
        """
        tail = self.tail
        if tail.segment == 0:
            return iter(())
        return self._frames.backwards(tail.segment, tail.end, tail.sequence, tail.head)

    def read(self, number: int, offset: int) -> tuple[FrameSummary, bytes]:
        """One frame by its place, its stored payload with it, checked in full.

        Raises:
            IntegrityError: There is no valid frame.
        """
        return self._frames.read(number, offset, self.valid_end(number))
