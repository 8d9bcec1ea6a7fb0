"""Findings: what a verifier reports, and the one table of their kinds.

A code is stable and never reused. Its *rule* says how grave the finding is, what it means,
what still holds although it was found, and what is safe to do (spec: verify, "Findings").
Rules stand in :mod:`vstore.verify.rules`, a module an area.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from vstore.objects.ids import ObjectId, digest_of

__all__ = ["Area", "Finding", "Hint", "Rule", "Severity"]

Severity = Literal["error", "warning", "note"]
Area = Literal[
    "container",
    "objects",
    "history",
    "inputs",
    "evidence",
    "ledger",
    "handoff",
    "investigation",
    "verifier",
]

_SEPARATOR: Final = "\x1f"


@dataclass(frozen=True, slots=True)
class Hint:
    """What a reader needs to know about a kind of finding, three sentences or so.

    Args:
        means: What it means.
        holds: What still holds although it was found.
        do: What is safe to do; never to delete anything.
    """

    means: str
    holds: str
    do: str

    def text(self) -> str:
        """The three as one paragraph."""
        return f"{self.means} What still holds: {self.holds} What to do: {self.do}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding.

    Args:
        code: ``VS-``, the area's three letters, a number; stable, never reused.
        slug: A readable name, lower-case words joined by hyphens.
        severity: In a package directory.
        summary: One line: what is wrong.
        hint: What it means, what still holds, what to do.
        bundle: Severity in a bundle, where it differs.
        incomplete: The verifier could not judge something (a schema of a later version, a
            limit of the reader): never verified, so exit code 3 unless an error was found.
    """

    code: str
    slug: str
    severity: Severity
    summary: str
    hint: Hint
    bundle: Severity | None = None
    incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, or one remark, of one package.

    Args:
        rule: Which kind.
        severity: As it counts here.
        message: What is wrong here, one sentence; holds ids, names and numbers only.
        object: The object that it is about, where there is one.
        pointer: JSON pointer (RFC 6901) into that object, where there is one.
        file: The path inside the package, safe to show, where there is one.
        offset: Byte offset in that file, 0 or more, where there is one.
        expected: What the originals yield, where there is one value.
        actual: What the package says instead.
        affects: Facts that fall with it: ``record E000012``, ``ledger entry 7``.
    """

    rule: Rule
    severity: Severity
    message: str
    object: ObjectId | None = None
    pointer: str | None = None
    file: str | None = None
    offset: int | None = None
    expected: str | None = None
    actual: str | None = None
    affects: tuple[str, ...] = field(default=())

    @property
    def code(self) -> str:
        """The rule's code."""
        return self.rule.code

    @property
    def fingerprint(self) -> str:
        """A stable name of this very finding: 32 hex digits over code, place and values.

        Two runs over the same bytes give the same one, also from another folder; what the
        message says and what else was found doesn't enter.
        """
        parts = (
            self.rule.code,
            self.object or "",
            self.pointer or "",
            self.file or "",
            "" if self.offset is None else str(self.offset),
            self.expected or "",
            self.actual or "",
        )
        return digest_of(_SEPARATOR.join(parts).encode("utf-8", "backslashreplace"))[:32]
