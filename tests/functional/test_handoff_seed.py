"""The source contract of the test handoff, sentence by sentence: each test is named by one."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from vstore.admission.admit import admit
from vstore.admission.worker import InboxWorker
from vstore.budget.documents import BudgetPolicy, LowInformation, Settle
from vstore.budget.policy import EXAMPLE_POLICY
from vstore.controller.bundles import create_bundle
from vstore.controller.case_lifecycle import CaseLifecycle
from vstore.controller.test_attachments import Upload
from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.errors import (
    BudgetError,
    InvalidError,
    LimitExceeded,
    MissingReservation,
    NotFoundError,
    OperationConflict,
    StateError,
    VStoreError,
)
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest, Observation
from vstore.handoff.limits import HandoffLimits
from vstore.objects.canonical import encode, to_value
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.plain_json import encode_value
from vstore.package.workspace import Workspace
from vstore.testing.clock import FrozenClock
from vstore.testing.folders import package_bytes
from vstore.testing.handoff import DEADLINE, HandoffCase, answer_to, handed_out
from vstore.testing.investigation import CASE, PACKAGE, POLICY
from vstore.tools.request import SourceSearch
from vstore.verify import verify_package

from .conftest import CommandLine

Waiting = tuple[HandoffCase, AsyncTestFeedback]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, AsyncTestFeedback]:
    """A folder with a package that waits for its first test, and a good answer to it."""
    folder = tmp_path_factory.mktemp("prepared")
    case, feedback = handed_out(folder / "package", folder)
    case.close()
    return folder, feedback


@pytest.fixture
def waiting(prepared: tuple[Path, AsyncTestFeedback], tmp_path: Path) -> Iterator[Waiting]:
    """A copy of it, open, and the answer."""
    shutil.copytree(prepared[0] / "package", tmp_path / "package")
    case = HandoffCase(tmp_path / "package", prepared[0])
    yield case, prepared[1]
    case.close()
    report = verify_package(tmp_path / "package")
    assert report.exit_code == 0, report.findings
    assert [one.code for one in report.findings] == []


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package that has handed nothing out yet."""
    folder = tmp_path_factory.mktemp("begun")
    case = HandoffCase(folder / "package", folder)
    case.begin()
    case.close()
    return folder


@pytest.fixture
def ready(begun: Path, tmp_path: Path) -> Iterator[HandoffCase]:
    """A copy of it, open."""
    shutil.copytree(begun / "package", tmp_path / "package")
    case = HandoffCase(tmp_path / "package", begun)
    yield case
    case.close()
    assert verify_package(tmp_path / "package").exit_code == 0


def refused(case: HandoffCase, error: type[VStoreError], action: Callable[[], object]) -> str:
    """An action is refused, every byte of the package stays; the kind of the refusal."""
    before = package_bytes(case.root)
    with pytest.raises(error) as caught:
        action()
    assert package_bytes(case.root) == before
    return caught.value.kind


def figures(case: HandoffCase) -> Any:
    """Everything that the ledger holds."""
    budget = case.budget.snapshot(CASE, PACKAGE)
    return budget.accounts, budget.open_actions, budget.granted, budget.ledger_ref


def state(case: HandoffCase) -> str:
    return case.budget.snapshot(CASE, PACKAGE).package.state


# ---- "Durable contract"


def test_a_payload_claiming_confirmed_is_no_authentication(
    waiting: Waiting, vstore: CommandLine
) -> None:
    case, feedback = waiting
    claim = to_value(feedback) | {"confirmed": True}
    assert refused(case, InvalidError, lambda: case.confirm(encode_value(claim)))
    # Nor does a file confirm itself: who says so on the command line is stored.
    draft = to_value(feedback) | {
        "confirmed_by": "the boss",
        "confirmed_at": "2020-01-01T00:00:00Z",
    }
    done = case.tests.confirm_draft(CASE, PACKAGE, draft, confirmed_by="pat")
    assert (done.feedback.confirmed_by, done.feedback.confirmed_at) == (
        "pat",
        "2026-01-02T03:04:05Z",
    )


def test_observations_are_untrusted_data_shown_escaped_and_never_run(
    waiting: Waiting, vstore: CommandLine
) -> None:
    case, feedback = waiting
    text = "\x1b]0;owned\x07 \u202egnp.exe $(reboot) <script>alert(1)</script>"
    evil = replace(
        feedback,
        observations=[
            *feedback.observations[:3],
            Observation(id=None, text=text, attachments=[]),
        ],
        remarks=text,
    )
    case.confirm(evil)
    line = vstore.at(case.root)
    line.ok("test", "record")
    for words in (["test", "show"], ["show", "E000001"], ["log"], ["test", "list"]):
        out = line.ok(*words).out
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert "$(reboot)" in line.ok("test", "show").out


