"""From a valid reply to what is stored: a function of the reply and the history alone."""

from __future__ import annotations

from dataclasses import dataclass

from vstore.investigation.audit import Comparison, compare
from vstore.investigation.derivation import review_effect, review_reason, union
from vstore.investigation.documents import (
    Assessment,
    BriefChange,
    BriefFinding,
    CausalReview,
    ChangeAudit,
    ChangedFinding,
    InvestigationUpdate,
    QueryMove,
    RemovedFinding,
    WorkingBrief,
)
from vstore.investigation.moves import arguments_of
from vstore.investigation.references import Past, sorted_references
from vstore.investigation.reply_parts import Finding, Finish, Next, Query, Test
from vstore.investigation.reply_v13 import ReplyV13
from vstore.investigation.reply_v14 import FindingV14, ReplyV14
from vstore.investigation.vocabulary import RULES, V13, V14
from vstore.objects.sealed import Sealed, seal

__all__ = ["Normalised", "Subject", "normalise_v13", "normalise_v14"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a reply is about."""

    case_id: str
    package_id: str
    analysis_revision: int
    hypothesis_id: str


@dataclass(frozen=True, slots=True)
class Normalised:
    """What follows from a valid reply, ready to be stored."""

    update: Sealed[InvestigationUpdate]
    brief: Sealed[WorkingBrief]
    audit: Sealed[ChangeAudit] | None


def normalise_v14(reply: ReplyV14, subject: Subject, past: Past) -> Normalised:
    """The stored representation of a v14 reply that has no problems.

    Args:
        reply: The reply.
        subject: What it is about.
        past: The history.

    Raises:
        InvalidError: A text has half a surrogate pair.
    """
    update, brief = reply.update, reply.update.working_brief
    comparison = compare(past.brief, brief.findings)
    reasons = {one.id: one.reason for one in brief.retired}
    audit = seal(_audit(comparison, reasons, subject, past))
    references = union(brief.findings, past.result, comparison.removed)
    stored = seal(
        WorkingBrief(
            case_id=subject.case_id,
            package_id=subject.package_id,
            analysis_revision=subject.analysis_revision,
            hypothesis_id=subject.hypothesis_id,
            format_version=1,
            parent=past.brief_id,
            findings=[_finding(one) for one in brief.findings],
            uncertainties=brief.uncertainties,
            next_question=brief.next_question,
            changes=_changes(audit.document),
            change_audit=audit.id,
        )
    )
    given = reply.assessment
    assessment = None
    if given is not None and past.result is not None:
        assessment = Assessment(
            result=past.result,
            semantic_score=given.semantic_score,
            reason=given.reason,
            evidence_refs=[past.result],
        )
    normalised = InvestigationUpdate(
        rules=RULES,
        contract=V14,
        hypothesis_id=subject.hypothesis_id,
        assessment=assessment,
        confidence=update.confidence,
        resolve_questions=update.resolve_questions,
        add_questions=update.add_questions,
        evidence_refs=references,
        causal_review=CausalReview(
            effect=review_effect(brief.findings),
            reason=review_reason(brief.findings),
            evidence_refs=references,
        ),
        note=brief.next_question,
        working_brief=stored.id,
        next=_move(reply.next),
    )
    return Normalised(seal(normalised), stored, audit)


def normalise_v13(reply: ReplyV13, subject: Subject, past: Past) -> Normalised:
    """The stored representation of a v13 reply that has no problems: what the model repeated.

    Args:
        reply: The reply.
        subject: What it is about.
        past: The history.

    Raises:
        InvalidError: A text has half a surrogate pair.
    """
    update, brief = reply.update, reply.update.working_brief
    stored = seal(
        WorkingBrief(
            case_id=subject.case_id,
            package_id=subject.package_id,
            analysis_revision=subject.analysis_revision,
            hypothesis_id=subject.hypothesis_id,
            format_version=1,
            parent=past.brief_id,
            findings=[_finding(one) for one in brief.findings],
            uncertainties=brief.uncertainties,
            next_question=brief.next_question,
            changes=[
                BriefChange(id=one.id, change=one.change, reason=one.reason)
                for one in brief.changes
            ],
            change_audit=None,
        )
    )
    given = reply.assessment
    assessment = None
    if given is not None and past.result is not None:
        assessment = Assessment(
            result=past.result,
            semantic_score=given.semantic_score,
            reason=given.reason,
            evidence_refs=sorted_references(given.evidence_refs),
        )
    review = update.causal_review
    normalised = InvestigationUpdate(
        rules=RULES,
        contract=V13,
        hypothesis_id=subject.hypothesis_id,
        assessment=assessment,
        confidence=update.confidence,
        resolve_questions=update.resolve_questions,
        add_questions=update.add_questions,
        evidence_refs=sorted_references(update.evidence_refs),
        causal_review=CausalReview(
            effect=review.effect,
            reason=review.reason,
            evidence_refs=sorted_references(review.evidence_refs),
        ),
        note=update.note,
        working_brief=stored.id,
        next=_move(reply.next),
    )
    return Normalised(seal(normalised), stored, None)


def _finding(finding: Finding) -> BriefFinding:
    return BriefFinding(
        id=finding.id,
        direction=finding.direction,
        text=finding.text,
        scope=finding.scope,
        evidence_refs=sorted_references(finding.evidence_refs),
    )


def _audit(
    comparison: Comparison, reasons: dict[str, str], subject: Subject, past: Past
) -> ChangeAudit:
    return ChangeAudit(
        rules=RULES,
        hypothesis_id=subject.hypothesis_id,
        base=past.brief_id,
        added=[one.id for one in comparison.added],
        removed=[
            RemovedFinding(id=one.id, evidence_refs=one.evidence_refs, reason=reasons[one.id])
            for one in comparison.removed
        ],
        changed=[
            ChangedFinding(
                id=one.after.id,
                fields=list(one.fields),
                references_added=list(one.added),
                references_removed=list(one.lost),
                reason=one.after.revision_reason if isinstance(one.after, FindingV14) else None,
            )
            for one in comparison.changed
        ],
        reordered=comparison.reordered,
    )


def _changes(audit: ChangeAudit) -> list[BriefChange]:
    """The canonical change log of version 1, as it follows from the audit."""
    return [
        *(BriefChange(id=one, change="added", reason=None) for one in audit.added),
        *(BriefChange(id=one.id, change="changed", reason=one.reason) for one in audit.changed),
        *(BriefChange(id=one.id, change="removed", reason=one.reason) for one in audit.removed),
    ]


def _move(move: Next) -> QueryMove | Test | Finish:
    if isinstance(move, Query):
        return QueryMove(arguments=arguments_of(move), reason=move.reason)
    return move
