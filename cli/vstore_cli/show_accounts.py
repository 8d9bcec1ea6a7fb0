"""Accounts and policies for people."""

from __future__ import annotations

from collections.abc import Sequence

from vstore.budget.documents import AccountFigures, BudgetPolicy
from vstore_cli.table import Column, table
from vstore_cli.terminal import Terminal
from vstore_cli.words import count

__all__ = ["account_lines", "policy_lines"]


def account_lines(terminal: Terminal, figures: Sequence[AccountFigures]) -> list[str]:
    """A table of accounts; always granted + earned - spent = balance + reserved + expired."""
    columns = [
        Column(title="hyp", style="bold"),
        Column(title="granted", right=True),
        Column(title="earned", right=True, style="good"),
        Column(title="spent", right=True),
        Column(title="reserved", right=True),
        Column(title="expired", right=True),
        Column(title="balance", right=True, style="bold"),
        Column(title="streak", right=True),
        Column(title="status"),
    ]
    rows = [
        [
            one.hypothesis_id,
            str(one.granted),
            str(one.rewarded),
            str(one.debited),
            str(one.reserved),
            str(one.expired),
            str(one.balance),
            str(one.streak),
            one.status,
        ]
        for one in figures
    ]
    return table(terminal, columns, rows)


def policy_lines(policy: BudgetPolicy) -> list[str]:
    """A policy in words."""
    low = policy.low_information
    cap = f"the case has {policy.case_credit_cap:,} at the most"
    counts = f"novelty counts up to {policy.new_evidence_score}"
    lines = [
        f"each hypothesis starts with {count(policy.initial_credits, 'credit')}; {cap}",
        f"a settlement earns up to {policy.max_reward_percent}% of the cost; {counts}",
        f"an account stops after {low.streak} settlements in a row scoring under {low.threshold}",
        f"at most {count(policy.max_revisions, 'revision')}",
        "costs:",
    ]
    width = max((len(name) for name in policy.costs), default=0)
    return lines + [f"  {name:<{width}}  {cost:>5}" for name, cost in sorted(policy.costs.items())]
