"""A second process that reads ahead: rows of plain values through a pipe, never waited for.

Whoever reads a package from one end to the other can have a forked process read what needs
nothing that comes before it. The other process decides nothing: where it fails, is slow or is
killed, time is all that is lost.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final, Self

__all__ = ["MIN_BYTES", "TOGETHER", "Rows", "can_fork", "write_row"]

#: Logs of fewer bytes are read before a process is worth its while.
MIN_BYTES: Final = 4 << 20
#: Frames that make a row.
TOGETHER: Final = 32
_LENGTH: Final = 8
_PIPE_BYTES: Final = 1 << 20
_SET_PIPE_SIZE: Final = 1031


def can_fork() -> bool:
    """Whether a second process can be had here, and would find a processor."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return False  # a fork of several threads may find locks that nobody will open
    return len(os.sched_getaffinity(0)) > 1


class Rows:
    """The rows that another process sends; see :meth:`forked`.

    Args:
        pipe: A descriptor to whose other end :func:`write_row` writes; closed with this.
        pid: The process that does, or None.
    """

    def __init__(self, pipe: int, pid: int | None) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._pid = pid
        self._waiting = bytearray()

    @classmethod
    def forked(cls, send: Callable[[int], object]) -> Self:
        """Fork a process that sends rows.

        Args:
            send: Runs there; gets the descriptor to write to.
        """
        import fcntl  # not on every system, and only used where there is a fork

        end, write = os.pipe()
        with contextlib.suppress(OSError):
            # A larger pipe lets the other process get ahead; the default does as well.
            fcntl.fcntl(write, _SET_PIPE_SIZE, _PIPE_BYTES)
        pid = os.fork()
        if pid == 0:  # pragma: no cover - in the other process
            try:
                os.close(end)
                # Whoever presses Ctrl-C means the first process, which ends this one.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                with contextlib.suppress(Exception):
                    send(write)
            finally:
                os._exit(0)
        os.close(write)
        return cls(end, pid)

    @property
    def waiting(self) -> int:
        """Bytes that arrived and are no whole row yet."""
        return len(self._waiting)

    @property
    def closed(self) -> bool:
        """Whether nothing comes any more."""
        return self._pipe < 0

    def arrived(self) -> Iterator[tuple[int, Any]]:
        """The rows that arrived since, each with its bytes, without waiting for more.

        Raises:
            OSError, ValueError, EOFError, TypeError: What was written is no row.
        """
        waiting = self._waiting
        with contextlib.suppress(BlockingIOError):
            waiting += os.read(self._pipe, _PIPE_BYTES)
        while len(waiting) >= _LENGTH:
            end = _LENGTH + int.from_bytes(waiting[:_LENGTH], "little")
            if len(waiting) < end:
                return
            # Written by the process that this one forked, from the same code.
            row = marshal.loads(memoryview(waiting)[_LENGTH:end])  # noqa: S302
            del waiting[:end]
            yield end, row

    def close(self) -> None:
        """End the other process; nothing happens the second time."""
        if self._pipe < 0:
            return
        os.close(self._pipe)
        self._pipe = -1
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def write_row(stream: BinaryIO, row: Any) -> None:
    """Send a row of plain values.

    Args:
        stream: Unbuffered, over the descriptor that :meth:`Rows.forked` gave.
        row: What :mod:`marshal` can write.

    Raises:
        OSError: Nobody reads any more.
    """
    data = marshal.dumps(row)
    view = memoryview(len(data).to_bytes(_LENGTH, "little") + data)
    while view:
        view = view[stream.write(view) :]
