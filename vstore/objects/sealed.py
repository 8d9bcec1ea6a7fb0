"""A document together with its canonical bytes and its id, so that nobody encodes twice."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from vstore.objects.canonical import decode, encode
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import ObjectSource

__all__ = ["Sealed", "load", "seal"]

D = TypeVar("D", bound=Document)
D_co = TypeVar("D_co", bound=Document, covariant=True)


class Sealed(msgspec.Struct, Generic[D_co], frozen=True):
    """A document, its canonical bytes, and the id that follows from them."""

    document: D_co
    encoded: bytes
    id: ObjectId

    @property
    def size(self) -> int:
        """The size of the canonical form in bytes."""
        return len(self.encoded)


def seal(document: D) -> Sealed[D]:
    """Encode a document once.

    Raises:
        InvalidError: A member has no canonical form.
    """
    encoded = encode(document)
    return Sealed(document, encoded, object_id(encoded))


def load(objects: ObjectSource, oid: ObjectId, kind: type[D]) -> Sealed[D]:
    """Read a document together with its bytes.

    Raises:
        NotFoundError, IntegrityError: It is absent or damaged.
        InvalidError: Not a canonical document of this type.
    """
    encoded = objects.get(oid)
    return Sealed(decode(encoded, kind), encoded, oid)
