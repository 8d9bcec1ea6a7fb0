"""Durable I/O: what each operation does, and how failures are told."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from vstore.errors import StorageError
from vstore.objects.durable import REAL, storage_error


def test_atomic_writes(tmp_path: Path) -> None:
    path, temporary = tmp_path / "file", tmp_path / "temporary"
    for durable, content in ((True, b"one"), (False, b"two")):
        REAL.write_atomic(path, content, temporary=temporary, durable=durable)
        assert path.read_bytes() == content
        assert not temporary.exists()
    temporary.write_bytes(b"somebody's")
    with pytest.raises(StorageError):
        REAL.write_atomic(path, b"three", temporary=temporary, durable=True)
    assert path.read_bytes() == b"two"
    temporary.unlink()
    (tmp_path / "folder/below").mkdir(parents=True)
    with pytest.raises(StorageError):
        REAL.write_atomic(tmp_path / "folder", b"x", temporary=temporary, durable=True)
    assert not temporary.exists()


def test_appending(tmp_path: Path) -> None:
    path = tmp_path / "file"
    fd = REAL.create(path)
    REAL.write(fd, b"one")
    REAL.close(fd)
    fd = REAL.open_append(path)
    REAL.write(fd, b"two")
    REAL.sync(fd)
    REAL.close(fd)
    REAL.close(fd)
    REAL.sync_file(path)
    assert path.read_bytes() == b"onetwo"


def test_folders(tmp_path: Path) -> None:
    REAL.mkdir(tmp_path / "new")
    REAL.mkdir(tmp_path / "new")
    REAL.sync_folder(tmp_path / "new")
    (tmp_path / "file").touch()
    with pytest.raises(StorageError):
        REAL.mkdir(tmp_path / "file")
    with pytest.raises(StorageError) as caught:
        REAL.sync_folder(tmp_path / "absent")
    assert caught.value.details["outcome"] == "unknown"


def test_every_failure_is_a_storage_error(tmp_path: Path) -> None:
    absent = tmp_path / "absent/file"
    read_only = os.open(tmp_path, os.O_RDONLY)
    for attempt in (
        lambda: REAL.create(absent),
        lambda: REAL.open_append(absent),
        lambda: REAL.replace(absent, tmp_path / "other"),
        lambda: REAL.unlink(tmp_path),
        lambda: REAL.write(read_only, b"x"),
        lambda: REAL.write_temporary(absent, b"x", sync=False),
    ):
        with pytest.raises(StorageError) as caught:
            attempt()
        assert caught.value.details["outcome"] == "none"
    os.close(read_only)
    REAL.unlink(tmp_path / "file that is not there")
    REAL.discard(tmp_path)
    read, write = os.pipe()
    with pytest.raises(StorageError) as caught:
        REAL.sync(write)
    assert caught.value.kind == "outcome_unknown"
    os.close(read)
    os.close(write)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk() -> None:
    fd = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(StorageError) as caught:
        REAL.write(fd, b"x")
    assert caught.value.kind == "disk_full"
    os.close(fd)


def test_a_write_that_is_cut_short_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fd = REAL.create(tmp_path / "file")
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, chunk: whole(fd, bytes(chunk[:3])))
    REAL.write(fd, b"0123456789")
    assert (tmp_path / "file").read_bytes() == b"0123456789"
    answers = iter([3, 0])
    monkeypatch.setattr(os, "write", lambda fd, chunk: next(answers))
    with pytest.raises(StorageError):
        REAL.write(fd, b"0123456789")
    REAL.close(fd)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, "disk_full"),
        (errno.EDQUOT, "disk_full"),
        (errno.EROFS, "read_only"),
        (errno.EIO, "storage"),
        (None, "storage"),
    ],
)
def test_kinds(number: int | None, kind: str) -> None:
    error = OSError() if number is None else OSError(number, "said so")
    assert storage_error(error, "write").kind == kind
    assert storage_error(error, "sync", outcome="unknown").kind == "outcome_unknown"
