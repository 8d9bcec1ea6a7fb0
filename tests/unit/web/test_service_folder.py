"""The service's folder: private, and never in the workspace."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from vstore.errors import InvalidError, NotFoundError, StorageError
from vstore.web.service_folder import ServiceFolder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_made_private_beside_the_workspace(tmp_path: Path) -> None:
    workspace = tmp_path / "cases"
    workspace.mkdir()
    place = ServiceFolder.beside(workspace)
    assert place == tmp_path.resolve() / "cases.testers"
    folder = ServiceFolder.open(place, workspace=workspace)
    assert mode(folder.path) == mode(folder.uploads) == 0o700
    assert folder.database_path.parent == folder.uploads.parent == place
    assert ServiceFolder.open(place, create=False) == folder


def test_a_relative_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ServiceFolder.beside(Path()) == tmp_path.resolve().with_name(tmp_path.name + ".testers")


def test_refused_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "cases" / "here")
    for place in (tmp_path / "cases", tmp_path / "cases" / "state", tmp_path / "link"):
        with pytest.raises(InvalidError) as error:
            ServiceFolder.open(place, workspace=tmp_path / "cases")
        assert error.value.kind == "state_in_workspace"
    assert not (tmp_path / "cases").exists()


def test_absent_and_not_to_be_made(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as error:
        ServiceFolder.open(tmp_path / "state", create=False)
    assert error.value.kind == "no_state"
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_becomes_private_and_a_used_one_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "state"
    place.mkdir(mode=0o755)
    place.chmod(0o755)
    ServiceFolder.open(place)
    assert mode(place) == 0o700
    place.chmod(0o750)
    with pytest.raises(InvalidError) as error:
        ServiceFolder.open(place)
    assert error.value.kind == "state_not_private"
    assert mode(place) == 0o750


def test_what_is_no_folder(tmp_path: Path) -> None:
    place = tmp_path / "state"
    place.write_text("")
    with pytest.raises(StorageError):
        ServiceFolder.open(place)
    with pytest.raises(StorageError):
        ServiceFolder.open(place / "below")
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "uploads").write_text("")
    with pytest.raises(StorageError):
        ServiceFolder.open(other)


def test_made_by_somebody_else_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, real = tmp_path / "state", Path.mkdir

    def late(self: Path, *args: Any, **options: Any) -> None:
        if self == place:
            real(self, 0o700)
        real(self, *args, **options)

    monkeypatch.setattr(Path, "mkdir", late)
    assert ServiceFolder.open(place).path == place
    assert mode(place) == 0o700
