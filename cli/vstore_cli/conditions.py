"""The text form of a query's conditions, order and line ranges.

A condition is ``COLUMN OPERATOR VALUE``::

    rowid <= 5            word_count >= 100        price = 1.5
    slug = 'a001-anvil'   body contains 'kiln'     slug prefix 'a0'
    sz = x'0309'          parent is null           parent is not null
    "odd name" != 'it''s'

Operators are ``=`` (``==``), ``!=`` (``<>``), ``<``, ``<=``, ``>``, ``>=``, ``contains``,
``prefix``, ``is null`` and ``is not null``. A text stands in single quotes and a blob in
``x'..'``, a quote inside is doubled; numbers and ``null`` stand for themselves. A column
name that is no plain word stands in double quotes. Several conditions are several
``--where``; all of them must hold. There is no SQL behind this: nothing is converted, and
an integer equals a real of the same number.
"""

from __future__ import annotations

import math
import os
import re
from typing import Final

from vstore.objects.document import MAX_INTEGER
from vstore.objects.text import RawText, Text, text_from_bytes
from vstore.tools.request import Condition, Order
from vstore.tools.values import INLINE_BYTES, BigInteger, Blob, RawTextValue, Real, Value

__all__ = ["BadSyntax", "parse_condition", "parse_lines", "parse_order", "text_argument"]

