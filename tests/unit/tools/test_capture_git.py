"""One revision of a repository, from its objects alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from vstore.errors import (
    InvalidError,
    LimitExceeded,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import walk
from vstore.package.limits import PackageLimits
from vstore.tools.capture_git import capture_revision

LARGE = b"large file\n" * 100_000


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("repository")
    git(top, "init", "-q", "-b", "main")
    (top / "a.py").write_bytes(b"one\r\n")
    (top / "run.sh").write_bytes(b"#!/bin/sh\n")
    (top / "run.sh").chmod(0o755)
    (top / "link").symlink_to("/etc/passwd")
    (top / "sub").mkdir()
    (top / "sub" / "large").write_bytes(LARGE)
    (top / "empty").write_bytes(b"")
    Path(os.fsdecode(os.fsencode(top) + b"/raw\xff name")).write_bytes(b"raw")
    # Neither attributes nor filters take part.
    (top / ".gitattributes").write_bytes(b"* text eol=crlf\nsecret export-ignore\n$Id$ ident\n")
    (top / "secret").write_bytes(b"exported all the same\n")
    git(top, "-c", "core.autocrlf=false", "add", "-A")
    git(top, "commit", "-q", "-m", "one")
    git(top, "tag", "v1")
    (top / "a.py").write_bytes(b"two\n")
    git(top, "commit", "-q", "-am", "two")
    (top / "a.py").write_bytes(b"never committed\n")
    return top


def test_a_revision_is_its_blobs(repository: Path) -> None:
    objects = MemoryObjects()
    found = capture_revision(repository, "v1", objects)
    assert found.commit == git(repository, "rev-parse", "v1^{commit}")
    listed = {
        path: (entry.kind, entry.executable, objects.get(entry.object))
        for path, entry in walk(objects, found.tree.root)
    }
    expected = {}
    run = {"cwd": repository, "check": True, "stdout": subprocess.PIPE}
    lines = subprocess.run(["git", "ls-tree", "-r", "-z", "v1"], **run).stdout.split(b"\0")
    for line in lines[:-1]:
        facts, path = line.split(b"\t")
        mode, _, git_id = facts.split()
        blob = subprocess.run(["git", "cat-file", "blob", git_id], **run).stdout
        kind = "link" if mode == b"120000" else "file"
        expected[path] = (kind, mode == b"100755", blob)
    assert listed == expected
    assert listed[b"sub/large"] == ("file", False, LARGE)
    assert listed[b"raw\xff name"] == ("file", False, b"raw")
    assert (found.tree.files, found.tree.links, found.excluded) == (7, 1, 0)


def test_what_is_not_committed_is_not_there(repository: Path) -> None:
    objects = MemoryObjects()
    found = capture_revision(repository, "main", objects)
    contents = [objects.get(entry.object) for _, entry in walk(objects, found.tree.root)]
    assert b"two\n" in contents
    assert b"never committed\n" not in contents


def test_a_bare_repository_gives_the_same(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    roots = {
        capture_revision(path, "v1", MemoryObjects()).tree.root
        for path in (repository, tmp_path / "bare.git")
    }
    assert len(roots) == 1


def test_exclude(repository: Path) -> None:
    found = capture_revision(repository, "v1", MemoryObjects(), exclude=["sub/", "*.py"])
    assert (found.tree.files, found.excluded) == (5, 2)


def test_the_environment_does_not_choose_the_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    assert capture_revision(repository, "v1", MemoryObjects()).tree.files == 7


@pytest.mark.parametrize(
    "revision", ["absent", "", "--all", "v1^{tree}", "v1:a.py", "a\0b", "0" * 40]
)
def test_unknown_revisions(repository: Path, revision: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        capture_revision(repository, revision, MemoryObjects())
    assert caught.value.kind == "unknown_revision"


def test_no_repository(repository: Path, tmp_path: Path) -> None:
    # Not even where a folder above is one.
    for path in (tmp_path, tmp_path / "absent", repository / "sub"):
        with pytest.raises(NotFoundError) as caught:
            capture_revision(path, "HEAD", MemoryObjects())
        assert caught.value.kind == "not_a_repository"


def test_a_submodule_must_be_left_out(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "top")
    top = tmp_path / "top"
    commit = git(repository, "rev-parse", "HEAD")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{commit},vendored")
    (top / "a").write_bytes(b"a")
    git(top, "add", "a")
    git(top, "commit", "-q", "-m", "one")
    with pytest.raises(InvalidError) as caught:
        capture_revision(top, "HEAD", MemoryObjects())
    assert caught.value.kind == "not_representable"
    assert "vendored" in str(caught.value)
    found = capture_revision(top, "HEAD", MemoryObjects(), exclude=["vendored"])
    assert (found.tree.files, found.excluded) == (1, 1)


@pytest.mark.parametrize("name", ["max_input_bytes", "max_input_files", "max_file_bytes"])
def test_limits(repository: Path, name: str) -> None:
    objects = MemoryObjects()
    with pytest.raises(LimitExceeded) as caught:
        capture_revision(repository, "v1", objects, limits=PackageLimits(**{name: 5}))
    assert caught.value.details["limit"] == name
    assert len(objects) == 0


def lose(repository: Path, expression: str) -> None:
    git_id = git(repository, "rev-parse", expression)
    (repository / ".git" / "objects" / git_id[:2] / git_id[2:]).unlink()


@pytest.mark.parametrize("expression", ["HEAD:f", "HEAD^{tree}"])
def test_a_repository_that_lacks_objects(tmp_path: Path, expression: str) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "f").write_bytes(b"content")
    git(tmp_path, "add", "f")
    git(tmp_path, "commit", "-q", "-m", "one")
    lose(tmp_path, expression)
    with pytest.raises(InvalidError) as caught:
        capture_revision(tmp_path, "HEAD", MemoryObjects())
    assert caught.value.kind == "damaged_repository"


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError) as caught:
        capture_revision(repository, "v1", MemoryObjects())
    assert caught.value.kind == "no_git"
    broken = tmp_path / "git"
    broken.write_bytes(b"\x7fELF no program")
    broken.chmod(0o755)
    with pytest.raises(StorageError):
        capture_revision(repository, "v1", MemoryObjects())


def test_a_git_that_dies_or_lies(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "git"
    real = subprocess.run(["which", "git"], check=True, capture_output=True).stdout.decode().strip()
    for answer in ("exit 0", "echo lie blob 99999; cat >/dev/null", "printf 'x blob 5\\nab'"):
        fake.write_text(
            f'#!/bin/sh\ncase "$*" in *cat-file*) {answer};; *) exec {real} "$@";; esac\n'
        )
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        with pytest.raises(InvalidError) as caught:
            capture_revision(repository, "v1", MemoryObjects())
        assert caught.value.kind == "damaged_repository"
