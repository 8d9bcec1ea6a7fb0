from __future__ import annotations

from pathlib import Path

import pytest

from vstore.controller.bundles import create_bundle
from vstore.errors import IntegrityError, NotFoundError, UnsupportedError
from vstore.objects.ids import object_id
from vstore.package.reader import PackageReader, discover
from vstore.testing.bundles import edit_archive, make_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundle"))


def test_reads_what_the_folder_has(bundle: Path) -> None:
    with (
        PackageReader.open(bundle.with_name("package")) as folder,
        PackageReader.open(bundle) as packed,
    ):
        assert packed.sealed
        assert not folder.sealed
        assert packed.root == bundle
        assert packed.head_id() == folder.head_id()
        assert list(packed.history()) == list(folder.history())
        assert packed.ref_report() == folder.ref_report()
        assert packed.unclaimed() == []
        assert packed.refresh() is False
        for name in ("HEAD~3", "E000002", "g7", "evidence_index", "inputs"):
            assert packed.resolve(name) == folder.resolve(name)
        for frame in folder.objects.frames():
            for entry, content in folder.objects.frame_objects(frame):
                assert packed.objects.get(entry.oid) == content
        assert object_id(b"absent") not in packed.objects
        with pytest.raises(NotFoundError):
            packed.objects.get(object_id(b"absent"))


def test_is_found_by_its_path_and_not_by_what_lies_in_it(bundle: Path, tmp_path: Path) -> None:
    assert discover(bundle) == bundle
    # A file that is no bundle is none, wherever it lies.
    inside = bundle.with_name("package") / "text"
    inside.write_bytes(b"text")
    try:
        with pytest.raises(NotFoundError):
            PackageReader.open(inside)
    finally:
        inside.unlink()


def test_refuses_what_is_not_whole(bundle: Path, tmp_path: Path) -> None:
    with PackageReader.open(bundle) as reader:
        create_bundle(reader, tmp_path / "i.zip", since=reader.resolve("HEAD~1"))
    with pytest.raises(UnsupportedError) as caught:
        PackageReader.open(tmp_path / "i.zip")
    assert caught.value.kind == "incremental_bundle"
    bare = edit_archive(bundle, tmp_path / "a.zip", lambda members: members.pop(0) and None)
    with pytest.raises(NotFoundError):
        PackageReader.open(bare)
    gap = edit_archive(
        bundle,
        tmp_path / "b.zip",
        lambda members: members.__setitem__(-1, ("objects/log/00000002.vlog", members[-1][1])),
    )
    with pytest.raises(IntegrityError):
        PackageReader.open(gap)
    (tmp_path / "c.zip").write_bytes(bundle.read_bytes() + b"x")
    with pytest.raises(IntegrityError):
        PackageReader.open(tmp_path / "c.zip")
