"""Locks between processes: the evidence lock and the publication lock of a package.

They are OS locks, so a killed process blocks nobody: ``flock`` where the system has it, and
elsewhere what ``filelock`` calls in its place (loading that library costs as much as a
publication). Its fallback to marker files is not used, since a marker survives its owner.
Who holds a lock, and since when, is written beside it for people who wait.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from vstore.errors import ConflictError, StorageError
from vstore.objects.layout import LOCKS, read_file

__all__ = ["EVIDENCE", "LOCK_TIMEOUT", "PUBLICATION", "REPACK", "LockTimeout", "PackageLock", "now"]

EVIDENCE: Final = "evidence"
PUBLICATION: Final = "publication"
#: Whoever makes packs; others may publish meanwhile.
REPACK: Final = "repack"

#: Seconds to wait for a lock.
LOCK_TIMEOUT: Final = 30.0

_MAX_HOLDER_BYTES: Final = 512
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def now() -> str:
    """The time in UTC, to the second, RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="seconds")[:19] + "Z"


def _lock(fd: int) -> bool:
    """Lock a file for this process; False where another one has it."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - not a POSIX system
        from filelock import lock_descriptor

        return lock_descriptor(fd, blocking=False)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(fd: int) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - not a POSIX system
        from filelock import unlock_descriptor

        unlock_descriptor(fd)
    else:
        fcntl.flock(fd, fcntl.LOCK_UN)


class LockTimeout(ConflictError):
    """Somebody else held a lock for too long; ``details`` has ``holder`` and ``since``."""

    kind = "locked"


class PackageLock:
    """One lock of a package; a context manager.

    Reentrant for whoever uses the object, which one thread at a time may do: who holds the
    lock may take it again, and gives it back as often.

    Args:
        root: The package's folder.
        name: ``EVIDENCE`` or ``PUBLICATION``.
        timeout: Seconds to wait before :class:`LockTimeout`, 0 or more.
        command: What to tell those who wait, such as ``vstore evidence add``.
        clock: Gives the time for those who wait.
    """

    def __init__(
        self,
        root: Path,
        name: str,
        *,
        timeout: float = LOCK_TIMEOUT,
        command: str = "vstore",
        clock: Callable[[], str] = now,
    ) -> None:
        self._path = root / LOCKS / name
        self._holder_path = root / LOCKS / f"{name}.holder"
        self._name = name
        self._timeout = timeout
        self._command = command[:200]
        self._clock = clock
        self._fd = -1
        self._opened: os.stat_result
        self._holder_fd = -1
        self._depth = 0
        #: Whoever holds the lock may take it again, but only in the same thread.
        self._threads = threading.RLock()
        self.held = False

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def acquire(self) -> None:
        """Take the lock, waiting for it.

        Raises:
            LockTimeout: Somebody else holds it.
            StorageError: The lock file can't be made, or the file system has no OS locks.
        """
        if not self._threads.acquire(timeout=self._timeout):
            raise self._timed_out()
        try:
            if not self.held:
                self._acquire()
            self._depth += 1
        except BaseException:
            self._threads.release()
            raise

    def _acquire(self) -> None:
        deadline: float | None = None
        pause = 0.0005
        while True:
            try:
                if self._fd < 0:
                    self._fd = self._open(self._path)
                    self._opened = os.fstat(self._fd)
                if _lock(self._fd):
                    if self._is_current():
                        break
                    # Somebody removed the file: what is locked is not what others will lock.
                    self._close_files()
                    continue
            except OSError as error:
                self._close_files()
                raise StorageError(
                    f"can't lock the package: {os.strerror(error.errno or errno.EIO)}",
                    kind="read_only" if error.errno in _READ_ONLY else "no_locks",
                ) from error
            # The monotonic clock only says how long to wait, never what is stored.
            if deadline is None:
                deadline = time.monotonic() + self._timeout
            if time.monotonic() >= deadline:
                raise self._timed_out()
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        self.held = True
        self._tell()

    def release(self) -> None:
        """Give the lock back; nothing happens when it is not held."""
        if self._depth == 0:
            return
        self._depth -= 1
        try:
            if self._depth == 0:
                self._release()
        finally:
            self._threads.release()

    def _release(self) -> None:
        self.held = False
        try:
            _unlock(self._fd)
        except OSError:  # pragma: no cover
            self._close_files()

    def close(self) -> None:
        """Release and close the files."""
        while self._depth:
            self.release()
        self._close_files()

    def _close_files(self) -> None:
        self.held = False
        for fd in (self._fd, self._holder_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self._holder_fd = -1

    def _open(self, path: Path) -> int:
        try:
            return os.open(path, _OPEN, 0o666)
        except FileNotFoundError:
            path.parent.mkdir(exist_ok=True)
            return os.open(path, _OPEN, 0o666)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(self._opened, os.stat(self._path))  # noqa: PTH116
        except FileNotFoundError:
            return False

    def _tell(self) -> None:
        text = f"pid {os.getpid()}\nsince {self._clock()}\ncommand {self._command}\n"
        content = text.encode()[:_MAX_HOLDER_BYTES].ljust(_MAX_HOLDER_BYTES)
        try:
            if self._holder_fd < 0:
                self._holder_fd = self._open(self._holder_path)
            # Mostly it says so already, and what isn't written needn't go to the disk.
            if os.pread(self._holder_fd, _MAX_HOLDER_BYTES + 1, 0) != content:
                # One write of one size: a reader sees the old text or the new one.
                os.pwrite(self._holder_fd, content, 0)
        except OSError:
            # Only courtesy to those who wait.
            return

    def _timed_out(self) -> LockTimeout:
        facts: dict[str, str] = {}
        raw = read_file(self._holder_path, _MAX_HOLDER_BYTES) or b""
        for line in raw.decode("utf-8", "replace").splitlines():
            key, _, value = line.partition(" ")
            facts[key] = value.strip()
        pid = facts.get("pid", "")
        pid = pid if pid.isascii() and pid.isdigit() else "unknown"
        since = facts.get("since", "")
        since = since if len(since) <= 20 and since.isascii() and since.isprintable() else ""
        return LockTimeout(
            f"the {self._name} lock is held by process {pid} since {since or 'an unknown time'}",
            hint="wait for it to finish, or look what that process is doing",
            holder=pid,
            since=since or None,
            command=facts.get("command", ""),
            lock=self._name,
        )


_READ_ONLY: Final = (errno.EROFS, errno.EACCES, errno.EPERM)
