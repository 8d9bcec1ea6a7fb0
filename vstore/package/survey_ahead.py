"""Reading a package from its end in a second process, while this one reads from its beginning.

What takes the time of a bundle is unpacking frames, the digests of objects and what documents
name. None of it needs another frame, so a forked process does the same checks from the last
frame backwards and sends what it found through a pipe, until both meet. This one never waits:
whatever didn't arrive is read here. Where the other process meets anything that is wrong, or
fails, it says no more, and this one finds the same in its turn.
"""

from __future__ import annotations

import os
from typing import Final

from vstore.errors import VStoreError
from vstore.objects.forked import MIN_BYTES, TOGETHER, Rows, can_fork, write_row
from vstore.objects.frame import FrameSummary, compress
from vstore.objects.reader import ObjectReader
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.package.reachable import Facts, References
from vstore.package.survey import survey_frame

__all__ = ["SurveyAhead", "can_survey_ahead", "send"]

#: What is taken of the other process at the most, in bytes: it waits here until its turn.
_MAX_BYTES: Final = 64 << 20


def can_survey_ahead(objects: ObjectReader) -> bool:
    """Whether a second process can be had here, and is worth it for this package."""
    if not can_fork():
        return False
    try:
        return sum(objects.log.space()) >= MIN_BYTES
    except VStoreError:
        return False


class SurveyAhead:
    """What another process reads of a package; see :meth:`start`.

    Args:
        arriving: What :func:`send` sends.
    """

    def __init__(self, arriving: Rows) -> None:
        self._arriving = arriving
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
        return cls(Rows.forked(lambda pipe: send(objects, decoder, pipe, packed=packed)))

    def take(self, frame: FrameSummary) -> tuple[Facts, bytes | None] | None:
        """What was read of a frame, and its payload compressed anew if it was in a pack.

        None where nothing was read, or not yet.
        """
        self._turn += 1
        if not self._arriving.closed and self._turn % TOGETHER == 1:
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
        for size, row in self._arriving.arrived():
            self._room -= size
            if self._room < 0:
                self.close()
                return
            self._found.update(row)

    def close(self) -> None:
        """End the other process; what arrived can still be taken."""
        self._arriving.close()


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
            if len(rows) >= TOGETHER:
                write_row(stream, rows)
                rows = {}
        write_row(stream, rows)


def _table(frame: FrameSummary) -> bytes:
    return b"".join(frame.raw_ids()) if frame.derived else frame.raw_table
