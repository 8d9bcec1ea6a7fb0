"""``vstore settle``: assess a recorded action."""

from __future__ import annotations

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]


@click.command("settle", short_help="Assess a recorded action: spend its credits, earn a reward.")
@click.argument("action")
@click.option("--score", required=True, type=click.IntRange(0, 100), metavar="0..100",
              help="How much the answer says about the hypothesis.")  # fmt: skip
@click.option("--reason", "-m", required=True, metavar="TEXT", help="Why, for the log.")
@json_option
@package_option
@actor_option
@pass_session
def command(session: Session, action: str, score: int, reason: str, as_json: bool) -> None:
    """Assess what ACTION found: its credits are spent, and a reward is earned.

    What counts is the smaller of the score and the record's novelty: what was seen before
    earns nothing. An action whose record the ledger doesn't know yet is recorded first.

    \b
    Example:
      vstore settle query-0003 --score 60 --reason "rowids are not copied"
    """
    from vstore.budget.documents import Settle
    from vstore_cli.accounts import hypothesis_of
    from vstore_cli.recording import record_if_answered
    from vstore_cli.services import open_services
    from vstore_cli.show_accounts import account_lines

    services = open_services(session)
    hypothesis = hypothesis_of(services.package(), action)
    record_if_answered(services, action)
    entry = services.budget.settle(
        services.case_id,
        services.package_id,
        hypothesis,
        action,
        semantic_score=score,
        reason=reason,
    )
    event = entry.event
    assert isinstance(event, Settle)
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-settle/1",
                "event": event,
                "account": entry.accounts[0],
                "head": str(services.package().generation_id),
            }
        )
        return
    terminal = session.terminal
    terminal.print(
        f"settled {action} for {hypothesis}: score {event.score} "
        f"(yours {event.semantic_score}, at most {event.deterministic}), reward {event.reward}"
    )
    for line in account_lines(terminal, entry.accounts):
        terminal.print(line)
    if entry.accounts[0].status == "stopped":
        terminal.warning(f"the account of {hypothesis} is stopped: too little came of it")
