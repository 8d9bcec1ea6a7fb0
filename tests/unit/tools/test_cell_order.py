"""The order of cells, against literal cases and exact rational arithmetic."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.tools.cell_order import BLOB, NULL, NUMBER, TEXT, order_bytes, order_key, rank
from vstore.tools.row_sorter import raw_order
from vstore.tools.values import (
    BigInteger,
    Blob,
    LargeBlob,
    LargeText,
    RawTextValue,
    Real,
    Value,
)

#: Strictly ascending.
ASCENDING: list[Value] = [
    None,
    Real("-inf"),
    Real("-1.7976931348623157e+308"),
    BigInteger("-9223372036854775808"),
    BigInteger("-9223372036854775807"),
    BigInteger("-9007199254740993"),
    Real("-9007199254740992.0"),
    -9007199254740991,
    -1,
    Real("-0.5"),
    Real("-5e-324"),
    0,
    Real("5e-324"),
    1,
    Real("1.5"),
    2,
    9007199254740991,
    Real("9007199254740992.0"),
    BigInteger("9007199254740993"),
    Real("9007199254740994.0"),
    BigInteger("9223372036854775806"),
    BigInteger("9223372036854775807"),
    Real("9.223372036854776e+18"),
    Real("1e+300"),
    Real("inf"),
    "",
    "\0",
    "\0\0",
    "\0a",
    "10",
    "9",
    "A",
    "a",
    "a\0",
    "ab",
    "é",
    "\uffff",
    "\U00010000",
    RawTextValue("ff"),
    RawTextValue("ff00"),
    Blob(""),
    Blob("00"),
    Blob("00ff"),
    Blob("01"),
    Blob("61"),
    Blob("ff"),
]


def no_load(oid: ObjectId) -> bytes:
    raise AssertionError(oid)


def test_both_forms_order_the_list_as_it_is_written() -> None:
    for (place, one), (other_place, other) in itertools.product(enumerate(ASCENDING), repeat=2):
        wanted = (place > other_place) - (place < other_place)
        key, other_key = order_key(one, no_load), order_key(other, no_load)
        assert (key > other_key) - (key < other_key) == wanted, (one, other)
        raw, other_raw = order_bytes(key), order_bytes(other_key)
        assert (raw > other_raw) - (raw < other_raw) == wanted, (one, other)


def test_numbers_agree_with_fractions() -> None:
    numbers: list[int | float] = [0, -0.0, 1, 1.0, 2**53, 2**53 + 1, float(2**53), 2**63 - 1]
    numbers += [float(2**63), -(2**63), -float(2**63), 2**62 + 1, float(2**62), 0.1, -(2**62) - 1]
    for one, other in itertools.product(numbers, repeat=2):
        exact = Fraction(one) - Fraction(other)
        key, other_key = (NUMBER, one), (NUMBER, other)
        assert (key < other_key, key == other_key) == (exact < 0, exact == 0)
        raw, other_raw = order_bytes(key), order_bytes(other_key)
        assert (raw < other_raw, raw == other_raw) == (exact < 0, exact == 0)


def test_concatenated_forms_sort_as_tuples() -> None:
    keys = [order_key(value, no_load) for value in ("", "a", "a\0b", 1, None, Blob("00"))]
    pairs = list(itertools.product(keys, repeat=2))
    by_tuple = sorted(pairs)
    by_bytes = sorted(pairs, key=lambda pair: order_bytes(pair[0]) + order_bytes(pair[1]))
    assert by_tuple == by_bytes


def test_raw_cells_sort_alike() -> None:
    raw: list[list[object]] = [[None, 1], [1, None], [1, 2.5], [1, bytearray(b"")], [b"", b""]]
    keys = [raw_order(cells) for cells in raw]
    assert keys == sorted(keys)
    assert raw_order([1.0]) == raw_order([1])


def test_large_values_compare_by_what_they_hold() -> None:
    objects = MemoryObjects()
    text, blob = b"a" * 5000, b"a" * 4999 + b"b"
    large_text = LargeText(objects.put(text), 5000)
    large_blob = LargeBlob(objects.put(blob), 5000)
    assert order_key(large_text, objects.get) == (TEXT, text)
    assert order_key(large_blob, objects.get) == (BLOB, blob)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, NULL),
        (0, NUMBER),
        (BigInteger("9223372036854775807"), NUMBER),
        (Real("0.0"), NUMBER),
        ("", TEXT),
        (RawTextValue("ff"), TEXT),
        (LargeText(object_id(b""), 5000), TEXT),
        (Blob(""), BLOB),
        (LargeBlob(object_id(b""), 5000), BLOB),
    ],
)
def test_rank(value: Value, wanted: int) -> None:
    assert rank(value) == wanted
