"""``vstore reopen``: the next analysis revision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

if TYPE_CHECKING:
    from vstore.controller.case_lifecycle import ReopenCause

__all__ = ["command"]

_CAUSES = ("review", "patch_rejected", "new_input")


@click.command("reopen", short_help="Start the next analysis revision.")
@click.argument("cause", type=click.Choice(_CAUSES, case_sensitive=False))
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--reason", "-m", required=True, metavar="TEXT", help="Why, for the log.")
@click.option("--under", metavar="FOLDER", default="", help="Put FILES into this folder.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out what matches.")
@click.option("--replace", is_flag=True, help="Take new bytes for paths that exist.")
@json_option
@package_option
@actor_option
@pass_session
def command(
    session: Session,
    cause: ReopenCause,
    files: tuple[Path, ...],
    reason: str,
    under: str,
    exclude: tuple[str, ...],
    replace: bool,
    as_json: bool,
) -> None:
    """Start the next analysis revision, for CAUSE; FILES become raw input.

    review and patch_rejected follow a diagnosis. new_input needs FILES that are new, and is
    legal from a working state too. Open actions end, balances expire; evidence, record ids
    and what was seen go on.

    \b
    Example:
      vstore reopen new_input late.log --reason "the log of the night"
    """
    from vstore.controller import CaseLifecycle
    from vstore.package.inputs import input_file
    from vstore_cli.moves import move_value
    from vstore_cli.terminal import safe

    workspace = session.workspace()
    case_id = workspace.only_case()
    before = workspace.case(case_id).package
    folder = os.fsencode(under.strip("/"))
    done = CaseLifecycle(workspace).reopen(
        case_id,
        before.package_id,
        cause,
        reason=reason,
        files=[input_file(path, under=folder) for path in files],
        exclude=exclude,
        replace=replace,
    )
    package = done.package
    if as_json:
        from vstore.objects.text import text_from_bytes

        value = move_value("vstore-reopen/1", before, package)
        value["raw_input"] = str(package.raw_input)
        value["added"] = [text_from_bytes(path) for path in done.paths]
        value["actions"] = list(done.actions)
        session.terminal.json(value)
        return
    terminal = session.terminal
    terminal.print(
        f"{before.position} to {terminal.paint(package.state, 'bold')}, "
        f"revision {package.revision}, generation {package.number}"
    )
    for path in done.paths[:20]:
        terminal.print(f"added {terminal.paint(safe(path), 'path')}")
    if len(done.paths) > 20:
        terminal.print(f"and {len(done.paths) - 20} more")
    for one in done.actions:
        terminal.print(f"{one.outcome} {one.action_id} of {one.hypothesis_id}")
