"""Atoms: the identity of one located item, apart from who asked for it and how.

    atom = blake3(canonical {schema: "atom-v1", kind, scope, coverage, item})

``scope`` is the object id of the snapshot's content, ``coverage`` is ``complete`` or
``partial``, ``item`` the ungrouped item. For observations of a test, ``scope`` is the object
``{environment, executor}`` and ``coverage`` is ``complete``. Names, origins and statements
of a snapshot, ids of requests, actions and operations, patterns, limits and grouping stay
outside, so pinning equal content again under another name mints nothing (spec: evidence,
"Novelty").

What the items of one content share is encoded once: members are written in sorted order
(``coverage``, ``item``, ``kind``, ``schema``, ``scope``), so everything around an item is a
constant of the content, and within a line everything but its number and its text is a
constant of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from blake3 import blake3

from vstore.errors import InvalidError
from vstore.evidence.documents import EvidenceContent
from vstore.objects.canonical import encode, encode_part
from vstore.objects.ids import Digest
from vstore.objects.text import Text
from vstore.tools.items import Location
from vstore.tools.values import Value

__all__ = ["ATOM_SCHEMA", "atoms"]

ATOM_SCHEMA: Final = "atom-v1"


class _RowItem(msgspec.Struct):
    columns: list[tuple[Text, Value]]
    location: Location
    row: str
    table: Text


def atoms(content: EvidenceContent) -> list[Digest]:
    """The atoms of a content, in the order of its items.

    Args:
        content: In its normal form, so that no two items are equal.

    Returns:
        One digest per item.

    Raises:
        InvalidError: No scope or no coverage, or a row whose values don't match its columns.
    """
    coverage, scope = _around(content)
    before = b'{"coverage":"%b","item":' % coverage
    after = b',"kind":"%b","schema":"atom-v1","scope":%b}' % (content.kind.encode(), scope)
    return [blake3(before + item + after).hexdigest() for item in _encoded_items(content)]


def _around(content: EvidenceContent) -> tuple[bytes, bytes]:
    """The coverage of every item of a content, and its scope as canonical JSON."""
    if content.kind == "test_observations":
        if content.tested is None:
            raise InvalidError("observations without a test", kind="invalid_content")
        return b"complete", encode(content.tested)
    if content.scope is None or content.coverage is None:
        raise InvalidError("a content without scope or coverage", kind="invalid_content")
    return content.coverage.kind.encode(), b'"%b"' % content.scope.content.encode()


def _encoded_items(content: EvidenceContent) -> Iterator[bytes]:
    """The canonical bytes of each ungrouped item."""
    for group in content.lines or ():
        head = b'{"file":"%b","line":' % group.file.encode()
        middle = b',"path":%b,"text":' % encode_part(group.path)
        for numbered in group.lines:
            yield b"%b%d%b%b}" % (head, numbered.line, middle, encode_part(numbered.text))
    for entry in content.files or ():
        yield b'{"file":"%b","path":%b,"size":%d}' % (
            entry.file.encode(),
            encode_part(entry.path),
            entry.size,
        )
    for table in content.rows or ():
        for row in table.rows:
            if len(row.values) != len(table.columns):
                raise InvalidError(
                    "a row whose values don't match the columns", kind="invalid_content"
                )
            yield encode(
                _RowItem(
                    list(zip(table.columns, row.values, strict=True)),
                    row.location,
                    row.row,
                    table.table,
                )
            )
    for schema in content.tables or ():
        yield encode(schema)
    for observation in content.observations or ():
        yield encode(observation)
