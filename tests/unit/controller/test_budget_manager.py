"""Budget commands on the head of a package: what they need, do, refuse and repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vstore.budget.documents import BudgetPolicy, LedgerEntry, LowInformation
from vstore.errors import (
    BudgetError,
    InvalidError,
    MissingReservation,
    NotFoundError,
    OperationConflict,
    StateError,
    VStoreError,
)
from vstore.objects.canonical import encode
from vstore.objects.ids import object_id
from vstore.testing.folders import package_bytes
from vstore.testing.investigation import CASE, PACKAGE, POLICY, Investigation
from vstore.tools.request import SourceRead, SourceSearch
from vstore.verify import verify_package

BUG = SourceSearch(source="code", pattern="BUG")


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Investigation]:
    one = Investigation(tmp_path / "package", tmp_path)
    one.begin()
    yield one
    report = verify_package(one.root)
    assert report.exit_code == 0, report.findings
    one.close()


def figures(entry: LedgerEntry) -> dict[str, Any]:
    (account,) = entry.accounts
    return {
        name: getattr(account, name)
        for name in ("granted", "balance", "reserved", "debited", "rewarded")
    }


def refused(
    case: Investigation, kind: type[VStoreError], call: Callable[[], Any], name: str | None = None
) -> None:
    before = package_bytes(case.root)
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    if name is not None:
        assert caught.value.kind == name
    assert package_bytes(case.root) == before


def test_an_action_from_reservation_to_reward(case: Investigation) -> None:
    budget = case.budget
    entry = budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")
    assert figures(entry) == {
        "granted": 200, "balance": 190, "reserved": 10, "debited": 0, "rewarded": 0
    }  # fmt: skip
    package = budget.snapshot(CASE, PACKAGE).package
    request = case.router.request(package, [("H1", "q1", BUG)])
    saved = case.evidence.store_tool_results(
        CASE, PACKAGE, "op", request, case.router.query(package, request)
    )
    # Publishing alone moves nothing.
    assert budget.snapshot(CASE, PACKAGE).account("H1").balance == 190
    entry = budget.record_evidence(CASE, PACKAGE, "H1", "q1", saved.record_refs[0])
    assert entry.event.novelty_cap == 100  # type: ignore[union-attr]
    assert figures(entry)["balance"] == 190
    entry = budget.settle(CASE, PACKAGE, "H1", "q1", semantic_score=100, reason="all of it")
    # 10 credits, 50 %, capped at the policy's new-evidence score of 60: 3.
    assert figures(entry) == {
        "granted": 200, "balance": 193, "reserved": 0, "debited": 10, "rewarded": 3
    }  # fmt: skip
    assert budget.snapshot(CASE, PACKAGE).open_actions == ()


def test_nothing_new_earns_nothing(case: Investigation) -> None:
    case.settle(case.ask("a", [("H1", "q1", BUG)]), 0, "H1", "q1", 100)
    saved = case.ask("b", [("H2", "q2", BUG)])
    case.budget.record_evidence(CASE, PACKAGE, "H2", "q2", saved.record_refs[0])
    entry = case.budget.settle(CASE, PACKAGE, "H2", "q2", semantic_score=100, reason="sure")
    assert figures(entry)["rewarded"] == 0


def test_repeats_append_nothing_and_conflicts_are_refused(case: Investigation) -> None:
    budget = case.budget
    first = budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")
    before = package_bytes(case.root)
    assert budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search") == first
    assert package_bytes(case.root) == before
    refused(
        case,
        OperationConflict,
        lambda: budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.read"),
    )
    # Action ids are unique over all hypotheses of a revision.
    refused(
        case,
        OperationConflict,
        lambda: budget.reserve(CASE, PACKAGE, "H2", "q1", operation="source.search"),
    )
    assert budget.initialise(CASE, PACKAGE, POLICY).sequence == 1
    dearer = msgspec.structs.replace(POLICY, initial_credits=300)
    refused(case, OperationConflict, lambda: budget.initialise(CASE, PACKAGE, dearer))


def test_an_id_made_up_must_be_new(case: Investigation) -> None:
    budget = case.budget
    first = budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.list", only_new=True)
    assert first.event.action_id == "q1"  # type: ignore[union-attr]
    for operation in ("source.list", "source.read"):
        refused(
            case,
            OperationConflict,
            lambda operation=operation: budget.reserve(
                CASE, PACKAGE, "H1", "q1", operation=operation, only_new=True
            ),
        )
    # Whoever repeats a command gets its outcome.
    assert budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.list") == first


def test_several_reservations_are_one_publication_or_none(case: Investigation) -> None:
    budget = case.budget
    number = budget.snapshot(CASE, PACKAGE).package.number
    entries = budget.reserve_all(
        CASE, PACKAGE, [("H1", "a", "source.search"), ("H2", "b", "source.list")]
    )
    assert [entry.sequence for entry in entries] == [2, 3]
    assert budget.snapshot(CASE, PACKAGE).package.number == number + 1
    wanted = [("H1", f"x{count}", "source.read") for count in range(10)]  # 200 credits of 190
    refused(case, BudgetError, lambda: budget.reserve_all(CASE, PACKAGE, wanted))
    refused(case, InvalidError, lambda: budget.reserve_all(CASE, PACKAGE, []))
    assert len(budget.reserve_all(CASE, PACKAGE, wanted[:9])) == 9


def test_what_the_ledger_refuses(case: Investigation) -> None:
    budget = case.budget
    refused(
        case,
        BudgetError,
        lambda: budget.reserve(CASE, PACKAGE, "H9", "q1", operation="source.search"),
        "unknown_hypothesis",
    )
    refused(
        case,
        BudgetError,
        lambda: budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.dream"),
        "no_cost",
    )
    refused(
        case,
        MissingReservation,
        lambda: budget.settle(CASE, PACKAGE, "H1", "q1", semantic_score=1, reason="r"),
    )
    budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")
    refused(
        case,
        BudgetError,
        lambda: budget.settle(CASE, PACKAGE, "H1", "q1", semantic_score=1, reason="r"),
        "not_recorded",
    )
    for score in (101, -1, True, 1.0):
        refused(
            case,
            InvalidError,
            lambda score=score: budget.settle(
                CASE, PACKAGE, "H1", "q1", semantic_score=score, reason="r"
            ),
        )
    refused(
        case,
        NotFoundError,
        lambda: budget.record_evidence(CASE, PACKAGE, "H1", "q1", object_id(b"no record")),
    )
    refused(
        case, InvalidError, lambda: budget.record_evidence(CASE, PACKAGE, "H1", "q1", None),
        "no_record",
    )  # fmt: skip
    with pytest.raises(BudgetError):
        budget.snapshot(CASE, PACKAGE).account("H9")


def test_a_record_of_another_action_is_refused(case: Investigation) -> None:
    saved = case.ask("op", [("H1", "q1", BUG)])
    case.budget.reserve(CASE, PACKAGE, "H1", "q2", operation="source.search")
    refused(
        case,
        BudgetError,
        lambda: case.budget.record_evidence(CASE, PACKAGE, "H1", "q2", saved.record_refs[0]),
        "record_mismatch",
    )


def test_voiding_and_failing(case: Investigation) -> None:
    budget = case.budget
    budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.read")
    entry = budget.void(CASE, PACKAGE, "H1", "q1", reason="not needed")
    assert figures(entry)["balance"] == 200
    budget.reserve(CASE, PACKAGE, "H1", "q2", operation="source.read")
    entry = budget.fail(CASE, PACKAGE, "H1", "q2", reason="no answer")
    assert figures(entry) == {
        "granted": 200, "balance": 180, "reserved": 0, "debited": 20, "rewarded": 0
    }  # fmt: skip
    saved = case.ask("op", [("H1", "q3", BUG)])
    # Dispatched, whether or not the ledger knows the record yet: no refund, no failure.
    refused(case, BudgetError, lambda: budget.void(CASE, PACKAGE, "H1", "q3", reason="r"))
    refused(case, BudgetError, lambda: budget.fail(CASE, PACKAGE, "H1", "q3", reason="r"))
    case.settle(saved, 0, "H1", "q3", 10)


def test_a_result_that_is_no_evidence(case: Investigation) -> None:
    budget = case.budget
    for action, refs, rewarded in (("q1", ["note-1"], 3), ("q2", ["note-1"], 3), ("q3", [], 3)):
        budget.reserve(CASE, PACKAGE, "H1", action, operation="source.search")
        budget.record_result(CASE, PACKAGE, "H1", action, result="seen", novel_refs=refs)
        entry = budget.settle(CASE, PACKAGE, "H1", action, semantic_score=100, reason="r")
        assert figures(entry)["rewarded"] == rewarded


def test_an_account_without_information_is_stopped(case: Investigation) -> None:
    read = SourceRead(source="code", path="app/orders.py")
    case.settle(case.ask("a", [("H1", "q0", read)]), 0, "H1", "q0", 100)
    for number in range(1, 4):
        case.settle(
            case.ask(f"b{number}", [("H1", f"q{number}", read)]), 0, "H1", f"q{number}", 100
        )
    account = case.budget.snapshot(CASE, PACKAGE).account("H1")
    assert (account.status, account.streak) == ("stopped", 3)
    refused(
        case,
        BudgetError,
        lambda: case.budget.reserve(CASE, PACKAGE, "H1", "q9", operation="source.list"),
        "account_stopped",
    )
    # The other hypothesis goes on.
    case.budget.reserve(CASE, PACKAGE, "H2", "q9", operation="source.list")


def test_states_without_a_budget(tmp_path: Path) -> None:
    one = Investigation(tmp_path / "other", tmp_path)
    one.workspace.init(CASE, PACKAGE)
    refused(
        one,
        StateError,
        lambda: one.budget.reserve(CASE, PACKAGE, "H1", "q", operation="source.list"),
    )
    one.workspace.case(CASE).advance()
    one.workspace.case(CASE).advance()
    refused(one, InvalidError, lambda: one.budget.initialise(CASE, PACKAGE, POLICY))
    refused(
        one,
        BudgetError,
        lambda: one.budget.reserve(CASE, PACKAGE, "H1", "q", operation="source.list"),
        "not_initialised",
    )
    one.workspace.case(CASE).set_hypotheses([{"id": "H1", "statement": "it is the weather"}])
    refused(one, InvalidError, lambda: one.budget.initialise(CASE, PACKAGE, POLICY, ["H2"]))
    refused(one, InvalidError, lambda: one.budget.initialise(CASE, PACKAGE, POLICY, []))
    refused(one, InvalidError, lambda: one.budget.initialise(CASE, PACKAGE, b"{}"))
    capped = BudgetPolicy(
        costs={"source.list": 1},
        initial_credits=10,
        new_evidence_score=50,
        max_reward_percent=10,
        low_information=LowInformation(threshold=1, streak=1),
        case_credit_cap=10,
        max_revisions=1,
    )
    entry = one.budget.initialise(CASE, PACKAGE, encode(capped))
    assert entry.accounts[0].granted == 10
    snapshot = one.budget.snapshot(CASE, PACKAGE)
    assert snapshot.policy == capped
    assert (snapshot.revision, snapshot.granted) == (1, 10)
    one.close()


def test_a_diagnosed_case_moves_no_credits_but_answers_repeats(case: Investigation) -> None:
    first = case.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.list")
    case.workspace.case(CASE).advance()
    refused(
        case,
        StateError,
        lambda: case.budget.reserve(CASE, PACKAGE, "H1", "q2", operation="source.list"),
    )
    assert case.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.list") == first
