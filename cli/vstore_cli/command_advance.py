"""``vstore advance``: the ordinary transitions of a case."""

from __future__ import annotations

import click

from vstore.package.documents import STATES, State
from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]


@click.command("advance", short_help="Move the case to its next state.")
@click.argument("state", required=False, metavar="[STATE]",
                type=click.Choice(STATES, case_sensitive=False))  # fmt: skip
@click.option("--reason", "-m", metavar="TEXT", help="Why, for the log.")
@json_option
@package_option
@actor_option
@pass_session
def command(session: Session, state: State | None, reason: str | None, as_json: bool) -> None:
    """Move the case along its ordinary transitions, one step.

    ADMITTED, INTERPRETING, GENERATING_HYPOTHESES, INVESTIGATING_HYPOTHESES, DIAGNOSED,
    CLOSED. With STATE, refuse unless that is the next one.

    \b
    Example:
      vstore advance
    """
    case = session.case()
    before = case.package.state
    package = case.advance(expect=state, reason=reason)
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-advance/1",
                "from": before,
                "state": package.state,
                "head": str(package.generation_id),
                "generation": package.number,
            }
        )
        return
    session.terminal.print(
        f"{before} to {session.terminal.paint(package.state, 'bold')}, generation {package.number}"
    )
