"""``vstore init``: a package for a case."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from vstore_cli.context import Session, actor_option, json_option, pass_session

__all__ = ["command"]


@click.command("init", short_help="Create a package for a case.")
@click.argument("case")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--path", type=click.Path(path_type=Path), metavar="DIR",
              help="The package's folder; by default CASE in the current one.")  # fmt: skip
@click.option("--package-id", metavar="ID", help="The package's id; by default made from CASE.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out what matches.")
@json_option
@actor_option
@pass_session
def command(
    session: Session,
    case: str,
    files: tuple[Path, ...],
    path: Path | None,
    package_id: str | None,
    exclude: tuple[str, ...],
    as_json: bool,
) -> None:
    """Create an evidence package for CASE, with FILES as raw input: the bug report, logs.

    The files are copied byte for byte; folders with everything below them.

    \b
    Example:
      vstore init search-592 report.txt
    """
    from vstore.errors import NotFoundError
    from vstore.objects.tree import walk
    from vstore.package.inputs import input_file
    from vstore.package.workspace import Workspace, check_name
    from vstore_cli.errors import Refused
    from vstore_cli.terminal import safe
    from vstore_cli.words import count, short

    folder = path or Path(case)
    check_name(case, "case")
    for one in files:
        # Before a folder is made: a slip of the finger leaves nothing behind.
        if not os.path.lexists(one):
            raise NotFoundError(f"no such file or folder: {one}", kind="no_file")
    if folder.exists() and not folder.is_dir():
        raise Refused(
            f"{folder} is there already, and no folder",
            kind="exists",
            hint="choose another place with --path",
        )
    outer = _package_around(folder.absolute().parent)
    if outer is not None:
        # Each of its files would be unclaimed raw input of that package.
        raise Refused(
            f"{folder} would lie inside the package {outer}",
            kind="inside_a_package",
            hint="go out of it, or choose another place with --path",
        )
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    workspace = session.closing.enter_context(
        Workspace.of_package(folder, actor=session.actor, clock=session.clock)
    )
    package = workspace.init(case, package_id, [input_file(one) for one in files], exclude=exclude)
    number = sum(1 for _ in walk(package.objects, package.raw_input))
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-init/1",
                "case_id": package.case_id,
                "package_id": package.package_id,
                "path": str(folder.absolute()),
                "head": str(package.generation_id),
                "raw_input": str(package.raw_input),
                "files": number,
            }
        )
        return
    terminal = session.terminal
    terminal.print(
        f"created {terminal.paint(safe(os.fspath(folder)), 'path')}: case {package.case_id}, "
        f"{count(number, 'file')} of raw input"
    )
    terminal.print(f"head {terminal.paint(short(package.generation_id), 'id')}, {package.state}")
    terminal.print()
    terminal.print("Next:")
    terminal.print(f"  cd {safe(shlex.quote(os.fspath(folder)))}")
    terminal.print("  vstore source add NAME PATH")


def _package_around(folder: Path) -> Path | None:
    from vstore.errors import NotFoundError
    from vstore.package.reader import discover

    try:
        return discover(folder)
    except NotFoundError:
        return None
