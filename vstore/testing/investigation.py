"""A small investigation, from the first file to a settled action, made with the real services.

Always the same facts: fixed names, a clock that stands still, snapshots made here. Only the
random salts of the log differ between two runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.controller import BudgetManager, EvidenceStore
from vstore.controller.evidence_store import Saved
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.memory import ObjectSink
from vstore.package.documents import SnapshotDescriptor
from vstore.package.inputs import InputFile
from vstore.package.workspace import Workspace
from vstore.tools.request import (
    Arguments,
    DatabaseRows,
    DatabaseSchema,
    SourceList,
    SourceRead,
    SourceSearch,
    operation_of,
)
from vstore.tools.router import Router

__all__ = ["CASE", "INSTANT", "PACKAGE", "POLICY", "Investigation", "small_investigation"]

CASE: Final = "CASE-1"
PACKAGE: Final = "PACKAGE-1"
INSTANT: Final = "2026-01-02T03:04:05Z"
POLICY: Final = BudgetPolicy(
    costs={
        "database.rows": 10,
        "database.schema": 5,
        "source.list": 5,
        "source.read": 20,
        "source.search": 10,
        "testing.request_automated": 20,
        "testing.request_human": 40,
    },
    initial_credits=200,
    new_evidence_score=60,
    max_reward_percent=50,
    low_information=LowInformation(threshold=10, streak=3),
    case_credit_cap=1000,
    max_revisions=3,
)
_FILES: Final = {
    "app/main.py": b"import app.orders\n\n\ndef main():\n    return app.orders.total([])\n",
    "app/orders.py": (
        b"def total(orders):\n    # BUG: empty list\n    return sum(orders) / len(orders)\n"
    ),
    "README": b"An application.\r\n\xff\xfe not text\n",
}


class Investigation:
    """One case in a workspace, driven step by step.

    Args:
        root: A folder for the package; must not exist yet.
        scratch: A folder for the files that are pinned.
        io: Does the durable I/O of the package.
    """

    def __init__(self, root: Path, scratch: Path, *, io: DurableIO = REAL) -> None:
        self.root = root
        self.scratch = scratch
        self.workspace = Workspace.of_package(root, actor="tester", clock=lambda: INSTANT, io=io)
        self.router = Router.default()
        self.budget = BudgetManager(self.workspace)
        self.evidence = EvidenceStore(self.workspace, router=self.router)

    def begin(self, policy: BudgetPolicy = POLICY) -> None:
        """Take in a report, pin source and database, state hypotheses, open the budget.

        Args:
            policy: Of the budget.
        """
        report = self.scratch / "report.txt"
        report.write_bytes(b"total([]) fails\n")
        self.workspace.init(CASE, PACKAGE, [InputFile(report, b"report.txt")])
        case = self.workspace.case(CASE)
        case.add_snapshot("code", "source", self._source)
        case.add_snapshot("shop", "database", self._database)
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

    def _source(self, sink: ObjectSink) -> SnapshotDescriptor:
        from vstore.tools.capture_source import capture_source

        folder = self.scratch / "source"
        for name, content in _FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return capture_source(folder, sink, name="code", label="1.0")

    def _database(self, sink: ObjectSink) -> SnapshotDescriptor:
        from vstore.tools.capture_database import capture_sqlite

        path = self.scratch / "shop.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(
                "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, price REAL);"
                "INSERT INTO orders VALUES (1, 'tea', 2.5), (2, 'cup', 7.0), (5, x'ff', NULL);"
                "CREATE VIEW cheap AS SELECT * FROM orders WHERE price < 5;"
            )
        return capture_sqlite(path, sink, name="shop", label="dump")

    def ask(self, operation_id: str, queries: Sequence[tuple[str, str, Arguments]]) -> Saved:
        """Reserve, ask and store one batch.

        Args:
            operation_id: The batch's name.
            queries: Hypothesis id, action id and arguments.
        """
        self.budget.reserve_all(
            CASE, PACKAGE, [(one, action, operation_of(args)) for one, action, args in queries]
        )
        package = self.budget.snapshot(CASE, PACKAGE).package
        request = self.router.request(package, queries)
        reply = self.router.query(package, request)
        return self.evidence.store_tool_results(CASE, PACKAGE, operation_id, request, reply)

    def settle(self, saved: Saved, position: int, hypothesis: str, action: str, score: int) -> None:
        """Record and settle one action of a batch."""
        self.budget.record_evidence(CASE, PACKAGE, hypothesis, action, saved.record_refs[position])
        self.budget.settle(
            CASE, PACKAGE, hypothesis, action, semantic_score=score, reason="simulated"
        )

    def close(self) -> None:
        """Close the package."""
        self.workspace.close()


def small_investigation(root: Path, scratch: Path) -> Investigation:
    """A package with three batches: new, overlapping, empty, repeated and failing results.

    Args:
        root: A folder for the package; must not exist yet.
        scratch: A folder for the files that are pinned.

    Returns:
        The investigation, still open.
    """
    one = Investigation(root, scratch)
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
    one.budget.reserve(CASE, PACKAGE, "H2", "q9", operation="source.list")
    one.budget.record_result(
        CASE, PACKAGE, "H2", "q9", result="looked by hand", novel_refs=["note-1"]
    )
    one.budget.settle(CASE, PACKAGE, "H2", "q9", semantic_score=50, reason="simulated")
    one.ask("batch-3", [("H2", "q10", SourceList(source="inputs"))])
    return one
