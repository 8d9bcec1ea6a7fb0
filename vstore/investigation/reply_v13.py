"""A reply under ``investigation_project_v13``: the model repeats what follows from findings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from vstore.investigation.reply_parts import Finding, Next
from vstore.investigation.vocabulary import (
    MAX_REFERENCES,
    Confidence,
    Effect,
    FindingId,
    Questions,
    Reason,
    Score,
    Statement,
)
from vstore.objects.document import Part, RecordId

__all__ = [
    "AssessmentV13",
    "BriefV13",
    "CausalReviewV13",
    "ChangeV13",
    "ReplyV13",
    "UpdateV13",
]

References = Annotated[list[RecordId], msgspec.Meta(max_length=MAX_REFERENCES)]


class AssessmentV13(Part, frozen=True, kw_only=True):
    """How much the previous result says, and which one that is."""

    semantic_score: Score
    reason: Reason
    evidence_refs: References


class CausalReviewV13(Part, frozen=True, kw_only=True):
    """What the evidence does to the hypothesis, beside the findings."""

    effect: Effect
    reason: Reason
    evidence_refs: References


class ChangeV13(Part, frozen=True, kw_only=True):
    """One entry of the change log that the model writes."""

    id: FindingId
    change: Literal["added", "changed", "removed"]
    reason: Reason


class BriefV13(Part, frozen=True, kw_only=True):
    """What is known so far."""

    format_version: Literal[1]
    findings: Annotated[list[Finding], msgspec.Meta(max_length=100)]
    uncertainties: Questions
    next_question: Statement
    changes: Annotated[list[ChangeV13], msgspec.Meta(max_length=100)]


class UpdateV13(Part, frozen=True, kw_only=True):
    """What the step changes."""

    confidence: Confidence
    evidence_refs: References
    causal_review: CausalReviewV13
    note: Statement
    resolve_questions: Questions
    add_questions: Questions
    working_brief: BriefV13


class ReplyV13(Part, frozen=True, kw_only=True):
    """The whole reply."""

    assessment: AssessmentV13 | None
    update: UpdateV13
    next: Next
