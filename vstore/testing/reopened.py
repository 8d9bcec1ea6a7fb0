"""A case over several analysis revisions: held, resumed, reopened twice, with real services."""

from __future__ import annotations

from pathlib import Path

from vstore.controller import CaseLifecycle
from vstore.package.inputs import InputFile
from vstore.testing.investigation import (
    CASE,
    PACKAGE,
    POLICY,
    Investigation,
    small_investigation,
)
from vstore.tools.request import SourceSearch

__all__ = ["next_revision", "reopened_investigation"]


def next_revision(one: Investigation, *hypotheses: str) -> None:
    """From REOPENED to INVESTIGATING_HYPOTHESES, with new accounts.

    Args:
        one: The investigation.
        hypotheses: Their ids.
    """
    case = one.workspace.case(CASE)
    case.advance()
    case.set_hypotheses([{"id": name, "statement": "as " + name} for name in hypotheses])
    one.budget.initialise(CASE, PACKAGE, POLICY)
    case.advance()


def reopened_investigation(root: Path, scratch: Path) -> Investigation:
    """A package in its third revision, in GENERATING_HYPOTHESES, without hypotheses yet.

    Revision 1 is that of :func:`small_investigation`, and ends by a review with one action
    voided and four forfeited. Revision 2 was held once and ends by new raw input while one
    action is open.

    Args:
        root: A folder for the package; must not exist yet.
        scratch: A folder for the files that are pinned.

    Returns:
        The investigation, still open.
    """
    one = small_investigation(root, scratch)
    life = CaseLifecycle(one.workspace)
    case = one.workspace.case(CASE)
    one.budget.reserve(CASE, PACKAGE, "H1", "q11", operation="source.list")
    case.advance()
    life.reopen(CASE, PACKAGE, "review", reason="the reviewer is not convinced")
    next_revision(one, "H1", "H3")
    saved = one.ask("batch-1", [("H3", "q1", SourceSearch(source="code", pattern="def"))])
    one.settle(saved, 0, "H3", "q1", 90)
    life.block(
        CASE,
        PACKAGE,
        "PROVIDER_UNAVAILABLE",
        retry_not_before="2026-01-02T03:00:00Z",
        automatic_retry=True,
        note="no model answers",
    )
    life.resume(CASE, PACKAGE, automatic=True)
    one.budget.reserve(CASE, PACKAGE, "H1", "q2", operation="source.search")
    log = scratch / "late.log"
    log.write_bytes(b"ZeroDivisionError\n")
    life.reopen(
        CASE, PACKAGE, "new_input", reason="a log came in", files=[InputFile(log, b"late.log")]
    )
    case.advance()
    return one
