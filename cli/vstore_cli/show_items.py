"""Items of a result or a content for people: lines, files, rows, schemas."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import groupby

from vstore.objects.text import RawText, Text
from vstore.tools.items import DatabaseRow, Item, SourceFile, SourceLine, TableSchema
from vstore_cli.table import Column, table
from vstore_cli.terminal import Terminal, cut, safe
from vstore_cli.words import cell_text, line_text, value_text

__all__ = ["item_lines"]

#: Wider cells are cut unless all is asked for.
_CELL = 40


def item_lines(
    terminal: Terminal,
    items: Iterable[Item],
    *,
    full: bool = False,
    width: int | None = None,
    heading: bool | None = None,
    dedent: bool = False,
) -> list[str]:
    """The lines that show these items, all of one kind.

    Args:
        terminal: Gives colours and width.
        items: In the order in which they are shown.
        full: Cut nothing.
        width: Columns to fit in; the terminal's where None, if there is one.
        heading: Name each file once, above its lines; by default on a terminal only, so
            that a pipe gets ``path:line: text``, which can be searched line by line.
        dedent: Leave blanks out that all shown lines of a file begin with.
    """
    every = list(items)
    if not every:
        return []
    width = terminal.line_width if width is None else width
    first = every[0]
    if isinstance(first, SourceLine):
        lines = [one for one in every if isinstance(one, SourceLine)]
        heading = terminal.interactive if heading is None else heading
        room = None if full else width
        return _source_lines(terminal, lines, room, heading=heading, dedent=dedent)
    if isinstance(first, SourceFile):
        rows = [[f"{one.size:,}", safe(one.path)] for one in every if isinstance(one, SourceFile)]
        columns = [Column(title="bytes", right=True), Column(title="path", style="path")]
        return table(terminal, columns, rows)
    if isinstance(first, DatabaseRow):
        return _rows(
            terminal, [one for one in every if isinstance(one, DatabaseRow)], width, full=full
        )
    schemas = [one for one in every if isinstance(one, TableSchema)]
    return [
        line for one in schemas for line in _schema(terminal, one, None if full else width, full)
    ]


def _source_lines(
    terminal: Terminal,
    items: list[SourceLine],
    width: int | None,
    *,
    heading: bool,
    dedent: bool,
) -> list[str]:
    lines: list[str] = []
    for path, group in groupby(items, key=lambda one: one.path):
        shown = terminal.paint(safe(path), "path")
        members = list(group)
        digits = max(len(str(one.line)) for one in members)
        texts = [line_text(one.text) for one in members]
        if dedent:
            texts = textwrap.dedent("\n".join(texts)).split("\n")
        if heading:
            lines.append(shown)
        for one, text in zip(members, texts, strict=True):
            number = terminal.paint(str(one.line).rjust(digits if heading else 0), "number")
            if heading:
                room = None if width is None else max(8, width - digits - 4)
                lines.append(f"  {number}: {text if room is None else cut(text, room)}")
            else:
                lines.append(f"{shown}:{number}: {text}")
    return lines


def _rows(
    terminal: Terminal, items: list[DatabaseRow], width: int | None, *, full: bool
) -> list[str]:
    def projection(row: DatabaseRow) -> tuple[Text, tuple[Text, ...], bool]:
        return row.table, tuple(one.name for one in row.columns), row.location.key is None

    lines: list[str] = []
    for (_, names, by_rowid), group in groupby(items, key=projection):
        members = list(group)
        columns = [
            Column(title="rowid" if by_rowid else "key", right=by_rowid, style="number"),
            *(
                Column(
                    title=safe(name),
                    shrink=True,
                    right=all(type(row.columns[at].value) is int for row in members),
                    at_most=None if full else _CELL,
                )
                for at, name in enumerate(names)
            ),
        ]
        rows = [
            [_place(row), *(cell_text(one.value, full=full) for one in row.columns)]
            for row in members
        ]
        lines += table(terminal, columns, rows, width=1_000_000 if full else width)
    return lines


def _place(row: DatabaseRow) -> str:
    if row.location.key is None:
        return value_text(row.location.rowid)
    return ", ".join(cell_text(one.value) for one in row.location.key)


def _schema(terminal: Terminal, one: TableSchema, width: int | None, full: bool) -> list[str]:
    def fit(text: str) -> str:
        return text if width is None else cut(text, width)

    name = safe(one.name)
    kind = one.type + (" table" if one.type in ("virtual", "shadow") else "")
    marks = [mark for mark, on in (("without rowid", one.without_rowid), ("strict", one.strict))
             if on]  # fmt: skip
    if one.type == "trigger":
        marks.append(f"on {safe(one.table)}")
    head = f"{kind} {name}" + (f" ({', '.join(marks)})" if marks else "")
    lines = [fit(head).replace(name, terminal.paint(name, "bold"), 1)]
    if one.columns:
        lines.append(fit("  columns  " + ", ".join(_column(column) for column in one.columns)))
    for index in one.indices:
        unique = "unique " if index.unique else ""
        columns = ", ".join("(expression)" if c is None else safe(c) for c in index.columns)
        lines.append(fit(f"  {unique}index  {safe(index.name)} ({columns})"))
    for key in one.foreign_keys:
        columns = ", ".join(safe(column) for column in key.columns)
        lines.append(fit(f"  foreign key  {columns} -> {safe(key.table)}"))
    if one.sql is not None and (full or not one.columns):
        text = one.sql if isinstance(one.sql, str) else safe(RawText(one.sql.hex))
        if full:
            lines += ["  " + safe(line.expandtabs(8)) for line in text.splitlines()]
        else:
            lines.append(fit("  sql  " + safe(" ".join(text.split()))))
    return lines


def _column(column: object) -> str:
    from vstore.tools.items import ColumnInfo

    assert isinstance(column, ColumnInfo)
    text = safe(column.name)
    if column.declared_type != "":
        text += " " + safe(column.declared_type)
    if column.primary_key:
        text += " primary key"
    if column.not_null:
        text += " not null"
    return text
