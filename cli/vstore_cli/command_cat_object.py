"""``vstore cat-object``: the bytes of an object."""

from __future__ import annotations

import click

from vstore_cli.context import Session, package_option, pass_session

__all__ = ["command"]

_PIECE = 1024 * 1024


@click.command("cat-object", short_help="Print the bytes of an object.")
@click.argument("name", metavar="OBJECT")
@package_option
@pass_session
def command(session: Session, name: str) -> None:
    """Print the bytes of an object, exactly; anybody can check them with b3sum.

    OBJECT is an id, a unique beginning of one, HEAD~2, E000012, or NAME:PATH. On a
    terminal, characters that could change it are shown as escapes.

    \b
    Example:
      vstore cat-object E000012 | b3sum
      vstore cat-object app:sqlite_utils/db.py > db.py
    """
    from vstore.objects.display import visible_bytes
    from vstore_cli.naming import find

    terminal = session.terminal
    reader = session.reader()
    oid = find(reader, name).oid
    with reader.pinned().objects.open(oid) as stream:
        if not terminal.interactive:
            while piece := stream.read(_PIECE):
                terminal.write_bytes(piece)
            return
        with terminal.paged():
            for line in stream:
                terminal.print(visible_bytes(line.rstrip(b"\n"), keep="\t"))
