"""Snapshots that no capture makes, published by a service that doesn't look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import ObjectSink
from vstore.objects.tree import Tree, TreeEntry
from vstore.package.case import Case
from vstore.package.documents import Coverage, Origin, SnapshotDescriptor
from vstore.package.repository import Repository
from vstore.testing.editor import PackageEditor
from vstore.verify import verify_package
from vstore.verify.report import Report

ABSENT = ObjectId.parse("77" * 32)


def entry(name: str, kind: str, oid: ObjectId, size: int = 0) -> TreeEntry:
    return TreeEntry(name=name, kind=kind, object=oid, size=size, executable=False)  # type: ignore[arg-type]


def verified(
    folder: Path, content: Callable[[ObjectSink], ObjectId], kind: str = "source"
) -> Report:
    def capture(sink: ObjectSink) -> SnapshotDescriptor:
        return SnapshotDescriptor(
            name="code",
            kind=kind,  # type: ignore[arg-type]
            content=content(sink),
            origin=Origin(kind="directory", label="x", digest=None),
            coverage=Coverage(kind="complete", statement="all"),
        )

    with Repository.create(folder, clock=lambda: "2026-01-02T03:04:05Z") as repository:
        case = Case(repository)
        case.init("CASE-1", "PACKAGE-1")
        case.add_snapshot("code", kind, capture)  # type: ignore[arg-type]
    return verify_package(folder)


def faults(report: Report) -> set[str]:
    return {one.code for one in report.findings if one.severity != "note"}


def nested(depth: int) -> Callable[[ObjectSink], ObjectId]:
    def content(sink: ObjectSink) -> ObjectId:
        oid = sink.put_document(Tree(entries=[entry("leaf", "file", sink.put(b"12"), 2)]))
        for _ in range(depth - 1):
            oid = sink.put_document(Tree(entries=[entry("d", "tree", oid, 2)]))
        return oid

    return content


def test_folders_as_deep_as_allowed(tmp_path: Path) -> None:
    assert verified(tmp_path / "package", nested(64)).exit_code == 0


@pytest.mark.parametrize("depth", [65, 66, 400])
def test_folders_nested_too_deep(tmp_path: Path, depth: int) -> None:
    report = verified(tmp_path / "package", nested(depth))
    assert (report.exit_code, faults(report)) == (1, {"VS-INP-001"})


def test_a_folder_so_large_that_it_has_a_file_of_its_own(tmp_path: Path) -> None:
    def content(sink: ObjectSink) -> ObjectId:
        blob = sink.put(b"12")
        return sink.put_document(
            Tree(entries=[entry(f"f{number:06}", "file", blob, 2) for number in range(9_000)])
        )

    report = verified(tmp_path / "package", content)
    assert list((tmp_path / "package/objects/large").rglob("*"))
    assert (report.exit_code, report.findings) == (0, ())


def test_a_few_trees_that_describe_a_billion_files(tmp_path: Path) -> None:
    def content(sink: ObjectSink) -> ObjectId:
        size, oid = 2, sink.put_document(Tree(entries=[entry("leaf", "file", sink.put(b"12"), 2)]))
        for _ in range(40):
            oid = sink.put_document(
                Tree(entries=[entry("a", "tree", oid, size), entry("b", "tree", oid, size)])
            )
            size *= 2
        return oid

    assert verified(tmp_path / "package", content).exit_code == 0


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (lambda sink: ABSENT, "VS-OBJ-005"),
        (lambda sink: sink.put(b"no tree"), "VS-OBJ-007"),
        (
            lambda sink: sink.put_document(Tree(entries=[entry("a", "file", ABSENT)])),
            "VS-OBJ-005",
        ),
        (
            lambda sink: sink.put_document(Tree(entries=[entry("a", "tree", ABSENT)])),
            "VS-OBJ-005",
        ),
        (
            lambda sink: sink.put_document(Tree(entries=[entry("a", "tree", sink.put(b"x"))])),
            "VS-OBJ-007",
        ),
        (
            lambda sink: sink.put_document(Tree(entries=[entry("a", "file", sink.put(b"x"), 2)])),
            "VS-INP-002",
        ),
        (
            lambda sink: sink.put_document(
                Tree(entries=[entry(n, "file", sink.put(b"x"), 1) for n in ("b", "a")])
            ),
            "VS-INP-001",
        ),
    ],
)
def test_trees_that_no_capture_makes(
    tmp_path: Path, content: Callable[[ObjectSink], ObjectId], code: str
) -> None:
    report = verified(tmp_path / "package", content)
    assert (report.exit_code, faults(report)) == (1, {code})


def test_a_database_that_is_none(tmp_path: Path) -> None:
    report = verified(
        tmp_path / "package", lambda sink: sink.put_document(Tree(entries=[])), kind="database"
    )
    assert faults(report) == {"VS-OBJ-007"}


def test_a_file_that_looks_like_a_document_is_a_file(tmp_path: Path) -> None:
    """Somebody's input may be a copied document: what it names need not be here."""
    copied = (
        b'{"entries":[{"executable":false,"kind":"file","name":"x","object":"%b","size":1}],'
        % (ABSENT.encode())
        + b'"schema":"tree-v1"}'
    )

    def content(sink: ObjectSink) -> ObjectId:
        blob = sink.put(copied)
        return sink.put_document(Tree(entries=[entry("copy.json", "file", blob, len(copied))]))

    report = verified(tmp_path / "package", content)
    assert (report.exit_code, report.findings) == (0, ())
    assert object_id(copied) != ABSENT


def test_one_database_under_two_names_and_two_snapshots_in_one_publication(tmp_path: Path) -> None:
    from vstore.testing.database_samples import make_database
    from vstore.tools.capture_database import capture_sqlite

    path = make_database(tmp_path / "one.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    with Repository.create(
        tmp_path / "package", clock=lambda: "2026-01-02T03:04:05Z"
    ) as repository:
        case = Case(repository)
        case.init("CASE-1", "PACKAGE-1")
        case.add_snapshot("one", "database", lambda sink: capture_sqlite(path, sink, name="one"))
        base = repository.pinned()
        with repository.begin() as transaction:
            added = {
                name: transaction.put_document(capture_sqlite(path, transaction, name=name))
                for name in ("two", "three")
            }
            repository.publish(
                transaction,
                base,
                events=[repository.event("database.add"), repository.event("database.add")],
                snapshots=added,
            )
    report = verify_package(tmp_path / "package")
    assert (report.exit_code, report.findings) == (0, ())
    editor = PackageEditor(tmp_path / "package")
    editor.edit(
        editor.find("package-generation-v1", -1),
        lambda document: document["declared"]["snapshots"].reverse(),
    )
    editor.rechain()
    assert faults(verify_package(editor.save(tmp_path / "reversed"))) == {"VS-HIS-008"}
    editor = PackageEditor(tmp_path / "package")
    editor.edit(editor.find("package-generation-v1", -1), lambda document: document["events"].pop())
    editor.rechain()
    assert faults(verify_package(editor.save(tmp_path / "fewer"))) == {"VS-HIS-009"}
