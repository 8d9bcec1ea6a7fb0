"""Replies of a model, for tests: small, valid, and changed in one place at a time."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["changed", "encoded", "finding", "reply_v13", "reply_v14"]


def finding(
    name: str = "B0001",
    direction: str = "for",
    references: Sequence[str] = ("E000001",),
    **members: Any,
) -> dict[str, Any]:
    """One finding; ``members`` replace or add to its own."""
    return {
        "id": name,
        "direction": direction,
        "text": f"what {name} says",
        "scope": f"where {name} holds",
        "evidence_refs": list(references),
        **members,
    }


def reply_v14(
    findings: Sequence[dict[str, Any]] = (),
    *,
    confidence: str = "unchanged",
    score: int | None = None,
    retired: Sequence[tuple[str, str]] = (),
    **members: Any,
) -> dict[str, Any]:
    """A v14 reply.

    Args:
        findings: Its findings.
        confidence: Its confidence.
        score: Of an assessment; none where None.
        retired: Ids and reasons.
        members: Replace members of ``update``, or ``next``.
    """
    return {
        "assessment": None if score is None else {"semantic_score": score, "reason": "it tells"},
        "update": {
            "confidence": confidence,
            "resolve_questions": members.get("resolve_questions", []),
            "add_questions": members.get("add_questions", []),
            "working_brief": {
                "format_version": 2,
                "findings": list(findings),
                "uncertainties": members.get("uncertainties", ["since when?"]),
                "next_question": members.get("next_question", "what is next?"),
                "retired": [{"id": name, "reason": reason} for name, reason in retired],
            },
        },
        "next": members.get("next", {"kind": "finish", "reason": "enough is known"}),
    }


def reply_v13(
    findings: Sequence[dict[str, Any]] = (),
    *,
    confidence: str = "unchanged",
    effect: str | None = None,
    score: int | None = None,
    assessed: Sequence[str] = (),
    changes: Sequence[tuple[str, str]] = (),
    references: Sequence[str] | None = None,
    **members: Any,
) -> dict[str, Any]:
    """A v13 reply, its reference sets filled from the findings.

    Args:
        findings: Its findings.
        confidence: Its confidence.
        effect: Of the review; from the findings' directions where None.
        score: Of an assessment; none where None.
        assessed: References of the assessment.
        changes: Ids and what happened to them.
        references: Of the update and the review; the findings' where None.
        members: Replace members of ``update``, or ``next``.
    """
    value = reply_v14(findings, confidence=confidence, score=score, **members)
    directions = {one["direction"] for one in findings}
    if effect is None:
        effect = {0: "neutral", 2: "mixed"}.get(len(directions))
    if effect is None:
        effect = "supports" if directions == {"for"} else "contradicts"
    if references is None:
        references = sorted({ref for one in findings for ref in one["evidence_refs"]})
    if value["assessment"] is not None:
        value["assessment"]["evidence_refs"] = list(assessed)
    update = value["update"]
    update["evidence_refs"] = list(references)
    update["causal_review"] = {
        "effect": effect,
        "reason": "as the findings say",
        "evidence_refs": list(references),
    }
    update["note"] = "an administrative note"
    brief = update["working_brief"]
    brief["format_version"] = 1
    del brief["retired"]
    brief["changes"] = [
        {"id": name, "change": change, "reason": f"why {name} was {change}"}
        for name, change in changes
    ]
    return value


def changed(reply: dict[str, Any], change: Callable[[Any], object]) -> dict[str, Any]:
    """A copy of a reply, changed in place by ``change``."""
    value = copy.deepcopy(reply)
    change(value)
    return value


def encoded(reply: object) -> bytes:
    """A reply as a provider might send it: members in their order, blanks between."""
    return json.dumps(reply, ensure_ascii=False).encode()
