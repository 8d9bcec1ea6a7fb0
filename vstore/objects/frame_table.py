"""The table of a frame: which objects it has and where, and the rest of its header.

``frame`` has the layout; this module has what a reader holds of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from vstore.errors import IntegrityError, UnsupportedError
from vstore.objects.ids import ObjectId

__all__ = [
    "LARGE_ENTRY",
    "MAX_LARGE_BYTES",
    "NO_GENERATION",
    "OBJECT_ENTRY",
    "TRAILER_BYTES",
    "FrameSummary",
    "LargeEntry",
    "ObjectEntry",
    "ObjectKind",
    "ObjectState",
]

NO_GENERATION: Final = bytes(32)
OBJECT_ENTRY: Final = struct.Struct("<32sBBII")
LARGE_ENTRY: Final = struct.Struct("<32sBBQQ32s")
TRAILER_BYTES: Final = 40
#: No stored object is larger than this, whatever a table claims.
MAX_LARGE_BYTES: Final = 1 << 44

KINDS: Final[tuple[Literal["blob", "document"], ...]] = ("blob", "document")
STATES: Final[tuple[Literal["present", "withheld"], ...]] = ("present", "withheld")

ObjectKind = Literal["blob", "document"]
ObjectState = Literal["present", "withheld"]


class ObjectEntry(NamedTuple):
    """One object of a frame's table."""

    oid: ObjectId
    kind: ObjectKind
    state: ObjectState
    #: Where it begins in the payload, in bytes.
    offset: int
    length: int


class LargeEntry(NamedTuple):
    """One object with a file of its own."""

    oid: ObjectId
    kind: ObjectKind
    state: ObjectState
    length: int
    #: Length and BLAKE3 digest of the stored (compressed) file.
    stored_length: int
    stored_digest: bytes


