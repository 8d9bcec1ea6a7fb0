"""What each command on an action does, one function each, in integers.

    deterministic = min(new_evidence_score, novelty_cap)       # novelty_cap where there is one
                  = 0 for a result without a ref that is new to the case
    score         = min(semantic_score, deterministic)
    reward        = cost * max_reward_percent * score // 10_000

so a reward is always less than the cost, and a cost of 1 never earns (spec: budget).
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace as with_members

from vstore.budget import commands
from vstore.budget import documents as events
from vstore.budget.documents import (
    AccountFigures,
    BudgetPolicy,
    LedgerEvent,
)
from vstore.budget.facts import Facts
from vstore.budget.policy import TEST_OPERATIONS
from vstore.budget.state import LedgerState, OpenAction
from vstore.errors import BudgetError
from vstore.objects.ids import ObjectId

__all__ = [
    "Effect",
    "Opening",
    "fail",
    "record_evidence",
    "record_result",
    "reserve",
    "settle",
    "settlement",
    "void",
]


class Opening(msgspec.Struct, frozen=True):
    """What initialising a revision fixes."""

    policy: BudgetPolicy
    policy_id: ObjectId
    #: Both fixed by the first policy of the case.
    case_credit_cap: int
    max_revisions: int


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """An event, and how the state changes by it."""

    event: LedgerEvent
    #: The accounts that it touches, after it, in the order in which they were opened.
    accounts: tuple[AccountFigures, ...]
    opening: Opening | None = None
    #: The action that is opened, or that a record or result is bound to.
    changed: OpenAction | None = None
    #: Ids of the actions that end.
    ended: tuple[str, ...] = ()
    #: Refs that are seen from now on.
    refs: tuple[str, ...] = ()
    #: Whether the revision's accounts end.
    closes: bool = False


def settlement(
    policy: BudgetPolicy, action: OpenAction, semantic_score: int
) -> tuple[int, int, int]:
    """Deterministic score, score and reward of a recorded action.

    Args:
        policy: Of the action's revision.
        action: With a record or a result.
        semantic_score: The assessment, 0 to 100.
    """
    if action.record is None:
        deterministic = policy.new_evidence_score if action.unseen_refs else 0
    else:
        deterministic = min(policy.new_evidence_score, action.novelty_cap or 0)
    score = min(semantic_score, deterministic)
    return deterministic, score, action.cost * policy.max_reward_percent * score // 10_000


def reserve(policy: BudgetPolicy, command: commands.Reserve, account: AccountFigures) -> Effect:
    """Set an operation's cost aside."""
    if account.status == "stopped":
        raise BudgetError(
            f"hypothesis {account.hypothesis_id} was stopped for low information",
            kind="account_stopped",
            hint="its open actions can still be finished",
            hypothesis_id=account.hypothesis_id,
        )
    cost = policy.costs.get(command.operation)
    if cost is None:
        raise BudgetError(
            f"the policy has no cost for {command.operation}",
            kind="no_cost",
            hint="an operation needs an explicit cost in the revision's policy",
            operation=command.operation,
        )
    if account.balance < cost:
        raise BudgetError(
            f"{command.operation} costs {cost}; hypothesis {account.hypothesis_id} has "
            f"{account.balance} left",
            kind="insufficient_credits",
            cost=cost,
            balance=account.balance,
            hypothesis_id=account.hypothesis_id,
        )
    return Effect(
        event=events.Reserve(
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
            operation=command.operation,
            cost=cost,
        ),
        accounts=(
            with_members(account, balance=account.balance - cost, reserved=account.reserved + cost),
        ),
        changed=OpenAction(
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
            operation=command.operation,
            cost=cost,
        ),
    )


def record_evidence(
    revision: int,
    command: commands.RecordEvidence,
    account: AccountFigures,
    action: OpenAction,
    facts: Facts,
) -> Effect:
    """Bind an evidence record; its novelty score caps what the action can earn."""
    if action.is_recorded:
        raise _already_recorded(action)
    record = facts.record(command.record)
    for member, said, wanted in (
        ("analysis_revision", record.analysis_revision, revision),
        ("hypothesis_id", record.hypothesis_id, action.hypothesis_id),
        ("action_id", record.action_id, action.action_id),
        ("operation", record.operation, action.operation),
    ):
        if said != wanted:
            raise BudgetError(
                f"record {record.record_id} is of another {member} than action {action.action_id}",
                kind="record_mismatch",
                member=member,
                action_id=action.action_id,
                record_id=record.record_id,
            )
    return Effect(
        event=events.RecordEvidence(
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
            record_id=record.record_id,
            record=command.record,
            novelty_cap=record.novelty_score,
        ),
        accounts=(account,),
        changed=with_members(action, record=command.record, novelty_cap=record.novelty_score),
    )


