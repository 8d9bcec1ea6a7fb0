"""What happened to a test in one generation: handed out, attached to, answered."""

from __future__ import annotations

from vstore.handoff.attachments import StoredAttachment, stored_attachments
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest
from vstore.handoff.state import FEEDBACK, REQUEST
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.package.documents import Generation
from vstore_cli.happening import Happening
from vstore_cli.terminal import safe

__all__ = ["test_happenings"]


def test_happenings(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    """What a generation did to a test, given its parent."""
    kinds = {event.kind for event in generation.events}
    found: list[Happening] = []
    asked, answered = generation.artifacts.get(REQUEST), generation.artifacts.get(FEEDBACK)
    if "test.submit" in kinds and asked is not None:
        request = objects.document(asked, AsyncTestRequest)
        question = safe(" ".join(request.question.split()))
        found.append(
            Happening(
                kind="test.submit",
                what=f"handed out test {request.request_id}, due {request.deadline}: {question}",
                brief=f"handed out {request.request_id}: {question}",
                hypothesis=request.hypothesis_id,
                action=request.action_id,
            )
        )
    if "test.attach" in kinds and asked is not None:
        found += [
            Happening(kind="test.attach", what=f"attached {safe(one.name)}, {one.size:,} bytes")
            for one in _added(objects, generation, parent, asked)
        ]
    if "test.confirm" in kinds and answered is not None:
        feedback = objects.document(answered, AsyncTestFeedback)
        who = safe(feedback.confirmed_by)
        found.append(
            Happening(
                kind="test.confirm",
                what=f"answer to test {feedback.request_id} confirmed by {who}: {feedback.outcome}",
                brief=f"answered {feedback.request_id}: {feedback.outcome}, by {who}",
                hypothesis=feedback.hypothesis_id,
                action=feedback.action_id,
            )
        )
    return found


def _added(
    objects: ObjectSource, generation: Generation, parent: Generation | None, request: ObjectId
) -> list[StoredAttachment]:
    before = None if parent is None else parent.attachments
    known = set(stored_attachments(objects, before, request))
    return [
        one
        for one in stored_attachments(objects, generation.attachments, request)
        if one not in known
    ]
