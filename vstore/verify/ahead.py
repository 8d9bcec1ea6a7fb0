"""Reading publications in a second process, while this one follows the history.

Most of a long replay is reading: unpacking, digests, strict decoding, atoms. None of it
needs another frame (:mod:`vstore.verify.swift_read`), so a forked process does it and sends
what it read, in the order of the log, through a pipe. This one never waits: whatever didn't
arrive yet is read here. The other process decides nothing, and where it fails or doesn't get
a processor, time is all that is lost.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Final

from vstore.errors import VStoreError
from vstore.objects.damage import Damage
from vstore.objects.forked import MIN_BYTES, TOGETHER, Rows, can_fork, write_row
from vstore.objects.frame import NO_GENERATION, FrameSummary
from vstore.objects.ids import ObjectId
from vstore.verify.source import LogSource, PackageSource
from vstore.verify.swift_contents import Around, ContentFacts, ReadContent
from vstore.verify.swift_read import Answer, Publication, PublicationReader

__all__ = ["MIN_BYTES", "ReadAhead", "can_read_ahead", "pack", "send", "unpack"]

#: Where the frames of a package are.
_FRAMES: Final = ("objects/log/", "objects/pack/")
#: Bytes that wait to be taken at the most; a row of frames that has more is read here.
_MAX_WAITING: Final = 8 << 20

_id: Final = str.__new__


def can_read_ahead(source: PackageSource) -> bool:
    """Whether a second process can be had here, and is worth it for this package."""
    if not can_fork():
        return False
    try:
        size = sum(one.size for one in source.entries() if one.path.startswith(_FRAMES))
    except VStoreError:
        return False
    return size >= MIN_BYTES


class ReadAhead:
    """What another process reads of a package; see :meth:`start`.

    Args:
        arriving: What :func:`send` sends.
    """

    def __init__(self, arriving: Rows) -> None:
        self._arriving = arriving
        #: Rows of frames that arrived, each with the number of its first one.
        self._rows: deque[tuple[int, list[Any]]] = deque()
        self._next = 0

    @classmethod
    def start(cls, source: PackageSource) -> ReadAhead:
        """Fork a process that reads a package; it opens the log anew."""
        return cls(Rows.forked(lambda pipe: send(source.log(), pipe)))

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
        if len(self._rows) > 1 or self._arriving.waiting > _MAX_WAITING:
            return
        for _, row in self._arriving.arrived():
            self._rows.append((self._next, row))
            self._next += len(row)

    def close(self) -> None:
        """End the other process."""
        self._arriving.close()


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
            if len(row) >= TOGETHER:
                write_row(stream, row)
                row = []
        write_row(stream, row)


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
