"""Decoding a document of any known type once, together with the object ids that it names.

The fast path of the replay: one decoder for all types, chosen by ``schema``, one encoding
to compare with. What it refuses is explained by the ordinary strict reader.
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


class Decoded(NamedTuple):
    """A document and the object ids that it names, in the order of its bytes."""

    document: Document
    references: tuple[ObjectId, ...]


class DocumentDecoder:
    """Reads documents of all registered types."""

    def __init__(self) -> None:
        _import_all()
        self._found: list[ObjectId] = []
        types = tuple(registered().values())
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            Union[types],  # noqa: UP007 - made at run time
            dec_hook=self._collect,
        )

    def _collect(self, kind: type, value: object) -> object:
        if kind is ObjectId and type(value) is str and _is_object_id(value):
            oid: ObjectId = str.__new__(ObjectId, value)
            self._found.append(oid)
            return oid
        raise ValueError("not an object id")

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


def _import_all() -> None:
    """Make every document type of a package known."""
    import vstore.budget.documents
    import vstore.evidence.documents
    import vstore.objects.tree
    import vstore.package.documents
    import vstore.tools.database_content
    import vstore.tools.reply
    import vstore.tools.request  # noqa: F401
