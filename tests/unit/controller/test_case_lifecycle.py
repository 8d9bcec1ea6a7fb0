"""Blocking, resuming and reopening real packages, with the ledger that goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vstore.controller import CaseLifecycle
from vstore.controller.case_lifecycle import may_resume
from vstore.errors import (
    BudgetError,
    InvalidError,
    NotFoundError,
    StaleGeneration,
    StateError,
    VStoreError,
)
from vstore.objects.tree import walk
from vstore.package.documents import Blocked
from vstore.package.inputs import InputFile
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace
from vstore.testing.folders import package_bytes
from vstore.testing.investigation import (
    CASE,
    INSTANT,
    PACKAGE,
    POLICY,
    Investigation,
    small_investigation,
)
from vstore.tools.request import SourceRead, SourceSearch
from vstore.verify import verify_package

BUG = SourceSearch(source="code", pattern="BUG")
LATER = "2026-01-02T03:04:06Z"


class Opened(Investigation):
    """An investigation with the service under test."""

    def __init__(self, root: Path, scratch: Path) -> None:
        super().__init__(root, scratch)
        self.life = CaseLifecycle(self.workspace)

    @property
    def case(self) -> Any:
        return self.workspace.case(CASE)

    def file(self, name: str, content: bytes) -> list[InputFile]:
        path = self.scratch / f"new-{name}"
        path.write_bytes(content)
        return [InputFile(path, name.encode())]

    def finish(self) -> None:
        """Advance to CLOSED."""
        while self.case.package.state != "CLOSED":
            self.case.advance()


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Opened]:
    found = Opened(tmp_path / "package", tmp_path)
    found.begin()
    yield found
    report = verify_package(found.root)
    assert report.exit_code == 0, report.findings
    assert report.by_severity["warning"] == 0, report.findings
    found.close()


def refused(one: Opened, kind: type[VStoreError], call: Callable[[], Any], name: str) -> Any:
    before = package_bytes(one.root)
    with pytest.raises(kind) as caught:
        call()
    assert (type(caught.value), caught.value.kind) == (kind, name)
    assert package_bytes(one.root) == before
    return caught.value


# ---- blocking


@pytest.mark.parametrize("reason", ["BUDGET_EXHAUSTED", "PROVIDER_UNAVAILABLE", "OPERATOR_HOLD"])
def test_a_block_keeps_everything_and_leads_back(one: Opened, reason: Any) -> None:
    one.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")
    before = one.budget.snapshot(CASE, PACKAGE)
    head = one.life.block(CASE, PACKAGE, reason, note="why\nnot", actor="somebody")
    assert head.state == "BLOCKED"
    assert head.number == before.package.number + 1
    assert head.generation.blocked == Blocked(
        reason=reason,
        resume_state="INVESTIGATING_HYPOTHESES",
        retry_not_before=None,
        automatic_retry=False,
    )
    (event,) = head.generation.events
    assert (event.kind, event.actor, event.reason, event.at) == (
        "block",
        "somebody",
        "why\nnot",
        INSTANT,
    )
    blocked = one.budget.snapshot(CASE, PACKAGE)
    assert (blocked.accounts, blocked.open_actions) == (before.accounts, before.open_actions)
    head = one.life.resume(CASE, PACKAGE, note="again")
    assert (head.state, head.generation.blocked) == ("INVESTIGATING_HYPOTHESES", None)
    assert head.revision == 1


def test_nothing_moves_while_a_case_is_blocked(one: Opened) -> None:
    one.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")
    one.life.block(CASE, PACKAGE, "OPERATOR_HOLD")
    package = one.budget.snapshot(CASE, PACKAGE).package
    request = one.router.request(package, [("H1", "q1", BUG)])
    reply = one.router.query(package, request)
    for call in (
        lambda: one.budget.reserve(CASE, PACKAGE, "H1", "q2", operation="source.search"),
        lambda: one.budget.void(CASE, PACKAGE, "H1", "q1", reason="x"),
        lambda: one.budget.fail(CASE, PACKAGE, "H1", "q1", reason="x"),
        lambda: one.evidence.store_tool_results(CASE, PACKAGE, "b", request, reply),
        lambda: one.case.advance(),
        lambda: one.case.set_hypotheses([{"id": "H1", "statement": "x"}]),
        lambda: one.case.input_add(one.file("a", b"a")),
        lambda: one.life.block(CASE, PACKAGE, "OPERATOR_HOLD"),
        lambda: one.life.reopen(CASE, PACKAGE, "new_input", reason="x", files=one.file("a", b"a")),
    ):
        error = refused(one, StateError, call, "state")
        assert error.details["legal"] == ["resume"]


def test_a_block_has_a_reason_that_goes_with_the_state(one: Opened) -> None:
    block = one.life.block
    refused(
        one,
        InvalidError,
        lambda: block(CASE, PACKAGE, "TIRED"),  # type: ignore[arg-type]
        "block_reason",
    )
    error = refused(
        one,
        StateError,
        lambda: block(CASE, PACKAGE, "AWAITING_TEST_FEEDBACK"),
        "block_reason",
    )
    assert "AWAITING_TEST_FEEDBACK" not in error.details["legal"]


def test_budget_can_only_be_exhausted_where_there_is_one(tmp_path: Path) -> None:
    with Workspace.create(tmp_path / "w") as workspace:
        workspace.init("C", "P")
        life = CaseLifecycle(workspace)
        with pytest.raises(StateError) as caught:
            life.block("C", "P", "OPERATOR_HOLD")  # ADMITTED
        assert caught.value.details["state"] == "ADMITTED"
        workspace.case("C").advance()
        with pytest.raises(StateError) as caught:
            life.block("C", "P", "BUDGET_EXHAUSTED")
        assert caught.value.kind == "block_reason"
        assert life.block("C", "P", "PROVIDER_UNAVAILABLE").state == "BLOCKED"
        assert life.resume("C", "P").state == "INTERPRETING"


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04:05+00:00",
        "2026-13-02T03:04:05Z",
        "2026-02-30T03:04:05Z",
        "2026-1-2T3:4:5Z",
        " 2026-1-2T03:04:05Z",
        "now",
        "",
        "2026-01-02T03:04:0٥Z",
    ],
)
def test_an_instant_is_one(one: Opened, text: str) -> None:
    refused(
        one,
        InvalidError,
        lambda: one.life.block(CASE, PACKAGE, "OPERATOR_HOLD", retry_not_before=text),
        "invalid_instant",
    )


def test_a_note_has_bounds(one: Opened) -> None:
    refused(
        one,
        InvalidError,
        lambda: one.life.block(CASE, PACKAGE, "OPERATOR_HOLD", note="x" * 2001),
        "invalid_event",
    )


# ---- retry rules


def test_a_worker_resumes_only_what_it_may(one: Opened) -> None:
    refused(
        one,
        InvalidError,
        lambda: one.life.block(CASE, PACKAGE, "BUDGET_EXHAUSTED", automatic_retry=True),
        "no_automatic_retry",
    )
    one.life.block(CASE, PACKAGE, "OPERATOR_HOLD", retry_not_before=INSTANT)
    refused(
        one,
        StateError,
        lambda: one.life.resume(CASE, PACKAGE, automatic=True),
        "no_automatic_retry",
    )
    one.life.resume(CASE, PACKAGE)  # the instant has come
    one.life.block(
        CASE, PACKAGE, "PROVIDER_UNAVAILABLE", retry_not_before=LATER, automatic_retry=True
    )
    for arguments in ({}, {"automatic": True}, {"automatic": True, "early": True}):
        error = refused(
            one,
            StateError,
            lambda arguments=arguments: one.life.resume(CASE, PACKAGE, **arguments),
            "too_early",
        )
        assert error.details["retry_not_before"] == LATER
    assert one.life.resume(CASE, PACKAGE, early=True).state == "INVESTIGATING_HYPOTHESES"
    refused(one, StateError, lambda: one.life.resume(CASE, PACKAGE), "state")
    one.life.block(
        CASE, PACKAGE, "PROVIDER_UNAVAILABLE", retry_not_before=INSTANT, automatic_retry=True
    )
    assert one.life.resume(CASE, PACKAGE, automatic=True).state == "INVESTIGATING_HYPOTHESES"


@pytest.mark.parametrize(
    ("reason", "automatic", "time", "expected"),
    [
        ("PROVIDER_UNAVAILABLE", True, None, True),
        ("PROVIDER_UNAVAILABLE", True, "2026-01-02T03:04:04Z", True),
        ("PROVIDER_UNAVAILABLE", True, INSTANT, True),
        ("PROVIDER_UNAVAILABLE", True, LATER, False),
        ("PROVIDER_UNAVAILABLE", False, None, False),
        ("PROVIDER_UNAVAILABLE", False, "2020-01-01T00:00:00Z", False),
        ("AWAITING_TEST_FEEDBACK", True, "2020-01-01T00:00:00Z", False),
        ("AWAITING_TEST_FEEDBACK", False, "2020-01-01T00:00:00Z", False),
        ("OPERATOR_HOLD", True, "2020-01-01T00:00:00Z", True),
    ],
)
def test_may_resume(reason: Any, automatic: bool, time: str | None, expected: bool) -> None:
    blocked = Blocked(
        reason=reason,
        resume_state="INVESTIGATING_HYPOTHESES",
        retry_not_before=time,
        automatic_retry=automatic,
    )
    assert may_resume(blocked, INSTANT) is expected


# ---- reopening


def test_reopening_ends_the_accounts_in_the_same_publication(one: Opened) -> None:
    budget = one.budget
    saved = one.ask("b", [("H1", "q1", BUG), ("H2", "q2", SourceRead(source="code", path="no"))])
    budget.record_evidence(CASE, PACKAGE, "H1", "q1", saved.record_refs[0])
    one.ask("c", [("H1", "q3", BUG)])  # has a record that the ledger doesn't know
    budget.reserve(CASE, PACKAGE, "H2", "q4", operation="source.list")
    budget.record_result(CASE, PACKAGE, "H2", "q4", result="seen")
    budget.reserve(CASE, PACKAGE, "H2", "q5", operation="source.list")
    before = one.case.package
    done = one.life.reopen(
        CASE, PACKAGE, "new_input", reason="a log came in", files=one.file("log", b"late\n")
    )
    assert done.package.number == before.number + 1
    assert (done.package.state, done.package.revision) == ("REOPENED", 2)
    assert done.paths == (b"log",)
    assert [(act.action_id, act.outcome) for act in done.actions] == [
        ("q1", "forfeited"),
        ("q2", "voided"),
        ("q3", "forfeited"),
        ("q4", "forfeited"),
        ("q5", "voided"),
    ]
    names = [act.path for act in walk(done.package.objects, done.package.raw_input)]
    assert names == [b"log", b"report.txt"]
    after = budget.snapshot(CASE, PACKAGE)
    # 200 each; H1 loses q1 and q3 (10 each), H2 loses q4 (5) and gets q2 (20) and q5 back.
    assert [
        (act.granted, act.balance, act.reserved, act.debited, act.rewarded, act.expired, act.status)
        for act in after.accounts
    ] == [(200, 0, 0, 20, 0, 180, "closed"), (200, 0, 0, 5, 0, 195, "closed")]
    assert after.open_actions == ()
    assert (after.revision, after.granted) == (1, 400)


def test_evidence_goes_on_over_revisions(one: Opened) -> None:
    one.ask("b", [("H1", "q1", BUG)])
    one.finish()
    one.life.reopen(CASE, PACKAGE, "review", reason="not convinced")
    # Readable in every state, before anything of the new revision exists.
    for _ in range(2):
        seen = one.evidence.snapshot(CASE, PACKAGE)
        assert [record.id for record in seen.records] == ["E000001"]
        refused(
            one,
            StateError,
            lambda: one.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search"),
            "state",
        ) if seen.package.state == "REOPENED" else refused(
            one,
            BudgetError,
            lambda: one.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search"),
            "not_initialised",
        )
        if seen.package.state == "REOPENED":
            one.case.advance()
    assert one.case.package.hypotheses() is None
    error = refused(one, StateError, one.case.advance, "not_ready")
    assert "hypotheses" in error.message
    assert "budget init" in error.message
    refused(
        one,
        InvalidError,
        lambda: one.budget.initialise(CASE, PACKAGE, POLICY),
        "unknown_hypothesis",
    )
    one.case.set_hypotheses([{"id": "H1", "statement": "the same id, a new account"}])
    # The accounts of the first revision don't count.
    error = refused(one, StateError, one.case.advance, "not_ready")
    assert "hypotheses" not in error.message
    one.budget.initialise(CASE, PACKAGE, POLICY)
    one.case.advance()
    # Ids of actions and operations are those of the revision; records' ids of the case.
    saved = one.ask("b", [("H1", "q1", BUG)])
    assert saved.record_ids == ("E000002",)
    record = one.evidence.snapshot(CASE, PACKAGE).records[-1]
    document = one.case.package.objects.get(record.object)
    assert msgspec.json.decode(document)["novelty_score"] == 0
    assert msgspec.json.decode(document)["duplicate_of"] == "E000001"
    one.settle(saved, 0, "H1", "q1", 100)
    account = one.budget.snapshot(CASE, PACKAGE).account("H1")
    assert (account.granted, account.rewarded, account.balance) == (200, 0, 190)


def test_grants_of_all_revisions_stay_within_the_cap(one: Opened) -> None:
    # 1000 in all: 400 went to revision 1, 400 more to revision 2, 100 each are left for 3.
    one.finish()
    for revision, granted in ((2, 200), (3, 100)):
        head = one.life.reopen(CASE, PACKAGE, "patch_rejected", reason="fails").package
        assert head.revision == revision
        one.case.advance()
        one.case.set_hypotheses(
            [{"id": "H1", "statement": "a"}, {"id": f"H{revision}", "statement": "b"}]
        )
        one.budget.initialise(CASE, PACKAGE, POLICY)
        accounts = one.budget.snapshot(CASE, PACKAGE).accounts
        assert [account.granted for account in accounts] == [granted, granted]
        one.finish()
    error = refused(
        one,
        BudgetError,
        lambda: one.life.reopen(CASE, PACKAGE, "review", reason="x"),
        "max_revisions",
    )
    assert (error.details["value"], error.details["asked"]) == (3, 4)


def test_a_case_without_credits_left_is_not_reopened(tmp_path: Path) -> None:
    one = Opened(tmp_path / "package", tmp_path)
    one.workspace.init(CASE, PACKAGE)
    one.case.advance()
    one.case.advance()
    one.case.set_hypotheses([{"id": "H1", "statement": "a"}])
    one.budget.initialise(CASE, PACKAGE, msgspec.structs.replace(POLICY, case_credit_cap=200))
    one.finish()
    refused(
        one,
        BudgetError,
        lambda: one.life.reopen(CASE, PACKAGE, "review", reason="x"),
        "credit_cap",
    )
    one.close()


def test_a_case_without_a_ledger_is_reopened(tmp_path: Path) -> None:
    one = Opened(tmp_path / "package", tmp_path)
    one.workspace.init(CASE, PACKAGE)
    one.case.advance()
    head = one.life.reopen(
        CASE, PACKAGE, "new_input", reason="x", files=one.file("a", b"1")
    ).package
    assert (head.revision, head.artifact("budget_ledger")) == (2, None)
    # In REOPENED more can be added, and it is one revision all the same.
    assert one.case.input_add(one.file("b", b"2")).package.revision == 2
    one.case.advance()
    head = one.life.reopen(
        CASE, PACKAGE, "new_input", reason="x", files=one.file("c", b"3")
    ).package
    assert head.revision == 3
    one.case.advance()
    one.case.set_hypotheses([{"id": "H1", "statement": "a"}])
    one.budget.initialise(CASE, PACKAGE, POLICY)
    assert one.budget.snapshot(CASE, PACKAGE).revision == 3
    one.close()
    assert verify_package(one.root).exit_code == 0


def test_new_input_is_new(one: Opened) -> None:
    report = one.file("report.txt", b"total([]) fails\n")

    def reopen(**arguments: Any) -> Any:
        return one.life.reopen(CASE, PACKAGE, "new_input", **arguments)

    refused(one, InvalidError, lambda: reopen(reason="x"), "no_new_input")
    refused(one, InvalidError, lambda: reopen(reason="x", files=report), "no_new_input")
    refused(one, InvalidError, lambda: reopen(reason="", files=report), "no_reason")
    refused(one, InvalidError, lambda: reopen(reason="x" * 2001, files=report), "no_reason")
    changed = one.file("report.txt", b"total([]) fails, and so does total(None)\n")
    refused(one, InvalidError, lambda: reopen(reason="x", files=changed), "path_taken")
    absent = [InputFile(one.scratch / "absent", b"absent")]
    refused(one, NotFoundError, lambda: reopen(reason="x", files=absent), "no_file")
    done = reopen(reason="x", files=changed, replace=True)
    assert done.paths == (b"report.txt",)
    # What queries see is the new raw input.
    one.case.advance()
    one.case.set_hypotheses([{"id": "H1", "statement": "a"}])
    one.budget.initialise(CASE, PACKAGE, POLICY)
    saved = one.ask("b", [("H1", "q1", SourceSearch(source="inputs", pattern="None"))])
    assert saved.record_ids == ("E000001",)


@pytest.mark.parametrize("cause", ["review", "patch_rejected"])
def test_a_review_follows_a_diagnosis(one: Opened, cause: Any) -> None:
    error = refused(
        one, StateError, lambda: one.life.reopen(CASE, PACKAGE, cause, reason="x"), "state"
    )
    assert "reopen.new_input" in error.details["legal"]
    one.case.advance()
    one.life.reopen(CASE, PACKAGE, cause, reason="x", files=one.file("patch", b"diff"))
    refused(one, StateError, lambda: one.life.reopen(CASE, PACKAGE, cause, reason="x"), "state")


def test_a_cause_is_one(one: Opened) -> None:
    refused(
        one,
        InvalidError,
        lambda: one.life.reopen(CASE, PACKAGE, "boredom", reason="x"),  # type: ignore[arg-type]
        "reopen_cause",
    )


def test_raw_input_that_changes_meanwhile(one: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Opened(one.root, one.scratch)
    once: list[int] = []
    real = Repository.locked

    def locked(self: Repository) -> Any:
        if not once:
            once.append(1)
            other.life.reopen(
                CASE, PACKAGE, "new_input", reason="first", files=other.file("b", b"2")
            )
        return real(self)

    # The other one must get through where it would wait for the evidence lock.
    monkeypatch.setattr(Repository, "evidence_lock", lambda self: self.mutex)
    monkeypatch.setattr(Repository, "locked", locked)
    with pytest.raises(StaleGeneration):
        one.life.reopen(CASE, PACKAGE, "new_input", reason="x", files=one.file("a", b"1"))
    assert one.case.package.revision == 2
    other.close()


def test_a_budget_command_meanwhile_is_part_of_it(
    one: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Opened(one.root, one.scratch)
    once: list[int] = []
    real = Repository.locked

    def locked(self: Repository) -> Any:
        if not once:
            once.append(1)
            other.budget.reserve(CASE, PACKAGE, "H1", "late", operation="source.list")
        return real(self)

    monkeypatch.setattr(Repository, "locked", locked)
    done = one.life.reopen(CASE, PACKAGE, "new_input", reason="x", files=one.file("a", b"1"))
    assert [(act.action_id, act.outcome) for act in done.actions] == [("late", "voided")]
    other.close()


def test_a_fresh_process_folds_the_same(tmp_path: Path) -> None:
    small_investigation(tmp_path / "package", tmp_path).close()
    one = Opened(tmp_path / "package", tmp_path)
    one.life.reopen(CASE, PACKAGE, "new_input", reason="x", files=one.file("a", b"1"))
    here = one.budget.snapshot(CASE, PACKAGE)
    one.close()
    again = Opened(tmp_path / "package", tmp_path)
    there = again.budget.snapshot(CASE, PACKAGE)
    assert (there.accounts, there.ledger_ref) == (here.accounts, here.ledger_ref)
    again.case.advance()
    again.case.set_hypotheses([{"id": "H1", "statement": "a"}])
    again.budget.initialise(CASE, PACKAGE, POLICY)
    # An id of the first revision is free again, as an action and as an operation.
    saved = again.ask("batch-1", [("H1", "q1", BUG)])
    assert saved.record_ids == ("E000008",)
    again.close()
    report = verify_package(tmp_path / "package")
    assert report.exit_code == 0, report.findings
