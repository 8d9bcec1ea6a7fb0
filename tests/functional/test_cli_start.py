"""init, input, source, database: what a case starts from."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import CommandLine, make_material

Files = Callable[[Path], dict[str, bytes]]


def test_init_makes_a_package_with_the_files_as_they_are(vstore: CommandLine) -> None:
    (vstore.folder / "report.txt").write_bytes(b"\xef\xbb\xbfIt breaks\r\n\xff")
    (vstore.folder / "logs").mkdir()
    (vstore.folder / "logs" / "empty").write_bytes(b"")
    out = vstore.ok("init", "case-1", "report.txt", "logs").out
    assert "case case-1, 2 files of raw input" in out
    inside = vstore.at(vstore.folder / "case-1")
    value = inside.ok("ls-tree", "-r", "--json").json
    assert [(one["path"], one["size"]) for one in value["entries"]] == [
        ("logs/empty", 0),
        ("report.txt", 15),
    ]
    assert inside.ok("show", "HEAD:report.txt").lines == [r"\ufeffIt breaks\r", r"\xff"]


def test_init_says_what_it_made(vstore: CommandLine) -> None:
    value = vstore.ok("init", "c.1", "--path", "x/y", "--package-id", "p-1", "--json").json
    assert value["schema"] == "vstore-init/1"
    assert (value["case_id"], value["package_id"], value["files"]) == ("c.1", "p-1", 0)
    assert value["path"] == str(vstore.folder / "x" / "y")
    status = vstore.at(vstore.folder / "x" / "y").ok("status", "--json").json
    assert status["head"] == value["head"]
    assert status["package_id"] == "p-1"


def test_a_case_has_one_package(vstore: CommandLine, files_of: Files) -> None:
    vstore.ok("init", "case-1")
    before = files_of(vstore.folder / "case-1")
    vstore.refused("package_exists", "init", "case-1")
    vstore.refused("package_exists", "init", "other", "--path", "case-1")
    vstore.refused("invalid_name", "init", "../x", "--path", "y")
    assert files_of(vstore.folder / "case-1") == before


@pytest.mark.parametrize("name", ["../x", "a b", "", ".hidden", "x" * 101, "ä"])
def test_a_case_is_named_by_plain_characters(vstore: CommandLine, name: str) -> None:
    vstore.refused("invalid_name", "init", "--", name)
    assert list(vstore.folder.iterdir()) == []


def test_init_without_a_file_that_is_named(vstore: CommandLine) -> None:
    outcome = vstore.refused("no_file", "init", "case-1", "absent.txt")
    assert "absent.txt" in outcome.err
    assert list(vstore.folder.iterdir()) == []


def test_input_add(vstore: CommandLine) -> None:
    (vstore.folder / "work").mkdir()
    make_material(vstore.folder / "work")
    vstore.ok("init", "case-2")
    inside = vstore.at(vstore.folder / "case-2")
    out = inside.ok("input", "add", "../work/report.txt", "../work/tree", "--exclude", "*.bin")
    assert out.lines == [
        "added report.txt",
        "added tree/main.py",
        "added tree/pkg/__init__.py",
    ]
    again = inside.ok("input", "add", "../work/report.txt")
    assert "nothing new" in again.out
    value = inside.ok("input", "add", "../work/report.txt", "--under", "a/b", "--json").json
    assert value["added"] == ["a/b/report.txt"]
    assert value["generation"] == 3
    (vstore.folder / "work" / "report.txt").write_text("other")
    inside.refused("path_taken", "input", "add", "../work/report.txt")
    inside.ok("input", "add", "../work/report.txt", "--replace")
    assert inside.ok("show", "HEAD:report.txt").lines == ["other"]
    assert inside.ok("show", "HEAD~1:report.txt").lines == [r"It breaks.\r", "Since Tuesday."]


def test_input_add_has_its_time(investigated: CommandLine, files_of: Files) -> None:
    before = files_of(investigated.folder)
    (investigated.folder.parent / "late.txt").write_text("late")
    outcome = investigated.refused("state", "input", "add", "../late.txt")
    assert "INVESTIGATING_HYPOTHESES" in outcome.err
    assert files_of(investigated.folder) == before


def test_the_package_never_takes_itself_in(vstore: CommandLine) -> None:
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    inside.refused("inside_itself", "input", "add", vstore.folder)
    inside.refused("inside_itself", "source", "add", "app", "..")


def test_source_add_a_folder(vstore: CommandLine) -> None:
    make_material(vstore.folder)
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    out = inside.ok("source", "add", "app", "../tree", "--exclude", "*.bin").out
    assert "pinned source app (directory: tree)" in out
    assert "partial" in out
    value = inside.ok("ls-tree", "-r", "app", "--json").json
    assert [one["path"] for one in value["entries"]] == ["main.py", "pkg/__init__.py"]
    value = inside.ok("source", "add", "all", "../tree", "--label", "v1", "--json").json
    assert value["descriptor"]["origin"]["label"] == "v1"
    assert value["descriptor"]["coverage"]["kind"] == "complete"
    inside.refused("snapshot_exists", "source", "add", "app", "../tree")
    inside.refused("snapshot_exists", "source", "add", "inputs", "../tree")


def test_source_add_an_archive_and_a_revision(vstore: CommandLine) -> None:
    make_material(vstore.folder)
    with tarfile.open(vstore.folder / "app-1.tar.gz", "w:gz") as archive:
        archive.add(vstore.folder / "tree", "app-1")
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    inside.ok("source", "add", "app", "../app-1.tar.gz")
    inside.ok("source", "add", "top", "../app-1.tar.gz", "--keep-top")
    assert inside.ok("show", "app:main.py").lines[0] == "import pkg"
    assert inside.ok("show", "top:app-1/main.py").lines[0] == "import pkg"
    inside.ok("source", "add", "folder", "../tree")
    contents = [inside.ok("show", name, "--json").json["document"]["content"]
                for name in ("app", "folder")]  # fmt: skip
    assert contents[0] == contents[1]
    if shutil.which("git") is None:
        pytest.skip("no git")
    git = ["git", "-C", str(vstore.folder / "tree"), "-c", "user.name=t", "-c", "user.email=t"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    (vstore.folder / "tree" / "main.py").write_text("changed since\n")
    inside.ok("source", "add", "git", "../tree", "--rev", "HEAD")
    assert inside.ok("show", "git:main.py").lines[0] == "import pkg"
    outcome = inside("source", "add", "none", "../tree", "--rev", "nosuch")
    assert outcome.code == 1, outcome.err


def test_database_add(vstore: CommandLine) -> None:
    make_material(vstore.folder)
    (vstore.folder / "runs.jsonl").write_text('{"id": 1, "ok": true}\n{"id": 2}\n')
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    before = (vstore.folder / "bug.sqlite3").read_bytes()
    out = inside.ok("database", "add", "db", "../bug.sqlite3", "--label", "of Monday").out
    assert "pinned database db (sqlite: of Monday)" in out
    assert (vstore.folder / "bug.sqlite3").read_bytes() == before
    value = inside.ok("database", "add", "runs", "../runs.jsonl", "--json").json
    assert value["descriptor"]["origin"]["kind"] == "jsonl"
    outcome = inside("database", "add", "bad", "../report.txt")
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    inside.refused("snapshot_exists", "database", "add", "db", "../bug.sqlite3")


def test_names_of_snapshots(vstore: CommandLine) -> None:
    make_material(vstore.folder)
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    for name in ("App", "a b", "1a", "ä"):
        for words in (
            ("source", "add", name, "../tree"),
            ("database", "add", name, "../bug.sqlite3"),
        ):
            outcome = inside(*words)
            assert outcome.code == 1, (words, outcome)
            assert "fault" not in outcome.err
