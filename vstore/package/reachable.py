"""What a generation leads to: its own members and, in turn, what these name.

Only members that a document type declares as object ids lead anywhere: a text that looks
like one doesn't. Of a document whose schema this version doesn't know, every text that is an
object id counts, so that nothing which a newer version needs is ever left behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from vstore.errors import IntegrityError
from vstore.objects.decoding import DocumentDecoder
from vstore.objects.ids import ObjectId
from vstore.objects.plain_json import MAX_DOCUMENT_BYTES
from vstore.objects.tree import Tree

__all__ = ["References"]

_ID_TEXT: Final = re.compile(rb'"b3:([0-9a-f]{64})"')
_START: Final = b'{"'


class _Named(NamedTuple):
    """What one document names: objects whose kind its use decides, and mere bytes."""

    objects: tuple[bytes, ...]
    #: Files and links of a tree: whatever they hold, it is content and leads nowhere.
    contents: tuple[bytes, ...]
    #: Found as text, in a document of an unknown schema: may be no objects at all.
    guessed: bool = False


_NOTHING: Final = _Named((), ())


class References:
    """The references of the documents of a package.

    Args:
        decoder: Knows every document type that the package may hold.
        read: The bytes of an object by its id, for those that were not :meth:`noted <note>`.
    """

    def __init__(self, decoder: DocumentDecoder, read: Callable[[ObjectId], bytes]) -> None:
        self._decoder = decoder
        self._read = read
        self._named: dict[bytes, _Named] = {}
        #: Every object that was met, and its size in bytes.
        self._sizes: dict[bytes, int] = {}
        self._withheld: set[bytes] = set()

    def note(self, raw: bytes, content: bytes, *, is_document: bool) -> None:
        """Take note of an object and of what it names.

        Args:
            raw: Its id, 32 bytes.
            content: Its bytes.
            is_document: Whether it was stored as a document; what was stored as mere bytes is
                looked at when a document leads to it.
        """
        self._sizes[raw] = len(content)
        if is_document:
            self._named[raw] = self._references(content)

    def note_size(self, raw: bytes, size: int, *, withheld: bool = False) -> None:
        """Take note of an object whose bytes are not at hand: a large one, or withheld."""
        self._sizes[raw] = size
        if withheld:
            self._withheld.add(raw)

    def size(self, raw: bytes) -> int:
        """The size in bytes of an object that was met; 0 for a withheld one."""
        return 0 if raw in self._withheld else self._sizes[raw]

    def reachable(self, roots: Iterable[ObjectId]) -> set[bytes]:
        """The ids, 32 bytes each, of all objects that these lead to, themselves included.

        Raises:
            IntegrityError: Something that is named is not there (``missing_object``).
        """
        found: set[bytes] = set()
        #: Objects that were followed already, not just found as content.
        followed: set[bytes] = set()
        stack = [(oid.to_bytes(), b"") for oid in roots]
        while stack:
            raw, referrer = stack.pop()
            if raw in followed:
                continue
            self._demand(raw, referrer)
            found.add(raw)
            followed.add(raw)
            named = self._of(raw)
            for one in named.contents:
                if one not in found:
                    self._demand(one, raw)
                    found.add(one)
                    if one in self._named:
                        stack.append((one, raw))
            stack.extend(
                (one, raw)
                for one in named.objects
                if one not in followed and not (named.guessed and one not in self._sizes)
            )
        return found

    def _of(self, raw: bytes) -> _Named:
        named = self._named.get(raw)
        if named is None:
            named = _NOTHING
            if raw not in self._withheld and self._sizes[raw] <= MAX_DOCUMENT_BYTES:
                content = self._read(ObjectId.from_bytes(raw))
                if content.startswith(_START):
                    named = self._references(content)
            self._named[raw] = named
        return named

    def _references(self, content: bytes) -> _Named:
        decoded = self._decoder.read(content)
        if decoded is None:
            texts = dict.fromkeys(bytes.fromhex(one.decode()) for one in _ID_TEXT.findall(content))
            return _Named(tuple(texts), (), guessed=True) if texts else _NOTHING
        ids = decoded.references
        if not ids:
            return _NOTHING
        if type(decoded.document) is Tree:
            entries = zip(decoded.document.entries, ids, strict=True)
            folders: list[bytes] = []
            contents: list[bytes] = []
            for entry, oid in entries:
                (folders if entry.kind == "tree" else contents).append(oid.to_bytes())
            return _Named(tuple(folders), tuple(contents))
        return _Named(tuple([oid.to_bytes() for oid in ids]), ())

    def _demand(self, raw: bytes, referrer: bytes) -> None:
        if raw not in self._sizes:
            by = f", which {ObjectId.from_bytes(referrer)} names" if referrer else ""
            raise IntegrityError(
                f"the package lacks the object {ObjectId.from_bytes(raw)}{by}",
                kind="missing_object",
                hint="vstore verify says what else is lost; restore the package from another copy",
                object=ObjectId.from_bytes(raw),
            )
