"""Each rule of the ledger by name, with the golden vectors of the specification."""

import pytest

from vstore.budget import commands
from vstore.budget import documents as events
from vstore.budget.documents import LedgerEntry
from vstore.budget.ledger import entry_of, find_reservation, plan, plan_all, recognise
from vstore.budget.replay import adopt
from vstore.budget.state import LedgerState, Outcome
from vstore.errors import (
    BudgetError,
    InvalidError,
    MissingReservation,
    NotFoundError,
    OperationConflict,
)
from vstore.objects.canonical import decode
from vstore.objects.ids import object_id
from vstore.testing.budget_samples import policy


def refused(desk, kind, call, *arguments, error=BudgetError, **more):
    """The call raises this kind, and leaves the state as it was."""
    before = desk.dump()
    with pytest.raises(error) as caught:
        call(*arguments, **more)
    assert caught.value.kind == kind
    assert desk.dump() == before
    return caught.value


# ---------------------------------------------------------------- golden vectors of rewards


@pytest.mark.parametrize(
    ("cost", "percent", "new_evidence", "novelty", "semantic", "reward"),
    [
        (20, 99, 100, 100, 100, 19),
        (2, 99, 100, 100, 100, 1),
        (1, 99, 100, 100, 100, 0),
        (40, 50, 60, 100, 100, 12),
        # Rounded down, never up or to even.
        (3, 50, 100, 100, 100, 1),
        (5, 50, 100, 100, 100, 2),
        (100, 99, 100, 1, 100, 0),
        (101, 99, 100, 1, 100, 0),
        (102, 99, 100, 1, 100, 1),
        # Each of the three bounds the score.
        (100, 50, 100, 100, 29, 14),
        (100, 50, 100, 29, 100, 14),
        (100, 50, 29, 100, 100, 14),
        (100, 50, 100, 57, 58, 28),
        (100, 0, 100, 100, 100, 0),
        (100, 99, 0, 100, 100, 0),
        (10**9, 99, 100, 100, 100, 990_000_000),
    ],
)
def test_reward(desk, cost, percent, new_evidence, novelty, semantic, reward):
    desk.initialise(
        policy(
            {"source.search": cost},
            initial_credits=10**9,
            case_credit_cap=2 * 10**9,
            new_evidence_score=new_evidence,
            max_reward_percent=percent,
        )
    )
    event = desk.earn("a1", novelty, semantic)
    score = min(new_evidence, novelty, semantic)
    assert (event.deterministic, event.score, event.reward) == (
        min(new_evidence, novelty),
        score,
        reward,
    )
    figures = desk.figures()
    assert figures == {
        "I": 10**9,
        "B": 10**9 - cost + reward,
        "R": 0,
        "D": cost,
        "W": reward,
        "E": 0,
    }


def test_a_content_without_novel_atoms_earns_nothing_whatever_the_semantic_score(open_desk):
    event = open_desk.earn("a1", 0, 100)
    assert (event.deterministic, event.score, event.reward) == (0, 0, 0)


# ---------------------------------------------------------------- initialise and grants


def test_initialise_grants_each_hypothesis_its_initial_credits(desk):
    event = desk.initialise(policy(initial_credits=100))
    assert [(one.hypothesis_id, one.credits) for one in event.grants] == [
        ("H1", 100),
        ("H2", 100),
    ]
    assert desk.figures("H2") == {"I": 100, "B": 100, "R": 0, "D": 0, "W": 0, "E": 0}
    assert desk.state.is_initialised(1)
    assert not LedgerState.empty("C1", "P1").is_initialised(0)
    assert not desk.state.is_initialised(2)


def test_grants_stay_within_the_cap_in_equal_shares(desk):
    event = desk.initialise(policy(initial_credits=100, case_credit_cap=200), ["H1", "H2", "H3"])
    assert [one.credits for one in event.grants] == [66, 66, 66]
    assert desk.state.granted == 198


