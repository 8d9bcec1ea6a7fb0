"""``vstore resume``: let a blocked case go on."""

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


@click.command("resume", short_help="Let a blocked case go on.")
@click.option("--early", is_flag=True, help="Also before the instant that the block names.")
@click.option("--note", "-m", metavar="TEXT", help="Why, for the log.")
@json_option
@package_option
@actor_option
@pass_session
def command(session: Session, early: bool, note: str | None, as_json: bool) -> None:
    """Let a blocked case go on in the state that it left.

    A case that waits for test feedback goes on by confirmed feedback alone.

    \b
    Example:
      vstore resume --note "the provider is back"
    """
    from vstore.controller import CaseLifecycle
    from vstore_cli.moves import show_move

    workspace = session.workspace()
    case_id = workspace.only_case()
    before = workspace.case(case_id).package
    package = CaseLifecycle(workspace).resume(case_id, before.package_id, early=early, note=note)
    show_move(session, "vstore-resume/1", before, package, as_json=as_json)
