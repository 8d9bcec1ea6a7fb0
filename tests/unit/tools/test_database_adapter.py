"""The adapter of database snapshots, on a pinned generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from vstore.errors import NotFoundError
from vstore.objects.canonical import decode, encode
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.package.documents import (
    Coverage,
    Event,
    Generation,
    History,
    Origin,
    SnapshotDescriptor,
)
from vstore.package.pinned import PinnedPackage
from vstore.testing.database_samples import captured, make_database
from vstore.tools.adapter import Adapter
from vstore.tools.database_adapter import DatabaseAdapter
from vstore.tools.database_content import DatabaseContent
from vstore.tools.reply import ToolResult
from vstore.tools.request import (
    DATABASE_CONTRACT,
    Arguments,
    Condition,
    DatabaseRows,
    DatabaseSchema,
    QueryLimits,
    SourceList,
    ToolQuery,
    operation_of,
)


def generation_of(objects: MemoryObjects, snapshots: dict[str, ObjectId]) -> PinnedPackage:
    empty = object_id(b"")
    generation = Generation(
        case_id="C-1",
        package_id="P-1",
        package_generation=1,
        analysis_revision=1,
        state="ADMITTED",
        blocked=None,
        parent=None,
        history=History(size=0, root="0" * 64),
        inputs=empty,
        snapshots=snapshots,
        attachments=None,
        artifacts={},
        declared={},
        events=[
            Event(
                kind="init",
                operation_id=None,
                actor="tester",
                at="2026-01-01T00:00:00Z",
                reason=None,
            )
        ],
    )
    return PinnedPackage(objects.put_document(generation), generation, objects)


@pytest.fixture
def package(tmp_path: Path) -> PinnedPackage:
    found = captured(
        make_database(
            tmp_path / "a.db",
            "CREATE TABLE t (a)",
            "INSERT INTO t VALUES (1), (2)",
            "CREATE VIEW seen AS SELECT 1",
        )
    )
    source = SnapshotDescriptor(
        name="code",
        kind="source",
        content=object_id(b""),
        origin=Origin(kind="directory", label="", digest=None),
        coverage=Coverage(kind="complete", statement=""),
    )
    objects = found.objects
    return generation_of(
        objects,
        {
            "db": objects.put_document(found.descriptor),
            "code": objects.put_document(source),
        },
    )


def ask(package: PinnedPackage, arguments: Arguments) -> ToolResult:
    query = ToolQuery(
        hypothesis_id="H1",
        action_id="query-1",
        contract=DATABASE_CONTRACT,
        limits=QueryLimits(),
        arguments=arguments,
    )
    result = DatabaseAdapter().answer(package, query)
    assert (result.action_id, result.provider) == ("query-1", DATABASE_CONTRACT)
    assert result.operation == operation_of(arguments)
    # What is answered survives the wire, strictly.
    assert decode(encode(result), ToolResult) == result
    return result


def test_it_is_an_adapter() -> None:
    adapter: Adapter = DatabaseAdapter()
    assert adapter.contract == "database-snapshot/1"
    assert adapter.operations == {"database.schema", "database.rows"}


def test_rows(package: PinnedPackage) -> None:
    result = ask(package, DatabaseRows(database="db", table="t"))
    assert (result.status, result.kind, result.error) == ("ok", "database_rows", None)
    assert result.rows is not None
    assert [row.location.rowid for row in result.rows] == [1, 2]
    assert (result.tables, result.lines, result.files) == (None, None, None)
    assert result.scope is not None
    descriptor = package.snapshot("db")
    assert (result.scope.content, result.scope.name) == (descriptor.content, "db")
    assert result.scope.origin == descriptor.origin
    assert result.coverage == descriptor.coverage
    assert result.page is not None
    assert result.page.total == 2
    assert result.sought is None


def test_schema(package: PinnedPackage) -> None:
    result = ask(package, DatabaseSchema(database="db"))
    assert (result.status, result.kind) == ("ok", "database_schema")
    assert result.tables is not None
    assert [entry.name for entry in result.tables] == ["seen", "t"]
    assert result.rows is None


def test_empty_findings(package: PinnedPackage) -> None:
    question = DatabaseSchema(database="db", table="absent")
    result = ask(package, question)
    assert (result.status, result.tables, result.sought) == ("ok", [], question)
    condition = Condition(column="a", op="gt", value=5)
    rows = DatabaseRows(database="db", table="t", where=[condition])
    result = ask(package, rows)
    assert (result.status, result.rows, result.sought) == ("ok", [], rows)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (DatabaseRows(database="absent", table="t"), "unknown_database"),
        (DatabaseRows(database="code", table="t"), "unknown_database"),
        (DatabaseSchema(database="inputs"), "unknown_database"),
        (DatabaseRows(database="db", table="absent"), "unknown_table"),
        (DatabaseRows(database="db", table="seen"), "not_a_table"),
        (DatabaseRows(database="db", table="t", columns=["absent"]), "unknown_column"),
        (SourceList(source="code"), "unsupported_operation"),
    ],
)
def test_error_results(package: PinnedPackage, arguments: Arguments, kind: str) -> None:
    result = ask(package, arguments)
    assert result.status == "error"
    assert result.error is not None
    assert result.error.kind == kind
    assert "absent" not in result.error.message
    assert (result.rows, result.tables, result.page, result.scope) == (None, None, None, None)


def test_damage_is_no_error_result(package: PinnedPackage) -> None:
    objects = package.objects
    assert isinstance(objects, MemoryObjects)
    content = objects.document(package.snapshot("db").content, DatabaseContent)
    del objects._objects[content.tables[0].chunks[0].object]
    with pytest.raises(NotFoundError):
        ask(package, DatabaseRows(database="db", table="t"))
    del objects._objects[package.generation.snapshots["db"]]
    with pytest.raises(NotFoundError):
        ask(package, DatabaseRows(database="db", table="t"))
