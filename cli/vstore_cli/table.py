"""Aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vstore_cli.terminal import Terminal, cells, cut, pad

__all__ = ["Column", "table"]

_GAP = "  "
_LEAST = 6


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a table.

    Args:
        title: Its heading; empty for none.
        right: Flush right, as numbers are.
        style: How its cells are painted, or None.
        shrink: May be cut where the terminal is too narrow.
        at_most: Never wider than this many columns of the terminal, or None.
    """

    title: str = ""
    right: bool = False
    style: str | None = None
    shrink: bool = False
    at_most: int | None = None


def table(
    terminal: Terminal,
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    *,
    indent: int = 0,
    width: int | None = None,
) -> list[str]:
    """Lines of a table whose cells are safe texts already.

    A heading line is made when any column has a title. Where a width is given (by default
    the terminal's, if there is one), shrinkable columns give way, the widest first.
    """
    body = [[cut(cell, column.at_most) if column.at_most else cell
             for cell, column in zip(row, columns, strict=True)] for row in rows]  # fmt: skip
    titles = [column.title for column in columns]
    with_head = any(titles)
    every = [titles, *body] if with_head else body
    if not every:
        return []
    widths = [max(cells(row[at]) for row in every) for at in range(len(columns))]
    width = width if width is not None else terminal.line_width
    if width is not None:
        _shrink(widths, columns, width - indent - len(_GAP) * (len(columns) - 1))

    def line(row: Sequence[str], *, head: bool) -> str:
        last = len(columns) - 1
        parts = []
        for at, (cell, column) in enumerate(zip(row, columns, strict=True)):
            text = cut(cell, widths[at])
            style = "bold" if head else column.style
            painted = terminal.paint(text, style) if style else text
            if at == last and not column.right:
                parts.append(painted)
            else:
                parts.append(pad(painted, widths[at], right=column.right))
        return (" " * indent + _GAP.join(parts)).rstrip()

    lines = [line(titles, head=True)] if with_head else []
    return lines + [line(row, head=False) for row in body]


def _shrink(widths: list[int], columns: Sequence[Column], room: int) -> None:
    while sum(widths) > room:
        candidates = [
            at for at, column in enumerate(columns) if column.shrink and widths[at] > _LEAST
        ]
        if not candidates:
            return
        widest = max(candidates, key=lambda at: widths[at])
        second = max((widths[at] for at in candidates if at != widest), default=_LEAST)
        over = sum(widths) - room
        widths[widest] = max(_LEAST, widths[widest] - max(1, min(over, widths[widest] - second)))
