"""Documents of the investigation layer (spec: investigation, "Contracts").

A call is opened with a *request*; the reply to it becomes a *step* or an *attempt*. Opening,
steps and attempts stand in one append-only *log*. A *brief* is what is known of one
hypothesis; briefs follow one another, so that their history is kept.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from vstore.investigation.rejection import Hint
from vstore.investigation.reply_parts import Finish, Test
from vstore.investigation.vocabulary import (
    MAX_UNION,
    Confidence,
    ContractName,
    Direction,
    Effect,
    EvidenceRefs,
    FindingId,
    Questions,
    Reason,
    Scope,
    Score,
    Statement,
)
from vstore.objects.document import (
    Asserted,
    ContentId,
    Count,
    Derived,
    Document,
    Name,
    Part,
    Pinned,
    Positive,
    RecordId,
    document,
)
from vstore.objects.ids import Digest, ObjectId
from vstore.tools.request import Arguments

__all__ = [
    "Answered",
    "Assessment",
    "BriefChange",
    "BriefFinding",
    "CausalReview",
    "ChangeAudit",
    "ChangedFinding",
    "CurrentBrief",
    "FindingField",
    "InvestigationAttempt",
    "InvestigationLog",
    "InvestigationRequest",
    "InvestigationStep",
    "InvestigationUpdate",
    "Opened",
    "QueryMove",
    "Rejected",
    "RemovedFinding",
    "WorkingBrief",
    "WorkingBriefs",
]

Rules = Annotated[str, msgspec.Meta(pattern=r"^investigation/[1-9][0-9]{0,3}\Z")]
#: A derived set of references: sorted by number, no repeats.
Union128 = Annotated[list[RecordId], msgspec.Meta(max_length=MAX_UNION)]
FindingField = Literal["direction", "evidence_refs", "scope", "text"]


@document
class InvestigationRequest(Document, tag="investigation-request-v1", frozen=True, kw_only=True):
    """One call of a model: what it is asked, by reference; the context follows from it."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    call_id: Annotated[Name, Asserted]
    contract: Annotated[ContractName, Pinned]
    #: The frozen schema of the reply, canonical JSON.
    reply_schema: Annotated[ContentId, Pinned]
    #: The generation that the context is made of: hypotheses, evidence, snapshots.
    generation: Annotated[ObjectId, Pinned]
    #: The hypothesis' brief so far, or null.
    brief: Annotated[ObjectId | None, Derived]
    #: The result that the reply has to assess, or null where there is no new one.
    result: Annotated[RecordId | None, Derived]
    #: Why the last reply on this hypothesis was refused; none where it was not.
    previous_rejection: Annotated[list[Hint], Asserted]


class Assessment(Part, frozen=True, kw_only=True):
    """An assessment, bound to the result that it is about."""

    result: Annotated[RecordId, Derived]
    semantic_score: Annotated[Score, Pinned]
    reason: Annotated[Reason, Pinned]
    evidence_refs: Annotated[Union128, Derived]


class CausalReview(Part, frozen=True, kw_only=True):
    """What the findings do to the hypothesis."""

    effect: Annotated[Effect, Derived]
    #: The findings' texts in one line, shortened; they stand in full in the brief.
    reason: Annotated[str, Derived]
    evidence_refs: Annotated[Union128, Derived]


class QueryMove(Part, tag="query", tag_field="kind", frozen=True, kw_only=True):
    """Ask a tool, with the arguments of the reply and the defaults of what it left out."""

    arguments: Arguments
    reason: Annotated[Reason, Pinned]


