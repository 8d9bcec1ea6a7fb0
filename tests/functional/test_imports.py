"""What a command loads: ``vstore log`` pays for nothing that it doesn't use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.testing.investigation import Investigation

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    one = Investigation(tmp_path / "package", tmp_path)
    one.begin()
    one.close()
    return one.root


def loaded(package: Path, *arguments: str) -> list[str]:
    code = (
        "import json, sys; from pathlib import Path; from imports import imports_of;"
        "print(json.dumps(imports_of(Path(sys.argv[1]), sys.argv[2:])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(package), *arguments],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_log_loads_what_is_pinned(package: Path) -> None:
    baseline = json.loads((BENCHMARKS / "baseline.json").read_text())
    # On purpose exact: `python benchmarks/regressions.py --update` after a change that is meant.
    # What reads a ledger is loaded for generations that add to one; the newest one doesn't.
    assert loaded(package, "log", "-n", "1") == baseline["log_imports"]
    more = set(loaded(package, "log", "-n", "20")) - {*baseline["log_imports"]}
    assert more == {"vstore.budget", "vstore.budget.documents", "vstore_cli.ledger_happenings"}


def test_log_loads_neither_click_nor_what_is_slow_to_load(package: Path) -> None:
    found = set(loaded(package, "log", "-n", "20"))
    assert "vstore_cli.print_log" in found
    for name in ("click", "dataclasses", "inspect", "json", "typing_extensions"):
        assert name not in found, name


def test_reserving_loads_nothing_of_other_commands(package: Path) -> None:
    found = set(loaded(package, "budget", "reserve", "H1", "source.search", "--action", "a"))
    assert "vstore.objects.log_writer" in found
    for name in (
        "click",
        "dataclasses",
        "filelock",
        "inspect",
        "re2",
        "typing_extensions",
        "vstore.handoff",
        "vstore.investigation",
        "vstore.package.case",
        "vstore.package.folder",
        "vstore.package.health",
        "vstore.package.transfer",
        "vstore.package.tree_builder",
        "vstore.tools.router",
        "vstore.verify",
        "vstore_cli.happenings",
    ):
        assert name not in found


@pytest.mark.parametrize("command", ["log", "status", "show"])
def test_reading_loads_nothing_that_writes_or_recomputes(package: Path, command: str) -> None:
    found = set(loaded(package, command))
    assert "vstore.package.reader" in found
    for name in (
        "filelock",
        "re2",
        "sqlite3",
        "tarfile",
        "vstore.controller",
        "vstore.objects.log_writer",
        "vstore.objects.writer",
        "vstore.package.repository",
        "vstore.tools.router",
        "vstore.verify",
    ):
        assert name not in found, name


def test_a_reservation_loads_no_adapter(package: Path) -> None:
    found = set(loaded(package, "budget", "reserve", "H1", "source.search"))
    assert "vstore.controller.budget_manager" in found
    for name in ("filelock", "re2", "sqlite3", "vstore.controller.evidence_store", "vstore.verify"):
        assert name not in found, name