def test_two_bundled_schemas_define_the_exchange() -> None:
    from vstore_schemas.render import document_types

    types = document_types()
    assert types["async-test-request-v1"] is AsyncTestRequest
    assert types["async-test-feedback-v1"] is AsyncTestFeedback
    asked = {
        "request_id", "action_id", "hypothesis_id", "case_id", "package_id", "analysis_revision",
        "executor", "question", "prerequisites", "steps", "observations", "environment",
        "deadline", "reservation",
    }  # fmt: skip
    assert set(AsyncTestRequest.__struct_fields__) == asked
    answered = {
        "request_id", "action_id", "hypothesis_id", "case_id", "package_id", "analysis_revision",
        "executor", "environment", "tester_id", "outcome", "observations", "attachments",
        "confirmed_by", "confirmed_at", "request", "remarks",
    }  # fmt: skip
    assert set(AsyncTestFeedback.__struct_fields__) == answered


@pytest.mark.parametrize("member", AsyncTestFeedback.__struct_fields__)
def test_feedback_without_one_of_its_members_is_rejected(waiting: Waiting, member: str) -> None:
    """So is an unconfirmed one, which lacks who confirmed it or when."""
    case, feedback = waiting
    value = to_value(feedback)
    del value[member]
    kind = refused(case, InvalidError, lambda: case.confirm(encode_value(value)))
    assert kind == "invalid_document"


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"executor": "robot"},
        {"outcome": "maybe"},
        {"confirmed_by": ""},
        {"confirmed_at": "2026-01-02 03:04:05"},
        {"confirmed_at": "2026-01-02T03:04:05"},
        {"schema": "async-test-feedback-v2"},
        {"observations": [{"id": None, "text": "x", "attachments": [], "more": 1}]},
    ],
)
def test_unknown_fields_and_unsupported_values_are_rejected(
    waiting: Waiting, change: dict[str, Any]
) -> None:
    case, feedback = waiting
    value = encode_value(to_value(feedback) | change)
    refused(case, VStoreError, lambda: case.confirm(value))


@pytest.mark.parametrize(
    ("operation", "executor"),
    [
        ("testing.request_human", "automated"),
        ("testing.request_automated", "human"),
        ("source.search", "human"),
        ("source.search", "automated"),
    ],
)
def test_any_other_combination_of_operation_and_executor_is_refused(
    ready: HandoffCase, operation: str, executor: str
) -> None:
    request = ready.request(action="other")
    ready.budget.reserve(CASE, PACKAGE, "H2", "t2", operation=operation)
    entry = ready.budget.snapshot(CASE, PACKAGE).ledger_ref
    request = replace(
        request, executor=executor, hypothesis_id="H2", action_id="t2", reservation=entry
    )
    assert (
        refused(ready, MissingReservation, lambda: ready.tests.submit(request))
        == "missing_reservation"
    )


def test_the_controller_reserves_first_and_then_submits(ready: HandoffCase) -> None:
    request = ready.request()
    assert figures(ready)[0][0].reserved == 40
    assert state(ready) == "INVESTIGATING_HYPOTHESES"
    unreserved = replace(request, action_id="t9")
    assert (
        refused(ready, MissingReservation, lambda: ready.tests.submit(unreserved))
        == "missing_reservation"
    )
    other_entry = replace(request, reservation=object_id(b"another entry"))
    assert (
        refused(ready, InvalidError, lambda: ready.tests.submit(other_entry)) == "identity_mismatch"
    )
    assert ready.tests.submit(request).package.state == "BLOCKED"


def test_tests_require_explicit_costs_in_the_frozen_policy(tmp_path: Path) -> None:
    workspace = Workspace.of_package(tmp_path / "package", actor="a", clock=FrozenClock())
    workspace.init(CASE, PACKAGE)
    case = workspace.case(CASE)
    case.advance()
    case.advance()
    case.set_hypotheses([{"id": "H1", "statement": "x"}])
    from vstore.controller import BudgetManager

    budget = BudgetManager(workspace)
    policy = BudgetPolicy(
        costs={"source.search": 10},
        initial_credits=100,
        new_evidence_score=60,
        max_reward_percent=50,
        low_information=LowInformation(threshold=10, streak=3),
        case_credit_cap=1000,
        max_revisions=3,
    )
    budget.initialise(CASE, PACKAGE, policy)
    with pytest.raises(BudgetError) as caught:
        budget.reserve(CASE, PACKAGE, "H1", "t1", operation="testing.request_human")
    assert caught.value.kind == "no_cost"
    # Nor can the revision silently adopt a cost table that has them.
    with pytest.raises(OperationConflict):
        budget.initialise(CASE, PACKAGE, POLICY)
    workspace.close()


