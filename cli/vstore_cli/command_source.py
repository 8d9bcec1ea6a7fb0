"""``vstore source``: pin source code."""

from __future__ import annotations

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
    from vstore.package.pinned import PinnedPackage

__all__ = ["command", "print_pinned"]


@click.group("source", short_help="Pin source code.")
def command() -> None:
    """Source code, pinned: a folder, a git revision, an sdist, wheel, zip or tar.

    \b
    Example:
      vstore source add app dist/app-1.2.tar.gz
    """


@command.command("add", short_help="Pin a source under a name.")
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--rev", metavar="REVISION", help="This commit, tag or branch of the repository PATH."
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out what matches.")
@click.option("--keep-top", is_flag=True,
              help="Keep an archive's one top folder in the paths.")  # fmt: skip
@click.option("--label", metavar="TEXT", help="Where it comes from, for people.")
@click.option("--statement", metavar="TEXT", help="What it covers, for people.")
@click.option("--partial", is_flag=True, help="It isn't all of what it is taken from.")
@json_option
@package_option
@actor_option
@pass_session
def add(
    session: Session,
    name: str,
    path: Path,
    rev: str | None,
    exclude: tuple[str, ...],
    keep_top: bool,
    label: str | None,
    statement: str | None,
    partial: bool,
    as_json: bool,
) -> None:
    """Pin the source at PATH under NAME: a folder, or an sdist, wheel, zip or tar.

    What a pattern leaves out is recorded. A name is never replaced.

    \b
    Example:
      vstore source add app ../checkout --rev v1.2
      vstore source add app src --exclude "*.pyc"
    """
    from vstore.tools.capture_source import capture_source

    case = session.case()
    limits = case.repository.limits
    package = case.add_snapshot(
        name,
        "source",
        lambda sink: capture_source(
            path,
            sink,
            name=name,
            revision=rev,
            exclude=exclude,
            strip_top=not keep_top,
            label=label,
            statement=statement,
            partial=partial,
            limits=limits,
            never_enter=[case.repository.root],
        ),
    )
    print_pinned(session, package, name, as_json=as_json)


def print_pinned(session: Session, package: PinnedPackage, name: str, *, as_json: bool) -> None:
    """Print what was pinned under a name."""
    from vstore_cli.show_document import origin_text
    from vstore_cli.terminal import safe
    from vstore_cli.words import short

    descriptor = package.snapshot(name)
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-snapshot-add/1",
                "head": str(package.generation_id),
                "generation": package.number,
                "descriptor": descriptor,
            }
        )
        return
    terminal = session.terminal
    origin = origin_text(descriptor.origin)
    terminal.print(
        f"pinned {descriptor.kind} {terminal.paint(name, 'bold')} ({origin}), content "
        + terminal.paint(short(descriptor.content), "id")
    )
    coverage = descriptor.coverage
    for at, line in enumerate(coverage.statement.splitlines()):
        start = f"{coverage.kind}: " if at == 0 else "  "
        terminal.print(start + safe(line))
