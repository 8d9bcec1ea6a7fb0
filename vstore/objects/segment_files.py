"""The segment files of a log, open for reading, and their headers."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final, NamedTuple

from blake3 import blake3

from vstore.errors import StorageError, UnsupportedError
from vstore.objects.damage import Damage, missing_segment
from vstore.objects.layout import segment_name, segment_number
from vstore.objects.segment import SEGMENT_HEADER_BYTES, SegmentHeader, parse_segment_header

__all__ = ["SegmentFiles", "Window", "digest_of_range", "file_size", "pread"]

_STEP: Final = 1 << 20
_MAX_OPEN: Final = 32


class Window(NamedTuple):
    """A part of an open file, read as if it were a file of its own."""

    fd: int
    #: Where it begins, in bytes.
    start: int
    size: int


def pread(fd: int | Window, length: int, offset: int) -> bytes:
    """Read ``length`` bytes, fewer only at the end of the file.

    Raises:
        StorageError: The system failed.
    """
    if isinstance(fd, Window):
        length = max(0, min(length, fd.size - offset))
        offset += fd.start
        fd = fd.fd
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


def file_size(fd: int | Window) -> int:
    """The size of an open file in bytes."""
    if isinstance(fd, Window):
        return fd.size
    try:
        return os.fstat(fd).st_size
    except OSError as error:  # pragma: no cover
        raise StorageError("can't read the log", kind="unreadable") from error


def digest_of_range(fd: int | Window, start: int, end: int) -> bytes:
    """BLAKE3 of the bytes of a file from ``start`` to ``end``."""
    hasher = blake3()
    while start < end:
        chunk = pread(fd, min(_STEP, end - start), start)
        if not chunk:
            break
        hasher.update(chunk)
        start += len(chunk)
    return hasher.digest()


class SegmentFiles:
    """Descriptors and headers of the segments in a folder, opened as they are asked for.

    A descriptor is good until the next one is asked for: at most 32 stay open.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fds: dict[int, int] = {}
        self._headers: dict[int, SegmentHeader] = {}

    def close(self) -> None:
        """Close all files."""
        fds, self._fds = self._fds, {}
        for fd in fds.values():
            os.close(fd)

    def forget(self, number: int) -> None:
        """Close one file: another one may take its place."""
        fd = self._fds.pop(number, None)
        if fd is not None:
            os.close(fd)

    def fd(self, number: int) -> int | Window:
        """A descriptor of a segment file for reading; kept and closed here."""
        fd = self._fds.get(number)
        if fd is not None:
            return fd
        try:
            fd = os.open(
                self.folder / segment_name(number),
                os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC,
            )
        except FileNotFoundError:
            raise missing_segment(number).error() from None
        except OSError as error:
            raise StorageError(
                f"can't read segment {number}: {os.strerror(error.errno or errno.EIO)}",
                kind="unreadable",
            ) from error
        if len(self._fds) >= _MAX_OPEN:
            os.close(self._fds.pop(next(iter(self._fds))))
        self._fds[number] = fd
        return fd

    def named_size(self, number: int) -> int | None:
        """The size in bytes of a segment that is open and still has a name; None otherwise."""
        fd = self._fds.get(number)
        if fd is None:
            return None
        try:
            found = os.fstat(fd)
        except OSError:  # pragma: no cover
            return None
        return found.st_size if found.st_nlink else None

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

    def numbers(self) -> list[int]:
        """The numbers of all segment files, sorted."""
        try:
            with os.scandir(self.folder) as found:
                # Numbers alone are kept, however many files lie there.
                numbers = [
                    number for one in found if (number := segment_number(one.name)) is not None
                ]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(
                f"can't read the log: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
            ) from error
        return sorted(numbers)

    def is_residue(self, number: int) -> bool:
        """Whether a segment without a valid header is what a crash while rolling leaves."""
        fd = self.fd(number)
        position = 0
        size = file_size(fd)
        if size <= SEGMENT_HEADER_BYTES:
            # A header is synced before the first frame is written behind it.
            return parse_segment_header(pread(fd, size, 0), number) is None
        while position < size:
            chunk = pread(fd, _STEP, position)
            if not chunk:
                break
            if chunk.count(0) != len(chunk):
                return False
            position += len(chunk)
        return True
