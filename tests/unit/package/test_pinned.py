from __future__ import annotations

import pytest

from vstore.errors import NotFoundError
from vstore.objects.ids import object_id
from vstore.objects.memory import MemoryObjects
from vstore.package.documents import Coverage, Hypotheses, Hypothesis, Origin, SnapshotDescriptor
from vstore.package.lifecycle import Position
from vstore.testing.pinned import pin


def descriptor(name: str, kind: str) -> SnapshotDescriptor:
    return SnapshotDescriptor(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        content=object_id(name.encode()),
        origin=Origin(kind="directory", label="", digest=None),
        coverage=Coverage(kind="complete", statement=""),
    )


def test_what_a_generation_says() -> None:
    package = pin(MemoryObjects(), revision=3)
    assert (package.case_id, package.package_id) == ("case-1", "package-1")
    assert (package.number, package.revision, package.state) == (
        1,
        3,
        "INVESTIGATING_HYPOTHESES",
    )
    assert package.position == Position("INVESTIGATING_HYPOTHESES")
    assert package.raw_input == package.generation.inputs
    assert package.artifact("evidence_index") is None


def test_snapshots_by_name() -> None:
    code, data = descriptor("code", "source"), descriptor("data", "database")
    package = pin(MemoryObjects(), [code, data])
    assert package.snapshot("code") == code
    assert package.snapshot("code", kind="source") == code
    assert package.snapshot("data", kind="database") == data
    assert package.snapshot_names() == ["code", "data", "inputs"]
    assert package.snapshot_names(kind="source") == ["code", "inputs"]
    assert package.snapshot_names(kind="database") == ["data"]


@pytest.mark.parametrize(
    ("name", "kind", "error"),
    [
        ("nothing", None, "unknown_snapshot"),
        ("nothing", "source", "unknown_source"),
        ("data", "source", "unknown_source"),
        ("code", "database", "unknown_database"),
        ("inputs", "database", "unknown_database"),
    ],
)
def test_unknown_names_say_which_are_known(name: str, kind: str | None, error: str) -> None:
    package = pin(MemoryObjects(), [descriptor("code", "source"), descriptor("data", "database")])
    with pytest.raises(NotFoundError) as caught:
        package.snapshot(name, kind=kind)
    assert caught.value.kind == error
    assert (caught.value.details["known"] == ["data"]) == (kind == "database")


def test_no_database_at_all() -> None:
    with pytest.raises(NotFoundError) as caught:
        pin(MemoryObjects()).snapshot("x", kind="database")
    assert "no database is pinned" in (caught.value.hint or "")


def test_the_raw_input_is_a_source_too() -> None:
    package = pin(MemoryObjects())
    found = package.snapshot("inputs", kind="source")
    assert (found.kind, found.content, found.coverage.kind) == (
        "source",
        package.raw_input,
        "complete",
    )


def test_hypotheses_are_those_of_the_revision() -> None:
    import msgspec

    objects = MemoryObjects()
    package = pin(objects, revision=2)
    assert package.hypotheses() is None
    for revision in (1, 2):
        document = Hypotheses(
            case_id="case-1",
            package_id="package-1",
            analysis_revision=revision,
            hypotheses=[Hypothesis(id="H1", statement="s", confidence="open", open_questions=[])],
        )
        generation = msgspec.structs.replace(
            package.generation, artifacts={"hypotheses": objects.put_document(document)}
        )
        with_them = type(package)(package.generation_id, generation, objects)
        assert with_them.hypotheses() == (document if revision == 2 else None)
