"""A simple model of a case over its whole life, written from the specification alone.

It imports no rule of vstore: states by name, credits by arithmetic, novelty by sets. What it
expects of an operation is an error's class, or None where the operation is legal.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, Final

from vstore.errors import (
    BudgetError,
    InvalidError,
    MissingReservation,
    OperationConflict,
    StateError,
    VStoreError,
)

__all__ = ["Account", "Action", "ReferenceCase", "Refusal"]

Refusal = type[VStoreError] | None

_NEXT: Final = {
    "ADMITTED": "INTERPRETING",
    "INTERPRETING": "GENERATING_HYPOTHESES",
    "GENERATING_HYPOTHESES": "INVESTIGATING_HYPOTHESES",
    "INVESTIGATING_HYPOTHESES": "DIAGNOSED",
    "DIAGNOSED": "CLOSED",
    "REOPENED": "GENERATING_HYPOTHESES",
}
_ACTIVE: Final = ("GENERATING_HYPOTHESES", "INVESTIGATING_HYPOTHESES")


@dataclass
class Account:
    """The credits of one hypothesis in one revision."""

    granted: int
    balance: int
    reserved: int = 0
    debited: int = 0
    rewarded: int = 0
    expired: int = 0
    streak: int = 0
    status: str = "open"


@dataclass
class Action:
    """A reserved action."""

    hypothesis: str
    operation: str
    cost: int
    #: The number of its record, bound to the ledger or not.
    record: int | None = None
    bound: bool = False
    result: bool = False
    #: The novelty score of its record.
    novelty: int | None = None
    unseen: bool = False


@dataclass
class ReferenceCase:
    """What a case comes to.

    Args:
        policy: Costs by operation under ``costs``, and the numbers of a budget policy.
    """

    policy: dict[str, Any]
    state: str = "ADMITTED"
    resume: str | None = None
    reason: str | None = None
    not_before: str | None = None
    number: int = 1
    revision: int = 1
    inputs: dict[bytes, bytes] = field(default_factory=dict)
    hypotheses: list[str] | None = None
    accounts: dict[str, Account] = field(default_factory=dict)
    #: The revision that the accounts are of; 0 before the first.
    opened: int = 0
    granted: int = 0
    actions: dict[str, Action] = field(default_factory=dict)
    #: What was asked under each (revision, command, action), to tell repeats from conflicts.
    keys: dict[tuple[int, str, str], object] = field(default_factory=dict)
    #: What was stored under each (revision, operation id), and the number of its record.
    stored: dict[tuple[int, str], tuple[object, int]] = field(default_factory=dict)
    #: Per record: content, novelty score, number of the first record with that content.
    records: list[tuple[frozenset[Any], int, int | None]] = field(default_factory=list)
    seen: set[Any] = field(default_factory=set)
    refs: set[str] = field(default_factory=set)

    def copy(self) -> ReferenceCase:
        """The same case, on its own."""
        return copy.deepcopy(self)

    def publish(self) -> None:
        """One generation more."""
        self.number += 1

    @property
    def open(self) -> bool:
        """Whether this revision has accounts."""
        return self.opened == self.revision

    # ---- the lifecycle

    def advance(self) -> Refusal:
        if self.state not in _NEXT:
            return StateError
        if self.state == "GENERATING_HYPOTHESES" and (self.hypotheses is None or not self.open):
            return StateError
        return None

    def do_advance(self) -> None:
        self.state = _NEXT[self.state]
        self.publish()

    def input_add(self) -> Refusal:
        return None if self.state in ("ADMITTED", "INTERPRETING", "REOPENED") else StateError

    def block(self, reason: str) -> Refusal:
        if self.state in _ACTIVE:
            return None
        if self.state == "INTERPRETING" and reason != "BUDGET_EXHAUSTED":
            return None
        return StateError

    def do_block(self, reason: str, not_before: str | None) -> None:
        self.resume, self.reason, self.not_before = self.state, reason, not_before
        self.state = "BLOCKED"
        self.publish()

    def resuming(self, now: str, *, early: bool) -> Refusal:
        if self.state != "BLOCKED":
            return StateError
        if self.not_before is not None and now < self.not_before and not early:
            return StateError
        return None

    def do_resume(self) -> None:
        assert self.resume is not None
        self.state = self.resume
        self.resume = self.reason = self.not_before = None
        self.publish()

    def reopen(self, cause: str) -> Refusal:
        legal = {"DIAGNOSED", "CLOSED"}
        if cause == "new_input":
            legal |= {"INTERPRETING", *_ACTIVE}
        if self.state not in legal:
            return StateError
        if self.opened and (
            self.revision + 1 > self.policy["max_revisions"]
            or self.granted >= self.policy["case_credit_cap"]
        ):
            return BudgetError
        return None

    def do_reopen(self, added: dict[bytes, bytes]) -> dict[str, str]:
        """Returns what becomes of each open action."""
        outcomes = {}
        if self.open:
            for name, action in self.actions.items():
                account = self.accounts[action.hypothesis]
                account.reserved -= action.cost
                if action.record is not None or action.result:
                    account.debited += action.cost
                    outcomes[name] = "forfeited"
                else:
                    account.balance += action.cost
                    outcomes[name] = "voided"
            for account in self.accounts.values():
                account.expired += account.balance
                account.balance = 0
                account.status = "closed"
            self.actions = {}
        self.inputs.update(added)
        self.state, self.hypotheses = "REOPENED", None
        self.revision += 1
        self.publish()
        return outcomes

    def state_hypotheses(self, names: list[str]) -> Refusal:
        if self.state not in _ACTIVE:
            return StateError
        if self.open and self.hypotheses is not None and set(names) != set(self.hypotheses):
            return StateError
        return None

    # ---- the budget

    def _repeat(self, command: str, action: str, payload: object) -> Refusal | bool:
        """True for a repeat, the refusal of a conflict, False for something new."""
        known = self.keys.get((self.revision, command, action))
        if known is None:
            return False
        return True if known == payload else OperationConflict

    def command(self, command: str, action: str, payload: tuple[Any, ...]) -> tuple[Refusal, bool]:
        """The refusal of a budget command, None where it is legal; and whether it is a repeat."""
        repeat = self._repeat(command, action, payload)
        if repeat is True:
            return None, True
        if repeat is not False:
            return repeat, False
        if self.state not in _ACTIVE:
            return StateError, False
        if not self.open:
            return BudgetError, False
        return getattr(self, f"_{command}")(action, *payload), False

    def _reserve(self, _action: str, hypothesis: str, operation: str) -> Refusal:
        account = self.accounts.get(hypothesis)
        cost = self.policy["costs"].get(operation)
        if account is None or account.status != "open" or cost is None or account.balance < cost:
            return BudgetError
        return None

    def _found(self, action: str, hypothesis: str) -> Action | type[VStoreError]:
        if hypothesis not in self.accounts:
            return BudgetError
        found = self.actions.get(action)
        if found is None or found.hypothesis != hypothesis:
            return MissingReservation
        return found

    def _record_evidence(self, action: str, hypothesis: str, record: int) -> Refusal:
        found = self._found(action, hypothesis)
        if not isinstance(found, Action):
            return found
        if found.bound or found.result or found.record != record:
            return BudgetError
        return None

    def _record_result(self, action: str, hypothesis: str, _refs: tuple[str, ...]) -> Refusal:
        found = self._found(action, hypothesis)
        if not isinstance(found, Action):
            return found
        return BudgetError if found.record is not None or found.result else None

    def _settle(self, action: str, hypothesis: str, _semantic: int) -> Refusal:
        found = self._found(action, hypothesis)
        if not isinstance(found, Action):
            return found
        return None if found.bound or found.result else BudgetError

    def _void(self, action: str, hypothesis: str) -> Refusal:
        found = self._found(action, hypothesis)
        if not isinstance(found, Action):
            return found
        return BudgetError if found.record is not None or found.result else None

    def _fail(self, action: str, hypothesis: str) -> Refusal:
        found = self._found(action, hypothesis)
        if not isinstance(found, Action):
            return found
        return BudgetError if found.record is not None else None

    def do(self, command: str, action: str, payload: tuple[Any, ...]) -> None:
        """Carry a legal budget command out."""
        self.keys[self.revision, command, action] = payload
        account = self.accounts[payload[0]]
        if command == "reserve":
            cost = self.policy["costs"][payload[1]]
            account.balance -= cost
            account.reserved += cost
            self.actions[action] = Action(payload[0], payload[1], cost)
        elif command == "record_evidence":
            self.actions[action].bound = True
        elif command == "record_result":
            found = self.actions[action]
            found.result, found.unseen = True, not set(payload[1]) <= self.refs
            self.refs |= set(payload[1])
        else:
            found = self.actions.pop(action)
            account.reserved -= found.cost
            if command == "void":
                account.balance += found.cost
            else:
                account.debited += found.cost
            if command == "settle":
                self._reward(account, found, payload[1])
        self.publish()

    def _reward(self, account: Account, action: Action, semantic: int) -> None:
        policy = self.policy
        if action.bound:
            assert action.novelty is not None
            deterministic = min(policy["new_evidence_score"], action.novelty)
        else:
            deterministic = policy["new_evidence_score"] if action.unseen else 0
        score = min(semantic, deterministic)
        reward = action.cost * policy["max_reward_percent"] * score // 10_000
        account.rewarded += reward
        account.balance += reward
        account.streak = account.streak + 1 if score < policy["threshold"] else 0
        if account.streak >= policy["streak"]:
            account.status = "stopped"

    def initialise(self, policy: str) -> tuple[Refusal, bool]:
        if self.hypotheses is None:
            where = self.state == "GENERATING_HYPOTHESES"
            return (InvalidError if where else StateError), False
        repeat = self._repeat("initialise", "", (policy, tuple(self.hypotheses)))
        if repeat is True:
            return None, True
        if repeat is not False:
            return repeat, False
        if self.state != "GENERATING_HYPOTHESES":
            return StateError, False
        return (None if self.share() else BudgetError), False

    def share(self) -> int:
        """Credits that each hypothesis would get."""
        assert self.hypotheses is not None
        left = self.policy["case_credit_cap"] - self.granted
        return int(min(self.policy["initial_credits"], left // len(self.hypotheses)))

    def do_initialise(self, policy: str) -> None:
        assert self.hypotheses is not None
        share = self.share()
        self.keys[self.revision, "initialise", ""] = (policy, tuple(self.hypotheses))
        self.accounts = {name: Account(share, share) for name in self.hypotheses}
        self.granted += share * len(self.hypotheses)
        self.opened, self.actions = self.revision, {}
        self.publish()

    # ---- evidence

    def store(
        self, operation_id: str, hypothesis: str, action: str, operation: str, asked: object
    ) -> tuple[Refusal, bool]:
        """The refusal of storing one answer, None where it is legal; and whether it repeats."""
        known = self.stored.get((self.revision, operation_id))
        if known is not None:
            return (
                (None, True)
                if known[0] == (hypothesis, action, asked)
                else (
                    OperationConflict,
                    False,
                )
            )
        if self.state not in _ACTIVE or not self.open:
            return StateError, False
        found = self.actions.get(action)
        if (
            found is None
            or found.hypothesis != hypothesis
            or found.operation != operation
            or found.record is not None
            or found.result
        ):
            return MissingReservation, False
        return None, False

    def do_store(
        self,
        operation_id: str,
        hypothesis: str,
        action: str,
        asked: object,
        items: frozenset[Any],
    ) -> int:
        """Store one answer; returns the number of its record."""
        new = items - self.seen
        novelty = 100 * len(new) // len(items)
        first = next(
            (number for number, one in enumerate(self.records, 1) if one[0] == items), None
        )
        self.seen |= items
        self.records.append((items, novelty, first))
        number = len(self.records)
        found = self.actions[action]
        found.record, found.novelty = number, novelty
        self.stored[self.revision, operation_id] = ((hypothesis, action, asked), number)
        self.publish()
        return number
