"""Contents are read by the swift pass as the careful checks see them, or not at all."""

from __future__ import annotations

import pytest

from vstore.errors import VStoreError
from vstore.evidence.atoms import atoms
from vstore.evidence.content import item_count
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import (
    EvidenceContent,
)
from vstore.objects.canonical import decode, encode, encode_part, references
from vstore.objects.ids import object_id
from vstore.objects.plain_json import encode_value
from vstore.verify.swift_contents import ContentReader


def content_of(**members: object) -> bytes:
    origin = {"digest": None, "kind": "directory", "label": ""}
    value = {
        "coverage": {"kind": "complete", "statement": "all\n"},
        "files": None,
        "kind": "source_lines",
        "lines": None,
        "observations": None,
        "rows": None,
        "schema": "evidence-content-v1",
        "scope": {"content": object_id(b"s"), "name": "code", "origin": origin},
        "sought": None,
        "tables": None,
        "tested": None,
        "truncated": None,
    }
    return encode_value(value | members)


def lines(*numbered: tuple[int, object], path: object = "a.py") -> dict[str, object]:
    return {"file": object_id(b"f"), "lines": [list(one) for one in numbered], "path": path}


def rows(*placed: tuple[int, list[object]], key: object = None) -> dict[str, object]:
    return {
        "columns": ["name", "size"],
        "rows": [
            {
                "location": {"key": key, "pointer": f"/tables/t/rows/{place}", "rowid": place},
                "row": "a" * 64,
                "values": values,
            }
            for place, values in placed
        ],
        "table": "t",
    }


CONTENTS: dict[str, dict[str, object]] = {
    "a line": {"lines": [lines((3, "x"))]},
    "lines": {"lines": [lines((3, 'x"\\n'), (9, "\u00e9 %d %b"), path="a%s"), lines((1, ""))]},
    "sorted files": {"lines": [lines((1, "")), lines((1, ""), path="b")]},
    "files in another order": {"lines": [lines((1, ""), path="b"), lines((1, ""))]},
    "a file twice": {"lines": [lines((1, "")), lines((2, ""))]},
    "lines in another order": {"lines": [lines((3, "x"), (2, "y"))]},
    "a line twice": {"lines": [lines((3, "x"), (3, "y"))]},
    "a line with LF": {"lines": [lines((3, "x\ny"))]},
    "line 0": {"lines": [lines((0, "x"))]},
    "no lines": {"lines": []},
    "a file without lines": {"lines": [lines()]},
    "the longest line": {"lines": [lines((3, "x" * 4096))]},
    "a line too long": {"lines": [lines((3, "x" * 4097))]},
    "a cut line": {
        "lines": [lines((3, {"digest": "a" * 64, "head": "x" * 4096, "size": 5000, "type": "cut"}))]
    },
    "bytes": {"lines": [lines((3, {"hex": "ff", "type": "bytes"}))]},
    "bytes that are UTF-8": {"lines": [lines((3, {"hex": "41", "type": "bytes"}))]},
    "a path of bytes": {"lines": [lines((3, "x"), path={"hex": "ff", "type": "bytes"})]},
    "rows": {"kind": "database_rows", "rows": [rows((0, ["a", 1]), (7, [None, -5]))]},
    "a row with a key": {"kind": "database_rows", "rows": [rows((7, ["a", 1]), key=[["k", "v"]])]},
    "rows in another order": {
        "kind": "database_rows",
        "rows": [rows((7, ["a", 1]), (0, ["b", 2]))],
    },
    "a row twice": {"kind": "database_rows", "rows": [rows((7, ["a", 1]), (7, ["b", 2]))]},
    "a row too short": {"kind": "database_rows", "rows": [rows((7, ["a"]))]},
    "a real number": {
        "kind": "database_rows",
        "rows": [rows((7, ["a", {"type": "real", "value": "1.5"}]))],
    },
    "a real number of another form": {
        "kind": "database_rows",
        "rows": [rows((7, ["a", {"type": "real", "value": "1.50"}]))],
    },
    "a value too long": {"kind": "database_rows", "rows": [rows((7, ["a" * 4097, 1]))]},
    "rows of lines": {"rows": [rows((7, ["a", 1]))]},
    "lines of rows": {"kind": "database_rows", "lines": [lines((3, "x"))]},
    "both": {"lines": [lines((3, "x"))], "rows": [rows((7, ["a", 1]))]},
    "truncated": {
        "lines": [lines((3, "x"))],
        "truncated": {"limit": "limit", "skipped_files": 1, "total": 9, "value": 1},
    },
    "coverage of nobody": {"lines": [lines((3, "x"))], "coverage": None},
    "a coverage of another kind": {
        "lines": [lines((3, "x"))],
        "coverage": {"kind": "some", "statement": ""},
    },
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_content_is_read_as_the_careful_checks_see_it(name: str) -> None:
    encoded = content_of(**CONTENTS[name])
    reader = ContentReader()
    try:
        document = decode(encoded, EvidenceContent)
        check_content(document)
    except VStoreError:
        with pytest.raises((VStoreError, ValueError)):
            reader.read(encoded)
        return
    found = reader.read(encoded)
    assert found.atoms == atoms(document)
    assert found.facts.items == item_count(document)
    assert found.facts.kind == document.kind
    assert found.facts.truncated == encode_part(document.truncated)
    assert document.scope is not None
    assert found.facts.around.scope == encode(document.scope)
    assert set(found.references) == set(references(encoded, EvidenceContent))


def test_pointers_with_line_feeds_are_not_miscounted() -> None:
    pointers = ["/tables/t/rows/1\n/tables/t/rows/2", "nothing"]
    group = rows((1, ["a", 1]), (2, ["b", 2]))
    for row, pointer in zip(group["rows"], pointers, strict=True):  # type: ignore[call-overload]
        row["location"]["pointer"] = pointer
    with pytest.raises(VStoreError):
        ContentReader().read(content_of(kind="database_rows", rows=[group]))


def test_other_forms_of_a_content_are_refused() -> None:
    encoded = content_of(lines=[lines((3, "x"))])
    for bad in (
        encoded.replace(b'"lines":null', b'"lines": null') + b" ",
        encoded.replace(b'[3,"x"]', b'[3,"\\u0078"]'),
        encoded.replace(b'"files":null', b'"files":null,"files":null'),
        encoded[:-1],
        b"",
    ):
        with pytest.raises((VStoreError, ValueError)):
            ContentReader().read(bad)