class FrameSummary:
    """A frame's header, checked against its digest.

    ``segment``, ``offset`` and ``length`` say where the frame is, in bytes; ``sequence``
    counts frames from 1.
    """

    __slots__ = (
        "_generation",
        "_large_count",
        "_object_count",
        "_parent",
        "_table",
        "digest",
        "features",
        "header_length",
        "length",
        "offset",
        "raw_length",
        "segment",
        "sequence",
        "stored_length",
    )

    #: Whether the ids of its objects were made from their bytes: then nobody compares them.
    derived = False

    segment: int
    offset: int
    length: int
    header_length: int
    features: int
    sequence: int
    stored_length: int
    raw_length: int
    #: Digest of the whole frame, 32 bytes; empty until the trailer was looked at.
    digest: bytes

    def __init__(
        self,
        segment: int,
        header_length: int,
        fields: tuple[bytes, int, int, bytes, int, int, bytes, bytes, int, int, int, int],
        table: bytes,
    ) -> None:
        self.segment = segment
        self.header_length = header_length
        (
            _,
            _,
            self.features,
            _,
            self.offset,
            self.sequence,
            self._parent,
            self._generation,
            self._object_count,
            self._large_count,
            self.stored_length,
            self.raw_length,
        ) = fields
        self.length = header_length + self.stored_length + TRAILER_BYTES
        self._table = table
        self.digest = b""

    def __repr__(self) -> str:
        return f"<frame {self.sequence} at {self.segment}:{self.offset}>"

    @property
    def parent(self) -> ObjectId | None:
        """The head generation when the frame was written; None before the first."""
        return None if self._parent == NO_GENERATION else ObjectId.from_bytes(self._parent)

    @property
    def generation(self) -> ObjectId | None:
        """The generation that this frame publishes; None for a bulk frame."""
        return None if self._generation == NO_GENERATION else ObjectId.from_bytes(self._generation)

    @property
    def raw_parent(self) -> bytes:
        """:attr:`parent` as 32 bytes, zeros for none."""
        return self._parent

    @property
    def raw_generation(self) -> bytes:
        """:attr:`generation` as 32 bytes, zeros for none."""
        return self._generation

    @property
    def raw_head(self) -> bytes:
        """The head generation after this frame, 32 bytes, zeros for none."""
        return self._parent if self._generation == NO_GENERATION else self._generation

    @property
    def supported(self) -> bool:
        """Whether this version knows all features of the frame."""
        return self.features == 0

    def raw_ids(self) -> list[bytes]:
        """The ids of all objects of the frame, 32 bytes each, in the order of the table."""
        table = self._table
        split = self._object_count * OBJECT_ENTRY.size
        ids = [table[at : at + 32] for at in range(0, split, OBJECT_ENTRY.size)]
        if self._large_count:
            ids += [table[at : at + 32] for at in range(split, len(table), LARGE_ENTRY.size)]
        return ids

    @property
    def _large_table(self) -> bytes:
        return self._table[self._object_count * OBJECT_ENTRY.size :]

    @property
    def raw_table(self) -> bytes:
        """The entries of all objects and large objects as they are stored."""
        return self._table

    @property
    def fingerprint(self) -> bytes:
        """What only frames with the same entries have, where the frames are of one log."""
        return self._table

    @property
    def counts(self) -> tuple[int, int]:
        """How many objects, and how many large ones, the table has."""
        return self._object_count, self._large_count

    @property
    def object_count(self) -> int:
        """How many objects the table names, large ones included."""
        return self._object_count + self._large_count

    def raw_entries(self) -> Iterator[tuple[bytes, int, int, int, int]]:
        """Id, kind, state, offset and length of each object as the table states them."""
        return OBJECT_ENTRY.iter_unpack(self._table[: self._object_count * OBJECT_ENTRY.size])

    def objects(self) -> Iterator[ObjectEntry]:
        """The objects in the frame.

        Raises:
            IntegrityError: The table is malformed.
        """
        position = 0
        for raw, kind, state, offset, length in self.raw_entries():
            if kind > 1 or state > 1 or offset != position:
                raise self._bad_table()
            if state == 0:
                position += length
            yield ObjectEntry(ObjectId.from_bytes(raw), KINDS[kind], STATES[state], offset, length)
        if position != self.raw_length:
            raise self._bad_table()

    def large(self) -> Iterator[LargeEntry]:
        """The objects of this frame that have files of their own.

        Raises:
            IntegrityError: The table is malformed.
        """
        for raw, kind, state, length, stored, digest in LARGE_ENTRY.iter_unpack(self._large_table):
            if kind > 1 or state > 1 or max(length, stored) > MAX_LARGE_BYTES:
                raise self._bad_table()
            yield LargeEntry(
                ObjectId.from_bytes(raw), KINDS[kind], STATES[state], length, stored, digest
            )

    def check_table(self) -> None:
        """Check the table without making its entries.

        Raises:
            IntegrityError: A malformed table.
            UnsupportedError: Features that this version doesn't know.
        """
        if self.features:
            raise self._unsupported()
        position = 0
        for _, kind, state, offset, length in self.raw_entries():
            if kind > 1 or state > 1 or offset != position:
                raise self._bad_table()
            if state == 0:
                position += length
        if position != self.raw_length:
            raise self._bad_table()
        if self._large_count:
            for _ in self.large():
                pass

    def find(self, raw: bytes) -> ObjectEntry | LargeEntry | None:
        """The entry of one object, None when the frame doesn't have it.

        Raises:
            UnsupportedError: The frame has features that this version doesn't know.
            IntegrityError: The table is malformed.
        """
        if self.features:
            raise self._unsupported()
        for small in self.objects():
            if small.oid.to_bytes() == raw:
                return small
        for large in self.large():
            if large.oid.to_bytes() == raw:
                return large
        return None

    def _bad_table(self) -> IntegrityError:
        return IntegrityError(
            f"the table of the frame at {self.segment}:{self.offset} is malformed",
            kind="bad_frame",
            segment=self.segment,
            offset=self.offset,
        )

    def _unsupported(self) -> UnsupportedError:
        return UnsupportedError(
            f"the frame at {self.segment}:{self.offset} has features that this version "
            "doesn't know",
            kind="unsupported_frame",
            hint="a newer vstore may be able to read it",
            segment=self.segment,
            offset=self.offset,
        )