@document
class InvestigationUpdate(Document, tag="investigation-update-v1", frozen=True, kw_only=True):
    """A valid reply in the controller's representation, everything derived filled in."""

    rules: Annotated[Rules, Pinned]
    contract: Annotated[ContractName, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    assessment: Assessment | None
    confidence: Annotated[Confidence, Pinned]
    resolve_questions: Annotated[Questions, Pinned]
    add_questions: Annotated[Questions, Pinned]
    evidence_refs: Annotated[Union128, Derived]
    causal_review: CausalReview
    note: Annotated[Statement, Derived]
    working_brief: Annotated[ObjectId, Derived]
    next: Annotated[QueryMove | Test | Finish, Pinned]


class BriefFinding(Part, frozen=True, kw_only=True):
    """One judgement with its evidence."""

    id: Annotated[FindingId, Pinned]
    direction: Annotated[Direction, Pinned]
    text: Annotated[Statement, Pinned]
    scope: Annotated[Scope, Pinned]
    evidence_refs: Annotated[EvidenceRefs, Pinned]


class BriefChange(Part, frozen=True, kw_only=True):
    """One entry of the canonical change log."""

    id: Annotated[FindingId, Derived]
    change: Annotated[Literal["added", "changed", "removed"], Derived]
    #: As the reply gave it; null where none was needed and none was given.
    reason: Annotated[Reason | None, Pinned]


@document
class WorkingBrief(Document, tag="working-brief-v1", frozen=True, kw_only=True):
    """What is known of one hypothesis: canonical version 1, and the audit of its changes."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    format_version: Annotated[Literal[1], Derived]
    #: The brief before, or null.
    parent: Annotated[ObjectId | None, Derived]
    findings: list[BriefFinding]
    uncertainties: Annotated[Questions, Pinned]
    next_question: Annotated[Statement, Pinned]
    changes: list[BriefChange]
    #: The ``change-audit-v1``; null in briefs of contracts that had none.
    change_audit: Annotated[ObjectId | None, Derived]


class ChangedFinding(Part, frozen=True, kw_only=True):
    """What changed in one finding."""

    id: Annotated[FindingId, Derived]
    fields: Annotated[list[FindingField], msgspec.Meta(min_length=1), Derived]
    references_added: Annotated[list[RecordId], Derived]
    references_removed: Annotated[list[RecordId], Derived]
    reason: Annotated[Reason | None, Pinned]


class RemovedFinding(Part, frozen=True, kw_only=True):
    """A finding that is gone, with the evidence that it had."""

    id: Annotated[FindingId, Derived]
    evidence_refs: Annotated[list[RecordId], Derived]
    reason: Annotated[Reason, Pinned]


@document
class ChangeAudit(Document, tag="change-audit-v1", frozen=True, kw_only=True):
    """How the findings of a brief differ from those of the one before.

    It logs; it approves nothing. Whether a reworded finding still means the same, no
    comparison can tell.
    """

    rules: Annotated[Rules, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    #: The brief that was compared with, or null.
    base: Annotated[ObjectId | None, Derived]
    added: Annotated[list[FindingId], Derived]
    removed: list[RemovedFinding]
    changed: list[ChangedFinding]
    #: Whether findings that were kept stand in another order.
    reordered: Annotated[bool, Derived]


class CurrentBrief(Part, frozen=True, kw_only=True):
    """The brief of one hypothesis."""

    hypothesis_id: Annotated[Name, Pinned]
    brief: Annotated[ObjectId, Pinned]


@document
class WorkingBriefs(Document, tag="working-briefs-v1", frozen=True, kw_only=True):
    """The current briefs of an analysis revision, by hypothesis, sorted."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    briefs: Annotated[list[CurrentBrief], msgspec.Meta(min_length=1)]


@document
class InvestigationStep(Document, tag="investigation-step-v1", frozen=True, kw_only=True):
    """A reply that was accepted, bound to its call, and what follows from it."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    rules: Annotated[Rules, Pinned]
    contract: Annotated[ContractName, Pinned]
    reply_schema: Annotated[ContentId, Pinned]
    call_id: Annotated[Name, Pinned]
    request: Annotated[ObjectId, Pinned]
    #: The original reply, byte for byte.
    reply: Annotated[ContentId, Asserted]
    #: The ``investigation-update-v1`` that follows from it.
    update: Annotated[ObjectId, Derived]
    brief: Annotated[ObjectId, Derived]
    change_audit: Annotated[ObjectId | None, Derived]


@document
class InvestigationAttempt(Document, tag="investigation-attempt-v1", frozen=True, kw_only=True):
    """A reply that was refused; nothing else came of it.

    Of a reply that fails its schema, code, size and digest are all that is kept.
    """

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    rules: Annotated[Rules, Pinned]
    contract: Annotated[ContractName, Pinned]
    reply_schema: Annotated[ContentId, Pinned]
    call_id: Annotated[Name, Pinned]
    request: Annotated[ObjectId, Pinned]
    #: The code of the first error by path.
    code: Annotated[str, msgspec.Meta(pattern=r"^INVESTIGATION_[A-Z0-9_]{1,60}\Z"), Derived]
    #: Bytes of the reply.
    size: Annotated[Count, Derived]
    #: Their BLAKE3 digest.
    digest: Annotated[Digest, Derived]
    #: The original reply where it satisfies its schema, else null.
    reply: Annotated[ContentId | None, Asserted]
    #: All errors by path; none where the reply isn't kept.
    hints: list[Hint]


class Opened(Part, tag="opened", tag_field="kind", frozen=True, kw_only=True):
    """A call was opened; an older call on the hypothesis without a reply is void since."""

    hypothesis_id: Annotated[Name, Pinned]
    call_id: Annotated[Name, Pinned]
    request: Annotated[ObjectId, Pinned]


class Answered(Part, tag="answered", tag_field="kind", frozen=True, kw_only=True):
    """The call's reply was accepted."""

    call_id: Annotated[Name, Pinned]
    step: Annotated[ObjectId, Pinned]


class Rejected(Part, tag="rejected", tag_field="kind", frozen=True, kw_only=True):
    """The call's reply was refused."""

    call_id: Annotated[Name, Pinned]
    attempt: Annotated[ObjectId, Pinned]


@document
class InvestigationLog(Document, tag="investigation-log-v1", frozen=True, kw_only=True):
    """One entry of the log of calls."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    parent: Annotated[ObjectId | None, Pinned]
    #: 1 for the first entry of the case.
    sequence: Annotated[Positive, Derived]
    rules: Annotated[Rules, Asserted]
    #: Brought in from elsewhere, also under older contracts.
    imported: Annotated[bool, Asserted]
    event: Opened | Answered | Rejected