def test_the_cap_bounds_all_revisions_together(desk):
    one = policy(initial_credits=100, case_credit_cap=250)
    desk.initialise(one)
    desk.reopen()
    desk.revision = 2
    event = desk.initialise(one)
    assert [grant.credits for grant in event.grants] == [25, 25]
    desk.reopen()
    desk.revision = 3
    error = refused(desk, "credit_cap", desk.initialise, one)
    assert error.details == {"limit": "case_credit_cap", "value": 250, "asked": 252}


def test_the_cap_is_fixed_by_the_first_policy(desk):
    desk.initialise(policy(case_credit_cap=500))
    desk.reopen()
    desk.revision = 2
    refused(desk, "cap_fixed", desk.initialise, policy(case_credit_cap=501))
    refused(desk, "cap_fixed", desk.initialise, policy(case_credit_cap=499))
    desk.initialise(policy(case_credit_cap=500, initial_credits=7))
    assert desk.figures()["I"] == 7


def test_max_revisions_can_be_lowered_but_not_raised_later(desk):
    desk.initialise(policy(max_revisions=2))
    desk.reopen()
    desk.revision = 2
    refused(desk, "max_revisions", desk.initialise, policy(max_revisions=1))
    desk.initialise(policy(max_revisions=9))
    desk.reopen()
    desk.revision = 3
    error = refused(desk, "max_revisions", desk.initialise, policy(max_revisions=9))
    assert error.details == {"limit": "max_revisions", "value": 2, "asked": 3}


def test_a_first_revision_past_max_revisions_is_refused(desk):
    desk.revision = 2
    refused(desk, "max_revisions", desk.initialise, policy(max_revisions=1))


def test_a_policy_is_checked_when_it_is_bound(desk, absent):
    refused(
        desk,
        "invalid_document",
        desk.initialise,
        policy(max_reward_percent=100),
        error=InvalidError,
    )
    refused(
        desk,
        "no_object",
        desk.do,
        commands.Initialise(policy=absent, hypotheses=["H1"]),
        error=NotFoundError,
    )


def test_a_hypothesis_named_twice_is_refused(desk):
    refused(desk, "duplicate_hypothesis", desk.initialise, None, ["H1", "H1"], error=InvalidError)


def test_a_revision_is_initialised_once(open_desk):
    refused(
        open_desk,
        "operation_conflict",
        open_desk.initialise,
        policy(initial_credits=99),
        error=OperationConflict,
    )
    refused(
        open_desk,
        "operation_conflict",
        open_desk.initialise,
        None,
        ["H2", "H1"],
        error=OperationConflict,
    )


def test_a_new_revision_needs_the_old_one_ended_first(open_desk):
    open_desk.revision = 2
    refused(open_desk, "revision_open", open_desk.initialise)


def test_a_revision_behind_is_refused(desk):
    desk.revision = 3
    desk.initialise()
    desk.reopen()
    desk.revision = 2
    refused(desk, "stale_revision", desk.initialise)


@pytest.mark.parametrize("revision", [0, -1, True, 1.0])
def test_a_revision_is_an_integer_from_1(desk, revision):
    desk.revision = revision
    refused(desk, "invalid_revision", desk.initialise, error=InvalidError)


# ---------------------------------------------------------------- reserve


def test_reserve_moves_the_cost_from_balance_to_reserved(open_desk):
    event = open_desk.reserve("a1")
    assert event.cost == 10
    assert open_desk.figures() == {"I": 100, "B": 90, "R": 10, "D": 0, "W": 0, "E": 0}
    assert [one.action_id for one in open_desk.state.open_actions()] == ["a1"]
    assert list(open_desk.state.open_actions("H2")) == []


def test_the_last_credits_can_be_reserved_and_no_more(open_desk):
    for at in range(10):
        open_desk.reserve(f"a{at}")
    assert open_desk.figures()["B"] == 0
    error = refused(open_desk, "insufficient_credits", open_desk.reserve, "a10")
    assert (error.details["cost"], error.details["balance"]) == (10, 0)
    open_desk.reserve("b1", "H2")


