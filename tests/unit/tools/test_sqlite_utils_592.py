"""A real bug: the database that sqlite-utils 3.35 leaves, against independent expectations.

``queries.expected.json`` was computed by another implementation on the same database. Its
``where`` strings become conditions; its schema items are rows of sqlite_master, ours are
descriptors with the indices inside.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from vstore.testing.database_samples import CapturedDatabase, captured
from vstore.tools.database_query import query_rows, query_schema
from vstore.tools.request import Condition, DatabaseRows, DatabaseSchema, QueryLimits
from vstore.tools.snapshot_check import check_database
from vstore.tools.values import Blob

HERE = Path(__file__).parents[2] / "fixtures" / "real_bugs"
BUG = HERE / "sqlite_utils_592"
EXPECTED: list[dict[str, Any]] = json.loads((BUG / "queries.expected.json").read_text())
_OPS = {"<=": "le", ">": "gt"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert metadata.version("sqlite-utils") == "3.35"
    path = tmp_path_factory.mktemp("bug") / "bug.sqlite3"
    subprocess.run(
        [sys.executable, str(BUG / "reproduce.py"), str(path)], check=True, capture_output=True
    )
    return path


@pytest.fixture(scope="module")
def database(path: Path) -> CapturedDatabase:
    return captured(path)


def test_the_reproduction_is_the_one_that_was_queried(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "logical.py"), str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split()[0] == (
        "b863cef1ba604c7a5fd577227fd3d5de8cba955e4bf3c987a22283a475ff6c3a"
    )


def test_the_capture_is_whole_and_canonical(database: CapturedDatabase) -> None:
    assert database.descriptor.coverage.kind == "complete"
    assert list(check_database(database.objects, database.content)) == []


def as_json(value: object) -> object:
    return value.hex if isinstance(value, Blob) else value


def conditions(text: str | None) -> list[Condition]:
    if text is None:
        return []
    found = re.fullmatch(r"(\w+) (<=|>) (\d+)", text)
    assert found is not None
    return [Condition(column=found[1], op=_OPS[found[2]], value=int(found[3]))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "expected",
    [one for one in EXPECTED if one["query"]["tool"] == "database.rows"],
    ids=lambda one: one["id"],
)
def test_rows(database: CapturedDatabase, expected: dict[str, Any]) -> None:
    asked = expected["query"]
    question = DatabaseRows(
        database="db",
        table=asked["table"],
        where=conditions(asked.get("where")),
        limit=asked["limit"],
    )
    answer = query_rows(database.snapshot, question, QueryLimits())
    assert (answer.page.returned, answer.page.total) == (expected["returned"], expected["total"])
    assert (answer.truncated is not None) == (expected["coverage"] == "partial")
    shown = [
        f"{row.table} rowid {row.location.rowid} "
        + json.dumps({str(one.name): as_json(one.value) for one in row.columns})
        for row in answer.rows[: len(expected["first"])]
    ]
    assert shown == expected["first"]


def test_schema(database: CapturedDatabase) -> None:
    (expected,) = [one for one in EXPECTED if one["query"] == {"tool": "database.schema"}]
    answer = query_schema(database.snapshot, DatabaseSchema(database="db"), QueryLimits())
    # The primary key of a table WITHOUT ROWID is the table itself, no row of sqlite_master.
    indices = [
        str(one.name)
        for entry in answer.tables
        for one in entry.indices
        if not (entry.without_rowid and one.origin == "pk")
    ]
    assert len(answer.tables) + len(indices) == expected["total"]
    for text in expected["first"]:
        found = re.fullmatch(r"(\w+) (\S+) on \S+: (.*)", text)
        assert found is not None
        kind, name, sql = found.groups()
        if kind == "index":
            assert name in indices
            continue
        (entry,) = [one for one in answer.tables if one.name == name]
        assert " ".join(str(entry.sql).split()) == sql


def test_no_trigger_is_left(database: CapturedDatabase) -> None:
    (expected,) = [one for one in EXPECTED if one["query"].get("type") == "trigger"]
    question = DatabaseSchema(database="db", type="trigger")
    answer = query_schema(database.snapshot, question, QueryLimits())
    assert len(answer.tables) == expected["total"] == 0
    assert answer.sought == question


def test_the_cause_shows_in_the_rows(database: CapturedDatabase) -> None:
    """The index has the old numbers of rows, the table the new ones."""
    articles = dict(
        zip(
            (row[0] for row in database.values("articles")),
            database.rowids("articles"),
            strict=True,
        )
    )
    assert articles["a003-cedar"] == 2
    assert max(database.rowids("articles_fts_docsize")) == 40  # type: ignore[type-var]
    assert max(database.rowids("articles")) == 36  # type: ignore[type-var]


def test_captured_rows_are_those_of_the_file(path: Path, database: CapturedDatabase) -> None:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        rows = connection.execute("SELECT rowid, * FROM articles ORDER BY rowid").fetchall()
    finally:
        connection.close()
    stored = database.stored("articles")
    assert [(row.rowid, *row.values) for row in stored] == rows
