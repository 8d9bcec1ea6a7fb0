"""Packing, sending, reading and unpacking a package on the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vstore.testing.bundles import members_of, write_archive

from .conftest import CommandLine

READING = [
    ["status"],
    ["status", "--json"],
    ["log"],
    ["log", "-n", "2", "--oneline"],
    ["log", "--json"],
    ["show", "E000001"],
    ["show", "HEAD~1", "--json"],
    ["show", "app:main.py"],
    ["evidence"],
    ["evidence", "--json", "-H", "H2"],
    ["hypotheses"],
    ["budget", "show", "--policy"],
    ["cat-object", "HEAD"],
    ["ls-tree", "-r", "app"],
    ["ls-tree", "HEAD"],
    ["ls-refs"],
    ["rev-parse", "--short", "HEAD", "E000002", "g3"],
    ["checkpoint"],
    ["checkpoint", "g3", "--json"],
]
WRITING = [
    ["advance"],
    ["query", "source.list", "-H", "H1"],
    ["input", "add", "bundle.zip"],
    ["hypotheses", "add", "H3", "x"],
    ["budget", "init"],
    ["repair"],
    ["repack"],
]


@pytest.fixture
def packed(investigated: CommandLine) -> CommandLine:
    """The command line beside an investigated package and its bundle."""
    outside = investigated.at(investigated.folder.parent)
    outside.ok("bundle", "create", "case-1", "bundle.zip")
    return outside


def test_create(packed: CommandLine) -> None:
    out = packed.ok("bundle", "create", "case-1", "again.zip").lines
    head = packed.ok("-C", "case-1", "rev-parse", "HEAD").out.strip()
    size = (packed.folder / "again.zip").stat().st_size
    assert out[0].startswith("again.zip: ")
    assert out[0].endswith(f" objects, {size:,} bytes")
    assert out[1:] == [f"head {head}"]
    again = (packed.folder / "again.zip").read_bytes()
    assert again == (packed.folder / "bundle.zip").read_bytes()
    value = packed.ok("-C", "case-1", "bundle", "create", "../third.zip", "--json").json
    assert (value["head"], value["since"], value["size"]) == (head, None, size)
    assert (packed.folder / "third.zip").read_bytes() == again
    packed.ok("-C", "bundle.zip", "bundle", "create", "fourth.zip")
    assert (packed.folder / "fourth.zip").read_bytes() == again


def test_create_refuses(packed: CommandLine) -> None:
    packed.refused("file_exists", "bundle", "create", "case-1", "bundle.zip")
    packed.ok("bundle", "create", "--force", "case-1", "bundle.zip")
    packed.refused("usage", "bundle", "create", "a", "b", "c", code=2)
    packed.refused("usage", "bundle", "create", code=2)
    packed.refused("not_a_package", "bundle", "create", ".", "x.zip")
    packed.refused("nothing_since", "bundle", "create", "case-1", "x.zip", "--since", "HEAD")
    packed.refused("storage", "bundle", "create", "case-1", "absent/x.zip", code=3)
    assert not (packed.folder / "x.zip").exists()


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_commands_say_the_same_of_a_bundle(packed: CommandLine, words: list[str]) -> None:
    before = (packed.folder / "bundle.zip").stat().st_mtime_ns, sorted(packed.folder.iterdir())

    def said(*where: str) -> str:
        out = packed.ok(*where, *words).out
        return out.replace(str(packed.folder / "case-1"), "PATH").replace(
            str(packed.folder / "bundle.zip"), "PATH"
        )

    expected = said("-C", "case-1")
    assert said("-C", "bundle.zip") == expected
    assert said("-p", str(packed.folder / "bundle.zip")) == expected
    after = (packed.folder / "bundle.zip").stat().st_mtime_ns, sorted(packed.folder.iterdir())
    assert after == before


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_nothing_writes_to_a_bundle(packed: CommandLine, words: list[str]) -> None:
    before = (packed.folder / "bundle.zip").read_bytes()
    packed.refused("read_only_bundle", "-C", "bundle.zip", *words)
    assert (packed.folder / "bundle.zip").read_bytes() == before


def test_verify(packed: CommandLine) -> None:
    assert packed.ok("verify", "bundle.zip", "-q").out == "bundle.zip: verified\n"
    packed.ok("-C", "bundle.zip", "verify")
    packed.ok("verify", "-p", "bundle.zip")
    value = packed.ok("verify", "bundle.zip", "case-1", "--json", "-j", "2").json
    assert [one["verdict"] for one in value["packages"]] == ["verified", "verified"]
    raw = (packed.folder / "bundle.zip").read_bytes()
    (packed.folder / "case-1/cut.zip").write_bytes(raw[:500])
    (packed.folder / "case-1/other.zip").write_bytes(b"x" + raw[1:])
    # Never the package that the file lies in.
    assert packed("verify", "case-1/cut.zip").code == 1
    assert packed("verify", "case-1/other.zip").code == 1
    packed.refused("bad_bundle", "-C", "case-1/other.zip", "log")
    assert packed("verify", "absent.zip").code == 3


def test_a_damaged_bundle_is_not_read(packed: CommandLine) -> None:
    path = packed.folder / "bundle.zip"
    raw = path.read_bytes()
    path.write_bytes(raw + b"\0")
    packed.refused("bad_bundle", "-C", "bundle.zip", "status")
    path.write_bytes(b"text")
    packed.refused("not_a_package", "-C", "bundle.zip", "status")
    members = members_of(write_archive(path, [("\x1b[2J\u202eevil", b"")]))
    assert len(members) == 1
    outcome = packed("-C", "bundle.zip", "status")
    assert outcome.code == 1
    assert "\x1b" not in outcome.err
    outcome = packed("verify", "bundle.zip")
    assert outcome.code == 1
    assert "\x1b" not in outcome.out


def test_incremental(packed: CommandLine) -> None:
    packed.ok("bundle", "create", "case-1", "new.zip", "--since", "HEAD~2")
    outcome = packed("verify", "new.zip")
    assert outcome.code == 3
    assert "VS-CON-021" in outcome.out
    assert packed.ok("verify", "new.zip", "--base", "case-1", "-q").out == "new.zip: verified\n"
    packed.ok("verify", "new.zip", "--base", "bundle.zip")
    assert packed("verify", "new.zip", "--base", "absent").code == 3
    packed.refused("incremental_bundle", "-C", "new.zip", "log", code=3)
    assert packed("clone", "new.zip").code == 3
    value = packed.ok("bundle", "create", "case-1", "n.zip", "--since", "g2", "--json").json
    assert value["since"] == packed.ok("-C", "case-1", "rev-parse", "g2").out.strip()
    assert "continues " in packed.ok("bundle", "create", "case-1", "m.zip", "--since", "g2").out


def test_clone(packed: CommandLine, tmp_path: Path) -> None:
    packed.refused("exists", "clone", "bundle.zip")
    packed.refused("exists", "clone", "bundle.zip", "case-1")
    head = packed.ok("-C", "case-1", "rev-parse", "HEAD").out.strip()
    out = packed.ok("clone", "bundle.zip", "copy").lines
    assert out[0].startswith("copy: verified, ")
    assert out[1] == f"head {head}"
    copy = packed.at(packed.folder / "copy")
    copy.ok("verify")
    copy.ok("query", "source.list", "-H", "H1")
    copy.ok("verify")
    (packed.folder / "empty").mkdir()
    packed.ok("clone", "bundle.zip", "empty")
    elsewhere = packed.at(tmp_path / "elsewhere")
    elsewhere.folder.mkdir()
    elsewhere.ok("clone", packed.folder / "bundle.zip")
    assert [one.name for one in elsewhere.folder.iterdir()] == ["case-1"]
    packed.refused("no_file", "clone", "absent.zip", code=3)


def test_clone_writes_nothing_of_a_bad_bundle(packed: CommandLine) -> None:
    path = packed.folder / "bundle.zip"
    members = [*members_of(path), ("../../evil.sh", b"#!/bin/sh\n")]
    write_archive(path, members)
    before = sorted(packed.folder.parent.rglob("*"))
    outcome = packed("clone", "bundle.zip", "copy")
    assert outcome.code == 1
    assert "VS-CON-018" in outcome.out
    assert sorted(packed.folder.parent.rglob("*")) == before


_WATCHED = """
import os, sys
def watch(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & (
        os.O_WRONLY | os.O_RDWR | os.O_CREAT
    ):
        raise AssertionError(("opened for writing", arguments[0]))
    if event in ("os.mkdir", "os.remove", "os.rename", "os.truncate", "socket.connect"):
        raise AssertionError((event, arguments))
sys.dont_write_bytecode = True
sys.addaudithook(watch)
from vstore_cli.main import main
main()
"""


def _alone(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that has no home and may not write."""
    return subprocess.run(
        [sys.executable, "-c", _WATCHED, *words],
        cwd=folder,
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_read_and_verified_without_a_home_and_without_writing(packed: CommandLine) -> None:
    for words in (["verify", "bundle.zip"], ["-C", "bundle.zip", "log"]):
        done = _alone(packed.folder, *words)
        assert (done.returncode, done.stderr) == (0, ""), done


def test_on_a_read_only_mount(packed: CommandLine, tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    shutil.copy(packed.folder / "bundle.zip", tmp_path / "bundle.zip")
    script = (
        f"mount -t tmpfs none {mount} && cp {tmp_path}/bundle.zip {mount} && "
        f"mount -o remount,ro {mount} && cd {mount} && ! touch x 2>/dev/null && "
        f"env -i {sys.executable} -m vstore_cli verify bundle.zip && "
        f"env -i {sys.executable} -m vstore_cli -C bundle.zip log && "
        f"env -i {sys.executable} -m vstore_cli -C bundle.zip status"
    )
    tried = (
        subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
        if shutil.which("unshare")
        else None
    )
    if tried is None or tried.returncode != 0:
        pytest.skip("no mounts may be made here")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    if "permission denied" in done.stderr.lower():
        pytest.skip("no mounts may be made here")
    assert done.returncode == 0, done
    assert "verified" in done.stdout
