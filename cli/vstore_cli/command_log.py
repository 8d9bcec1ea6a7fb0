"""``vstore log``: what happened, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

if TYPE_CHECKING:
    from vstore.objects.ids import ObjectId
    from vstore.package.documents import Generation
    from vstore.package.reader import PackageReader
    from vstore_cli.happenings import Entry

__all__ = ["command", "entries"]


@click.command("log", short_help="Show what happened, newest first.")
@click.argument("start", metavar="[REVISION]", default="HEAD")
@click.option("-n", "--max-count", "number", type=click.IntRange(min=0), metavar="N",
              help="Show at most N generations.")  # fmt: skip
@click.option("--oneline", is_flag=True, help="One line for each thing that happened.")
@json_option
@package_option
@pass_session
def command(session: Session, start: str, number: int | None, oneline: bool, as_json: bool) -> None:
    """Show what happened, newest first, from REVISION (HEAD) on.

    With --oneline: generation, id, revision, hypothesis, cost (set aside in brackets,
    then spent), novelty, reward (given back in brackets), and what happened.

    \b
    Example:
      vstore log -n 20 --oneline
    """
    from vstore_cli.log_lines import OnelineLayout, paragraph

    terminal = session.terminal
    reader = session.reader()
    found = entries(reader, start, number)
    if as_json:
        listed = [entry.value() for entry in found]
        terminal.json({"schema": "vstore-log/1", "generations": listed})
        return
    layout = None
    with terminal.paged():
        for entry in found:
            if not oneline:
                for line in paragraph(terminal, entry):
                    terminal.print(line)
                continue
            if layout is None:
                names = _hypothesis_ids(reader)
                layout = OnelineLayout(terminal, entry.generation.package_generation, names)
                terminal.print(layout.heading())
            for line in layout.lines(entry):
                terminal.print(line)


def entries(reader: PackageReader, start: str, number: int | None) -> Iterator[Entry]:
    """The entries from ``start`` back, read as they are asked for.

    Args:
        reader: The package.
        start: A name of a generation.
        number: How many at the most; None for all.
    """
    from vstore_cli.happenings import entry_of

    if number == 0:
        return
    objects = reader.pinned().objects
    first = reader.at(reader.resolve(start)).generation_id
    previous: tuple[ObjectId, Generation] | None = None
    for oid, generation in reader.history(start=first):
        if previous is not None:
            yield entry_of(objects, *previous, generation)
            number = None if number is None else number - 1
            if number == 0:
                return
        previous = (oid, generation)
    if previous is not None:
        yield entry_of(objects, *previous, None)


def _hypothesis_ids(reader: PackageReader) -> list[str]:
    hypotheses = reader.pinned().hypotheses()
    return [] if hypotheses is None else [one.id for one in hypotheses.hypotheses]
