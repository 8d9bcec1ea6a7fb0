"""Reading contents for the swift pass: their form proved, and their atoms, in few steps.

A content is read into a narrow type that allows nothing but the most common values. Where
the narrow one, written again, gives the very bytes that are stored, these bytes are the
canonical form of a valid content, because every narrow member allows a part of what the
real one allows. A content of another kind is read and checked as everywhere else, and what
fails there is left to the careful checks, which say what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from blake3 import blake3

from vstore.evidence.atoms import atoms
from vstore.evidence.content import item_count
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import EvidenceContent
from vstore.objects.canonical import decode, encode, references
from vstore.objects.document import MAX_INTEGER, Positive
from vstore.objects.ids import Digest
from vstore.package.documents import Coverage
from vstore.tools.items import MAX_LINE_BYTES
from vstore.tools.reply import Scope, Truncation
from vstore.tools.values import INLINE_BYTES

__all__ = ["Around", "ContentFacts", "ContentReader", "ReadContent"]

#: Different scopes and coverages that are remembered; a package has one a snapshot.
_KEEP: Final = 64
#: So many bytes of JSON hold no text that is too long to stand in its place.
_SHORT: Final = min(MAX_LINE_BYTES, INLINE_BYTES)

_Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
_Cell = str | _Integer | None

_encode: Final = msgspec.json.Encoder(order="sorted").encode

#: The positions in pointers of rows, one pointer a line (:func:`position_of`).
_positions: Final = re.compile(
    r"^/tables/[^/\n]*/rows/(0|[1-9][0-9]{0,15})$", re.ASCII | re.MULTILINE
).findall


class Around(NamedTuple):
    """What all items of a content share: the canonical bytes of its scope and coverage."""

    scope: bytes
    coverage: bytes


class ContentFacts(NamedTuple):
    """What the checks of a publication need to know of a content that is in order."""

    kind: str
    items: int
    #: Canonical bytes.
    truncated: bytes
    around: Around


class ReadContent(NamedTuple):
    """A content that is in order, its atoms in the order of its items, the ids it names."""

    facts: ContentFacts
    atoms: list[Digest]
    references: list[str]


class _Narrow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    pass


class _Lines(_Narrow):
    file: str
    lines: list[tuple[Positive, str]]
    path: str


class _Location(_Narrow):
    key: list[tuple[str, _Cell]] | None
    pointer: str
    rowid: _Integer | None


class _Row(_Narrow):
    location: _Location
    row: Digest
    values: list[_Cell]


class _Rows(_Narrow):
    columns: list[str]
    rows: list[_Row]
    table: str


class _RowItem(_Narrow):
    columns: list[tuple[str, _Cell]]
    location: _Location
    row: str
    table: str


class _Content(_Narrow):
    coverage: msgspec.Raw
    files: None
    kind: Literal["source_lines", "database_rows"]
    lines: list[_Lines] | None
    observations: None
    rows: list[_Rows] | None
    schema: Literal["evidence-content-v1"]
    scope: msgspec.Raw
    sought: None
    tables: None
    tested: None
    truncated: Truncation | None


class _Surroundings(NamedTuple):
    around: Around
    coverage: bytes
    scope: str


class ContentReader:
    """Reads contents; remembers the scopes that many of them share."""

    def __init__(self) -> None:
        self._decode: Final = msgspec.json.Decoder(_Content).decode
        self._known: dict[tuple[bytes, bytes], _Surroundings] = {}

    def read(self, content: bytes) -> ReadContent:
        """What there is to know of a content.

        Args:
            content: The bytes of the document, its digest checked.

        Raises:
            VStoreError, ValueError: It isn't certain that all is well with it.
        """
        try:
            narrow: _Content = self._decode(content)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return _read_any(content)
        items = None
        if _encode(narrow) == content:
            around, coverage, scope = self._surroundings(narrow.scope, narrow.coverage)
            before = b'{"coverage":"%b","item":' % coverage
            after = b',"kind":"%b","schema":"atom-v1","scope":"%b"}' % (
                narrow.kind.encode(),
                scope.encode(),
            )
            names = [scope]
            if narrow.lines and narrow.rows is None and narrow.kind == "source_lines":
                items = _line_atoms(narrow.lines, before, after, content)
                names += [group.file for group in narrow.lines]
            elif narrow.rows and narrow.lines is None and narrow.kind == "database_rows":
                items = _row_atoms(narrow.rows, before, after)
        if items is None:
            return _read_any(content)
        facts = ContentFacts(narrow.kind, len(items), _encode(narrow.truncated), around)
        return ReadContent(facts, items, names)

    def _surroundings(self, scope: msgspec.Raw, coverage: msgspec.Raw) -> _Surroundings:
        """Scope and coverage of a content, read once for all contents that share them."""
        around = Around(bytes(scope), bytes(coverage))
        known = self._known.get(around)
        if known is None:
            kind = decode(around.coverage, Coverage).kind
            known = _Surroundings(around, kind.encode(), decode(around.scope, Scope).content)
            if len(self._known) >= _KEEP:
                self._known.clear()
            self._known[around] = known
        return known


def _read_any(content: bytes) -> ReadContent:
    document = decode(content, EvidenceContent)
    check_content(document)
    if document.scope is None or document.coverage is None:
        raise ValueError("a content of no snapshot")
    around = Around(encode(document.scope), encode(document.coverage))
    facts = ContentFacts(document.kind, item_count(document), _encode(document.truncated), around)
    return ReadContent(facts, atoms(document), [*references(content, EvidenceContent)])


def _line_atoms(
    groups: Sequence[_Lines], before: bytes, after: bytes, content: bytes
) -> list[Digest] | None:
    """The atoms of lines in their normal form; None where that isn't certain.

    Names are compared as text: UTF-8 has the order of code points.
    """
    # Canonical JSON writes an LF in a text as these two characters.
    if b"\\n" in content and any("\n" in text for group in groups for _, text in group.lines):
        return None
    items: list[bytes] = []
    end = b"}" + after
    last = ("", "")
    for group in groups:
        place, lines = (group.path, group.file), group.lines
        if not (last < place and lines) or (len(lines) > 1 and not _ascending(lines)):
            return None
        last = place
        begin = b'%b{"file":"%b","line":' % (before, group.file.encode())
        middle = b',"path":%b,"text":' % _encode(group.path)
        items += [
            b"%b%d%b%b%b" % (begin, number, middle, _encode(text), end) for number, text in lines
        ]
    return _hashed(items)


def _row_atoms(groups: Sequence[_Rows], before: bytes, after: bytes) -> list[Digest] | None:
    """The atoms of rows in their normal form; None where that isn't certain."""
    items: list[bytes] = []
    last: tuple[str, list[str]] = ("", [])
    for group in groups:
        rows, columns, table = group.rows, group.columns, group.table
        place = (table, columns)
        pointers = "\n".join([row.location.pointer for row in rows])
        positions = [int(one) for one in _positions(pointers)]
        if (
            last >= place
            or not rows
            or not len(positions) == len(rows) == pointers.count("\n") + 1
            or sorted(set(positions)) != positions
            or any(len(row.values) != len(columns) for row in rows)
        ):
            return None
        last = place
        items += [
            before
            + encode(
                _RowItem(list(zip(columns, row.values, strict=True)), row.location, row.row, table)
            )
            + after
            for row in rows
        ]
    return _hashed(items)


def _hashed(items: list[bytes]) -> list[Digest] | None:
    """The digests of items; None where one may hold a text that is too long for its place."""
    if max(map(len, items)) > _SHORT:
        return None
    return [blake3(item).digest().hex() for item in items]


def _ascending(lines: list[tuple[int, str]]) -> bool:
    numbers = [number for number, _ in lines]
    return sorted(set(numbers)) == numbers
