"""The one table of states and events of a case (spec: lifecycle, "States").

The writer asks it before it publishes, the verifier when it replays a history, and the
documentation's diagram is drawn from it. Nothing here does I/O.

An *event* is the kind of something that a generation records. One generation may record
several; they are applied in order, each from where the one before it led.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from vstore.errors import StateError, UnsupportedError
from vstore.package.documents import BLOCK_REASONS, BlockReason, Event, Generation, State

__all__ = [
    "ACTIVE",
    "RULES",
    "WORKING",
    "Position",
    "Rule",
    "after",
    "after_events",
    "check",
    "known_event",
    "legal_events",
    "members_of",
    "next_state",
    "starts_revision",
]

#: The states that a case may be blocked in.
WORKING: Final[tuple[State, ...]] = (
    "INTERPRETING",
    "GENERATING_HYPOTHESES",
    "INVESTIGATING_HYPOTHESES",
)
#: The states that evidence and the budget move in.
ACTIVE: Final[tuple[State, ...]] = ("GENERATING_HYPOTHESES", "INVESTIGATING_HYPOTHESES")
_OPEN: Final[tuple[State, ...]] = ("ADMITTED", *WORKING, "DIAGNOSED", "REOPENED")
_HELD: Final[tuple[BlockReason, ...]] = (
    "BUDGET_EXHAUSTED",
    "PROVIDER_UNAVAILABLE",
    "OPERATOR_HOLD",
)
_WAITING: Final[tuple[BlockReason, ...]] = ("AWAITING_TEST_FEEDBACK",)


class Rule(msgspec.Struct, frozen=True):
    """One row of the table: what an event may do, and where.

    Attributes:
        event: The kind of the event, as generations record it.
        sources: The states that it is legal in; none for the first event of a package.
        target: The state that it leads to; ``RESUME`` is the one that the block left, None
            the same state.
        reasons: The block reasons that it may give (where the target is BLOCKED) or that it
            is legal in (where the source is).
        needs: What a writer asks for first: ``hypotheses`` or ``budget`` of the revision. It
            spares the user a dead end; a history without is legal all the same.
        changes: The members of a generation that it may change; ``artifacts.x`` is one
            artifact, ``blocked``, ``state`` and ``analysis_revision`` follow from the target.
        new_revision: Whether it starts the next analysis revision.
    """

    event: str
    sources: tuple[State, ...]
    target: State | Literal["RESUME"] | None = None
    reasons: tuple[BlockReason, ...] = ()
    needs: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    new_revision: bool = False


def _advance(source: State, target: State, *needs: str) -> Rule:
    return Rule("advance", (source,), target, needs=needs)


_LEDGER: Final = ("artifacts.budget_ledger",)
_INVESTIGATING: Final[tuple[State, ...]] = ("INVESTIGATING_HYPOTHESES",)
_CALLS: Final = ("artifacts.investigation_log",)
# A step changes the brief, and with it how its hypothesis stands.
_STEP: Final = ("artifacts.investigation_log", "artifacts.working_brief", "artifacts.hypotheses")
# The hypotheses stay: they say of which revision they are.
_REOPENING: Final = ("inputs", "artifacts.budget_ledger")

RULES: Final[tuple[Rule, ...]] = (
    Rule("init", (), "ADMITTED", changes=("inputs",)),
    _advance("ADMITTED", "INTERPRETING"),
    _advance("INTERPRETING", "GENERATING_HYPOTHESES"),
    # Accounts can only be opened while hypotheses are generated.
    _advance("GENERATING_HYPOTHESES", "INVESTIGATING_HYPOTHESES", "hypotheses", "budget"),
    _advance("INVESTIGATING_HYPOTHESES", "DIAGNOSED"),
    _advance("DIAGNOSED", "CLOSED"),
    _advance("REOPENED", "GENERATING_HYPOTHESES"),
    Rule("input.add", ("ADMITTED", "INTERPRETING", "REOPENED"), changes=("inputs",)),
    Rule("source.add", _OPEN, changes=("snapshots",)),
    Rule("database.add", _OPEN, changes=("snapshots",)),
    Rule("hypotheses", ACTIVE, changes=("artifacts.hypotheses",)),
    Rule(
        "budget.initialise",
        ("GENERATING_HYPOTHESES",),
        needs=("hypotheses",),
        changes=("artifacts.budget_ledger", "artifacts.budget_policy"),
    ),
    Rule("budget.reserve", ACTIVE, changes=_LEDGER),
    Rule("budget.record_evidence", ACTIVE, changes=_LEDGER),
    Rule("budget.record_result", ACTIVE, changes=_LEDGER),
    Rule("budget.settle", ACTIVE, changes=_LEDGER),
    Rule("budget.void", ACTIVE, changes=_LEDGER),
    Rule("budget.fail", ACTIVE, changes=_LEDGER),
    Rule("evidence.tool_results", ACTIVE, changes=("artifacts.evidence_index",)),
    Rule("evidence.feedback", ACTIVE, changes=("artifacts.evidence_index",)),
    # Replies of a model: opening a call, its reply accepted or refused, one from elsewhere.
    Rule("investigation.open", _INVESTIGATING, needs=("hypotheses",), changes=_CALLS),
    Rule("investigation.reply", _INVESTIGATING, changes=_STEP),
    Rule("investigation.rejected", _INVESTIGATING, changes=_CALLS),
    Rule("investigation.import", _INVESTIGATING, needs=("hypotheses",), changes=_STEP),
    Rule("block", ("INTERPRETING",), "BLOCKED", ("PROVIDER_UNAVAILABLE", "OPERATOR_HOLD")),
    Rule("block", ACTIVE, "BLOCKED", _HELD),
    Rule("resume", ("BLOCKED",), "RESUME", _HELD),
    Rule(
        "test.submit",
        ("INVESTIGATING_HYPOTHESES",),
        "BLOCKED",
        _WAITING,
        changes=("artifacts.async_test_request",),
    ),
    Rule("test.attach", ("BLOCKED",), None, _WAITING, changes=("attachments",)),
    Rule(
        "test.confirm",
        ("BLOCKED",),
        "RESUME",
        _WAITING,
        changes=("artifacts.async_test_feedback",),
    ),
    Rule(
        "reopen.review", ("DIAGNOSED", "CLOSED"), "REOPENED", changes=_REOPENING, new_revision=True
    ),
    Rule(
        "reopen.patch_rejected",
        ("DIAGNOSED", "CLOSED"),
        "REOPENED",
        changes=_REOPENING,
        new_revision=True,
    ),
    Rule(
        "reopen.new_input",
        (*WORKING, "DIAGNOSED", "CLOSED"),
        "REOPENED",
        changes=_REOPENING,
        new_revision=True,
    ),
)

_BY_EVENT: Final[dict[str, tuple[Rule, ...]]] = {
    name: tuple(rule for rule in RULES if rule.event == name)
    for name in dict.fromkeys(rule.event for rule in RULES)
}


class Position(NamedTuple):
    """Where a case stands: its state and, where it is BLOCKED, why and what it left."""

    state: State
    reason: BlockReason | None = None
    resume_state: State | None = None

    @classmethod
    def of(cls, generation: Generation) -> Position:
        """The position that a generation records."""
        blocked = generation.blocked
        if blocked is None:
            return cls(generation.state)
        return cls(generation.state, blocked.reason, blocked.resume_state)

    def __str__(self) -> str:
        return self.state if self.reason is None else f"{self.state} ({self.reason})"


def known_event(event: str) -> bool:
    """Whether the table has this event."""
    return event in _BY_EVENT


def legal_events(position: Position | None) -> tuple[str, ...]:
    """The events that are legal here, in the table's order; None is before the first one."""
    return tuple(
        name
        for name, rules in _BY_EVENT.items()
        if any(_is_source(rule, position) for rule in rules)
    )


