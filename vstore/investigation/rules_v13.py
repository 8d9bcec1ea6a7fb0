"""What a v13 reply must be beyond its schema: the redundant members must agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vstore.investigation.audit import compare
from vstore.investigation.derivation import ADMITTED, admitted
from vstore.investigation.moves import move_problems
from vstore.investigation.readable import Readable
from vstore.investigation.references import (
    FINDINGS,
    Past,
    assessment_problem,
    finding_problems,
    reference_problems,
    repeated,
    sorted_references,
)
from vstore.investigation.rejection import (
    BRIEF_CHANGES,
    CONFIDENCE,
    REFERENCE_SETS,
    Path,
    Problem,
)
from vstore.investigation.reply_parts import Finding
from vstore.investigation.reply_v13 import AssessmentV13, CausalReviewV13, ChangeV13
from vstore.investigation.vocabulary import Confidence

__all__ = ["problems_v13"]

_CHANGES: Path = ("update", "working_brief", "changes")
_CONFIDENCE: Path = ("update", "confidence")
_REFS: Path = ("update", "evidence_refs")
_REVIEW: Path = ("update", "causal_review")


def problems_v13(reply: Readable, past: Past) -> Iterator[Problem]:
    """Everything that is wrong beyond the schema, in no order.

    Args:
        reply: The reply, as far as it can be read.
        past: The history that it is judged by.
    """
    if reply.sound(("assessment",)):
        given = reply.get(("assessment",), AssessmentV13 | None)  # type: ignore[arg-type]
        yield from assessment_problem(given is not None, past)
        if given is not None:
            yield from _assessed(given, past)
    findings = reply.parts(FINDINGS, Finding)
    yield from finding_problems(findings, past)
    yield from _set_problems(reply, findings, past)
    if reply.sound(FINDINGS) and reply.sound(_CHANGES):
        yield from _change_problems(findings, reply.parts(_CHANGES, ChangeV13), past)
    review = reply.get(_REVIEW, CausalReviewV13)
    confidence: Confidence | None = reply.get(_CONFIDENCE, Confidence)  # type: ignore[arg-type]
    if review is not None and confidence is not None and not admitted(review.effect, confidence):
        yield Problem(
            code=CONFIDENCE,
            path=_CONFIDENCE,
            requirement=f"one_of {', '.join(ADMITTED[review.effect])} "
            f"where the review is {review.effect}",
        )
    yield from move_problems(reply)


def _assessed(given: AssessmentV13, past: Past) -> Iterator[Problem]:
    path = ("assessment", "evidence_refs")
    yield from reference_problems(given.evidence_refs, path, past)
    if past.result is not None and past.result not in given.evidence_refs:
        yield Problem(
            code=REFERENCE_SETS,
            path=path,
            requirement="the_previous_result",
            ids=(past.result,),
        )


def _set_problems(reply: Readable, findings: Sequence[Finding], past: Past) -> Iterator[Problem]:
    references = reply.get(_REFS, list[str])
    review = reply.get(_REVIEW, CausalReviewV13)
    if references is not None:
        yield from reference_problems(references, _REFS, past)
        missing = {ref for one in findings for ref in one.evidence_refs} - set(references)
        if missing:
            yield Problem(
                code=REFERENCE_SETS,
                path=_REFS,
                requirement="every_reference_of_the_findings",
                ids=tuple(sorted_references(missing)),
            )
    if review is not None:
        path = (*_REVIEW, "evidence_refs")
        yield from reference_problems(review.evidence_refs, path, past)
        if references is not None and set(review.evidence_refs) - set(references):
            yield Problem(
                code=REFERENCE_SETS,
                path=path,
                requirement="references_of_the_update",
                ids=tuple(sorted_references(set(review.evidence_refs) - set(references))),
            )


def _change_problems(
    findings: Sequence[Finding], changes: Sequence[ChangeV13], past: Past
) -> Iterator[Problem]:
    """The log names each finding that was added, changed or removed once, and no other."""
    comparison = compare(past.brief, findings)
    expected = {
        **{one.id: "added" for one in comparison.added},
        **{one.after.id: "changed" for one in comparison.changed},
        **{one.id: "removed" for one in comparison.removed},
    }
    named = {one.id: one.change for one in changes}
    wrong = {
        "distinct_ids": repeated(one.id for one in changes),
        "one_entry_for_each_change": tuple(sorted(expected.keys() - named.keys())),
        "ids_of_findings_that_changed": tuple(sorted(named.keys() - expected.keys())),
        "the_change_that_was_made": tuple(
            sorted(one for one, change in named.items() if expected.get(one, change) != change)
        ),
    }
    for requirement, ids in wrong.items():
        if ids:
            yield Problem(code=BRIEF_CHANGES, path=_CHANGES, requirement=requirement, ids=ids)
