"""``vstore evidence``: the records, in the order in which they were made."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

__all__ = ["command"]


@click.command("evidence", short_help="List the evidence records.")
@click.option("--hypothesis", "-H", metavar="ID", help="Only records for this hypothesis.")
@click.option("-n", "--max-count", "number", type=click.IntRange(min=0), metavar="N",
              help="Only the last N records.")  # fmt: skip
@json_option
@package_option
@pass_session
def command(session: Session, hypothesis: str | None, number: int | None, as_json: bool) -> None:
    """List the evidence records, oldest first.

    \b
    Example:
      vstore evidence --hypothesis H3
    """
    from vstore_cli.accounts import indexed_records
    from vstore_cli.happenings import observation

    package = session.reader().pinned()
    newest = (
        seen
        for _, _, oid in indexed_records(package.objects, package.artifact("evidence_index"))
        if (seen := observation(package.objects, oid)).record.hypothesis_id == hypothesis
        or hypothesis is None
    )
    found = list(islice(newest, number))[::-1]
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-evidence/1",
                "case_id": package.case_id,
                "head": str(package.generation_id),
                "records": [_value(seen) for seen in found],
            }
        )
        return
    if not found and hypothesis is not None:
        from vstore_cli.terminal import safe

        session.terminal.print(f"no evidence for {safe(hypothesis)}")
        return
    _print(session, found)


def _value(seen: Any) -> dict[str, Any]:
    record = seen.record
    return {
        "id": record.id,
        "object": str(seen.oid),
        "analysis_revision": record.analysis_revision,
        "hypothesis_id": record.hypothesis_id,
        "action_id": record.action_id,
        "operation_id": record.operation_id,
        "content": str(record.content),
        "question": seen.arguments,
        "returned": seen.returned,
        "novel": len(record.novel_atoms),
        "novelty_score": record.novelty_score,
        "duplicate_of": record.duplicate_of,
    }


def _print(session: Session, found: list[Any]) -> None:
    from vstore_cli.table import Column, table

    terminal = session.terminal
    if not found:
        terminal.print("no evidence yet")
        return
    rows = []
    for seen in found:
        record = seen.record
        of = "" if seen.returned is None else f"{len(record.novel_atoms)}/{seen.returned}"
        same = "" if record.duplicate_of is None else f" (same as {record.duplicate_of})"
        rows.append(
            [
                record.id,
                record.hypothesis_id,
                record.action_id,
                of,
                f"{record.novelty_score}%",
                (seen.brief if terminal.interactive else seen.question) + same,
            ]
        )
    columns = [
        Column(title="record", style="good"),
        Column(title="hyp"),
        Column(title="action", at_most=24),
        Column(title="new/all", right=True),
        Column(title="novelty", right=True, style="number"),
        Column(title="question", shrink=True),
    ]
    with terminal.paged():
        for line in table(terminal, columns, rows):
            terminal.print(line)
