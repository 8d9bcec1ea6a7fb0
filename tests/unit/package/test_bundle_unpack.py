from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from vstore.errors import ConflictError, IntegrityError, StorageError, UnsupportedError
from vstore.package.bundle_file import BundleFile
from vstore.package.bundle_unpack import check_free, unpack_bundle
from vstore.testing.bundles import edit_archive, make_bundle, members_of
from vstore.testing.faults import FaultyIO, RecordingIO
from vstore.verify import verify_package


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundle"))


def _unpack(bundle: Path, target: Path, **options: FaultyIO | RecordingIO) -> None:
    file = BundleFile(bundle)
    try:
        unpack_bundle(file, target, **options)  # type: ignore[arg-type]
    finally:
        file.close()


def _files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_makes_the_package(bundle: Path, tmp_path: Path) -> None:
    io = RecordingIO()
    _unpack(bundle, tmp_path / "made", io=io)
    assert _files(tmp_path / "made") == dict(members_of(bundle))
    assert verify_package(tmp_path / "made").exit_code == 0
    created = [one.path.name for one in io.operations if one.name == "create"]
    assert created[-1] == "VSTORE"
    # Every file and folder is synced before the rename, and the rename after.
    names = [one.name for one in io.operations]
    assert names[-2:] == ["replace", "sync_folder"]
    assert names.count("sync") == len(created)
    folders = {one.path for one in io.operations if one.name == "mkdir"}
    assert folders <= {one.path for one in io.operations if one.name == "sync_folder"}


def test_an_empty_folder_is_taken(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    _unpack(bundle, tmp_path / "made")
    assert (tmp_path / "made/VSTORE").is_file()


def test_nothing_is_overwritten(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_bytes(b"")
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("full", "file", "link"):
        with pytest.raises(ConflictError) as caught:
            _unpack(bundle, tmp_path / name)
        assert caught.value.kind == "exists"
    check_free(tmp_path / "absent")


def test_a_disk_that_fails_leaves_nothing(bundle: Path, tmp_path: Path) -> None:
    io = RecordingIO()
    _unpack(bundle, tmp_path / "made", io=io)
    shutil.rmtree(tmp_path / "made")
    for at in range(len(io.operations)):
        with pytest.raises(StorageError):
            _unpack(bundle, tmp_path / "made", io=FaultyIO(at, errno.ENOSPC))
        left = list(tmp_path.iterdir())
        # Only the last sync comes when all is in place.
        assert left == ([tmp_path / "made"] if at == len(io.operations) - 1 else [])


def test_what_is_no_sound_bundle(bundle: Path, tmp_path: Path) -> None:
    foreign = edit_archive(
        bundle, tmp_path / "a.zip", lambda members: members.append(("../evil", b""))
    )
    with pytest.raises(IntegrityError):
        _unpack(foreign, tmp_path / "made")
    partial = edit_archive(
        bundle, tmp_path / "b.zip", lambda members: members.insert(1, ("BUNDLE", b"{}\n"))
    )
    with pytest.raises(UnsupportedError):
        _unpack(partial, tmp_path / "made")
    raw = bytearray(bundle.read_bytes())
    raw[raw.index(b"VSTORE") + 10] ^= 1
    (tmp_path / "c.zip").write_bytes(raw)
    with pytest.raises(IntegrityError):
        _unpack(tmp_path / "c.zip", tmp_path / "made")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip", "c.zip"]
