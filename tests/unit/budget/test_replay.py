"""Stored entries folded back: judged with the package's facts, or believed about evidence."""

import msgspec
import pytest

from vstore.budget import documents as events
from vstore.budget.replay import adopt, judge
from vstore.budget.state import LedgerState
from vstore.errors import BudgetError, IntegrityError, InvalidError, NotFoundError
from vstore.objects.ids import object_id
from vstore.objects.sealed import seal
from vstore.testing.budget_samples import policy

change = msgspec.structs.replace


@pytest.fixture
def history(open_desk):
    open_desk.earn("a1", 50)
    for action in ("a2", "a3", "a4", "a5", "a6"):
        open_desk.reserve(action)
    open_desk.result("a2", ["x"])
    open_desk.settle("a2")
    open_desk.void("a3")
    open_desk.fail("a4")
    open_desk.publish("a5", 10)
    open_desk.reopen()
    open_desk.revision = 2
    open_desk.initialise(policy(initial_credits=20))
    open_desk.reserve("a1")
    return open_desk


def dump(state):
    return {name: getattr(state, name) for name in LedgerState.__struct_fields__}


def test_judging_every_entry_gives_the_very_entries(history):
    state = LedgerState.empty("C1", "P1")
    for entry in history.entries:
        planned, expected = judge(state, entry.document, history.facts)
        assert expected == entry
        state.commit(planned, entry.id)
    assert dump(state) == dump(history.state)


def test_adopting_every_entry_gives_the_very_state(history):
    state = LedgerState.empty("C1", "P1")
    for entry in history.entries:
        adopt(state, entry, history.facts.policy)
    assert dump(state) == dump(history.state)


def test_an_entry_that_repeats_an_earlier_one_is_found(history):
    repeated = change(history.entries[1].document, parent=history.state.head, sequence=99)
    with pytest.raises(IntegrityError) as caught:
        judge(history.state, repeated, history.facts)
    assert caught.value.kind == "repeated_entry"
    with pytest.raises(IntegrityError):
        adopt(history.state, seal(repeated), history.facts.policy)


def altered(entry, **members):
    return seal(change(entry.document, **members))


@pytest.mark.parametrize("at", range(14))
def test_every_altered_figure_is_refused(history, at):
    state = LedgerState.empty("C1", "P1")
    for entry in history.entries[:at]:
        adopt(state, entry, history.facts.policy)
    before = dump(state)
    entry = history.entries[at]
    bad = [
        altered(entry, sequence=entry.document.sequence + 1),
        altered(entry, parent=object_id(b"another")),
        altered(entry, case_id="C2"),
        altered(entry, rules="budget/2"),
        altered(entry, accounts=entry.document.accounts * 2),
    ]
    for name in ("granted", "balance", "reserved", "debited", "rewarded", "expired", "streak"):
        account = entry.document.accounts[0]
        figures = change(account, **{name: getattr(account, name) + 1})
        bad.append(altered(entry, accounts=[figures, *entry.document.accounts[1:]]))
    event = entry.document.event
    for name in ("cost", "deterministic", "score", "reward"):
        if hasattr(event, name):
            bad.append(altered(entry, event=change(event, **{name: getattr(event, name) + 1})))
    if isinstance(event, events.Initialise):
        more = change(event.grants[0], credits=event.grants[0].credits + 1)
        bad.append(altered(entry, event=change(event, grants=[more, *event.grants[1:]])))
    for one in bad:
        with pytest.raises(IntegrityError) as caught:
            adopt(state, one, history.facts.policy)
        assert caught.value.kind == "bad_entry"
    assert dump(state) == before
    adopt(state, entry, history.facts.policy)


def test_a_refused_command_is_a_bad_entry_to_adopt_and_its_own_kind_to_judge(history):
    state = history.state
    entry = history.entries[-1].document
    forged = change(
        entry,
        event=change(entry.event, action_id="a9", operation="source.read"),
        parent=state.head,
        sequence=state.sequence + 1,
    )
    with pytest.raises(IntegrityError) as caught:
        adopt(state, seal(forged), history.facts.policy)
    assert caught.value.kind == "bad_entry"
    with pytest.raises(BudgetError) as refusal:
        judge(state, forged, history.facts)
    assert refusal.value.kind == "no_cost"


def test_a_refund_of_a_dispatched_action_is_found_by_the_verifier_only(open_desk):
    open_desk.reserve("a1")
    open_desk.void("a1")
    open_desk.publish("a1", 50)  # the record was there all along
    state = LedgerState.empty("C1", "P1")
    for entry in open_desk.entries[:2]:
        adopt(state, entry, open_desk.facts.policy)
    with pytest.raises(BudgetError) as caught:
        judge(state, open_desk.entries[2].document, open_desk.facts)
    assert caught.value.kind == "dispatched"
    adopt(state, open_desk.entries[2], open_desk.facts.policy)


def test_a_record_for_an_action_that_is_not_open_is_a_bad_entry(open_desk):
    event = events.RecordEvidence(
        hypothesis_id="H1",
        action_id="a1",
        record_id="E000001",
        record=object_id(b"record"),
        novelty_cap=100,
    )
    entry = change(
        open_desk.entries[0].document, event=event, parent=open_desk.state.head, sequence=2
    )
    with pytest.raises(IntegrityError) as caught:
        adopt(open_desk.state, seal(entry), open_desk.facts.policy)
    assert caught.value.kind == "bad_entry"


def test_a_missing_policy_is_the_readers_to_report(history):
    def missing(oid):
        raise NotFoundError("no object", kind="no_object")

    with pytest.raises(NotFoundError):
        adopt(LedgerState.empty("C1", "P1"), history.entries[0], missing)


def test_a_hostile_revision_is_a_bad_entry(history):
    entry = change(history.entries[0].document, analysis_revision=0)
    with pytest.raises(IntegrityError):
        adopt(LedgerState.empty("C1", "P1"), seal(entry), history.facts.policy)
    with pytest.raises(InvalidError):
        judge(LedgerState.empty("C1", "P1"), entry, history.facts)
