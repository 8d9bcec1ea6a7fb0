"""``vstore admit`` and ``vstore worker``, as commands and as processes that are told to stop."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.controller.bundles import create_bundle
from vstore.package.workspace import Workspace
from vstore.verify import verify_package

from .conftest import CommandLine

VSTORE = [sys.executable, "-m", "vstore_cli"]
INSTANT = "2026-01-02T03:04:05Z"


@pytest.fixture
def site(tmp_path: Path) -> CommandLine:
    folder = tmp_path / "site"
    folder.mkdir()
    return CommandLine(folder)


def test_admit(investigated: CommandLine, site: CommandLine, tmp_path: Path) -> None:
    bundle = tmp_path / "one.zip"
    investigated.ok("bundle", "create", bundle)
    value = site.ok("admit", bundle, "--json").json
    assert (value["schema"], value["outcome"]) == ("vstore-admit/1", "installed")
    assert value["head"] == investigated.ok("status", "--json").json["head"]
    assert value["case_id"] == "case-1"
    here = CommandLine(site.folder / "case-1")
    assert here.ok("status", "--json").json["head"] == value["head"]
    assert site.ok("admit", bundle).out.startswith("case-1: nothing new; generation ")
    investigated.ok("block", "operator_hold")
    since = f"g{value['generation']}"
    investigated.ok("bundle", "create", tmp_path / "two.zip", "--since", since)
    out = site.ok("admit", tmp_path / "two.zip", "-w", ".").out
    assert "case-1: 1 generations more; generation" in out
    assert "BLOCKED (OPERATOR_HOLD)" in out
    investigated.ok("resume")
    here.ok("resume", "--note", "here")
    outcome = site("admit", investigated.folder)
    assert outcome.code == 1
    assert "[diverged]" in outcome.err
    assert f"the last common generation is {value['generation'] + 1}, " in outcome.err


def test_admit_refuses(investigated: CommandLine, site: CommandLine, tmp_path: Path) -> None:
    bundle = tmp_path / "one.zip"
    investigated.ok("bundle", "create", bundle)
    content = bytearray(bundle.read_bytes())
    content[-30] ^= 1
    bundle.write_bytes(content)
    outcome = site("admit", bundle)
    assert outcome.code == 1
    assert "VS-CON-" in outcome.out
    assert "[not_verified]" in outcome.err
    outcome = site("admit", bundle, "--json")
    assert (outcome.code, outcome.out) == (1, "")
    (tmp_path / "none.zip").write_bytes(b"none")
    outcome = site("admit", tmp_path / "none.zip")
    assert outcome.code == 3
    assert site("admit", tmp_path / "absent.zip").code == 1
    assert site("admit", bundle, "-w", "absent").code == 1
    assert [one.name for one in site.folder.iterdir()] == [".admission"]


def test_one_pass_of_a_worker(investigated: CommandLine, site: CommandLine, tmp_path: Path) -> None:
    assert site("worker", "inbox").code == 3
    inbox = site.folder / "inbox"
    inbox.mkdir()
    investigated.ok("bundle", "create", inbox / "one.zip")
    (inbox / "bad\x1b[31m.zip").write_bytes(b"bad")
    outcome = site.ok("worker", "inbox", "-w", ".", "--run", "true")
    assert outcome.lines == [
        "one.zip: installed",
        "bad\\x1b[31m.zip: rejected (unverifiable)",
        "case case-1: handed out",
    ]
    value = site.ok("worker", "inbox", "--run", "false", "--json").json
    assert value["failed"] == {"case-1": "exit_1"}
    assert site.ok("worker", "inbox").out == ""


def bundles(tmp_path: Path, inbox: Path, count: int) -> None:
    inbox.mkdir()
    for number in range(count):
        path = tmp_path / "elsewhere" / f"C{number}"
        path.parent.mkdir(exist_ok=True)
        with Workspace.of_package(path, clock=lambda: INSTANT) as workspace:
            workspace.init(f"C{number}")
        create_bundle(path, inbox / f"{number:03}.zip")


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_sigterm_ends_a_watching_worker_cleanly(tmp_path: Path) -> None:
    inbox, workspace = tmp_path / "inbox", tmp_path / "workspace"
    workspace.mkdir()
    bundles(tmp_path, inbox, 2)
    child = subprocess.Popen(
        [*VSTORE, "worker", inbox, "-w", workspace, "--watch", "--interval", "0.05"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: len(list(inbox.glob("*.zip"))) == 0)
        shutil.copy(inbox / "admitted" / "000.zip", inbox / ".again")
        (inbox / ".again").rename(inbox / "again.zip")
        until(lambda: (inbox / "admitted" / "again.zip").exists())
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert (child.returncode, err) == (0, "")
    assert out.splitlines() == ["000.zip: installed", "001.zip: installed", "again.zip: unchanged"]
    assert sorted(os.listdir(workspace)) == [".admission", "C0", "C1"]  # noqa: PTH208


def test_four_workers_on_one_inbox_and_one_of_them_killed(tmp_path: Path) -> None:
    inbox, workspace = tmp_path / "inbox", tmp_path / "workspace"
    workspace.mkdir()
    bundles(tmp_path, inbox, 24)
    for number in range(4):
        shutil.copy(inbox / f"{number:03}.zip", inbox / f"{number:03}-again.zip")
        (inbox / f"bad-{number}.zip").write_bytes(b"bad")
    command = [*VSTORE, "worker", inbox, "-w", workspace, "--json"]
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    until(lambda: (inbox / "admitted").is_dir())
    children[0].kill()
    children[0].communicate()
    values = []
    for child in children[1:]:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, err) == (0, "")
        values.append(json.loads(out))
    # What the killed one had at hand, the next one takes.
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    values.append(json.loads(out))
    admitted = [name for value in values for name in value["admitted"]]
    rejected = [name for value in values for name in value["rejected"]]
    assert len(admitted) == len(set(admitted))
    assert len(rejected) == len(set(rejected))
    assert not [name for value in values for name in value["left"]]
    assert len(list((inbox / "admitted").iterdir())) == 28
    assert len(list((inbox / "rejected").glob("*.zip"))) == 4
    assert not list(inbox.glob("*.zip"))
    cases = sorted(path.name for path in workspace.iterdir() if path.name != ".admission")
    assert cases == sorted(f"C{number}" for number in range(24))
    for name in cases:
        assert verify_package(workspace / name).exit_code == 0
    assert not list((workspace / ".admission" / "quarantine").iterdir())
