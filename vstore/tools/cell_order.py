"""The order of cells: null < number (exact) < text (bytes) < blob (bytes).

No affinity, no collation (spec: lifecycle, "database.rows"). It is given in two forms that
agree: tuples for comparing in memory, and byte strings whose plain order is the cells' order,
for sorting on disk.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

from vstore.objects.ids import ObjectId
from vstore.tools.values import (
    BigInteger,
    Blob,
    LargeBlob,
    LargeText,
    RawTextValue,
    Real,
    Value,
)

__all__ = ["BLOB", "NULL", "NUMBER", "TEXT", "OrderKey", "order_bytes", "order_key", "rank"]

NULL: Final = 0
NUMBER: Final = 1
TEXT: Final = 2
BLOB: Final = 3

#: Rank and payload; payloads of one rank compare with each other. Python compares an int with
#: a float exactly, whatever their sizes, and holds ``-0.0`` equal to ``0``.
OrderKey = tuple[int, int | float | bytes]

_NULL_KEY: Final[OrderKey] = (NULL, 0)


def order_key(value: Value, load: Callable[[ObjectId], bytes]) -> OrderKey:
    """What a value is compared by.

    Args:
        value: A cell in its canonical encoding.
        load: Reads the object of a large value.

    Raises:
        NotFoundError, IntegrityError: As ``load`` does.
    """
    if type(value) is int:
        return (NUMBER, value)
    if type(value) is str:
        return (TEXT, value.encode())
    if value is None:
        return _NULL_KEY
    if isinstance(value, Real):
        return (NUMBER, float(value.value))
    if isinstance(value, BigInteger):
        return (NUMBER, int(value.value))
    if isinstance(value, Blob):
        return (BLOB, bytes.fromhex(value.hex))
    if isinstance(value, RawTextValue):
        return (TEXT, bytes.fromhex(value.hex))
    if isinstance(value, LargeText):
        return (TEXT, load(value.object))
    assert isinstance(value, LargeBlob)
    return (BLOB, load(value.object))


def rank(value: Value) -> int:
    """The class of a value: :data:`NULL`, :data:`NUMBER`, :data:`TEXT` or :data:`BLOB`."""
    if value is None:
        return NULL
    if isinstance(value, int | BigInteger | Real):
        return NUMBER
    if isinstance(value, str | RawTextValue | LargeText):
        return TEXT
    return BLOB


def order_bytes(key: OrderKey) -> bytes:
    """A byte string that sorts as the key does; concatenated, they sort as tuples of keys.

    A number is the largest binary64 number not above it, then what is left of it: every
    64-bit integer and every binary64 number has its exact place. Text and blobs are
    terminated, NUL bytes escaped, so that a prefix comes first.
    """
    kind, payload = key
    if kind == NULL:
        return b"\0"
    if kind == NUMBER:
        assert not isinstance(payload, bytes)
        return b"\1" + _number_bytes(payload)
    assert isinstance(payload, bytes)
    return bytes((kind,)) + payload.replace(b"\0", b"\0\xff") + b"\0\0"


def _number_bytes(number: float) -> bytes:
    base = float(number)
    if isinstance(number, int) and base > number:
        base = math.nextafter(base, -math.inf)
    rest = number - int(base) if isinstance(number, int) else 0
    # Adding zero turns -0.0 into 0.0: they compare equal.
    (bits,) = struct.unpack(">Q", struct.pack(">d", base + 0.0))
    bits = bits ^ 0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else bits | 1 << 63
    return struct.pack(">QH", bits, rest)
