"""What a v14 reply must be beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vstore.investigation.audit import compare
from vstore.investigation.derivation import ADMITTED, admitted, review_effect, union
from vstore.investigation.moves import move_problems
from vstore.investigation.readable import Readable
from vstore.investigation.references import (
    FINDINGS,
    Past,
    assessment_problem,
    finding_problems,
    repeated,
)
from vstore.investigation.rejection import (
    BRIEF_REFERENCE,
    BRIEF_RETIRED,
    BRIEF_REVISION,
    CONFIDENCE,
    Path,
    Problem,
)
from vstore.investigation.reply_parts import RetiredFinding
from vstore.investigation.reply_v14 import AssessmentV14, FindingV14
from vstore.investigation.vocabulary import MAX_UNION, Confidence

__all__ = ["problems_v14"]

_RETIRED: Path = ("update", "working_brief", "retired")
_CONFIDENCE: Path = ("update", "confidence")


def problems_v14(reply: Readable, past: Past) -> Iterator[Problem]:
    """Everything that is wrong beyond the schema, in no order.

    Args:
        reply: The reply, as far as it can be read.
        past: The history that it is judged by.
    """
    if reply.sound(("assessment",)):
        given = reply.get(("assessment",), AssessmentV14 | None)  # type: ignore[arg-type]
        yield from assessment_problem(given is not None, past)
    findings = reply.parts(FINDINGS, FindingV14)
    yield from finding_problems(findings, past)
    yield from _revision_problems(findings, past)
    retired = reply.parts(_RETIRED, RetiredFinding)
    whole = reply.sound(FINDINGS)
    yield from _retired_problems(findings, retired, past, complete=whole and reply.sound(_RETIRED))
    yield from _union_problems(findings, past, complete=whole)
    if whole:
        yield from _confidence_problems(reply, findings)
    yield from move_problems(reply)


def _revision_problems(findings: Sequence[FindingV14], past: Past) -> Iterator[Problem]:
    unexplained = [
        one.after.id
        for one in compare(past.brief, findings).changed
        if one.needs_reason
        and isinstance(one.after, FindingV14)
        and one.after.revision_reason is None
    ]
    if unexplained:
        yield Problem(
            code=BRIEF_REVISION,
            path=FINDINGS,
            requirement="revision_reason_for_a_changed_direction_or_removed_references",
            ids=tuple(sorted(unexplained)),
        )


def _retired_problems(
    findings: Sequence[FindingV14],
    retired: Sequence[RetiredFinding],
    past: Past,
    *,
    complete: bool,
) -> Iterator[Problem]:
    named = [one.id for one in retired]
    kept = {one.id for one in findings}
    known = set() if past.brief is None else {one.id for one in past.brief.findings}
    wrong = {
        "distinct_ids": repeated(named),
        "ids_of_the_last_brief": tuple(sorted({*named} - known)),
        "ids_that_are_no_finding_any_more": tuple(sorted({*named} & known & kept)),
    }
    if complete:
        wrong["one_entry_for_each_finding_that_is_gone"] = tuple(sorted(known - kept - {*named}))
    for requirement, ids in wrong.items():
        if ids:
            yield Problem(code=BRIEF_RETIRED, path=_RETIRED, requirement=requirement, ids=ids)


def _union_problems(
    findings: Sequence[FindingV14], past: Past, *, complete: bool
) -> Iterator[Problem]:
    gone = compare(past.brief, findings).removed if complete else ()
    if len(union(findings, past.result, gone)) > MAX_UNION:
        yield Problem(
            code=BRIEF_REFERENCE,
            path=FINDINGS,
            requirement=f"at_most {MAX_UNION} distinct evidence ids in all",
        )


def _confidence_problems(reply: Readable, findings: Sequence[FindingV14]) -> Iterator[Problem]:
    confidence: Confidence | None = reply.get(_CONFIDENCE, Confidence)  # type: ignore[arg-type]
    effect = review_effect(findings)
    if confidence is not None and not admitted(effect, confidence):
        yield Problem(
            code=CONFIDENCE,
            path=_CONFIDENCE,
            requirement=f"one_of {', '.join(ADMITTED[effect])} where the findings are {effect}",
        )