def check(position: Position | None, event: str) -> Rule:
    """The rule that makes an event legal here.

    Args:
        position: Where the case stands; None before its first event.
        event: The kind of the event.

    Raises:
        UnsupportedError: The table doesn't know the event.
        StateError: The event isn't legal here; ``details`` has ``state``, ``event`` and
            ``legal``, a list.
    """
    rules = _BY_EVENT.get(event)
    if rules is None:
        raise UnsupportedError("an event that this version doesn't know", kind="unsupported_event")
    for rule in rules:
        if _is_source(rule, position):
            return rule
    legal = legal_events(position)
    where = "a package that has no generation" if position is None else str(position)
    raise StateError(
        f"{event} is not legal in {where}; legal are: {', '.join(legal) or 'none'}",
        hint=_hint(position, event),
        state=None if position is None else position.state,
        event=event,
        legal=list(legal),
    )


def after(position: Position | None, event: str, *, reason: BlockReason | None = None) -> Position:
    """Where an event leads.

    Args:
        position: Where the case stands; None before its first event.
        event: The kind of the event.
        reason: Why the case is blocked; for events that lead to BLOCKED, and only for them.

    Raises:
        UnsupportedError: The table doesn't know the event.
        StateError: The event isn't legal here, or not with this reason.
    """
    rule = check(position, event)
    if rule.target == "BLOCKED":
        if reason not in rule.reasons:
            raise StateError(
                f"{event} in {position} needs one of the reasons {', '.join(rule.reasons)}",
                kind="block_reason",
                event=event,
                legal=list(rule.reasons),
            )
        assert position is not None
        return Position("BLOCKED", reason, position.state)
    if rule.target is None:
        assert position is not None
        return position
    if rule.target == "RESUME":
        if position is None or position.resume_state is None:
            raise StateError("a blocked case doesn't say which state it left", event=event)
        return Position(position.resume_state)
    return Position(rule.target)


