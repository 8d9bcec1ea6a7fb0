"""Values, questions and places in words, safe to print."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from vstore.objects.text import RawText, Text
from vstore.tools.items import CutLine, LineText
from vstore.tools.request import (
    Arguments,
    Condition,
    DatabaseRows,
    DatabaseSchema,
    SourceList,
    SourceRead,
    SourceSearch,
    operation_of,
)
from vstore.tools.values import (
    BigInteger,
    Blob,
    LargeBlob,
    LargeText,
    RawTextValue,
    Real,
    Value,
)
from vstore_cli.terminal import safe

if TYPE_CHECKING:
    from vstore.evidence.documents import SoughtTest

__all__ = ["asked", "cell_text", "condition_text", "count", "line_text", "short", "value_text"]

_SIGNS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: Enough to tell blobs apart, and short enough for a cell.
_BLOB_BYTES = 8
_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"


def short(oid: str) -> str:
    """An object id abbreviated to eight digits, without its prefix."""
    return oid.removeprefix("b3:")[:8]


def count(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun: ``1 row``, ``1,234 rows``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def line_text(text: LineText) -> str:
    """A line of a file: tabs as blanks, everything else that is not text visible."""
    if isinstance(text, CutLine):
        return f"{line_text(text.head)}… ({text.size:,} bytes)"
    if isinstance(text, RawText):
        return safe(text)
    return safe(text.expandtabs(8))


def value_text(value: Value, *, full: bool = False) -> str:
    """A database value as people read it; ``full`` shows all bytes of a blob."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, BigInteger | Real):
        return safe(value.value)
    if isinstance(value, RawTextValue):
        return safe(RawText(value.hex))
    if isinstance(value, Blob):
        size = len(value.hex) // 2
        if full or size <= _BLOB_BYTES:
            return f"x'{value.hex}'"
        return f"x'{value.hex[: 2 * _BLOB_BYTES]}…' ({size:,} bytes)"
    what = "blob" if isinstance(value, LargeBlob) else "text"
    assert isinstance(value, LargeBlob | LargeText)
    return f"{what} {short(value.object)} ({value.size:,} bytes)"


def cell_text(value: Value, *, full: bool = False) -> str:
    """A database value in a table: a text in quotes where it looks like another type's value."""
    shown = value_text(value, full=full)
    if isinstance(value, str) and _looks_like_another(value):
        return "'" + shown.replace("'", "''") + "'"
    return shown


def _looks_like_another(text: str) -> bool:
    return (
        text.strip() != text
        or text == ""
        or text[0] == "'"
        or text[:2].lower() == "x'"
        or text.lower().lstrip("+-") in ("null", "inf", "nan")
        or re.fullmatch(_NUMBER, text, re.IGNORECASE) is not None
    )


def _name(text: Text) -> str:
    shown = safe(text)
    return shown if shown.replace("_", "a").isalnum() else f'"{shown}"'


def condition_text(condition: Condition) -> str:
    """A condition in the syntax that ``--where`` reads."""
    column = _name(condition.column)
    value = condition.value
    if value is None and condition.op in ("eq", "ne"):
        return f"{column} is {'not ' if condition.op == 'ne' else ''}null"
    shown = value_text(value, full=True)
    if isinstance(value, str | RawTextValue):
        shown = "'" + shown.replace("'", "''") + "'"
    return f"{column} {_SIGNS.get(condition.op, condition.op)} {shown}"


def asked(arguments: Arguments | SoughtTest, *, brief: bool = False) -> str:
    """A question in one line: the operation, whom it asks, and what.

    ``brief`` leaves the snapshot's name and the operation's kind out: a line of the log.
    """
    if isinstance(arguments, SourceList | SourceRead | SourceSearch):
        whom, what = arguments.source, _source_words(arguments)
    elif isinstance(arguments, DatabaseSchema | DatabaseRows):
        whom, what = arguments.database, _database_words(arguments)
    else:
        start = "test" if brief else "testing.request"
        return f"{start} {safe(' '.join(arguments.question.split()))}"
    operation = operation_of(arguments)
    start = operation.split(".")[-1] if brief else f"{operation} {whom}"
    return f"{start} {what}".rstrip()


def _source_words(arguments: SourceList | SourceRead | SourceSearch) -> str:
    if isinstance(arguments, SourceList):
        return _under(arguments.under).lstrip()
    if isinstance(arguments, SourceRead):
        lines = f":{arguments.start}" + ("-" if arguments.end is None else "")
        if arguments.end is not None and arguments.end != arguments.start:
            lines += f"-{arguments.end}"
        if arguments.start == 1 and arguments.end is None:
            lines = ""
        return safe(arguments.path) + lines
    sign = "/" if arguments.syntax == "re2" else '"'
    case = "i" if arguments.ignore_case else ""
    return f"{sign}{safe(arguments.pattern)}{sign}{case}" + _under(arguments.under)


def _database_words(arguments: DatabaseSchema | DatabaseRows) -> str:
    if isinstance(arguments, DatabaseRows):
        return _rows(arguments)
    table = "" if arguments.table is None else _name(arguments.table)
    kind = "" if arguments.type is None else f" type {arguments.type}"
    return (table + kind).lstrip()


def _rows(arguments: DatabaseRows) -> str:
    text = _name(arguments.table)
    if arguments.columns is not None:
        text += " (" + ", ".join(_name(column) for column in arguments.columns) + ")"
    if arguments.where:
        text += " where " + " and ".join(condition_text(one) for one in arguments.where)
    if arguments.order:
        keys = (("-" if one.descending else "") + _name(one.column) for one in arguments.order)
        text += " order " + ", ".join(keys)
    return text


def _under(under: Text | None) -> str:
    return "" if under is None else " under " + safe(under)
