"""What opening and ending the accounts of a revision does (spec: budget, table of commands)."""

from __future__ import annotations

from msgspec.structs import replace as with_members

from vstore.budget import commands
from vstore.budget import documents as events
from vstore.budget.documents import AccountFigures, BudgetPolicy, Disposition, Grant
from vstore.budget.effects import Effect, Opening, is_dispatched, spend
from vstore.budget.facts import Facts
from vstore.budget.policy import check_policy
from vstore.budget.state import LedgerState
from vstore.errors import BudgetError, InvalidError

__all__ = ["grants", "initialise", "reopen"]


def grants(policy: BudgetPolicy, hypotheses: int, remaining: int) -> int:
    """Credits for each of several hypotheses.

    Args:
        policy: Of the revision.
        hypotheses: How many, 1 or more.
        remaining: What the case's cap leaves, 0 or more.

    Returns:
        The policy's initial credits; where the cap leaves less, equal shares of what it
        leaves, rounded down.
    """
    return min(policy.initial_credits, remaining // hypotheses)


def initialise(
    state: LedgerState, revision: int, command: commands.Initialise, facts: Facts
) -> Effect:
    """Open the accounts of a revision and grant credits within the case's cap."""
    if len(set(command.hypotheses)) != len(command.hypotheses):
        raise InvalidError("a hypothesis is named twice", kind="duplicate_hypothesis")
    if revision <= state.revision:
        raise BudgetError(
            f"the ledger is at revision {state.revision} already",
            kind="stale_revision",
            analysis_revision=revision,
        )
    if state.revision and not state.closed:
        raise BudgetError(
            f"the accounts of revision {state.revision} are open",
            kind="revision_open",
            hint="accounts of a new revision follow a reopening",
            analysis_revision=state.revision,
        )
    policy = facts.policy(command.policy)
    check_policy(policy)
    first = state.revision == 0
    cap = policy.case_credit_cap if first else state.case_credit_cap
    if policy.case_credit_cap != cap:
        raise BudgetError(
            f"the case's credit cap is {cap}; its first policy fixed it",
            kind="cap_fixed",
            hint="a later policy must state the same case_credit_cap",
            cap=cap,
        )
    last = policy.max_revisions if first else min(state.max_revisions, policy.max_revisions)
    if revision > last:
        raise BudgetError(
            f"revision {revision} is past the case's limit of {last}",
            kind="max_revisions",
            limit="max_revisions",
            value=last,
            asked=revision,
        )
    share = grants(policy, len(command.hypotheses), cap - state.granted)
    if share == 0:
        raise BudgetError(
            f"the case's credit cap of {cap} leaves nothing to grant",
            kind="credit_cap",
            limit="case_credit_cap",
            value=cap,
            asked=state.granted + len(command.hypotheses),
        )
    return Effect(
        event=events.Initialise(
            policy=command.policy,
            grants=[Grant(hypothesis_id=one, credits=share) for one in command.hypotheses],
        ),
        accounts=tuple(
            AccountFigures(
                hypothesis_id=one,
                granted=share,
                balance=share,
                reserved=0,
                debited=0,
                rewarded=0,
                expired=0,
                streak=0,
                status="open",
            )
            for one in command.hypotheses
        ),
        opening=Opening(policy, command.policy, cap, state.max_revisions or policy.max_revisions),
    )


def reopen(state: LedgerState, command: commands.Reopen, facts: Facts) -> Effect:
    """End all accounts: undispatched actions voided, dispatched forfeited, the rest expires."""
    accounts = dict(state.accounts)
    dispositions: list[Disposition] = []
    for action in state.actions.values():
        account = accounts[action.hypothesis_id]
        forfeited = is_dispatched(state, action, facts)
        accounts[action.hypothesis_id] = (
            spend(account, action.cost)
            if forfeited
            else with_members(
                account,
                balance=account.balance + action.cost,
                reserved=account.reserved - action.cost,
            )
        )
        dispositions.append(
            Disposition(
                hypothesis_id=action.hypothesis_id,
                action_id=action.action_id,
                outcome="forfeited" if forfeited else "voided",
            )
        )
    return Effect(
        event=events.Reopen(reason=command.reason, actions=dispositions),
        accounts=tuple(
            with_members(
                account,
                balance=0,
                expired=account.expired + account.balance,
                status="closed",
            )
            for account in accounts.values()
        ),
        ended=tuple(state.actions),
        closes=True,
    )
