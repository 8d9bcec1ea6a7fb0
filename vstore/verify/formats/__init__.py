"""Reports for people and for machines: a module a format, all of them pure.

=============  ====================================================================
``run``        what is rendered: the reports of one run
``places``     where a finding is, for formats that want a file; unique fingerprints
``areas``      findings and gaps by area of checks
``text``       for people
``json``       one JSON document
``jsonl``      a JSON document a line, as packages are done
``junit``      JUnit XML, a test case an area
``sarif``      SARIF 2.1.0
``github``     GitHub workflow commands
``gitlab``     GitLab code quality
=============  ====================================================================

No format lets text of a package through that a terminal, an XML reader or a CI runner
would act on.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

from vstore.verify.formats.run import Run
from vstore.verify.report import Report

__all__ = ["FORMATS", "STREAMED", "Run", "render", "render_end", "render_package"]

FORMATS: Final = ("text", "json", "jsonl", "junit", "sarif", "github", "gitlab")
#: Formats in which a package can be reported as soon as it is done.
STREAMED: Final = frozenset({"text", "jsonl", "github"})


def render(form: str, run: Run) -> bytes:
    """A whole run in one of :data:`FORMATS`, UTF-8."""
    if form in STREAMED:
        parts = [render_package(form, report, run) for report in run.reports]
        return b"".join([*parts, render_end(form, run)])
    rendered: bytes = _module(form).render(run)
    return rendered


def render_package(form: str, report: Report, run: Run) -> bytes:
    """One package's part, in one of :data:`STREAMED`."""
    rendered: bytes = _module(form).render_package(report, run)
    return rendered


def render_end(form: str, run: Run) -> bytes:
    """What follows all packages, in one of :data:`STREAMED`."""
    rendered: bytes = _module(form).render_end(run)
    return rendered


def _module(form: str) -> ModuleType:
    # Late: nobody wants all of them at once.
    return import_module(f"{__name__}.{form}")
