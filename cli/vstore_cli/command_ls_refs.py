"""``vstore ls-refs``: the refs and what they should say."""

from __future__ import annotations

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

__all__ = ["command"]


@click.command("ls-refs", short_help="List the refs and what they should say.")
@json_option
@package_option
@pass_session
def command(session: Session, as_json: bool) -> None:
    """List the refs: what each says, and whether that fits the log's last generation.

    A ref that lags is moved forward by the next writer or by vstore repair; a missing or a
    foreign one stops all writing.

    \b
    Example:
      vstore ls-refs
    """
    from vstore_cli.refs import ref_facts
    from vstore_cli.table import Column, table
    from vstore_cli.terminal import safe

    facts = ref_facts(session.reader())
    if as_json:
        session.terminal.json({"schema": "vstore-ls-refs/1", "refs": facts})
        return
    rows = [
        [
            str(one["object"] or "-"),
            safe(f"refs/{one['name']}"),
            "" if one["status"] == "current" else str(one["status"]),
        ]
        for one in facts
    ]
    columns = [Column(style="id"), Column(), Column(style="warn")]
    for line in table(session.terminal, columns, rows, width=1_000):
        session.terminal.print(line)
