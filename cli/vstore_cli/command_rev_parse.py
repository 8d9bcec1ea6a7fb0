"""``vstore rev-parse``: names to full object ids."""

from __future__ import annotations

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

__all__ = ["command"]


@click.command("rev-parse", short_help="Print the full object ids of names.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--short", is_flag=True, help="Print the shortest unambiguous form.")
@json_option
@package_option
@pass_session
def command(session: Session, names: tuple[str, ...], short: bool, as_json: bool) -> None:
    """Print the full object id that each NAME stands for.

    \b
    Names:
      HEAD, HEAD~3, g12      generations
      E000012                an evidence record
      app, budget_policy     what the head's snapshot or artifact is
      app:src/db.py          a file of a source
      HEAD:report.txt        a file of the raw input
      4f2a9c1e               a unique beginning of an id

    \b
    Example:
      vstore rev-parse HEAD~1
    """
    from vstore.package.naming import abbreviate
    from vstore_cli.naming import find

    reader = session.reader()
    found = [(name, find(reader, name).oid) for name in names]
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-rev-parse/1",
                "objects": [{"name": name, "object": str(oid)} for name, oid in found],
            }
        )
        return
    for _, oid in found:
        session.terminal.print(abbreviate(reader, oid, digits=8) if short else oid)
