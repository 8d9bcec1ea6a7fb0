"""A stored v13 reply as the v14 contract would have had it.

Texts, directions, scopes, confidence and tool decisions are copied unchanged, and reasons of
changes where the model gave them. Nothing is made up: what lacks a reason keeps lacking it.
"""

from __future__ import annotations

from typing import Any

from vstore.investigation.reply_v13 import ReplyV13
from vstore.objects.canonical import to_value

__all__ = ["project"]


def project(reply: ReplyV13) -> dict[str, Any]:
    """The v14 reply as a plain JSON value.

    Args:
        reply: A v13 reply that satisfies its schema; it may break the rules beyond it.
    """
    update, brief = reply.update, reply.update.working_brief
    changed: dict[str, str] = {}
    retired = []
    for one in brief.changes:
        if one.change == "changed":
            changed.setdefault(one.id, one.reason)
        elif one.change == "removed":
            retired.append({"id": one.id, "reason": one.reason})
    findings = []
    for finding in brief.findings:
        value = to_value(finding)
        if finding.id in changed:
            value["revision_reason"] = changed[finding.id]
        findings.append(value)
    assessment = reply.assessment
    return {
        "assessment": None
        if assessment is None
        else {"reason": assessment.reason, "semantic_score": assessment.semantic_score},
        "next": to_value(reply.next),
        "update": {
            "add_questions": update.add_questions,
            "confidence": update.confidence,
            "resolve_questions": update.resolve_questions,
            "working_brief": {
                "findings": findings,
                "format_version": 2,
                "next_question": brief.next_question,
                "retired": retired,
                "uncertainties": brief.uncertainties,
            },
        },
    }
