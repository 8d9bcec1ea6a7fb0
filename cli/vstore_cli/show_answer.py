"""An answer for people: what was found, the record, what it cost, what comes next."""

from __future__ import annotations

import shlex
from typing import Any, Final

from vstore.tools.reply import ToolResult
from vstore.tools.request import SourceRead
from vstore_cli.asking import Answer, stays_reserved
from vstore_cli.errors import REFUSED
from vstore_cli.show_document import NOUNS, found_text
from vstore_cli.show_items import item_lines
from vstore_cli.terminal import Terminal

__all__ = ["answer_lines", "print_answer", "result_items"]


#: Limits that end a page; the others stop at the same place however often one asks.
_PAGED: Final = frozenset({"limit", "max_matches", "max_result_bytes"})


def result_items(result: ToolResult) -> list[Any]:
    """The items of a result, in its own order."""
    for found in (result.lines, result.files, result.rows, result.tables):
        if found is not None:
            return list(found)
    return []


def print_answer(terminal: Terminal, answer: Answer, *, full: bool, as_json: bool) -> int:
    """Print an answer; returns the exit code, 1 for an error result."""
    failed = answer.result.error
    if as_json:
        terminal.json(_value(answer))
        return 0 if failed is None else REFUSED
    if failed is not None:
        terminal.error(
            f"{answer.result.operation}: {failed.message} [{failed.kind}]",
            stays_reserved(answer.action),
        )
        return REFUSED
    with terminal.paged():
        for line in answer_lines(terminal, answer, full=full):
            terminal.print(line)
    return 0


def answer_lines(
    terminal: Terminal, answer: Answer, *, full: bool = False, width: int | None = None
) -> list[str]:
    """The lines that show an answer with a record."""
    result = answer.result
    items = result_items(result)
    lines = item_lines(terminal, items, full=full, width=width)
    noun = NOUNS.get(result.kind or "", "item")
    if lines:
        lines.append("")
    lines.append(found_text(len(items), noun, result.truncated) + _next_page(answer))
    seen = answer.observation
    if seen is None:
        return lines
    record = seen.record
    new = f" ({len(record.novel_atoms)} of {seen.returned} new)" if seen.returned else ""
    same = "" if record.duplicate_of is None else f", the same as {record.duplicate_of}"
    cost = "" if answer.cost is None else f"  cost {answer.cost}"
    lines.append(
        f"{terminal.paint(record.id, 'good', 'bold')}  {record.hypothesis_id}  {answer.action}  "
        f"novelty {record.novelty_score}%{new}{same}{cost}"
    )
    if not answer.is_open:
        return lines
    lines.append(
        terminal.paint(
            f'next: vstore settle {shlex.quote(answer.action)} --score 0..100 --reason "..."',
            "dim",
        )
    )
    return lines


def _next_page(answer: Answer) -> str:
    """How to see what comes after the page, where asking on shows it."""
    page, truncated = answer.result.page, answer.result.truncated
    if page is None or truncated is None or not page.returned or truncated.limit not in _PAGED:
        return ""
    after = page.offset + page.returned
    if isinstance(answer.arguments, SourceRead):
        last = "" if answer.arguments.end is None else str(answer.arguments.end)
        return f"; --lines {after + 1}:{last} shows more"
    return f"; --offset {after} shows more"


def _value(answer: Answer) -> dict[str, Any]:
    value: dict[str, Any] = {
        "schema": "vstore-query/1",
        "hypothesis_id": answer.hypothesis,
        "action_id": answer.action,
        "operation": answer.result.operation,
        "question": answer.arguments,
        "cost": answer.cost,
        "status": answer.result.status,
        "record": None,
        "result": answer.result,
    }
    seen = answer.observation
    if seen is not None:
        value["record"] = {
            "id": seen.record.id,
            "object": str(seen.oid),
            "content": str(seen.record.content),
            "novelty_score": seen.record.novelty_score,
            "novel": len(seen.record.novel_atoms),
            "duplicate_of": seen.record.duplicate_of,
        }
    return value
