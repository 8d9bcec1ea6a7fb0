"""Reading a package from its end in a second process, while this one reads from its beginning.

What takes the time of a bundle is unpacking frames, the digests of objects and what documents
name. None of it needs another frame, so a forked process does the same checks from the last
frame backwards and sends what it found through a pipe, until both meet. This one never waits:
whatever didn't arrive is read here. Where the other process meets anything that is wrong, or
fails, it says no more, and this one finds the same in its turn.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import sys
import threading
from typing import Any, Final

from vstore.errors import VStoreError
from vstore.objects.frame import FrameSummary, compress
from vstore.objects.reader import ObjectReader
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.package.reachable import Facts, References
from vstore.package.survey import survey_frame

__all__ = ["SurveyAhead", "can_survey_ahead", "send"]

#: Logs of fewer bytes are read before a process is worth its while.
_MIN_BYTES: Final = 4 << 20
#: Frames that are sent together.
_TOGETHER: Final = 32
_LENGTH: Final = 8
#: What is taken of the other process at the most, in bytes: it waits here until its turn.
_MAX_BYTES: Final = 64 << 20
_PIPE_BYTES: Final = 1 << 20
_SET_PIPE_SIZE: Final = 1031


def can_survey_ahead(objects: ObjectReader) -> bool:
    """Whether a second process can be had here, and is worth it for this package."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return False  # a fork of several threads may find locks that nobody will open
    if len(os.sched_getaffinity(0)) < 2:
        return False
    try:
        return sum(objects.log.space()) >= _MIN_BYTES
    except VStoreError:
        return False


class SurveyAhead:
    """What another process reads of a package; see :meth:`start`.

    Args:
        pipe: A descriptor that :func:`send` writes to the other end of; closed with this.
        pid: The process that does, or None.
    """

    def __init__(self, pipe: int, pid: int | None) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._pid = pid
        self._waiting = bytearray()
        self._room = _MAX_BYTES
        #: What arrived, by the frames' numbers.
        self._found: dict[int, tuple[bytes, Facts, bytes | None]] = {}
        self._turn = 0

    @classmethod
    def start(
        cls, objects: ObjectReader, decoder: ReferenceDecoder, *, packed: bool
    ) -> SurveyAhead:
        """Fork a process that reads a package.

        Args:
            objects: The package's objects.
            decoder: Knows every document type that the package may hold.
            packed: Compress the payloads of frames in packs as a log has them.
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
                    send(objects, decoder, write, packed=packed)
            finally:
                os._exit(0)
        os.close(write)
        return cls(end, pid)

    def take(self, frame: FrameSummary) -> tuple[Facts, bytes | None] | None:
        """What was read of a frame, and its payload compressed anew if it was in a pack.

        None where nothing was read, or not yet.
        """
        self._turn += 1
        if self._pipe >= 0 and self._turn % _TOGETHER == 1:
            try:
                self._receive()
            except Exception:  # noqa: BLE001 - whatever the other process wrote, this one goes on
                self.close()
        found = self._found.pop(frame.sequence, None)
        # The same table, whoever writes meanwhile.
        if found is None or found[0] != _table(frame):
            return None
        # All that comes now is here already: what the other process is at was read here.
        self.close()
        return found[1:]

    def _receive(self) -> None:
        """Take what arrived, without waiting for more."""
        waiting = self._waiting
        with contextlib.suppress(BlockingIOError):
            waiting += os.read(self._pipe, _PIPE_BYTES)
        while len(waiting) >= _LENGTH:
            end = _LENGTH + int.from_bytes(waiting[:_LENGTH], "little")
            if len(waiting) < end:
                return
            self._room -= end
            if self._room < 0:
                self.close()
                return
            # Written by the process that this one forked, from the same code.
            self._found.update(marshal.loads(memoryview(waiting)[_LENGTH:end]))  # noqa: S302
            del waiting[:end]

    def close(self) -> None:
        """End the other process; what arrived can still be taken."""
        if self._pipe < 0:
            return
        os.close(self._pipe)
        self._pipe = -1
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def send(objects: ObjectReader, decoder: ReferenceDecoder, pipe: int, *, packed: bool) -> None:
    """Read frames from the last to the first and write to a pipe what is in them.

    It ends at the first frame that isn't sound, and when nobody reads any more.

    Args:
        objects, decoder, packed: As for :meth:`SurveyAhead.start`.
        pipe: A descriptor; it is closed.
    """
    rows: dict[int, tuple[bytes, Facts, bytes | None]] = {}
    with os.fdopen(pipe, "wb", buffering=0) as stream:
        for frame in objects.frames_backwards():
            # Large objects have files of their own, and which entry counts is decided in order.
            if not frame.counts[1]:
                references = References(decoder, objects.get)
                payload = objects.log.payload(frame)
                survey_frame(objects, frame, payload, references, {})
                stored = None
                if packed and frame.derived:
                    stored = compress(payload) if payload else b""
                if references.facts is not None:
                    rows[frame.sequence] = (_table(frame), references.facts, stored)
            if len(rows) >= _TOGETHER:
                _write(stream, rows)
                rows = {}
        _write(stream, rows)


def _table(frame: FrameSummary) -> bytes:
    return b"".join(frame.raw_ids()) if frame.derived else frame.raw_table


def _write(stream: Any, rows: dict[int, Any]) -> None:
    data = marshal.dumps(rows)
    view = memoryview(len(data).to_bytes(_LENGTH, "little") + data)
    while view:
        view = view[stream.write(view) :]
