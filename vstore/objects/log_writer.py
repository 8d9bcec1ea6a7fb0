"""Appending to the log: one write and one data sync per frame, segments that roll.

Whoever calls holds the publication lock. Torn bytes that a crash left are never cut: the
next append goes to a new segment whose header records them (spec: storage, "Recovery").
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from vstore.errors import IntegrityError, StorageError, UnsupportedError
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.frame import FrameSummary, encode_frame, summary_of
from vstore.objects.layout import TMP, segment_name
from vstore.objects.log import LogReader, digest_of_range, file_size
from vstore.objects.segment import SegmentHeader, encode_segment_header

__all__ = ["SEGMENT_BYTES", "LogWriter", "random_salt"]

#: A segment is not appended to once it is this long.
SEGMENT_BYTES: Final = 32 * 1024 * 1024


def random_salt() -> bytes:
    """16 random bytes for a new segment."""
    return os.urandom(16)


class LogWriter:
    """Appends frames behind what a :class:`LogReader` read.

    Args:
        root: The package's folder.
        log: The log; it is kept in step.
        io: Durable I/O.
        segment_bytes: When to roll, 1 or more.
        salt: Gives 16 random bytes for a new segment.
    """

    def __init__(
        self,
        root: Path,
        log: LogReader,
        *,
        io: DurableIO = REAL,
        segment_bytes: int = SEGMENT_BYTES,
        salt: Callable[[], bytes] = random_salt,
    ) -> None:
        self._root = root
        self._log = log
        self._io = io
        self._segment_bytes = segment_bytes
        self._salt = salt
        self._fd = -1
        self._segment = 0
        self._path = ""
        self._opened: os.stat_result
        #: Segment, end and torn bytes behind it that this process has synced, or None.
        self._synced: tuple[int, int, int] | None = None
        #: Set after a failed sync: nobody knows what is on the disk, so nothing is added.
        self.stopped = False

    def close(self) -> None:
        """Close the segment."""
        if self._fd >= 0:
            self._io.close(self._fd)
        self._fd, self._segment = -1, 0

    def check(self) -> None:
        """Refuse to write where that could make damage worse.

        Raises:
            StorageError: A sync failed before (``writer_stopped``).
            IntegrityError: The log is damaged.
            UnsupportedError: The last frame has features that this version doesn't know.
        """
        if self.stopped:
            raise StorageError(
                "this writer stopped after a sync failed",
                kind="writer_stopped",
                hint="open the package again to see what was stored",
            )
        if self._log.damage:
            raise self._log.damage[0].error()
        if self._log.tail.features:
            raise UnsupportedError(
                "the last frame has features that this version doesn't know; the package is "
                "read-only for it",
                kind="unsupported_frame",
                hint="use a newer vstore to write",
            )

    def ensure_synced(self) -> None:
        """Sync the end of the log unless this process did; a repeat may be answered then.

        Raises:
            StorageError: The sync failed, outcome unknown; this writer stops.
        """
        tail = self._log.tail
        end = (tail.segment, tail.end, tail.torn)
        if tail.segment == 0 or self._synced == end:
            return
        self._open(tail.segment)
        self._sync(self._fd)
        self._synced = end

    def append(
        self,
        *,
        generation: bytes,
        objects: Iterable[tuple[bytes, int, bytes]],
        large: Sequence[tuple[bytes, int, int, int, bytes]] = (),
        sync: bool = True,
    ) -> FrameSummary:
        """Append one frame and sync it; returns its header.

        Args:
            generation: The generation that it publishes, 32 bytes, zeros for none.
            objects: Id, kind and bytes of each object.
            large: The table entries of large objects.
            sync: Sync it; without, the caller appends more and then calls
                :meth:`ensure_synced`, before anybody is told of any.

        Raises:
            StorageError: Nothing was published, or the outcome is unknown (as ``details``
                say) and this writer stops.
            IntegrityError: As :meth:`check`, or the log's file has another in its place
                (``history_replaced``).
            UnsupportedError: As :meth:`check`.
        """
        self.check()
        tail = self._log.tail
        size = 0
        if tail.segment:
            self._open(tail.segment)
            size = self._named_size(tail.segment)
        if tail.segment == 0 or tail.torn or tail.end >= self._segment_bytes:
            self._roll()
            tail = self._log.tail
            self._open(tail.segment)
            size = file_size(self._fd)
        elif sync:
            self.ensure_synced()
        if size != tail.end:
            raise IntegrityError(
                "the log changed while the publication lock was held", kind="log_changed"
            )
        frame = encode_frame(
            salt=self._log.header(tail.segment).salt,
            offset=tail.end,
            sequence=tail.sequence + 1,
            parent=tail.head,
            generation=generation,
            objects=objects,
            large=large,
        )
        self._io.write(self._fd, frame)
        if sync:
            self._sync(self._fd)
        summary = summary_of(frame, tail.segment)
        self._log.advance(summary)
        if sync:
            self._synced = (tail.segment, tail.end + len(frame), 0)
        return summary

    def roll(self) -> bool:
        """Begin a new segment unless the last one has no frame yet; whether it did.

        Raises:
            StorageError, IntegrityError, UnsupportedError: As :meth:`append`.
        """
        self.check()
        tail = self._log.tail
        if tail.segment and tail.sequence >= self._log.header(tail.segment).first_sequence:
            self._open(tail.segment)
            self._named_size(tail.segment)
            self._roll()
            return True
        return False

    def _open(self, number: int) -> None:
        if self._segment == number:
            return
        self.close()
        self._path = str(self._log.folder / segment_name(number))
        self._fd = self._io.open_append(Path(self._path))
        self._segment = number
        self._opened = os.fstat(self._fd)

    def _named_size(self, number: int) -> int:
        """The size of the segment, of which the name still stands for the file that is open.

        Never add to a file that nobody can find any more: it would be lost unnoticed. Another
        copy of the package may have been put in its place, with a log that is read through
        one descriptor and written through another.
        """
        reading = self._log.fd(number)
        try:
            there = os.stat(self._path)  # noqa: PTH116 - at each publication
            same = os.path.samestat(self._opened, there) and (
                not isinstance(reading, int) or os.path.samestat(os.fstat(reading), there)
            )
        except OSError:
            same = False
        if not same:
            raise IntegrityError(
                "the package was replaced under a running process",
                kind="history_replaced",
                hint="start again and verify it",
            )
        return there.st_size

    def _sync(self, fd: int) -> None:
        try:
            self._io.sync(fd)
        except StorageError:
            self.stopped = True
            raise

    def _roll(self) -> None:
        """Start a new segment: written and synced under another name, then put in place."""
        log, io = self._log, self._io
        tail = log.tail
        torn_digest = bytes(32)
        # What the header records must be what a power cut would leave.
        self.ensure_synced()
        if tail.torn:
            torn_digest = digest_of_range(log.fd(tail.segment), tail.end, tail.end + tail.torn)
        number = tail.segment + 1
        header = SegmentHeader(
            number=number,
            salt=self._salt(),
            first_sequence=tail.sequence + 1,
            head=tail.head,
            previous_valid=tail.end,
            torn_length=tail.torn,
            torn_digest=torn_digest,
        )
        folder = log.folder
        for path in (folder.parent, folder, self._root / TMP):
            if not path.is_dir():
                io.mkdir(path)
                io.sync_folder(path.parent)
        temporary = self._root / TMP / f"segment-{os.getpid()}-{number}"
        io.discard(temporary)
        try:
            io.write_atomic(
                folder / segment_name(number),
                encode_segment_header(header),
                temporary=temporary,
                durable=True,
            )
        except StorageError as error:
            self.stopped = error.details.get("outcome") == "unknown"
            raise
        log.refresh()
        if log.tail.segment != number:
            raise IntegrityError("a new segment can't be read back", kind="bad_segment")
