"""Comparing generations of one package, and of copies that went on alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vstore.controller import CaseLifecycle
from vstore.controller.comparison import Comparison, compare, relate
from vstore.package.inputs import InputFile
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import PackageReader
from vstore.package.workspace import Workspace
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.testing.reopened import reopened_investigation
from vstore.tools.request import SourceSearch


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reopened")
    reopened_investigation(folder / "package", folder).close()
    return folder / "package"


def at(reader: PackageReader, name: str) -> PinnedPackage:
    return reader.at(reader.resolve(name))


def test_a_generation_and_itself(original: Path) -> None:
    head = PackageReader.open(original).pinned()
    found = compare(head, PackageReader.open(original).pinned())
    assert found.relation == "same"
    assert found.common == (head.generation_id, head.number)
    assert found.moved is None
    assert found.policy is None
    for name in Comparison.__slots__:
        value = getattr(found, name)
        if name not in ("before", "after", "relation", "common", "policy"):
            assert not value, name


def test_every_pair_of_generations(original: Path) -> None:
    reader = PackageReader.open(original)
    history = list(reader.history(newest_first=False))
    head = reader.pinned()
    numbers = {oid: generation.package_generation for oid, generation in history}
    for oid, generation in history:
        then = reader.at(oid)
        found = compare(then, head)
        assert found.common == (oid, numbers[oid])
        assert found.relation == ("same" if oid == head.generation_id else "ahead")
        assert (found.records_removed, found.entries_removed) == ((), ())
        sequences = [entry.sequence for _, entry in found.entries_added]
        assert sequences == list(range(29 - len(sequences) + 1, 30))
        ids = [one.id for one in found.records_added]
        assert ids == [f"E{n:06}" for n in range(8 - len(ids) + 1, 9)]
        assert bool(found.inputs) == (generation.inputs != head.raw_input)
        back = compare(head, then)
        assert back.relation == ("same" if oid == head.generation_id else "behind")
        assert back.records_removed == found.records_added
        assert back.entries_removed == found.entries_added
        assert [one.kind for one in back.inputs] == [
            {"added": "removed"}[one.kind] for one in found.inputs
        ]


def test_what_one_step_changed(original: Path) -> None:
    reader = PackageReader.open(original)
    steps = {}
    for oid, generation in reader.history(newest_first=False):
        if generation.parent is not None:
            kind = generation.events[0].kind
            steps.setdefault(kind, []).append(compare(reader.at(generation.parent), reader.at(oid)))
    assert list(steps["source.add"][0].snapshots) == ["code"]
    assert steps["source.add"][0].snapshots["code"][0] is None
    first = steps["hypotheses"][0]
    assert [(one.hypothesis_id, one.before) for one in first.hypotheses] == [
        ("H1", None),
        ("H2", None),
    ]
    opened = steps["budget.initialise"][0]
    assert opened.policy is not None
    assert opened.policy[0] is None
    assert [(one.hypothesis_id, one.before, one.after_revision) for one in opened.accounts] == [
        ("H1", None, 1),
        ("H2", None, 1),
    ]
    (change,) = steps["budget.settle"][0].accounts
    assert change.before is not None
    assert change.after is not None
    assert (change.before.reserved - change.after.reserved, change.after.debited) == (10, 10)
    review = steps["reopen.review"][0]
    assert review.moved is not None
    assert [str(one) for one in review.moved] == ["DIAGNOSED", "REOPENED"]
    assert (review.before.revision, review.after.revision) == (1, 2)
    assert [one.after.status for one in review.accounts if one.after] == ["closed", "closed"]
    # Hypotheses of the revision before are none of the new one's.
    assert [(one.hypothesis_id, one.after) for one in review.hypotheses] == [
        ("H1", None),
        ("H2", None),
    ]
    late = steps["reopen.new_input"][0]
    assert [(one.path, one.kind) for one in late.inputs] == [(b"late.log", "added")]
    (again,) = steps["budget.initialise"][1:]
    assert {(one.before_revision, one.after_revision) for one in again.accounts} == {(1, 2)}
    assert {one.hypothesis_id for one in again.accounts} == {"H1", "H2", "H3"}
    assert [str(one) for one in steps["block"][0].moved or ()] == [
        "INVESTIGATING_HYPOTHESES",
        "BLOCKED (PROVIDER_UNAVAILABLE)",
    ]


def test_copies_that_diverged(tmp_path: Path) -> None:
    one = Investigation(tmp_path / "package", tmp_path)
    one.begin()
    one.ask("b1", [("H1", "q1", SourceSearch(source="code", pattern="BUG"))])
    fork = one.workspace.case(CASE).package
    one.close()
    shutil.copytree(one.root, tmp_path / "copy")
    here = Investigation(tmp_path / "package", tmp_path)
    there = Investigation(tmp_path / "copy", tmp_path)
    here.ask("b2", [("H1", "q2", SourceSearch(source="code", pattern="def"))])
    there.ask("b2", [("H2", "q2", SourceSearch(source="code", pattern="import"))])
    there.ask("b3", [("H2", "q3", SourceSearch(source="code", pattern="sum"))])
    found = compare(here.workspace.case(CASE).package, there.workspace.case(CASE).package)
    assert found.relation == "diverged"
    assert found.common == (fork.generation_id, fork.number)
    assert [one.id for one in found.records_removed] == ["E000002"]
    assert [one.id for one in found.records_added] == ["E000002", "E000003"]
    assert [entry.sequence for _, entry in found.entries_removed] == [3]
    assert [entry.sequence for _, entry in found.entries_added] == [3, 4]
    CaseLifecycle(here.workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
    relation, common = relate(fork, here.workspace.case(CASE).package)
    assert (relation, common) == ("ahead", (fork.generation_id, fork.number))
    here.close()
    there.close()


def test_packages_that_have_nothing_in_common(tmp_path: Path, original: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"a")
    with Workspace.create(tmp_path / "w") as workspace:
        other = workspace.init("OTHER", None, [InputFile(file, b"a")])
        found = compare(other, PackageReader.open(original).pinned())
        assert (found.relation, found.common) == ("unrelated", None)
        assert [(one.path, one.kind) for one in found.inputs] == [
            (b"a", "removed"),
            (b"late.log", "added"),
            (b"report.txt", "added"),
        ]
        assert len(found.records_added) == 8
