"""A process that dies at any durable operation of a publication loses and doubles nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vstore.testing.faults import RecordingIO
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.testing.steps import ACTIONS, publish_record_settle
from vstore.verify import verify_package

_CHILD = """
import sys
from pathlib import Path
from vstore.testing.faults import KillingIO
from vstore.testing.steps import publish_record_settle
publish_record_settle(Path(sys.argv[1]), Path(sys.argv[2]), KillingIO(int(sys.argv[3])))
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that has two reserved actions and nothing asked yet."""
    folder = tmp_path_factory.mktemp("prepared")
    one = Investigation(folder / "package", folder)
    one.begin()
    one.budget.reserve_all(CASE, PACKAGE, ACTIONS)
    one.close()
    return folder


def test_killed_at_every_operation(prepared: Path, tmp_path: Path) -> None:
    recorded = RecordingIO()
    shutil.copytree(prepared / "package", tmp_path / "recorded")
    publish_record_settle(tmp_path / "recorded", prepared, recorded)
    points = len(recorded.operations)
    # Three publications, each of them a frame, a sync and at least a ref.
    assert points >= 3 * 5
    ran = 0
    for kill_at in range(points + 1):
        root = tmp_path / f"killed-{kill_at}"
        shutil.copytree(prepared / "package", root)
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, str(root), str(prepared), str(kill_at)],
            check=False,
            capture_output=True,
        )
        assert (child.returncode != 0) == (kill_at < points), (kill_at, child.stderr)
        ran += child.returncode != 0
        _check_repeat(prepared, root)
        shutil.rmtree(root)
    assert ran == points


def _check_repeat(prepared: Path, root: Path) -> None:
    """Repeating the calls completes them once; then all is as if nothing had happened."""
    publish_record_settle(root, prepared)
    publish_record_settle(root, prepared)
    one = Investigation(root, prepared)
    records = one.evidence.snapshot(CASE, PACKAGE).records
    assert [record.id for record in records] == ["E000001", "E000002"]
    # initialise, two reservations, record, settle: once each.
    entry = one.budget.settle(CASE, PACKAGE, "H1", "q1", semantic_score=70, reason="simulated")
    assert entry.sequence == 5
    assert one.budget.snapshot(CASE, PACKAGE).account("H1").rewarded == 3
    one.close()
    report = verify_package(root)
    assert report.exit_code == 0, report.findings
    assert [one.code for one in report.findings if one.severity != "note"] == []
