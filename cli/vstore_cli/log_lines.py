"""The log for people: a paragraph or a line for each generation."""

from __future__ import annotations

from vstore_cli.happening import Happening
from vstore_cli.happenings import Entry
from vstore_cli.terminal import Terminal, cut, pad, safe
from vstore_cli.words import short

__all__ = ["OnelineLayout", "paragraph"]

_STYLES = {
    "evidence": "good",
    "budget.reserve": "dim",
    "budget.record_evidence": "dim",
    "budget.settle": "name",
    "budget.fail": "bad",
    "budget.void": "warn",
    "advance": "bold",
    "block": "warn",
    "init": "bold",
}


def paragraph(terminal: Terminal, entry: Entry) -> list[str]:
    """The lines of one generation, the last one empty."""
    generation = entry.generation
    head = terminal.paint(f"generation {generation.package_generation}", "bold")
    oid = terminal.paint(short(entry.oid), "id")
    where = f"revision {generation.analysis_revision}, {generation.state}"
    if generation.blocked is not None:
        where += f" ({generation.blocked.reason})"
    lines = [f"{head}  {oid}  {where}"]
    lines.append(terminal.paint(f"  {_when(entry.at)}  {safe(entry.actor)}", "dim"))
    for one in entry.happenings:
        lines += _happening(terminal, one)
    return [*lines, ""]


def _happening(terminal: Terminal, one: Happening) -> list[str]:
    room = terminal.line_width
    figures = ", ".join(_figures(one))
    text = f"  {one.hypothesis:<3} " if one.hypothesis is not None else "  "
    what = one.what
    if room is not None:
        what = cut(what, max(20, room - len(text) - (len(figures) + 2 if figures else 0)))
    style = _STYLES.get(one.kind)
    line = text + (terminal.paint(what, style) if style else what)
    if figures:
        line += "  " + terminal.paint(figures, "number")
    lines = [line]
    if one.reason is not None:
        quoted = f"{' ' * len(text)}“{one.reason}”"
        lines.append(terminal.paint(quoted if room is None else cut(quoted, room), "dim"))
    return lines


def _figures(one: Happening) -> list[str]:
    figures = []
    if one.cost is not None:
        figures.append(f"cost {one.cost}")
    if one.novelty is not None:
        figures.append(f"novelty {one.novelty}%")
    if one.reward is not None:
        figures.append(f"reward {one.reward}")
    if one.refund is not None:
        figures.append(f"{one.refund} given back")
    return figures


def _when(at: str) -> str:
    return at.replace("T", " ").removesuffix("Z") + " UTC"


def _cost(one: Happening) -> str:
    if one.cost is None:
        return ""
    return f"({one.cost})" if one.kind == "budget.reserve" else str(one.cost)


class OnelineLayout:
    """One aligned line for each thing that happened, what it was at the end.

    Args:
        terminal: Gives colours and width.
        newest: The newest generation's number: the widest one.
        hypotheses: The ids that occur, as far as known, for the width of their column.
        width: Columns to fit in; the terminal's where None, if there is one.
    """

    def __init__(
        self,
        terminal: Terminal,
        newest: int,
        hypotheses: list[str],
        *,
        width: int | None = None,
    ) -> None:
        self._terminal = terminal
        self._width = terminal.line_width if width is None else width
        self._number = max(3, len(str(newest)))
        self._hypothesis = min(12, max([3, *(len(one) for one in hypotheses)]))

    def heading(self) -> str:
        """The line with the columns' names."""
        names = self._join("gen", "id", "rev", "hyp", "cost", "new", "earn", "what")
        return self._terminal.paint(names, "bold")

    def lines(self, entry: Entry) -> list[str]:
        """The lines of one generation; what repeats is left blank after the first."""
        generation = entry.generation
        lines = []
        for at, one in enumerate(entry.happenings):
            place = (
                (
                    str(generation.package_generation),
                    short(entry.oid),
                    f"r{generation.analysis_revision}",
                )
                if at == 0
                else ("", "", "")
            )
            reward = "" if one.reward is None else f"+{one.reward}"
            lines.append(
                self._join(
                    *place,
                    one.hypothesis or "",
                    _cost(one),
                    "" if one.novelty is None else f"{one.novelty}%",
                    reward if one.refund is None else f"({one.refund})",
                    one.brief or one.what,
                    kind=one.kind,
                )
            )
        return lines

    def _join(
        self,
        number: str,
        oid: str,
        revision: str,
        hypothesis: str,
        cost: str,
        novelty: str,
        reward: str,
        what: str,
        *,
        kind: str | None = None,
    ) -> str:
        paint = self._terminal.paint
        plain = kind is None
        start = self._number + 8 + 3 + self._hypothesis + 4 + 4 + 4 + 7
        if self._width is not None:
            what = cut(what, max(10, self._width - start))
        style = _STYLES.get(kind or "")
        parts = [
            number.rjust(self._number),
            pad(oid if plain else paint(oid, "id"), 8),
            revision.rjust(3),
            pad(cut(hypothesis, self._hypothesis), self._hypothesis),
            cost.rjust(4),
            pad(novelty if plain else paint(novelty, "number"), 4, right=True),
            pad(reward if plain else paint(reward, "good"), 4, right=True),
            paint(what, style) if style else what,
        ]
        return " ".join(parts).rstrip()
