"""A package directory, read without following links, taking locks or writing anything."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from vstore.errors import LimitExceeded, StorageError
from vstore.objects.frame import NO_GENERATION, FrameSummary, LargeEntry
from vstore.objects.ids import ObjectId
from vstore.objects.large import open_large, read_chunks
from vstore.objects.layout import LOG, large_path, read_format
from vstore.objects.log import Damage, LogReader
from vstore.objects.refs import BadRef, read_refs
from vstore.package.documents import Generation
from vstore.verify.report import FindingCollector
from vstore.verify.source import PackageFile, Torn

__all__ = ["MAX_FILES", "FolderLog", "FolderSource"]

#: Folders inside folders at the most; packages need four.
_MAX_DEPTH: Final = 32
#: Files and folders of a package that are looked at. A limit of this reader: no bundle has room
#: for as many, and whoever fills a folder must not fill the memory of who reads it.
MAX_FILES: Final = 100_000


class FolderSource:
    """The files below one folder; see :class:`vstore.verify.source.PackageSource`.

    Args:
        root: The folder.
        max_files: Files and folders that are looked at, 1 or more.
    """

    bundle = False
    partial: str | None = None

    def __init__(self, root: Path, *, max_files: int = MAX_FILES) -> None:
        self.root = root
        self._max_files = max_files
        self._count = 0

    def check_container(self, found: FindingCollector) -> bool:  # noqa: ARG002
        """A folder is no file with bytes of its own."""
        return True

    def check_claims(
        self, head: ObjectId | None, document: Generation | None, found: FindingCollector
    ) -> None:
        """A folder claims nothing."""

    def close(self) -> None:
        """Nothing is open."""

    def entries(self) -> Iterator[PackageFile]:
        """See :meth:`PackageSource.entries`; sorted by name within each folder."""
        self._count = 0
        yield from self._below("", 0)

    def _names(self, prefix: str) -> list[str]:
        names: list[str] = []
        try:
            with os.scandir(self.root / prefix) as found:
                for one in found:
                    names.append(one.name)
                    if self._count + len(names) > self._max_files:
                        raise LimitExceeded(
                            f"more than {self._max_files} files and folders",
                            limit="max_files",
                            value=self._max_files,
                            path=prefix or ".",
                        )
        except OSError as error:
            raise _unreadable(prefix or ".", error) from error
        self._count += len(names)
        return sorted(names, key=os.fsencode)

    def _below(self, prefix: str, depth: int) -> Iterator[PackageFile]:
        for name in self._names(prefix):
            path = prefix + name
            try:
                status = os.lstat(self.root / path)
            except FileNotFoundError:
                continue  # a writer put it away meanwhile
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
        reader: Reads it where it is no folder.
        head: The head generation before its first frame, 32 bytes, zeros for none.
    """

    def __init__(
        self, folder: Path, reader: LogReader | None = None, head: bytes = NO_GENERATION
    ) -> None:
        self._reader = LogReader(folder) if reader is None else reader
        self._before = head
        tail = self._reader.tail
        self.torn = Torn(tail.segment, tail.end, tail.torn) if tail.torn else None
        self.residue = self._reader.residue
        self.superseded = self._reader.superseded

    def frames(self, *, lightly: bool = False) -> Iterator[FrameSummary | Damage]:
        """See :meth:`LogSource.frames`."""
        reported: set[tuple[str, int, int]] = set()
        for one in self._reader.scan(self._before, in_full=not lightly, lightly=lightly):
            if isinstance(one, Damage):
                reported.add((one.pack, one.segment, one.start))
            yield one
        for one in self._reader.damage:
            if (one.pack, one.segment, one.start) not in reported:
                yield one

    def foreign(self, frame: FrameSummary) -> bool:  # noqa: ARG002
        """See :meth:`LogSource.foreign`."""
        return False

    def publishes(self, generation: bytes) -> bool:
        """Whether a frame publishes this generation, 32 bytes; only headers are read.

        Raises:
            IntegrityError: The chain of frames is broken.
        """
        return any(one.raw_generation == generation for one in self._reader.backwards())

    def payload(self, frame: FrameSummary) -> bytes:
        """See :meth:`LogSource.payload`."""
        return self._reader.payload(frame)

    def payload_at(self, segment: int, offset: int) -> bytes:
        """See :meth:`LogSource.payload_at`."""
        return self._reader.read_objects(segment, offset)[1]

    def close(self) -> None:
        """See :meth:`LogSource.close`."""
        self._reader.close()


def _unreadable(path: str, error: OSError) -> StorageError:
    reason = os.strerror(error.errno or errno.EIO)
    return StorageError(f"can't be read: {reason}", kind="unreadable", path=path)
