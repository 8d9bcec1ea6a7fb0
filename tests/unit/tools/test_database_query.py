"""database.rows and database.schema: conditions, order, pages, limits, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from vstore.errors import IntegrityError
from vstore.objects.ids import digest_of, object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.text import RawText, Text
from vstore.testing.database_samples import CapturedDatabase, captured, make_database
from vstore.tools.adapter import QueryRefused
from vstore.tools.database_content import (
    Chunk,
    DatabaseContent,
    DatabaseRowChunk,
    DatabaseSchemaDocument,
    StoredRow,
    TableContent,
)
from vstore.tools.database_query import RowsAnswer, query_rows, query_schema
from vstore.tools.database_snapshot import DatabaseSnapshot
from vstore.tools.items import Column
from vstore.tools.reply import Truncation
from vstore.tools.request import Condition, DatabaseRows, DatabaseSchema, Order, QueryLimits
from vstore.tools.values import (
    BigInteger,
    Blob,
    LargeBlob,
    LargeText,
    RawTextValue,
    Real,
    Value,
)

Op = Literal["eq", "ne", "lt", "le", "gt", "ge", "contains", "prefix"]

#: Cells by rowid.
CELLS: dict[int, object] = {
    1: None,
    2: -5,
    3: 7,
    4: 7.5,
    5: 2**53 + 1,
    6: float(2**53),
    7: float("inf"),
    8: "",
    9: "apple",
    10: "Apple pie",
    11: "été",
    12: b"",
    13: b"apple",
    14: "apple" * 1000,
    15: b"apple" * 1000,
    17: -0.0,
}
TEXTS = {8, 9, 10, 11, 14, 16}
BLOBS = {12, 13, 15}
NUMBERS = {2, 3, 4, 5, 6, 7, 17}
ALL = {1, *TEXTS, *BLOBS, *NUMBERS}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> CapturedDatabase:
    return captured(
        make_database(
            tmp_path_factory.mktemp("query") / "a.db",
            "CREATE TABLE t (v, name TEXT)",
            *[
                ("INSERT INTO t (rowid, v, name) VALUES (?, ?, ?)", (rowid, cell, f"row {rowid}"))
                for rowid, cell in CELLS.items()
            ],
            "INSERT INTO t (rowid, v, name) VALUES (16, CAST(x'ff61' AS TEXT), 'row 16')",
            "CREATE TABLE keyed (a, b, c, PRIMARY KEY (c, a)) WITHOUT ROWID",
            "INSERT INTO keyed VALUES (1, 'x', 2), (2, 'y', 1), (1, 'z', 1)",
            "CREATE TABLE hides (rowid TEXT, v)",
            "INSERT INTO hides VALUES ('own', 1)",
            "CREATE TABLE empty (a)",
            "CREATE VIEW seen AS SELECT v FROM t",
            "CREATE TRIGGER watch AFTER INSERT ON t BEGIN SELECT 1; END",
        )
    )


def ask(
    database: CapturedDatabase,
    table: Text = "t",
    *,
    limits: QueryLimits | None = None,
    **options: object,
) -> RowsAnswer:
    question = DatabaseRows(database="db", table=table, **options)  # type: ignore[arg-type]
    return query_rows(database.snapshot, question, limits or QueryLimits())


def rowids(answer: RowsAnswer) -> list[Value]:
    return [row.location.rowid for row in answer.rows]


def where(column: Text, op: Op, value: Value) -> Condition:
    return Condition(column=column, op=op, value=value)


@pytest.mark.parametrize(
    ("op", "value", "wanted"),
    [
        ("eq", None, {1}),
        ("ne", None, ALL - {1}),
        ("eq", 7, {3}),
        ("eq", Real("7.0"), {3}),
        ("eq", 0, {17}),
        ("eq", Real("-0.0"), {17}),
        ("ne", 0, ALL - {17}),
        ("eq", BigInteger("9007199254740993"), {5}),
        ("eq", BigInteger("9007199254740992"), {6}),
        ("eq", Real("9007199254740992.0"), {6}),
        ("eq", "apple", {9}),
        ("eq", Blob("6170706c65"), {13}),
        ("eq", RawTextValue("ff61"), {16}),
        ("eq", "7", set()),
        ("lt", 7, {1, 2, 17}),
        ("le", 7, {1, 2, 3, 17}),
        ("lt", BigInteger("9007199254740993"), {1, 2, 3, 4, 6, 17}),
        ("gt", Real("9007199254740992.0"), {5, 7} | TEXTS | BLOBS),
        ("ge", Real("inf"), {7} | TEXTS | BLOBS),
        ("lt", None, set()),
        ("le", None, {1}),
        ("ge", None, ALL),
        ("lt", "", {1} | NUMBERS),
        ("gt", "apple", {11, 14, 16} | BLOBS),
        ("ge", "apple", {9, 11, 14, 16} | BLOBS),
        ("lt", Blob(""), ALL - BLOBS),
        ("gt", Blob("6170706c65"), {15}),
        ("le", Blob("6170706c65"), ALL - {15}),
        ("contains", "pp", {9, 10, 14}),
        ("contains", "", TEXTS),
        ("contains", "appleapple", {14}),
        ("contains", "P", set()),
        ("contains", Blob("7070"), {13, 15}),
        ("contains", Blob(""), BLOBS),
        ("contains", RawTextValue("ff"), {16}),
        ("prefix", "apple", {9, 14}),
        ("prefix", "é", {11}),
        ("prefix", Blob("6170706c656170"), {15}),
    ],
)
def test_conditions(database: CapturedDatabase, op: Op, value: Value, wanted: set[int]) -> None:
    answer = ask(database, where=[where("v", op, value)])
    assert rowids(answer) == sorted(wanted)
    assert answer.page.total == len(wanted)
    assert answer.truncated is None
    assert (answer.sought is None) == bool(wanted)


def test_large_values_in_conditions(database: CapturedDatabase) -> None:
    text, blob = b"apple" * 1000, b"apple" * 1000
    large_text = LargeText(object_id(text), 5000)
    large_blob = LargeBlob(object_id(blob), 5000)
    assert rowids(ask(database, where=[where("v", "eq", large_text)])) == [14]
    assert rowids(ask(database, where=[where("v", "eq", large_blob)])) == [15]
    assert rowids(ask(database, where=[where("v", "gt", large_text)])) == [11, 12, 13, 15, 16]
    assert rowids(ask(database, where=[where("v", "prefix", large_blob)])) == [15]
    with pytest.raises(QueryRefused) as caught:
        ask(database, where=[where("v", "lt", LargeText(object_id(b"absent"), 5000))])
    assert caught.value.kind == "bad_condition"


def test_all_conditions_must_hold(database: CapturedDatabase) -> None:
    answer = ask(
        database,
        where=[where("rowid", "gt", 2), where("rowid", "le", 4), where("name", "ne", "row 3")],
    )
    assert rowids(answer) == [4]


def test_the_rowid_is_a_column(database: CapturedDatabase) -> None:
    answer = ask(database, columns=["name", "rowid"], where=[where("rowid", "eq", 3)])
    assert answer.rows[0].columns == [Column("name", "row 3"), Column("rowid", 3)]
    own = ask(database, "hides", columns=["rowid"])
    assert own.rows[0].columns == [Column("rowid", "own")]
    assert own.rows[0].location.rowid == 1
    with pytest.raises(QueryRefused) as caught:
        ask(database, "keyed", columns=["rowid"])
    assert caught.value.kind == "unknown_column"


def test_rows_say_where_they_are(database: CapturedDatabase) -> None:
    (row,) = ask(database, where=[where("rowid", "eq", 17)]).rows
    assert row.table == "t"
    assert (row.location.rowid, row.location.key) == (17, None)
    assert row.location.pointer == "/tables/t/rows/16"
    assert row.columns == [Column("v", Real("-0.0")), Column("name", "row 17")]
    assert row.row == digest_of(b'[{"type":"real","value":"-0.0"},"row 17"]')
    keyed = ask(database, "keyed", columns=["b"]).rows
    assert [one.location.key for one in keyed] == [
        [Column("c", 1), Column("a", 1)],
        [Column("c", 1), Column("a", 2)],
        [Column("c", 2), Column("a", 1)],
    ]
    assert [one.columns for one in keyed] == [[Column("b", text)] for text in "zyx"]
    assert [one.location.rowid for one in keyed] == [None] * 3
    assert keyed[2].row == digest_of(b'[1,"x",2]')


def test_no_columns_are_a_projection_too(database: CapturedDatabase) -> None:
    (row, *_) = ask(database, columns=[]).rows
    assert row.columns == []


def test_order(database: CapturedDatabase) -> None:
    whole = [1, 2, 17, 3, 4, 6, 5, 7, 8, 10, 9, 14, 11, 16, 12, 13, 15]
    assert rowids(ask(database, order=[Order(column="v")])) == whole
    falling = ask(database, order=[Order(column="v", descending=True)])
    assert rowids(falling) == whole[::-1]
    assert falling.rows[0].location.pointer == "/tables/t/rows/14"
    page = ask(database, order=[Order(column="v")], offset=2, limit=3)
    assert rowids(page) == whole[2:5]
    assert page.page.total == 17


def test_ties_keep_the_order_of_the_snapshot(tmp_path: Path) -> None:
    rows = [(n, n % 3, n % 2) for n in range(5_000)]
    found = captured(
        make_database(
            tmp_path / "a.db",
            "CREATE TABLE t (n, a, b)",
            *[("INSERT INTO t VALUES (?, ?, ?)", row) for row in rows],
        )
    )
    orders: list[list[tuple[str, bool]]] = [
        [("a", False)],
        [("a", True)],
        [("a", True), ("b", False)],
        [("b", False), ("a", True)],
    ]
    for order in orders:
        wanted = list(rows)
        for name, descending in reversed(order):
            wanted.sort(key=lambda row: row["nab".index(name)], reverse=descending)
        for offset, limit in ((0, 10), (1_700, 20), (4_995, 100)):
            answer = ask(
                found,
                columns=["n"],
                order=[Order(column=name, descending=descending) for name, descending in order],
                offset=offset,
                limit=limit,
            )
            got = [row.columns[0].value for row in answer.rows]
            assert got == [row[0] for row in wanted[offset : offset + limit]]
            assert answer.page.total == 5_000


def test_pages(database: CapturedDatabase) -> None:
    first = ask(database, limit=5)
    assert rowids(first) == [1, 2, 3, 4, 5]
    assert first.truncated == Truncation(limit="limit", value=5, total=17, skipped_files=0)
    assert (first.page.offset, first.page.limit, first.page.returned) == (0, 5, 5)
    last = ask(database, limit=5, offset=15)
    assert rowids(last) == [16, 17]
    assert last.truncated == Truncation(limit="offset", value=15, total=17, skipped_files=0)
    beyond = ask(database, offset=100)
    assert (beyond.rows, beyond.page.total) == ([], 17)
    assert beyond.sought == DatabaseRows(database="db", table="t")
    shown = ask(database, offset=100, columns=["v"], order=[Order(column="v")])
    assert shown.sought == DatabaseRows(
        database="db", table="t", columns=["v"], order=[Order(column="v")]
    )
    filtered = ask(database, where=[where("v", "contains", "pp")], limit=1, offset=1)
    assert rowids(filtered) == [10]
    assert filtered.page.total == 3


def test_an_empty_table_is_a_finding(database: CapturedDatabase) -> None:
    answer = ask(database, "empty", order=[Order(column="a")], columns=["a"], limit=7)
    assert answer.rows == []
    assert answer.page.total == 0
    assert answer.truncated is None
    assert answer.sought == DatabaseRows(database="db", table="empty")


def test_what_was_sought_is_normal(database: CapturedDatabase) -> None:
    one, other = where("name", "eq", "none"), where("v", "lt", None)
    first = ask(database, where=[one, other, one], limit=3, offset=9, order=[Order(column="v")])
    second = ask(database, where=[other, one], columns=["name"])
    assert first.sought == second.sought
    assert first.sought is not None
    assert len(first.sought.where) == 2
    third = ask(database, where=[other])
    assert third.sought != first.sought


def test_limits(database: CapturedDatabase) -> None:
    matches = ask(database, limits=QueryLimits(max_matches=4))
    assert (len(matches.rows), matches.page.total) == (4, 17)
    assert matches.truncated == Truncation(limit="max_matches", value=4, total=17, skipped_files=0)
    condition = [where("rowid", "ge", 1)]
    scanned = ask(database, where=condition, limits=QueryLimits(max_rows_scanned=6))
    assert rowids(scanned) == [1, 2, 3, 4, 5, 6]
    assert scanned.page.total is None
    assert scanned.truncated == Truncation(
        limit="max_rows_scanned", value=6, total=None, skipped_files=0
    )
    ordered = ask(
        database,
        order=[Order(column="rowid", descending=True)],
        limits=QueryLimits(max_rows_scanned=6),
    )
    assert rowids(ordered) == [6, 5, 4, 3, 2, 1]
    assert ordered.page.total is None
    small = ask(database, limits=QueryLimits(max_result_bytes=500))
    assert 0 < len(small.rows) < 5
    assert small.page.total == 17
    assert small.truncated == Truncation(
        limit="max_result_bytes", value=500, total=17, skipped_files=0
    )
    nothing = ask(database, limits=QueryLimits(max_result_bytes=1))
    assert nothing.rows == []
    assert nothing.sought is not None


def test_bytes_scanned_count_chunks_and_large_values(database: CapturedDatabase) -> None:
    (chunk,) = database.table("t").chunks
    size = database.objects.size(chunk.object)
    enough = QueryLimits(max_bytes_scanned=size + 5_000)
    contains = [where("v", "contains", "pp")]
    assert rowids(ask(database, where=contains, limits=enough)) == [9, 10, 14]
    less = ask(database, where=contains, limits=QueryLimits(max_bytes_scanned=size + 4_999))
    assert rowids(less) == [9, 10]
    assert less.truncated == Truncation(
        limit="max_bytes_scanned", value=size + 4_999, total=None, skipped_files=0
    )
    none = ask(database, limits=QueryLimits(max_bytes_scanned=size - 1))
    assert none.rows == []
    assert none.page.total is None
    assert none.sought == DatabaseRows(database="db", table="t")
    with pytest.raises(QueryRefused) as caught:
        ask(
            database,
            where=[where("v", "lt", LargeText(object_id(b"apple" * 1000), 5000))],
            limits=QueryLimits(max_bytes_scanned=10),
        )
    assert caught.value.kind == "bad_condition"


@pytest.mark.parametrize(
    ("table", "options", "kind"),
    [
        ("absent", {}, "unknown_table"),
        ("T", {}, "unknown_table"),
        (RawText("ff"), {}, "unknown_table"),
        ("seen", {}, "not_a_table"),
        ("watch", {}, "not_a_table"),
        ("t", {"columns": ["V"]}, "unknown_column"),
        ("t", {"columns": ["v", "v"]}, "repeated_column"),
        ("t", {"where": [where("absent", "eq", 1)]}, "unknown_column"),
        ("t", {"order": [Order(column="absent")]}, "unknown_column"),
        ("t", {"where": [where("v", "contains", 1)]}, "bad_condition"),
        ("t", {"where": [where("v", "prefix", None)]}, "bad_condition"),
        ("t", {"where": [where("v", "eq", Real("1"))]}, "bad_condition"),
        ("t", {"where": [where("v", "lt", Blob("zz"))]}, "bad_condition"),
        ("t", {"where": [where("v", "lt", "x" * 5000)]}, "bad_condition"),
    ],
)
def test_refusals(
    database: CapturedDatabase, table: Text, options: dict[str, object], kind: str
) -> None:
    with pytest.raises(QueryRefused) as caught:
        ask(database, table, **options)
    assert caught.value.kind == kind


def content(
    rows: list[StoredRow], *, claimed: int | None = None, unread: Literal["malformed"] | None = None
) -> CapturedDatabase:
    """A snapshot made by hand, whose table has one column ``a``."""
    objects = MemoryObjects()
    chunks = []
    if rows:
        oid = objects.put_document(DatabaseRowChunk(rows=rows))
        chunks = [Chunk(oid, claimed or len(rows))]
    table = TableContent(
        name="t",
        order="rowid",
        columns=["a"],
        key=[],
        rows=claimed or len(rows),
        chunks=chunks,
        unread=unread,
    )
    schema = objects.put_document(DatabaseSchemaDocument(entries=[]))
    made = objects.put_document(DatabaseContent(tables_schema=schema, tables=[table]))
    found = CapturedDatabase.__new__(CapturedDatabase)
    found.objects = objects
    found.snapshot = DatabaseSnapshot(objects, made)
    return found


def test_a_table_that_was_read_in_part_has_no_total() -> None:
    rows = [StoredRow(1, [1]), StoredRow(2, [2])]
    found = content(rows, unread="malformed")
    whole = ask(found)
    assert (len(whole.rows), whole.page.total, whole.truncated) == (2, None, None)
    page = ask(found, limit=1)
    assert page.truncated == Truncation(limit="limit", value=1, total=None, skipped_files=0)
    with pytest.raises(QueryRefused) as caught:
        ask(content([], unread="malformed"))
    assert caught.value.kind == "unread_table"


@pytest.mark.parametrize(
    ("rows", "claimed"), [([StoredRow(1, [1])], 2), ([StoredRow(1, [1, 2])], None)]
)
def test_rows_that_dont_fit_are_damage(rows: list[StoredRow], claimed: int | None) -> None:
    with pytest.raises(IntegrityError):
        ask(content(rows, claimed=claimed))


def names(database: CapturedDatabase, **options: object) -> list[Text]:
    question = DatabaseSchema(database="db", **options)  # type: ignore[arg-type]
    answer = query_schema(database.snapshot, question, QueryLimits())
    assert answer.page.returned == len(answer.tables)
    assert (answer.sought is None) == bool(answer.tables)
    return [entry.name for entry in answer.tables]


def test_schema(database: CapturedDatabase) -> None:
    assert names(database) == ["empty", "hides", "keyed", "seen", "t", "watch"]
    assert names(database, table="t") == ["t", "watch"]
    assert names(database, table="watch") == ["watch"]
    assert names(database, table="seen") == ["seen"]
    assert names(database, type="trigger") == ["watch"]
    assert names(database, table="t", type="table") == ["t"]
    assert names(database, limit=2, offset=1) == ["hides", "keyed"]
    assert names(database, table="absent") == []
    assert names(database, type="virtual") == []


def test_a_schema_that_finds_nothing_says_what_was_sought(database: CapturedDatabase) -> None:
    question = DatabaseSchema(database="db", table="absent", limit=5, offset=2)
    answer = query_schema(database.snapshot, question, QueryLimits())
    assert answer.sought == DatabaseSchema(database="db", table="absent")
    assert answer.page.total == 0
    assert answer.truncated is None
    beyond = DatabaseSchema(database="db", offset=50)
    answer = query_schema(database.snapshot, beyond, QueryLimits())
    assert answer.sought == DatabaseSchema(database="db")
    assert answer.truncated == Truncation(limit="offset", value=50, total=6, skipped_files=0)
    one = query_schema(database.snapshot, DatabaseSchema(database="db"), QueryLimits(max_matches=1))
    assert one.truncated == Truncation(limit="max_matches", value=1, total=6, skipped_files=0)
