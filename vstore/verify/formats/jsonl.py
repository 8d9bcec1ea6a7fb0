"""A JSON document a line: each finding, each package, at last the run.

``type`` says which: ``finding`` and ``package`` have the package's ``path``. Members are
those of the format ``json``; versions as there.
"""

from __future__ import annotations

from vstore.verify.formats.json import VERSION, run_value
from vstore.verify.formats.plain import line
from vstore.verify.formats.run import Run
from vstore.verify.render import finding_value, report_value
from vstore.verify.report import Report

__all__ = ["render_end", "render_package"]


def render_package(report: Report, run: Run) -> bytes:
    """A line a finding, then one for the package."""
    del run
    package = report_value(report)
    findings = package.pop("findings")
    path = package["path"]
    lines = [
        line({"type": "finding", "version": VERSION, "path": path, **finding_value(one)})
        for one in report.findings
    ]
    package["listed_findings"] = len(findings)
    return b"".join([*lines, line({"type": "package", **package})])


def render_end(run: Run) -> bytes:
    """The line of the run."""
    return line({"type": "run", **run_value(run), "packages": len(run.reports)})
