"""What a model is sent for a call: data made of the request and what it names.

All evidence is in it in full. Under v14 there is no change history and no redundant list of
references; under v13 there are both (spec: investigation, "Contracts").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vstore.evidence.documents import (
    EvidenceContent,
    EvidenceIndex,
    EvidenceRecord,
    IndexedRecord,
    ToolOrigin,
)
from vstore.investigation.contracts import contract_named
from vstore.investigation.documents import InvestigationRequest, WorkingBrief
from vstore.investigation.references import Past, sorted_references
from vstore.investigation.rejection import hint_value
from vstore.investigation.vocabulary import V13, V14
from vstore.objects.canonical import to_value
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.plain_json import encode_value
from vstore.package.documents import Generation, Hypotheses, SnapshotDescriptor
from vstore.tools.request import ToolRequest

__all__ = ["brief_history", "context_of", "messages_of", "past_of", "records_back", "transport_of"]

_COMMON: Final = (
    "You investigate one hypothesis about a software bug. Judge by the evidence in the context "
    "alone. Answer with one JSON document that satisfies the reply schema. Each finding states "
    "a direction (for or against the hypothesis), a text, its scope and 1 to 8 evidence ids of "
    "the context. Assess the previous result where there is one: how much it tells, whichever "
    "direction it points to. Then say what to do next: a query, a test by a person, or finish. "
)
_INSTRUCTIONS: Final[dict[str, str]] = {
    V13: _COMMON
    + "Repeat the evidence ids in update.evidence_refs and causal_review.evidence_refs, at most "
    "8 in each, state the effect of the review, write an administrative note, and log every "
    "added, changed or removed finding with a reason in changes.",
    V14: _COMMON
    + "State each judgement once, in the findings. Give a revision_reason where a finding of "
    "the brief changes its direction or loses evidence ids, and a retired entry with a reason "
    "where one is gone.",
}


def records_back(objects: ObjectSource, index: ObjectId | None) -> Iterator[IndexedRecord]:
    """The records of an evidence index, newest first.

    Raises:
        NotFoundError, IntegrityError, InvalidError: A document can't be read.
    """
    while index is not None:
        document = objects.document(index, EvidenceIndex)
        yield from reversed(document.records)
        index = document.parent


def past_of(objects: ObjectSource, request: InvestigationRequest) -> Past:
    """The history that the reply to a request is judged by.

    Raises:
        NotFoundError, IntegrityError, InvalidError: A document can't be read.
    """
    generation = objects.document(request.generation, Generation)
    index = generation.artifacts.get("evidence_index")
    known = 0 if index is None else objects.document(index, EvidenceIndex).count
    brief = None if request.brief is None else objects.document(request.brief, WorkingBrief)
    return Past(known=known, result=request.result, brief=brief, brief_id=request.brief)


def brief_history(
    objects: ObjectSource, brief: ObjectId | None
) -> Iterator[tuple[ObjectId, WorkingBrief]]:
    """A brief and those before it, newest first.

    Raises:
        NotFoundError, IntegrityError, InvalidError: A document can't be read.
    """
    while brief is not None:
        document = objects.document(brief, WorkingBrief)
        yield brief, document
        brief = document.parent


def context_of(
    objects: ObjectSource, request: InvestigationRequest, contract: str | None = None
) -> dict[str, Any]:
    """The context of a call as a plain JSON value.

    Args:
        objects: Where everything that the request names is read.
        request: The request.
        contract: Render it as this contract would; the request's own by default.

    Raises:
        NotFoundError, IntegrityError, InvalidError: A document can't be read.
    """
    contract = contract or request.contract
    generation = objects.document(request.generation, Generation)
    stated = objects.document(generation.artifacts["hypotheses"], Hypotheses)
    brief = _brief(objects, request, contract)
    hypothesis: dict[str, Any] = {}
    others = []
    for one in stated.hypotheses:
        if one.id == request.hypothesis_id:
            hypothesis = to_value(one)
        else:
            others.append({"confidence": one.confidence, "id": one.id, "statement": one.statement})
    if contract == V13:
        hypothesis["evidence_refs"] = sorted_references(
            ref for one in (brief or {}).get("findings", ()) for ref in one["evidence_refs"]
        )
    records = list(records_back(objects, generation.artifacts.get("evidence_index")))
    return {
        "analysis_revision": request.analysis_revision,
        "brief": brief,
        "call_id": request.call_id,
        "case_id": request.case_id,
        "contract": contract,
        "evidence": [_evidence(objects, one) for one in reversed(records)],
        "hypothesis": hypothesis,
        "other_hypotheses": others,
        "previous_result": request.result,
        "snapshots": _snapshots(objects, generation),
        **hint_value(request.previous_rejection),
    }


def messages_of(contract: str, context: dict[str, Any]) -> list[dict[str, str]]:
    """The messages that carry a context: instructions, then the context as canonical JSON."""
    return [
        {"role": "system", "content": _INSTRUCTIONS[contract]},
        {"role": "user", "content": encode_value(context).decode()},
    ]


def transport_of(contract: str, messages: list[dict[str, str]]) -> bytes:
    """The canonical body of a request: messages, and the schema in its provider-safe form."""
    schema = contract_named(contract).provider_schema
    return encode_value({"messages": messages, "reply_schema": schema})


def _brief(
    objects: ObjectSource, request: InvestigationRequest, contract: str
) -> dict[str, Any] | None:
    if request.brief is None:
        return None
    brief = objects.document(request.brief, WorkingBrief)
    value: dict[str, Any] = {
        "findings": to_value(brief.findings),
        "next_question": brief.next_question,
        "uncertainties": brief.uncertainties,
    }
    if contract == V13:
        value["changes"] = [
            to_value(change)
            for _, one in reversed(list(brief_history(objects, request.brief)))
            for change in one.changes
        ]
    return value


def _evidence(objects: ObjectSource, indexed: IndexedRecord) -> dict[str, Any]:
    record = objects.document(indexed.object, EvidenceRecord)
    question: Any = "confirmed test feedback"
    if isinstance(record.origin, ToolOrigin):
        asked = objects.document(record.origin.request, ToolRequest)
        question = to_value(asked.queries[record.origin.position].arguments)
    return {
        "content": to_value(objects.document(record.content, EvidenceContent)),
        "hypothesis_id": record.hypothesis_id,
        "id": record.id,
        "question": question,
    }


def _snapshots(objects: ObjectSource, generation: Generation) -> list[dict[str, Any]]:
    found = []
    for name in sorted(generation.snapshots):
        one = objects.document(generation.snapshots[name], SnapshotDescriptor)
        found.append(
            {
                "coverage": to_value(one.coverage),
                "kind": one.kind,
                "name": one.name,
                "origin": to_value(one.origin),
            }
        )
    return found
