"""Contents for the independent reader: items, atoms, the normal form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from blake3 import blake3
from reader_documents import INLINE, Unreadable, canonical, check_value, text_bytes

Document = dict[str, Any]

#: Of each kind of content, the member that holds its items and what may have been asked.
KINDS: Final = {
    "source_lines": ("lines", ("source.search", "source.read")),
    "source_files": ("files", ("source.list",)),
    "database_rows": ("rows", ("database.rows",)),
    "database_schema": ("tables", ("database.schema",)),
    "test_observations": ("observations", ("testing.request",)),
}
_MEMBERS: Final = [member for member, _ in KINDS.values()]
_POINTER: Final = re.compile(r"/tables/[^/]*/rows/(0|[1-9][0-9]{0,15})", re.ASCII)


def items(content: Document) -> Iterator[Any]:
    """The ungrouped items of a content, in their order."""
    for group in content["lines"] or ():
        for line, text in group["lines"]:
            yield {"file": group["file"], "line": line, "path": group["path"], "text": text}
    yield from content["files"] or ()
    for group in content["rows"] or ():
        for row in group["rows"]:
            if len(row["values"]) != len(group["columns"]):
                raise Unreadable("a row with other values than columns")
            columns = [list(pair) for pair in zip(group["columns"], row["values"], strict=True)]
            yield {
                "columns": columns,
                "location": row["location"],
                "row": row["row"],
                "table": group["table"],
            }
    yield from content["tables"] or ()
    yield from content["observations"] or ()


def item_count(content: Document) -> int:
    """How many items a content has."""
    grouped = sum(len(group["lines"]) for group in content["lines"] or ())
    grouped += sum(len(group["rows"]) for group in content["rows"] or ())
    return grouped + sum(len(content[one] or ()) for one in ("files", "tables", "observations"))


def atoms(content: Document) -> list[str]:
    """The atoms of a content, in the order of its items."""
    if content["kind"] == "test_observations":
        coverage, scope = "complete", content["tested"]
    elif content["scope"] is None or content["coverage"] is None:
        raise Unreadable("a content without scope or coverage")
    else:
        coverage, scope = content["coverage"]["kind"], content["scope"]["content"]
    if scope is None:
        raise Unreadable("observations without a test")
    return [
        blake3(
            canonical(
                {
                    "schema": "atom-v1",
                    "kind": content["kind"],
                    "scope": scope,
                    "coverage": coverage,
                    "item": item,
                }
            )
        ).hexdigest()
        for item in items(content)
    ]


def check_normal(content: Document) -> None:
    """Check that a content is in normal form.

    Raises:
        Unreadable: It isn't.
    """
    member, operations = KINDS[content["kind"]]
    if [one for one in _MEMBERS if content[one] is not None] != [member]:
        raise Unreadable("other members than those of its kind")
    test = content["kind"] == "test_observations"
    if (content["scope"] is None) != test or (content["coverage"] is None) != test:
        raise Unreadable("scope and coverage of something else")
    if (content["tested"] is None) == test or (test and content["truncated"] is not None):
        raise Unreadable("a test of something else")
    sought = content["sought"]
    if (sought is None) != bool(content[member]):
        raise Unreadable("sought where something was found, or the reverse")
    if sought is not None and sought["operation"] not in operations:
        raise Unreadable("something else was sought")
    groups = content["lines"] or ()
    _ascend((text_bytes(one["path"]), one["file"]) for one in groups)
    for group in groups:
        _filled(group["lines"])
        _ascend(line for line, _ in group["lines"])
        for _, text in group["lines"]:
            _check_line(text)
    _ascend((text_bytes(one["path"]), one["file"]) for one in content["files"] or ())
    _check_rows(content["rows"] or [])
    for table in content["tables"] or ():
        for text in _schema_texts(table):
            text_bytes(text if text is not None else "")
    _ascend(
        (text_bytes(one["name"]), one["type"], text_bytes(one["table"]))
        for one in content["tables"] or ()
    )
    _ascend(
        (one["asked"].encode(), one["observed"].encode(), one["attachments"])
        for one in content["observations"] or ()
    )
    for one in content["observations"] or ():
        _ascend(one["attachments"])
    if test:
        _ascend(one["name"] for one in content["tested"]["environment"])
        _ascend((sought or {"observations": []})["observations"])


def _check_rows(groups: list[Document]) -> None:
    _ascend(
        (text_bytes(one["table"]), [text_bytes(name) for name in one["columns"]]) for one in groups
    )
    for group in groups:
        _filled(group["rows"])
        _ascend(_position(row["location"]["pointer"]) for row in group["rows"])
        for row in group["rows"]:
            if len(row["values"]) != len(group["columns"]):
                raise Unreadable("a row with other values than columns")
            check_value(row["location"]["rowid"])
            for name, value in row["location"]["key"] or ():
                text_bytes(name)
                check_value(value)
            for value in row["values"]:
                check_value(value)


def _schema_texts(table: Document) -> Iterator[Any]:
    yield from (table["name"], table["table"], table["sql"])
    for column in table["columns"]:
        yield from (column["name"], column["declared_type"], column["default"])
    for index in table["indices"]:
        yield from (index["name"], index["sql"], *index["columns"])
    for key in table["foreign_keys"]:
        yield from (key["table"], *key["columns"], *key["references"])


def _check_line(text: Any) -> None:
    if isinstance(text, dict) and text["type"] == "cut":
        head = text_bytes(text["head"])
        bad = text["size"] <= INLINE or len(head) != INLINE or b"\n" in head
    else:
        raw = text_bytes(text)
        bad = len(raw) > INLINE or b"\n" in raw
    if bad:
        raise Unreadable("a line in another encoding")


def _position(pointer: str) -> int:
    found = _POINTER.fullmatch(pointer)
    if found is None:
        raise Unreadable("a location that is none")
    return int(found[1])


def _filled(group: list[Any]) -> None:
    if not group:
        raise Unreadable("an empty group")


def _ascend(keys: Iterable[Any]) -> None:
    if any(not before < after for before, after in pairwise(keys)):
        raise Unreadable("items out of order, or repeated")
