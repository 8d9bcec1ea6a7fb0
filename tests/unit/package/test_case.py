"""What a person does to a case: each operation one publication, or refused with what is legal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.errors import (
    ConflictError,
    InvalidError,
    LimitExceeded,
    StaleGeneration,
    StateError,
)
from vstore.objects.memory import ObjectSink
from vstore.objects.tree import walk
from vstore.package.case import Capture, Case
from vstore.package.documents import Coverage, Origin, SnapshotDescriptor
from vstore.package.folder import capture_folder
from vstore.package.inputs import InputFile, input_file
from vstore.package.limits import PackageLimits
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.testing.clock import FrozenClock

ONE = [{"id": "H1", "statement": "It is the cache."}]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with Repository.create(
        tmp_path / "package", actor="tester", clock=FrozenClock(step=1)
    ) as repository:
        made = Case(repository)
        made.init("c", "p")
        yield made


def advance_to(case: Case, state: str) -> PinnedPackage:
    """Along the ordinary transitions, with a ledger that is no ledger."""
    while case.package.state != state:
        if case.package.state == "GENERATING_HYPOTHESES":
            case.set_hypotheses(ONE)
            repository = case.repository
            with repository.begin() as transaction:
                repository.publish(
                    transaction,
                    repository.pinned(),
                    events=[repository.event("budget.initialise")],
                    artifacts={"budget_ledger": transaction.put(b'{"analysis_revision":1}')},
                )
        case.advance()
    return case.package


def capturing(path: Path, name: str, kind: str = "source") -> Capture:
    def capture(sink: ObjectSink) -> SnapshotDescriptor:
        return SnapshotDescriptor(
            name=name,
            kind=kind,  # type: ignore[arg-type]
            content=capture_folder(path, sink).root,
            origin=Origin(kind="directory", label=path.name, digest=None),
            coverage=Coverage(kind="complete", statement="all of it"),
        )

    return capture


def test_a_case_begins_admitted_with_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_bytes(b"\xef\xbb\xbfbug\r\n")
    with Repository.create(tmp_path / "p", actor="tester", clock=FrozenClock()) as repository:
        head = Case(repository).init("c", "p", [input_file(tmp_path / "report.md")], actor="alice")
        assert (head.state, head.number, head.revision) == ("ADMITTED", 1, 1)
        assert [(one.kind, one.actor) for one in head.generation.events] == [("init", "alice")]
        (found,) = walk(head.objects, head.raw_input)
        assert found.path == b"report.md"
        assert head.objects.get(found.entry.object) == b"\xef\xbb\xbfbug\r\n"
        with pytest.raises(ConflictError) as caught:
            Case(repository).init("c", "p")
        assert caught.value.kind == "package_exists"


def test_the_package_is_never_its_own_input(tmp_path: Path) -> None:
    with Repository.create(tmp_path / "p") as repository:
        case = Case(repository)
        with pytest.raises(InvalidError) as caught:
            case.init("c", "p", [InputFile(tmp_path, b"all")])
        assert caught.value.kind == "inside_itself"
        assert repository.reader.head_id() is None
        (tmp_path / "f").write_text("x")
        head = case.init("c", "p", [InputFile(tmp_path, b"all")], exclude=["/all/p"])
        assert [one.path for one in walk(head.objects, head.raw_input)] == [b"all/f"]


def test_more_raw_input(tmp_path: Path, case: Case) -> None:
    (tmp_path / "log").write_text("1")
    before = case.package
    added = case.input_add([input_file(tmp_path / "log")], actor="bob")
    assert added.paths == (b"log",)
    assert added.package.raw_input != before.raw_input
    assert added.package.generation.declared == {"inputs": [added.package.raw_input]}
    (event,) = added.package.generation.events
    assert (event.kind, event.actor) == ("input.add", "bob")
    # The same once more changes nothing and publishes nothing.
    again = case.input_add([input_file(tmp_path / "log")])
    assert (again.package, again.paths) == (added.package, ())
    (tmp_path / "log").write_text("2")
    with pytest.raises(InvalidError):
        case.input_add([input_file(tmp_path / "log")])
    replaced = case.input_add([input_file(tmp_path / "log")], replace=True)
    assert replaced.package.number == added.package.number + 1


def test_raw_input_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("12345")
    with Repository.create(tmp_path / "p", limits=PackageLimits(max_input_bytes=4)) as repository:
        with pytest.raises(LimitExceeded):
            Case(repository).init("c", "p", [input_file(tmp_path / "log")])
        head = Case(repository).init("c", "p")
        with pytest.raises(LimitExceeded):
            Case(repository).input_add([input_file(tmp_path / "log")])
        assert repository.pinned() == head


def test_snapshots_append_names(tmp_path: Path, case: Case) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("a")
    head = case.add_snapshot("code", "source", capturing(tmp_path / "src", "code"))
    assert head.snapshot("code").origin.label == "src"
    assert [one.kind for one in head.generation.events] == ["source.add"]
    other = case.add_snapshot("data", "database", capturing(tmp_path / "src", "data", "database"))
    assert set(other.generation.snapshots) == {"code", "data"}
    assert other.snapshot("data", kind="database").content == head.snapshot("code").content
    for taken in ("code", "data", "inputs"):
        with pytest.raises(ConflictError) as caught:
            case.add_snapshot(taken, "source", capturing(tmp_path / "src", taken))
        assert caught.value.kind == "snapshot_exists"
    for wrong in (capturing(tmp_path / "src", "x"), capturing(tmp_path / "src", "y", "database")):
        with pytest.raises(InvalidError) as bad:
            case.add_snapshot("y", "source", wrong)
        assert bad.value.kind == "bad_descriptor"
    assert case.package == other


def test_hypotheses_have_versions(case: Case) -> None:
    advance_to(case, "GENERATING_HYPOTHESES")
    first = case.set_hypotheses(ONE)
    assert case.set_hypotheses(b'[{"id":"H1","statement":"It is the cache."}]') == first
    second = case.set_hypotheses([*ONE, {"id": "H2", "statement": "It is not."}])
    found = second.hypotheses()
    assert found is not None
    assert [one.id for one in found.hypotheses] == ["H1", "H2"]
    assert (found.case_id, found.package_id, found.analysis_revision) == ("c", "p", 1)
    with pytest.raises(InvalidError):
        case.set_hypotheses(b"[]")
    assert case.package == second


def test_advance_asks_for_what_could_not_be_made_up_for(case: Case) -> None:
    assert case.advance(reason="read it").generation.events[0].reason == "read it"
    assert case.advance().state == "GENERATING_HYPOTHESES"
    with pytest.raises(StateError, match="hypotheses and budget init") as caught:
        case.advance()
    assert caught.value.kind == "not_ready"
    case.set_hypotheses(ONE)
    with pytest.raises(StateError, match="needs budget init first"):
        case.advance()
    with pytest.raises(StateError) as unexpected:
        case.advance(expect="DIAGNOSED")
    assert unexpected.value.kind == "unexpected_state"
    advance_to(case, "INVESTIGATING_HYPOTHESES")
    assert case.advance(expect="DIAGNOSED").state == "DIAGNOSED"
    assert case.advance().state == "CLOSED"
    with pytest.raises(StateError, match=r"not legal in CLOSED; legal are: reopen\.review"):
        case.advance()


@pytest.mark.parametrize(
    ("state", "refused"),
    [
        ("ADMITTED", {"hypotheses"}),
        ("INTERPRETING", {"hypotheses"}),
        ("GENERATING_HYPOTHESES", {"input"}),
        ("INVESTIGATING_HYPOTHESES", {"input"}),
        ("DIAGNOSED", {"input", "hypotheses"}),
        ("CLOSED", {"input", "hypotheses", "source", "database"}),
    ],
)
def test_what_is_refused_where(tmp_path: Path, case: Case, state: str, refused: set[str]) -> None:
    advance_to(case, state)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "f").write_text("x")
    operations = {
        "input": lambda: case.input_add([input_file(tmp_path / "src")]),
        "source": lambda: case.add_snapshot("s", "source", capturing(tmp_path / "src", "s")),
        "database": lambda: case.add_snapshot(
            "d", "database", capturing(tmp_path / "src", "d", "database")
        ),
        "hypotheses": lambda: case.set_hypotheses([{"id": "H1", "statement": "new"}]),
    }
    for name, operation in operations.items():
        before = case.package
        if name not in refused:
            operation()
            assert case.package.number == before.number + 1, name
            continue
        with pytest.raises(StateError) as caught:
            operation()
        assert state in str(caught.value)
        assert caught.value.details["state"] == state
        assert caught.value.details["legal"]
        assert case.package == before


def test_somebody_else_was_faster(tmp_path: Path, case: Case) -> None:
    (tmp_path / "src").mkdir()

    def capture(sink: ObjectSink) -> SnapshotDescriptor:
        with Repository.open(case.repository.root) as other:
            Case(other).advance()
        return capturing(tmp_path / "src", "code")(sink)

    with pytest.raises(StaleGeneration):
        case.add_snapshot("code", "source", capture)
    assert case.package.state == "INTERPRETING"
    assert case.package.generation.snapshots == {}


def test_accounts_fix_which_hypotheses_there_are(case: Case) -> None:
    advance_to(case, "INVESTIGATING_HYPOTHESES")
    before = case.package
    for ids in (["H2"], ["H1", "H2"]):
        with pytest.raises(StateError) as caught:
            case.set_hypotheses([{"id": one, "statement": "s"} for one in ids])
        assert caught.value.kind == "hypotheses_fixed"
    assert case.package == before
    assert case.set_hypotheses([{"id": "H1", "statement": "other words"}]) != before
