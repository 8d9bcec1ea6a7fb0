"""What the README tells a newcomer to type works as it stands there."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_ACTIVATION = ". .venv/bin/activate\n"


def block(language: str) -> str:
    """The one code block of this language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_two_commands_stand_alone() -> None:
    """CI runs these lines in a fresh clone."""
    plain = re.findall(r"^```\n(.*?)\n```$", README, re.MULTILINE | re.DOTALL)
    assert plain[:2] == ["pip install uv && uv run vstore demo", "uv run pytest"]


def test_links_lead_somewhere() -> None:
    for page in (
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "docs/adr/README.md",
    ):
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)]+)\)", text):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            file = (ROOT / page).parent / path
            assert file.exists(), (page, target)
            if anchor:
                headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = [re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings]
                assert anchor in slugs, (page, target)


def test_lines_are_short() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        quoted = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
            quoted ^= line.startswith("```")
            # A row of a table can't be broken, nor can what stands for itself.
            free = quoted or line.startswith("|")
            assert free or len(line) <= 120, f"{page.name}:{number}"


def test_the_names_of_the_library_exist() -> None:
    for node in ast.walk(ast.parse(block("python"))):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name), f"{node.module}.{name.name}"


def test_the_investigation_by_hand(tmp_path: Path) -> None:
    script = block("sh")
    assert script.startswith(_ACTIVATION)
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "TMPDIR": str(tmp_path),
        "VSTORE_ACTOR": "newcomer",
        "COLUMNS": "80",
    }
    bash = Path("/bin/bash")
    if not bash.exists():
        pytest.skip("no bash")
    result = subprocess.run(
        [bash, "-euo", "pipefail", "-c", script.removeprefix(_ACTIVATION)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    for expected in ("E000001", "novelty", "verified"):
        assert expected in result.stdout
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.stdout)