def test_the_example_policy_sets_human_tests_to_40_and_automated_ones_to_20() -> None:
    assert EXAMPLE_POLICY.costs["testing.request_human"] == 40
    assert EXAMPLE_POLICY.costs["testing.request_automated"] == 20


def test_nothing_starts_a_test(ready: HandoffCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reserving and handing out run no program and open no connection."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(subprocess, "Popen", never)
    monkeypatch.setattr("socket.socket.connect", never)
    ready.submit(executor="automated")
    assert state(ready) == "BLOCKED"


def test_one_outstanding_test_is_allowed(waiting: Waiting) -> None:
    case, _ = waiting
    outstanding = case.tests.snapshot(CASE, PACKAGE).outstanding
    assert outstanding is not None
    second = replace(outstanding.request, request_id="second", action_id="t2")
    assert refused(case, StateError, lambda: case.tests.submit(second)) == "state"


def test_reservation_and_submission_are_separate_durable_steps(ready: HandoffCase) -> None:
    request = ready.request()
    package = ready.budget.snapshot(CASE, PACKAGE).package
    assert [one.kind for one in package.generation.events] == ["budget.reserve"]
    submitted = ready.tests.submit(request).package
    assert submitted.number == package.number + 1
    assert [one.kind for one in submitted.generation.events] == ["test.submit"]
    assert submitted.artifact("budget_ledger") == package.artifact("budget_ledger")


def test_a_failed_submission_refunds_nothing_and_can_be_retried_voided_or_failed(
    ready: HandoffCase,
) -> None:
    requests = [ready.request(f"r{n}", f"t{n}", hypothesis="H1") for n in (1, 2, 3)]
    for request in requests:
        bad = replace(request, analysis_revision=2)
        refused(ready, InvalidError, lambda bad=bad: ready.tests.submit(bad))  # type: ignore[misc]
    assert figures(ready)[0][0].reserved == 120
    ready.budget.void(CASE, PACKAGE, "H1", "t2", reason="not worth it")
    ready.budget.fail(CASE, PACKAGE, "H1", "t3", reason="nobody has the machine")
    account = figures(ready)[0][0]
    assert (account.reserved, account.balance, account.debited) == (40, 120, 40)
    # The same valid request again, and a reservation that ended hands nothing out.
    assert (
        refused(ready, MissingReservation, lambda: ready.tests.submit(requests[1]))
        == "missing_reservation"
    )
    assert ready.tests.submit(requests[0]).package.state == "BLOCKED"


def test_a_dispatched_test_is_never_refunded(waiting: Waiting) -> None:
    case, feedback = waiting
    case.confirm(feedback)

    def void() -> None:
        case.budget.void(CASE, PACKAGE, "H1", "t1", reason="changed my mind")

    assert refused(case, BudgetError, void) == "dispatched"
    # It can be failed, and then it brings no evidence any more.
    ref = case.tests.snapshot(CASE, PACKAGE).handoffs[0].feedback_ref
    assert ref is not None
    case.budget.fail(CASE, PACKAGE, "H1", "t1", reason="the answer is about something else")
    assert (
        refused(
            case,
            MissingReservation,
            lambda: case.evidence.store_feedback(CASE, PACKAGE, "op", ref),
        )
        == "missing_reservation"
    )


# ---- "Waiting and confirmation"


def test_submission_stores_the_request_sets_its_name_and_blocks_the_case(
    ready: HandoffCase,
) -> None:
    request = ready.request()
    done = ready.tests.submit(request, actor="controller")
    generation = done.package.generation
    assert generation.artifacts["async_test_request"] == done.request_ref
    assert done.package.objects.document(done.request_ref, AsyncTestRequest) == request
    assert done.package.objects.get(done.request_ref) == encode(request)
    assert generation.state == "BLOCKED"
    assert generation.blocked is not None
    assert generation.blocked.reason == "AWAITING_TEST_FEEDBACK"
    assert generation.blocked.resume_state == "INVESTIGATING_HYPOTHESES"
    assert generation.declared == {"async_test_request": [done.request_ref]}
    assert (ready.root / "refs/async_test_request").read_text().strip() == done.request_ref
    (event,) = generation.events
    assert (event.kind, event.operation_id, event.actor) == ("test.submit", "test-1", "controller")


def test_the_checkpoint_never_retries_by_itself_and_shows_the_deadline(waiting: Waiting) -> None:
    case, _ = waiting
    blocked = case.budget.snapshot(CASE, PACKAGE).package.generation.blocked
    assert blocked is not None
    assert blocked.automatic_retry is False
    assert blocked.retry_not_before == DEADLINE


def test_the_worker_skips_the_waiting_case_and_continues_with_others(
    waiting: Waiting, tmp_path: Path
) -> None:
    case, _ = waiting
    workspace = Workspace.create(tmp_path / "workspace", clock=FrozenClock())
    admit(workspace, case.root)
    workspace.init("CASE-2")
    handed: list[str] = []
    worker = InboxWorker(
        workspace, tmp_path / "inbox", handler=lambda _, package: handed.append(package.case_id)
    )
    (tmp_path / "inbox").mkdir()
    done = worker.run_once()
    assert handed == ["CASE-2"]
    assert CASE in done.waiting
    workspace.close()


@pytest.mark.parametrize("command", ["advance", "resume", "block", "reopen", "hypotheses"])
def test_ordinary_commands_can_not_resume_the_case(waiting: Waiting, command: str) -> None:
    case, _ = waiting
    lifecycle, one = CaseLifecycle(case.workspace), case.workspace.case(CASE)
    actions: dict[str, Callable[[], object]] = {
        "advance": one.advance,
        "resume": lambda: lifecycle.resume(CASE, PACKAGE, early=True),
        "block": lambda: lifecycle.block(CASE, PACKAGE, "OPERATOR_HOLD"),
        "reopen": lambda: lifecycle.reopen(CASE, PACKAGE, "review", reason="x"),
        "hypotheses": lambda: one.set_hypotheses([{"id": "H1", "statement": "other"}]),
    }
    refused(case, StateError, actions[command])


class Mover:
    """A clock that jumps."""

    def __init__(self, instant: str) -> None:
        self.instant = instant

    def __call__(self) -> str:
        return self.instant


@pytest.mark.parametrize(
    "instant", ["1970-01-01T00:00:00Z", DEADLINE, "2026-01-03T12:00:01Z", "2099-12-31T23:59:59Z"]
)
def test_a_passed_deadline_or_a_moved_clock_changes_nothing(
    waiting: Waiting, vstore: CommandLine, instant: str
) -> None:
    """No charge, failure, revision, refund or replacement; only the list says overdue."""
    case, feedback = waiting
    before, facts = package_bytes(case.root), figures(case)
    later = Workspace.of_package(case.root, actor="tester", clock=Mover(instant))
    tests = AsyncTestCoordinator(later)
    assert tests.snapshot(CASE, PACKAGE).outstanding is not None
    with pytest.raises(StateError):
        later.case(CASE).advance()
    line = vstore.at(case.root)
    line.clock = Mover(instant)  # type: ignore[assignment]
    (listed,) = line.ok("test", "list", "--json").json["tests"]
    assert listed["overdue"] == (instant > DEADLINE)
    assert listed["status"] == ("overdue" if instant > DEADLINE else "outstanding")
    line.ok("status")
    assert package_bytes(case.root) == before
    assert figures(case) == facts
    # The answer comes whenever it comes.
    done = tests.confirm_feedback(feedback)
    assert done.package.state == "INVESTIGATING_HYPOTHESES"
    assert done.package.revision == 1
    assert figures(case) == facts
    later.close()


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"request_id": "test-2"}, "unknown_request"),
        ({"case_id": "CASE-2"}, "unknown_case"),
        ({"package_id": "PACKAGE-2"}, "other_package"),
        ({"analysis_revision": 2}, "identity_mismatch"),
        ({"hypothesis_id": "H2"}, "identity_mismatch"),
        ({"action_id": "t2"}, "identity_mismatch"),
        ({"executor": "automated"}, "identity_mismatch"),
        ({"request": object_id(b"reworded")}, "other_request"),
        ({"observations": []}, "answers"),
        ({"attachments": []}, "attachments"),
        ({"outcome": "unable_to_test"}, "answers"),
    ],
)
def test_unknown_wrong_case_wrong_revision_and_unmatched_feedback_wakes_nothing(
    waiting: Waiting, change: dict[str, Any], kind: str
) -> None:
    case, feedback = waiting
    wrong = replace(feedback, **change)
    assert refused(case, VStoreError, lambda: case.confirm(wrong)) == kind
    assert state(case) == "BLOCKED"


