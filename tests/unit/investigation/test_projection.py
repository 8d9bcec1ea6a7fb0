"""Projecting v13 replies: copied, never made up."""

from __future__ import annotations

import msgspec

from vstore.investigation.projection import project
from vstore.investigation.reply_v13 import ReplyV13
from vstore.testing.replies import finding, reply_v13


def projected(reply: object) -> dict[str, object]:
    return project(msgspec.convert(reply, ReplyV13))


def test_what_is_copied() -> None:
    move = {"kind": "query", "operation": "source.list", "arguments": {"x": [1]}, "reason": "r"}
    reply = reply_v13(
        [finding("B0002", "against", text="the text"), finding("B0001")],
        confidence="weakened",
        score=40,
        assessed=["E000001"],
        changes=[("B0001", "changed"), ("B0003", "removed"), ("B0002", "added")],
        resolve_questions=["a"],
        add_questions=["b"],
        uncertainties=["c"],
        next_question="d",
        next=move,
    )
    assert projected(reply) == {
        "assessment": {"semantic_score": 40, "reason": "it tells"},
        "update": {
            "confidence": "weakened",
            "resolve_questions": ["a"],
            "add_questions": ["b"],
            "working_brief": {
                "format_version": 2,
                "findings": [
                    finding("B0002", "against", text="the text"),
                    finding("B0001", revision_reason="why B0001 was changed"),
                ],
                "uncertainties": ["c"],
                "next_question": "d",
                "retired": [{"id": "B0003", "reason": "why B0003 was removed"}],
            },
        },
        "next": move,
    }


def test_no_assessment_and_no_reason_is_made_up() -> None:
    value = projected(reply_v13([finding()]))
    assert value["assessment"] is None
    assert "revision_reason" not in repr(value)


def test_an_unexplained_change_stays_unexplained(bench13: object, bench: object) -> None:
    """Also where the v13 reply names it as something else."""
    first = reply_v13([finding()], changes=[("B0001", "added")])
    bench.accept(projected(first))  # type: ignore[attr-defined]
    turned = reply_v13([finding(direction="against")], changes=[("B0001", "added")])
    assert bench.hint(projected(turned))[0] == (  # type: ignore[attr-defined]
        "INVESTIGATION_BRIEF_REVISION"
    )
