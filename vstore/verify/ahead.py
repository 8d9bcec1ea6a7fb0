"""Reading publications in a second process, while this one follows the history.

Most of a long replay is reading: unpacking, digests, strict decoding, atoms. None of it
needs another frame (:mod:`vstore.verify.swift_read`), so a forked process does it and sends
what it read, in the order of the log, through a pipe. This one never waits: whatever didn't
arrive yet is read here. The other process decides nothing, and where it fails or doesn't get
a processor, time is all that is lost.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import sys
import threading
from collections import deque
from typing import Any, Final

from vstore.errors import VStoreError
from vstore.objects.damage import Damage
from vstore.objects.frame import NO_GENERATION, FrameSummary
from vstore.objects.ids import ObjectId
from vstore.verify.source import LogSource, PackageSource
from vstore.verify.swift_contents import Around, ContentFacts, ReadContent
from vstore.verify.swift_read import Answer, Publication, PublicationReader

__all__ = ["MIN_BYTES", "ReadAhead", "can_read_ahead", "pack", "send", "unpack"]

#: Logs of fewer bytes are read before a process is worth its while.
MIN_BYTES: Final = 4 << 20
#: Frames that are sent together.
_TOGETHER: Final = 32
_LENGTH: Final = 8
#: Where the frames of a package are.
_FRAMES: Final = ("objects/log/", "objects/pack/")
#: Bytes that wait to be taken at the most; a row of frames that has more is read here.
_MAX_WAITING: Final = 8 << 20
_PIPE_BYTES: Final = 1 << 20
_SET_PIPE_SIZE: Final = 1031

_id: Final = str.__new__


def can_read_ahead(source: PackageSource) -> bool:
    """Whether a second process can be had here, and is worth it for this package."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return False  # a fork of several threads may find locks that nobody will open
    if len(os.sched_getaffinity(0)) < 2:
        return False
    try:
        size = sum(one.size for one in source.entries() if one.path.startswith(_FRAMES))
    except VStoreError:
        return False
    return size >= MIN_BYTES


class ReadAhead:
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
        #: Rows of frames that arrived, each with the number of its first one.
        self._rows: deque[tuple[int, list[Any]]] = deque()
        self._next = 0

    @classmethod
    def start(cls, source: PackageSource) -> ReadAhead:
        """Fork a process that reads a package; it opens the log anew."""
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
                send(source.log(), write)
            finally:
                os._exit(0)
        os.close(write)
        return cls(end, pid)

    def publication(self, number: int, frame: FrameSummary) -> Publication | None:
        """What was read of a frame; None where nothing was, or not yet.

        Args:
            number: How many frames came before it; more than in any call before.
            frame: Its header.
        """
        try:
            self._receive()
            while self._rows and number >= self._rows[0][0] + len(self._rows[0][1]):
                self._rows.popleft()
            if not self._rows or number < self._rows[0][0]:
                return None
            first, row = self._rows[0]
            found = row[number - first]
            # The same ids, to which the documents were held, whoever writes meanwhile.
            if found is None or found[0] != frame.fingerprint:
                return None
            return unpack(found[1], frame)
        except Exception:  # noqa: BLE001 - whatever the other process wrote, this one goes on
            return None

    def _receive(self) -> None:
        """Take what arrived, without waiting for more."""
        waiting = self._waiting
        if len(self._rows) > 1 or len(waiting) > _MAX_WAITING:
            return
        try:
            waiting += os.read(self._pipe, _PIPE_BYTES)
        except BlockingIOError:
            return
        while len(waiting) >= _LENGTH:
            end = _LENGTH + int.from_bytes(waiting[:_LENGTH], "little")
            if len(waiting) < end:
                return
            # Written by the process that this one forked, from the same code.
            row = marshal.loads(memoryview(waiting)[_LENGTH:end])  # noqa: S302
            del waiting[:end]
            self._rows.append((self._next, row))
            self._next += len(row)

    def close(self) -> None:
        """End the other process."""
        os.close(self._pipe)
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def send(log: LogSource, pipe: int) -> None:
    """Read all frames of a log and write to a pipe what they are, until somebody closes it.

    Args:
        log: The frames; nothing behind damage is read.
        pipe: A descriptor; it is closed.
    """
    reader = PublicationReader()
    row: list[Any] = []
    with os.fdopen(pipe, "wb", buffering=0) as stream:
        # Whoever takes what was read looks at the digests of frames.
        for one in log.frames(lightly=True):
            if isinstance(one, Damage):
                return
            found = None
            if one.raw_generation != NO_GENERATION:
                found = reader.read(one, log.payload(one))
            row.append(None if found is None else (one.fingerprint, pack(found)))
            if len(row) >= _TOGETHER:
                _write(stream, row)
                row = []
        _write(stream, row)


def _write(stream: Any, row: list[Any]) -> None:
    data = marshal.dumps(row)
    view = memoryview(len(data).to_bytes(_LENGTH, "little") + data)
    while view:
        view = view[stream.write(view) :]


def pack(one: Publication) -> tuple[Any, ...]:
    """A publication as plain tuples; what its frame says is left out."""
    return (
        one.sizes,
        one.request,
        one.queries,
        one.reply,
        one.results,
        [tuple(answer) for answer in one.answers],
        [
            (*read.facts[:3], tuple(read.facts.around), read.atoms, list(map(str, read.references)))
            for read in one.contents
        ],
        one.rest,
    )


def unpack(packed: tuple[Any, ...], frame: FrameSummary) -> Publication:
    """The publication that :func:`pack` was given.

    Args:
        packed: What it gave.
        frame: The header of the publication's frame.
    """
    sizes, request, queries, reply, results, answers, contents, rest = packed
    return Publication(
        [_id(ObjectId, "b3:" + raw.hex()) for raw in frame.raw_ids()],
        sizes,
        request,
        queries,
        reply,
        results,
        [Answer(*one) for one in answers],
        [
            ReadContent(ContentFacts(kind, items, truncated, Around(*around)), atoms, references)
            for kind, items, truncated, around, atoms, references in contents
        ],
        rest,
    )
