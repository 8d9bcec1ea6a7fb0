"""The one order of items in a content, and the checks that each value is legal there.

Items are compared by their place, as bytes, never by locale or by their order in a reply
(spec: evidence, "Documents"):

* lines: path bytes, file object id, line number;
* files: path bytes, file object id;
* rows: table bytes, names of the projection, 0-based position in the snapshot;
* tables, views and triggers: name bytes, type, bytes of the table they belong to;
* observations: what was asked, what was observed, attachment ids.

Two items at one place are one item; a reply that says two different things of one place
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import lt
from typing import Any, Final, TypeVar

from vstore.errors import InvalidError
from vstore.evidence.documents import TestObservation
from vstore.objects.text import RawText, Text, text_to_bytes
from vstore.tools.items import (
    MAX_LINE_BYTES,
    CutLine,
    DatabaseRow,
    Item,
    LineText,
    Location,
    SourceFile,
    SourceLine,
    TableSchema,
)
from vstore.tools.reply import ContentKind
from vstore.tools.values import check_value

__all__ = [
    "arrange",
    "check_line",
    "check_location",
    "check_schema",
    "file_key",
    "key_of_kind",
    "line_key",
    "observation_key",
    "position_of",
    "row_key",
    "table_key",
]

T = TypeVar("T")
AnyItem = Item | TestObservation

#: A position has at most as many digits as the largest integer of a document.
_POINTER: Final = re.compile(r"/tables/[^/]*/rows/(0|[1-9][0-9]{0,15})", re.ASCII)


def line_key(line: SourceLine) -> tuple[bytes, str, int]:
    """The sort key of a line."""
    return text_to_bytes(line.path), line.file, line.line


def file_key(file: SourceFile) -> tuple[bytes, str]:
    """The sort key of a file."""
    return text_to_bytes(file.path), file.file


def row_key(row: DatabaseRow) -> tuple[bytes, tuple[bytes, ...], int]:
    """The sort key of a row."""
    names = tuple([column.name for column in row.columns])
    return text_to_bytes(row.table), _projection(names), position_of(row.location)


@lru_cache(maxsize=64)
def _projection(names: tuple[Text, ...]) -> tuple[bytes, ...]:
    """The bytes of column names; the rows of one query share them."""
    return tuple(map(text_to_bytes, names))


def table_key(table: TableSchema) -> tuple[bytes, str, bytes]:
    """The sort key of a table, view or trigger."""
    return text_to_bytes(table.name), table.type, text_to_bytes(table.table)


def observation_key(observation: TestObservation) -> tuple[bytes, bytes, tuple[str, ...]]:
    """The sort key of an observation."""
    return (
        observation.asked.encode(),
        observation.observed.encode(),
        tuple(observation.attachments),
    )


_KEYS: Final[dict[str, Callable[[Any], Any]]] = {
    "source_lines": line_key,
    "source_files": file_key,
    "database_rows": row_key,
    "database_schema": table_key,
    "test_observations": observation_key,
}


def key_of_kind(kind: ContentKind) -> Callable[[Any], Any]:
    """The function that gives the sort key of an item of this kind."""
    return _KEYS[kind]


def position_of(location: Location) -> int:
    """The 0-based position in the snapshot that a location's pointer ends with.

    Raises:
        InvalidError: The pointer isn't ``/tables/NAME/rows/POSITION``.
    """
    found = _POINTER.fullmatch(location.pointer)
    if found is None:
        raise InvalidError(
            "a row's location is not /tables/NAME/rows/POSITION", kind="invalid_location"
        )
    return int(found[1])


def arrange(items: Sequence[T], key: Callable[[T], Any]) -> tuple[list[T], list[int] | None]:
    """Sort items and drop repeats.

    Args:
        items: In any order.
        key: Their place.

    Returns:
        The sorted items, and where each given item stands in them; None in its place when
        the given order is the sorted one already and nothing is repeated.

    Raises:
        InvalidError: Two different items claim one place (``conflicting_items``).
    """
    keys = [key(item) for item in items]
    if all(map(lt, keys, keys[1:])):
        return list(items), None
    arranged: list[T] = []
    order = [0] * len(keys)
    last: Any = None
    for at in sorted(range(len(keys)), key=keys.__getitem__):
        if arranged and keys[at] == last:
            if items[at] != arranged[-1]:
                raise InvalidError("two different items claim one place", kind="conflicting_items")
        else:
            arranged.append(items[at])
            last = keys[at]
        order[at] = len(arranged) - 1
    return arranged, order


def check_line(text: LineText) -> None:
    """Check that the text of a line is what :func:`vstore.tools.items.line_text` makes.

    Raises:
        InvalidError: It holds LF, or has another legal encoding.
    """
    if isinstance(text, str):
        bad = "\n" in text or (
            4 * len(text) > MAX_LINE_BYTES and len(text.encode()) > MAX_LINE_BYTES
        )
    elif isinstance(text, RawText):
        raw = text_to_bytes(text)
        bad = b"\n" in raw or len(raw) > MAX_LINE_BYTES
    else:
        bad = _bad_cut(text)
    if bad:
        raise InvalidError("the text of a line has another encoding", kind="not_canonical")


def _bad_cut(text: CutLine) -> bool:
    head = text_to_bytes(text.head)
    return text.size <= MAX_LINE_BYTES or len(head) != MAX_LINE_BYTES or b"\n" in head


def check_location(location: Location) -> None:
    """Check the values of a row's location.

    Raises:
        InvalidError: One has another legal encoding.
    """
    if location.rowid is not None and type(location.rowid) is not int:
        check_value(location.rowid)
    for column in location.key or ():
        text_to_bytes(column.name)
        check_value(column.value)


def check_schema(table: TableSchema) -> None:
    """Check that each text of a table's description has its one legal encoding.

    Raises:
        InvalidError: One has another.
    """
    texts: list[Text | None] = [table.name, table.table, table.sql]
    for column in table.columns:
        texts += (column.name, column.declared_type, column.default)
    for index in table.indices:
        texts += (index.name, index.sql, *index.columns)
    for key in table.foreign_keys:
        texts += (key.table, *key.columns, *key.references)
    for text in texts:
        if isinstance(text, RawText):
            text_to_bytes(text)
