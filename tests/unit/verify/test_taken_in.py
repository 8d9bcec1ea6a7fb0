"""Files in a package's folder that are raw input too: no warning while they are the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.controller.bundles import create_bundle
from vstore.package.inputs import InputFile
from vstore.package.workspace import Workspace
from vstore.testing.bundles import edit_archive
from vstore.testing.editor import PackageEditor
from vstore.testing.investigation import CASE, INSTANT, PACKAGE
from vstore.verify import verify_package

NAMES = (b"report.txt", b"logs/app.log", b"logs/deep/er.log", b"caf\xc3\xa9", b"raw\xff", b"empty")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Each file of the raw input lies in the folder too, as whoever worked there left it."""
    scratch = tmp_path / "scratch"
    files = []
    for name in NAMES:
        path = Path(os.fsdecode(os.fsencode(scratch) + b"/" + name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if name == b"empty" else b"content of " + name)
        files.append(InputFile(path, name))
    with Workspace.of_package(tmp_path / "case", clock=lambda: INSTANT) as workspace:
        workspace.init(CASE, PACKAGE, files)
    shutil.copytree(scratch, tmp_path / "case", dirs_exist_ok=True)
    return tmp_path / "case"


def warned(package: Path) -> list[str | None]:
    report = verify_package(package)
    assert report.exit_code == 0
    assert report.codes() <= {"VS-CON-003"}
    return [one.file for one in report.findings]


def test_what_was_taken_in_is_known(package: Path) -> None:
    assert warned(package) == []


def put(name: str, content: bytes) -> Callable[[Path], object]:
    def change(package: Path) -> None:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes(content)

    return change


@pytest.mark.parametrize(
    ("change", "files"),
    [
        (put("report.txt", b"content of report.tx!"), ["report.txt"]),
        (put("report.txt", b"content of report.txt and more"), ["report.txt"]),
        (put("report.txt", b""), ["report.txt"]),
        (put("other.txt", b"content of report.txt"), ["other.txt"]),
        (put("logs/report.txt", b"content of report.txt"), ["logs/report.txt"]),
        (put("logs/new/x", b""), ["logs/new", "logs/new/x"]),
        (lambda package: (package / "logs2").mkdir(), ["logs2"]),
        (
            lambda package: ((package / "empty").unlink(), (package / "empty").mkdir()),
            ["empty"],
        ),
        (
            lambda package: (shutil.rmtree(package / "logs"), (package / "logs").touch()),
            ["logs"],
        ),
    ],
    ids=["a byte", "more", "less", "another name", "another folder", "a file below", "a folder",
         "a folder for a file", "a file for a folder"],
)  # fmt: skip
def test_what_differs_is_not(
    package: Path, change: Callable[[Path], object], files: list[str]
) -> None:
    change(package)
    assert warned(package) == files


def test_a_link_is_a_fault_whatever_it_leads_to(package: Path) -> None:
    (package / "report.txt").unlink()
    (package / "report.txt").symlink_to("logs/app.log")
    assert "VS-CON-004" in verify_package(package).codes()


def test_names_of_the_package_itself_belong_to_nobody_else(tmp_path: Path) -> None:
    """Raw input may have any path; in the folder these are the package's own."""
    scratch = tmp_path / "file"
    scratch.write_bytes(b"content")
    names = (b"refs/UPPER", b"objects/notes", b"objects/log/readme")
    with Workspace.of_package(tmp_path / "case", clock=lambda: INSTANT) as workspace:
        workspace.init(CASE, PACKAGE, [InputFile(scratch, name) for name in names])
    for name in names:
        (tmp_path / "case" / name.decode()).write_bytes(b"content")
    assert warned(tmp_path / "case") == ["objects/log/readme", "objects/notes", "refs/UPPER"]


def test_nothing_is_known_where_the_story_ends_early(package: Path) -> None:
    (log,) = (package / "objects" / "log").iterdir()
    raw = bytearray(log.read_bytes())
    raw[len(raw) - 100] ^= 1
    log.write_bytes(raw + b"more")
    report = verify_package(package)
    assert "report.txt" in {one.file for one in report.findings if one.code == "VS-CON-003"}


def test_a_bundle_has_no_such_files(package: Path, tmp_path: Path) -> None:
    create_bundle(package, tmp_path / "good.zip")
    bad = edit_archive(
        tmp_path / "good.zip",
        tmp_path / "bad.zip",
        lambda members: members.append(("report.txt", b"content of report.txt")),
    )
    assert verify_package(bad).codes() == {"VS-CON-018"}


def test_comparing_has_an_end(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names for one large object may be many: what is compared is bounded."""
    sizes = sum(len(b"content of " + name) for name in NAMES if name != b"empty")
    monkeypatch.setattr("vstore.verify.checks.taken_in.MAX_COMPARED", sizes)
    assert warned(package) == []
    monkeypatch.setattr("vstore.verify.checks.taken_in.MAX_COMPARED", sizes - 1)
    assert len(warned(package)) == 1


def test_a_raw_input_that_cannot_be_read_claims_nothing(package: Path, tmp_path: Path) -> None:
    editor = PackageEditor(package)
    tree = editor.find("tree-v1", -1)
    editor.edit(tree, lambda value: value["entries"].reverse())
    editor.rechain()
    report = verify_package(editor.save(tmp_path / "edited"))
    assert report.exit_code == 1
    assert "VS-VER-001" not in report.codes()
