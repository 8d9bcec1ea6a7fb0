"""The documentation's page of all findings, rendered from the rules and the bad packages.

``python -m vstore.testing.bad.page docs/reference/findings.md`` writes it again; a test
holds the page against the rules.
"""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Final

from vstore.testing.bad import BAD_PACKAGES
from vstore.testing.bad.change import BadPackage
from vstore.testing.bad.make import write_all
from vstore.verify import Report
from vstore.verify.findings import Rule
from vstore.verify.render import text_lines
from vstore.verify.rules import RULES

__all__ = ["GOOD", "render"]

#: The good packages that are committed.
GOOD: Final = Path(__file__).parents[3] / "tests" / "fixtures" / "good"
_WIDTH: Final = 100
_AREAS: Final = {
    "CON": ("Container", "Files of a package, frames and segments of its log, bundles."),
    "OBJ": ("Objects", "Digests, canonical form, schemas, references."),
    "HIS": ("History", "The chain of generations, states by the lifecycle table, refs."),
    "INP": ("Inputs", "Trees, raw input, snapshots."),
    "EVD": ("Evidence", "Indices, records, contents, novelty, replies."),
    "LED": ("Ledger", "Events, figures, policies, bindings."),
    "HND": ("Handoff", "Tests that people make: requests, waits, feedback, attachments."),
    "INV": ("Investigation", "Calls, frozen schemas, replies, briefs, audits."),
    "VER": ("Verifier", "What kept the verifier from judging, whatever the package is like."),
}
_HEAD: Final = """# Findings

This page is rendered from the rules in `vstore/verify/rules/` and from the bad packages in
`vstore/testing/bad/`; don't edit it by hand. Codes are stable and never reused. What `vstore
verify` does with findings, and what it can't find, is in [verify.md](verify.md).

An **error** makes the exit code 1. Warnings and notes leave it 0, except those that say *could
not be judged*: with one of these, and no error, it is 3. Some findings that are harmless in a
folder somebody works in are errors in a bundle, which is a closed world.

Each example is what the verifier says of a good package in which one thing was changed. Where
that is possible everything that follows from the change was made consistent again, so that
nothing but the rule itself gives it away. Where it is *nothing* that was changed, the package is
good, and the example says what was asked for or what failed. `python -m
vstore.testing.bad.make FOLDER` writes these packages.
"""


def render(folder: Path | None = None) -> str:
    """The whole page, in Markdown.

    Args:
        folder: Where :func:`vstore.testing.bad.make.write_all` wrote all packages; made anew
            from the committed ones by default.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as scratch:
            write_all(Path(scratch) / "all", GOOD)
            return render(Path(scratch) / "all")
    made = {one.code: one for one in BAD_PACKAGES}
    parts = [_HEAD]
    area = ""
    for code, rule in RULES.items():
        if code[3:6] != area:
            area = code[3:6]
            title, about = _AREAS[area]
            parts.append(f"## {title} (VS-{area})\n\n{about}\n")
        parts.append(_section(rule))
        parts.append(_example(made[code], folder))
    return "\n".join(parts)


def _section(rule: Rule) -> str:
    grade: str = rule.severity
    if rule.incomplete:
        grade += ", could not be judged"
    if rule.bundle is not None:
        grade += f"; {rule.bundle} in a bundle"
    points = (
        f"**{grade[0].upper()}{grade[1:]}**: {rule.summary}.",
        rule.hint.means,
        f"*What still holds:* {rule.hint.holds}",
        f"*What to do:* {rule.hint.do}",
    )
    return f"### {rule.code} {rule.slug}\n\n" + "\n".join(_fill(one) for one in points)


def _fill(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _example(one: BadPackage, folder: Path) -> str:
    report = one.verify(folder / "good", folder / one.kind / one.name)
    shown = "\n".join(_lines(report))
    return _fill(f"Example: {one.change}.") + f"\n```text\n{shown}\n```\n"


def _lines(report: Report) -> list[str]:
    """The first finding as the verifier shows it, without what depends on compression."""
    lines = [line.text for line in text_lines(report, width=_WIDTH, hints=False)]
    first = lines[: lines.index("")] if "" in lines else lines
    text = "\n".join(part for line in first for part in _short(line))
    text = re.sub(r"\b(offset|bytes|to) [0-9]+\b", r"\1 …", text)
    shown = [line.rstrip() for line in text.splitlines()]
    more = len(report.findings) - 1
    if more:
        shown.append(f"(and {more} more)")
    return [*shown, f"exit code {report.exit_code}"]


def _short(line: str) -> list[str]:
    """A line, wrapped between words where it is too long for the page."""
    if len(line) <= _WIDTH:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 3)
    parts = textwrap.wrap(
        line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [part if len(part) <= _WIDTH else part[: _WIDTH - 1] + "…" for part in parts]


if __name__ == "__main__":  # pragma: no cover
    Path(sys.argv[1]).write_text(render(), encoding="utf-8")
