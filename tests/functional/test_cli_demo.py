"""vstore demo: the real bug, end to end, as a newcomer sees it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vstore_cli import demo_material, demo_run
from vstore_cli.terminal import Terminal, cells

from .conftest import CommandLine

pytest.importorskip("sqlite_utils")
EXPECTED = Path(__file__).parents[1] / "fixtures/real_bugs/sqlite_utils_592/queries.expected.json"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[CommandLine, str]:
    """The demo's package, and what it said."""
    folder = tmp_path_factory.mktemp("demo")
    vstore = CommandLine(folder)
    out = vstore.ok("demo").out
    return vstore.at(folder / "vstore-demo" / "sqlite-utils-592"), out


def test_it_reads_well_on_80_columns(played: tuple[CommandLine, str]) -> None:
    _, out = played
    # A path can't be broken; how long this one is, the machine decides.
    activate = f"  . {Path(sys.executable).with_name('activate')}"
    assert all(cells(line) <= 80 for line in out.splitlines() if line != activate)
    assert "\x1b" not in out
    headings = [line for line in out.splitlines() if line[:2] in {f"{n}." for n in range(1, 8)}]
    assert len(headings) == 7
    assert "right 1, wrong article 31, no article 4" in out
    assert "vstore-demo/sqlite-utils-592: verified" in out
    # No assessment is cut short.
    assert not any("assessed" in line and "…" in line for line in out.splitlines())


