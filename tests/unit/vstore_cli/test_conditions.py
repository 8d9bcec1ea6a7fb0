"""The text form of conditions, orders and line ranges."""

from __future__ import annotations

import contextlib
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.objects.text import RawText
from vstore.tools.request import Condition, Order
from vstore.tools.values import BigInteger, Blob, RawTextValue, Real, check_value
from vstore_cli.conditions import (
    BadSyntax,
    parse_condition,
    parse_lines,
    parse_order,
    text_argument,
)


@pytest.mark.parametrize(
    ("text", "column", "op", "value"),
    [
        ("rowid <= 5", "rowid", "le", 5),
        ("rowid<=5", "rowid", "le", 5),
        ("  a   >   -12  ", "a", "gt", -12),
        ("a=+7", "a", "eq", 7),
        ("a == 7", "a", "eq", 7),
        ("a <> 7", "a", "ne", 7),
        ("a != 007", "a", "ne", 7),
        ("a < 1.5", "a", "lt", Real("1.5")),
        ("a >= 1.", "a", "ge", Real("1.0")),
        ("a = .5", "a", "eq", Real("0.5")),
        ("a = 1e3", "a", "eq", Real("1000.0")),
        ("a = -2.5E-7", "a", "eq", Real("-2.5e-07")),
        ("a = -0.0", "a", "eq", Real("-0.0")),
        ("a = inf", "a", "eq", Real("inf")),
        ("a = -INF", "a", "eq", Real("-inf")),
        ("a = null", "a", "eq", None),
        ("a is null", "a", "eq", None),
        ("a IS  NOT   NULL", "a", "ne", None),
        ("a = 'x y'", "a", "eq", "x y"),
        ("a = ''", "a", "eq", ""),
        ("a = 'it''s'", "a", "eq", "it's"),
        ("a = ' and '", "a", "eq", " and "),
        ("a = 'two\nlines'", "a", "eq", "two\nlines"),
        ("a contains 'kiln'", "a", "contains", "kiln"),
        ("a PREFIX 'a0'", "a", "prefix", "a0"),
        ("a prefix x'00FF'", "a", "prefix", Blob("00ff")),
        ("a = X''", "a", "eq", Blob("")),
        ('"odd name" = 1', "odd name", "eq", 1),
        ('"say ""so""" = 1', 'say "so"', "eq", 1),
        ("größe > 1", "größe", "gt", 1),
        ("_x1 = 9007199254740991", "_x1", "eq", 9007199254740991),
        ("a = 9007199254740992", "a", "eq", BigInteger("9007199254740992")),
        ("a = -9223372036854775808", "a", "eq", BigInteger("-9223372036854775808")),
        ("isnull = 1", "isnull", "eq", 1),
    ],
)
def test_conditions(text: str, column: str, op: str, value: object) -> None:
    assert parse_condition(text) == Condition(column=column, op=op, value=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "= 5",
        "1a = 5",
        "a 5",
        "a = ",
        "a = word",
        'a = "text"',
        "a = 'open",
        "a = 'x' y",
        "a = 'x'y",
        "a = 5x",
        "a = 5 and b = 6",
        "a = 1.5.5",
        "a = 1e",
        "a = nan",
        "a = 1e999",
        "a = 9223372036854775808",
        "a = -9223372036854775809",
        "a = " + "9" * 5000,
        "a = x'0'",
        "a = x'zz'",
        "a contains 5",
        "a prefix null",
        "a is 5",
        "a is null or b is null",
        "a like 'x'",
        "a = nullx",
        '"" = 1',
        "a = '" + "x" * 4097 + "'",
        "a = x'" + "00" * 4097 + "'",
        "select = 1; drop table x",
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(BadSyntax):
        parse_condition(text)


def test_conjunctions_are_explained() -> None:
    with pytest.raises(BadSyntax, match="--where once for each"):
        parse_condition("a = 1 AND b = 2")
    with pytest.raises(BadSyntax, match="single quotes"):
        parse_condition('a = "b"')


def test_bytes_that_are_no_text() -> None:
    word = os.fsdecode(b"caf\xe9")
    assert text_argument(word) == RawText("636166e9")
    assert parse_condition(f"a = '{word}'").value == RawTextValue("636166e9")
    assert parse_condition(f'"{word}" = 1').column == RawText("636166e9")
    assert parse_order("-" + word) == Order(column=RawText("636166e9"), descending=True)


@given(st.text(max_size=50))
def test_any_text_can_be_said(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    quoted = text.replace("'", "''")
    assert parse_condition(f"a = '{quoted}'").value == text


@given(st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary(max_size=40))
def test_values_have_their_one_encoding(value: float | bytes) -> None:
    text = f"x'{value.hex()}'" if isinstance(value, bytes) else repr(value)
    found = parse_condition(f"a < {text}").value
    check_value(found)
    if isinstance(value, bytes):
        assert found == Blob(value.hex())
    elif isinstance(value, float):
        assert isinstance(found, Real)
        assert math.copysign(1, float(found.value)) == math.copysign(1, value)
        assert float(found.value) == value
    else:
        assert int(found.value if isinstance(found, BigInteger) else found) == value  # type: ignore[arg-type]


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    with contextlib.suppress(BadSyntax):
        assert isinstance(parse_condition(text), Condition)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", Order(column="a")),
        ("+a", Order(column="a")),
        ("-rowid", Order(column="rowid", descending=True)),
        ('-"odd ""one"""', Order(column='odd "one"', descending=True)),
    ],
)
def test_orders(text: str, expected: Order) -> None:
    assert parse_order(text) == expected


def test_what_is_no_order() -> None:
    for text in ("", "-", "+"):
        with pytest.raises(BadSyntax):
            parse_order(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", (10, 10)),
        ("10:20", (10, 20)),
        ("10-20", (10, 20)),
        ("10,20", (10, 20)),
        ("10:", (10, None)),
        (":20", (1, 20)),
        (" 3:3 ", (3, 3)),
    ],
)
def test_lines(text: str, expected: tuple[int, int | None]) -> None:
    assert parse_lines(text) == expected


@pytest.mark.parametrize("text", ["", ":", "0", "0:5", "5:0", "5:4", "a", "1:2:3", "-", "9" * 30])
def test_what_are_no_lines(text: str) -> None:
    with pytest.raises(BadSyntax):
        parse_lines(text)
