from __future__ import annotations

import pytest
from msgspec.structs import replace

from vstore.errors import IntegrityError
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest
from vstore.handoff.state import FEEDBACK, REQUEST, HandoffState
from vstore.objects.ids import ObjectId, object_id
from vstore.package.documents import Event, Generation, History

Pair = tuple[AsyncTestRequest, ObjectId, AsyncTestFeedback]
LEDGER = object_id(b"ledger")


class Story:
    """Generations that hand out and answer tests, and a fold of them."""

    def __init__(self, request: AsyncTestRequest) -> None:
        self.request = request
        self.state = HandoffState()
        self.artifacts: dict[str, ObjectId] = {"budget_ledger": LEDGER}
        self.number = 0
        self.requests: dict[ObjectId, AsyncTestRequest] = {}

    def happens(self, kind: str, **artifacts: ObjectId) -> ObjectId:
        self.number += 1
        self.artifacts = {**self.artifacts, **artifacts}
        generation = Generation(
            case_id="CASE-1",
            package_id="PACKAGE-1",
            package_generation=self.number,
            analysis_revision=1,
            state="INVESTIGATING_HYPOTHESES",
            blocked=None,
            parent=None,
            history=History(size=0, root="0" * 64),
            inputs=object_id(b""),
            snapshots={},
            attachments=None,
            artifacts=self.artifacts,
            declared={},
            events=[
                Event(kind=kind, operation_id=None, actor="a", at="2026-01-01T00:00:00Z",
                      reason=None)
            ],
        )  # fmt: skip
        oid = object_id(b"%d" % self.number)
        self.state.take(oid, generation, self.requests.__getitem__)
        return oid

    def submit(self, name: str, action: str) -> ObjectId:
        ref = object_id(name.encode())
        self.requests[ref] = replace(self.request, request_id=name, action_id=action)
        self.happens("test.submit", **{REQUEST: ref})
        return ref

    def confirm(self, name: str) -> ObjectId:
        ref = object_id(b"answer to " + name.encode())
        self.happens("test.confirm", **{FEEDBACK: ref})
        return ref


def test_requests_and_answers_are_paired_in_their_order(pair: Pair) -> None:
    story = Story(pair[0])
    story.happens("advance")
    assert story.state.outstanding is None
    assert not story.state.submitted(1, "t1")
    one = story.submit("first", "t1")
    outstanding = story.state.outstanding
    assert outstanding is not None
    assert (outstanding.request_ref, outstanding.submitted_in) == (one, 2)
    assert outstanding.ledger == LEDGER
    story.happens("test.attach")
    answer = story.confirm("first")
    assert story.state.outstanding is None
    story.happens("budget.settle", budget_ledger=object_id(b"later"))
    two = story.submit("second", "t2")
    last = story.happens("test.attach")
    assert story.state.head == last
    first, second = story.state.handoffs.values()
    assert (first.request_ref, first.feedback_ref, first.confirmed_in) == (one, answer, 4)
    assert (second.request_ref, second.feedback_ref, second.submitted_in) == (two, None, 6)
    assert story.state.outstanding == second
    assert story.state.answered_by(answer) == first
    assert story.state.answered_by(one) is None
    assert story.state.submitted(1, "t1")
    assert story.state.submitted(1, "t2")
    assert not story.state.submitted(2, "t1")


def test_what_is_out_of_step_is_refused(pair: Pair) -> None:
    story = Story(pair[0])
    story.submit("first", "t1")
    with pytest.raises(IntegrityError):  # two outstanding
        story.submit("second", "t2")
    story = Story(pair[0])
    story.submit("first", "t1")
    story.confirm("first")
    with pytest.raises(IntegrityError):  # answered twice
        story.confirm("again")
    again = Story(pair[0])
    again.submit("first", "t1")
    again.confirm("first")
    ref = object_id(b"other content")
    again.requests[ref] = replace(again.request, request_id="first")
    with pytest.raises(IntegrityError):  # a request id twice
        again.happens("test.submit", **{REQUEST: ref})
    with pytest.raises(IntegrityError):  # an answer to nothing
        Story(pair[0]).confirm("nothing")
