"""``vstore serve``: what it says, what it refuses, and that it stops cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from vstore.testing.handoff import HandoffCase

from .conftest import ENVIRON, CommandLine


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "cases").mkdir()
    case = HandoffCase(tmp_path / "cases" / "case", tmp_path / "scratch")
    case.begin()
    case.submit()
    case.close()
    return tmp_path / "cases"


@contextmanager
def serving(*words: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service of its own process, once it says that it listens; the process and its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vstore_cli", "serve", "--port", "0", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | ENVIRON,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Serving http://127.0.0.1:"), process.communicate()
        yield process, line.split()[1]
    finally:
        process.kill()
        process.communicate()


def ask(url: str, path: str) -> tuple[int, dict[str, str], str]:
    """What the service answers."""
    connection = HTTPConnection(url.split("/")[2], timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return response.status, headers, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_asked_to_stop(workspace: Path, number: signal.Signals) -> None:
    with serving(workspace) as (process, url):
        status, headers, body = ask(url, "/login")
        assert status == 200
        assert "Log in" in body
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in headers
        process.send_signal(number)
        # Not communicate, which doesn't see what readline has read ahead.
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.read(), process.stderr.read()
        process.wait(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.splitlines() == [
        "Nobody can administer yet. Make the first administrator with",
        f"  vstore tester add NAME --admin --workspace {workspace}",
        "Stopped.",
    ]
    state = workspace.with_name("cases.testers")
    assert state.stat().st_mode & 0o777 == 0o700
    assert not [path for path in workspace.rglob("*") if "testers" in path.name]


def test_one_service_for_one_state(workspace: Path, vstore: CommandLine) -> None:
    with serving(workspace):
        vstore.refused("already_served", "serve", workspace, "--port", "0")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("public_url_needed", ["--host", "0.0.0.0"]),
        ("public_url_needed", ["--host", "0.0.0.0", "--public-url", "http://tests.example.org"]),
        ("public_url_needed", ["--public-url", "http://tests.example.org"]),
        ("public_url", ["--public-url", "https://tests.example.org/vstore"]),
    ],
)
def test_it_is_not_served_where_others_could_listen(
    workspace: Path, vstore: CommandLine, kind: str, words: list[str]
) -> None:
    outcome = vstore.refused(kind, "serve", workspace, *words)
    assert "hint: " in outcome.err
    assert not workspace.with_name("cases.testers").exists()


def test_it_needs_a_workspace_and_makes_nothing_without(
    tmp_path: Path, vstore: CommandLine
) -> None:
    vstore.refused("no_workspace", "serve", "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_its_state_lies_beside_the_workspace(workspace: Path, vstore: CommandLine) -> None:
    vstore.refused("state_in_workspace", "serve", workspace, "--state", workspace / "state")


def test_an_address_that_is_taken(workspace: Path, vstore: CommandLine) -> None:
    with serving(workspace) as (_, url):
        port = url.rstrip("/").rpartition(":")[2]
        state = workspace.with_name("other")
        outcome = vstore.refused(
            "address", "serve", workspace, "--state", state, "--port", port, code=3
        )
        assert "--port" in outcome.err


def test_without_the_extra_it_says_how_to_install_it(
    workspace: Path, vstore: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    outcome = vstore.refused("missing_extra", "serve", workspace)
    assert 'pip install "vstore[web]"' in outcome.err
    assert "uvicorn" in outcome.err
