"""VS-OBJ: digests, canonical form, schemas, references, reachability.

Reachability is followed as generations come: an object that is reached is marked, and what
it names in turn; of documents that wait to be reached (a bulk import) the references are
kept until then. So memory grows with the number of objects, never with their size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeVar

from blake3 import blake3

from vstore.errors import (
    IntegrityError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    UnsupportedError,
)
from vstore.objects.document import Document, schema_name
from vstore.objects.frame import FrameSummary, LargeEntry
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.plain_json import MAX_DOCUMENT_BYTES
from vstore.verify.checks.container import segment_path
from vstore.verify.decoding import DocumentDecoder
from vstore.verify.objects import BAD, DOCUMENT, LARGE, REACHED, WITHHELD, ObjectTable
from vstore.verify.report import FindingCollector

__all__ = ["ObjectCheck"]

D = TypeVar("D", bound=Document)

_ID_TEXT: Final = re.compile(rb'"(b3:[0-9a-f]{64})"')


class ObjectCheck:
    """Checks objects as frames bring them.

    Args:
        table: Where they are noted.
        found: Takes the findings.
    """

    def __init__(self, table: ObjectTable, found: FindingCollector) -> None:
        self.table = table
        self.found = found
        self.bytes = 0
        self._decoder = DocumentDecoder()
        #: References of documents that are not reached yet.
        self._waiting: dict[ObjectId, tuple[ObjectId, ...]] = {}
        #: Absent objects, and the document that named each first.
        self._absent: dict[ObjectId, ObjectId] = {}
        #: What documents of unknown schemas seem to name: never held against anybody.
        self._guessed: dict[ObjectId, list[bytes]] = {}
        #: So many frames are of the package that an incremental bundle continues: what they
        #: have too much is not the bundle's fault.
        self.foreign_frames = 0
        #: Documents of the current frame.
        self.current: dict[ObjectId, Document] = {}
        self._encoded: dict[ObjectId, bytes] = {}

    def begin_frame(self) -> None:
        """Forget the documents of the frame before."""
        self.current.clear()
        self._encoded.clear()

    def take_frame(self, frame: FrameSummary, number: int, payload: bytes) -> None:
        """Check every object of a frame.

        Args:
            frame: Its header, already checked.
            number: By which the table finds the payload again.
            payload: The uncompressed objects.
        """
        add = self.table.add
        for raw, (oid, kind, state, offset, length) in zip(
            frame.raw_ids(), frame.objects(), strict=False
        ):
            is_document = kind == "document"
            flags = DOCUMENT if is_document else 0
            if state != "present":
                self._note_withheld(oid, flags, number, length)
                continue
            content = payload[offset : offset + length]
            if not frame.derived and blake3(content).digest() != raw:
                self.found.add(
                    "VS-OBJ-001",
                    "the bytes under this id have another digest",
                    object=oid,
                    file=segment_path(frame.segment),
                    offset=frame.offset,
                    actual=object_id(content),
                )
                add(oid, flags | BAD, number, offset, length)
                continue
            if not add(oid, flags, number, offset, length) and not self._is_foreign(oid):
                self.found.add(
                    "VS-OBJ-010",
                    "stored again",
                    object=oid,
                    file=segment_path(frame.segment),
                    offset=frame.offset,
                )
            self.bytes += length
            if is_document:
                self.take_document(oid, content)
            if oid in self._absent:
                self._arrived(oid)

    @property
    def waits(self) -> bool:
        """Whether something was named that is yet to come, or may have been."""
        return bool(self._absent or self._guessed)

    def take_reached(self, ids: Sequence[ObjectId], lengths: Sequence[int], number: int) -> None:
        """Note the documents of a frame that were proved right, in the order of its payload.

        Every one of them is new and reached, and so is all that they name.

        Args:
            ids: Their ids.
            lengths: Their lengths in bytes.
            number: The frame's number.
        """
        self.table.add_all(ids, DOCUMENT | REACHED, number, lengths)
        self.bytes += sum(lengths)

    def take_large(self, entry: LargeEntry, number: int, *, sound: bool) -> None:
        """Note an object with a file of its own.

        Args:
            entry: What the frame's table says.
            number: The frame's number.
            sound: Whether the file was found to hold these very bytes.
        """
        flags = LARGE | (DOCUMENT if entry.kind == "document" else 0)
        if entry.state != "present":
            self._note_withheld(entry.oid, flags, number, entry.length)
            return
        if not self.table.add(entry.oid, flags if sound else flags | BAD, number, 0, entry.length):
            if not self._is_foreign(entry.oid):
                self.found.add("VS-OBJ-010", "stored again", object=entry.oid)
            return
        if sound:
            self.bytes += entry.length
            if entry.kind == "document":
                if entry.length > MAX_DOCUMENT_BYTES:
                    self._bad(entry.oid, "VS-OBJ-009", "it is larger than any document")
                else:
                    self.take_document(entry.oid, self.table.get(entry.oid))
        if entry.oid in self._absent:
            self._arrived(entry.oid)

    def take_document(self, oid: ObjectId, content: bytes) -> None:
        """Check a document whose digest is right, and note what it names."""
        try:
            document, references = self._decoder.decode(content)
        except UnsupportedError:
            self._bad(oid, "VS-OBJ-004", "its schema is not known to this version")
            self._guessed[oid] = _ID_TEXT.findall(content)
        except LimitExceeded as error:
            self._bad(oid, "VS-OBJ-009", error.message)
        except InvalidError as error:
            code = "VS-OBJ-002" if error.kind == "not_canonical" else "VS-OBJ-003"
            pointer = error.details.get("pointer")
            self._bad(oid, code, error.message, pointer if isinstance(pointer, str) else None)
        else:
            self.current[oid] = document
            self._encoded[oid] = content
            if references:
                self._waiting[oid] = references

    def _bad(self, oid: ObjectId, code: str, message: str, pointer: str | None = None) -> None:
        self.table.mark(oid, BAD)
        self.found.add(code, message, object=oid, pointer=pointer)

    def _note_withheld(self, oid: ObjectId, flags: int, number: int, length: int) -> None:
        self.table.add(oid, flags | WITHHELD | BAD, number, 0, length)
        self.found.add("VS-OBJ-008", "its bytes are not in the package", object=oid)
        if oid in self._absent:
            self._arrived(oid)

    # ---- references

    def reach(self, root: ObjectId) -> None:
        """Mark everything that a generation names, directly or not."""
        if self.table.reach(root):
            self._follow(root)

    def _follow(self, root: ObjectId) -> None:
        stack = [root]
        waiting, reach_all = self._waiting, self.table.reach_all
        while stack:
            referrer = stack.pop()
            references = waiting.pop(referrer, None)
            if references is not None:
                for oid in reach_all(references, stack):
                    self._absent.setdefault(oid, referrer)

    def _arrived(self, oid: ObjectId) -> None:
        """Report an object that was named before it was stored: nobody can have seen it."""
        self.found.add(
            "VS-OBJ-005",
            f"{oid} is named here and was stored only later",
            object=self._absent.pop(oid),
            actual=oid,
        )
        self.reach(oid)

    def _is_foreign(self, oid: ObjectId) -> bool:
        return self.table.frame_of(oid) < self.foreign_frames

    def encoded(self, oid: ObjectId) -> bytes:
        """The bytes of a document that :meth:`lookup` gave."""
        known = self._encoded.get(oid)
        return self.table.get(oid) if known is None else known

    def lookup(
        self, oid: ObjectId, kind: type[D], referrer: ObjectId, pointer: str | None = None
    ) -> D | None:
        """The document of this type that another document names.

        Args:
            oid: Its id.
            kind: What it must be.
            referrer: Who names it, for the finding.
            pointer: Where.

        Returns:
            The document; None when it can't be had, which is reported here, or, where it is
            absent or bad, by others.
        """
        document = self.current.get(oid)
        if type(document) is kind:
            return document
        flags = self.table.flags(oid)
        if flags is None or flags & BAD:
            return None
        if document is None and not flags & DOCUMENT:
            # Stored as a blob, perhaps as an equal file before: what it is, its use decides.
            self._take_late(oid, flags)
            document = self.current.get(oid)
            if type(document) is kind:
                return document
            if (self.table.flags(oid) or 0) & BAD:
                return None
        elif document is None:
            try:
                return self.table.document(oid, kind)
            except (InvalidError, LimitExceeded):
                pass
            except (NotFoundError, IntegrityError, UnsupportedError) as error:
                self.found.add("VS-OBJ-009", error.message, object=oid)
                return None
        self.wrong_type(oid, schema_name(kind), referrer, pointer)
        return None

    def _take_late(self, oid: ObjectId, flags: int) -> None:
        """Check as a document what was stored as a blob and is used as a document."""
        if self.table.size(oid) > MAX_DOCUMENT_BYTES:
            self._bad(oid, "VS-OBJ-009", "it is larger than any document that is read")
            return
        content = self.table.get(oid)
        if not content.startswith(b'{"'):
            return
        self.table.mark(oid, DOCUMENT)
        self.take_document(oid, content)
        if flags & REACHED:
            self._follow(oid)

    def wrong_type(
        self, oid: ObjectId, expected: str, referrer: ObjectId, pointer: str | None = None
    ) -> None:
        """Report a reference that leads to something of another type."""
        self.found.add(
            "VS-OBJ-007",
            f"the object that is named here is no {expected}",
            object=referrer,
            pointer=pointer,
            expected=expected,
            actual=oid,
        )

    # ---- the end

    def _follow_guesses(self) -> None:
        """Reach what documents of unknown schemas seem to name, where there is such a thing."""
        before = -1
        while before != (before := len(self._guessed)):
            for oid in list(self._guessed):
                if (self.table.flags(oid) or 0) & REACHED:
                    for text in self._guessed.pop(oid):
                        self.reach(ObjectId(text.decode("ascii")))

    def finish(self, *, complete: bool, whole: bool) -> None:
        """Report what is dangling and what nothing names.

        Args:
            complete: Whether all frames were read; else something lost explains both.
            whole: Whether every generation was followed in all areas; else something that
                wasn't followed may name what seems to be unreachable.
        """
        if not complete:
            self.found.skip("dangling and unreachable objects: frames of the log were lost")
            return
        self._follow_guesses()
        for oid, referrer in self._absent.items():
            self.found.add(
                "VS-OBJ-005",
                f"{oid} is named here and not in the package",
                object=referrer,
                actual=oid,
            )
        if not whole:
            self.found.skip("unreachable objects: not everything could be followed")
            return
        for oid in self.table.unreached():
            if self._is_foreign(oid):
                continue
            self.found.add("VS-OBJ-006", "no generation leads to it", object=oid)
