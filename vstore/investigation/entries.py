"""The documents of the next log entry, as they follow from the state: pure, shared."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from vstore.investigation.contracts import Contract
from vstore.investigation.derivation import confidence_after, questions_after
from vstore.investigation.documents import (
    Answered,
    CurrentBrief,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationRequest,
    InvestigationStep,
    InvestigationUpdate,
    Opened,
    Rejected,
    WorkingBriefs,
)
from vstore.investigation.judgement import Refusal
from vstore.investigation.normalise import Normalised, Subject
from vstore.investigation.rejection import NOT_JSON, TRUNCATED, Hint, HintDetails
from vstore.investigation.state import Call, InvestigationState
from vstore.investigation.vocabulary import RULES
from vstore.objects.ids import ObjectId, digest_of, object_id
from vstore.package.documents import Generation, Hypotheses

__all__ = [
    "attempt_of",
    "briefs_of",
    "hypotheses_of",
    "log_of",
    "remembered_hints",
    "request_of",
    "step_of",
    "subject_of",
]


def request_of(
    state: InvestigationState,
    contract: Contract,
    generation_id: ObjectId,
    generation: Generation,
    hypothesis_id: str,
    call_id: str,
    *,
    latest: str | None,
    hints: Sequence[Hint],
) -> InvestigationRequest:
    """The request of a call that is opened now.

    Args:
        state: The state, in the revision of ``generation``.
        contract: What its reply will be judged by.
        generation_id: The head's id.
        generation: The head.
        hypothesis_id: The hypothesis.
        call_id: The caller's id for the call.
        latest: The hypothesis' latest record of this revision, or None.
        hints: Why the last reply was refused; none where it was not.
    """
    return InvestigationRequest(
        case_id=generation.case_id,
        package_id=generation.package_id,
        analysis_revision=generation.analysis_revision,
        hypothesis_id=hypothesis_id,
        call_id=call_id,
        contract=contract.name,
        reply_schema=contract.schema_id,
        generation=generation_id,
        brief=state.briefs.get(hypothesis_id),
        result=state.result(hypothesis_id, latest),
        previous_rejection=list(hints),
    )


def remembered_hints(attempt: InvestigationAttempt) -> list[Hint]:
    """The hints that a stored attempt still gives: its code alone where no reply is kept."""
    if attempt.hints:
        return attempt.hints
    requirement = {
        TRUNCATED: "complete_reply",
        NOT_JSON: "one_json_document_of_the_accepted_subset",
    }.get(attempt.code, "frozen_schema")
    details = HintDetails(field="", ids=[], requirement=requirement, members=[])
    return [Hint(rejection=attempt.code, details=details)]


def subject_of(request: InvestigationRequest) -> Subject:
    """What a call is about."""
    return Subject(
        case_id=request.case_id,
        package_id=request.package_id,
        analysis_revision=request.analysis_revision,
        hypothesis_id=request.hypothesis_id,
    )


def step_of(call: Call, raw: bytes, found: Normalised) -> InvestigationStep:
    """The step of an accepted reply."""
    request = call.request
    return InvestigationStep(
        case_id=request.case_id,
        package_id=request.package_id,
        analysis_revision=request.analysis_revision,
        hypothesis_id=request.hypothesis_id,
        rules=RULES,
        contract=request.contract,
        reply_schema=request.reply_schema,
        call_id=request.call_id,
        request=call.request_id,
        reply=object_id(raw),
        update=found.update.id,
        brief=found.brief.id,
        change_audit=None if found.audit is None else found.audit.id,
    )


def attempt_of(call: Call, raw: bytes, refusal: Refusal) -> InvestigationAttempt:
    """The attempt of a refused reply."""
    request = call.request
    return InvestigationAttempt(
        case_id=request.case_id,
        package_id=request.package_id,
        analysis_revision=request.analysis_revision,
        hypothesis_id=request.hypothesis_id,
        rules=RULES,
        contract=request.contract,
        reply_schema=request.reply_schema,
        call_id=request.call_id,
        request=call.request_id,
        code=refusal.code,
        size=len(raw),
        digest=digest_of(raw),
        reply=object_id(raw) if refusal.readable else None,
        hints=list(refusal.hints) if refusal.readable else [],
    )


def log_of(
    state: InvestigationState,
    generation: Generation,
    event: Opened | Answered | Rejected,
    *,
    imported: bool,
) -> InvestigationLog:
    """The next log entry."""
    return InvestigationLog(
        case_id=generation.case_id,
        package_id=generation.package_id,
        analysis_revision=generation.analysis_revision,
        parent=state.head,
        sequence=state.sequence + 1,
        rules=RULES,
        imported=imported,
        event=event,
    )


def briefs_of(generation: Generation, briefs: dict[str, ObjectId]) -> WorkingBriefs:
    """The map of current briefs."""
    return WorkingBriefs(
        case_id=generation.case_id,
        package_id=generation.package_id,
        analysis_revision=generation.analysis_revision,
        briefs=[CurrentBrief(hypothesis_id=name, brief=briefs[name]) for name in sorted(briefs)],
    )


def hypotheses_of(before: Hypotheses, update: InvestigationUpdate) -> Hypotheses:
    """The hypotheses after an update; equal to those before where it changes nothing."""
    return replace(
        before,
        hypotheses=[
            replace(
                one,
                confidence=confidence_after(one.confidence, update.confidence),
                open_questions=questions_after(
                    one.open_questions, update.resolve_questions, update.add_questions
                ),
            )
            if one.id == update.hypothesis_id
            else one
            for one in before.hypotheses
        ],
    )
