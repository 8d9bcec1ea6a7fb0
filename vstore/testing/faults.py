"""Durable I/O that records what it does, fails, or dies at a chosen operation.

Operations are counted from 0; closing is no operation. Every writer of vstore takes an
``io`` argument, so any workload can be run over one of these::

    io = RecordingIO()
    workload(io)
    for n in range(len(io.operations)):
        workload(FaultyIO(n, errno.ENOSPC))
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, Literal, NamedTuple

from vstore.objects.durable import REAL, DurableIO, storage_error

__all__ = [
    "CountingIO",
    "FaultyIO",
    "KillingIO",
    "Operation",
    "OperationName",
    "RecordingIO",
    "SimulatedDeath",
]

OperationName = Literal[
    "mkdir", "create", "open", "write", "sync", "sync_folder", "replace", "unlink", "mark"
]

_MAY_BE_UNKNOWN: Final = frozenset(("sync", "sync_folder"))


class SimulatedDeath(BaseException):
    """The process would have died here; nothing catches it but the test."""


class Operation(NamedTuple):
    """One durable operation."""

    name: OperationName
    path: Path
    #: The new name of a renamed file.
    target: Path | None = None
    #: Where in the file the bytes went.
    offset: int = 0
    content: bytes = b""
    #: What a mark says.
    label: str = ""


class CountingIO(DurableIO):
    """Does what another one does, and calls :meth:`before` with every operation first."""

    def __init__(self, inner: DurableIO = REAL) -> None:
        self.inner = inner
        self.count = 0
        self._paths: dict[int, Path] = {}

    def before(self, operation: Operation, fd: int = -1) -> None:
        """Called with each operation before it is done."""

    def _count(self, operation: Operation, fd: int = -1) -> None:
        try:
            self.before(operation, fd)
        finally:
            self.count += 1

    def mkdir(self, path: Path) -> None:
        self._count(Operation("mkdir", path))
        self.inner.mkdir(path)

    def create(self, path: Path) -> int:
        self._count(Operation("create", path))
        fd = self.inner.create(path)
        self._paths[fd] = path
        return fd

    def open_append(self, path: Path) -> int:
        self._count(Operation("open", path))
        fd = self.inner.open_append(path)
        self._paths[fd] = path
        return fd

    def write(self, fd: int, chunk: bytes) -> None:
        offset = os.fstat(fd).st_size
        operation = Operation("write", self._paths[fd], offset=offset, content=bytes(chunk))
        self._count(operation, fd)
        self.inner.write(fd, chunk)

    def sync(self, fd: int) -> None:
        # A reader's descriptor was opened elsewhere.
        self._count(Operation("sync", self._paths.get(fd, Path())))
        self.inner.sync(fd)

    def sync_folder(self, path: Path) -> None:
        self._count(Operation("sync_folder", path))
        self.inner.sync_folder(path)

    def close(self, fd: int) -> None:
        self._paths.pop(fd, None)
        self.inner.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        self._count(Operation("replace", source, target))
        self.inner.replace(source, target)

    def unlink(self, path: Path) -> None:
        self._count(Operation("unlink", path))
        self.inner.unlink(path)


class RecordingIO(CountingIO):
    """Records every operation.

    Args:
        inner: What does the work.
        omit: Operations for which this is true are neither recorded nor done: what a
            program without them would do.
    """

    def __init__(
        self, inner: DurableIO = REAL, *, omit: Callable[[Operation], bool] = lambda _: False
    ) -> None:
        super().__init__(inner)
        self.operations: list[Operation] = []
        self._omit = omit

    def before(self, operation: Operation, fd: int = -1) -> None:  # noqa: ARG002
        self.operations.append(operation)

    def mark(self, label: str) -> None:
        """Note in the trace that something was acknowledged here."""
        self.operations.append(Operation("mark", Path(), label=label))

    def sync(self, fd: int) -> None:
        if not self._omit(Operation("sync", self._paths[fd])):
            super().sync(fd)

    def sync_folder(self, path: Path) -> None:
        if not self._omit(Operation("sync_folder", path)):
            super().sync_folder(path)


class FaultyIO(CountingIO):
    """Fails at one operation, or at one and all after it.

    Args:
        fail_at: Number of the operation that fails.
        error: The system's error number, such as ``errno.ENOSPC``.
        lasting: Whether all later operations fail too, as on a disk that stays full.
        written: How much of a write arrives before it fails, in per cent.
        only: Names of the operations that may fail; all by default.
        inner: What does the work otherwise.
    """

    def __init__(
        self,
        fail_at: int,
        error: int = errno.ENOSPC,
        *,
        lasting: bool = False,
        written: int = 0,
        only: Collection[OperationName] = (),
        inner: DurableIO = REAL,
    ) -> None:
        super().__init__(inner)
        self.only = only
        self.fail_at = fail_at
        self.error = error
        self.lasting = lasting
        self.written = written
        #: The operation that failed first, None as long as none has.
        self.failed: Operation | None = None

    def before(self, operation: Operation, fd: int = -1) -> None:
        due = self.count == self.fail_at or (self.lasting and self.count > self.fail_at)
        if due and (not self.only or operation.name in self.only):
            self.failed = self.failed or operation
            if operation.name == "write":
                part = operation.content[: len(operation.content) * self.written // 100]
                if part:
                    self.inner.write(fd, part)
            outcome = "unknown" if operation.name in _MAY_BE_UNKNOWN else "none"
            error = OSError(self.error, os.strerror(self.error))
            raise storage_error(error, operation.name, operation.path, outcome) from error


class KillingIO(CountingIO):
    """Kills its own process (SIGKILL) at one operation, or raises :class:`SimulatedDeath`.

    Args:
        kill_at: Number of the operation that is not done any more.
        written: How much of a write arrives before, in per cent.
        simulate: Raise instead of dying.
        inner: What does the work until then.
    """

    def __init__(
        self, kill_at: int, *, written: int = 0, simulate: bool = False, inner: DurableIO = REAL
    ) -> None:
        super().__init__(inner)
        self.kill_at = kill_at
        self.written = written
        self.simulate = simulate

    def before(self, operation: Operation, fd: int = -1) -> None:
        if self.count < self.kill_at:
            return
        if self.count == self.kill_at and operation.name == "write":
            part = operation.content[: len(operation.content) * self.written // 100]
            if part:
                self.inner.write(fd, part)
        if self.simulate:
            raise SimulatedDeath
        os.kill(os.getpid(), signal.SIGKILL)
