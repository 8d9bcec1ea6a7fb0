"""What a generation leads to: its own members and, in turn, what these name.

Only members that a document type declares as object ids lead anywhere: a text that looks
like one doesn't. Of a document whose schema this version doesn't know, every text that is an
object id counts, so that nothing which a newer version needs is ever left behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final

from vstore.errors import IntegrityError
from vstore.objects.ids import ObjectId
from vstore.objects.plain_json import MAX_DOCUMENT_BYTES
from vstore.objects.reference_decoder import ReferenceDecoder

__all__ = ["Facts", "References"]

_ID_TEXT: Final = re.compile(rb'"(b3:[0-9a-f]{64})"')
_ID: Final = re.compile(r"b3:[0-9a-f]{64}")
_START: Final = b'{"'


#: What was noted, in plain values: sizes, what documents name, as mere bytes, and which of them
#: are of unknown schemas.
Facts = tuple[dict[str, int], dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], set[str]]


class References:
    """The references of the documents of a package.

    Args:
        decoder: Knows every document type that the package may hold.
        read: The bytes of an object by its id, for those that were not :meth:`noted <note>`.
    """

    def __init__(self, decoder: ReferenceDecoder, read: Callable[[ObjectId], bytes]) -> None:
        self._decoder = decoder
        self._read = read
        # Tuples of texts, of which there are as many as documents: the garbage collector soon
        # passes them over, as it never does lists.
        self._named: dict[str, tuple[str, ...]] = {}
        #: Of documents that name mere bytes, whose use decides nothing.
        self._contents: dict[str, tuple[str, ...]] = {}
        #: Documents of unknown schemas: what they name may be no objects at all.
        self._guessed: set[str] = set()
        #: Every object that was met, and its size in bytes.
        self._sizes: dict[str, int] = {}
        self._withheld: set[str] = set()

    def note(self, oid: str, content: bytes, *, is_document: bool) -> None:
        """Take note of an object and of what it names.

        Args:
            oid: Its id, as text.
            content: Its bytes.
            is_document: Whether it was stored as a document; what was stored as mere bytes is
                looked at when a document leads to it.
        """
        self._sizes[oid] = len(content)
        if is_document:
            self._take(oid, content)

    def note_size(self, oid: str, size: int, *, withheld: bool = False) -> None:
        """Take note of an object whose bytes are not at hand: a large one, or withheld."""
        self._sizes[oid] = size
        if withheld:
            self._withheld.add(oid)

    @property
    def facts(self) -> Facts | None:
        """What was noted, to be :meth:`added <add>` to others; None with withheld objects."""
        return None if self._withheld else (self._sizes, self._named, self._contents, self._guessed)

    def add(self, facts: Facts) -> None:
        """Take note of what others noted: as :meth:`note` of each object does."""
        sizes, named, contents, guessed = facts
        self._sizes.update(sizes)
        self._named.update(named)
        self._contents.update(contents)
        self._guessed |= guessed

    def size(self, oid: str) -> int:
        """The size in bytes of an object that was met; 0 for a withheld one."""
        return 0 if oid in self._withheld else self._sizes[oid]

    def total_size(self, oids: Collection[str]) -> int:
        """The sizes of these objects together, as :meth:`size` has them."""
        withheld = sum(self._sizes[oid] for oid in self._withheld if oid in oids)
        return sum(map(self._sizes.__getitem__, oids)) - withheld

    def reachable(self, roots: Iterable[ObjectId]) -> set[str]:
        """The ids, as text, of all objects that these lead to, themselves included.

        Raises:
            IntegrityError: Something that is named is not there (``missing_object``).
        """
        sizes, named, contents = self._sizes, self._named, self._contents
        found: set[str] = set()
        #: Objects that are followed or will be, not just found as content.
        followed: set[str] = set()
        stack: list[str] = []

        def follow(oids: Iterable[str]) -> None:
            for oid in oids:
                if oid not in followed:
                    if oid not in sizes:
                        raise _missing(oid)
                    followed.add(oid)
                    stack.append(oid)

        follow(roots)
        while stack:
            oid = stack.pop()
            objects = named.get(oid)
            if objects is None:
                objects = self._look(oid)
            if oid in self._guessed:
                objects = tuple(one for one in objects if one in sizes)
            follow(objects)
            if oid in contents:
                for one in contents[oid]:
                    if one not in found:
                        if one not in sizes:
                            raise _missing(one)
                        found.add(one)
                        if one in named:
                            follow((one,))
        return found | followed

    def _look(self, oid: str) -> tuple[str, ...]:
        """What an object names that was stored as mere bytes, or wasn't noted."""
        if oid not in self._withheld and self._sizes[oid] <= MAX_DOCUMENT_BYTES:
            content = self._read(ObjectId(oid))
            if content.startswith(_START):
                return self._take(oid, content)
        return ()

    def _take(self, oid: str, content: bytes) -> tuple[str, ...]:
        named = self._decoder.read(content)
        if named is None:
            self._guessed.add(oid)
            texts = dict.fromkeys(one.decode("ascii") for one in _ID_TEXT.findall(content))
            objects = self._named[oid] = tuple(texts)
            return objects
        if named.contents:
            self._contents[oid] = tuple(named.contents)
        objects = self._named[oid] = tuple(named.objects)
        return objects


def _missing(oid: str) -> IntegrityError:
    # A document that nobody has judged yet may name anything.
    shown = oid if _ID.fullmatch(oid) else "an object whose id is none"
    return IntegrityError(
        f"the package lacks {shown}, which others name",
        kind="missing_object",
        hint="vstore verify says what else is lost; restore the package from another copy",
        object=shown,
    )
