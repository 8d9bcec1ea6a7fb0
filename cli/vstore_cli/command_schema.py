"""``vstore schema``: JSON Schemas of the document types."""

from __future__ import annotations

import difflib

import click

from vstore_cli.context import Session, pass_session
from vstore_cli.errors import Refused

__all__ = ["command"]


@click.command("schema", short_help="Print the JSON Schema of a document type.")
@click.argument("name", required=False)
@pass_session
def command(session: Session, name: str | None) -> None:
    """Print the JSON Schema of a document type; without NAME, list the types.

    \b
    Example:
      vstore schema evidence-record-v1
    """
    from importlib.resources import files

    folder = files("vstore_schemas").joinpath("v1")
    suffix = ".schema.json"
    known = sorted(
        one.name.removesuffix(suffix)
        for one in (folder.iterdir() if folder.is_dir() else ())
        if one.name.endswith(suffix)
    )
    if name is None:
        for one in known:
            session.terminal.print(one)
        return
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        raise Refused(
            "there is no schema of this name",
            kind="unknown_schema",
            hint=f"did you mean {close[0]}?" if close else "vstore schema lists the names",
        )
    text = folder.joinpath(name + suffix).read_text(encoding="utf-8")
    with session.terminal.paged():
        for line in text.splitlines():
            session.terminal.print(line)
