"""All objects of a package: where each is, what is known of it, and reading it again.

Filled by the one pass over the log; a package of 70,000 objects takes some 20 MB. It is an
object source for the rules and the router, over what was passed so far.
"""

from __future__ import annotations

import io
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import BinaryIO, Final, NamedTuple, TypeVar

from vstore.errors import NotFoundError, UnsupportedError
from vstore.objects.canonical import decode
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId

__all__ = ["BAD", "DOCUMENT", "LARGE", "REACHED", "WITHHELD", "ObjectTable", "Place"]

D = TypeVar("D", bound=Document)

#: Flags of an object.
DOCUMENT: Final = 1
REACHED: Final = 2
#: Its bytes were judged already: nobody reports them again.
BAD: Final = 4
WITHHELD: Final = 8
LARGE: Final = 16

_CACHED_BYTES: Final = 32 * 1024 * 1024
_CACHED_DOCUMENTS: Final = 4096


class Place(NamedTuple):
    """Where an object's bytes are: in the payload of a frame, or in a file of their own."""

    frame: int
    offset: int
    length: int


class ObjectTable:
    """The objects met so far.

    Args:
        payload_of: Reads the payload of the frame with this number, as it was when it
            was checked.
        large_of: Opens the uncompressed bytes of a large object.
    """

    def __init__(
        self,
        payload_of: Callable[[int], bytes],
        large_of: Callable[[ObjectId], BinaryIO],
    ) -> None:
        self._payload_of = payload_of
        self._large_of = large_of
        self._rows: dict[ObjectId, int] = {}
        self._frames = array("L")
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._flags = bytearray()
        self._payloads: OrderedDict[int, bytes] = OrderedDict()
        self._payload_bytes = 0
        self._documents: OrderedDict[ObjectId, Document] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, oid: object) -> bool:
        return oid in self._rows

    def add(self, oid: ObjectId, flags: int, frame: int, offset: int, length: int) -> bool:
        """Note an object; False when it was known already, and nothing changes."""
        rows = self._rows
        if oid in rows:
            return False
        rows[oid] = len(self._flags)
        self._frames.append(frame)
        self._offsets.append(offset)
        self._lengths.append(length)
        self._flags.append(flags)
        return True

    def add_all(
        self, oids: Sequence[ObjectId], flags: int, frame: int, lengths: Sequence[int]
    ) -> None:
        """Note new objects that lie one after another from the beginning of a frame's payload."""
        row = len(self._flags)
        self._rows.update(zip(oids, range(row, row + len(oids)), strict=True))
        self._frames.extend([frame] * len(oids))
        self._offsets.extend(accumulate(lengths[:-1], initial=0))
        self._lengths.extend(lengths)
        self._flags.extend([flags] * len(oids))

    def frame_of(self, oid: ObjectId) -> int:
        """The number of the frame that has an object that was met."""
        return self._frames[self._rows[oid]]

    def flags(self, oid: ObjectId) -> int | None:
        """The flags of an object, None when it was not met."""
        row = self._rows.get(oid)
        return None if row is None else self._flags[row]

    def mark(self, oid: ObjectId, flag: int) -> None:
        """Set a flag of an object that was met."""
        self._flags[self._rows[oid]] |= flag

    def unreached(self) -> list[ObjectId]:
        """The objects without the flag :data:`REACHED`, in the order of the log."""
        flags = self._flags
        return [oid for oid, row in self._rows.items() if not flags[row] & REACHED]

    def reach(self, oid: ObjectId) -> bool | None:
        """Set :data:`REACHED`; whether that is new, or None when there is no such object."""
        row = self._rows.get(oid)
        if row is None:
            return None
        if self._flags[row] & REACHED:
            return False
        self._flags[row] |= REACHED
        return True

    def reach_all(self, oids: Iterable[ObjectId], new: list[ObjectId]) -> list[ObjectId]:
        """Reach many; those for which that is new are appended, absent ones are returned."""
        rows, flags = self._rows, self._flags
        absent: list[ObjectId] = []
        for oid in oids:
            row = rows.get(oid)
            if row is None:
                absent.append(oid)
            elif not flags[row] & REACHED:
                flags[row] |= REACHED
                new.append(oid)
        return absent

    def any_known(self, oids: Iterable[ObjectId]) -> bool:
        """Whether one of these was met before."""
        return not self._rows.keys().isdisjoint(oids)

    def all_reached(self, oids: Iterable[str]) -> bool:
        """Whether all of these are objects with the flag :data:`REACHED`."""
        rows, flags = self._rows, self._flags
        for oid in oids:
            row = rows.get(oid)  # type: ignore[call-overload]
            if row is None or not flags[row] & REACHED:
                return False
        return True

    def keep(self, frame: int, payload: bytes) -> None:
        """Keep the payload of a frame for a while: what comes next often refers to it."""
        self._payloads[frame] = payload
        self._payload_bytes += len(payload)
        while self._payload_bytes > _CACHED_BYTES and len(self._payloads) > 1:
            _, dropped = self._payloads.popitem(last=False)
            self._payload_bytes -= len(dropped)

    def get(self, oid: ObjectId) -> bytes:
        """See :meth:`vstore.objects.memory.ObjectSource.get`.

        Digests were checked when the object was met, and the payload is the same.
        """
        row = self._row(oid)
        if self._flags[row] & LARGE:
            with self._large_of(oid) as stream:
                return stream.read()
        frame = self._frames[row]
        payload = self._payloads.get(frame)
        if payload is None:
            payload = self._payload_of(frame)
            self.keep(frame, payload)
        else:
            self._payloads.move_to_end(frame)
        offset = self._offsets[row]
        return payload[offset : offset + self._lengths[row]]

    def document(self, oid: ObjectId, kind: type[D]) -> D:
        """See :meth:`vstore.objects.memory.ObjectSource.document`."""
        kept = self._documents.get(oid)
        if type(kept) is kind:
            self._documents.move_to_end(oid)
            return kept
        document = decode(self.get(oid), kind)
        self._documents[oid] = document
        if len(self._documents) > _CACHED_DOCUMENTS:
            self._documents.popitem(last=False)
        return document

    def size(self, oid: ObjectId) -> int:
        """See :meth:`vstore.objects.memory.ObjectSource.size`."""
        row = self._rows.get(oid)
        if row is None:
            raise NotFoundError(f"no object {oid}", kind="no_object")
        return self._lengths[row]

    def open(self, oid: ObjectId) -> BinaryIO:
        """See :meth:`vstore.objects.memory.ObjectSource.open`."""
        if self._flags[self._row(oid)] & LARGE:
            return self._large_of(oid)
        return io.BytesIO(self.get(oid))

    def _row(self, oid: ObjectId) -> int:
        row = self._rows.get(oid)
        if row is None:
            raise NotFoundError(f"no object {oid}", kind="no_object")
        if self._flags[row] & WITHHELD:
            raise UnsupportedError(f"the bytes of {oid} were withheld", kind="withheld")
        return row
