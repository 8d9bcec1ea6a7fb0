"""The documentation's page of the lifecycle, rendered from the table.

``python -m vstore.package.lifecycle_page docs/reference/lifecycle.md`` writes it again; a test
holds the page against the table.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Final

from vstore.package.documents import BLOCK_REASONS, STATES
from vstore.package.lifecycle import RULES, WORKING, Position, Rule, legal_events

__all__ = ["diagram", "render"]

_WAITING: Final = ("AWAITING_TEST_FEEDBACK",)
_HEAD: Final = """# Lifecycle of a case

This page is rendered from the table in `vstore/package/lifecycle.py`, which the writer and the
verifier use; don't edit it by hand. Every transition is a generation with its event, actor and
time. An event that isn't listed for a state is refused with what is legal there.

## States

"""


def diagram() -> str:
    """The table's transitions as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> ADMITTED: init"]
    for rule in RULES:
        for source in rule.sources:
            lines += [f"    {source} --> {target}: {_label(rule)}" for target in _targets(rule)]
    lines.append("    CLOSED --> [*]")
    return "\n".join(lines) + "\n"


def render() -> str:
    """The whole page, in Markdown."""
    lines = [_HEAD + "```mermaid\n" + diagram() + "```\n\n## What is legal where\n"]
    for state in STATES:
        if state != "BLOCKED":
            lines.append(_point(state, _events(Position(state))))
            continue
        for reason in BLOCK_REASONS:
            position = Position(state, reason, "INVESTIGATING_HYPOTHESES")
            lines.append(_point(f"{state} ({reason})", _events(position)))
    lines += ["", "## What events do", ""]
    for rule in RULES:
        target = {None: "the same state", "RESUME": "the state that the block left"}.get(
            rule.target, rule.target
        )
        effects = (
            [f"changes {', '.join(f'`{one}`' for one in rule.changes)}"] if rule.changes else []
        )
        if rule.new_revision:
            effects.append("starts the next analysis revision")
        sources = ", ".join(rule.sources) or "nothing"
        lines.append(_point(rule.event, "; ".join([f"from {sources} to {target}", *effects])))
    return "\n".join(lines) + "\n"


def _point(name: str, text: str) -> str:
    # Names aren't broken: the page is searched for them.
    return textwrap.fill(
        f"- **{name}**: {text}.",
        width=100,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _targets(rule: Rule) -> tuple[str, ...]:
    if rule.target is None:
        return ()
    if rule.target == "RESUME":
        return ("INVESTIGATING_HYPOTHESES",) if rule.reasons == _WAITING else WORKING
    return (rule.target,)


def _label(rule: Rule) -> str:
    if not rule.reasons or rule.reasons == _WAITING:
        return rule.event
    return f"{rule.event} ({', '.join(rule.reasons)})"


def _events(position: Position) -> str:
    return ", ".join(f"`{event}`" for event in legal_events(position))


if __name__ == "__main__":  # pragma: no cover
    Path(sys.argv[1]).write_text(render(), encoding="utf-8")
