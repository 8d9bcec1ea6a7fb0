from __future__ import annotations

import os
from pathlib import Path

import pytest

from vstore.errors import LimitExceeded, StorageError
from vstore.verify.folder import FolderSource


def test_lists_everything_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "b/c").mkdir(parents=True)
    (tmp_path / "b/c/file").write_bytes(b"12345")
    (tmp_path / "a").symlink_to("b")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / os.fsdecode(b"\xff")).write_bytes(b"")
    assert [tuple(one) for one in FolderSource(tmp_path).entries()] == [
        ("a", "special", 0),
        ("b", "folder", 0),
        ("b/c", "folder", 0),
        ("b/c/file", "file", 5),
        ("pipe", "special", 0),
        ("\udcff", "file", 0),
    ]


def test_folders_nested_too_deep_are_special(tmp_path: Path) -> None:
    (tmp_path / "/".join("d" * 40)).mkdir(parents=True)
    kinds = [one.kind for one in FolderSource(tmp_path).entries()]
    assert kinds == ["folder"] * 32 + ["special"]


def test_more_files_than_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for number in range(5):
        (tmp_path / "b" / str(number)).touch()
    (tmp_path / "a").touch()
    assert len(list(FolderSource(tmp_path, max_files=7).entries())) == 7
    source = FolderSource(tmp_path, max_files=6)
    for _ in range(2):
        found = source.entries()
        assert [next(found).path, next(found).path] == ["a", "b"]
        with pytest.raises(LimitExceeded) as caught:
            next(found)
        assert caught.value.details["limit"] == "max_files"
        assert caught.value.details["path"] == "b/"


def test_what_a_writer_puts_away_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    found = FolderSource(tmp_path).entries()
    assert next(found).path == "a"
    (tmp_path / "b").unlink()
    assert list(found) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        list(FolderSource(tmp_path / "absent").entries())


def test_reads_ordinary_files_only(tmp_path: Path) -> None:
    source = FolderSource(tmp_path)
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with source.open("file") as stream:
        assert stream.read() == b"12345"
    for name in ("link", "pipe", "folder"):
        with pytest.raises(StorageError) as caught:
            source.open(name)
        assert caught.value.kind != "no_file"
    for name in ("absent", "file/below"):
        with pytest.raises(StorageError) as caught:
            source.open(name)
        assert caught.value.kind == "no_file"