def record_result(
    state: LedgerState,
    command: commands.RecordResult,
    account: AccountFigures,
    action: OpenAction,
    facts: Facts,
) -> Effect:
    """Bind a result that is no evidence; only refs that are new to the case make it count."""
    if action.operation in TEST_OPERATIONS:
        raise BudgetError(
            f"action {action.action_id} is a test",
            kind="test_operation",
            hint="a test's result is its confirmed feedback, stored as evidence",
            action_id=action.action_id,
        )
    if action.is_recorded:
        raise _already_recorded(action)
    _refuse_evidence(state, action, facts)
    return Effect(
        event=events.RecordResult(
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
            result=command.result,
            novel_refs=command.novel_refs,
        ),
        accounts=(account,),
        changed=with_members(
            action,
            has_result=True,
            unseen_refs=any(ref not in state.seen_refs for ref in command.novel_refs),
        ),
        refs=tuple(command.novel_refs),
    )


def settle(
    policy: BudgetPolicy,
    command: commands.Settle,
    account: AccountFigures,
    action: OpenAction,
) -> Effect:
    """End a recorded action: its cost is spent, a part of it may come back as reward."""
    if not action.is_recorded:
        raise BudgetError(
            f"action {action.action_id} has no record and no result",
            kind="not_recorded",
            hint="bind its evidence record first, or fail it",
            action_id=action.action_id,
        )
    deterministic, score, reward = settlement(policy, action, command.semantic_score)
    low = policy.low_information
    streak = account.streak + 1 if score < low.threshold else 0
    # Once stopped, an account stays so: a good settlement afterwards resets the streak only.
    stopped = account.status == "stopped" or streak >= low.streak
    return Effect(
        event=events.Settle(
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
            semantic_score=command.semantic_score,
            reason=command.reason,
            deterministic=deterministic,
            score=score,
            reward=reward,
        ),
        accounts=(
            with_members(
                account,
                balance=account.balance + reward,
                reserved=account.reserved - action.cost,
                debited=account.debited + action.cost,
                rewarded=account.rewarded + reward,
                streak=streak,
                status="stopped" if stopped else account.status,
            ),
        ),
        ended=(action.action_id,),
    )


def void(
    state: LedgerState,
    command: commands.Void,
    account: AccountFigures,
    action: OpenAction,
    facts: Facts,
) -> Effect:
    """Give back what was set aside for an action that was never dispatched."""
    if is_dispatched(state, action, facts):
        raise BudgetError(
            f"action {action.action_id} was dispatched; only undispatched ones are refunded",
            kind="dispatched",
            hint="settle it, or fail it where it brought no evidence",
            action_id=action.action_id,
        )
    return Effect(
        event=events.Void(
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
            reason=command.reason,
        ),
        accounts=(
            with_members(
                account,
                balance=account.balance + action.cost,
                reserved=account.reserved - action.cost,
            ),
        ),
        ended=(action.action_id,),
    )


def fail(
    state: LedgerState,
    command: commands.Fail,
    account: AccountFigures,
    action: OpenAction,
    facts: Facts,
) -> Effect:
    """Spend what was set aside for an action that brought no evidence."""
    if action.record is not None:
        raise _already_recorded(action)
    _refuse_evidence(state, action, facts)
    return Effect(
        event=events.Fail(
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
            reason=command.reason,
        ),
        accounts=(spend(account, action.cost),),
        ended=(action.action_id,),
    )


def spend(account: AccountFigures, cost: int) -> AccountFigures:
    """The account after an open action of this cost ended without reward."""
    return with_members(account, reserved=account.reserved - cost, debited=account.debited + cost)


def is_dispatched(state: LedgerState, action: OpenAction, facts: Facts) -> bool:
    """Whether a record, a result or a submitted test request exists for an open action."""
    return (
        action.is_recorded
        or facts.recorded(state.revision, action.action_id)
        or facts.submitted(state.revision, action.action_id)
    )


def _refuse_evidence(state: LedgerState, action: OpenAction, facts: Facts) -> None:
    if facts.recorded(state.revision, action.action_id):
        raise BudgetError(
            f"action {action.action_id} has an evidence record",
            kind="has_evidence",
            hint="bind the record to the action and settle it",
            action_id=action.action_id,
        )


def _already_recorded(action: OpenAction) -> BudgetError:
    return BudgetError(
        f"action {action.action_id} has a record or a result already",
        kind="already_recorded",
        hint="settle it",
        action_id=action.action_id,
    )
