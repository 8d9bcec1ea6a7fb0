"""What changed in the findings since the last brief; a log, and never an approval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vstore.investigation.documents import BriefFinding, FindingField, WorkingBrief
from vstore.investigation.references import sorted_references
from vstore.investigation.reply_parts import Finding

__all__ = ["Changed", "Comparison", "compare"]

_FIELDS: tuple[FindingField, ...] = ("direction", "evidence_refs", "scope", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One finding that is in both briefs and differs.

    Attributes:
        before: As it was.
        after: As it is.
        fields: What differs; an order of references is no difference.
        added: References that are new.
        lost: References that are gone.
    """

    before: BriefFinding
    after: Finding
    fields: tuple[FindingField, ...]
    added: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def needs_reason(self) -> bool:
        """Whether it turned round or lost evidence; anything else needs no reason."""
        return "direction" in self.fields or bool(self.lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How findings differ from those of the last brief.

    Attributes:
        added: New ones, in their order.
        removed: Those that are gone, in their old order.
        changed: Those that differ, in their new order.
        reordered: Whether kept findings stand in another order.
    """

    added: tuple[Finding, ...]
    removed: tuple[BriefFinding, ...]
    changed: tuple[Changed, ...]
    reordered: bool


def compare(before: WorkingBrief | None, findings: Sequence[Finding]) -> Comparison:
    """Compare findings with the last brief; of findings with one id the first one counts."""
    old = {} if before is None else {one.id: one for one in before.findings}
    new: dict[str, Finding] = {}
    for one in findings:
        new.setdefault(one.id, one)
    kept = [name for name in new if name in old]
    return Comparison(
        added=tuple(one for name, one in new.items() if name not in old),
        removed=tuple(one for name, one in old.items() if name not in new),
        changed=tuple(
            changed for name in kept if (changed := _changed(old[name], new[name])) is not None
        ),
        reordered=kept != [name for name in old if name in new],
    )


def _changed(before: BriefFinding, after: Finding) -> Changed | None:
    fields = tuple(name for name in _FIELDS if _value(before, name) != _value(after, name))
    if not fields:
        return None
    old, new = set(before.evidence_refs), set(after.evidence_refs)
    return Changed(
        before=before,
        after=after,
        fields=fields,
        added=tuple(sorted_references(new - old)),
        lost=tuple(sorted_references(old - new)),
    )


def _value(finding: Finding | BriefFinding, name: str) -> object:
    value: object = getattr(finding, name)
    return set(value) if isinstance(value, list) else value