@pytest.mark.parametrize("member", ["object", "name", "size"])
def test_attachments_must_be_in_the_package_with_matching_digests(
    waiting: Waiting, member: str
) -> None:
    case, feedback = waiting
    log = feedback.attachments[0]
    other: Any = {"object": object_id(b"never attached"), "name": "other.log", "size": 1}[member]
    wrong = replace(log, **{member: other})
    answer = replace(
        feedback,
        attachments=[wrong],
        observations=[
            replace(one, attachments=[wrong.object] if one.attachments else [])
            for one in feedback.observations
        ],
    )
    assert refused(case, InvalidError, lambda: case.confirm(answer)) == "attachments"


def test_confirmation_sets_its_name_and_resumes_before_the_deadline(waiting: Waiting) -> None:
    case, feedback = waiting
    assert case.workspace.repository(CASE).clock() < DEADLINE
    before = case.budget.snapshot(CASE, PACKAGE).package
    done = case.tests.confirm_feedback(feedback, actor="page")
    generation = done.package.generation
    assert (generation.state, generation.blocked) == ("INVESTIGATING_HYPOTHESES", None)
    assert generation.analysis_revision == before.revision
    assert generation.artifacts == {
        **before.generation.artifacts,
        "async_test_feedback": done.feedback_ref,
    }
    assert done.package.objects.get(done.feedback_ref) == encode(feedback)
    assert (case.root / "refs/async_test_feedback").read_text().strip() == done.feedback_ref
    (event,) = generation.events
    assert (event.kind, event.operation_id, event.actor) == ("test.confirm", "test-1", "page")


