"""Snapshots that say the right thing in the wrong way, or the wrong thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.text import RawText
from vstore.objects.tree import Tree, TreeEntry
from vstore.testing.database_samples import CapturedDatabase, captured, make_database
from vstore.tools.database_content import (
    Chunk,
    DatabaseContent,
    DatabaseRowChunk,
    DatabaseSchemaDocument,
    StoredRow,
    TableContent,
)
from vstore.tools.items import TableSchema
from vstore.tools.snapshot_check import check_database, check_source
from vstore.tools.values import BigInteger, Blob, LargeBlob, LargeText, Real

replace = msgspec.structs.replace


@pytest.fixture
def database(tmp_path: Path) -> CapturedDatabase:
    return captured(
        make_database(
            tmp_path / "a.db",
            "CREATE TABLE big (n INTEGER PRIMARY KEY, v, w AS (n + 1))",
            *[("INSERT INTO big VALUES (?, ?)", (n, f"text {n} " * 10)) for n in range(1, 1_500)],
            "CREATE TABLE keyed (b, a, PRIMARY KEY (a, b)) WITHOUT ROWID",
            "INSERT INTO keyed VALUES (1, 'x'), (2, 'x')",
            "CREATE TABLE large (v)",
            ("INSERT INTO large VALUES (?)", ("x" * 5_000,)),
            "CREATE INDEX i ON large (v)",
            "CREATE TABLE child (a REFERENCES large (v))",
            "CREATE TABLE scanned (rowid, oid, _rowid_)",
            "INSERT INTO scanned VALUES (2, 2, 2), (1, 1, 1)",
        )
    )


def faults(objects: MemoryObjects, content: ObjectId) -> list[str]:
    return [fault.kind for fault in check_database(objects, content)]


def with_content(
    database: CapturedDatabase, change: Callable[[DatabaseContent], DatabaseContent]
) -> list[str]:
    objects = database.objects
    content = objects.document(database.content, DatabaseContent)
    return faults(objects, objects.put_document(change(content)))


def with_table(database: CapturedDatabase, name: str, **changes: Any) -> list[str]:
    return with_content(
        database,
        lambda content: replace(
            content,
            tables=[
                replace(table, **changes) if table.name == name else table
                for table in content.tables
            ],
        ),
    )


def with_chunks(database: CapturedDatabase, name: str, chunks: list[list[StoredRow]]) -> list[str]:
    objects = database.objects
    return with_table(
        database,
        name,
        chunks=[
            Chunk(objects.put_document(DatabaseRowChunk(rows=rows)), len(rows)) for rows in chunks
        ],
        rows=sum(map(len, chunks)),
    )


def chunks_of(database: CapturedDatabase, name: str) -> list[list[StoredRow]]:
    return [chunk.rows for _, chunk in database.snapshot.chunks(database.table(name))]


def with_schema(
    database: CapturedDatabase, change: Callable[[list[TableSchema]], list[TableSchema]]
) -> list[str]:
    objects = database.objects
    entries = change(list(database.snapshot.schema()))
    oid = objects.put_document(DatabaseSchemaDocument(entries=entries))
    return with_content(database, lambda content: replace(content, tables_schema=oid))


def test_what_capture_makes_has_no_fault(database: CapturedDatabase) -> None:
    assert len(database.table("big").chunks) > 2
    assert faults(database.objects, database.content) == []


def test_absent_documents(database: CapturedDatabase) -> None:
    objects = database.objects
    assert faults(objects, object_id(b"absent")) == ["no_object"]
    content = objects.document(database.content, DatabaseContent)
    assert with_content(
        database, lambda content: replace(content, tables_schema=object_id(b"absent"))
    ) == ["no_object"]
    del objects._objects[content.tables[0].chunks[1].object]
    (fault,) = check_database(objects, database.content)
    assert (fault.kind, fault.object) == ("no_object", content.tables[0].chunks[1].object)


def test_chunk_boundaries(database: CapturedDatabase) -> None:
    chunks = chunks_of(database, "big")
    one, two, *rest = chunks
    assert with_chunks(database, "big", [one + two, *rest]) == ["wrong_chunks"]
    assert with_chunks(database, "big", [one[:-1], one[-1:] + two, *rest])[0] == "wrong_chunks"
    assert with_chunks(database, "big", [one, two[:5], two[5:], *rest])[0] == "wrong_chunks"
    assert with_chunks(database, "big", [*chunks[:-1], chunks[-1][:5]]) == []
    assert (
        with_chunks(database, "big", [[row for chunk in chunks for row in chunk]])[0]
        == "wrong_chunks"
    )


def test_order_of_rows(database: CapturedDatabase) -> None:
    one, *rest = chunks_of(database, "big")
    assert "wrong_order" in with_chunks(database, "big", [[one[1], one[0], *one[2:]], *rest])
    assert "wrong_order" in with_chunks(database, "big", [*rest, one])
    (keyed,) = chunks_of(database, "keyed")
    assert with_chunks(database, "keyed", [keyed[::-1]]) == ["wrong_order"]
    (scanned,) = chunks_of(database, "scanned")
    assert with_chunks(database, "scanned", [scanned[::-1]]) == []


def test_rowids(database: CapturedDatabase) -> None:
    row = StoredRow(1, [1, "a", 2])
    assert with_chunks(database, "big", [[row]]) == []
    for rowid in (None, "1", Real("1.0"), Blob("01")):
        kinds = with_chunks(database, "big", [[replace(row, rowid=rowid)]])
        assert set(kinds) == {"wrong_order"}
    assert with_chunks(database, "big", [[replace(row, rowid=2)]]) == ["wrong_order"]
    assert with_chunks(database, "keyed", [[StoredRow(1, [1, "x"])]]) == ["wrong_order"]
    high = BigInteger("9223372036854775807")
    big = [row, StoredRow(high, [high, None, None])]
    assert with_chunks(database, "big", [big]) == []
    beyond = BigInteger("9223372036854775808")
    assert with_chunks(database, "big", [[StoredRow(beyond, [beyond, None, None])]]) == [
        "not_canonical"
    ]
    assert with_chunks(database, "big", [[StoredRow(BigInteger("1" * 16), [1, None, None])]])[
        0
    ] in ("not_canonical", "wrong_order")


@pytest.mark.parametrize(
    "value",
    ["x" * 4097, "é" * 2049, Real("1"), Real("nan"), Blob("00" * 4097), BigInteger("9" * 19)],
)
def test_values_in_another_encoding(database: CapturedDatabase, value: Any) -> None:
    assert with_chunks(database, "large", [[StoredRow(1, [value])]]) == ["not_canonical"]


def test_large_values(database: CapturedDatabase) -> None:
    (chunk,) = chunks_of(database, "large")
    value = chunk[0].values[0]
    assert isinstance(value, LargeText)
    assert with_chunks(database, "large", [[StoredRow(1, [LargeBlob(value.object, 5_000)])]]) == []
    assert with_chunks(database, "large", [[StoredRow(1, [replace(value, size=5_001)])]]) == [
        "wrong_size"
    ]
    assert with_chunks(database, "large", [[StoredRow(1, [replace(value, size=9)])]]) == [
        "not_canonical"
    ]
    absent = LargeText(object_id(b"absent"), 5_000)
    assert with_chunks(database, "large", [[StoredRow(1, [absent])]]) == ["no_object"]
    key = [StoredRow(None, [absent, absent])]
    assert "no_object" in with_chunks(database, "keyed", [key])


def test_counts_and_columns(database: CapturedDatabase) -> None:
    assert with_table(database, "keyed", rows=3) == ["wrong_count"]
    (chunk,) = database.table("keyed").chunks
    assert with_table(database, "keyed", chunks=[Chunk(chunk.object, 1)], rows=1) == ["wrong_count"]
    assert with_chunks(database, "keyed", [[StoredRow(None, [1])]]) == ["wrong_columns"]
    assert "wrong_columns" in with_table(database, "keyed", columns=["a", "b"])
    assert "wrong_columns" in with_table(database, "keyed", columns=["b"], key=[1, 0])
    rows = [StoredRow(1, [1, "a"])]
    virtual = database.objects.put_document(DatabaseRowChunk(rows=rows))
    # A virtual column that couldn't be computed may be left out, a stored one not.
    assert with_table(database, "big", columns=["n", "v"], chunks=[Chunk(virtual, 1)], rows=1) == []
    assert "wrong_columns" in with_table(
        database, "big", columns=["n", "w"], chunks=[Chunk(virtual, 1)], rows=1
    )
    assert "wrong_columns" in with_table(database, "keyed", key=[7])
    assert "wrong_order" in with_table(database, "keyed", key=[0, 1])
    assert "wrong_order" in with_table(database, "keyed", order="scan", key=[])
    assert "wrong_order" in with_table(database, "scanned", order="rowid")
    assert "wrong_columns" in with_table(database, "big", columns=["v"], chunks=[], rows=0)


def test_tables_and_schema(database: CapturedDatabase) -> None:
    assert with_content(
        database, lambda content: replace(content, tables=content.tables[::-1])
    ) == ["wrong_schema"]
    assert "wrong_schema" in with_content(
        database, lambda content: replace(content, tables=content.tables[1:])
    )
    extra = TableContent(
        name="zzz", order="rowid", columns=[], key=[], rows=0, chunks=[], unread=None
    )
    assert with_content(
        database, lambda content: replace(content, tables=[*content.tables, extra])
    ) == ["wrong_schema"]
    assert with_schema(database, lambda entries: entries[::-1]) == ["wrong_schema"]
    assert "wrong_schema" in with_schema(database, lambda entries: [entries[0], *entries])
    assert with_schema(
        database, lambda entries: [*entries[:-1], replace(entries[-1], sql=RawText("61"))]
    ) == ["not_canonical"]


def folder(objects: MemoryObjects, *entries: tuple[str, str, ObjectId, int]) -> ObjectId:
    return objects.put_document(
        Tree(
            entries=[
                TreeEntry(name=name, kind=kind, object=oid, size=size, executable=False)  # type: ignore[arg-type]
                for name, kind, oid, size in entries
            ]
        )
    )


def source_faults(objects: MemoryObjects, root: ObjectId) -> list[str]:
    return [fault.kind for fault in check_source(objects, root)]


def test_source_trees() -> None:
    objects = MemoryObjects()
    blob = objects.put(b"12345")
    inner = folder(objects, ("f", "file", blob, 5), ("l", "link", blob, 5))
    good = folder(objects, ("a", "tree", inner, 10), ("b", "tree", inner, 10))
    assert source_faults(objects, good) == []
    wrong = folder(objects, ("a", "tree", inner, 10), ("b", "tree", inner, 11))
    assert source_faults(objects, wrong) == ["wrong_size"]
    assert source_faults(objects, folder(objects, ("f", "file", blob, 4))) == ["wrong_size"]
    absent = object_id(b"absent")
    assert source_faults(objects, folder(objects, ("f", "file", absent, 4))) == ["no_object"]
    assert source_faults(objects, folder(objects, ("f", "tree", absent, 4))) == ["no_object"]
    assert source_faults(objects, absent) == ["no_object"]
    assert source_faults(objects, folder(objects, ("b", "file", blob, 5), ("a", "file", blob, 5)))
    assert source_faults(objects, objects.put(b"no tree")) == ["invalid_json"]
    deep = inner
    for _ in range(64):
        deep = folder(objects, ("d", "tree", deep, 10))
    assert source_faults(objects, deep) == ["invalid_tree"]
