"""``vstore log``: what happened, newest first."""

from __future__ import annotations

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

__all__ = ["command"]


@click.command("log", short_help="Show what happened, newest first.")
@click.argument("start", metavar="[REVISION]", default="HEAD")
@click.option("-n", "--max-count", "number", type=click.IntRange(min=0), metavar="N",
              help="Show at most N generations.")  # fmt: skip
@click.option("--oneline", is_flag=True, help="One line for each thing that happened.")
@json_option
@package_option
@pass_session
def command(session: Session, start: str, number: int | None, oneline: bool, as_json: bool) -> None:
    """Show what happened, newest first, from REVISION (HEAD) on.

    With --oneline: generation, id, revision, hypothesis, cost (set aside in brackets,
    then spent), novelty, reward (given back in brackets), and what happened.

    \b
    Example:
      vstore log -n 20 --oneline
    """
    from vstore_cli.print_log import print_log

    print_log(session, start, number, oneline, as_json)
