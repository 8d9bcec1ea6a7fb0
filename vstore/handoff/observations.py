"""The evidence content of a confirmed answer: what was observed, apart from who asked.

No ids stand in it, so that the same observation in the same environment is the same
content, whichever request it answers (spec: evidence, "Novelty").
"""

from __future__ import annotations

from vstore.evidence.documents import (
    EvidenceContent,
    SoughtTest,
    TestFact,
    TestObservation,
    TestScope,
)
from vstore.evidence.ordering import observation_key
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest

__all__ = ["content_of"]


def content_of(request: AsyncTestRequest, feedback: AsyncTestFeedback) -> EvidenceContent:
    """The content of an answer, in its normal form.

    Args:
        request: What was asked; an item says what was to be observed in its words.
        feedback: The answer; it matches the request.

    Returns:
        One item for each observation, none for ``unable_to_test``. A content without items
        carries what was asked, so that two of them are duplicates only where that is equal.
    """
    asked = {one.id: one.text for one in request.observations}
    completed = feedback.outcome == "completed"
    items = {
        observation_key(item): item
        for item in (
            TestObservation(
                # Nobody asked for an additional observation.
                asked="" if one.id is None else asked.get(one.id, ""),
                observed=one.text,
                attachments=sorted(set(one.attachments)),
            )
            for one in (feedback.observations if completed else ())
        )
    }
    return EvidenceContent(
        kind="test_observations",
        scope=None,
        coverage=None,
        tested=TestScope(
            executor=feedback.executor,
            environment=[
                TestFact(name=one.name, value=one.value)
                for one in sorted(feedback.environment, key=lambda one: one.name)
            ],
        ),
        truncated=None,
        sought=None if items else _sought(request),
        lines=None,
        files=None,
        rows=None,
        tables=None,
        observations=[items[key] for key in sorted(items)],
    )


def _sought(request: AsyncTestRequest) -> SoughtTest:
    return SoughtTest(
        question=request.question,
        steps=list(request.steps),
        observations=sorted({one.text for one in request.observations}),
    )
