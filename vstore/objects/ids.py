"""Object ids and digests.

An *object id* is the BLAKE3 digest of an object's bytes, written ``b3:`` and 64 lower-case
hex digits; anybody can check one with ``b3sum`` (spec: storage, "Objects"). A *digest* is
the bare 64 hex digits of something that is not stored as an object of its own.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Self

import msgspec
from blake3 import blake3

from vstore.errors import InvalidError

__all__ = ["PREFIX", "Digest", "ObjectId", "StatedDigest", "digest_of", "object_id"]

PREFIX: Final = "b3:"
_HEX64: Final = re.compile(r"[0-9a-f]{64}")

# A digest is data of a document, compared with a recomputed one and never looked up, so
# a length check on reading is enough; the pattern is for readers of the JSON Schema.
Digest = Annotated[
    str,
    msgspec.Meta(
        min_length=64,
        max_length=64,
        extra_json_schema={"pattern": "^[0-9a-f]{64}$"},
    ),
]

# A digest that nobody computes again: its form is all that can be checked.
StatedDigest = Annotated[
    str,
    msgspec.Meta(
        min_length=64,
        max_length=64,
        pattern=r"^[0-9a-f]{64}\Z",
    ),
]


class ObjectId(str):
    """The id of an object; a ``str`` for C-speed hashing and comparing, but always valid.

    Make one with :meth:`parse`, :meth:`from_bytes` or :func:`object_id`.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """As :meth:`parse`."""
        digits = text.removeprefix(PREFIX)
        if _HEX64.fullmatch(digits) is None:
            raise InvalidError(
                "not an object id",
                kind="invalid_object_id",
                hint="an object id is b3: and 64 lower-case hex digits",
            )
        return str.__new__(cls, PREFIX + digits)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``b3:`` and 64 hex digits, or the 64 digits alone.

        Raises:
            InvalidError: ``text`` is neither.
        """
        return cls(text)

    @classmethod
    def from_bytes(cls, digest: bytes) -> Self:
        """The id with these 32 digest bytes.

        Raises:
            InvalidError: Not 32 bytes.
        """
        if len(digest) != 32:
            raise InvalidError("an object id has 32 bytes", kind="invalid_object_id")
        return str.__new__(cls, PREFIX + digest.hex())

    @property
    def hex(self) -> str:
        """The 64 hex digits without the prefix."""
        return self[3:]

    def to_bytes(self) -> bytes:
        """The 32 digest bytes."""
        return bytes.fromhex(self[3:])


def object_id(data: bytes | bytearray | memoryview) -> ObjectId:
    """The id of an object with these bytes."""
    return str.__new__(ObjectId, PREFIX + blake3(data).hexdigest())


def digest_of(data: bytes | bytearray | memoryview) -> Digest:
    """The bare BLAKE3 digest of these bytes, 64 hex digits."""
    return blake3(data).hexdigest()
