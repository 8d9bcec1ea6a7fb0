"""``vstore input``: raw input of a package."""

from __future__ import annotations

import os
from pathlib import Path

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]


@click.group("input", short_help="Add bug reports, logs and other raw input.")
def command() -> None:
    """Raw input: the bug report, logs and other files that the case starts from.

    It can be searched like code, as the source named inputs.

    \b
    Example:
      vstore input add crash.log
    """


@command.command("add", short_help="Take files and folders in.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--under", metavar="FOLDER", default="", help="Put them into this folder.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out what matches.")
@click.option("--replace", is_flag=True, help="Take new bytes for paths that exist.")
@json_option
@package_option
@actor_option
@pass_session
def add(
    session: Session,
    files: tuple[Path, ...],
    under: str,
    exclude: tuple[str, ...],
    replace: bool,
    as_json: bool,
) -> None:
    """Take FILES into the raw input, byte for byte; folders with everything below them.

    Legal while the case is ADMITTED, INTERPRETING or REOPENED.

    \b
    Example:
      vstore input add crash.log --under logs
    """
    from vstore.package.inputs import input_file
    from vstore_cli.terminal import safe

    folder = os.fsencode(under.strip("/"))
    added = session.case().input_add(
        [input_file(path, under=folder) for path in files], exclude=exclude, replace=replace
    )
    package = added.package
    if as_json:
        from vstore.objects.text import text_from_bytes

        session.terminal.json(
            {
                "schema": "vstore-input-add/1",
                "head": str(package.generation_id),
                "generation": package.number,
                "raw_input": str(package.raw_input),
                "added": [text_from_bytes(path) for path in added.paths],
            }
        )
        return
    terminal = session.terminal
    if not added.paths:
        terminal.print("nothing new: the raw input has these bytes at these paths")
        return
    for path in added.paths[:20]:
        terminal.print(f"added {terminal.paint(safe(path), 'path')}")
    if len(added.paths) > 20:
        terminal.print(f"and {len(added.paths) - 20} more")
