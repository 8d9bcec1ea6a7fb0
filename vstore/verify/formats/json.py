"""One JSON document for a run.

``{"format": "vstore-verify", "version": 1, ...}``: members are added within a version and
never change their meaning.
"""

from __future__ import annotations

from typing import Any, Final

from vstore import __version__
from vstore.objects.display import visible
from vstore.verify.formats.plain import document
from vstore.verify.formats.run import Run
from vstore.verify.render import report_value

__all__ = ["VERSION", "render", "run_value"]

VERSION: Final = 1


def render(run: Run) -> bytes:
    """The run with all reports; ASCII."""
    return document({**run_value(run), "packages": [report_value(one) for one in run.reports]})


def run_value(run: Run) -> dict[str, Any]:
    """A run without its reports, as a plain JSON value."""
    return {
        "format": "vstore-verify",
        "version": VERSION,
        "vstore": __version__,
        "verdict": run.verdict,
        "exit_code": run.exit_code,
        "by_severity": {
            name: sum(report.by_severity[name] for report in run.reports)
            for name in ("error", "warning", "note")
        },
        "skipped": [visible(one) for one in run.skipped],
    }
