"""Answering ``database.rows`` and ``database.schema`` from a snapshot's documents.

A scan looks at rows in the snapshot's order and stops only at a limit of the query, so an
answer depends on nothing but the documents and the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from vstore.objects.ids import ObjectId
from vstore.objects.text import Text
from vstore.tools.adapter import QueryRefused
from vstore.tools.cell_order import OrderKey, order_key
from vstore.tools.database_content import (
    HOLDS_ROWS,
    StoredRow,
    TableContent,
    row_digest,
    row_pointer,
)
from vstore.tools.database_snapshot import DatabaseSnapshot
from vstore.tools.items import Column, DatabaseRow, Location, TableSchema
from vstore.tools.paging import PageFiller
from vstore.tools.reply import Page, Truncation
from vstore.tools.request import DEFAULT_PAGE, DatabaseRows, DatabaseSchema, QueryLimits
from vstore.tools.row_filter import CellTest, compile_condition
from vstore.tools.values import Value

__all__ = ["RowsAnswer", "SchemaAnswer", "query_rows", "query_schema"]

_ROWID = -1


class RowsAnswer(NamedTuple):
    """Rows of one page."""

    rows: list[DatabaseRow]
    page: Page
    truncated: Truncation | None
    sought: DatabaseRows | None


class SchemaAnswer(NamedTuple):
    """Schema entries of one page."""

    tables: list[TableSchema]
    page: Page
    truncated: Truncation | None
    sought: DatabaseSchema | None


class _Placed(NamedTuple):
    position: int
    row: StoredRow


class _Stopped(Exception):
    def __init__(self, limit: str) -> None:
        self.limit = limit


def query_schema(
    snapshot: DatabaseSnapshot, question: DatabaseSchema, limits: QueryLimits
) -> SchemaAnswer:
    """Tables, views and triggers; finding none is an answer, with ``sought``.

    Raises:
        NotFoundError, IntegrityError, InvalidError: The snapshot is damaged.
    """
    filler: PageFiller[TableSchema] = PageFiller(
        limits, offset=question.offset, limit=question.limit
    )
    for entry in snapshot.schema():
        if question.type is not None and entry.type != question.type:
            continue
        if question.table is not None and question.table not in (entry.name, entry.table):
            continue
        filler.offer(lambda entry=entry: entry)  # type: ignore[misc]
    sought = None
    if not filler.items:
        sought = msgspec.structs.replace(question, limit=DEFAULT_PAGE, offset=0)
    return SchemaAnswer(filler.items, filler.page(), filler.truncation(), sought)


def query_rows(
    snapshot: DatabaseSnapshot, question: DatabaseRows, limits: QueryLimits
) -> RowsAnswer:
    """Rows of one table.

    Raises:
        QueryRefused: ``unknown_table``, ``not_a_table`` (a view or trigger), ``unread_table``
            (capture couldn't read any row), ``unknown_column``, ``repeated_column``,
            ``bad_condition``.
        NotFoundError, IntegrityError, InvalidError: The snapshot is damaged.
    """
    return _Query(snapshot, question, limits).answer()


class _Query:
    def __init__(
        self, snapshot: DatabaseSnapshot, question: DatabaseRows, limits: QueryLimits
    ) -> None:
        self._snapshot = snapshot
        self._question = question
        self._limits = limits
        self._table = _table(snapshot, question.table)
        self._places = _places(self._table)
        self._bytes_left = limits.max_bytes_scanned
        self._rows_left = limits.max_rows_scanned
        self._shown = self._projection()
        try:
            self._tests: list[tuple[int, CellTest]] = [
                (self._place(one.column), compile_condition(one, self._load))
                for one in question.where
            ]
        except _Stopped:
            raise QueryRefused(
                "bad_condition", "a value is larger than the bytes that may be scanned"
            ) from None
        self._order = [(self._place(one.column), one.descending) for one in question.order]
        self._filler: PageFiller[DatabaseRow] = PageFiller(
            limits, offset=question.offset, limit=question.limit
        )

    def answer(self) -> RowsAnswer:
        stopped: str | None = None
        filler = self._filler
        kept: list[tuple[list[OrderKey], _Placed]] = []
        try:
            if self._order:
                self._collect(kept)
            elif self._tests:
                for placed in self._matches():
                    filler.offer(lambda placed=placed: self._item(placed))  # type: ignore[misc]
            else:
                self._seek()
        except _Stopped as stop:
            stopped = stop.limit
        if self._order:
            self._sort(kept)
            found = filler.count
            filler.count = 0
            for _, placed in kept:
                filler.offer(lambda placed=placed: self._item(placed))  # type: ignore[misc]
            filler.count = found
        unknown = stopped is not None or self._table.unread is not None
        truncated = filler.truncation(stopped_by=stopped)
        if truncated is not None and unknown:
            truncated = msgspec.structs.replace(truncated, total=None)
        return RowsAnswer(
            filler.items, filler.page(stopped=unknown), truncated, self._sought(stopped=stopped)
        )

    def _seek(self) -> None:
        """Without conditions only the page's rows are looked at; the others are counted."""
        filler = self._filler
        start = min(self._question.offset, self._table.rows)
        filler.count_only(start)
        if filler.wanted and start < self._table.rows:
            for placed in self._scan(start):
                filler.offer(lambda placed=placed: self._item(placed))  # type: ignore[misc]
                if not filler.wanted:
                    break
        filler.count_only(self._table.rows - filler.count)

    def _collect(self, kept: list[tuple[list[OrderKey], _Placed]]) -> None:
        """Keep what may be on the page, in memory bounded by the page's end."""
        filler = self._filler
        room = filler.wanted
        for placed in self._matches():
            keys = [order_key(_cell(placed.row, place), self._load) for place, _ in self._order]
            filler.count_only(1)
            kept.append((keys, placed))
            if len(kept) >= 2 * room + 1000:
                self._sort(kept)
                del kept[room:]

    def _sort(self, kept: list[tuple[list[OrderKey], _Placed]]) -> None:
        for index, (_, descending) in reversed(list(enumerate(self._order))):
            kept.sort(key=lambda one: one[0][index], reverse=descending)

    def _matches(self) -> Iterator[_Placed]:
        tests = self._tests
        if not tests:
            yield from self._scan(0)
            return
        for placed in self._scan(0):
            row = placed.row
            values = row.values
            for place, test in tests:
                if not test(row.rowid if place < 0 else values[place]):
                    break
            else:
                yield placed

    def _scan(self, start: int) -> Iterator[_Placed]:
        for first, chunk in self._snapshot.chunks(self._table, start=start):
            self._charge(chunk.size)
            rows = chunk.rows if first >= start else chunk.rows[start - first :]
            for position, row in enumerate(rows, max(first, start)):
                if not self._rows_left:
                    raise _Stopped("max_rows_scanned")
                self._rows_left -= 1
                yield _Placed(position, row)

    def _charge(self, size: int) -> None:
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise _Stopped("max_bytes_scanned")

    def _load(self, oid: ObjectId) -> bytes:
        self._charge(self._snapshot.objects.size(oid))
        return self._snapshot.objects.get(oid)

    def _item(self, placed: _Placed) -> DatabaseRow:
        table = self._table
        row = placed.row
        key = None
        if table.order == "key":
            key = [Column(table.columns[place], row.values[place]) for place in table.key]
        return DatabaseRow(
            table=table.name,
            location=Location(
                rowid=row.rowid, key=key, pointer=row_pointer(table.name, placed.position)
            ),
            row=row_digest(row.values),
            columns=[Column(name, _cell(row, place)) for name, place in self._shown],
        )

    def _projection(self) -> list[tuple[Text, int]]:
        if self._question.columns is None:
            return [(name, place) for place, name in enumerate(self._table.columns)]
        names = self._question.columns
        if len(set(names)) != len(names):
            raise QueryRefused("repeated_column", "a column is asked for twice")
        return [(name, self._place(name)) for name in names]

    def _place(self, name: Text) -> int:
        place = self._places.get(name)
        if place is None:
            raise QueryRefused(
                "unknown_column",
                f"none of the table's columns is named so; it has {len(self._table.columns)}",
            )
        return place

    def _sought(self, *, stopped: str | None) -> DatabaseRows | None:
        """The question of an empty answer, without what can't matter to its being empty.

        Paging is reset, conditions are sorted and stand once; where nothing matches at all,
        neither projection nor order says more.
        """
        if self._filler.items:
            return None
        question = self._question
        unique = {msgspec.json.encode(one, order="sorted"): one for one in question.where}
        nothing = stopped is None and not self._filler.count
        return msgspec.structs.replace(
            question,
            columns=None if nothing else question.columns,
            where=[unique[one] for one in sorted(unique)],
            order=[] if nothing else question.order,
            limit=DEFAULT_PAGE,
            offset=0,
        )


def _cell(row: StoredRow, place: int) -> Value:
    return row.rowid if place < 0 else row.values[place]


def _places(table: TableContent) -> dict[Text, int]:
    """Column names to places; a column that is really named rowid hides the table's rowid."""
    places: dict[Text, int] = {"rowid": _ROWID} if table.order == "rowid" else {}
    places.update({name: place for place, name in enumerate(table.columns)})
    return places


def _table(snapshot: DatabaseSnapshot, name: Text) -> TableContent:
    table = snapshot.table(name)
    if table is None:
        if any(entry.name == name and entry.type not in HOLDS_ROWS for entry in snapshot.schema()):
            raise QueryRefused(
                "not_a_table", "a view or trigger has no rows of its own; ask for its schema"
            )
        raise QueryRefused(
            "unknown_table",
            f"none of the snapshot's tables is named so; it has {len(snapshot.content.tables)}",
        )
    if table.unread is not None and not table.rows:
        raise QueryRefused("unread_table", f"no row of the table could be captured: {table.unread}")
    return table
