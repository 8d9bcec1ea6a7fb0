"""Typed values of database cells, each with exactly one legal encoding.

JSON null, strings and integers within ±(2^53 - 1) stand for themselves; everything else
is tagged (spec: storage, "Objects"). Values over :data:`INLINE_BYTES` are blobs of their
own, named by id, so that a row stays small whatever it holds.
"""

import math
from typing import Annotated, Final

import msgspec

from vstore.errors import InvalidError
from vstore.objects.document import MAX_INTEGER, ContentId, Count, Pinned
from vstore.objects.memory import ObjectSink
from vstore.objects.text import Hex

__all__ = [
    "INLINE_BYTES",
    "BigInteger",
    "Blob",
    "LargeBlob",
    "LargeText",
    "RawTextValue",
    "Real",
    "Value",
    "check_value",
    "value_from_sqlite",
]

INLINE_BYTES: Final = 4096


class _Tagged(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    pass


class BigInteger(_Tagged, tag="integer", frozen=True):
    """An integer past ±(2^53 - 1), within 64 bits, in decimal."""

    value: Annotated[str, msgspec.Meta(pattern=r"^-?[1-9][0-9]{15,18}\Z"), Pinned]


class Real(_Tagged, tag="real", frozen=True):
    """A binary64 number: the shortest decimal that reads back, or ``inf``, ``-inf``.

    Exponent form is used below 1e-4 and from 1e16 on, with a sign and at least two exponent
    digits; otherwise there is always a point: ``1.0``, ``-0.0``, ``1e+16``, ``1e-05``.
    """

    value: Annotated[str, msgspec.Meta(max_length=32), Pinned]


class Blob(_Tagged, tag="blob", frozen=True):
    """Bytes, at most :data:`INLINE_BYTES` of them."""

    hex: Annotated[Hex, Pinned]


class RawTextValue(_Tagged, tag="text", frozen=True):
    """Text that is not UTF-8, at most :data:`INLINE_BYTES` of it."""

    hex: Annotated[Hex, Pinned]


class LargeBlob(_Tagged, tag="large-blob", frozen=True):
    """Bytes kept as an object of their own."""

    object: Annotated[ContentId, Pinned]
    size: Annotated[Count, Pinned]


class LargeText(_Tagged, tag="large-text", frozen=True):
    """Text kept as an object of its own."""

    object: Annotated[ContentId, Pinned]
    size: Annotated[Count, Pinned]


Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Value = None | str | Integer | BigInteger | Real | Blob | RawTextValue | LargeBlob | LargeText


def value_from_sqlite(raw: object, sink: ObjectSink) -> Value:
    """Encode what the sqlite3 module returned with ``text_factory = bytes`` semantics.

    Args:
        raw: None, int, float, ``bytes`` for a blob, or ``bytearray`` for text bytes.
        sink: Takes the large values.

    Raises:
        InvalidError: Not a value that SQLite has.
    """
    if raw is None:
        return None
    if type(raw) is int:
        return raw if -MAX_INTEGER <= raw <= MAX_INTEGER else BigInteger(str(raw))
    if type(raw) is float:
        return Real(real_text(raw))
    if type(raw) is bytes:
        if len(raw) > INLINE_BYTES:
            return LargeBlob(sink.put(raw), len(raw))
        return Blob(raw.hex())
    if type(raw) is bytearray:
        if len(raw) > INLINE_BYTES:
            return LargeText(sink.put(bytes(raw)), len(raw))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return RawTextValue(raw.hex())
    raise InvalidError(f"a cell of type {type(raw).__name__}", kind="invalid_value")


def real_text(number: float) -> str:
    """The one text of a binary64 number; NaN has none (SQLite has no NaN either)."""
    if math.isnan(number):
        raise InvalidError("a cell that is not a number", kind="invalid_value")
    return repr(number)


def check_value(value: Value) -> None:
    """Check that a decoded value has its one legal encoding, beyond what its schema says.

    Raises:
        InvalidError: It has another one.
    """
    bad = False
    if isinstance(value, str):
        bad = len(value) > INLINE_BYTES or len(value.encode()) > INLINE_BYTES
    elif isinstance(value, BigInteger):
        number = int(value.value)
        bad = -MAX_INTEGER <= number <= MAX_INTEGER or not -(2**63) <= number < 2**63
    elif isinstance(value, Real):
        try:
            bad = repr(float(value.value)) != value.value or value.value == "nan"
        except ValueError:
            bad = True
    elif isinstance(value, Blob):
        bad = len(value.hex) > 2 * INLINE_BYTES
    elif isinstance(value, RawTextValue):
        bad = len(value.hex) > 2 * INLINE_BYTES or _is_utf8(bytes.fromhex(value.hex))
    elif isinstance(value, LargeBlob | LargeText):
        bad = value.size <= INLINE_BYTES
    if bad:
        raise InvalidError("a value that has another encoding", kind="not_canonical")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
