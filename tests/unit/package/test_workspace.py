"""A folder of packages, one per case."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import vstore.package
from vstore.errors import ConflictError, IntegrityError, InvalidError, NotFoundError, StorageError
from vstore.package.case import Case
from vstore.package.inputs import input_file
from vstore.package.reader import PackageReader
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace, check_name
from vstore.testing.clock import FrozenClock
from vstore.testing.folders import package_bytes


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "deep" / "er", actor="tester", clock=FrozenClock()) as made:
        yield made


def test_a_new_case(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "report").write_text("bug")
    head = workspace.init("CASE-1", "PKG", [input_file(tmp_path / "report")])
    assert (head.case_id, head.package_id, head.state) == ("CASE-1", "PKG", "ADMITTED")
    assert head.generation.events[0].actor == "tester"
    assert workspace.package_path("CASE-1") == workspace.root / "CASE-1"
    assert (workspace.root / "CASE-1" / "VSTORE").is_file()
    assert workspace.repository("CASE-1", "PKG").pinned() == head
    assert workspace.case("CASE-1").advance().state == "INTERPRETING"
    assert workspace.init("CASE-2").package_id == "CASE-2"
    assert workspace.cases() == ["CASE-1", "CASE-2"]


def test_a_case_has_one_package(workspace: Workspace) -> None:
    workspace.init("c", "p")
    for package in ("p", "q", None):
        with pytest.raises(ConflictError) as caught:
            workspace.init("c", package)
        assert caught.value.kind == "package_exists"
    with pytest.raises(ConflictError) as other:
        workspace.repository("c", "q")
    assert other.value.kind == "other_package"
    assert workspace.repository("c").pinned().number == 1


def test_a_refused_init_leaves_nothing_that_stops_the_next(
    tmp_path: Path, workspace: Workspace
) -> None:
    with pytest.raises(NotFoundError) as absent:
        workspace.init("c", "p", [input_file(tmp_path / "absent")])
    assert absent.value.kind == "no_file"
    assert not (workspace.root / "c").exists()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidError):
        workspace.init("c", "p", [input_file(tmp_path / "pipe")])
    with pytest.raises(NotFoundError) as caught:
        workspace.repository("c")
    assert caught.value.kind == "no_generation"
    assert workspace.init("c", "p").number == 1


def test_unknown_cases(workspace: Workspace) -> None:
    with pytest.raises(NotFoundError) as caught:
        workspace.repository("c")
    assert caught.value.kind == "unknown_case"
    workspace.init("c")
    # A package in a folder of another name is not that case's package.
    (workspace.root / "c").rename(workspace.root / "d")
    workspace.close()
    with pytest.raises(NotFoundError):
        workspace.repository("d")
    with pytest.raises(NotFoundError):
        workspace.repository("c")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "-x", "_x", "a b", "ä", "x" * 101, "a\n"]
)
def test_names_that_are_none(workspace: Workspace, name: str) -> None:
    for action in (
        lambda: workspace.init(name),
        lambda: workspace.init("c", name),
        lambda: workspace.repository(name),
        lambda: workspace.package_path(name),
    ):
        with pytest.raises(InvalidError) as caught:
            action()
        assert caught.value.kind == "invalid_name"
    assert workspace.cases() == []
    with pytest.raises(InvalidError):
        check_name(None, "case")  # type: ignore[arg-type]


def test_one_repository_per_case_and_process(workspace: Workspace) -> None:
    workspace.init("c")
    assert workspace.repository("c") is workspace.repository("c")
    before = workspace.repository("c")
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Test runners have threads; the child uses none of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # pragma: no cover - coverage doesn't see forks
        same = workspace.repository("c") is before
        Case(workspace.repository("c")).advance()
        os.write(writing, b"same" if same else b"other")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 10) == b"other"
    os.close(reading)
    os.close(writing)
    assert workspace.case("c").package.state == "INTERPRETING"
    assert workspace.repository("c") is before


def test_other_folders_are_no_cases(workspace: Workspace) -> None:
    (workspace.root / "notes").mkdir()
    (workspace.root / ".hidden").mkdir()
    (workspace.root / "file").write_text("x")
    assert workspace.cases() == []
    with pytest.raises(NotFoundError):
        workspace.only_case()
    workspace.init("c")
    assert workspace.only_case() == "c"
    workspace.init("d")
    with pytest.raises(NotFoundError, match="2 cases"):
        workspace.only_case()


def test_a_workspace_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        Workspace.open(tmp_path / "absent")
    assert caught.value.kind == "no_workspace"
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        Workspace.create(tmp_path / "file" / "below")
    gone = Workspace.create(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(StorageError):
        gone.cases()


@pytest.mark.parametrize("how", [Workspace.open, Workspace.of_package])
def test_a_package_is_a_workspace_of_one(tmp_path: Path, how: object) -> None:
    with Workspace.of_package(tmp_path / "pkg") as made:
        assert made.cases() == []
        made.init("c", "p")
        with pytest.raises(ConflictError):
            made.init("d")
    with how(tmp_path / "pkg") as workspace:  # type: ignore[operator]
        assert workspace.cases() == ["c"]
        assert workspace.only_case() == "c"
        assert workspace.package_path("c") == tmp_path / "pkg"
        assert workspace.case("c", "p").advance().state == "INTERPRETING"
        with pytest.raises(NotFoundError):
            workspace.repository("d")


def test_the_packages_front_door() -> None:
    assert vstore.package.Workspace is Workspace
    assert vstore.package.Repository is Repository
    for name in vstore.package.__all__:
        assert getattr(vstore.package, name).__name__ == name
    with pytest.raises(AttributeError):
        vstore.package.Nothing  # noqa: B018


@pytest.mark.parametrize("reopened", [False, True])
def test_nothing_is_published_to_a_package_that_was_replaced(
    tmp_path: Path, *, reopened: bool
) -> None:
    place = tmp_path / "w" / "A"
    with Workspace.create(tmp_path / "w") as workspace:
        workspace.init("A")
        workspace.case("A").advance()
        if reopened:
            workspace.close()
            assert workspace.case("A").package.number == 2
        shutil.copytree(place, tmp_path / "copy")
        shutil.rmtree(place)
        (tmp_path / "copy").rename(place)
        before = package_bytes(place)
        with pytest.raises(IntegrityError) as caught:
            workspace.case("A").advance()
        assert caught.value.kind == "history_replaced"
        assert package_bytes(place) == before
        workspace.close()
        assert workspace.case("A").advance().number == 3
    with PackageReader.open(place) as reader:
        assert reader.pinned().number == 3
