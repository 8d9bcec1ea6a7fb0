"""Descriptors of pinned sources: identity, origin, coverage."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from vstore.errors import InvalidError, LimitExceeded, NotFoundError
from vstore.objects.memory import MemoryObjects
from vstore.package.documents import SnapshotDescriptor
from vstore.package.limits import PackageLimits
from vstore.testing.pinned import build_tree
from vstore.tools.archive_members import ArchiveLimits
from vstore.tools.capture_source import capture_source

FILES = {b"PKG-INFO": b"Name: p\n", b"p.py": b"x = 1\n", b"doc/p.txt": b"text\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "p-1.0"
    for name, content in FILES.items():
        path = top / name.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return top


@pytest.fixture
def sdist(folder: Path) -> Path:
    path = folder.parent / "p-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in FILES.items():
            member = tarfile.TarInfo("p-1.0/" + name.decode())
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def capture(path: Path, **arguments: object) -> SnapshotDescriptor:
    objects = MemoryObjects()
    found = capture_source(path, objects, name="code", **arguments)  # type: ignore[arg-type]
    objects.put_document(found)  # it is valid by its own schema
    return found


def test_folder_archive_and_revision_have_one_identity(folder: Path, sdist: Path) -> None:
    run = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run([*run, "commit", "-qm", "one"], cwd=folder, check=True)
    revision = capture(folder, revision="HEAD")
    unpacked = capture(folder, exclude=[".git"])
    packed = capture(sdist)
    expected = build_tree(MemoryObjects(), FILES)
    assert {revision.content, unpacked.content, packed.content} == {expected}
    assert revision.origin.kind == "git"
    assert len(revision.origin.label) == 40
    assert revision.coverage.kind == "complete"
    assert revision.coverage.statement == "Everything in the revision: 3 files."
    assert unpacked.coverage.kind == "partial"


def test_folder(folder: Path) -> None:
    (folder / "link").symlink_to("p.py")
    found = capture(folder)
    assert (found.name, found.kind) == ("code", "source")
    assert (found.origin.kind, found.origin.label, found.origin.digest) == (
        "directory",
        "p-1.0",
        None,
    )
    assert found.coverage.kind == "complete"
    assert found.coverage.statement == (
        "Everything in the folder: 3 files. "
        "1 symbolic link, kept as such: not listed, not searched."
    )


def test_sdist(sdist: Path) -> None:
    found = capture(sdist)
    assert (found.origin.kind, found.origin.label) == ("sdist", "p-1.0.tar.gz")
    assert found.origin.digest is not None
    assert found.coverage.statement == (
        "Everything in the source distribution: 3 files. "
        "Paths are below the archive's one top folder."
    )
    kept = capture(sdist, strip_top=False)
    assert kept.origin.kind == "tar"
    assert kept.content != found.content


def test_what_is_left_out_is_part_of_the_coverage(folder: Path) -> None:
    found = capture(folder, exclude=["doc/", "*.pyc", "\x1b"], statement="Release 1.0. ")
    assert found.coverage.kind == "partial"
    assert found.coverage.statement == (
        "Release 1.0. Of the folder: 2 files. Left out by 'doc/', '*.pyc', '\\x1b': 1 path."
    )
    nothing = capture(folder, exclude=["absent"])
    assert nothing.coverage.kind == "complete"
    assert nothing.coverage.statement.endswith("Left out by 'absent': 0 paths.")
    many = capture(folder, exclude=["x" * 900 + str(number) for number in range(100)])
    assert many.coverage.statement.endswith("Left out by 100 patterns: 0 paths.")


def test_the_operator_may_say_that_it_is_partial(folder: Path) -> None:
    found = capture(folder, partial=True, label="main at noon", statement=" ")
    assert found.coverage.kind == "partial"
    assert found.coverage.statement.startswith("Everything in the folder")
    assert found.origin.label == "main at noon"


@pytest.mark.parametrize("name", ["inputs", "", "Code", "a-b", "1a", "a" * 65, "a\n", "a/b"])
def test_names(folder: Path, name: str) -> None:
    objects = MemoryObjects()
    with pytest.raises(InvalidError) as caught:
        capture_source(folder, objects, name=name)
    assert caught.value.kind == "invalid_name"
    assert len(objects) == 0


def test_words_have_bounds(folder: Path) -> None:
    assert capture(folder, label="x" * 1000, statement="x" * 10_000)
    for arguments in ({"label": "x" * 1001}, {"statement": "x" * 10_001}):
        with pytest.raises(InvalidError) as caught:
            capture(folder, **arguments)
        assert caught.value.kind == "statement_too_long"


def test_limits_of_both_kinds(folder: Path, sdist: Path) -> None:
    for path in (folder, sdist):
        for limits in (
            PackageLimits(max_input_files=2),
            ArchiveLimits(package=PackageLimits(max_input_files=2)),
        ):
            with pytest.raises(LimitExceeded):
                capture(path, limits=limits)


def test_a_folder_that_must_not_be_entered(folder: Path) -> None:
    with pytest.raises(InvalidError) as caught:
        capture(folder, never_enter=[folder / "doc"])
    assert caught.value.kind == "inside_itself"


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        capture(tmp_path / "absent")


def test_a_file_name_that_is_not_utf8(tmp_path: Path, sdist: Path) -> None:
    import os

    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/p\xff.tar.gz"))
    odd.write_bytes(sdist.read_bytes())
    assert capture(odd).origin.label == "p\\udcff.tar.gz"
