"""Taking generations over from another copy: what is taken, and what is not believed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.errors import IntegrityError, NotFoundError, StaleGeneration
from vstore.objects.store_files import FolderFiles
from vstore.package.inputs import InputFile
from vstore.package.reader import PackageReader
from vstore.package.repository import Repository
from vstore.package.transfer import IncomingHistory
from vstore.package.workspace import Workspace
from vstore.testing.editor import PackageEditor
from vstore.testing.folders import package_bytes
from vstore.verify import verify_package


@pytest.fixture
def behind(tmp_path: Path) -> Path:
    """A package, and beside it a copy that went on."""
    with Workspace.of_package(tmp_path / "ahead", actor="a") as workspace:
        workspace.init("C")
        workspace.close()
        shutil.copytree(tmp_path / "ahead", tmp_path / "behind")
        for number in range(3):
            file = tmp_path / f"f{number}"
            # The last one is large enough for a file of its own.
            file.write_bytes(b"%d" % number * (1 if number < 2 else 2 << 20))
            workspace.case("C").input_add([InputFile(file, b"f%d" % number)])
    return tmp_path / "behind"


@pytest.fixture
def incoming(behind: Path) -> Iterator[IncomingHistory]:
    found = IncomingHistory(FolderFiles(behind.with_name("ahead")))
    yield found
    found.close()


def test_what_it_knows(behind: Path, incoming: IncomingHistory) -> None:
    with PackageReader.open(behind.with_name("ahead")) as reader:
        history = [oid for oid, _ in reader.history(newest_first=False)]
        assert incoming.generations == history
        assert incoming.head == history[-1]
        assert incoming.base is None
        assert all(incoming.has(oid) for oid in history)
        for oid in history:
            assert incoming.generation(oid) == reader.generation(oid)
    assert len(list(incoming.after(history[0]))) == 3
    assert list(incoming.after(history[-1])) == []


def test_a_package_becomes_the_other(behind: Path, incoming: IncomingHistory) -> None:
    with Repository.open(behind) as repository:
        base = repository.pinned()
        head = repository.extend(base, incoming)
        assert (head.generation_id, head.number) == (incoming.head, 4)
        with pytest.raises(StaleGeneration):
            repository.extend(base, incoming)
        # A repeat from the new head adds nothing.
        before = package_bytes(behind)
        assert repository.extend(head, incoming) == head
        assert package_bytes(behind) == before
    report = verify_package(behind)
    assert report.exit_code == 0, report.findings
    with PackageReader.open(behind) as one, PackageReader.open(behind.with_name("ahead")) as other:
        assert {status.state for status in one.ref_report()} == {"current"}
        assert one.objects.refs() == other.objects.refs()


def test_an_empty_history(tmp_path: Path) -> None:
    Repository.create(tmp_path / "empty").close()
    found = IncomingHistory(FolderFiles(tmp_path / "empty"))
    with pytest.raises(NotFoundError):
        _ = found.head
    found.close()


def test_a_damaged_history(behind: Path) -> None:
    ahead = behind.with_name("ahead")
    (segment,) = (ahead / "objects" / "log").iterdir()
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    with pytest.raises(IntegrityError):
        IncomingHistory(FolderFiles(ahead))


def test_objects_that_are_not_what_they_are_called(behind: Path, tmp_path: Path) -> None:
    editor = PackageEditor(behind.with_name("ahead"))
    blob = next(one for one in editor.objects() if one.content == b"1")
    blob.content = b"2"
    forged = IncomingHistory(FolderFiles(editor.save(tmp_path / "forged")))
    with Repository.open(behind) as repository:
        base = repository.pinned()
        with pytest.raises(IntegrityError) as caught:
            repository.extend(base, forged)
        assert caught.value.kind == "bad_object"
    forged.close()
    # The one before it came in; the package is sound, and behind.
    with PackageReader.open(behind) as reader:
        assert reader.pinned().number == 2
    assert verify_package(behind).exit_code == 0


def test_a_frame_without_its_generation(behind: Path, tmp_path: Path) -> None:
    editor = PackageEditor(behind.with_name("ahead"))
    frame = editor.frames[1]
    frame.objects = [one for one in frame.objects if one.oid != frame.generation]
    lacking = IncomingHistory(FolderFiles(editor.save(tmp_path / "lacking")))
    assert frame.generation is not None
    with pytest.raises(IntegrityError) as caught:
        lacking.generation(frame.generation)
    assert caught.value.kind == "missing_generation"
    lacking.close()
    editor = PackageEditor(behind.with_name("ahead"))
    frame = editor.frames[1]
    tree = next(one for one in frame.objects if one.schema == "tree-v1")
    frame.generation = tree.oid
    wrong = IncomingHistory(FolderFiles(editor.save(tmp_path / "wrong")))
    with pytest.raises(IntegrityError) as caught:
        wrong.generation(tree.oid)
    assert caught.value.kind == "not_a_generation"
    wrong.close()
