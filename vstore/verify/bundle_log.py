"""The log of a bundle for the verifier: its limits, its layout, and what it continues."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from copy import copy

from msgspec.structs import replace

from vstore.errors import IntegrityError, LimitExceeded
from vstore.objects.frame import NO_GENERATION, FrameSummary
from vstore.objects.layout import LOG
from vstore.objects.log import Damage, LogReader
from vstore.objects.segment import SEGMENT_HEADER_BYTES
from vstore.package.bundle_file import BundleFile
from vstore.package.bundle_log import SEGMENT_BYTES, BundleSegments, max_raw_bytes, segment_salt
from vstore.verify.folder import FolderLog
from vstore.verify.source import BASE_SEGMENTS

__all__ = ["BundleLog"]


class BundleLog(FolderLog):
    """The log of a bundle; of an incremental one, behind the frames that it continues.

    Args:
        bundle: The bundle.
        since: The generation that it continues, 32 bytes, zeros for none.
        base: The log that has that generation, or None where it isn't at hand.

    Raises:
        IntegrityError, UnsupportedError, StorageError: As :class:`LogReader`.
    """

    def __init__(self, bundle: BundleFile, since: bytes, base: FolderLog | None) -> None:
        folder = bundle.path / LOG
        super().__init__(folder, LogReader(folder, BundleSegments(bundle)), since)
        self._since = since
        self._base = base
        self._raw_left = max_raw_bytes(bundle.size)
        #: Generations that the bundle itself has, as far as they were given.
        self.generations = 0

    def frames(self, *, lightly: bool = False) -> Iterator[FrameSummary | Damage]:
        """See :meth:`LogSource.frames`.

        Raises:
            LimitExceeded: The objects are out of proportion to the bundle's size.
        """
        self._check_claims()
        if self._base is not None:
            yield from self._base_frames(self._base, lightly=lightly)
        last = 0, 0, 0
        head = NO_GENERATION
        for one in super().frames(lightly=lightly):
            if isinstance(one, FrameSummary):
                self._spend(one)
                self.generations += one.raw_generation != NO_GENERATION
                # A segment ends with the frame that fills it, and only there.
                if last[0] and (last[2] >= SEGMENT_BYTES) != (last[0] != one.segment):
                    yield _layout(*last)
                # Whoever takes the frame may number its segment anew.
                last = one.segment, one.offset, one.offset + one.length
                head = one.raw_head
            yield one
        yield from self._check_headers(last[0], head)

    def _base_frames(self, base: FolderLog, *, lightly: bool) -> Iterator[FrameSummary | Damage]:
        for one in base.frames(lightly=lightly):
            if isinstance(one, Damage):
                yield replace(one, segment=one.segment + BASE_SEGMENTS)
                continue
            # A reader of packs keeps its frames.
            one = copy(one)
            one.segment += BASE_SEGMENTS
            yield one
            if one.raw_generation == self._since:
                return

    def _check_claims(self) -> None:
        """Refuse, before anything is decompressed, what would take too long."""
        allowed = self._raw_left
        # Behind damage the claims of frames count as they come.
        with contextlib.suppress(IntegrityError):
            for frame in self._reader.backwards():
                self._spend(frame)
        self._raw_left = allowed

    def _spend(self, frame: FrameSummary) -> None:
        self._raw_left -= frame.raw_length
        # A malformed table is found where the objects are taken from it.
        with contextlib.suppress(IntegrityError):
            self._raw_left -= sum(one.length for one in frame.large() if one.state == "present")
        if self._raw_left < 0:
            raise LimitExceeded(
                "the objects are too many times larger than their compressed form",
                limit="max_raw_bytes",
            )

    def _check_headers(self, last: int, head: bytes) -> Iterator[Damage]:
        for number in range(1, last + 1):
            header = self._reader.header(number)
            salt = segment_salt(number, head, self._since)
            if header.salt != salt or header.torn_length:
                yield _layout(number, 0, SEGMENT_HEADER_BYTES)

    def foreign(self, frame: FrameSummary) -> bool:
        """See :meth:`LogSource.foreign`."""
        return frame.segment > BASE_SEGMENTS

    def payload(self, frame: FrameSummary) -> bytes:
        """See :meth:`LogSource.payload`."""
        if self._base is None or not self.foreign(frame):
            return super().payload(frame)
        frame.segment -= BASE_SEGMENTS
        try:
            return self._base.payload(frame)
        finally:
            frame.segment += BASE_SEGMENTS

    def payload_at(self, segment: int, offset: int) -> bytes:
        """See :meth:`LogSource.payload_at`."""
        if self._base is None or segment <= BASE_SEGMENTS:
            return super().payload_at(segment, offset)
        return self._base.payload_at(segment - BASE_SEGMENTS, offset)

    def close(self) -> None:
        """See :meth:`LogSource.close`."""
        super().close()
        if self._base is not None:
            self._base.close()


def _layout(segment: int, start: int, end: int) -> Damage:
    return Damage(
        kind="bundle_layout",
        segment=segment,
        start=start,
        end=end,
        first_lost=0,
        frames_lost=0,
    )
