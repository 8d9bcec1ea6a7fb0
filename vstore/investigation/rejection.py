"""Why a reply is refused: stable codes, and hints that hold nothing of the reply.

A hint names a place by known member names and positions, says what is required there, and
repeats offending ids only where they have the form of one. Texts, values and unknown member
names of the reply never get into it (spec: investigation, "Rejections").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from vstore.investigation.contracts import known_members
from vstore.objects.document import Derived, Part

__all__ = ["CODES", "Code", "Hint", "HintDetails", "Path", "Problem", "hint_value", "hints_of"]

#: Member names and, in lists, positions from 0.
Path = tuple[str | int, ...]

TRUNCATED: Final = "INVESTIGATION_REPLY_TRUNCATED"
NOT_JSON: Final = "INVESTIGATION_REPLY_JSON"
SCHEMA: Final = "INVESTIGATION_REPLY_SCHEMA"
ASSESSMENT: Final = "INVESTIGATION_ASSESSMENT"
BRIEF_REFERENCE: Final = "INVESTIGATION_BRIEF_REFERENCE"
BRIEF_FINDING: Final = "INVESTIGATION_BRIEF_FINDING"
BRIEF_RETIRED: Final = "INVESTIGATION_BRIEF_RETIRED"
BRIEF_REVISION: Final = "INVESTIGATION_BRIEF_REVISION"
BRIEF_CHANGES: Final = "INVESTIGATION_BRIEF_CHANGES"
REFERENCE_SETS: Final = "INVESTIGATION_REFERENCE_SETS"
CONFIDENCE: Final = "INVESTIGATION_CONFIDENCE"
NEXT_ARGUMENTS: Final = "INVESTIGATION_NEXT_ARGUMENTS"

#: Every code, with what it means; stable, never reused.
CODES: Final[dict[str, str]] = {
    TRUNCATED: "the provider cut the reply off; it was not parsed",
    NOT_JSON: "the reply is not one JSON document of the accepted subset, or too large",
    SCHEMA: "the reply does not satisfy the frozen schema",
    ASSESSMENT: "an assessment without a previous result, or none although there is one",
    BRIEF_REFERENCE: "evidence ids that the case lacks, repeated ones, or too many together",
    BRIEF_FINDING: "two findings with one id",
    BRIEF_RETIRED: "a finding that is gone without exactly one reason, or a reason for no such",
    BRIEF_REVISION: "a finding that turned round or lost evidence without a reason",
    BRIEF_CHANGES: "a v13 change log that does not say what changed",
    REFERENCE_SETS: "v13 reference sets that contradict the findings or each other",
    CONFIDENCE: "a confidence that the direction of the findings does not admit",
    NEXT_ARGUMENTS: "arguments that the operation of the next query does not take",
}
Code = str

_ID: Final = re.compile(r"[EB][0-9]{1,15}", re.ASCII)


class HintDetails(Part, frozen=True, kw_only=True):
    """Where and what."""

    field: Annotated[str, msgspec.Meta(max_length=500), Derived]
    #: Offending ids of evidence or findings.
    ids: Annotated[
        list[Annotated[str, msgspec.Meta(pattern=r"^[EB][0-9]{1,15}\Z")]],
        msgspec.Meta(max_length=256),
        Derived,
    ]
    requirement: Annotated[str, msgspec.Meta(min_length=1, max_length=500), Derived]
    #: Known member names that the error is about.
    members: Annotated[
        list[Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z")]],
        msgspec.Meta(max_length=64),
        Derived,
    ]


class Hint(Part, frozen=True, kw_only=True):
    """One error of a reply, as the model is told it."""

    rejection: Annotated[str, msgspec.Meta(pattern=r"^[A-Z][A-Z0-9_]{0,63}\Z"), Derived]
    details: HintDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One error of a reply.

    Attributes:
        code: One of :data:`CODES`.
        path: Where; only member names that a contract has.
        requirement: What would be right there, in words of the rule.
        ids: Offending ids; those that have no form of an id are left out of the hint.
        members: Member names; only those that a contract has get into the hint.
    """

    code: Code
    path: Path
    requirement: str
    ids: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    def sort_key(self) -> tuple[Any, ...]:
        """By path, positions as numbers; then by what is required."""
        path = tuple((0, one, "") if isinstance(one, int) else (1, 0, one) for one in self.path)
        return (path, self.code, self.requirement, self.ids, self.members)


def hints_of(problems: Iterable[Problem]) -> list[Hint]:
    """The hints for these errors, ordered by path, each once."""
    ordered = sorted(set(problems), key=Problem.sort_key)
    return [_hint(one) for one in ordered]


def hint_value(hints: Sequence[Hint]) -> dict[str, Any]:
    """The hints as members of the next call's context; none: an empty dict.

    The first error by path is ``previous_rejection`` and ``previous_rejection_details``, the
    others are ``previous_rejection_more``.
    """
    if not hints:
        return {}
    first, *others = hints
    value: dict[str, Any] = {
        "previous_rejection": first.rejection,
        "previous_rejection_details": _details_value(first.details),
    }
    if others:
        value["previous_rejection_more"] = [
            {"rejection": one.rejection, "details": _details_value(one.details)} for one in others
        ]
    return value


def _details_value(details: HintDetails) -> dict[str, Any]:
    value: dict[str, Any] = {
        "field": details.field,
        "ids": list(details.ids),
        "requirement": details.requirement,
    }
    if details.members:
        value["members"] = list(details.members)
    return value


def _hint(problem: Problem) -> Hint:
    known = known_members()
    ids = [one for one in problem.ids if _ID.fullmatch(one)]
    return Hint(
        rejection=problem.code,
        details=HintDetails(
            field=_field(problem),
            ids=ids[:256],
            requirement=problem.requirement,
            members=[one for one in problem.members if one in known][:64],
        ),
    )


def _field(problem: Problem) -> str:
    """A JSON pointer for what a schema refuses, dotted names for everything else."""
    if problem.code == SCHEMA:
        return "".join(f"/{one}" for one in problem.path)
    return ".".join(one for one in problem.path if isinstance(one, str))