def test_an_operation_without_explicit_cost_is_refused(open_desk):
    for operation in ("testing.request_human", "source.read"):
        refused(open_desk, "no_cost", open_desk.reserve, "a1", operation=operation)


def test_an_unknown_hypothesis_is_refused(open_desk):
    refused(open_desk, "unknown_hypothesis", open_desk.reserve, "a1", "H3")


def test_action_ids_are_unique_over_all_hypotheses(open_desk):
    open_desk.reserve("a1", "H1")
    refused(open_desk, "operation_conflict", open_desk.reserve, "a1", "H2", error=OperationConflict)


def test_nothing_but_initialise_works_before_it(desk):
    refused(desk, "not_initialised", desk.reserve, "a1")
    refused(desk, "not_initialised", desk.reopen)
    desk.initialise()
    desk.revision = 2
    refused(desk, "not_initialised", desk.reserve, "a1")
    refused(desk, "not_initialised", desk.reopen)


def test_several_reservations_at_once_are_all_or_nothing(open_desk):
    def reserve(action, operation="source.search"):
        return commands.Reserve(hypothesis_id="H1", action_id=action, operation=operation)

    before = open_desk.dump()
    eleven = [reserve(f"a{at}") for at in range(11)]
    with pytest.raises(BudgetError) as caught:
        plan_all(open_desk.state, 1, eleven, open_desk.facts)
    assert caught.value.kind == "insufficient_credits"
    with pytest.raises(BudgetError):
        plan_all(open_desk.state, 1, [reserve("a1"), reserve("a2", "x.y")], open_desk.facts)
    done = plan_all(open_desk.state, 1, eleven[:10], open_desk.facts)
    assert open_desk.dump() == before

    parent = open_desk.state.head
    for at, (planned, entry) in enumerate(done):
        assert entry.document.parent == parent
        assert entry.document.sequence == at + 2
        open_desk.state.commit(planned, entry.id)
        parent = entry.id
    assert open_desk.figures()["R"] == 100
    assert open_desk.state.head == parent


def test_a_batch_with_repeats_appends_only_what_is_new(open_desk):
    open_desk.reserve("a1")
    wanted = [
        commands.Reserve(hypothesis_id="H1", action_id=action, operation="source.search")
        for action in ("a1", "a2", "a2")
    ]
    first, second, third = plan_all(open_desk.state, 1, wanted, open_desk.facts)
    assert isinstance(first, Outcome)
    assert second[1].document.event.action_id == "a2"
    assert third.entry == second[1].id


# ---------------------------------------------------------------- record


def test_recording_evidence_moves_no_balance(open_desk):
    open_desk.reserve("a1")
    before = open_desk.figures()
    event = open_desk.record("a1", open_desk.publish("a1", 42))
    assert (event.record_id, event.novelty_cap) == ("E000001", 42)
    assert open_desk.figures() == before
    assert open_desk.state.actions["a1"].is_recorded


def test_publishing_evidence_alone_moves_nothing(open_desk):
    open_desk.reserve("a1")
    before = open_desk.dump()
    open_desk.publish("a1", 42)
    assert open_desk.dump() == before


@pytest.mark.parametrize(
    ("member", "publish"),
    [
        ("analysis_revision", lambda desk: desk.facts.add_record(2, "H1", "a1", 5)),
        ("hypothesis_id", lambda desk: desk.facts.add_record(1, "H2", "a1", 5)),
        ("action_id", lambda desk: desk.facts.add_record(1, "H1", "a2", 5)),
        (
            "operation",
            lambda desk: desk.facts.add_record(1, "H1", "a1", 5, operation="source.read"),
        ),
    ],
)
def test_a_record_must_agree_with_the_reservation(open_desk, member, publish):
    open_desk.reserve("a1")
    error = refused(open_desk, "record_mismatch", open_desk.record, "a1", publish(open_desk))
    assert error.details["member"] == member


def test_a_record_that_the_index_does_not_hold_is_refused(open_desk, absent):
    open_desk.reserve("a1")
    refused(open_desk, "no_object", open_desk.record, "a1", absent, error=NotFoundError)


