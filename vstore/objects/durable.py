"""The only module that does durable I/O: write, sync, rename, create, remove.

Everything that decides whether a publication survives a power cut goes through a
:class:`DurableIO`, so that tests can record the order of operations, fail any of them, or
kill the process in the middle of one (``vstore.testing.faults``).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def _storage_errors(what: str, path: Path | None = None, outcome: str = "none") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise storage_error(error, what, path, outcome) from error


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
        with _storage_errors("make folder", path):
            try:
                os.mkdir(path)  # noqa: PTH102 - one system call
            except FileExistsError:
                if not path.is_dir():
                    raise

    def create(self, path: Path) -> int:
        """Create a file that must not exist, open for writing."""
        with _storage_errors("create", path):
            return os.open(path, _CREATE, 0o666)

    def open_append(self, path: Path) -> int:
        """Open an existing file for appending."""
        with _storage_errors("open", path):
            return os.open(path, _APPEND)

    def write(self, fd: int, chunk: bytes) -> None:
        """Write all of ``chunk`` at the end: one system call unless the system cuts it short."""
        with _storage_errors("write"):
            written = os.write(fd, chunk)
            while written < len(chunk):
                # A cut write is how a full disk begins; the next call says which error it is.
                more = os.write(fd, memoryview(chunk)[written:])
                if more == 0:
                    raise OSError(errno.EIO, "nothing written")
                written += more

    def sync(self, fd: int) -> None:
        """Wait until the data of a file, and the size needed to read it, are on the disk."""
        with _storage_errors("sync", outcome="unknown"):
            _data_sync(fd)

    def sync_file(self, path: Path) -> None:
        """Sync a file that is not open."""
        with _storage_errors("open", path):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self.sync(fd)
        finally:
            self.close(fd)

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        with _storage_errors("sync folder", path, "unknown"):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def close(self, fd: int) -> None:
        """Close a file; what the system reports too late to matter is not an error."""
        try:
            os.close(fd)
        except OSError:  # pragma: no cover
            # Whoever needs the bytes has synced them before.
            return

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file, over an existing one if there is one."""
        with _storage_errors("rename to", target):
            os.replace(source, target)  # noqa: PTH105 - one system call

    def unlink(self, path: Path) -> None:
        """Remove a file; an absent one is fine."""
        with _storage_errors("remove", path):
            path.unlink(missing_ok=True)

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
        try:
            self.unlink(path)
        except StorageError:
            return


#: The real thing.
REAL: Final = DurableIO()
