"""``vstore budget``: credits, reservations, accounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]

_MOST_POLICY_BYTES = 1024 * 1024


@click.group("budget", short_help="Grant, reserve, give back and show credits.")
def command() -> None:
    """Credits: each hypothesis has an account, each query costs, new evidence earns.

    \b
    Example:
      vstore budget init
      vstore budget show
    """


@command.command("init", short_help="Grant credits to each hypothesis.")
@click.option("--policy", type=click.Path(path_type=Path), metavar="FILE",
              help="A budget-policy-v1 document; an example policy by default.")  # fmt: skip
@json_option
@package_option
@actor_option
@pass_session
def init(session: Session, policy: Path | None, as_json: bool) -> None:
    """Grant credits to each hypothesis by a policy; this fixes policy and hypotheses.

    \b
    Example:
      vstore budget init --policy policy.json
    """
    from vstore.budget.policy import EXAMPLE_POLICY
    from vstore_cli.files import read_file
    from vstore_cli.services import open_services

    services = open_services(session)
    chosen: Any = EXAMPLE_POLICY if policy is None else read_file(policy, _MOST_POLICY_BYTES)
    services.budget.initialise(services.case_id, services.package_id, chosen)
    _show(session, as_json=as_json, with_policy=True)


@command.command("reserve", short_help="Set credits aside for an action.")
@click.argument("hypothesis")
@click.argument("operation")
@click.option("--action", metavar="ID", help="The action's id; by default the next free one.")
@json_option
@package_option
@actor_option
@pass_session
def reserve(
    session: Session, hypothesis: str, operation: str, action: str | None, as_json: bool
) -> None:
    """Set the cost of OPERATION aside for an action of HYPOTHESIS.

    \b
    Example:
      vstore budget reserve H1 source.search
    """
    from vstore_cli import reserving

    reserving.reserve(session, hypothesis, operation, action, as_json)


@command.command("void", short_help="Give back the credits of an action that never ran.")
@click.argument("action")
@click.option("--reason", "-m", required=True, metavar="TEXT", help="Why, for the log.")
@json_option
@package_option
@actor_option
@pass_session
def void(session: Session, action: str, reason: str, as_json: bool) -> None:
    """Give back the credits of ACTION, for which no record or result exists.

    \b
    Example:
      vstore budget void query-0007 --reason "asked the wrong table"
    """
    _close(session, "void", action, reason, as_json=as_json)


@command.command("fail", short_help="Spend the credits of an action that brought nothing.")
@click.argument("action")
@click.option("--reason", "-m", required=True, metavar="TEXT", help="Why, for the log.")
@json_option
@package_option
@actor_option
@pass_session
def fail(session: Session, action: str, reason: str, as_json: bool) -> None:
    """Spend the credits of ACTION, which brought no evidence, without a reward.

    \b
    Example:
      vstore budget fail query-0007 --reason "the tool broke down"
    """
    _close(session, "fail", action, reason, as_json=as_json)


@command.command("record", short_help="Record an action's evidence after a crash.")
@click.argument("action")
@json_option
@package_option
@actor_option
@pass_session
def record(session: Session, action: str, as_json: bool) -> None:
    """Record the evidence of ACTION in the ledger, where a crash came between the two.

    vstore query does this itself, and vstore settle where it was left undone.

    \b
    Example:
      vstore budget record query-0007
    """
    from vstore_cli.accounts import hypothesis_of
    from vstore_cli.recording import record_if_answered
    from vstore_cli.services import open_services

    services = open_services(session)
    hypothesis_of(services.package(), action)
    found = record_if_answered(services, action)
    if as_json:
        session.terminal.json(
            {"schema": "vstore-budget-record/1", "action_id": action, "record_id": found}
        )
        return
    session.terminal.print(
        f"nothing to record for {action}" if found is None else f"recorded {found} for {action}"
    )


@command.command("show", short_help="Show accounts and open actions.")
@click.option("--policy", "with_policy", is_flag=True, help="The policy too.")
@json_option
@package_option
@pass_session
def show(session: Session, with_policy: bool, as_json: bool) -> None:
    """Show the accounts and the open actions of the current revision.

    \b
    Example:
      vstore budget show --policy
    """
    _show(session, as_json=as_json, with_policy=with_policy)


def _close(session: Session, what: str, action: str, reason: str, *, as_json: bool) -> None:
    from vstore_cli.accounts import hypothesis_of
    from vstore_cli.services import open_services
    from vstore_cli.show_accounts import account_lines

    services = open_services(session)
    hypothesis = hypothesis_of(services.package(), action)
    method = services.budget.void if what == "void" else services.budget.fail
    entry = method(services.case_id, services.package_id, hypothesis, action, reason=reason)
    if as_json:
        session.terminal.json(
            {
                "schema": f"vstore-budget-{what}/1",
                "event": entry.event,
                "account": entry.accounts[0],
            }
        )
        return
    done = "voided" if what == "void" else "failed"
    session.terminal.print(f"{done} {action} of {hypothesis}")
    for line in account_lines(session.terminal, entry.accounts):
        session.terminal.print(line)


def _show(session: Session, *, as_json: bool, with_policy: bool) -> None:
    from vstore.errors import StateError
    from vstore_cli.accounts import read_accounts
    from vstore_cli.show_accounts import account_lines, policy_lines

    terminal = session.terminal
    package = session.reader().pinned()
    accounts = read_accounts(package)
    if accounts is None:
        raise StateError(
            f"revision {package.revision} has no budget yet",
            kind="no_budget",
            hint="vstore budget init grants the credits",
        )
    if as_json:
        terminal.json(
            {
                "schema": "vstore-budget/1",
                "case_id": package.case_id,
                "analysis_revision": accounts.revision,
                "ledger": package.artifact("budget_ledger"),
                "policy": accounts.policy,
                "accounts": accounts.figures,
                "open_actions": [one.value() for one in accounts.open_actions],
            }
        )
        return
    for line in account_lines(terminal, accounts.figures):
        terminal.print(line)
    for one in accounts.open_actions:
        answer = "" if one.record is None else f" {one.record}"
        terminal.print(
            f"open: {one.action}  {one.hypothesis}  {one.operation}, cost {one.cost}: "
            f"{one.status}{answer}"
        )
    if with_policy and accounts.policy is not None:
        terminal.print()
        for line in policy_lines(accounts.policy):
            terminal.print(line)
