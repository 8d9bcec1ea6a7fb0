"""Rules on evidence ids and finding ids that both contracts share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from vstore.errors import InvalidError
from vstore.evidence.record_id import record_number
from vstore.investigation.documents import WorkingBrief
from vstore.investigation.rejection import (
    ASSESSMENT,
    BRIEF_FINDING,
    BRIEF_REFERENCE,
    Path,
    Problem,
)
from vstore.objects.ids import ObjectId

__all__ = [
    "FINDINGS",
    "Evidenced",
    "Past",
    "assessment_problem",
    "finding_problems",
    "reference_problems",
    "repeated",
    "sorted_references",
]

FINDINGS: Path = ("update", "working_brief", "findings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The history that a reply is judged by.

    Attributes:
        known: How many evidence records the request's generation has: ``E000001`` to this.
        result: The record that the reply has to assess, or None.
        brief: The hypothesis' brief so far, or None.
        brief_id: Its object id.
    """

    known: int
    result: str | None
    brief: WorkingBrief | None
    brief_id: ObjectId | None


class Evidenced(Protocol):
    """A finding, of whatever contract."""

    @property
    def id(self) -> str: ...
    @property
    def evidence_refs(self) -> list[str]: ...


def repeated(ids: Iterable[str]) -> tuple[str, ...]:
    """The ids that occur more than once, sorted."""
    return tuple(sorted(one for one, times in Counter(ids).items() if times > 1))


def sorted_references(references: Iterable[str]) -> list[str]:
    """Distinct evidence ids by number: they have six digits, or more without leading zeros."""
    return sorted(set(references), key=lambda one: (len(one), one))


def assessment_problem(present: bool, past: Past) -> Iterator[Problem]:
    """An assessment goes with a previous result, and only with one.

    Args:
        present: Whether the reply has an assessment.
        past: The history.
    """
    if present and past.result is None:
        yield Problem(code=ASSESSMENT, path=("assessment",), requirement="null_without_a_result")
    elif not present and past.result is not None:
        yield Problem(
            code=ASSESSMENT,
            path=("assessment",),
            requirement="assessment_of_the_previous_result",
            ids=(past.result,),
        )


def reference_problems(references: Sequence[str], path: Path, past: Past) -> Iterator[Problem]:
    """Evidence ids must be known to the case."""
    unknown = sorted({one for one in references if not _known(one, past)})
    if unknown:
        yield Problem(
            code=BRIEF_REFERENCE,
            path=path,
            requirement="known_evidence_ids",
            ids=tuple(unknown),
        )


def finding_problems(findings: Sequence[Evidenced], past: Past) -> Iterator[Problem]:
    """Findings have ids of their own, and distinct references to evidence of the case."""
    twice = repeated(one.id for one in findings)
    if twice:
        yield Problem(code=BRIEF_FINDING, path=FINDINGS, requirement="distinct_ids", ids=twice)
    references = [ref for one in findings for ref in one.evidence_refs]
    yield from reference_problems(references, FINDINGS, past)
    doubled = sorted({ref for one in findings for ref in repeated(one.evidence_refs)})
    if doubled:
        yield Problem(
            code=BRIEF_REFERENCE,
            path=FINDINGS,
            requirement="distinct_evidence_ids_in_a_finding",
            ids=tuple(doubled),
        )


def _known(reference: str, past: Past) -> bool:
    try:
        return record_number(reference) <= past.known
    except InvalidError:
        return False
