"""Taking over generations that another copy of a package went on to.

What is taken over was verified before; here it is only made sure that it continues the head
that is here. Every object comes as the other copy holds it, byte for byte, also those that
this version knows nothing about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from vstore.errors import IntegrityError, NotFoundError
from vstore.objects.canonical import decode_document
from vstore.objects.frame import FrameSummary, LargeEntry
from vstore.objects.frame_table import NO_GENERATION
from vstore.objects.ids import ObjectId
from vstore.objects.log import Damage, LogReader
from vstore.objects.store_files import StoreFiles
from vstore.objects.transaction import Transaction
from vstore.package.documents import Generation

__all__ = ["Arrival", "IncomingHistory"]


class Arrival(Protocol):
    """Puts what one generation adds into a transaction, and says which generation it is."""

    def __call__(self, transaction: Transaction, /) -> tuple[ObjectId, bytes]: ...


class IncomingHistory:
    """The generations of another copy, as frames of its log.

    Args:
        files: The other copy: a folder, or a bundle; closed with this.
        base: The generation that an incremental bundle continues, None for a whole history.

    Raises:
        IntegrityError, UnsupportedError, StorageError: It can't be read.
    """

    def __init__(self, files: StoreFiles, base: ObjectId | None = None) -> None:
        self._files = files
        #: The generation that the first one continues, None for a whole history.
        self.base = base
        self._log: LogReader = files.log()
        #: Its generations in order; of an incremental bundle those after its base.
        self.generations: list[ObjectId] = []
        #: The frame of each generation.
        self._positions: dict[ObjectId, int] = {}
        self._frames: list[FrameSummary] = []
        for one in self._log.scan(NO_GENERATION if base is None else base.to_bytes()):
            if isinstance(one, Damage):
                raise one.error()
            if one.generation is not None:
                self._positions[one.generation] = len(self._frames)
                self.generations.append(one.generation)
            self._frames.append(one)

    @property
    def head(self) -> ObjectId:
        """The last generation.

        Raises:
            NotFoundError: There is none (``no_generation``).
        """
        if not self.generations:
            raise NotFoundError("there is no generation in it", kind="no_generation")
        return self.generations[-1]

    def has(self, generation: ObjectId) -> bool:
        """Whether a generation is one of its own, or the one that it continues."""
        return generation in self._positions or generation == self.base

    def generation(self, oid: ObjectId) -> Generation:
        """One of its own generations.

        Raises:
            IntegrityError: It can't be read as one.
        """
        frame = self._frames[self._positions[oid]]
        document = decode_document(self._generation_bytes(frame))
        if not isinstance(document, Generation):
            raise IntegrityError(f"{oid} is no generation", kind="not_a_generation", object=oid)
        return document

    def after(self, since: ObjectId) -> Iterator[Arrival]:
        """What each generation after ``since`` adds, oldest first.

        Frames before ``since`` are looked through too: they may hold objects that the other
        copy had then and that only a later generation names.

        Args:
            since: The head that is here.
        """
        start = 0 if since == self.base else self._positions[since] + 1
        waiting = self._frames[:start]
        for frame in self._frames[start:]:
            waiting.append(frame)
            if frame.generation is not None:
                yield self._arrival(waiting, frame)
                waiting = []

    def _arrival(self, frames: list[FrameSummary], last: FrameSummary) -> Arrival:
        def put(transaction: Transaction) -> tuple[ObjectId, bytes]:
            for frame in frames:
                self._put(transaction, frame)
            assert last.generation is not None
            return last.generation, self._generation_bytes(last)

        return put

    def _put(self, transaction: Transaction, frame: FrameSummary) -> None:
        missing = [
            one
            for one in frame.objects()
            if one.state == "present" and one.oid not in transaction and one.oid != frame.generation
        ]
        if missing:
            payload = self._payload(frame)
            for one in missing:
                content = payload[one.offset : one.offset + one.length]
                oid = transaction.put_stored(content, is_document=one.kind == "document")
                _same(oid, one.oid)
        for entry in frame.large():
            if entry.state == "present" and entry.oid not in transaction:
                self._put_large(transaction, entry)

    def _put_large(self, transaction: Transaction, entry: LargeEntry) -> None:
        with self._files.open_large(entry) as stream:
            if entry.kind == "document":
                oid = transaction.put_stored(stream.read(entry.length), is_document=True)
            else:
                oid, _ = transaction.put_stream(stream, max_bytes=entry.length)
        _same(oid, entry.oid)

    def _payload(self, frame: FrameSummary) -> bytes:
        return self._log.read_objects(frame.segment, frame.offset)[1]

    def _generation_bytes(self, frame: FrameSummary) -> bytes:
        payload = self._payload(frame)
        for one in frame.objects():
            if one.oid == frame.generation:
                return payload[one.offset : one.offset + one.length]
        raise IntegrityError(
            "a frame lacks the generation that it publishes", kind="missing_generation"
        )

    def close(self) -> None:
        """Close the files."""
        self._log.close()
        self._files.close()


def _same(found: ObjectId, expected: ObjectId) -> None:
    if found != expected:
        raise IntegrityError(
            f"the stored bytes of {expected} have another digest",
            kind="bad_object",
            object=expected,
        )