def after_events(
    position: Position | None, events: list[Event], *, reason: BlockReason | None = None
) -> Position:
    """Where the events of one generation lead, one after the other.

    Args:
        position: Where the parent stands; None for the first generation.
        events: The generation's events, at least one.
        reason: The block reason that the generation records, or None.

    Raises:
        As :func:`after`.
    """
    for event in events:
        position = after(position, event.kind, reason=reason)
    if position is None:
        raise StateError("a generation without events", kind="no_events")
    return position


def next_state(state: State, event: str, *, blocked: Position | None = None) -> State:
    """The state that an event leads to from a state that is not BLOCKED, or from ``blocked``.

    Raises:
        As :func:`after`.
    """
    return after(blocked or Position(state), event).state


def members_of(events: list[Event]) -> frozenset[str]:
    """The members of a generation that these events together may change.

    Raises:
        UnsupportedError: The table doesn't know one of them.
    """
    found: set[str] = set()
    for event in events:
        if event.kind not in _BY_EVENT:
            raise UnsupportedError(
                "an event that this version doesn't know", kind="unsupported_event"
            )
        for rule in _BY_EVENT[event.kind]:
            found.update(rule.changes)
    return frozenset(found)


def starts_revision(event: str) -> bool:
    """Whether this event starts the next analysis revision."""
    return any(rule.new_revision for rule in _BY_EVENT.get(event, ()))


def _is_source(rule: Rule, position: Position | None) -> bool:
    if position is None:
        return not rule.sources
    if position.state not in rule.sources:
        return False
    return position.state != "BLOCKED" or position.reason in rule.reasons


def _hint(position: Position | None, event: str) -> str | None:
    if position is None:
        return "make the package with init first"
    if position.reason == "AWAITING_TEST_FEEDBACK":
        return "only confirmed feedback that matches the open test request ends this wait"
    if position.state == "BLOCKED":
        return "resume the case first"
    if event == "input.add":
        return "new raw input reaches a case at work by reopening it (reopen.new_input)"
    sources = dict.fromkeys(source for rule in _BY_EVENT[event] for source in rule.sources)
    return f"{event} is for {', '.join(sources)}" if sources else None


assert set(_HELD + _WAITING) == set(BLOCK_REASONS)