def test_confirmed_feedback_resumes_no_other_block(waiting: Waiting) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    held = CaseLifecycle(case.workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
    late = replace(feedback, remarks="one more thing")
    assert refused(case, OperationConflict, lambda: case.confirm(late)) == "operation_conflict"
    # The same answer again is no second resume.
    assert case.confirm(feedback).package.generation_id == held.generation_id
    assert state(case) == "BLOCKED"


def test_while_waiting_every_new_budget_command_is_refused(waiting: Waiting) -> None:
    case, _ = waiting
    budget = case.budget
    commands: list[Callable[[], object]] = [
        lambda: budget.reserve(CASE, PACKAGE, "H2", "q", operation="source.search"),
        lambda: budget.settle(CASE, PACKAGE, "H1", "t1", semantic_score=1, reason="x"),
        lambda: budget.void(CASE, PACKAGE, "H1", "t1", reason="x"),
        lambda: budget.fail(CASE, PACKAGE, "H1", "t1", reason="x"),
        lambda: budget.record_result(CASE, PACKAGE, "H1", "t1", result="x"),
        lambda: budget.record_evidence(CASE, PACKAGE, "H1", "t1", object_id(b"x")),
        lambda: budget.initialise(CASE, PACKAGE, EXAMPLE_POLICY),
    ]
    for command in commands[:-1]:
        assert refused(case, StateError, command) == "state"
    # Another policy for the same revision is a conflict first.
    refused(case, OperationConflict, commands[-1])
    # What was carried out before is answered, and appends nothing.
    before = package_bytes(case.root)
    assert (
        budget.reserve(CASE, PACKAGE, "H1", "t1", operation="testing.request_human")
        .accounts[0]
        .reserved
        == 40
    )
    assert package_bytes(case.root) == before


def test_balance_expenses_rewards_streaks_and_reservations_stay_from_submission_to_confirmation(
    ready: HandoffCase,
) -> None:
    saved = ready.ask("b", [("H1", "q1", SourceSearch(source="code", pattern="nowhere"))])
    ready.settle(saved, 0, "H1", "q1", 50)  # spent, unrewarded, a streak of one
    request = ready.request(hypothesis="H1")
    before = figures(ready)
    assert (before[0][0].streak, before[0][0].debited, before[0][0].reserved) == (1, 10, 40)
    submitted = ready.tests.submit(request)
    assert figures(ready) == before
    attached = ready.attach(("log", b"x"))
    assert figures(ready) == before
    ready.confirm(answer_to(submitted, attached.attachments))
    assert figures(ready) == before


def test_only_recording_and_settling_apply_novelty_assessment_and_reward(waiting: Waiting) -> None:
    case, feedback = waiting
    done = case.confirm(feedback)
    before = figures(case)
    saved = case.evidence.store_feedback(CASE, PACKAGE, "op", done.feedback_ref)
    assert figures(case) == before
    case.budget.record_evidence(CASE, PACKAGE, "H1", "t1", saved.record_refs[0])
    assert figures(case)[0] == before[0]
    entry = case.budget.settle(CASE, PACKAGE, "H1", "t1", semantic_score=100, reason="clear")
    event = entry.event
    assert isinstance(event, Settle)
    # 40 credits, at most 50 %, 60 for new evidence: the golden vector of the budget.
    assert (event.deterministic, event.score, event.reward) == (60, 60, 12)
    assert entry.accounts[0].balance == 200 - 40 + 12


def test_confirmation_never_restores_start_budgets(waiting: Waiting) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    account = figures(case)[0][0]
    assert (account.granted, account.balance, account.reserved) == (200, 160, 40)


def test_a_confirmed_unable_to_test_is_assessed_as_low_information(waiting: Waiting) -> None:
    case, feedback = waiting
    unable = replace(
        feedback,
        outcome="unable_to_test",
        observations=[],
        remarks="the machine burnt down",
    )
    done = case.confirm(unable)
    saved = case.evidence.store_feedback(CASE, PACKAGE, "op", done.feedback_ref)
    case.budget.record_evidence(CASE, PACKAGE, "H1", "t1", saved.record_refs[0])
    entry = case.budget.settle(CASE, PACKAGE, "H1", "t1", semantic_score=100, reason="a pity")
    event = entry.event
    assert isinstance(event, Settle)
    assert (event.deterministic, event.score, event.reward) == (0, 0, 0)
    assert entry.accounts[0].streak == 1


def test_a_review_after_the_diagnosis_still_starts_a_new_revision(waiting: Waiting) -> None:
    case, feedback = waiting
    done = case.confirm(feedback)
    case.workspace.case(CASE).advance()
    reopened = CaseLifecycle(case.workspace).reopen(CASE, PACKAGE, "review", reason="doubts")
    assert (reopened.package.state, reopened.package.revision) == ("REOPENED", 2)
    # The test was dispatched: its credits are forfeited, never given back.
    assert [one.outcome for one in reopened.actions] == ["forfeited"]
    # Its answer stays, and is no evidence of the new revision.
    case.workspace.case(CASE).advance()
    case.workspace.case(CASE).set_hypotheses([{"id": "H1", "statement": "again"}])
    case.budget.initialise(CASE, PACKAGE, POLICY)
    assert (
        refused(
            case,
            MissingReservation,
            lambda: case.evidence.store_feedback(CASE, PACKAGE, "op", done.feedback_ref),
        )
        == "action_recorded"
    )


def test_the_same_document_reuses_the_current_package(waiting: Waiting) -> None:
    case, feedback = waiting
    outstanding = case.tests.snapshot(CASE, PACKAGE).outstanding
    assert outstanding is not None
    before = package_bytes(case.root)
    again = case.tests.submit(outstanding.request)
    assert (again.repeated, again.request_ref) == (True, outstanding.request_ref)
    assert again.package.number == case.budget.snapshot(CASE, PACKAGE).package.number
    assert package_bytes(case.root) == before
    first = case.confirm(feedback)
    after = package_bytes(case.root)
    second = case.confirm(feedback)
    assert (second.repeated, second.feedback_ref) == (True, first.feedback_ref)
    assert second.package.generation_id == first.package.generation_id
    # The request too, long after it was answered.
    assert case.tests.submit(outstanding.request).repeated
    assert package_bytes(case.root) == after


def test_conflicting_content_under_the_same_request_id_is_rejected(waiting: Waiting) -> None:
    case, feedback = waiting
    outstanding = case.tests.snapshot(CASE, PACKAGE).outstanding
    assert outstanding is not None
    other = replace(outstanding.request, question="Something else?")
    refused(case, OperationConflict, lambda: case.tests.submit(other))
    case.confirm(feedback)
    refused(case, OperationConflict, lambda: case.tests.submit(other))
    changed = replace(feedback, remarks="on second thoughts")
    refused(case, OperationConflict, lambda: case.confirm(changed))


def test_feedback_that_is_late_for_another_request_wakes_nothing(waiting: Waiting) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    second = case.submit("test-2", "t2", hypothesis="H2")
    case.attach(("app.log", b"second\n"))
    late = replace(feedback, remarks="late")
    refused(case, OperationConflict, lambda: case.confirm(late))
    # An answer to the first, said to be one to the second.
    mixed = replace(feedback, request_id="test-2", action_id="t2", hypothesis_id="H2")
    assert refused(case, InvalidError, lambda: case.confirm(mixed)) == "other_request"
    # What was attached to the first test is not the second one's.
    foreign = answer_to(second, feedback.attachments)
    assert refused(case, InvalidError, lambda: case.confirm(foreign)) == "attachments"
    assert state(case) == "BLOCKED"


def test_early_feedback_before_anything_was_handed_out_wakes_nothing(
    ready: HandoffCase, prepared: tuple[Path, AsyncTestFeedback]
) -> None:
    assert refused(ready, NotFoundError, lambda: ready.confirm(prepared[1])) == "unknown_request"


def test_events_raise_the_generation_only_and_keep_every_earlier_payload(
    waiting: Waiting,
) -> None:
    case, feedback = waiting
    package = case.budget.snapshot(CASE, PACKAGE).package
    known = _reachable(case)
    done = case.confirm(feedback)
    assert done.package.number == package.number + 1
    assert done.package.revision == package.revision
    assert done.package.generation.parent == package.generation_id
    for oid in known:
        assert oid in done.package.objects


def _reachable(case: HandoffCase) -> list[ObjectId]:
    from vstore.objects.log import LogReader

    log = LogReader(case.root / "log")
    try:
        return [one.oid for frame in log.scan() for one in frame.objects()]  # type: ignore[union-attr]
    finally:
        log.close()


def test_a_waiting_case_is_admitted_elsewhere_stays_blocked_and_is_confirmed_there(
    waiting: Waiting, tmp_path: Path
) -> None:
    """And the first service, which gets it back, then goes on from there."""
    case, feedback = waiting
    case.attach(("large.bin", bytes(range(256)) * 8192))  # 2 MiB: an object of its own
    facts = figures(case)
    create_bundle(case.root, tmp_path / "out.zip")
    elsewhere = Workspace.create(tmp_path / "elsewhere", actor="other", clock=FrozenClock())
    assert admit(elsewhere, tmp_path / "out.zip").package.state == "BLOCKED"
    with pytest.raises(StateError):
        elsewhere.case(CASE).advance()
    tests = AsyncTestCoordinator(elsewhere)
    confirmed = tests.confirm_feedback(feedback)
    assert confirmed.package.state == "INVESTIGATING_HYPOTHESES"
    elsewhere.close()
    create_bundle(tmp_path / "elsewhere" / CASE, tmp_path / "back.zip")
    home = Workspace.create(tmp_path / "home", clock=FrozenClock())
    admit(home, tmp_path / "out.zip")
    back = admit(home, tmp_path / "back.zip")
    assert back.outcome == "fast_forwarded"
    assert back.package.generation_id == confirmed.package.generation_id
    # Confirmed once, wherever it is asked again.
    again = AsyncTestCoordinator(home).confirm_feedback(feedback)
    assert (again.repeated, again.feedback_ref) == (True, confirmed.feedback_ref)
    home.close()
    assert verify_package(tmp_path / "home" / CASE).exit_code == 0
    assert figures(case) == facts


# ---- "Future web/bot adapter responsibilities"


def test_persisted_requests_can_be_listed_by_people_and_automata(
    waiting: Waiting, vstore: CommandLine
) -> None:
    case, _ = waiting
    line = vstore.at(case.root)
    (listed,) = line.ok("test", "list", "--json").json["tests"]
    assert (listed["request_id"], listed["status"]) == ("test-1", "outstanding")
    shown = line.ok("test", "show", "--json").out
    assert object_id(shown.encode()) == listed["request"]
    assert json.loads(shown)["question"] == "Does the application fail without orders?"


def test_draft_feedback_stays_outside_the_package_until_it_is_confirmed(
    waiting: Waiting, vstore: CommandLine, tmp_path: Path
) -> None:
    case, feedback = waiting
    before = package_bytes(case.root)
    draft = tmp_path / "draft.json"
    draft.write_text(json.dumps(to_value(feedback), indent=2))
    line = vstore.at(case.root)
    line.ok("test", "show", "--draft")
    shown = line.ok("test", "confirm", draft, "--as", "Pat Doe", "--dry-run").json
    assert shown["confirmed_by"] == "Pat Doe"
    assert package_bytes(case.root) == before


def test_delivery_state_does_not_replace_the_request_and_feedback_history(
    waiting: Waiting,
) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    second = case.submit("test-2", "t2", hypothesis="H2")
    log = case.attach(("app.log", b"x"))
    case.confirm(answer_to(second, log.attachments))
    handoffs = case.tests.snapshot(CASE, PACKAGE).handoffs
    objects = case.budget.snapshot(CASE, PACKAGE).package.objects
    assert [one.request.request_id for one in handoffs] == ["test-1", "test-2"]
    for one in handoffs:
        assert one.feedback_ref is not None
        answer = objects.document(one.feedback_ref, AsyncTestFeedback)
        assert answer.request == one.request_ref


def test_attachments_are_appended_and_unknown_files_preserved(waiting: Waiting) -> None:
    case, feedback = waiting
    (case.root / "notes.txt").write_text("somebody's own\n")
    first = feedback.attachments[0]
    again = case.attach(("app.log", b"another log of the same name\n"))
    same = case.attach(("app.log", b"ZeroDivisionError: division by zero\n"))
    assert (again.repeated, same.repeated) == (False, True)
    assert same.attachments == (first,)
    from vstore.handoff.attachments import attachments_of

    ref = case.tests.snapshot(CASE, PACKAGE).handoffs[0].request_ref
    stored = attachments_of(case.budget.snapshot(CASE, PACKAGE).package, ref)
    assert [one.name for one in stored] == ["app.log", "app.log"]
    assert {one.object for one in stored} == {first.object, again.attachments[0].object}
    assert (case.root / "notes.txt").read_text() == "somebody's own\n"
    (case.root / "notes.txt").unlink()


def test_requests_feedback_and_attachments_leave_the_raw_input_identity_alone(
    waiting: Waiting,
) -> None:
    """Equal bytes in both places stay in both: the original keeps its classification."""
    case, feedback = waiting
    before = case.budget.snapshot(CASE, PACKAGE).package
    report = b"total([]) fails\n"
    attached = case.attach(("report.txt", report))
    done = case.confirm(
        replace(feedback, attachments=[*feedback.attachments, *attached.attachments])
    )
    assert done.package.raw_input == before.raw_input
    from vstore.objects.tree import walk

    objects = done.package.objects
    inputs = {one.path: one.entry.object for one in walk(objects, done.package.raw_input)}
    assert inputs == {b"report.txt": object_id(report)}
    assert done.package.generation.attachments is not None
    paths = [one.path for one in walk(objects, done.package.generation.attachments)]
    request = case.tests.snapshot(CASE, PACKAGE).handoffs[0].request_ref.removeprefix("b3:")
    digest = object_id(report).removeprefix("b3:")
    assert f"{request}/{digest}/report.txt".encode() in paths


def test_max_json_bytes_is_a_setting_and_no_limit_of_the_format(
    ready: HandoffCase,
) -> None:
    request = ready.request()
    size = len(encode(request))
    narrow = AsyncTestCoordinator(ready.workspace, limits=HandoffLimits(max_json_bytes=size - 1))
    kind = refused(ready, LimitExceeded, lambda: narrow.submit(request))
    assert kind == "limit_exceeded"
    exact = AsyncTestCoordinator(ready.workspace, limits=HandoffLimits(max_json_bytes=size))
    submitted = exact.submit(request)
    # Remarks and texts of 1.5 MiB, under wider limits elsewhere; the verifier takes them.
    wide = AsyncTestCoordinator(ready.workspace, limits=HandoffLimits(max_json_bytes=8 << 20))
    log = ready.attach(("log", b"x"))
    answer = answer_to(submitted, log.attachments)
    many = [Observation(id=None, text=f"{n} " + "x" * 19_000, attachments=[]) for n in range(80)]
    large = replace(answer, observations=[*answer.observations, *many])
    assert len(encode(large)) > 1 << 20
    assert refused(ready, LimitExceeded, lambda: ready.confirm(large)) == "limit_exceeded"
    assert wide.confirm_feedback(large).package.state == "INVESTIGATING_HYPOTHESES"


def test_no_lock_is_held_while_somebody_tests_or_uploads(waiting: Waiting) -> None:
    """While a slow upload trickles in, another process reads and confirms."""
    case, feedback = waiting
    script = (
        "import sys, pathlib, msgspec\n"
        "from vstore.testing.handoff import HandoffCase\n"
        "case = HandoffCase(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "print(case.confirm(sys.stdin.buffer.read()).package.state)\n"
    )

    class Slow(io.RawIOBase):
        done = False

        def read(self, size: int = -1, /) -> bytes:
            if self.done:
                return b""
            self.done = True
            out = subprocess.run(
                [sys.executable, "-c", script, str(case.root), str(case.scratch)],
                input=encode(feedback),
                capture_output=True,
                timeout=60,
                check=True,
            ).stdout
            assert out == b"INVESTIGATING_HYPOTHESES\n"
            return b"too late"

    upload = Upload("late.log", Slow())  # type: ignore[arg-type]
    with pytest.raises(StateError):
        case.tests.attach(CASE, PACKAGE, [upload])
    assert state(case) == "INVESTIGATING_HYPOTHESES"
