"""Random databases: captured whole, and queried as plain Python would."""

from __future__ import annotations

import functools
import sqlite3
import tempfile
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.objects.memory import MemoryObjects
from vstore.testing.database_samples import CapturedDatabase, captured
from vstore.tools.capture_database import capture_sqlite
from vstore.tools.cell_order import order_bytes, order_key
from vstore.tools.chunker import MAX_BYTES, chunk_rows
from vstore.tools.database_content import StoredRow
from vstore.tools.database_query import query_rows
from vstore.tools.request import Condition, DatabaseRows, Order, QueryLimits
from vstore.tools.snapshot_check import check_database
from vstore.tools.values import Value, value_from_sqlite

NUMBERS = (
    st.integers(-(2**63), 2**63 - 1)
    | st.integers(-3, 3)
    | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**62 + 1])
    | st.floats(allow_nan=False)
    | st.sampled_from([0.0, -0.0, 2.0**53, 2.0**63, -(2.0**63), 1.0])
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
CELLS = st.none() | NUMBERS | TEXTS | st.binary(max_size=4)


def compare(one: Any, other: Any) -> int:
    """The order by its own words, with exact fractions; independent of the library."""

    def rank(cell: Any) -> int:
        if cell is None:
            return 0
        return 1 if isinstance(cell, int | float) else 2 if isinstance(cell, str) else 3

    def plain(cell: Any) -> Any:
        if isinstance(cell, float) and cell in (float("inf"), float("-inf")):
            return cell
        if isinstance(cell, int | float):
            return Fraction(cell)
        return cell.encode() if isinstance(cell, str) else cell

    if rank(one) != rank(other):
        return -1 if rank(one) < rank(other) else 1
    if one is None:
        return 0
    left, right = plain(one), plain(other)
    return (left > right) - (left < right)


def as_value(cell: Any) -> Value:
    raw = bytearray(cell.encode()) if isinstance(cell, str) else cell
    return value_from_sqlite(raw, MemoryObjects())


def capture_of(rows: list[tuple[Any, ...]], definition: str) -> CapturedDatabase:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE t {definition}")
            connection.executemany("INSERT OR IGNORE INTO t VALUES (?, ?)", rows)
        return captured(path)


@given(CELLS, CELLS)
def test_order_of_two_cells(one: Any, other: Any) -> None:
    wanted = compare(one, other)
    objects = MemoryObjects()
    left, right = (order_key(as_value(cell), objects.get) for cell in (one, other))
    assert (left > right) - (left < right) == wanted
    left_bytes, right_bytes = order_bytes(left), order_bytes(right)
    assert (left_bytes > right_bytes) - (left_bytes < right_bytes) == wanted


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=30))
def test_capture_keeps_rows_and_is_canonical(rows: list[tuple[Any, ...]]) -> None:
    found = capture_of(rows, "(a, b)")
    assert found.values("t") == [[as_value(cell) for cell in row] for row in rows]
    assert found.rowids("t") == list(range(1, len(rows) + 1))
    assert list(check_database(found.objects, found.content)) == []


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(CELLS.filter(lambda cell: cell is not None), CELLS), max_size=30),
    st.sampled_from(["a", "a DESC", "a COLLATE NOCASE", "a COLLATE RTRIM DESC"]),
)
def test_tables_without_rowid_are_in_our_order(rows: list[tuple[Any, ...]], key: str) -> None:
    found = capture_of(rows, f"(a, b, PRIMARY KEY ({key})) WITHOUT ROWID")
    assert list(check_database(found.objects, found.content)) == []
    if "COLLATE" not in key:
        distinct: list[Any] = []
        for cell, _ in rows:
            if all(compare(cell, other) for other in distinct):
                distinct.append(cell)
        wanted = sorted(distinct, key=functools.cmp_to_key(compare))
        assert [row[0] for row in found.values("t")] == [as_value(cell) for cell in wanted]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=25),
    CELLS,
    st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 5),
    st.integers(1, 10),
)
def test_queries_agree_with_brute_force(
    rows: list[tuple[Any, ...]],
    value: Any,
    op: Any,
    ordered: bool,
    descending: bool,
    offset: int,
    limit: int,
) -> None:
    found = capture_of(rows, "(a, b)")
    holds = {
        "eq": lambda sign: sign == 0,
        "ne": lambda sign: sign != 0,
        "lt": lambda sign: sign < 0,
        "le": lambda sign: sign <= 0,
        "gt": lambda sign: sign > 0,
        "ge": lambda sign: sign >= 0,
    }[op]
    wanted = [place for place, row in enumerate(rows, 1) if holds(compare(row[0], value))]
    if ordered:
        wanted.sort(
            key=functools.cmp_to_key(lambda x, y: compare(rows[x - 1][1], rows[y - 1][1])),
            reverse=descending,
        )
    question = DatabaseRows(
        database="db",
        table="t",
        where=[Condition(column="a", op=op, value=as_value(value))],
        order=[Order(column="b", descending=descending)] if ordered else [],
        offset=offset,
        limit=limit,
    )
    answer = query_rows(found.snapshot, question, QueryLimits())
    assert [row.location.rowid for row in answer.rows] == wanted[offset : offset + limit]
    assert answer.page.total == len(wanted)
    assert (answer.truncated is None) == (len(answer.rows) == len(wanted))


@given(st.lists(st.tuples(st.integers(0, 40_000), st.booleans()), max_size=60))
def test_chunks_hold_every_row_once(sizes: list[tuple[int, bool]]) -> None:
    rows = [(StoredRow(place, []), size + 1) for place, (size, _) in enumerate(sizes)]
    chunks = list(chunk_rows(rows, "rowid", []))
    assert [row for chunk in chunks for row in chunk.rows] == [row for row, _ in rows]
    assert all(chunk.size < MAX_BYTES + 40_001 for chunk in chunks)
    # Cutting is a function of the rows since the last boundary: what follows one stands alone.
    if chunks:
        rest = list(chunk_rows(rows[len(chunks[0].rows) :], "rowid", []))
        assert rest == chunks[1:]


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=3000))
def test_no_bytes_make_another_error(raw: bytes) -> None:
    from vstore.errors import VStoreError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        path.write_bytes(b"SQLite format 3\0" + raw)
        try:
            capture_sqlite(path, MemoryObjects(), name="db")
        except VStoreError as error:
            assert error.kind in {"not_a_database", "malformed_schema"}  # noqa: PT017
