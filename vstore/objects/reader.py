"""Reading the object store of one package: no locks, no writes, read-only media welcome."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from blake3 import blake3

from vstore.errors import IntegrityError, NotFoundError
from vstore.objects.canonical import decode
from vstore.objects.document import Document
from vstore.objects.frame import (
    NO_GENERATION,
    FrameSummary,
    LargeEntry,
    ObjectEntry,
    ObjectState,
)
from vstore.objects.ids import ObjectId
from vstore.objects.index_cache import IndexCache
from vstore.objects.layout import StoreFormat
from vstore.objects.log import Damage, Tail
from vstore.objects.refs import BadRef
from vstore.objects.store_files import FolderFiles, StoreFiles
from vstore.objects.table_stack import TableFile

__all__ = ["ObjectReader"]

D = TypeVar("D", bound=Document)

#: Decompressed payloads that are kept, in bytes.
_CACHE_BYTES: Final = 32 * 1024 * 1024
#: A frame of more is not kept when it is written.
_RECENT_BYTES: Final = 1024 * 1024
#: A frame's place in the index: segment and offset in one integer, shared by its objects.
_OFFSET_BITS: Final = 40
_OFFSET_MASK: Final = (1 << _OFFSET_BITS) - 1


class _Frame:
    """A frame that was read: its objects by id, and their bytes."""

    __slots__ = ("entries", "payload")

    def __init__(self, summary: FrameSummary, payload: bytes) -> None:
        self.payload = payload
        entries: list[ObjectEntry | LargeEntry] = [*summary.objects(), *summary.large()]
        self.entries = dict(zip(summary.raw_ids(), entries, strict=True))


class ObjectReader:
    """The objects of one package, by id; an ``ObjectSource``.

    Opening looks at the end of the log only. Damage elsewhere is found when it is met, or by
    :meth:`scan`. A reader sees the log as it was when it was opened or last refreshed. Several
    threads may share one.
    """

    def __init__(self, root: Path, files: StoreFiles | None = None) -> None:
        """Open a package for reading.

        Args:
            root: The package's folder, or the file that it is in.
            files: Reads what is in it; by default what is in that folder.

        Raises:
            NotFoundError: The folder is no package.
            IntegrityError: Its format file or the end of its log is damaged.
            UnsupportedError: A format or feature that this version doesn't know.
            StorageError: Something can't be read.
        """
        self.root = root
        self.files: StoreFiles = FolderFiles(root) if files is None else files
        self.format: StoreFormat = self.files.format()
        self.log = self.files.log()
        #: Held while the index or the frames in memory change.
        self._mutex = threading.RLock()
        self._index: dict[bytes, int] = {}
        self._generations: set[bytes] = set()
        self._walk: Iterator[FrameSummary] | None = None
        self._complete = False
        self._base: IndexCache | None = None
        #: What the cached index said, checked; and what it doesn't cover.
        self._found: dict[bytes, int] = {}
        self._uncovered: list[tuple[bytes, int]] = []
        #: The files of the cached index, oldest first; with what is uncovered they have all.
        self.index_files: list[TableFile] = []
        #: The end of the log as far as the index knows it.
        self._indexed_to: Tail = self.log.tail
        self._frames: OrderedDict[int, _Frame] = OrderedDict()
        self._cached_bytes = 0
        #: The objects of the frame that this process appended last.
        self._recent: dict[bytes, bytes] = {}

    def close(self) -> None:
        """Close all files."""
        self.log.close()
        self.files.close()

    # ---- the log

    @property
    def generation(self) -> ObjectId | None:
        """The head: the generation of the last valid publication; None before the first."""
        head = self.log.tail.head
        return None if head == NO_GENERATION else ObjectId.from_bytes(head)

    @property
    def sequence(self) -> int:
        """The number of the last frame; 0 for none."""
        return self.log.tail.sequence

    @property
    def damage(self) -> list[Damage]:
        """What opening and refreshing found wrong; a writer refuses to write then."""
        return self.log.damage

    def refs(self) -> dict[str, ObjectId | BadRef]:
        """What the ref files say, raw, by name."""
        return self.files.refs()

    def scan(self) -> Iterator[FrameSummary | Damage]:
        """All frames in order, each checked in full, and the damage between them."""
        return self.log.scan()

    def frames(self) -> Iterator[FrameSummary]:
        """All frames in order, each checked in full.

        Raises:
            IntegrityError: At damage; it names offsets and lost objects.
        """
        for found in self.log.scan():
            if isinstance(found, Damage):
                raise found.error()
            yield found

    def frames_backwards(self) -> Iterator[FrameSummary]:
        """All frames from the last to the first; headers are checked, payloads are not read.

        Raises:
            IntegrityError: The chain of frames is broken.
        """
        return self.log.backwards()

    def frame_objects(self, summary: FrameSummary) -> Iterator[tuple[ObjectEntry, bytes | None]]:
        """The objects in a frame with their bytes, None for withheld ones; digests unchecked.

        Raises:
            IntegrityError: The frame is damaged.
            UnsupportedError: The frame has features that this version doesn't know.
        """
        found, payload = self.log.read_objects(summary.segment, summary.offset)
        for entry in found.objects():
            present = entry.state == "present"
            yield entry, payload[entry.offset : entry.offset + entry.length] if present else None

    def published(self, oid: ObjectId) -> bool:
        """Whether some frame publishes this generation."""
        with self._mutex:
            return self._published(oid.to_bytes())

    def _published(self, raw: bytes) -> bool:
        if raw in self._generations or raw == self.log.tail.head:
            return True
        place = self._place(raw)
        if place is None:
            return False
        # A generation is in the frame that publishes it, except where somebody put it before.
        summary, _ = self.log.read_objects(place >> _OFFSET_BITS, place & _OFFSET_MASK)
        if summary.raw_generation == raw:
            self._generations.add(raw)
            return True
        return any(summary.raw_generation == raw for summary in self.log.backwards())

    def refresh(self) -> bool:
        """Look for frames that were appended since; True when there are any.

        Raises:
            IntegrityError, StorageError: The log can't be followed.
        """
        with self._mutex:
            changed = self.log.refresh()
            if changed:
                self._index_new()
            return changed

    def noted(self, summary: FrameSummary, objects: Iterable[tuple[bytes, int, bytes]]) -> None:
        """Take note of a frame that this process appended (for the writer).

        Args:
            summary: Its header.
            objects: Id, kind and bytes of what is in it; a small frame is kept, because what
                was just published is often what is read next.
        """
        with self._mutex:
            self._add(summary)
            self._indexed_to = self.log.tail
            small = summary.raw_length <= _RECENT_BYTES
            self._recent = {raw: content for raw, _, content in objects} if small else {}

    # ---- objects

    def get(self, oid: ObjectId) -> bytes:
        """The bytes of an object, its digest checked.

        Raises:
            NotFoundError: No such object (``no_object``), or its bytes are ``withheld``.
            IntegrityError: The stored bytes are damaged.
            UnsupportedError: It is in a frame that this version can't read.
        """
        raw = oid.to_bytes()
        recent = self._recent.get(raw)
        if recent is not None:
            return recent
        frame, entry = self._find(raw, oid)
        if entry.state == "withheld":
            raise NotFoundError(
                f"the bytes of {oid} are withheld", kind="withheld", oid=str(oid), size=entry.length
            )
        if isinstance(entry, LargeEntry):
            with self._open_large(entry) as stream:
                return stream.read()
        content = frame.payload[entry.offset : entry.offset + entry.length]
        if blake3(content).digest() != raw:
            raise IntegrityError(
                f"the stored bytes of {oid} have another digest", kind="bad_object", oid=str(oid)
            )
        return content

    def document(self, oid: ObjectId, kind: type[D]) -> D:
        """A document of this type, read strictly.

        Raises:
            As :meth:`get`, and InvalidError: not a canonical document of this type.
        """
        return decode(self.get(oid), kind)

    def size(self, oid: ObjectId) -> int:
        """The size of an object in bytes, also of a withheld one.

        Raises:
            NotFoundError: No such object.
        """
        return self.entry(oid).length

    def state(self, oid: ObjectId) -> ObjectState | None:
        """``present``, ``withheld``, or None for an object that the package doesn't have."""
        try:
            return self.entry(oid).state
        except NotFoundError:
            return None

    def entry(self, oid: ObjectId) -> ObjectEntry | LargeEntry:
        """What the table says of an object.

        Raises:
            NotFoundError: No such object.
        """
        return self._find(oid.to_bytes(), oid)[1]

    def open(self, oid: ObjectId) -> BinaryIO:
        """A binary stream over an object; the digest of a large one is checked at its end.

        Raises:
            As :meth:`get`.
        """
        raw = oid.to_bytes()
        _, entry = self._find(raw, oid)
        if isinstance(entry, LargeEntry) and entry.state == "present":
            return self._open_large(entry)
        return io.BytesIO(self.get(oid))

    def __contains__(self, oid: object) -> bool:
        if not isinstance(oid, ObjectId):
            return False
        with self._mutex:
            return self._place(oid.to_bytes()) is not None

    def _open_large(self, entry: LargeEntry) -> BinaryIO:
        return self.files.open_large(entry)

    def _find(self, raw: bytes, oid: ObjectId) -> tuple[_Frame, ObjectEntry | LargeEntry]:
        with self._mutex:
            place = self._place(raw)
            if place is None:
                raise NotFoundError(f"no object {oid}", kind="no_object", oid=str(oid))
            frame = self._frames.get(place)
            if frame is None:
                frame = self._load(place)
            else:
                self._frames.move_to_end(place)
            return frame, frame.entries[raw]

    def _load(self, place: int) -> _Frame:
        summary, payload = self.log.read_objects(place >> _OFFSET_BITS, place & _OFFSET_MASK)
        frame = _Frame(summary, payload)
        self._frames[place] = frame
        self._cached_bytes += summary.raw_length + summary.header_length
        while self._cached_bytes > _CACHE_BYTES and len(self._frames) > 1:
            _, dropped = self._frames.popitem(last=False)
            self._cached_bytes -= len(dropped.payload) + 160
        return frame

    # ---- the index: recent frames first, as far back as questions need

    def _place(self, raw: bytes) -> int | None:
        place = self._index.get(raw)
        if place is None:
            place = self._found.get(raw)
        if place is not None:
            return place
        if self._walk is None and not self._complete:
            self._begin_index()
        if self._base is not None:
            place = self._place_in_base(raw)
        if place is None and not self._complete:
            self._extend_index(raw)
            place = self._index.get(raw)
        if place is None:
            frame = self.log.find_packed(raw)
            if frame is not None:
                place = self._found[raw] = frame.segment << _OFFSET_BITS | frame.offset
        return place

    def _place_in_base(self, raw: bytes) -> int | None:
        """Ask the cached index, and check its answer."""
        assert self._base is not None
        place: int | None = None
        try:
            place = self._base.find(raw)
            if place is None:
                return None
            frame = self._frames.get(place) or self._load(place)
        except IntegrityError:
            frame = None
        if place is None or frame is None or raw not in frame.entries:
            # It says what isn't so: look at the log itself from here on.
            self._base, self._complete = None, False
            self._walk = self.log.backwards(packed=False)
            self._indexed_to = self.log.tail
            self._uncovered, self.index_files = [], []
            return None
        self._found[raw] = place
        return place

    def _add(self, summary: FrameSummary) -> None:
        place = summary.segment << _OFFSET_BITS | summary.offset
        for raw in summary.raw_ids():
            self._index[raw] = place
            self._uncovered.append((raw, place))
        if summary.raw_generation != NO_GENERATION:
            self._generations.add(summary.raw_generation)

    def _begin_index(self) -> None:
        self._base = self.files.index(self.log)
        self.index_files = [] if self._base is None else self._base.files
        # Packs have an index of their own.
        self._walk = self.log.backwards(packed=False)
        self._indexed_to = self.log.tail

    def _extend_index(self, wanted: bytes | None) -> None:
        """Walk back until an object is found; as far as the cached index reaches for None."""
        if self._complete:
            return
        if self._walk is None:
            self._begin_index()
        assert self._walk is not None
        covered = self._base.sequence if self._base is not None else 0
        index = self._index
        try:
            for summary in self._walk:
                if summary.sequence <= covered:
                    break
                place = summary.segment << _OFFSET_BITS | summary.offset
                for raw in summary.raw_ids():
                    index.setdefault(raw, place)
                    self._uncovered.append((raw, place))
                if summary.raw_generation != NO_GENERATION:
                    self._generations.add(summary.raw_generation)
                if wanted is not None and wanted in index:
                    return
        except IntegrityError:
            # Frames in front of the damage are still readable, going forwards.
            self._base, self.index_files = None, []
            for found in self.log.scan():
                if isinstance(found, FrameSummary):
                    self._add(found)
        self._walk = None
        self._complete = True

    def uncovered(self) -> list[tuple[bytes, int]]:
        """Ids of objects that the cached index lacks, and their frames' places."""
        with self._mutex:
            self._extend_index(None)
            return self._uncovered

    def cover(self, files: list[TableFile]) -> None:
        """Note that the cached index, of these files by now, covers the log."""
        with self._mutex:
            self._uncovered, self.index_files = [], files

    @property
    def covered(self) -> int:
        """Sequence number of the last frame that the cached index covers; 0 for none."""
        return self._base.sequence if self._base is not None else 0

    def _index_new(self) -> None:
        """Index the frames between the old end and the new one."""
        if self._walk is None and not self._complete:
            return
        fresh: list[FrameSummary] = []
        for summary in self.log.backwards():
            if summary.sequence <= self._indexed_to.sequence:
                break
            fresh.append(summary)
        for summary in reversed(fresh):
            self._add(summary)
        self._indexed_to = self.log.tail
