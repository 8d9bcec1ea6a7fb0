"""A run's rows as JSON, as a Markdown table, and as a plot."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["BEGIN", "END", "Row", "write_report"]

#: What stands between these lines of the page is written by a run; the rest by people.
BEGIN: Final = "<!-- measured: begin -->"
END: Final = "<!-- measured: end -->"
_WIDTH, _HEIGHT, _MARGIN = 460, 320, 56
_COLOURS: Final = ("#1f5fbf", "#c0392b", "#7d3c98", "#148f77", "#b9770e", "#566573", "#2e4053")


class Row(NamedTuple):
    """One row of the table."""

    what: str
    peer: str
    value: float
    reach: float
    aim: float
    #: Whether a larger value is better.
    more: bool

    @property
    def reached(self) -> str:
        """``aim``, ``reach`` or ``missed``."""
        for name, wanted in (("aim", self.aim), ("reach", self.reach)):
            if self.value >= wanted if self.more else self.value <= wanted:
                return name
        return "missed"


def write_report(
    folder: Path | None,
    count: int,
    rows: Sequence[Row],
    facts: Mapping[str, Any],
    series: Mapping[str, Sequence[float]],
    sizes: Mapping[str, Sequence[tuple[int, int]]],
) -> str:
    """Write ``performance.json``, ``performance.svg`` and the table in ``performance.md``.

    Args:
        folder: Where; nothing is written where None.
        count: Publications.
        rows: The table.
        facts: What else was found.
        series: Seconds of each publication, by side.
        sizes: Publications and bytes on disk, by side.

    Returns:
        The table.
    """
    table = _table(count, rows, facts)
    if folder is None:
        return table
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "publications": count,
        "rows": [{**one._asdict(), "reached": one.reached} for one in rows],
        "facts": facts,
        "milliseconds_per_publication": {name: _tenths(one) for name, one in series.items()},
        "bytes_on_disk": sizes,
    }
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    (folder / "performance.json").write_text(text, encoding="utf-8")
    (folder / "performance.svg").write_text(_plot(series, sizes), encoding="utf-8")
    page = folder / "performance.md"
    old = page.read_text(encoding="utf-8") if page.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")
    return table


def _table(count: int, rows: Sequence[Row], facts: Mapping[str, Any]) -> str:
    note = (
        f"{count} publications. Where more is better (≥), the ratio is the peer's time over "
        "ours; where less is (≤), ours over the peer's."
    )
    lines = [
        note,
        "",
        "| what | compared with | measured | reach | aim | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in rows:
        sign = "≥" if one.more else "≤"
        lines.append(
            f"| {one.what} | {one.peer} | {one.value:.3g} | {sign} {one.reach:g} "
            f"| {sign} {one.aim:g} | {one.reached} |"
        )
    for name in ("restic check --read-data", "borg check --verify-data"):
        found = facts["machine"].get(name.split()[0])
        lines.append(f"| verify | {name} | {found} | ≥ 2.5 | ≥ 5 | |")
    used = ", ".join(f"{name} {value}" for name, value in facts["processor_milliseconds"].items())
    loads = f"{facts['load_before']} before, {facts['load_after']} after"
    lines += ["", f"Processor milliseconds per publication: {used}. Load of the machine: {loads}."]
    machine = ", ".join(f"{name} {value}" for name, value in facts["machine"].items())
    lines += ["", f"Machine: {machine}.", ""]
    return "\n".join(lines)


def _tenths(seconds: Sequence[float]) -> list[tuple[int, float]]:
    """The number of the last publication, and the median milliseconds, of each tenth."""
    step = max(1, len(seconds) // 10)
    return [
        (min(at + step, len(seconds)), 1e3 * statistics.median(seconds[at : at + step]))
        for at in range(0, len(seconds), step)
    ]


def _plot(
    series: Mapping[str, Sequence[float]], sizes: Mapping[str, Sequence[tuple[int, int]]]
) -> str:
    times = {name: _tenths(one) for name, one in series.items() if one}
    megabytes = {name: [(n, b / 1e6) for n, b in one] for name, one in sizes.items()}
    panels = [
        _panel("milliseconds per publication", times, 0),
        _panel("megabytes on disk", megabytes, _WIDTH),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{_HEIGHT + 130}" '
        'font-family="sans-serif" font-size="11">\n'
        f'<rect width="{2 * _WIDTH}" height="{_HEIGHT + 130}" fill="white"/>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def _panel(title: str, lines: Mapping[str, Sequence[tuple[int, float]]], left: int) -> str:
    points = [point for line in lines.values() for point in line]
    low_x, high_x = _decades([x for x, _ in points])
    low_y, high_y = _decades([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - low_x) / (high_x - low_x)
        up = (math.log10(y) - low_y) / (high_y - low_y)
        return (
            left + _MARGIN + across * (_WIDTH - 2 * _MARGIN),
            _HEIGHT - _MARGIN - up * (_HEIGHT - 2 * _MARGIN),
        )

    parts = [f'<text x="{left + _MARGIN}" y="30" font-size="13">{escape(title)}</text>']
    for power in range(low_x, high_x + 1):
        x, y = place(10.0**power, 10.0**low_y)
        parts.append(
            f'<text x="{x:.0f}" y="{y + 16:.0f}" text-anchor="middle">{10**power:g}</text>'
        )
    for power in range(low_y, high_y + 1):
        x, y = place(10.0**low_x, 10.0**power)
        end = left + _WIDTH - _MARGIN
        parts.append(f'<path d="M{x:.0f} {y:.0f}H{end}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{x - 6:.0f}" y="{y + 4:.0f}" text-anchor="end">{10.0**power:g}</text>'
        )
    for number, (name, line) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [place(x, y) for x, y in line]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        y_name = _HEIGHT - 10 + 16 * number
        parts.append(
            f'<rect x="{left + _MARGIN}" y="{y_name - 8}" width="10" height="10" fill="{colour}"/>'
        )
        parts.append(f'<text x="{left + _MARGIN + 16}" y="{y_name}">{escape(name)}</text>')
    return "\n".join(parts)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))
