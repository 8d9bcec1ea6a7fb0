"""``vstore ls-tree``: what a tree holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

if TYPE_CHECKING:
    from vstore.objects.tree import TreeEntry
    from vstore_cli.terminal import Terminal

__all__ = ["command", "tree_lines"]


@click.command("ls-tree", short_help="List a tree.")
@click.argument("name", metavar="[TREE]", default="HEAD")
@click.option("-r", "--recursive", is_flag=True, help="Go into folders.")
@json_option
@package_option
@pass_session
def command(session: Session, name: str, recursive: bool, as_json: bool) -> None:
    """List a tree: a generation's raw input (HEAD), a source (app), or NAME:PATH.

    \b
    Example:
      vstore ls-tree -r app:sqlite_utils
    """
    from vstore.objects.text import text_from_bytes, text_to_bytes
    from vstore.objects.tree import Tree, check_tree, walk
    from vstore_cli.naming import find, tree_of

    reader = session.reader()
    root = tree_of(reader, find(reader, name).oid)
    if recursive:
        listed = [(one.path, one.entry) for one in walk(reader.pinned().objects, root)]
    else:
        tree = reader.pinned().objects.document(root, Tree)
        check_tree(tree)
        listed = [(text_to_bytes(entry.name), entry) for entry in tree.entries]
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-ls-tree/1",
                "tree": str(root),
                "entries": [
                    {
                        "path": text_from_bytes(path),
                        "kind": entry.kind,
                        "object": str(entry.object),
                        "size": entry.size,
                        "executable": entry.executable,
                    }
                    for path, entry in listed
                ],
            }
        )
        return
    with session.terminal.paged():
        for line in tree_lines(session.terminal, listed):
            session.terminal.print(line)


def tree_lines(terminal: Terminal, listed: list[tuple[bytes, TreeEntry]]) -> list[str]:
    """One aligned line an entry: kind, executable, id, size, path."""
    from vstore_cli.table import Column, table
    from vstore_cli.terminal import safe
    from vstore_cli.words import short

    rows = [
        [
            entry.kind,
            "x" if entry.executable else "-",
            short(entry.object),
            f"{entry.size:,}",
            safe(path) + ("/" if entry.kind == "tree" else ""),
        ]
        for path, entry in listed
    ]
    columns = [
        Column(),
        Column(),
        Column(style="id"),
        Column(right=True),
        Column(style="path"),
    ]
    return table(terminal, columns, rows)
