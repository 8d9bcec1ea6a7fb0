from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vstore.errors import IntegrityError
from vstore.handoff.history import follow_handoffs
from vstore.handoff.state import HandoffState
from vstore.objects.ids import object_id
from vstore.testing.handoff import handoff_story
from vstore.testing.investigation import CASE, PACKAGE


def test_followed_at_once_or_step_by_step(tmp_path: Path) -> None:
    case = handoff_story(tmp_path / "package", tmp_path)
    reader = case.workspace.repository(CASE).reader
    at_once, stepwise = HandoffState(), HandoffState()
    head = case.tests.snapshot(CASE, PACKAGE).package
    follow_handoffs(at_once, head)
    for oid, _ in reader.history(newest_first=False):
        follow_handoffs(stepwise, reader.at(oid))
    assert at_once == stepwise
    assert list(at_once.handoffs) == ["test-1", "test-2", "test-3"]
    follow_handoffs(at_once, head)
    assert at_once == stepwise
    case.close()


def test_another_history_is_refused(tmp_path: Path) -> None:
    case = handoff_story(tmp_path / "package", tmp_path)
    state = HandoffState(head=object_id(b"elsewhere"))
    with pytest.raises(IntegrityError) as caught:
        follow_handoffs(state, case.tests.snapshot(CASE, PACKAGE).package)
    assert caught.value.kind == "history_replaced"
    case.close()


def test_reading_the_tests_of_a_case_loads_nothing_that_writes(tmp_path: Path) -> None:
    case = handoff_story(tmp_path / "package", tmp_path)
    case.close()
    code = (
        "import sys\nfrom vstore_cli.main import run\n"
        "for words in (['list'], ['show'], ['show', '--draft'], ['show', '--json']):\n"
        "    assert run(['test', *words, '-p', sys.argv[1]]) == 0\n"
        "print(*sorted(one for one in sys.modules if one.startswith('vstore')), file=sys.stderr)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code, str(case.root)], capture_output=True, text=True, check=True
    ).stderr.split()
    assert "vstore.handoff.history" in loaded
    for name in ("controller", "package.repository", "objects.writer", "objects.log_writer",
                 "tools.router", "verify"):  # fmt: skip
        assert f"vstore.{name}" not in loaded
