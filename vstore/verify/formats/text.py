"""Reports for people, without colours; the command line paints the same lines."""

from __future__ import annotations

from vstore.objects.display import visible
from vstore.verify.formats.run import Run
from vstore.verify.render import text_lines
from vstore.verify.report import Report

__all__ = ["end_lines", "render_end", "render_package"]

_WIDTH = 100


def render_package(report: Report, run: Run) -> bytes:
    """One package."""
    del run
    return _encoded([line.text for line in text_lines(report, width=_WIDTH)])


def render_end(run: Run) -> bytes:
    """What was left out, and the sum where there are several packages."""
    return _encoded(end_lines(run))


def end_lines(run: Run) -> list[str]:
    """The lines of :func:`render_end`."""
    lines = [f"{visible(one)}: not begun" for one in run.skipped]
    count = len(run.reports) + len(run.skipped)
    if count > 1:
        verified = sum(report.exit_code == 0 for report in run.reports)
        lines.append(f"{verified} of {count} packages verified")
    return lines


def _encoded(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode("utf-8")
