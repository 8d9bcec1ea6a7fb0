"""``vstore show``: one object, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

if TYPE_CHECKING:
    from vstore.package.reader import PackageReader
    from vstore_cli.naming import Named

__all__ = ["command"]

_MOST_TEXT = 4 * 1024 * 1024


@click.command("show", short_help="Show one object: a record, a generation, a file, ...")
@click.argument("name", metavar="[OBJECT]", default="HEAD")
@click.option("--full", is_flag=True, help="Cut nothing: whole lines, cells and SQL texts.")
@json_option
@package_option
@pass_session
def command(session: Session, name: str, full: bool, as_json: bool) -> None:
    """Show an object: HEAD~2, E000012, a unique beginning of an id, app, app:PATH.

    A record shows its question, what was found, its novelty, and what it repeats.

    \b
    Example:
      vstore show E000003
    """
    from vstore_cli.naming import document_of, find
    from vstore_cli.show_document import document_lines

    terminal = session.terminal
    reader = session.reader()
    named = find(reader, name)
    is_file = named.entry is not None and named.entry.kind != "tree"
    document = None if is_file else document_of(reader, named.oid)
    if as_json:
        terminal.json(_value(reader, named, document))
        return
    with terminal.paged():
        if document is None:
            _print_blob(session, reader, named)
            return
        for line in document_lines(terminal, reader, named.oid, document, full=full):
            terminal.print(line)


def _value(reader: PackageReader, named: Named, document: Any) -> dict[str, Any]:
    from vstore.evidence.documents import EvidenceContent, EvidenceRecord
    from vstore.objects.text import text_from_bytes
    from vstore_cli.happenings import observation

    value: dict[str, Any] = {"schema": "vstore-show/1", "object": str(named.oid)}
    if document is None:
        size = reader.pinned().objects.size(named.oid)
        value |= {"type": "blob", "size": size}
        if size <= _MOST_TEXT:
            value["text"] = text_from_bytes(reader.pinned().objects.get(named.oid))
        return value
    value |= {"type": document.__struct_config__.tag, "document": document}
    if isinstance(document, EvidenceRecord):
        value["question"] = observation(reader.pinned().objects, named.oid).arguments
        value["content"] = reader.pinned().objects.document(document.content, EvidenceContent)
    return value


def _print_blob(session: Session, reader: PackageReader, named: Named) -> None:
    from vstore_cli.errors import Refused
    from vstore_cli.terminal import safe

    terminal = session.terminal
    size = reader.pinned().objects.size(named.oid)
    with reader.pinned().objects.open(named.oid) as stream:
        start = stream.read(8192)
        if b"\0" in start or size > _MOST_TEXT:
            what = "large" if size > _MOST_TEXT else "binary"
            raise Refused(
                f"a {what} object of {size:,} bytes is not shown",
                kind="not_shown",
                hint=f"vstore cat-object {named.oid[:11]} > FILE writes its bytes",
            )
        raw = start + stream.read()
    if named.entry is not None and named.entry.kind == "link":
        terminal.print(f"link to {safe(raw)}")
        return
    lines = raw.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for line in lines:
        terminal.print(safe(line.expandtabs(8)))