def test_an_action_without_reservation_is_refused(open_desk):
    ref = open_desk.publish("a1", 5)
    error = refused(
        open_desk, "missing_reservation", open_desk.record, "a1", ref, error=MissingReservation
    )
    assert "never reserved" in error.message
    open_desk.reserve("a2", "H2")
    for call in (open_desk.result, open_desk.settle, open_desk.void, open_desk.fail):
        refused(open_desk, "missing_reservation", call, "a1", error=MissingReservation)
        refused(open_desk, "action_not_open", call, "a2", error=MissingReservation)


def test_an_action_is_recorded_once(open_desk, absent):
    open_desk.reserve("a1")
    open_desk.record("a1", open_desk.publish("a1", 5))
    refused(
        open_desk, "operation_conflict", open_desk.record, "a1", absent, error=OperationConflict
    )
    refused(open_desk, "already_recorded", open_desk.result, "a1")
    open_desk.reserve("a2")
    open_desk.result("a2")
    refused(open_desk, "already_recorded", open_desk.record, "a2", absent)
    refused(
        open_desk,
        "operation_conflict",
        open_desk.result,
        "a2",
        result="another",
        error=OperationConflict,
    )


# ---------------------------------------------------------------- results that are no evidence


def test_a_result_with_a_ref_new_to_the_case_counts_up_to_the_new_evidence_score(open_desk):
    open_desk.reserve("a1")
    event = open_desk.result("a1", ["ticket-7"])
    assert not hasattr(event, "novelty_cap")
    settled = open_desk.settle("a1", 100)
    assert (settled.deterministic, settled.score, settled.reward) == (60, 60, 3)


def test_a_result_without_an_unseen_ref_earns_nothing(open_desk):
    for action, refs in (("a1", []), ("a2", ["x", "y"]), ("a3", ["y", "x"]), ("a4", ["y", "z"])):
        open_desk.reserve(action)
        open_desk.result(action, refs)
    scores = [open_desk.settle(action, 100).deterministic for action in ("a1", "a2", "a3", "a4")]
    assert scores == [0, 60, 0, 60]


def test_refs_are_seen_case_wide_over_hypotheses_and_revisions(open_desk):
    open_desk.reserve("a1")
    open_desk.result("a1", ["x"])
    open_desk.reserve("a2", "H2")
    open_desk.result("a2", ["x"], "H2")
    assert open_desk.settle("a2", 100, "H2").deterministic == 0
    open_desk.reopen()
    open_desk.revision = 2
    open_desk.initialise()
    open_desk.reserve("a1")
    open_desk.result("a1", ["x"])
    assert open_desk.settle("a1").deterministic == 0


@pytest.mark.parametrize("operation", ["testing.request_human", "testing.request_automated"])
def test_a_test_takes_no_direct_result(desk, operation):
    desk.initialise(policy({operation: 40}))
    desk.reserve("a1", operation=operation)
    refused(desk, "test_operation", desk.result, "a1")


def test_an_action_with_evidence_takes_no_direct_result(open_desk):
    open_desk.reserve("a1")
    open_desk.publish("a1", 5)
    refused(open_desk, "has_evidence", open_desk.result, "a1")


# ---------------------------------------------------------------- settle, void, fail


def test_only_a_recorded_action_is_settled(open_desk):
    open_desk.reserve("a1")
    refused(open_desk, "not_recorded", open_desk.settle, "a1")
    open_desk.publish("a1", 5)
    refused(open_desk, "not_recorded", open_desk.settle, "a1")


@pytest.mark.parametrize("score", [-1, 101, True, 50.0, "50", None])
def test_a_semantic_score_is_an_integer_from_0_to_100(open_desk, score):
    open_desk.reserve("a1")
    open_desk.record("a1", open_desk.publish("a1", 5))
    refused(open_desk, "invalid_document", open_desk.settle, "a1", score, error=InvalidError)


def test_void_is_the_only_refund(open_desk):
    open_desk.reserve("a1")
    open_desk.void("a1")
    assert open_desk.figures() == {"I": 100, "B": 100, "R": 0, "D": 0, "W": 0, "E": 0}
    assert open_desk.state.actions == {}


