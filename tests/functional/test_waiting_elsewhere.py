"""A case that waits for a test, admitted by another service: it stays blocked there."""

from __future__ import annotations

from pathlib import Path

import pytest

from vstore.admission import InboxWorker, admit
from vstore.controller import BudgetManager, CaseLifecycle
from vstore.controller.bundles import create_bundle
from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.errors import StateError
from vstore.package.inputs import InputFile
from vstore.package.workspace import Workspace
from vstore.testing.handoff import DEADLINE, handed_out
from vstore.testing.investigation import CASE, PACKAGE
from vstore.verify import verify_package


@pytest.mark.parametrize("now", ["2026-01-02T10:00:00Z", DEADLINE, "2027-01-01T00:00:00Z"])
def test_before_and_after_its_deadline(tmp_path: Path, now: str) -> None:
    here, answer = handed_out(tmp_path / "package", tmp_path)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    create_bundle(here.root, inbox / "waiting.zip")
    before = here.budget.snapshot(CASE, PACKAGE)
    with Workspace.create(tmp_path / "there", clock=lambda: now) as there:
        handed: list[str] = []
        worker = InboxWorker(there, inbox, handler=lambda _, one: handed.append(one.case_id))
        for done in (worker.run_once(), worker.run_once()):
            assert (done.waiting, done.resumed, done.handed) == ([CASE], [], [])
        assert handed == []
        package = there.case(CASE).package
        assert str(package.position) == "BLOCKED (AWAITING_TEST_FEEDBACK)"
        life = CaseLifecycle(there)
        for call in (
            lambda: life.resume(CASE, PACKAGE, early=True),
            lambda: life.resume(CASE, PACKAGE, automatic=True),
            lambda: life.reopen(CASE, PACKAGE, "review", reason="x"),
            lambda: life.block(CASE, PACKAGE, "OPERATOR_HOLD"),
            lambda: there.case(CASE).advance(),
        ):
            with pytest.raises(StateError) as caught:
                call()
            assert caught.value.details["legal"] == ["test.attach", "test.confirm"]
        budget = BudgetManager(there).snapshot(CASE, PACKAGE)
        assert (budget.accounts, budget.open_actions) == (before.accounts, before.open_actions)
        # The answer is confirmed there, and the case goes home.
        AsyncTestCoordinator(there).confirm_feedback(answer)
        assert there.case(CASE).package.state == "INVESTIGATING_HYPOTHESES"
        assert worker.run_once().handed == [CASE]
        done_here = admit(here.workspace, there.root / CASE)
        assert done_here.outcome == "fast_forwarded"
        assert here.workspace.case(CASE).package == there.case(CASE).package
    # Confirming it here as well is a repeat, not a second answer.
    number = here.workspace.case(CASE).package.number
    here.confirm(answer)
    assert here.workspace.case(CASE).package.number == number
    here.close()
    assert verify_package(here.root).exit_code == 0


def test_a_test_that_was_handed_out_is_forfeited(tmp_path: Path) -> None:
    here, answer = handed_out(tmp_path / "package", tmp_path)
    here.confirm(answer)
    here.budget.reserve(CASE, PACKAGE, "H1", "unused", operation="source.list")
    late = tmp_path / "late"
    late.write_bytes(b"late")
    done = CaseLifecycle(here.workspace).reopen(
        CASE, PACKAGE, "new_input", reason="x", files=[InputFile(late, b"late")]
    )
    assert [(one.action_id, one.outcome) for one in done.actions] == [
        ("t1", "forfeited"),
        ("unused", "voided"),
    ]
    # Attachments are no raw input.
    assert done.paths == (b"late",)
    here.close()
    report = verify_package(here.root)
    assert report.exit_code == 0, report.findings
    # Another process reads the same out of it.
    with Workspace.open(here.root) as again:
        budget = BudgetManager(again).snapshot(CASE, PACKAGE)
        assert [account.status for account in budget.accounts] == ["closed", "closed"]
