"""Decoding a document of any known type once, together with the object ids that it names.

One decoder for all types, chosen by ``schema``. Types are known that were imported before a
decoder is made: layers above import those that a package may hold.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple, Union

import msgspec

from vstore.errors import InvalidError
from vstore.objects.canonical import decode_document, encode
from vstore.objects.document import Document, registered
from vstore.objects.ids import ObjectId
from vstore.objects.plain_json import MAX_DOCUMENT_BYTES

__all__ = ["Decoded", "DocumentDecoder"]

_is_object_id: Final = re.compile(r"b3:[0-9a-f]{64}").fullmatch

#: Ids that a decoder remembers.
_KEEP: Final = 4096


class Decoded(NamedTuple):
    """A document and the object ids that it names, in the order of its bytes."""

    document: Document
    references: tuple[ObjectId, ...]


class DocumentDecoder:
    """Reads documents of all types that were imported before."""

    def __init__(self) -> None:
        self._found: list[ObjectId] = []
        self._known: dict[str, ObjectId] = {}
        types = tuple(registered().values())
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            Union[types],  # noqa: UP007 - made at run time
            dec_hook=self._collect,
        )

    def _collect(self, kind: type, value: object) -> object:
        if kind is not ObjectId or type(value) is not str:
            raise ValueError("not an object id")
        # Documents that follow one another name the same objects again and again.
        oid = self._known.get(value)
        if oid is None:
            if not _is_object_id(value):
                raise ValueError("not an object id")
            oid = str.__new__(ObjectId, value)
            if len(self._known) >= _KEEP:
                self._known.clear()
            self._known[value] = oid
        self._found.append(oid)
        return oid

    def read(self, data: bytes) -> Decoded | None:
        """Read a document without asking for its canonical form; None when it isn't valid."""
        found = self._found
        found.clear()
        try:
            document: Document = self._decoder.decode(data)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None
        return Decoded(document, tuple(found))

    def decode(self, data: bytes) -> Decoded:
        """Read one document strictly.

        Raises:
            LimitExceeded, UnsupportedError, InvalidError: As
                :func:`vstore.objects.canonical.decode_document`.
        """
        found = self._found
        found.clear()
        if len(data) <= MAX_DOCUMENT_BYTES:
            try:
                document: Document = self._decoder.decode(data)
                if encode(document) == data:
                    return Decoded(document, tuple(found))
            except (TypeError, ValueError, OverflowError, RecursionError, InvalidError):
                pass
        decode_document(data)
        # Not reached while the two readers agree; never a reason to accept.
        raise InvalidError("a document that can't be read", kind="invalid_document")