def test_a_voided_action_id_is_spent(open_desk):
    open_desk.reserve("a1")
    open_desk.void("a1")
    assert isinstance(open_desk.reserve("a1"), Outcome)
    refused(open_desk, "action_not_open", open_desk.settle, "a1", error=MissingReservation)
    assert open_desk.state.actions == {}


def test_a_dispatched_action_is_not_voided(open_desk):
    for action in ("a1", "a2", "a3", "a4"):
        open_desk.reserve(action)
    open_desk.publish("a1", 5)  # published, not yet bound in the ledger
    open_desk.record("a2", open_desk.publish("a2", 5))
    open_desk.result("a3")
    open_desk.facts.submitted_tests.add((1, "a4"))
    for action in ("a1", "a2", "a3", "a4"):
        refused(open_desk, "dispatched", open_desk.void, action)


def test_fail_spends_the_cost_without_reward(open_desk):
    open_desk.reserve("a1")
    open_desk.fail("a1")
    assert open_desk.figures() == {"I": 100, "B": 90, "R": 0, "D": 10, "W": 0, "E": 0}


def test_an_action_with_a_result_or_a_submitted_test_can_fail_but_not_one_with_evidence(open_desk):
    for action in ("a1", "a2", "a3", "a4"):
        open_desk.reserve(action)
    open_desk.result("a1", ["x"])
    open_desk.fail("a1")
    open_desk.facts.submitted_tests.add((1, "a2"))
    open_desk.fail("a2")
    open_desk.publish("a3", 5)
    refused(open_desk, "has_evidence", open_desk.fail, "a3")
    open_desk.record("a4", open_desk.publish("a4", 5))
    refused(open_desk, "already_recorded", open_desk.fail, "a4")
    assert open_desk.figures() == {"I": 100, "B": 60, "R": 20, "D": 20, "W": 0, "E": 0}


def test_a_crash_between_recording_and_settling_leaves_the_reservation_open(open_desk):
    open_desk.reserve("a1")
    ref = open_desk.publish("a1", 100)
    open_desk.record("a1", ref)
    before = open_desk.dump()
    assert isinstance(open_desk.reserve("a1"), Outcome)
    assert isinstance(open_desk.record("a1", ref), Outcome)
    assert open_desk.dump() == before
    open_desk.settle("a1")
    assert open_desk.figures()["D"] == 10


# ---------------------------------------------------------------- low information


def test_an_account_is_stopped_once_after_the_streak(open_desk):
    for action in ("a1", "a2", "a3", "open"):
        open_desk.reserve(action)
    for at, action in enumerate(("a1", "a2", "a3"), 1):
        open_desk.record(action, open_desk.publish(action, 9))  # under the threshold of 10
        open_desk.settle(action, 100)
        assert open_desk.state.accounts["H1"].streak == at
        assert open_desk.state.accounts["H1"].status == ("stopped" if at == 3 else "open")
    refused(open_desk, "account_stopped", open_desk.reserve, "a9")
    open_desk.reserve("b1", "H2")
    # Open actions still finish; a good one resets the streak and not the stop.
    open_desk.record("open", open_desk.publish("open", 100))
    assert open_desk.settle("open", 100).score == 60
    assert open_desk.state.accounts["H1"].streak == 0
    assert open_desk.state.accounts["H1"].status == "stopped"
    refused(open_desk, "account_stopped", open_desk.reserve, "a9")


def test_a_score_at_the_threshold_resets_the_streak(open_desk):
    open_desk.earn("a1", 9)
    open_desk.earn("a2", 9)
    open_desk.earn("a3", 10)
    assert open_desk.state.accounts["H1"].streak == 0
    open_desk.earn("a4", 100, 9)
    assert open_desk.state.accounts["H1"].streak == 1


