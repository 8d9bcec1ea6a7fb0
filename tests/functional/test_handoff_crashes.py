"""Killed at any durable operation of handing out or answering: repeat, and all is done once."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.budget.documents import Settle
from vstore.errors import StorageError
from vstore.testing.faults import FaultyIO, KillingIO, RecordingIO, SimulatedDeath
from vstore.testing.handoff import HandoffCase
from vstore.testing.investigation import CASE, PACKAGE
from vstore.testing.steps import attach_confirm_record_settle, hand_out
from vstore.verify import verify_package

_CHILD = """
import sys
from pathlib import Path
from vstore.testing import steps
from vstore.testing.faults import KillingIO
getattr(steps, sys.argv[1])(Path(sys.argv[2]), Path(sys.argv[3]), KillingIO(int(sys.argv[4])))
"""
Step = Callable[..., None]


@pytest.fixture(scope="module")
def reserved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that has reserved its test and handed nothing out."""
    folder = tmp_path_factory.mktemp("reserved")
    case = HandoffCase(folder / "package", folder)
    case.begin()
    case.reserve()
    case.close()
    return folder


@pytest.fixture(scope="module")
def waiting(reserved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that waits."""
    folder = tmp_path_factory.mktemp("waiting")
    shutil.copytree(reserved / "package", folder / "package")
    hand_out(folder / "package", folder)
    return folder


def operations(step: Step, prepared: Path, tmp_path: Path) -> int:
    recorded = RecordingIO()
    shutil.copytree(prepared / "package", tmp_path / "recorded")
    step(tmp_path / "recorded", prepared, recorded)
    return len(recorded.operations)


def repeat_and_check(step: Step, prepared: Path, root: Path) -> None:
    """Repeating completes what was begun, once; then nothing more happens."""
    step(root, prepared)
    case = HandoffCase(root, prepared)
    number = case.tests.snapshot(CASE, PACKAGE).package.number
    step(root, prepared)
    snapshot = case.tests.snapshot(CASE, PACKAGE)
    assert snapshot.package.number == number
    assert [one.request.request_id for one in snapshot.handoffs] == ["test-1"]
    budget = case.budget.snapshot(CASE, PACKAGE)
    history = list(case.workspace.repository(CASE).reader.history())
    kinds = [event.kind for _, generation in history for event in generation.events]
    assert kinds.count("test.submit") == 1
    if step is hand_out:
        assert snapshot.package.state == "BLOCKED"
        assert (budget.account("H1").balance, budget.account("H1").reserved) == (160, 40)
    else:
        assert snapshot.package.state == "INVESTIGATING_HYPOTHESES"
        assert kinds.count("test.confirm") == kinds.count("test.attach") == 1
        records = case.evidence.snapshot(CASE, PACKAGE).records
        assert [one.id for one in records] == ["E000001"]
        account = budget.account("H1")
        # 200 - 40 + 12, as if nothing had happened.
        assert (account.balance, account.reserved, account.rewarded) == (172, 0, 12)
        entry = case.budget.settle(CASE, PACKAGE, "H1", "t1", semantic_score=70, reason="simulated")
        assert isinstance(entry.event, Settle)
        assert entry.sequence == 4
    case.close()
    report = verify_package(root)
    assert report.exit_code == 0, report.findings
    # A torn tail is noted, and no more.
    assert [one.code for one in report.findings if one.severity != "note"] == []


STEPS = [("hand_out", hand_out), ("attach_confirm_record_settle", attach_confirm_record_settle)]


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_killed_at_every_operation(
    name: str, step: Step, reserved: Path, waiting: Path, tmp_path: Path
) -> None:
    prepared = reserved if step is hand_out else waiting
    points = operations(step, prepared, tmp_path)
    assert points >= (5 if step is hand_out else 25)
    for kill_at in range(points + 1):
        root = tmp_path / f"killed-{kill_at}"
        shutil.copytree(prepared / "package", root)
        if kill_at < points:
            with pytest.raises(SimulatedDeath):
                step(root, prepared, KillingIO(kill_at, simulate=True))
        else:
            step(root, prepared, KillingIO(kill_at, simulate=True))
        repeat_and_check(step, prepared, root)
        shutil.rmtree(root)


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_a_process_that_really_dies(
    name: str, step: Step, reserved: Path, waiting: Path, tmp_path: Path
) -> None:
    """With the real locks of a killed process left behind, at a few points."""
    prepared = reserved if step is hand_out else waiting
    points = operations(step, prepared, tmp_path)
    for kill_at in sorted({0, points // 3, points // 2, points - 2}):
        root = tmp_path / f"killed-{kill_at}"
        shutil.copytree(prepared / "package", root)
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, name, str(root), str(prepared), str(kill_at)],
            check=False,
            capture_output=True,
        )
        assert child.returncode == -9, child.stderr
        repeat_and_check(step, prepared, root)


@pytest.mark.parametrize(
    "step", [hand_out, pytest.param(attach_confirm_record_settle, marks=pytest.mark.deep)]
)
def test_a_disk_that_fails_once_at_every_operation(
    step: Step, reserved: Path, waiting: Path, tmp_path: Path
) -> None:
    prepared = reserved if step is hand_out else waiting
    points = operations(step, prepared, tmp_path)
    for fail_at in range(points):
        root = tmp_path / f"failed-{fail_at}"
        shutil.copytree(prepared / "package", root)
        failing = FaultyIO(fail_at)
        with contextlib.suppress(StorageError):
            step(root, prepared, failing)
        assert failing.failed is not None
        repeat_and_check(step, prepared, root)
        shutil.rmtree(root)
