"""A package directory, read without following links, taking locks or writing anything."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from vstore.errors import StorageError
from vstore.objects.frame import FrameSummary, LargeEntry, read_payload
from vstore.objects.ids import ObjectId
from vstore.objects.large import open_large, read_chunks
from vstore.objects.layout import LOG, large_path, read_format
from vstore.objects.log import Damage, LogReader, pread
from vstore.objects.refs import BadRef, read_refs
from vstore.verify.source import PackageFile, Torn

__all__ = ["FolderLog", "FolderSource"]

#: Folders inside folders at the most; packages need four.
_MAX_DEPTH: Final = 32


class FolderSource:
    """The files below one folder; see :class:`vstore.verify.source.PackageSource`.

    Args:
        root: The folder.
    """

    bundle = False

    def __init__(self, root: Path) -> None:
        self.root = root

    def entries(self) -> Iterator[PackageFile]:
        """See :meth:`PackageSource.entries`; sorted by name within each folder."""
        yield from self._below("", 0)

    def _below(self, prefix: str, depth: int) -> Iterator[PackageFile]:
        try:
            with os.scandir(self.root / prefix) as found:
                names = sorted(found, key=lambda one: os.fsencode(one.name))
        except OSError as error:
            raise _unreadable(prefix or ".", error) from error
        for one in names:
            path = prefix + one.name
            try:
                status = one.stat(follow_symlinks=False)
            except OSError as error:
                raise _unreadable(path, error) from error
            if stat.S_ISREG(status.st_mode):
                yield PackageFile(path, "file", status.st_size)
            elif stat.S_ISDIR(status.st_mode) and depth < _MAX_DEPTH:
                yield PackageFile(path, "folder", 0)
                yield from self._below(path + "/", depth + 1)
            else:
                yield PackageFile(path, "special", 0)

    def open(self, path: str) -> BinaryIO:
        """See :meth:`PackageSource.open`."""
        try:
            # Never wait at a FIFO that somebody put here, never follow a link out.
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(self.root / path, flags)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise StorageError("no such file", kind="no_file", path=path) from error
        except OSError as error:
            raise _unreadable(path, error) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise StorageError("not a regular file", kind="not_a_file", path=path)
        return os.fdopen(fd, "rb")

    def refs(self) -> dict[str, ObjectId | BadRef]:
        """See :meth:`PackageSource.refs`."""
        return read_refs(self.root)

    def large_chunks(self, entry: LargeEntry) -> Iterator[bytes]:
        """See :meth:`PackageSource.large_chunks`."""
        path = large_path(self.root, entry.oid)
        return read_chunks(path, length=entry.length, stored_length=entry.stored_length)

    def open_large(self, entry: LargeEntry) -> BinaryIO:
        """See :meth:`PackageSource.open_large`."""
        path = large_path(self.root, entry.oid)
        return open_large(path, entry.oid, length=entry.length, stored_length=entry.stored_length)

    def check_format(self) -> None:
        """See :meth:`PackageSource.check_format`."""
        read_format(self.root)

    def log(self) -> FolderLog:
        """See :meth:`PackageSource.log`."""
        return FolderLog(self.root / LOG)


class FolderLog:
    """The log of a package directory; see :class:`vstore.verify.source.LogSource`.

    Args:
        folder: ``objects/log``.
    """

    def __init__(self, folder: Path) -> None:
        self._reader = LogReader(folder)
        tail = self._reader.tail
        self.torn = Torn(tail.segment, tail.end, tail.torn) if tail.torn else None
        self.residue = self._reader.residue

    def frames(self) -> Iterator[FrameSummary | Damage]:
        """See :meth:`LogSource.frames`."""
        reported: set[tuple[int, int]] = set()
        for one in self._reader.scan():
            if isinstance(one, Damage):
                reported.add((one.segment, one.start))
            yield one
        for one in self._reader.damage:
            if (one.segment, one.start) not in reported:
                yield one

    def payload(self, frame: FrameSummary) -> bytes:
        """See :meth:`LogSource.payload`."""
        start = frame.offset + frame.header_length
        stored = pread(self._reader.fd(frame.segment), frame.stored_length, start)
        return read_payload(frame, stored)

    def payload_at(self, segment: int, offset: int) -> bytes:
        """See :meth:`LogSource.payload_at`."""
        found, stored = self._reader.read(segment, offset)
        return read_payload(found, stored)

    def close(self) -> None:
        """See :meth:`LogSource.close`."""
        self._reader.close()


def _unreadable(path: str, error: OSError) -> StorageError:
    reason = os.strerror(error.errno or errno.EIO)
    return StorageError(f"can't be read: {reason}", kind="unreadable", path=path)
