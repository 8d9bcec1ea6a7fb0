"""A transaction: objects that are staged, then published with a generation, or dropped."""

from __future__ import annotations

import io
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, Self, TypeVar, cast

from vstore.errors import IntegrityError, InvalidError, LimitExceeded, StorageError
from vstore.objects.canonical import decode, encode
from vstore.objects.document import Document
from vstore.objects.frame import MAX_LARGE_ENTRIES, MAX_OBJECT_ENTRIES, MAX_RAW_BYTES, LargeEntry
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.large import LARGE_BYTES, StoredLarge, measure, open_large
from vstore.objects.large_writer import write_large
from vstore.objects.layout import TMP, large_path
from vstore.objects.sealed import Sealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vstore.objects.writer import ObjectWriter

__all__ = ["BULK_BYTES", "Transaction"]

D = TypeVar("D", bound=Document)

#: Pending objects go into a bulk frame when there are more bytes than this.
BULK_BYTES: Final = 4 * 1024 * 1024
_BULK_OBJECTS: Final = MAX_OBJECT_ENTRIES // 2
_BULK_LARGE: Final = MAX_LARGE_ENTRIES // 2
#: A generation stays in its frame whatever its size, up to this.
_MAX_GENERATION_BYTES: Final = MAX_RAW_BYTES - BULK_BYTES - LARGE_BYTES

_BLOB: Final = 0
_DOCUMENT: Final = 1


class _Staged(NamedTuple):
    """A large object in a temporary file, synced."""

    stored: StoredLarge
    kind: int
    path: Path