def test_voiding_and_failing_do_not_touch_the_streak(open_desk):
    open_desk.earn("a1", 0)
    open_desk.earn("a2", 0)
    open_desk.reserve("a3")
    open_desk.void("a3")
    open_desk.reserve("a4")
    open_desk.fail("a4")
    assert open_desk.state.accounts["H1"].streak == 2
    assert open_desk.state.accounts["H1"].status == "open"


def test_streaks_are_an_accounts_own(open_desk):
    open_desk.earn("a1", 0)
    open_desk.earn("b1", 0, hypothesis="H2")
    assert [one.streak for one in open_desk.state.accounts.values()] == [1, 1]


# ---------------------------------------------------------------- reopen


def test_reopen_voids_undispatched_forfeits_dispatched_and_expires_the_rest(open_desk):
    for action in ("undispatched", "published", "recorded", "result", "test"):
        open_desk.reserve(action)
    open_desk.reserve("other", "H2")
    open_desk.publish("published", 100)
    open_desk.record("recorded", open_desk.publish("recorded", 100))
    open_desk.result("result", ["x"])
    open_desk.facts.submitted_tests.add((1, "test"))
    event = open_desk.reopen()
    assert [(one.hypothesis_id, one.action_id, one.outcome) for one in event.actions] == [
        ("H1", "undispatched", "voided"),
        ("H1", "published", "forfeited"),
        ("H1", "recorded", "forfeited"),
        ("H1", "result", "forfeited"),
        ("H1", "test", "forfeited"),
        ("H2", "other", "voided"),
    ]
    assert open_desk.figures("H1") == {"I": 100, "B": 0, "R": 0, "D": 40, "W": 0, "E": 60}
    assert open_desk.figures("H2") == {"I": 100, "B": 0, "R": 0, "D": 0, "W": 0, "E": 100}
    assert {one.status for one in open_desk.state.accounts.values()} == {"closed"}
    assert open_desk.entries[-1].document.analysis_revision == 1


def test_nothing_moves_in_a_revision_that_ended(open_desk):
    open_desk.reserve("a1")
    open_desk.reopen()
    for call in (open_desk.reserve, open_desk.settle, open_desk.void, open_desk.fail):
        refused(open_desk, "account_closed", call, "a9")
    assert isinstance(open_desk.reserve("a1"), Outcome)
    assert isinstance(open_desk.reopen(), Outcome)
    refused(open_desk, "operation_conflict", open_desk.reopen, "other", error=OperationConflict)


def test_a_new_revision_has_new_accounts_policy_actions_and_keys(desk):
    desk.initialise(policy({"source.search": 10}))
    desk.reserve("a1")
    desk.reopen()
    desk.revision = 2
    desk.initialise(policy({"source.search": 3}), ["H1", "H9"])
    assert list(desk.state.accounts) == ["H1", "H9"]
    assert desk.figures() == {"I": 100, "B": 100, "R": 0, "D": 0, "W": 0, "E": 0}
    assert desk.reserve("a1").cost == 3
    desk.revision = 1
    assert isinstance(desk.reserve("a1"), Outcome)
    refused(desk, "not_initialised", desk.settle, "a1")


# ---------------------------------------------------------------- repeats and entries


def test_repeats_append_nothing_and_conflicts_raise(open_desk):
    done = []

    def do(name, *arguments, **more):
        call = getattr(open_desk, name)
        assert not isinstance(call(*arguments, **more), Outcome)
        done.append((name, arguments, more, open_desk.entries[-1].id))

    for action in ("a1", "a2", "a3", "a4"):
        do("reserve", action)
    do("record", "a1", open_desk.publish("a1", 50))
    do("result", "a2", ["x"])
    do("settle", "a1", 40)
    do("void", "a3")
    do("fail", "a4")
    do("reopen")
    before = open_desk.dump()
    for name, arguments, more, entry in done:
        outcome = getattr(open_desk, name)(*arguments, **more)
        assert isinstance(outcome, Outcome)
        assert outcome.entry == entry
        assert open_desk.dump() == before
    for name, arguments, more in (
        ("settle", ("a1", 41), {}),
        ("settle", ("a1", 40), {"reason": "another"}),
        ("void", ("a3",), {"reason": "another"}),
        ("fail", ("a4",), {"reason": "another"}),
        ("record", ("a1", object_id(b"another")), {}),
        ("result", ("a2", ["x", "y"]), {}),
        ("reserve", ("a1",), {"operation": "source.read"}),
    ):
        refused(
            open_desk,
            "operation_conflict",
            getattr(open_desk, name),
            *arguments,
            error=OperationConflict,
            **more,
        )


