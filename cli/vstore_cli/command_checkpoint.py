"""``vstore checkpoint``: a few lines that commit to a package's whole history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

__all__ = ["command"]


@click.command("checkpoint", short_help="Print what commits to the history so far.")
@click.argument("generation", default="HEAD")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write it there.")  # fmt: skip
@json_option
@package_option
@pass_session
def command(session: Session, generation: str, output: Path | None, as_json: bool) -> None:
    """Print the checkpoint of GENERATION, by default HEAD: whose history it is, how many
    generations it has, and the root of the tree over them.

    Keep it where whoever writes the package can't change it. vstore verify --extends FILE
    refuses a package that was rewound, rewritten or exchanged since. The text is a C2SP
    tlog-checkpoint: signature lines of a signed note may be appended. It isn't signed
    here, and vstore checks no signature.

    \b
    Example:
      vstore checkpoint --package case-592 -o case-592.checkpoint
    """
    from vstore.package.checkpoint import checkpoint_of, encode_checkpoint

    reader = session.reader()
    oid = reader.resolve(generation)
    checkpoint = checkpoint_of(reader, oid)
    text = encode_checkpoint(checkpoint)
    if output is not None:
        output.write_bytes(text)
    if as_json:
        value: dict[str, Any] = {
            "schema": "vstore-checkpoint/1",
            "origin": checkpoint.origin,
            "size": checkpoint.size,
            "root": checkpoint.root_text,
            "generation": str(oid),
            "text": text.decode("utf-8"),
        }
        session.terminal.json(value)
    elif output is None:
        for line in text.decode("utf-8").split("\n")[:-1]:
            session.terminal.print(line)
