"""``vstore database``: pin the content of a database."""

from __future__ import annotations

from pathlib import Path

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]

_JSON_LINES = (".jsonl", ".ndjson")


@click.group("database", short_help="Pin the content of a database.")
def command() -> None:
    """Databases, pinned: every table read once into documents, rowids and types kept.

    \b
    Example:
      vstore database add db production.sqlite3
    """


@command.command("add", short_help="Pin a database under a name.")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["auto", "sqlite", "jsonl"]),
              default="auto", show_default=True, help="What FILE is.")  # fmt: skip
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
    file: Path,
    form: str,
    label: str | None,
    statement: str | None,
    partial: bool,
    as_json: bool,
) -> None:
    """Pin the content of the SQLite database or JSON lines FILE under NAME.

    The file is only read, its -wal included; SQLite opens it here and never again. A name
    is never replaced.

    \b
    Example:
      vstore database add db bug.sqlite3 --label "copy of 2026-03-01"
    """
    from vstore.objects.memory import ObjectSink
    from vstore.package.documents import SnapshotDescriptor
    from vstore_cli.command_source import print_pinned

    lines = form == "jsonl" or (form == "auto" and file.suffix.lower() in _JSON_LINES)

    def capture(sink: ObjectSink) -> SnapshotDescriptor:
        if lines:
            from vstore.tools.capture_jsonl import capture_jsonl

            return capture_jsonl(
                file, sink, name=name, label=label, statement=statement, partial=partial
            )
        from vstore.tools.capture_database import capture_sqlite

        return capture_sqlite(
            file, sink, name=name, label=label, statement=statement, partial=partial
        )

    package = session.case().add_snapshot(name, "database", capture)
    print_pinned(session, package, name, as_json=as_json)
