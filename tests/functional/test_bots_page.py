"""The bot of docs/how-to/bots.md works as it stands there; the reference lists what there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vstore.testing.investigation import CASE
from vstore.testing.testers_page import ask
from vstore.verify import verify_package
from vstore.web.api import OPERATIONS

from .conftest import CommandLine
from .test_cli_serve import serving

ROOT = Path(__file__).parents[2]
HOW_TO = (ROOT / "docs/how-to/bots.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference/testers-api.md").read_text(encoding="utf-8")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The page's own program."""
    (text,) = re.findall(r"```python\n(.*?)```", HOW_TO, re.DOTALL)
    path = tmp_path / "bot.py"
    path.write_text(text)
    return path


def run(script: Path, url: str, token: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *words],
        env=os.environ | {"VSTORE_URL": url, "VSTORE_TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_bot_answers_a_test(vstore: CommandLine, tmp_path: Path, script: Path) -> None:
    ask(tmp_path, executor="automated")
    with serving(tmp_path / "work") as (_, url):
        # While the page is running.
        vstore.ok("tester", "add", "bench-2", "-w", "work")
        words = ["tester", "token", "bench-2", "--label", "nightly suite", "-w", "work", "--json"]
        token = vstore.ok(*words).json["token"]
        done = run(script, url, token, sys.executable, "-c", "print('boom'); exit(3)")
        assert done.stderr == ""
        asked, confirmed = done.stdout.splitlines()
        assert asked == "test-1: Does the application fail without orders?"
        assert re.fullmatch(r"confirmed in generation \d+ as b3:[0-9a-f]{64}", confirmed)
        assert run(script, url, token, "true").stdout == "nothing to do\n"
        vstore.ok("tester", "disable", "bench-2", "-w", "work")
        assert "invalid_token" in run(script, url, token, "true").stderr
    package = vstore.at(tmp_path / "work" / CASE)
    shown = package.ok("test", "show").out
    for text in ("bench-2", "exit code 3", "run.log", "5 bytes  text/plain"):
        assert text in shown
    assert "INVESTIGATING_HYPOTHESES" in package.ok("status").out
    assert verify_package(tmp_path / "work" / CASE).exit_code == 0


def test_the_reference_lists_the_operations() -> None:
    rows = re.findall(r"^\| ([A-Z]+) \| `([^`]+)` \| (.+) \|$", REFERENCE, re.MULTILINE)
    test = "/requests/{case_id}/{package_id}/{request_id}"
    assert [(method, path.replace("{test}", test), text) for method, path, text in rows] == [
        (one.method, one.path, one.summary) for one in OPERATIONS
    ]


def test_the_kinds_of_the_reference_are_kinds() -> None:
    """Each stands in the code that raises it."""
    code = "\n".join(path.read_text() for path in sorted((ROOT / "vstore").rglob("*.py")))
    rows = re.findall(r"^\| [45]\d\d \| (.+) \|$", REFERENCE, re.MULTILINE)
    kinds = [kind for row in rows for kind in re.findall(r"`([a-z_]+)`", row)]
    assert len(kinds) > 30
    for kind in kinds:
        assert f'"{kind}"' in code, kind