@pytest.mark.parametrize(("depth", "lines"), [(1, 1), (20, 2)])
def test_the_way_to_the_command_stands_on_80_columns_wherever_it_is(
    depth: int, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the path itself may pass the last column."""
    monkeypatch.chdir(tmp_path)
    scripts = tmp_path.joinpath(*["folder"] * depth, "bin")
    scripts.mkdir(parents=True)
    (scripts / "activate").touch()
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    screen = io.StringIO()
    demo_run._goodbye(Terminal(screen, screen, {}), tmp_path / "package")
    shown = f"  . {(scripts / 'activate').relative_to(tmp_path)}"
    out = screen.getvalue().splitlines()
    (at,) = [number for number, line in enumerate(out) if line.startswith(shown)]
    what = "makes vstore a command of this shell"
    assert out[at] == (shown if lines == 2 else f"{shown:<37} {what}")
    assert (out[at - 1] == f"  # {what}:") == (lines == 2)
    assert all(cells(line) <= 80 for line in out if line != shown)


def test_the_evidence_is_what_was_computed_independently(
    played: tuple[CommandLine, str],
) -> None:
    """Records E000001 to E000011 answer the queries Q1 to Q11 of the shared list.

    Where the rules differ on purpose: a schema item is a table, view or trigger, not a row
    of sqlite_master (8 rows: 7 tables and an automatic index); novelty is rounded down, and
    0 instead of null where nothing was found.
    """
    vstore, _ = played
    *records, human = vstore.ok("evidence", "--json").json["records"]
    # The twelfth is a person's answer.
    assert human["question"]["operation"] == "testing.request"
    expected: list[dict[str, Any]] = json.loads(EXPECTED.read_text())
    assert len(records) == len(expected) == 11
    for record, wanted in zip(records, expected, strict=True):
        shown = vstore.ok("show", record["id"], "--json").json
        content, question = shown["content"], record["question"]
        assert question["operation"] == wanted["query"]["tool"], wanted["id"]
        if wanted["id"] == "Q4":
            assert (record["returned"], record["novel"]) == (7, 7)
            continue
        assert record["returned"] == wanted["returned"], wanted["id"]
        assert record["novel"] == wanted["new"], wanted["id"]
        floor = 100 * wanted["new"] // wanted["returned"] if wanted["returned"] else 0
        assert record["novelty_score"] == floor, wanted["id"]
        assert _first(content)[: len(wanted["first"])] == _places(wanted["first"]), wanted["id"]
        cut = content["truncated"]
        assert (cut is not None) == (wanted["coverage"] == "partial"), wanted["id"]
        if cut is not None:
            assert cut["total"] == wanted["total"]


def _first(content: dict[str, Any]) -> list[str]:
    if content["lines"] is not None:
        return [
            f"{one['path']}:{number}" for one in content["lines"] for number, _ in one["lines"]
        ][:3]
    return [
        f"{one['table']} rowid {row['location']['rowid']}"
        for one in content["rows"] or []
        for row in one["rows"]
    ][:3]


def _places(first: list[str]) -> list[str]:
    return [one.split(" {")[0] for one in first]


def test_the_cause_is_no_part_of_the_input(played: tuple[CommandLine, str]) -> None:
    vstore, _ = played
    assert [one["path"] for one in vstore.ok("ls-tree", "--json").json["entries"]] == ["report.txt"]
    report = vstore.ok("show", "HEAD:report.txt").out
    assert "rowid" not in report
    assert "renumber" not in report


def test_the_commands_that_it_ends_with_work(
    played: tuple[CommandLine, str], tmp_path: Path
) -> None:
    vstore, out = played
    shutil.copytree(vstore.folder, tmp_path / "copy", symlinks=True)
    vstore = vstore.at(tmp_path / "copy")
    commands = out.split("yours to explore\n")[1].splitlines()
    commands = [line for line in commands if not line.startswith(("  . ", "  # "))]
    assert commands[0] == "  cd vstore-demo/sqlite-utils-592"
    assert commands[-1] == "The broken database itself is vstore-demo/catalogue.sqlite3."
    for line in commands[1:-1]:
        # Explanations stand behind a gap.
        command = line.strip().split("   ")[0]
        done = subprocess.run(
            ["sh", "-c", f'vstore() {{ "{sys.executable}" -m vstore_cli "$@"; }}; {command}'],
            cwd=vstore.folder,
            env={"VSTORE_ACTOR": "reader", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert done.stdout
    assert vstore.ok("evidence", "-n", "1", "--json").json["records"][0]["novelty_score"] > 0
    vstore.ok("verify")


@pytest.mark.parametrize("by_uv", [True, False])
def test_the_commands_work_in_the_shell_that_asked(tmp_path: Path, by_uv: bool) -> None:
    scripts = Path(sys.executable).parent
    environ = {"VSTORE_ACTOR": "reader", "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
    # As uv does: its environment comes first on the path of what it runs, only there.
    inside = {"PATH": f"{scripts}:{environ['PATH']}"}
    if by_uv:
        inside["UV_RUN_RECURSION_DEPTH"] = "1"
    played = subprocess.run(
        [scripts / "vstore", "demo"],
        cwd=tmp_path,
        env=environ | inside,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = played.stdout.split("yours to explore\n")[1].splitlines()[:-1]
    assert any(line.startswith("  . ") for line in lines) == by_uv
    done = subprocess.run(
        ["sh", "-ec", "\n".join(line.strip().split("   ")[0] for line in lines)],
        cwd=tmp_path,
        env=environ if by_uv else environ | inside,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(": verified\n")


def test_what_is_there_stays(vstore: CommandLine) -> None:
    mine = vstore.folder / "vstore-demo"
    mine.mkdir()
    (mine / "precious").write_text("mine")
    outcome = vstore.refused("exists", "demo")
    assert "vstore demo vstore-demo-2" in outcome.err
    assert [one.name for one in vstore.folder.iterdir()] == ["vstore-demo"]
    out = vstore.ok("demo", "--force").lines
    assert out[0] == "moved vstore-demo to vstore-demo-2"
    assert (vstore.folder / "vstore-demo-2" / "precious").read_text() == "mine"
    vstore.ok("-C", "vstore-demo/sqlite-utils-592", "verify")
    (vstore.folder / "file").write_text("")
    vstore.refused("exists", "demo", "file")


@pytest.mark.parametrize("version", [None, "3.36"])
def test_without_the_release(
    vstore: CommandLine, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    class Other:
        pass

    def distribution(name: str) -> Any:
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        found = Other()
        found.version = version  # type: ignore[attr-defined]
        return found

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
    kind = "demo_not_installed" if version is None else "demo_wrong_release"
    outcome = vstore.refused(kind, "demo")
    assert "pip install 'vstore[demo]'" in outcome.err
    assert list(vstore.folder.iterdir()) == []


def test_the_database_is_the_known_one(tmp_path: Path) -> None:
    """Our reproduction writes, byte for byte, what the shared one writes."""
    shared = EXPECTED.with_name("reproduce.py")
    subprocess.run([sys.executable, shared, tmp_path / "b"], check=True, capture_output=True)
    demo_material.rebuild_database(tmp_path / "a")
    one, other = ((tmp_path / name).read_bytes() for name in "ab")
    assert hashlib.sha256(one).digest() == hashlib.sha256(other).digest()