def test_recognise_answers_before_anything_else_is_asked(open_desk):
    command = commands.Reserve(hypothesis_id="H1", action_id="a1", operation="source.search")
    assert recognise(open_desk.state, 1, command) is None
    open_desk.reserve("a1")
    assert recognise(open_desk.state, 1, command).entry == open_desk.entries[-1].id
    assert recognise(open_desk.state, 2, command) is None


def test_entries_are_a_chain_of_canonical_documents(open_desk):
    open_desk.earn("a1", 50)
    open_desk.reopen()
    parent = None
    for sequence, entry in enumerate(open_desk.entries, 1):
        assert decode(entry.encoded, LedgerEntry) == entry.document
        assert (entry.document.parent, entry.document.sequence) == (parent, sequence)
        assert (entry.document.case_id, entry.document.package_id) == ("C1", "P1")
        assert entry.document.rules == "budget/1"
        parent = entry.id
    assert open_desk.state.head == parent
    assert [len(one.document.accounts) for one in open_desk.entries] == [2, 1, 1, 1, 2]


def test_planning_leaves_the_state_alone(open_desk):
    before = open_desk.dump()
    command = commands.Reserve(hypothesis_id="H1", action_id="a1", operation="source.search")
    planned = plan(open_desk.state, 1, command, open_desk.facts)
    assert isinstance(planned.event, events.Reserve)
    assert planned.accounts[0].balance == 90
    assert open_desk.dump() == before


def test_a_plan_of_another_state_is_refused(open_desk):
    command = commands.Reserve(hypothesis_id="H1", action_id="a1", operation="source.search")
    planned = plan(open_desk.state, 1, command, open_desk.facts)
    entry = entry_of(open_desk.state, planned)
    open_desk.reserve("a2")
    before = open_desk.dump()
    with pytest.raises(InvalidError) as caught:
        open_desk.state.commit(planned, entry.id)
    assert caught.value.kind == "stale_plan"
    assert open_desk.dump() == before
    # As many entries, but others: the length of a ledger is not its identity.
    again = plan(open_desk.state, 1, command, open_desk.facts)
    other = LedgerState.empty("C1", "P1")
    for entry in open_desk.entries[:1]:
        adopt(other, entry, open_desk.facts.policy)
    sibling = commands.Reserve(hypothesis_id="H2", action_id="a3", operation="source.search")
    planned = plan(other, 1, sibling, open_desk.facts)
    other.commit(planned, entry_of(other, planned).id)
    assert other.sequence == open_desk.state.sequence
    with pytest.raises(InvalidError):
        other.commit(again, entry.id)


# ---------------------------------------------------------------- reservations of queries


def test_find_reservation_wants_the_very_reservation(open_desk):
    open_desk.reserve("a1")
    found = find_reservation(open_desk.state, 1, "H1", "a1", "source.search")
    assert (found.cost, found.operation) == (10, "source.search")
    open_desk.reserve("a2")
    open_desk.result("a2")
    open_desk.reserve("a3")
    open_desk.void("a3")
    for wanted in (
        (2, "H1", "a1", "source.search"),
        (1, "H2", "a1", "source.search"),
        (1, "H1", "a9", "source.search"),
        (1, "H1", "a1", "source.read"),
        (1, "H1", "a2", "source.search"),
        (1, "H1", "a3", "source.search"),
    ):
        with pytest.raises(MissingReservation):
            find_reservation(open_desk.state, *wanted)
    open_desk.reopen()
    with pytest.raises(MissingReservation):
        find_reservation(open_desk.state, 1, "H1", "a1", "source.search")
