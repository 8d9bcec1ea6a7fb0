"""What follows from the findings: reference sets, review effect, reason, calibration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from vstore.investigation.references import Evidenced, sorted_references
from vstore.investigation.vocabulary import Confidence, Direction, Effect

__all__ = [
    "ADMITTED",
    "ELLIPSIS",
    "REASON_LENGTH",
    "SEPARATOR",
    "admitted",
    "confidence_after",
    "questions_after",
    "review_effect",
    "review_reason",
    "union",
]

#: Between the findings' texts in the review's reason.
SEPARATOR: Final = " | "
#: Characters that the reason has at the most, the mark included.
REASON_LENGTH: Final = 600
#: Says that the reason was cut; the full texts stand in the findings.
ELLIPSIS: Final = " [...]"

#: The confidences that an effect admits.
ADMITTED: Final[dict[Effect, tuple[Confidence, ...]]] = {
    "supports": ("strengthened", "confirmed", "unchanged"),
    "contradicts": ("weakened", "refuted", "unchanged"),
    "mixed": ("strengthened", "weakened", "unchanged"),
    "neutral": ("unchanged",),
}


class Directed(Protocol):
    """A finding with a direction and a text."""

    @property
    def direction(self) -> Direction: ...
    @property
    def text(self) -> str: ...


def union(
    findings: Iterable[Evidenced], result: str | None, retired: Iterable[Evidenced] = ()
) -> list[str]:
    """The references of the findings, of the result just assessed, and of what is retired.

    Args:
        findings: The findings of the new brief.
        result: The result that the reply assesses, or None.
        retired: Findings of the last brief that are gone, as they stood there.

    Returns:
        Distinct ids by number.
    """
    found = {ref for one in findings for ref in one.evidence_refs}
    found |= {ref for one in retired for ref in one.evidence_refs}
    if result is not None:
        found.add(result)
    return sorted_references(found)


def review_effect(findings: Iterable[Directed]) -> Effect:
    """Only for: supports; only against: contradicts; both: mixed; neither: neutral."""
    directions = {one.direction for one in findings}
    if directions == {"for"}:
        return "supports"
    if directions == {"against"}:
        return "contradicts"
    return "mixed" if directions else "neutral"


def review_reason(findings: Sequence[Directed]) -> str:
    """The findings' texts in their order, joined, and cut with a mark where too long."""
    whole = SEPARATOR.join(one.text for one in findings)
    if len(whole) <= REASON_LENGTH:
        return whole
    return whole[: REASON_LENGTH - len(ELLIPSIS)] + ELLIPSIS


def admitted(effect: Effect, confidence: Confidence) -> bool:
    """Whether the calibration admits this confidence with this effect."""
    return confidence in ADMITTED[effect]


def confidence_after(before: str, update: Confidence) -> str:
    """A hypothesis' confidence after an update: ``unchanged`` leaves what it was."""
    return before if update == "unchanged" else update


def questions_after(before: Sequence[str], resolve: Sequence[str], add: Sequence[str]) -> list[str]:
    """A hypothesis' open questions after an update: resolved ones go, new ones follow."""
    kept = [one for one in before if one not in resolve]
    return list(dict.fromkeys([*kept, *add]))
