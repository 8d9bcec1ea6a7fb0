"""Reading the append-only log: where it ends, its frames forwards and backwards, its damage.

A log is a row of segment files, each a header and frames. Opening looks at the end only:
the last frame's trailer leads to its header. When the end is no valid frame, the last
segment is read from its beginning to tell a torn tail from damage (spec: storage,
"Recovery"). Segments that were sealed in packs are read from those, by the same numbers and
offsets; where a segment has gone, the packs are looked at again. Nothing here takes a lock
or writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from vstore.errors import IntegrityError
from vstore.objects.damage import Damage, broken_at, missing_segment
from vstore.objects.frame import (
    NO_GENERATION,
    TRAILER_BYTES,
    FrameSummary,
    compress,
    read_payload,
)
from vstore.objects.frame_walk import FrameWalk
from vstore.objects.layout import LOG, PACKS, pack_range, segment_name
from vstore.objects.pack_set import PackSet
from vstore.objects.segment import SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_header
from vstore.objects.segment_files import (
    SegmentFiles,
    Window,
    digest_of_range,
    file_size,
    pread,
)

if TYPE_CHECKING:
    from vstore.objects.pack_file import PackFile
    from vstore.objects.pack_walk import PackWalk

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


#: Looks at folders that change meanwhile.
_TRIES: Final = 8

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


def _pack_walk(*, in_full: bool) -> PackWalk:
    # Most packages have no packs, and whoever reads one pays for none.
    from vstore.objects.pack_walk import PackWalk

    return PackWalk(in_full=in_full)


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
        #: Where sealed segments may be.
        self.packs = PackSet(folder.parent / "pack" if files is None else None)
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
        self.packs.close()

    def fd(self, number: int) -> int | Window:
        """A descriptor of a segment; errors as :meth:`SegmentFiles.fd`."""
        return self.files.fd(number)

    def header(self, number: int) -> SegmentHeader:
        """The header of a segment; errors as :meth:`SegmentFiles.header`."""
        pack = self.packs.covering(number)
        if pack is None:
            try:
                return self.files.header(number)
            except IntegrityError as error:
                pack = self._moved(number, error)
        return pack.header(number)

    def valid_end(self, number: int) -> int:
        """How many bytes of a segment are valid: what the next one's header says, or the tail."""
        if number == self.tail.segment:
            return self.tail.end
        pack = self.packs.covering(number)
        return self.header(number + 1).previous_valid if pack is None else pack.valid_end(number)

    def following(self, number: int) -> SegmentHeader:
        """What a segment that came behind this one says, or would say."""
        tail = self.tail
        if number != tail.segment:
            return self.header(number + 1)
        torn = bytes(32)
        if tail.torn:
            torn = digest_of_range(self.fd(number), tail.end, tail.end + tail.torn)
        return SegmentHeader(
            number=number + 1,
            salt=bytes(16),
            first_sequence=tail.sequence + 1,
            head=tail.head,
            previous_valid=tail.end,
            torn_length=tail.torn,
            torn_digest=torn,
        )

    def _moved(self, number: int, error: IntegrityError) -> PackFile:
        """The pack that a segment has moved to; raises the error where there is none."""
        if error.kind == "missing_segment":
            self.packs.look()
            pack = self.packs.covering(number)
            if pack is not None:
                return pack
        raise error

    def space(self) -> tuple[int, int]:
        """Bytes of the segments that are files of their own, and of the packs."""
        loose = (
            self.valid_end(number)
            for number in self.files.numbers()
            if number <= self.tail.segment and self.packs.covering(number) is None
        )
        return sum(loose), sum(one.size for one in self.packs.packs)

    @property
    def superseded(self) -> list[str]:
        """Files that a pack has replaced and that are still there, by path in the package."""
        names = [f"{PACKS}/{name}" for name in self.packs.superseded]
        if self.packs:
            names += [
                f"{LOG}/{segment_name(number)}"
                for number in self.files.numbers()
                if self.packs.covering(number) is not None
            ]
        return sorted(names)

    # ---- the end

    def _open_end(self) -> None:
        numbers, missing = self._list()
        self.damage += self.packs.damage
        if not numbers and not self.packs:
            return
        packed = self.packs.packs[-1].last if self.packs else 0
        last = numbers[-1] if numbers else 0
        if last > packed:
            raw = pread(self.fd(last), SEGMENT_HEADER_BYTES, 0)
            if parse_segment_header(raw, last) is None and self.files.is_residue(last):
                self.residue = last
                self.files.forget(last)
                numbers.pop()
        last = max(packed, numbers[-1] if numbers else 0)
        if not last:
            return
        if self.residue is not None and self.residue != last + 1:
            self.damage.append(missing_segment(last + 1))
        self.damage += [missing_segment(number) for number in missing if number < last]
        if last == packed:
            # A repack begins a new segment before it seals the last one.
            self.damage.append(missing_segment(last + 1))
            self.tail = self._packed_tail(last)
            return
        self._find_tail(last)

    def _list(self) -> tuple[list[int], list[int]]:
        """The numbers of all segment files, sorted, and those that are nowhere."""
        missing: list[int] = []
        numbers: list[int] = []
        # Segments first: one that goes after they were listed is in a pack by then.
        for _ in range(_TRIES):
            numbers = self.files.numbers()
            self.packs.look()
            last = numbers[-1] if numbers else 0
            there = {*numbers}
            missing = [
                one
                for one in range(1, last)
                if one not in there and self.packs.covering(one) is None
            ]
            if not missing:
                break
        return numbers, [one for one in missing if self._lost_with(one) is None]

    def _lost_with(self, number: int) -> Damage | None:
        """The damage of the pack that should have a segment and can't be used."""
        for one in self.packs.damage:
            if one.kind == "bad_pack":
                first, last = pack_range(one.pack) or (0, 0)
                if first <= number <= last:
                    return one
        return None

    def _packed_tail(self, number: int) -> Tail:
        """The end of a segment in a pack."""
        pack = self.packs.covering(number)
        assert pack is not None
        end = pack.valid_end(number)
        frame = pack.ending_at(number, end)
        if frame is not None:
            return _tail_after(frame)
        header = pack.header(number)
        return Tail(
            segment=number,
            end=end,
            torn=0,
            sequence=header.first_sequence - 1,
            head=header.head,
            digest=b"",
        )

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
        if self._is_current():
            return False
        changed = False
        if self.tail.segment == 0:
            self._open_end()
            return self.tail.segment != 0 and self.tail.sequence > 0
        while True:
            if self._tail_moved():
                changed |= self._follow_into_pack()
                if not self._next_segment():
                    return changed
                continue
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

    def _is_current(self) -> bool:
        """Whether nothing happened behind the tail, seen by two questions to the system.

        Every publication asks three times; False only means that it takes a closer look.
        """
        number = self.tail.segment
        if self._following[0] != number + 1 or self.packs.packs:
            return False
        size = self.files.named_size(number)
        return size == self.tail.end and not os.path.exists(  # noqa: PTH110
            self._following[1]
        )

    def _tail_moved(self) -> bool:
        """Whether the segment that was the last one was sealed in a pack meanwhile."""
        number = self.tail.segment
        if self.packs.covering(number) is not None:
            return True
        try:
            fd = self.fd(number)
        except IntegrityError as error:
            return self._moved(number, error) is not None
        if isinstance(fd, int) and os.fstat(fd).st_nlink == 0:
            self.packs.look()
        return self.packs.covering(number) is not None

    def _follow_into_pack(self) -> bool:
        """Go from the tail to the end of the pack that has it; True when frames lie between.

        Raises:
            IntegrityError: The pack doesn't have what was the end (``history_replaced``).
        """
        before = self.tail
        pack = self.packs.covering(before.segment)
        assert pack is not None
        frame = pack.ending_at(before.segment, before.end)
        begins = frame is None and before.end == SEGMENT_HEADER_BYTES
        if (begins and pack.header(before.segment).head != before.head) or (
            not begins and (frame is None or frame.raw_head != before.head)
        ):
            raise IntegrityError(
                "the package was replaced under a running process",
                kind="history_replaced",
                hint="start again and verify it",
            )
        self.files.forget(before.segment)
        self.tail = self._packed_tail(pack.last)
        return self.tail.sequence != before.sequence

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
        if self.tail.end < header.previous_valid and not self.packs.covering(number - 1):
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

    def scan(
        self,
        head: bytes = NO_GENERATION,
        *,
        in_full: bool = False,
        lightly: bool = False,
    ) -> Iterator[FrameSummary | Damage]:
        """All frames in order, each checked in full, and all damage between them.

        Args:
            head: The head generation before the first frame, 32 bytes, zeros for none.
            in_full: Check packs in full too, and not just what is read of them.
            lightly: Believe the digests of frames that are in no pack.
        """
        sequence = 0
        frames = FrameWalk(self.files, lightly=True) if lightly else self._frames
        walk = _pack_walk(in_full=in_full) if self.packs else None
        told: list[Damage] = []
        for number in range(1, self.tail.segment + 1):
            try:
                header = self.header(number)
                end = self.valid_end(number)
            except IntegrityError as error:
                lost = self._lost_with(number)
                if lost is not None:
                    if lost not in told:
                        yield lost
                    told.append(lost)
                    sequence = -1
                    continue
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
            for found in self._scan_segment(frames, walk, number, end, sequence, head):
                if isinstance(found, FrameSummary):
                    sequence, head = found.sequence, found.raw_head
                elif found.pack:
                    # How many frames a lost block had is known, but not the head after it.
                    sequence = -1
                yield found
            if number < self.tail.segment:
                yield from self._check_torn(number, end)
        if walk is not None:
            yield from walk.finish()

    def _scan_segment(
        self,
        frames: FrameWalk,
        packed: PackWalk | None,
        number: int,
        end: int,
        sequence: int,
        head: bytes,
    ) -> Iterator[FrameSummary | Damage]:
        start = SEGMENT_HEADER_BYTES
        pack = self.packs.covering(number)
        if pack is None:
            try:
                # The tail was found before: up to it, what is no frame is damage.
                for found in frames.walk(number, start, end, sequence, head, last=False):
                    if isinstance(found, FrameSummary):
                        start = found.offset + found.length
                        sequence, head = found.sequence, found.raw_head
                    yield found
            except IntegrityError as error:
                pack = self._moved(number, error)
        if pack is not None:
            packed = packed or _pack_walk(in_full=False)
            yield from packed.segment(pack, number, start, sequence, head)

    def segment_frames(self, number: int) -> Iterator[FrameSummary]:
        """The frames of one segment, each checked in full.

        Raises:
            IntegrityError: At damage, also of what the next segment says of this one.
        """
        header, end = self.header(number), self.valid_end(number)
        sequence, head = header.first_sequence - 1, header.head
        for found in self._scan_segment(self._frames, None, number, end, sequence, head):
            if isinstance(found, Damage):
                raise found.error()
            sequence, head = found.sequence, found.raw_head
            yield found
        following = self.following(number)
        if (following.first_sequence, following.head) != (sequence + 1, head):
            raise broken_at(number + 1, 0)
        for damage in self._check_torn(number, end):
            raise damage.error()

    def _check_torn(self, number: int, end: int) -> Iterator[Damage]:
        """Compare the bytes behind the valid ones with what the next segment recorded."""
        following = self.following(number)
        pack = self.packs.covering(number)
        size, digest = end, bytes(32)
        if pack is None:
            try:
                fd = self.fd(number)
                size = file_size(fd)
                if following.torn_length and size == end + following.torn_length:
                    digest = digest_of_range(fd, end, size)
            except IntegrityError as error:
                pack = self._moved(number, error)
        if pack is not None:
            torn, digest = pack.torn(number)
            size = end + torn
        if size != end + following.torn_length or digest != following.torn_digest:
            yield Damage(
                kind="torn_bytes_changed",
                segment=number,
                start=end,
                end=max(size, end),
                first_lost=following.first_sequence,
                frames_lost=0,
            )

    def torn_bytes(self, number: int) -> bytes:
        """What is behind the valid bytes of a segment."""
        end, length = self.valid_end(number), self.following(number).torn_length
        pack = self.packs.covering(number)
        return pread(self.fd(number), length, end) if pack is None else pack.torn_bytes(number)

    def backwards(self, *, packed: bool = True) -> Iterator[FrameSummary]:
        """All frames from the last to the first; headers are checked, payloads are not read.

        Args:
            packed: Also those in packs, which are behind all others.

        Raises:
            IntegrityError: The chain is broken at some frame.
        """
        tail = self.tail
        number, end, sequence, head = tail.segment, tail.end, tail.sequence, tail.head
        while number:
            pack = self.packs.covering(number)
            if pack is None:
                try:
                    for frame in self._frames.backwards(number, end, sequence, head):
                        yield frame
                        end, sequence, head = frame.offset, frame.sequence - 1, frame.raw_parent
                except IntegrityError as error:
                    self._moved(number, error)
                    continue
            elif packed:
                for frame in pack.backwards(number, end):
                    if frame.sequence != sequence or frame.raw_head != head:
                        raise broken_at(number, frame.offset)
                    yield frame
                    sequence, head = frame.sequence - 1, frame.raw_parent
            else:
                return
            header = self.header(number)
            if header.first_sequence != sequence + 1 or header.head != head:
                raise broken_at(number, SEGMENT_HEADER_BYTES)
            number -= 1
            end = header.previous_valid
        if tail.segment and (sequence or head != NO_GENERATION):
            raise broken_at(1, SEGMENT_HEADER_BYTES)

    def digest_before(self, number: int, end: int) -> bytes:
        """Digest of the frame that ends there: 32 bytes, of a packed one the first few.

        Raises:
            IntegrityError: The segment is missing, or its pack has no such frame.
        """
        pack = self.packs.covering(number)
        if pack is None:
            try:
                return pread(self.fd(number), TRAILER_BYTES, end - TRAILER_BYTES)[:32]
            except IntegrityError as error:
                pack = self._moved(number, error)
        frame = pack.ending_at(number, end)
        if frame is None:
            raise broken_at(number, end)
        return frame.digest

    def read(self, number: int, offset: int) -> tuple[FrameSummary, bytes]:
        """One frame by its place, its stored payload with it, checked in full.

        The payload of a frame in a pack is compressed anew.

        Raises:
            IntegrityError: There is no valid frame.
        """
        pack = self.packs.covering(number)
        if pack is None:
            try:
                return self._frames.read(number, offset, self.valid_end(number))
            except IntegrityError as error:
                pack = self._moved(number, error)
        found, payload = pack.read(number, offset)
        return found, compress(payload) if payload else b""

    def read_objects(self, number: int, offset: int) -> tuple[FrameSummary, bytes]:
        """One frame by its place, its uncompressed objects with it, checked in full.

        Raises:
            IntegrityError: There is no valid frame.
            UnsupportedError: It has features that this version doesn't know.
        """
        pack = self.packs.covering(number)
        if pack is None:
            try:
                found, stored = self._frames.read(number, offset, self.valid_end(number))
                return found, read_payload(found, stored)
            except IntegrityError as error:
                pack = self._moved(number, error)
        return pack.read(number, offset)

    def stored(self, frame: FrameSummary) -> bytes | None:
        """The stored payload of a frame that was checked a moment ago, None of one in a pack."""
        if self.packs.covering(frame.segment) is not None:
            return None
        try:
            start = frame.offset + frame.header_length
            return pread(self.fd(frame.segment), frame.stored_length, start)
        except IntegrityError as error:
            self._moved(frame.segment, error)
            return None

    def payload(self, frame: FrameSummary) -> bytes:
        """The uncompressed objects of a frame that was checked a moment ago.

        Raises:
            IntegrityError: Table or compressed bytes contradict the header.
            UnsupportedError: Features that this version doesn't know.
        """
        stored = self.stored(frame)
        if stored is not None:
            return read_payload(frame, stored)
        pack = self.packs.covering(frame.segment)
        assert pack is not None
        return pack.read(frame.segment, frame.offset)[1]

    def find_packed(self, oid: bytes) -> FrameSummary | None:
        """A frame in a pack that has an object, 32 bytes; None for none.

        Raises:
            IntegrityError: A pack is damaged.
        """
        return self.packs.find(oid) if self.packs else None
