"""The lifecycle table against the pages, written out by hand here."""

from __future__ import annotations

import itertools

import pytest

from vstore.errors import StateError, UnsupportedError
from vstore.package import lifecycle
from vstore.package.documents import BLOCK_REASONS, STATES, Event
from vstore.package.lifecycle import Position, after, after_events, check, legal_events

AT = "2026-03-01T12:00:00Z"
WORKING = ["INTERPRETING", "GENERATING_HYPOTHESES", "INVESTIGATING_HYPOTHESES"]

BUDGET = [
    "budget.reserve",
    "budget.record_evidence",
    "budget.record_result",
    "budget.settle",
    "budget.void",
    "budget.fail",
]
EVIDENCE = ["evidence.tool_results", "evidence.feedback"]
CALLS = [
    "investigation.open",
    "investigation.reply",
    "investigation.rejected",
    "investigation.import",
]
PINNING = ["source.add", "database.add"]
# The whole table once more, by hand: state (and reason) to the events that are legal there.
LEGAL: dict[tuple[str, str | None], set[str]] = {
    ("ADMITTED", None): {"advance", "input.add", *PINNING},
    ("INTERPRETING", None): {"advance", "input.add", *PINNING, "block", "reopen.new_input"},
    ("GENERATING_HYPOTHESES", None): {
        "advance", *PINNING, "block", "reopen.new_input", "hypotheses", "budget.initialise",
        *BUDGET, *EVIDENCE,
    },
    ("INVESTIGATING_HYPOTHESES", None): {
        "advance", *PINNING, "block", "reopen.new_input", "hypotheses", *BUDGET, *EVIDENCE,
        *CALLS, "test.submit",
    },
    ("DIAGNOSED", None): {
        "advance", *PINNING, "reopen.review", "reopen.patch_rejected", "reopen.new_input",
    },
    ("CLOSED", None): {"reopen.review", "reopen.patch_rejected", "reopen.new_input"},
    ("REOPENED", None): {"advance", "input.add", *PINNING},
    ("BLOCKED", "AWAITING_TEST_FEEDBACK"): {"test.attach", "test.confirm"},
    ("BLOCKED", "BUDGET_EXHAUSTED"): {"resume"},
    ("BLOCKED", "PROVIDER_UNAVAILABLE"): {"resume"},
    ("BLOCKED", "OPERATOR_HOLD"): {"resume"},
}  # fmt: skip
ALL_EVENTS = {"init"}.union(*LEGAL.values())


def position(state: str, reason: str | None) -> Position:
    resume = "INVESTIGATING_HYPOTHESES" if reason else None
    return Position(state, reason, resume)  # type: ignore[arg-type]


def test_every_state_and_reason_is_in_the_table_by_hand() -> None:
    assert {state for state, _ in LEGAL} == set(STATES)
    assert {reason for _, reason in LEGAL if reason} == set(BLOCK_REASONS)
    assert {rule.event for rule in lifecycle.RULES} == ALL_EVENTS


@pytest.mark.parametrize(("where", "event"), list(itertools.product(LEGAL, sorted(ALL_EVENTS))))
def test_an_event_is_legal_exactly_where_the_pages_say(
    where: tuple[str, str | None], event: str
) -> None:
    here = position(*where)
    if event in LEGAL[where]:
        assert check(here, event).event == event
        return
    with pytest.raises(StateError) as caught:
        check(here, event)
    assert caught.value.kind == "state"
    assert where[0] in str(caught.value)
    assert event in str(caught.value)
    assert set(caught.value.details["legal"]) == LEGAL[where]  # type: ignore[call-overload]
    assert caught.value.details["state"] == where[0]
    for one in LEGAL[where]:
        assert one in str(caught.value)


def test_legal_events_come_in_the_tables_order() -> None:
    assert legal_events(None) == ("init",)
    assert legal_events(Position("REOPENED")) == (
        "advance",
        "input.add",
        "source.add",
        "database.add",
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("ADMITTED", "INTERPRETING"),
        ("INTERPRETING", "GENERATING_HYPOTHESES"),
        ("GENERATING_HYPOTHESES", "INVESTIGATING_HYPOTHESES"),
        ("INVESTIGATING_HYPOTHESES", "DIAGNOSED"),
        ("DIAGNOSED", "CLOSED"),
        ("REOPENED", "GENERATING_HYPOTHESES"),
    ],
)
def test_advance_leads_along_the_ordinary_transitions(source: str, target: str) -> None:
    assert after(Position(source), "advance") == Position(target)  # type: ignore[arg-type]
    assert lifecycle.next_state(source, "advance") == target  # type: ignore[arg-type]


def test_nothing_but_init_begins_a_package() -> None:
    assert after(None, "init") == Position("ADMITTED")
    with pytest.raises(StateError, match="no generation"):
        after(None, "advance")
    with pytest.raises(StateError):
        after(Position("ADMITTED"), "init")


