"""The histories that are measured, made through the library's own calls.

*Evidence only*: every action is reserved beforehand, in batches that are not timed; then
one publication each stores one reply. *Full loop*: reserve, ask and store, record, settle,
so four publications for one record.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from workload_adapter import DATABASE, SOURCE, WorkloadAdapter, action_of, request_for

from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.controller import BudgetManager, EvidenceStore
from vstore.controller.evidence_store import Saved
from vstore.evidence.documents import EvidenceIndex, EvidenceRecord, ToolOrigin
from vstore.evidence.limits import EvidenceLimits
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.memory import ObjectSink
from vstore.package.case import Capture
from vstore.package.documents import SnapshotDescriptor
from vstore.package.inputs import InputFile
from vstore.package.workspace import Workspace
from vstore.tools.request import operation_of
from vstore.tools.router import Router

__all__ = ["CASE", "HYPOTHESIS", "PACKAGE", "BenchmarkCase", "Form", "Stored"]

CASE: Final = "BENCH-1"
PACKAGE: Final = "BENCH-1"
HYPOTHESIS: Final = "H1"
_BATCH: Final = 100
_POLICY: Final = BudgetPolicy(
    costs={"source.search": 1, "database.rows": 1},
    initial_credits=10**8,
    new_evidence_score=60,
    max_reward_percent=50,
    low_information=LowInformation(threshold=1, streak=1_000_000),
    case_credit_cap=10**9,
    max_revisions=1,
)

Form = Literal["evidence", "loop"]


class Stored(NamedTuple):
    """One publication as it is stored."""

    number: int
    #: Object ids by the documents' names, without prefix.
    ids: dict[str, str]
    #: The documents that are new.
    documents: dict[str, bytes]


class BenchmarkCase:
    """One case that the workload's publications are stored in.

    Args:
        root: The package's folder.
        adapter: Answers the workload's queries.
        limits: Of the evidence.
        io: Does the durable I/O.
    """

    def __init__(
        self,
        root: Path,
        adapter: WorkloadAdapter,
        *,
        limits: EvidenceLimits | None = None,
        io: DurableIO = REAL,
    ) -> None:
        self.root = root
        self.adapter = adapter
        self.workspace = Workspace.of_package(root, actor="benchmark", io=io)
        self.router = Router([adapter])
        self.budget = BudgetManager(self.workspace)
        self.evidence = EvidenceStore(self.workspace, router=self.router, limits=limits)

    def begin(self, scratch: Path, large: Capture | None = None) -> None:
        """Make the package: a report, one source, one database, one hypothesis with credits.

        Args:
            scratch: A folder for the files that are pinned.
            large: Captures one more source, named ``large``.
        """
        report = scratch / "report.txt"
        report.write_bytes(b"it fails\n")
        self.workspace.init(CASE, PACKAGE, [InputFile(report, b"report.txt")])
        case = self.workspace.case(CASE)
        case.add_snapshot(SOURCE, "source", lambda sink: self._source(scratch, sink))
        case.add_snapshot(DATABASE, "database", lambda sink: _database(scratch, sink))
        if large is not None:
            case.add_snapshot("large", "source", large)
        case.advance()
        case.advance()
        case.set_hypotheses([{"id": HYPOTHESIS, "statement": "it fails because of a bug"}])
        self.budget.initialise(CASE, PACKAGE, _POLICY)
        case.advance()

    def _source(self, scratch: Path, sink: ObjectSink) -> SnapshotDescriptor:
        from vstore.tools.capture_source import capture_source

        folder = scratch / "library"
        for name, content in self.adapter.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return capture_source(folder, sink, name=SOURCE, label="digests of library files")

    def reserve(self, first: int, last: int) -> None:
        """Reserve the actions of these publications, in batches."""
        for start in range(first, last + 1, _BATCH):
            self.budget.reserve_all(
                CASE,
                PACKAGE,
                [
                    (HYPOTHESIS, action_of(n), operation_of(self.adapter.arguments[n]))
                    for n in range(start, min(start + _BATCH, last + 1))
                ],
            )

    def store(self, number: int) -> Saved:
        """Ask the question of one publication and store the answer."""
        package = self.budget.snapshot(CASE, PACKAGE).package
        request = request_for(package, HYPOTHESIS, number, self.adapter.arguments[number])
        reply = self.router.query(package, request)
        return self.evidence.store_tool_results(CASE, PACKAGE, f"op-{number:06d}", request, reply)

    def stored(self, number: int, others: int = 0) -> Stored:
        """The documents of the publication that was made last, as they are stored.

        Args:
            number: Its number.
            others: Records that were stored before the first publication.
        """
        snapshot = self.budget.snapshot(CASE, PACKAGE).package
        index_id = snapshot.artifact("evidence_index")
        assert index_id is not None
        index = snapshot.objects.document(index_id, EvidenceIndex)
        record_id = index.records[0].object
        record = snapshot.objects.document(record_id, EvidenceRecord)
        assert record.id == f"E{number + others:06d}"
        assert isinstance(record.origin, ToolOrigin)
        ids = {
            "request": record.origin.request,
            "reply": record.origin.reply,
            "content": record.content,
            "record": record_id,
            "index": index_id,
        }
        names = [one for one in ids if one != "content" or record.duplicate_of is None]
        return Stored(
            number,
            {name: oid.hex for name, oid in ids.items()},
            {name: snapshot.objects.get(ids[name]) for name in names},
        )

    def loop(self, number: int) -> None:
        """Reserve, ask and store, record, settle."""
        action = action_of(number)
        operation = operation_of(self.adapter.arguments[number])
        self.budget.reserve(CASE, PACKAGE, HYPOTHESIS, action, operation=operation)
        record = self.store(number).record_refs[0]
        self.budget.record_evidence(CASE, PACKAGE, HYPOTHESIS, action, record)
        self.budget.settle(
            CASE, PACKAGE, HYPOTHESIS, action, semantic_score=50, reason="a benchmark's score"
        )

    def run(self, first: int, last: int, form: Form = "evidence") -> list[float]:
        """Make these publications; the seconds that each took.

        Args:
            first: The first publication's number.
            last: The last one's.
            form: ``evidence`` expects that :meth:`reserve` came before.
        """
        make: Callable[[int], object] = self.store if form == "evidence" else self.loop
        seconds: list[float] = []
        before = time.perf_counter()
        for number in range(first, last + 1):
            make(number)
            now = time.perf_counter()
            seconds.append(now - before)
            before = now
        return seconds

    def close(self) -> None:
        """Close the package."""
        self.workspace.close()


def _database(scratch: Path, sink: ObjectSink) -> SnapshotDescriptor:
    from vstore.tools.capture_jsonl import capture_jsonl

    path = scratch / "symbols.jsonl"
    path.write_bytes(b'{"key":"none"}\n')
    return capture_jsonl(path, sink, name=DATABASE, label="symbols of the library")