class Transaction:
    """Objects on their way into a package; an ``ObjectSink`` and an ``ObjectSource``.

    It sees its own objects, then those of the store. Use it as a context manager, or end it
    with :meth:`publish` or :meth:`abandon`. Made by ``ObjectWriter.transaction``.
    """

    def __init__(self, writer: ObjectWriter) -> None:
        self._writer = writer
        self._reader = writer.reader
        self._pending: dict[ObjectId, tuple[int, bytes]] = {}
        self._pending_bytes = 0
        self._large: dict[ObjectId, _Staged] = {}
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.abandon()

    # ---- sink

    def put(self, data: bytes) -> ObjectId:
        """Add a blob; adding what exists is free.

        Raises:
            StorageError: A bulk frame or a large object can't be written.
        """
        return self._put(data, _BLOB)

    def put_document(self, document: Document) -> ObjectId:
        """Add a document, after checking it against its own schema.

        Raises:
            InvalidError: Its members aren't what its schema says.
            StorageError: As :meth:`put`.
        """
        encoded = encode(document)
        decode(encoded, type(document))
        return self._put(encoded, _DOCUMENT)

    def put_sealed(self, sealed: Sealed[Document]) -> ObjectId:
        """Add a document that its maker has checked and encoded already.

        Raises:
            StorageError: As :meth:`put`.
        """
        return self._put(sealed.encoded, _DOCUMENT, sealed.id)

    def put_stored(self, content: bytes, *, is_document: bool) -> ObjectId:
        """Add an object as another package holds it, whatever it is.

        Args:
            content: Its bytes; nothing is asked of them.
            is_document: What the other package calls it.

        Raises:
            StorageError: As :meth:`put`.
        """
        return self._put(content, _DOCUMENT if is_document else _BLOB)

    def put_stream(self, stream: BinaryIO, *, max_bytes: int) -> tuple[ObjectId, int]:
        """Add a blob of any size without holding it in memory; returns id and size.

        Raises:
            LimitExceeded: The stream has more than ``max_bytes``.
            StorageError: Reading or writing failed.
        """
        try:
            start = _read_up_to(stream, min(max_bytes, LARGE_BYTES) + 1)
        except OSError as error:
            raise StorageError("can't read what is to be stored", kind="unreadable") from error
        if len(start) > max_bytes:
            raise LimitExceeded(
                f"more than {max_bytes} bytes",
                limit="max_bytes",
                value=max_bytes,
                asked=len(start),
            )
        if len(start) <= LARGE_BYTES:
            return self.put(start), len(start)
        staged = self._stage(cast("BinaryIO", _Chained(start, stream)), _BLOB, max_bytes)
        return staged.oid, staged.length

    def _put(self, content: bytes, kind: int, oid: ObjectId | None = None) -> ObjectId:
        self._check_open()
        if len(content) > LARGE_BYTES:
            return self._stage(io.BytesIO(content), kind, len(content)).oid
        if oid is None:
            oid = object_id(content)
        if oid in self._pending or oid in self._reader:
            return oid
        self._pending[oid] = (kind, bytes(content))
        self._pending_bytes += len(content)
        if self._pending_bytes > BULK_BYTES or len(self._pending) >= _BULK_OBJECTS:
            self._flush()
        return oid

    def _stage(self, stream: BinaryIO, kind: int, max_bytes: int) -> StoredLarge:
        self._check_open()
        durable = self._writer.io
        self._writer.ensure_folder(self._writer.root / TMP)
        path = self._writer.temporary("large")
        fd = durable.create(path)
        try:
            try:
                stored = write_large(stream, fd, durable, max_bytes=max_bytes)
                durable.sync(fd)
            finally:
                durable.close(fd)
        except BaseException:
            durable.discard(path)
            raise
        if stored.oid in self._large:
            durable.discard(path)
            return self._large[stored.oid].stored
        self._large[stored.oid] = _Staged(stored, kind, path)
        if len(self._large) >= _BULK_LARGE:
            self._flush()
        return stored

    def _flush(self) -> None:
        """Append what is pending as a bulk frame, under the publication lock."""
        writer = self._writer
        with writer.lock:
            writer.reader.refresh()
            writer.log.check()
            self.append(None)

    # ---- source

    def get(self, oid: ObjectId) -> bytes:
        """The bytes of an object, of this transaction or of the store.

        Raises:
            As ``ObjectReader.get``.
        """
        pending = self._pending.get(oid)
        if pending is not None:
            return pending[1]
        if oid in self._large:
            with self.open(oid) as stream:
                return stream.read()
        return self._reader.get(oid)

    def document(self, oid: ObjectId, kind: type[D]) -> D:
        """A document of this type; errors as ``ObjectReader.document``."""
        return decode(self.get(oid), kind)

    def size(self, oid: ObjectId) -> int:
        """The size of an object in bytes; errors as ``ObjectReader.size``."""
        pending = self._pending.get(oid)
        if pending is not None:
            return len(pending[1])
        staged = self._large.get(oid)
        return staged.stored.length if staged is not None else self._reader.size(oid)

    def open(self, oid: ObjectId) -> BinaryIO:
        """A binary stream over an object; errors as ``ObjectReader.open``."""
        staged = self._large.get(oid)
        if staged is not None:
            return open_large(
                staged.path,
                oid,
                length=staged.stored.length,
                stored_length=staged.stored.stored_length,
            )
        if oid in self._pending:
            return io.BytesIO(self._pending[oid][1])
        return self._reader.open(oid)

    def __contains__(self, oid: object) -> bool:
        return oid in self._pending or oid in self._large or oid in self._reader

    # ---- the end

    def publish(
        self,
        *,
        parent: ObjectId | None,
        generation: Document,
        refs: Mapping[str, ObjectId],
        previous_refs: Mapping[str, ObjectId],
        earlier: Iterable[Mapping[str, ObjectId]] = (),
    ) -> ObjectId:
        """Publish everything that was put, and a generation that names it; returns its id.

        Once the frame is on the disk the publication stands: a ref that can't be written
        then lags, and the next writer moves it forward.

        Args:
            parent: The head that this work rests on, None for the first generation.
            generation: The new head.
            refs: All refs of the new head; ``generation`` is added.
            previous_refs: All refs of ``parent``; ``generation`` is added.
            earlier: All refs of each generation before ``parent``, newest first, with
                ``generation``; only looked at when a ref lags.

        Raises:
            StaleGeneration: The head is another one by now; nothing was published, and the
                transaction may be published again with another parent.
            IntegrityError: The log or a ref is damaged; writing is refused.
            LockTimeout: Somebody held the publication lock for too long.
            StorageError: ``details["outcome"]``: ``none``, nothing was published; or
                ``unknown``, and this writer stops.
            LimitExceeded: The generation alone is too large for a frame.
        """
        self._check_open()
        encoded = encode(generation)
        decode(encoded, type(generation))
        if len(encoded) > _MAX_GENERATION_BYTES:
            raise LimitExceeded(
                f"the generation has {len(encoded)} bytes",
                limit="max_generation_bytes",
                value=_MAX_GENERATION_BYTES,
                asked=len(encoded),
            )
        oid = object_id(encoded)
        self._writer.publish(self, parent, (oid, encoded), refs, previous_refs, earlier)
        self._open = False
        return oid

    def abandon(self) -> None:
        """Drop what was put; nothing happens after :meth:`publish`.

        Bulk frames that were written stay in the log as unreachable objects.
        """
        self._open = False
        self._pending.clear()
        for staged in self._large.values():
            self._writer.io.discard(staged.path)
        self._large.clear()

    def append(self, generation: tuple[ObjectId, bytes] | None, *, sync: bool = True) -> None:
        """Append one frame with what is pending (the caller holds the publication lock)."""
        large = self._place_large()
        objects = [
            (oid.to_bytes(), kind, content)
            for oid, (kind, content) in self._pending.items()
            if generation is None or oid != generation[0]
        ]
        raw_generation = bytes(32)
        if generation is not None:
            raw_generation = generation[0].to_bytes()
            objects.append((raw_generation, _DOCUMENT, generation[1]))
        summary = self._writer.log.append(
            generation=raw_generation, objects=objects, large=large, sync=sync
        )
        self._reader.noted(summary, objects)
        self._pending.clear()
        self._pending_bytes = 0
        self._large.clear()

    def _place_large(self) -> list[tuple[bytes, int, int, int, bytes]]:
        """Move staged files to where they belong; returns their table entries.

        Under the publication lock, so that two writers of one object agree on its file.
        """
        entries = []
        for staged in self._large.values():
            stored = self._place_one(staged)
            if stored is not None:
                entries.append(
                    (
                        stored.oid.to_bytes(),
                        staged.kind,
                        stored.length,
                        stored.stored_length,
                        stored.stored_digest,
                    )
                )
        return entries

    def _place_one(self, staged: _Staged) -> StoredLarge | None:
        """Put one file in place; what to record of it, None when the log has recorded it."""
        writer, oid = self._writer, staged.stored.oid
        target = large_path(writer.root, oid)
        recorded: StoredLarge | None = None
        if oid in self._reader:
            entry = self._reader.entry(oid)
            if isinstance(entry, LargeEntry) and entry.state == "present":
                recorded = StoredLarge(oid, entry.length, entry.stored_length, entry.stored_digest)
        found = measure(target)
        if found is not None and found.oid == oid and found == (recorded or found):
            # Whoever wrote it may not have come as far as syncing it.
            writer.io.sync_file(target)
            writer.io.sync_folder(target.parent)
            writer.io.discard(staged.path)
            return None if recorded else found
        if recorded is not None and recorded != staged.stored:
            raise IntegrityError(
                f"the stored file of {oid} is damaged", kind="bad_large_object", oid=str(oid)
            )
        writer.ensure_folder(target.parent)
        if staged.path.exists():
            writer.io.replace(staged.path, target)
        writer.io.sync_folder(target.parent)
        return None if recorded else staged.stored

    def _check_open(self) -> None:
        if not self._open:
            raise InvalidError("the transaction has ended", kind="transaction_ended")


class _Chained(io.RawIOBase):
    """Bytes that were read already, then the rest of a stream."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._start = start
        self._rest = rest

    def read(self, size: int = -1, /) -> bytes:
        if self._start:
            start, self._start = self._start, b""
            return start
        return self._rest.read(size)


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        chunk = stream.read(size)
        if not chunk:
            break
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)