@pytest.mark.parametrize("state", WORKING)
@pytest.mark.parametrize("reason", ["PROVIDER_UNAVAILABLE", "OPERATOR_HOLD"])
def test_a_block_leads_back_to_the_state_it_left(state: str, reason: str) -> None:
    blocked = after(Position(state), "block", reason=reason)  # type: ignore[arg-type]
    assert blocked == Position("BLOCKED", reason, state)  # type: ignore[arg-type]
    assert after(blocked, "resume") == Position(state)  # type: ignore[arg-type]


def test_a_block_needs_a_reason_that_fits() -> None:
    with pytest.raises(StateError) as caught:
        after(Position("INTERPRETING"), "block", reason="BUDGET_EXHAUSTED")
    assert caught.value.kind == "block_reason"
    with pytest.raises(StateError):
        after(Position("INVESTIGATING_HYPOTHESES"), "block", reason="AWAITING_TEST_FEEDBACK")
    with pytest.raises(StateError):
        after(Position("INVESTIGATING_HYPOTHESES"), "block")
    with pytest.raises(StateError):
        after(Position("INVESTIGATING_HYPOTHESES"), "test.submit", reason="OPERATOR_HOLD")
    held = after(Position("GENERATING_HYPOTHESES"), "block", reason="BUDGET_EXHAUSTED")
    assert held.resume_state == "GENERATING_HYPOTHESES"


def test_only_confirmed_feedback_ends_the_wait_for_it() -> None:
    waiting = after(
        Position("INVESTIGATING_HYPOTHESES"), "test.submit", reason="AWAITING_TEST_FEEDBACK"
    )
    assert waiting == Position("BLOCKED", "AWAITING_TEST_FEEDBACK", "INVESTIGATING_HYPOTHESES")
    assert after(waiting, "test.attach") == waiting
    assert after(waiting, "test.confirm") == Position("INVESTIGATING_HYPOTHESES")
    with pytest.raises(StateError) as caught:
        after(waiting, "resume")
    assert "feedback" in (caught.value.hint or "")
    held = after(Position("INVESTIGATING_HYPOTHESES"), "block", reason="OPERATOR_HOLD")
    with pytest.raises(StateError):
        after(held, "test.confirm")


def test_a_block_without_a_state_to_resume_is_refused() -> None:
    with pytest.raises(StateError):
        after(Position("BLOCKED", "OPERATOR_HOLD", None), "resume")


@pytest.mark.parametrize("event", ["reopen.review", "reopen.patch_rejected", "reopen.new_input"])
def test_reopening_starts_a_revision(event: str) -> None:
    assert lifecycle.starts_revision(event)
    assert after(Position("CLOSED"), event) == Position("REOPENED")


def test_nothing_else_starts_a_revision() -> None:
    started = {one for one in ALL_EVENTS if lifecycle.starts_revision(one)}
    assert started == {"reopen.review", "reopen.patch_rejected", "reopen.new_input"}
    assert not lifecycle.starts_revision("no.such_event")


def _event(kind: str) -> Event:
    return Event(kind=kind, operation_id=None, actor="a", at=AT, reason=None)


def test_events_of_one_generation_follow_each_other() -> None:
    start = Position("ADMITTED")
    two = [_event("advance"), _event("advance")]
    assert after_events(start, two) == Position("GENERATING_HYPOTHESES")
    with pytest.raises(StateError):
        after_events(start, [_event("advance"), _event("hypotheses")])
    with pytest.raises(StateError):
        after_events(None, [])
    assert after_events(None, [_event("init")]) == start


def test_an_unknown_event_is_unsupported_not_wrong() -> None:
    with pytest.raises(UnsupportedError) as caught:
        check(Position("ADMITTED"), "time.travel")
    assert caught.value.kind == "unsupported_event"
    with pytest.raises(UnsupportedError):
        lifecycle.members_of([_event("time.travel")])
    assert lifecycle.known_event("advance")
    assert not lifecycle.known_event("time.travel")


def test_what_events_may_change() -> None:
    assert lifecycle.members_of([_event("advance")]) == frozenset()
    assert lifecycle.members_of([_event("input.add"), _event("source.add")]) == {
        "inputs",
        "snapshots",
    }
    assert lifecycle.members_of([_event("budget.initialise")]) == {
        "artifacts.budget_ledger",
        "artifacts.budget_policy",
    }


def test_hints_say_where_an_event_is_for() -> None:
    def hint(where: Position | None, event: str) -> str:
        with pytest.raises(StateError) as caught:
            check(where, event)
        return caught.value.hint or ""

    assert "init" in hint(None, "hypotheses")
    assert "reopen" in hint(Position("DIAGNOSED"), "input.add")
    assert "resume" in hint(Position("BLOCKED", "OPERATOR_HOLD", "INTERPRETING"), "advance")
    assert "INVESTIGATING_HYPOTHESES" in hint(Position("ADMITTED"), "test.submit")
    assert hint(Position("ADMITTED"), "init") == ""
