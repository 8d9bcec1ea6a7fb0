"""``vstore hash-object``: the object ids of files."""

from __future__ import annotations

from typing import BinaryIO

import click

from vstore_cli.context import Session, json_option, pass_session

__all__ = ["command"]

_PIECE = 1024 * 1024


@click.command("hash-object", short_help="Print the object ids of files.")
@click.argument("files", nargs=-1, required=True, type=click.File("rb"))
@json_option
@pass_session
def command(session: Session, files: tuple[BinaryIO, ...], as_json: bool) -> None:
    """Print the object id that each of FILES has or would have; - is standard input.

    Needs no package and writes nothing.

    \b
    Example:
      vstore hash-object report.txt
    """
    from blake3 import blake3

    from vstore.objects.ids import PREFIX
    from vstore_cli.terminal import safe

    found = []
    for stream in files:
        digest = blake3()
        while piece := stream.read(_PIECE):
            digest.update(piece)
        found.append((str(stream.name), PREFIX + digest.hexdigest()))
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-hash-object/1",
                "objects": [{"file": safe(name), "object": oid} for name, oid in found],
            }
        )
        return
    for name, oid in found:
        session.terminal.print(oid if len(found) == 1 else f"{oid}  {safe(name)}")
