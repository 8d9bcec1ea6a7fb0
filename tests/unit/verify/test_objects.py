from __future__ import annotations

import io
from typing import BinaryIO

import pytest

from vstore.errors import NotFoundError, UnsupportedError
from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.tree import Tree, TreeEntry
from vstore.verify.objects import BAD, DOCUMENT, LARGE, REACHED, WITHHELD, ObjectTable

TREE = Tree(
    entries=[
        TreeEntry(name="a", kind="file", object=object_id(b"x"), size=1, executable=False),
    ]
)


def table_of(*payloads: bytes) -> tuple[ObjectTable, list[int]]:
    """A table over these payloads, and the numbers of those that were read again."""
    read: list[int] = []

    def payload_of(number: int) -> bytes:
        read.append(number)
        return payloads[number]

    def large_of(oid: ObjectId) -> BinaryIO:
        return io.BytesIO(b"large " + oid.encode())

    return ObjectTable(payload_of, large_of), read


def test_reads_objects_from_their_frames_and_keeps_payloads() -> None:
    table, read = table_of(b"abcdef", b"ghi")
    one, other, last = object_id(b"bc"), object_id(b"ghi"), object_id(b"f")
    assert table.add(one, 0, 0, 1, 2)
    assert table.add(other, 0, 1, 0, 3)
    assert table.add(last, 0, 0, 5, 1)
    assert (table.get(one), table.get(other), table.get(last)) == (b"bc", b"ghi", b"f")
    assert read == [0, 1]
    assert (table.size(one), len(table), one in table) == (2, 3, True)
    with table.open(other) as stream:
        assert stream.read() == b"ghi"


def test_payloads_are_dropped_past_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vstore.verify.objects._CACHED_BYTES", 8)
    table, read = table_of(b"12345", b"67890")
    one, other = object_id(b"12345"), object_id(b"67890")
    table.add(one, 0, 0, 0, 5)
    table.add(other, 0, 1, 0, 5)
    for oid in (one, one, other, one):
        table.get(oid)
    assert read == [0, 1, 0]


def test_an_object_is_noted_once() -> None:
    table, _ = table_of(b"ab")
    oid = object_id(b"a")
    assert table.add(oid, 0, 0, 0, 1)
    assert not table.add(oid, BAD, 0, 1, 1)
    assert table.flags(oid) == 0
    assert table.flags(object_id(b"other")) is None


def test_reaching() -> None:
    table, _ = table_of(b"ab")
    one, other = object_id(b"a"), object_id(b"b")
    table.add(one, DOCUMENT, 0, 0, 1)
    table.add(other, 0, 0, 1, 1)
    assert table.unreached() == [one, other]
    assert (table.reach(one), table.reach(one), table.reach(object_id(b"c"))) == (True, False, None)
    assert table.unreached() == [other]
    assert table.flags(one) == DOCUMENT | REACHED
    table.mark(other, BAD)
    assert table.flags(other) == BAD


def test_absent_and_withheld_objects_raise() -> None:
    table, _ = table_of(b"")
    absent, withheld = object_id(b"a"), object_id(b"w")
    table.add(withheld, WITHHELD, 0, 0, 7)
    for call in (table.get, table.size, table.open):
        with pytest.raises(NotFoundError):
            call(absent)
    assert table.size(withheld) == 7
    with pytest.raises(UnsupportedError):
        table.get(withheld)


def test_large_objects_are_streamed() -> None:
    table, _ = table_of()
    oid = object_id(b"large")
    table.add(oid, LARGE, 0, 0, 73)
    assert table.get(oid) == b"large " + oid.encode()
    with table.open(oid) as stream:
        assert stream.read(5) == b"large"


def test_documents_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = encode(TREE)
    table, _ = table_of(encoded)
    oid = object_id(encoded)
    table.add(oid, DOCUMENT, 0, 0, len(encoded))
    first = table.document(oid, Tree)
    assert first == TREE
    assert table.document(oid, Tree) is first
    monkeypatch.setattr("vstore.verify.objects._CACHED_DOCUMENTS", 0)
    table, _ = table_of(encoded)
    table.add(oid, DOCUMENT, 0, 0, len(encoded))
    assert table.document(oid, Tree) is not table.document(oid, Tree)
