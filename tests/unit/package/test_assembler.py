"""The raw input identity: what changes it, what doesn't, and how a change is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vstore.controller import CaseLifecycle
from vstore.errors import InvalidError, LimitExceeded
from vstore.package.assembler import CaseAssembler
from vstore.package.inputs import InputFile
from vstore.package.limits import PackageLimits
from vstore.package.reader import PackageReader
from vstore.package.workspace import Workspace
from vstore.testing.folders import package_bytes
from vstore.testing.investigation import CASE, PACKAGE, small_investigation


@pytest.fixture
def package(tmp_path: Path) -> Path:
    report = tmp_path / "report.txt"
    report.write_bytes(b"it fails\n")
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.log").write_bytes(b"a\r\n")
    with Workspace.of_package(tmp_path / "package") as workspace:
        workspace.init("C", "P", [InputFile(report, b"report.txt"), InputFile(folder, b"logs")])
    return tmp_path / "package"


def assembler(package: Path) -> CaseAssembler:
    return CaseAssembler(PackageReader.open(package))


def test_nothing_lies_around(package: Path) -> None:
    one = assembler(package)
    assert not one.undeclared()
    assembled = one.assemble()
    assert assembled.identity == assembled.accepted == one.identity()
    assert not assembled.is_new_input
    assert assembled.paths == ()


def test_a_declared_file_that_lies_there_is_not_new(package: Path) -> None:
    (package / "report.txt").write_bytes(b"it fails\n")
    (package / "logs").mkdir()
    (package / "logs" / "a.log").write_bytes(b"a\r\n")
    assert not assembler(package).undeclared()


@pytest.mark.parametrize(
    ("path", "content", "mode", "new"),
    [
        ("late.log", b"x", 0o644, True),
        ("logs/b.log", b"", 0o644, True),
        ("report.txt", b"it fails\r\n", 0o644, False),
        ("report.txt", b"it fails\n", 0o755, False),
        ("logs/a.log", b"a\n", 0o644, False),
    ],
)
def test_new_and_changed_files(
    package: Path, path: str, content: bytes, mode: int, new: bool
) -> None:
    target = package / path
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content)
    target.chmod(mode)
    one = assembler(package)
    before = package_bytes(package)
    found = one.undeclared()
    assert found
    name = path.encode()
    assert (found.new, found.changed) == (((name,), ()) if new else ((), (name,)))
    assembled = one.assemble()
    assert assembled.is_new_input
    assert assembled.paths == (name,)
    assert package_bytes(package) == before
    # Taking them in by the controlled path gives this very identity.
    with Workspace.of_package(package) as workspace:
        added = workspace.case("C").input_add(one.files(), replace=True)
        assert added.package.raw_input == assembled.identity
    assert not assembler(package).undeclared()


def test_links_and_empty_folders(package: Path) -> None:
    (package / "report.txt").symlink_to("elsewhere")
    (package / "empty").mkdir()
    one = assembler(package)
    assert (one.undeclared().new, one.undeclared().changed) == ((b"empty/",), (b"report.txt",))
    assembled = one.assemble()
    assert assembled.paths == (b"empty/", b"report.txt")
    with Workspace.of_package(package) as workspace:
        added = workspace.case("C").input_add(one.files(), replace=True)
        assert added.package.raw_input == assembled.identity


def test_names_that_are_not_utf8(package: Path) -> None:
    (package / os.fsdecode(b"\xff\xfe.log")).write_bytes(b"x")
    one = assembler(package)
    assert one.undeclared().new == (b"\xff\xfe.log",)
    assert one.assemble().paths == (b"\xff\xfe.log",)


def test_what_cannot_be_taken_in(package: Path, tmp_path: Path) -> None:
    os.mkfifo(package / "pipe")
    one = assembler(package)
    assert one.undeclared().new == (b"pipe",)
    with pytest.raises(InvalidError):
        one.assemble()
    (package / "pipe").unlink()
    (package / "report.txt").write_bytes(b"other")
    with pytest.raises(InvalidError) as caught:
        one.assemble(replace=False)
    assert caught.value.kind == "path_taken"
    small = CaseAssembler(PackageReader.open(package), limits=PackageLimits(max_file_bytes=3))
    with pytest.raises(LimitExceeded):
        small.assemble()
    (tmp_path / "big").write_bytes(b"x" * (1 << 20) + b"y")
    assembled = one.assemble([InputFile(tmp_path / "big", b"big")])
    assert assembled.paths == (b"big",)
    small = CaseAssembler(PackageReader.open(package), limits=PackageLimits(max_file_bytes=1 << 20))
    with pytest.raises(LimitExceeded):
        small.assemble([InputFile(tmp_path / "big", b"big")])


def test_evidence_and_budget_leave_the_identity_alone(tmp_path: Path) -> None:
    one = small_investigation(tmp_path / "package", tmp_path)
    package = one.workspace.case(CASE).package
    first = next(
        generation for _, generation in PackageReader.open(one.root).history(newest_first=False)
    )
    assert package.raw_input == first.inputs
    one.workspace.case(CASE).advance()
    life = CaseLifecycle(one.workspace)
    # A review without files starts a revision on the same raw input.
    assert life.reopen(CASE, PACKAGE, "review", reason="x").package.raw_input == first.inputs
    one.close()


def test_the_controlled_path_from_a_working_state(tmp_path: Path) -> None:
    one = small_investigation(tmp_path / "package", tmp_path)
    (one.root / "late.log").write_bytes(b"late")
    found = assembler(one.root)
    assembled = found.assemble()
    done = CaseLifecycle(one.workspace).reopen(
        CASE, PACKAGE, "new_input", reason="x", files=found.files()
    )
    assert done.package.raw_input == assembled.identity
    assert done.paths == (b"late.log",)
    assert not assembler(one.root).undeclared()
    one.close()


def test_a_damaged_raw_input_claims_nothing(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package / "report.txt").write_bytes(b"other")
    one = assembler(package)

    def damaged() -> None:
        raise InvalidError("damaged")

    monkeypatch.setattr(one._reader, "pinned", damaged)
    assert one.undeclared().new == (b"report.txt",)
