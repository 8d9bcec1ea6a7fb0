"""``vstore bundle``: a package in one file, to send it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

__all__ = ["command"]


@click.group("bundle", short_help="Pack a package into one file.")
def command() -> None:
    """Pack a package into one file.

    Whoever gets the file verifies and reads it as it is: vstore verify FILE,
    vstore -C FILE log; vstore clone FILE makes a package of it.

    \b
    Example:
      vstore bundle create case-592 case-592.vstore.zip
    """


@command.command("create", short_help="Write a bundle.")
@click.argument("paths", nargs=-1, required=True, metavar="[PACKAGE] FILE",
                type=click.Path(path_type=Path))  # fmt: skip
@click.option("--since", metavar="GENERATION",
              help="Leave out what whoever has that generation has.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
@package_option
@pass_session
def create(
    session: Session, paths: tuple[Path, ...], since: str | None, force: bool, as_json: bool
) -> None:
    """Write the head of PACKAGE, and all that it leads to, to FILE. The same package gives
    the same bytes.

    With --since the bundle holds only what came after; it is verified with
    vstore verify FILE --base PACKAGE.

    \b
    Example:
      vstore bundle create case-592 case-592.vstore.zip
    """
    from vstore.controller.bundles import create_bundle
    from vstore.package.reader import PackageReader
    from vstore_cli.terminal import safe

    if len(paths) > 2:
        raise click.UsageError("name a package and a file, or only a file")
    *where, target = paths
    reader = (
        session.closing.enter_context(PackageReader.open(where[0])) if where else session.reader()
    )
    made = create_bundle(
        reader, target, since=None if since is None else reader.resolve(since), replace=force
    )
    if as_json:
        value: dict[str, Any] = {
            "schema": "vstore-bundle-create/1",
            "file": safe(str(target)),
            "size": made.size,
            "head": str(made.head),
            "since": None if made.since is None else str(made.since),
            "generations": made.generations,
            "objects": made.objects,
        }
        session.terminal.json(value)
        return
    session.terminal.print(
        f"{safe(str(target))}: {made.generations} generations, {made.objects} objects, "
        f"{made.size:,} bytes"
    )
    session.terminal.print(f"head {made.head}")
    if made.since is not None:
        session.terminal.print(f"continues {made.since}")
