"""Good packages, small and always the same byte for byte, as fixtures.

They are committed under ``tests/fixtures/good``, so that what this version reads stays
readable, and everything under ``bad`` and ``warn`` is made from them by one change each.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vstore.budget.documents import BudgetPolicy
from vstore.controller.bundles import create_bundle
from vstore.controller.case_lifecycle import CaseLifecycle
from vstore.objects.memory import ObjectSink
from vstore.package.documents import SnapshotDescriptor
from vstore.package.inputs import InputFile
from vstore.package.workspace import Workspace
from vstore.testing.calls import small_calls
from vstore.testing.editor import PackageEditor
from vstore.testing.handoff import handed_out
from vstore.testing.investigation import CASE, INSTANT, PACKAGE, POLICY, Investigation
from vstore.testing.reopened import next_revision
from vstore.tools.capture_jsonl import capture_jsonl
from vstore.tools.capture_source import capture_source
from vstore.tools.request import DatabaseRows, DatabaseSchema, SourceList, SourceRead, SourceSearch

__all__ = ["BUNDLE", "GOOD", "make_good"]

#: The bundle of the package ``investigation``.
BUNDLE: Final = "investigation.vstore.zip"

#: One byte more than an object that is kept in the log.
_LARGE: Final = (1 << 20) + 1


class _Begun(Investigation):
    """An investigation with a source and a database more, which nobody asks anything."""

    def begin(self, policy: BudgetPolicy = POLICY) -> None:
        """See :meth:`Investigation.begin`."""
        report = self.scratch / "report.txt"
        report.write_bytes(b"total([]) fails\n")
        self.workspace.init(CASE, PACKAGE, [InputFile(report, b"report.txt")])
        case = self.workspace.case(CASE)
        case.add_snapshot("code", "source", self._source)
        case.add_snapshot("shop", "database", self._database)
        case.add_snapshot("spare", "source", self._spare)
        case.add_snapshot("archive", "database", self._archive)
        case.advance()
        case.advance()
        case.set_hypotheses(
            [
                {"id": "H1", "statement": "total() divides by zero"},
                {"id": "H2", "statement": "the database lacks orders"},
            ]
        )
        self.budget.initialise(CASE, PACKAGE, policy)
        case.advance()

    def _spare(self, sink: ObjectSink) -> SnapshotDescriptor:
        folder = self.scratch / "spare"
        folder.mkdir()
        for name in ("first.txt", "second.txt"):
            (folder / name).write_bytes(name.encode() + b"\n")
        return capture_source(folder, sink, name="spare")

    def _archive(self, sink: ObjectSink) -> SnapshotDescriptor:
        path = self.scratch / "archive.jsonl"
        path.write_bytes(b'{"id":1}\n{"id":2}\n')
        return capture_jsonl(path, sink, name="archive")


def _investigation(root: Path, scratch: Path) -> None:
    """Two hypotheses; answers that are new, partly known, empty, repeated and failing."""
    one = _Begun(root, scratch)
    one.begin()
    first = one.ask(
        "batch-1",
        [
            ("H1", "q1", SourceSearch(source="code", pattern="BUG")),
            ("H1", "q2", SourceRead(source="code", path="app/orders.py", start=2, end=3)),
            ("H2", "q3", DatabaseRows(database="shop", table="orders")),
        ],
    )
    one.settle(first, 0, "H1", "q1", 80)
    one.settle(first, 1, "H1", "q2", 40)
    second = one.ask(
        "batch-2",
        [
            ("H2", "q4", DatabaseSchema(database="shop")),
            ("H1", "q5", SourceSearch(source="code", pattern="nowhere")),
            ("H1", "q6", SourceRead(source="code", path="absent.py")),
            ("H1", "q7", SourceSearch(source="code", pattern="BUG")),
        ],
    )
    one.settle(second, 0, "H2", "q4", 100)
    one.budget.fail(CASE, PACKAGE, "H1", "q6", reason="no such file")
    one.budget.reserve(CASE, PACKAGE, "H2", "q8", operation="source.list")
    one.budget.void(CASE, PACKAGE, "H2", "q8", reason="not needed")
    one.ask("batch-3", [("H2", "q9", SourceList(source="inputs"))])
    one.close()


def _large(root: Path, scratch: Path) -> None:
    """Raw input with one large file, which is kept in a file of its own."""
    path = scratch / "large.bin"
    path.write_bytes(bytes(_LARGE))
    with Workspace.of_package(root, actor="tester", clock=lambda: INSTANT) as workspace:
        workspace.init(CASE, PACKAGE, [InputFile(path, b"large.bin")])


def _calls(root: Path, scratch: Path) -> None:
    """Calls of both contracts, accepted, refused, imported and open."""
    small_calls(root, scratch).close()


def _tests(root: Path, scratch: Path) -> None:
    """One test that was answered, and one that the case waits for."""
    case, answer = handed_out(root, scratch)
    done = case.confirm(answer)
    saved = case.evidence.store_feedback(CASE, PACKAGE, "t1", done.feedback_ref)
    case.settle(saved, 0, "H1", "t1", 70)
    case.submit("test-2", "t2")
    case.close()


def _reopened(root: Path, scratch: Path) -> None:
    """Three revisions: one that a review ended, one that was held and that new input ended."""
    one = Investigation(root, scratch)
    one.begin()
    life, case = CaseLifecycle(one.workspace), one.workspace.case(CASE)
    saved = one.ask("batch-1", [("H1", "q1", SourceSearch(source="code", pattern="BUG"))])
    one.settle(saved, 0, "H1", "q1", 80)
    one.budget.reserve(CASE, PACKAGE, "H2", "q2", operation="source.list")
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
    one.close()


#: By name, what makes each.
GOOD: Final[dict[str, Callable[[Path, Path], None]]] = {
    "investigation": _investigation,
    "large": _large,
    "calls": _calls,
    "tests": _tests,
    "reopened": _reopened,
}


def make_good(target: Path) -> None:
    """Write all good packages to a folder.

    Args:
        target: A folder; must not exist yet.
    """
    target.mkdir(parents=True)
    for name, make in GOOD.items():
        with tempfile.TemporaryDirectory() as scratch:
            make(Path(scratch) / "package", Path(scratch))
            # Written anew, for a log has random salts.
            PackageEditor(Path(scratch) / "package").save(target / name)
            for residue in ("locks", "cache", "tmp"):
                shutil.rmtree(target / name / residue, ignore_errors=True)
            # As git keeps it: without empty folders.
            for folder in sorted((target / name).rglob("*"), reverse=True):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
    create_bundle(target / "investigation", target / BUNDLE)
