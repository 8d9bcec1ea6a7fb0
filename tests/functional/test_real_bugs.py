"""Two real bugs, investigated through the real services on their real releases.

``queries.expected.json`` was computed by an independent implementation. Ours differs from it
on purpose in four ways, which are undone here before comparing: a schema item is one
descriptor for each table (theirs are the rows of sqlite_master), novelty is rounded down,
an empty result has novelty 0 (theirs has none), and ``where`` strings are conditions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.controller import BudgetManager, EvidenceStore
from vstore.evidence.content import items
from vstore.evidence.documents import EvidenceContent, EvidenceRecord
from vstore.package.inputs import InputFile
from vstore.package.workspace import Workspace
from vstore.testing.releases import DJANGO, PYTZ, SQLITE_UTILS, Release, fetch_sdist, install
from vstore.tools.capture_database import capture_sqlite
from vstore.tools.capture_source import capture_source
from vstore.tools.items import DatabaseRow, SourceLine, TableSchema
from vstore.tools.request import (
    Arguments,
    Condition,
    DatabaseRows,
    DatabaseSchema,
    SourceRead,
    SourceSearch,
    operation_of,
)
from vstore.tools.router import Router
from vstore.tools.values import Blob
from vstore.verify import verify_package

BUGS = Path(__file__).parents[1] / "fixtures" / "real_bugs"
REPORT = {
    "sqlite_utils_592": "Now a search for most words returns the article after the right one.",
    "django_29182": "Adding a review fails with: no such table: main.catalog_book__old.",
}
LOGICAL = {
    "sqlite_utils_592": "b863cef1ba604c7a5fd577227fd3d5de8cba955e4bf3c987a22283a475ff6c3a",
    "django_29182": "e1d7c10d4558003fc380aa23802e4e2f8af83cc07b2445001076dbb54f8c96b9",
}
POLICY = BudgetPolicy(
    costs={
        "database.rows": 10,
        "database.schema": 5,
        "source.read": 10,
        "source.search": 10,
    },
    initial_credits=500,
    new_evidence_score=60,
    max_reward_percent=50,
    low_information=LowInformation(threshold=1, streak=50),
    case_credit_cap=1000,
    max_revisions=1,
)
Fetched = Callable[[Callable[[Path], Path]], Path]


def rebuild(bug: Path, target: Path, *, pythonpath: Path | None = None) -> None:
    environ = dict(os.environ)
    if pythonpath is not None:
        environ["PYTHONPATH"] = str(pythonpath)
    subprocess.run(
        [sys.executable, "-W", "ignore", str(bug / "reproduce.py"), str(target)],
        check=True,
        capture_output=True,
        env=environ,
    )
    done = subprocess.run(
        [sys.executable, str(BUGS / "logical.py"), str(target)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split()[0] == LOGICAL[bug.name]


def arguments(query: dict[str, Any]) -> Arguments:
    match query["tool"]:
        case "source.search":
            return SourceSearch(
                source="app",
                pattern=query["text"],
                under=query.get("under"),
                limit=query.get("limit", 1000),
            )
        case "source.read":
            start, end = query["lines"]
            return SourceRead(source="app", path=query["path"], start=start, end=end)
        case "database.schema":
            return DatabaseSchema(
                database="db", table=query.get("table"), type=query.get("type"), limit=1000
            )
        case _:
            where = []
            if "where" in query:
                column, op, value = query["where"].split()
                name = {"<=": "le", ">": "gt"}[op]
                where = [Condition(column=column, op=name, value=int(value))]  # type: ignore[arg-type]
            return DatabaseRows(
                database="db", table=query["table"], where=where, limit=query["limit"]
            )


def as_master_rows(tables: list[TableSchema]) -> list[str]:
    """Our descriptors as the rows of sqlite_master that they were made from, sorted."""
    rows = []
    for one in tables:
        kind = "trigger" if one.type == "trigger" else "view" if one.type == "view" else "table"
        rows.append(f"{kind} {one.name} on {one.table}: {squeezed(one.sql)}")
        # The primary key of a table without rowids is the table itself, no entry of its own.
        rows += [
            f"index {index.name} on {one.name}: {squeezed(index.sql)}"
            for index in one.indices
            if not (one.without_rowid and index.origin == "pk")
        ]
    return sorted(rows)


def squeezed(sql: object) -> str:
    return "-" if sql is None else re.sub(r"\s+", " ", str(sql))


def as_expected_row(row: DatabaseRow) -> str:
    cells = {
        str(one.name): one.value.hex if isinstance(one.value, Blob) else one.value
        for one in row.columns
    }
    return f"{row.table} rowid {row.location.rowid} {json.dumps(cells)}"


def facts(query: dict[str, Any], content: EvidenceContent, page: Any) -> dict[str, Any]:
    """What the other implementation says of a result, said of ours."""
    found = list(items(content))
    truncated = content.truncated
    left_out = truncated is not None and truncated.limit is not None
    told: dict[str, Any] = {
        "coverage": "partial" if left_out else "complete" if found else "empty",
    }
    if query["tool"] == "database.schema":
        # Only tables were asked for where a type is given: then nothing else is told.
        rows = as_master_rows([one for one in found if isinstance(one, TableSchema)])
        if query.get("type"):
            rows = [row for row in rows if row.startswith(query["type"])]
        return told | {"returned": len(rows), "total": len(rows), "first": rows[:3]}
    told |= {"returned": page.returned, "total": page.total}
    if query["tool"] == "database.rows":
        rows = [as_expected_row(one) for one in found if isinstance(one, DatabaseRow)]
        return told | {"first": rows[:3]}
    lines = [one for one in found if isinstance(one, SourceLine)]
    told["first"] = [f"{one.path}:{one.line}" for one in lines[:3]]
    if query["tool"] == "source.search":
        if not left_out:  # theirs counts the files of all hits, ours has those returned
            told["files"] = len({str(one.path) for one in lines})
        told["skipped_files"] = 0 if truncated is None else truncated.skipped_files
    return told


def investigate(tmp_path: Path, name: str, archive: Path, database: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text(REPORT[name], encoding="utf-8")
    workspace = Workspace.create(tmp_path / "workspace", clock=lambda: "2026-01-01T00:00:00Z")
    workspace.init(name, "package", [InputFile(report, b"report.txt")])
    case = workspace.case(name)
    case.add_snapshot("app", "source", lambda sink: capture_source(archive, sink, name="app"))
    case.add_snapshot("db", "database", lambda sink: capture_sqlite(database, sink, name="db"))
    case.advance()
    case.advance()
    case.set_hypotheses([{"id": "H1", "statement": "Something is wrong with the schema."}])
    budget = BudgetManager(workspace)
    router = Router.default()
    evidence = EvidenceStore(workspace, router=router)
    budget.initialise(name, "package", POLICY)
    differences = []
    for expected in json.loads((BUGS / name / "queries.expected.json").read_bytes()):
        asked = arguments(expected["query"])
        action = expected["id"]
        budget.reserve(name, "package", "H1", action, operation=operation_of(asked))
        package = budget.snapshot(name, "package").package
        request = router.request(package, [("H1", action, asked)])
        reply = router.query(package, request)
        saved = evidence.store_tool_results(name, "package", action, request, reply)
        assert saved.record_refs[0] is not None, reply.results[0].error
        record = saved.package.objects.document(saved.record_refs[0], EvidenceRecord)
        content = saved.package.objects.document(record.content, EvidenceContent)
        budget.record_evidence(name, "package", "H1", action, saved.record_refs[0])
        budget.settle(name, "package", "H1", action, semantic_score=50, reason="simulated")
        told = facts(expected["query"], content, reply.results[0].page)
        if expected["query"]["tool"] != "database.schema" or expected["query"].get("type"):
            told["new"] = len(record.novel_atoms)
            told["novelty"] = record.novelty_score
            expected["novelty"] = (
                100 * expected["new"] // expected["returned"] if expected["returned"] else 0
            )
        differences += [
            (action, fact, expected[fact], value)
            for fact, value in told.items()
            if expected[fact] != value
        ]
    assert differences == []
    workspace.close()
    result = verify_package(tmp_path / "workspace" / name)
    assert result.exit_code == 0, result.findings
    assert not result.findings
    assert result.counts.records == len(json.loads((BUGS / name / "queries.json").read_bytes()))


def sdist(fetched: Fetched, release: Release) -> Path:
    return fetched(lambda folder: fetch_sdist(release, folder))


def test_sqlite_utils_592(tmp_path: Path, fetched: Fetched) -> None:
    archive = sdist(fetched, SQLITE_UTILS)
    database = tmp_path / "bug.sqlite3"
    rebuild(BUGS / "sqlite_utils_592", database)
    investigate(tmp_path, "sqlite_utils_592", archive, database)


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="Django 2.1.4 rebuilds its database on Python 3.6 to 3.11 only",
)
def test_django_29182(tmp_path: Path, fetched: Fetched) -> None:
    archive = sdist(fetched, DJANGO)
    django = fetched(lambda folder: install([DJANGO, PYTZ], folder))
    database = tmp_path / "bug.sqlite3"
    rebuild(BUGS / "django_29182", database, pythonpath=django)
    investigate(tmp_path, "django_29182", archive, database)