_WORD: Final = re.compile(r"[^\W\d]\w*")
_QUOTED: Final = re.compile(r'"((?:[^"]|"")+)"')
_SYMBOL: Final = re.compile(r"==|=|!=|<>|<=|>=|<|>")
_SYMBOLS: Final = {
    "=": "eq", "==": "eq", "!=": "ne", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
_TEXT: Final = re.compile(r"'((?:[^']|'')*)'", re.DOTALL)
_BLOB: Final = re.compile(r"[xX]'([0-9a-fA-F]*)'")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_REAL: Final = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?")
_INFINITE: Final = re.compile(r"[+-]?inf\b", re.IGNORECASE)
_LINES: Final = re.compile(r"([0-9]*)(?:([:,-])([0-9]*))?")

_EXAMPLE: Final = "write for example: rowid <= 5, or slug = 'a001-anvil', or note is null"


class BadSyntax(ValueError):
    """A condition, an order or a range of lines that can't be read."""


def text_argument(argument: str) -> Text:
    """A word of the command line as a text of a document, whatever its bytes are."""
    return text_from_bytes(os.fsencode(argument))


def parse_condition(text: str) -> Condition:
    """Read one condition.

    Raises:
        BadSyntax: It isn't one.
    """
    column, rest = _column(text.strip())
    op, rest = _operator(rest)
    if op in ("is null", "is not null"):
        if rest:
            raise BadSyntax(f"nothing may follow {op}; {_EXAMPLE}")
        return Condition(column=column, op="eq" if op == "is null" else "ne", value=None)
    value, rest = _value(rest)
    if rest:
        word = rest.split()[0].lower()
        if word in ("and", "or"):
            raise BadSyntax(f"'{word}' is not known: give --where once for each condition")
        raise BadSyntax(f"something follows the value; {_EXAMPLE}")
    if op in ("contains", "prefix") and not isinstance(value, str | Blob | RawTextValue):
        raise BadSyntax(f"{op} needs a text or a blob")
    return Condition(column=column, op=op, value=value)  # type: ignore[arg-type]


def parse_order(text: str) -> Order:
    """Read one sort key: a column, with ``-`` before it for descending.

    Raises:
        BadSyntax: It isn't one.
    """
    descending = text.startswith("-")
    name = text[1:] if text[:1] in ("-", "+") else text
    quoted = _QUOTED.fullmatch(name)
    if quoted is not None:
        name = quoted[1].replace('""', '"')
    if not name:
        raise BadSyntax("an order is a column, or - and a column for descending")
    return Order(column=text_argument(name), descending=descending)


def parse_lines(text: str) -> tuple[int, int | None]:
    """Read a range of lines: ``10``, ``10:20``, ``10-20``, ``10:`` or ``:20``, both included.

    Raises:
        BadSyntax: It isn't one.
    """
    found = _LINES.fullmatch(text.strip())
    if found is None or not (found[1] or found[3]):
        raise BadSyntax("lines are FIRST:LAST, both included, such as 10:20, 10: or 10")
    start = _line(found[1]) if found[1] else 1
    if found[2] is None:
        return start, start
    end = _line(found[3]) if found[3] else None
    if end is not None and end < start:
        raise BadSyntax(f"the last line, {end}, comes before the first, {start}")
    return start, end


def _line(digits: str) -> int:
    # Digits that can't be a number of a document aren't converted at all.
    number = int(digits) if len(digits) <= 16 else MAX_INTEGER + 1
    if number > MAX_INTEGER:
        raise BadSyntax(f"no file has a line past {MAX_INTEGER}")
    if not number:
        raise BadSyntax("lines count from 1")
    return number


def _column(text: str) -> tuple[Text, str]:
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return text_argument(quoted[1].replace('""', '"')), text[quoted.end() :].lstrip()
    word = _WORD.match(text)
    if word is None:
        raise BadSyntax(f"a condition starts with a column; {_EXAMPLE}")
    return word[0], text[word.end() :].lstrip()


def _operator(text: str) -> tuple[str, str]:
    symbol = _SYMBOL.match(text)
    if symbol is not None:
        return _SYMBOLS[symbol[0]], text[symbol.end() :].lstrip()
    words = re.match(r"(contains|prefix|is\s+not\s+null|is\s+null)\b", text, re.IGNORECASE)
    if words is None:
        raise BadSyntax(
            f"after the column comes =, !=, <, <=, >, >=, contains, prefix or is null; {_EXAMPLE}"
        )
    return " ".join(words[1].lower().split()), text[words.end() :].lstrip()


def _value(text: str) -> tuple[Value, str]:
    for pattern, read in (
        (_TEXT, _read_text),
        (_BLOB, _read_blob),
        (_INFINITE, _read_infinite),
        (_REAL, _read_real),
        (_INTEGER, _read_integer),
    ):
        found = pattern.match(text)
        if found is not None:
            rest = text[found.end() :]
            if rest and not rest[0].isspace():
                break
            return read(found[1] if found.re.groups else found[0]), rest.strip()
    word = re.match(r"null(?=\s|$)", text, re.IGNORECASE)
    if word is not None:
        return None, text[word.end() :].strip()
    if text.startswith('"'):
        raise BadSyntax("a text stands in single quotes: 'like this'")
    raise BadSyntax(
        f"the value is a number, null, a text in single quotes or a blob x'..'; {_EXAMPLE}"
    )


def _read_text(inside: str) -> Value:
    text = text_argument(inside.replace("''", "'"))
    size = len(text.hex) // 2 if isinstance(text, RawText) else len(text.encode())
    if size > INLINE_BYTES:
        raise BadSyntax(f"a text to compare with has at most {INLINE_BYTES} bytes")
    return RawTextValue(text.hex) if isinstance(text, RawText) else text


def _read_blob(digits: str) -> Value:
    if len(digits) % 2:
        raise BadSyntax("a blob has an even number of hex digits")
    if len(digits) > 2 * INLINE_BYTES:
        raise BadSyntax(f"a blob to compare with has at most {INLINE_BYTES} bytes")
    return Blob(digits.lower())


def _read_infinite(text: str) -> Value:
    return Real("-inf" if text.startswith("-") else "inf")


def _read_real(text: str) -> Value:
    number = float(text)
    if math.isinf(number):
        raise BadSyntax("a real number past the range of 64 bits; write inf if that is meant")
    return Real(repr(number))


def _read_integer(text: str) -> Value:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise BadSyntax("an integer past 64 bits; no database holds it")
    number = int(text)
    return number if -MAX_INTEGER <= number <= MAX_INTEGER else BigInteger(str(number))
