"""A reply under ``investigation_project_v14``: each judgement once, in the findings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from vstore.investigation.reply_parts import Finding, Next, RetiredFinding
from vstore.investigation.vocabulary import Confidence, Questions, Reason, Score, Statement
from vstore.objects.document import Part

__all__ = ["AssessmentV14", "BriefV14", "FindingV14", "ReplyV14", "UpdateV14"]


class AssessmentV14(Part, frozen=True, kw_only=True):
    """How much the previous result says; the controller binds it to that result."""

    semantic_score: Score
    reason: Reason


class FindingV14(Finding, frozen=True, kw_only=True):
    """A finding, with a reason where it turned round or lost evidence."""

    revision_reason: Reason | None = None


class BriefV14(Part, frozen=True, kw_only=True):
    """What is known so far."""

    format_version: Literal[2]
    findings: Annotated[list[FindingV14], msgspec.Meta(max_length=100)]
    uncertainties: Questions
    next_question: Statement
    retired: Annotated[list[RetiredFinding], msgspec.Meta(max_length=100)]


class UpdateV14(Part, frozen=True, kw_only=True):
    """What the step changes."""

    confidence: Confidence
    resolve_questions: Questions
    add_questions: Questions
    working_brief: BriefV14


class ReplyV14(Part, frozen=True, kw_only=True):
    """The whole reply."""

    assessment: AssessmentV14 | None
    update: UpdateV14
    next: Next
