"""The only module that does durable I/O: write, sync, rename, create, remove.

Everything that decides whether a publication survives a power cut goes through a
:class:`DurableIO`, so that tests can record the order of operations, fail any of them, or
kill the process in the middle of one (``vstore.testing.faults``).
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from vstore.errors import StorageError

__all__ = ["REAL", "DurableIO", "storage_error"]

_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


def _data_sync(fd: int) -> None:
    if sys.platform == "darwin":  # pragma: no cover
        # fsync there returns before the drive has written.
        import fcntl

        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:  # pragma: no cover
        os.fsync(fd)


def storage_error(
    error: OSError, what: str, path: Path | None = None, outcome: str = "none"
) -> StorageError:
    """The error that tells a caller about a failed system call.

    Args:
        error: What the system said.
        what: What was tried, such as ``"append to"``.
        path: Which file, or None.
        outcome: ``none`` when nothing happened that matters, ``unknown`` when it may have.
    """
    number = error.errno or errno.EIO
    kind = {
        errno.ENOSPC: "disk_full",
        errno.EDQUOT: "disk_full",
        errno.EROFS: "read_only",
        errno.EACCES: "read_only",
        errno.EPERM: "read_only",
    }.get(number, "storage")
    name = f" {path.name}" if path is not None else ""
    doubt = "; whether it reached the disk is unknown" if outcome == "unknown" else ""
    return StorageError(
        f"can't {what}{name}: {os.strerror(number)}{doubt}",
        kind="outcome_unknown" if outcome == "unknown" else kind,
        hint="look at the disk, then open the package again" if outcome == "unknown" else None,
        errno=number,
        outcome=outcome,
    )


class DurableIO:
    """System calls whose order and success matter; every failure is a ``StorageError``.

    ``details["outcome"]`` of the error is ``unknown`` after a failed sync, else ``none``.
    """

    def mkdir(self, path: Path) -> None:
        """Make a folder; an existing one is fine."""
        try:
            os.mkdir(path)  # noqa: PTH102 - one system call
        except OSError as error:
            if not path.is_dir():
                raise storage_error(error, "make folder", path) from error

    def create(self, path: Path) -> int:
        """Create a file that must not exist, open for writing."""
        try:
            return os.open(path, _CREATE, 0o666)
        except OSError as error:
            raise storage_error(error, "create", path) from error

    def open_append(self, path: Path) -> int:
        """Open an existing file for appending."""
        try:
            return os.open(path, _APPEND)
        except OSError as error:
            raise storage_error(error, "open", path) from error

    def write(self, fd: int, chunk: bytes) -> None:
        """Write all of ``chunk`` at the end: one system call unless the system cuts it short."""
        try:
            written = os.write(fd, chunk)
            while written < len(chunk):
                # A cut write is how a full disk begins; the next call says which error it is.
                more = os.write(fd, memoryview(chunk)[written:])
                if more == 0:
                    raise OSError(errno.EIO, "nothing written")
                written += more
        except OSError as error:
            raise storage_error(error, "write") from error

    def sync(self, fd: int) -> None:
        """Wait until the data of a file, and the size needed to read it, are on the disk."""
        try:
            _data_sync(fd)
        except OSError as error:
            raise storage_error(error, "sync", outcome="unknown") from error

    def sync_file(self, path: Path) -> None:
        """Sync a file that is not open."""
        fd = self.open_append(path)
        try:
            self.sync(fd)
        finally:
            self.close(fd)

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise storage_error(error, "sync folder", path, "unknown") from error

    def close(self, fd: int) -> None:
        """Close a file; whoever needs its bytes on the disk has synced them before."""
        try:  # noqa: SIM105 - suppress() takes longer than the call
            os.close(fd)
        except OSError:
            pass

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file, over an existing one if there is one."""
        try:
            os.replace(source, target)  # noqa: PTH105 - one system call
        except OSError as error:
            raise storage_error(error, "rename to", target) from error

    def unlink(self, path: Path) -> None:
        """Remove a file; an absent one is fine."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(error, "remove", path) from error

    def write_temporary(self, path: Path, content: bytes, *, sync: bool) -> None:
        """Create a file with this content; on failure it is gone again."""
        fd = self.create(path)
        try:
            try:
                self.write(fd, content)
                if sync:
                    self.sync(fd)
            finally:
                self.close(fd)
        except StorageError:
            self.discard(path)
            raise

    def write_atomic(self, path: Path, content: bytes, *, temporary: Path, durable: bool) -> None:
        """Give a file a new content, whole or not at all.

        Args:
            path: The file.
            content: All of its bytes.
            temporary: A free name in the same file system.
            durable: Sync the file before and the folder after the rename. Without it a power
                cut may leave the old content, the new one, or an empty or zero-filled file.
        """
        self.write_temporary(temporary, content, sync=durable)
        try:
            self.replace(temporary, path)
        except StorageError:
            self.discard(temporary)
            raise
        if durable:
            self.sync_folder(path.parent)

    def discard(self, path: Path) -> None:
        """Remove residue if possible; nothing depends on it."""
        with suppress(StorageError):
            self.unlink(path)


#: The real thing.
REAL: Final = DurableIO()
