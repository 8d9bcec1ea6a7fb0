"""What ``vstore log`` does, once its command line is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from vstore_cli.session import Session

if TYPE_CHECKING:
    from vstore.objects.ids import ObjectId
    from vstore.package.documents import Generation
    from vstore.package.reader import PackageReader
    from vstore_cli.happenings import Entry

__all__ = ["entries", "print_log"]


def print_log(
    session: Session, start: str, number: int | None, oneline: bool, as_json: bool
) -> None:
    """Print what happened, newest first.

    Args:
        session: Knows the package and the terminal.
        start: A name of a generation.
        number: How many generations at the most; None for all.
        oneline: One line for each thing that happened.
        as_json: Print JSON.
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
