"""cat-object, hash-object, ls-tree, ls-refs, rev-parse, schema, repair, completion."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from blake3 import blake3

from .conftest import CommandLine

Files = Callable[[Path], dict[str, bytes]]


def _raw(folder: Path, *words: str, stdin: bytes = b"") -> bytes:
    """What a process of its own writes, byte for byte."""
    done = subprocess.run(
        [sys.executable, "-m", "vstore_cli", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout


def test_objects_are_what_their_ids_say(investigated: CommandLine) -> None:
    for name in ("HEAD", "E000001", "app:data.bin", "HEAD:report.txt"):
        raw = _raw(investigated.folder, "cat-object", name)
        oid = investigated.ok("rev-parse", name).out.strip()
        assert oid == "b3:" + blake3(raw).hexdigest()
    assert _raw(investigated.folder, "cat-object", "app:data.bin") == b"\x00answer\x01"
    assert _raw(investigated.folder, "cat-object", "HEAD:report.txt").startswith(b"It breaks.\r\n")


def test_cat_object_on_a_terminal_is_harmless(investigated: CommandLine) -> None:
    out = investigated.ok("cat-object", "app:data.bin", tty=True).out
    assert out == "\\x00answer\\x01\n"


def test_hash_object(investigated: CommandLine, tmp_path: Path) -> None:
    # The digest of nothing, as the BLAKE3 authors publish it.
    empty = "b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    file = tmp_path / "empty"
    file.write_bytes(b"")
    assert investigated.ok("hash-object", file).out == empty + "\n"
    both = investigated.ok("hash-object", file, "../report.txt").lines
    assert both[0] == f"{empty}  {file}"
    oid = investigated.ok("rev-parse", "HEAD:report.txt").out.strip()
    assert both[1] == f"{oid}  ../report.txt"
    value = investigated.ok("hash-object", file, "--json").json
    assert value["objects"] == [{"file": str(file), "object": empty}]
    raw = _raw(tmp_path, "hash-object", "-", stdin=b"abc")
    assert raw.decode().strip() == "b3:" + blake3(b"abc").hexdigest()
    investigated.refused("usage", "hash-object", "absent", code=2)


def test_ls_tree(investigated: CommandLine) -> None:
    lines = investigated.ok("ls-tree", "app").lines
    assert [line.split()[0] for line in lines] == ["file", "file", "tree"]
    assert [line.split()[-1] for line in lines] == ["data.bin", "main.py", "pkg/"]
    deep = investigated.ok("ls-tree", "-r", "app", "--json").json
    assert [one["path"] for one in deep["entries"]] == ["data.bin", "main.py", "pkg/__init__.py"]
    assert investigated.ok("ls-tree", "app:pkg", "--json").json["tree"] == (
        investigated.ok("rev-parse", "app:pkg").out.strip()
    )
    investigated.refused("not_a_tree", "ls-tree", "E000001")


def test_rev_parse(investigated: CommandLine) -> None:
    head = investigated.ok("rev-parse", "HEAD").out.strip()
    assert investigated.ok("rev-parse", head[3:], "@", head[:13]).lines == [head] * 3
    short = investigated.ok("rev-parse", "--short", "HEAD").out.strip()
    assert head.startswith("b3:" + short)
    assert len(short) >= 8
    investigated.refused("no_object", "rev-parse", "00000000")
    # With four digits of every id, some are shared as soon as there are many objects.
    names = investigated.ok("rev-parse", "--json", "HEAD", "g1").json
    assert [one["name"] for one in names["objects"]] == ["HEAD", "g1"]


def test_ls_refs_and_repair(investigated: CommandLine, files_of: Files) -> None:
    value = investigated.ok("ls-refs", "--json").json
    assert value["schema"] == "vstore-ls-refs/1"
    assert {one["name"] for one in value["refs"]} >= {
        "generation",
        "evidence_index",
        "budget_ledger",
        "hypotheses",
    }
    assert {one["status"] for one in value["refs"]} == {"current"}
    assert investigated.ok("repair").out == "nothing to repair\n"

    earlier = investigated.ok("rev-parse", "HEAD~1").out
    refs = investigated.folder / "refs"
    current = (refs / "generation").read_text()
    (refs / "generation").write_text(earlier)
    assert "lagging" in investigated.ok("ls-refs").out
    assert "refs/generation" in investigated.ok("status").out or "lagging" in (
        investigated.ok("status").out
    )
    before = files_of(investigated.folder)
    planned = investigated.ok("repair", "--dry-run").lines
    assert planned
    assert all(line.startswith("would ") for line in planned)
    assert files_of(investigated.folder) == before
    assert investigated.ok("repair", "--json").json["actions"]
    assert (refs / "generation").read_text() == current

    (refs / "generation").write_text("b3:" + "1" * 64 + "\n")
    outcome = investigated("budget", "reserve", "H1", "source.search")
    assert outcome.code == 1
    assert investigated("repair").code == 1
    investigated.ok("repair", "--accept-log-head")
    assert (refs / "generation").read_text() == current
    investigated.ok("budget", "reserve", "H1", "source.search")


def test_schema(vstore: CommandLine) -> None:
    names = vstore.ok("schema").lines
    assert "evidence-record-v1" in names
    for name in names:
        value = vstore.ok("schema", name).json
        assert isinstance(value, dict)
    outcome = vstore.refused("unknown_schema", "schema", "evidence-record")
    assert "did you mean evidence-record-v1" in outcome.err
    vstore.refused("unknown_schema", "schema", "../x")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(vstore: CommandLine, shell: str) -> None:
    out = vstore.ok("completion", shell).out
    assert "_VSTORE_COMPLETE" in out


def test_completing_a_command(vstore: CommandLine) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vstore_cli"],
        env={
            "_VSTORE_COMPLETE": "bash_complete",
            "COMP_WORDS": "vstore da",
            "COMP_CWORD": "1",
            "PATH": "/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["plain,database"]


def test_json_is_ascii(investigated: CommandLine) -> None:
    investigated.ok("hypotheses", "update", "H1", "--statement", "für \u202e\x7f alle")
    out = investigated.ok("hypotheses", "--json").out
    assert out.isascii()
    assert "\x7f" not in out
    assert json.loads(out)["hypotheses"][0]["statement"] == "für \u202e\x7f alle"
