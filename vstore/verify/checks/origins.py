"""Where the records of one publication come from: a tool's reply, or a tester's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from vstore.errors import InvalidError
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import EvidenceContent, EvidenceRecord, FeedbackOrigin, ToolOrigin
from vstore.evidence.index import Draft
from vstore.evidence.payload import feedback_payload, tool_payload
from vstore.handoff.documents import OPERATION_OF, AsyncTestFeedback
from vstore.handoff.observations import content_of
from vstore.objects.canonical import to_value
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.sealed import Sealed
from vstore.tools.reply import ReplyEnvelope
from vstore.tools.request import ToolQuery, ToolRequest, operation_of
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.checks.replies import ReplyCheck
from vstore.verify.report import FindingCollector

if TYPE_CHECKING:
    from vstore.verify.checks.handoff import HandoffCheck

__all__ = ["FeedbackSource", "RecordSource", "SourceReader", "ToolSource"]

_ORIGIN: Final = "/origin"


class RecordSource(Protocol):
    """What one publication's records are made from.

    ``event`` is what a generation calls storing it.
    """

    event: str

    @property
    def documents(self) -> tuple[ObjectId, ...]:
        """The documents that count as retained with the records."""
        ...

    @property
    def payload(self) -> Digest:
        """What a repeat of the operation is recognised by."""
        ...

    def check(self, step: Step, affects: tuple[str, ...]) -> bool:
        """Check the originals; False when one can't be read."""
        ...

    def drafts(self) -> list[Draft] | None:
        """What the originals yield; None where they don't fit together."""
        ...

    def operation(self, draft: Draft) -> str:
        """The budget operation that a draft's action must be reserved for."""
        ...

    def fruitless(self) -> list[tuple[int, ToolQuery]]:
        """Queries that brought an error and so no record, with their positions."""
        ...


class ToolSource:
    """A stored request and the reply to it."""

    event = "evidence.tool_results"

    def __init__(
        self,
        replies: ReplyCheck,
        request_id: ObjectId,
        request: ToolRequest,
        reply_id: ObjectId,
        envelope: ReplyEnvelope,
    ) -> None:
        self._replies = replies
        self._request_id = request_id
        self._request = request
        self._reply_id = reply_id
        self._envelope = envelope
        self.documents = (request_id, reply_id)
        self.payload = tool_payload(request, envelope)

    def check(self, step: Step, affects: tuple[str, ...]) -> bool:
        """See :class:`RecordSource`."""
        return self._replies.check(
            step, self._request_id, self._request, self._reply_id, self._envelope, affects
        )

    def drafts(self) -> list[Draft] | None:
        """See :class:`RecordSource`."""
        drafts: list[Draft] = []
        queries = self._request.queries
        for position, result in enumerate(self._envelope.results):
            if result.content is None:
                continue
            content = self._replies.content(result.content)
            if content is None or position >= len(queries):
                return None
            query = queries[position]
            drafts.append(
                Draft(
                    hypothesis_id=query.hypothesis_id,
                    action_id=query.action_id,
                    content=content,
                    origin=ToolOrigin(
                        request=self._request_id, reply=self._reply_id, position=position
                    ),
                )
            )
        return drafts

    def operation(self, draft: Draft) -> str:
        """See :class:`RecordSource`."""
        assert isinstance(draft.origin, ToolOrigin)
        return operation_of(self._request.queries[draft.origin.position].arguments)

    def fruitless(self) -> list[tuple[int, ToolQuery]]:
        """See :class:`RecordSource`."""
        pairs = zip(self._request.queries, self._envelope.results, strict=False)
        return [
            (position, query)
            for position, (query, result) in enumerate(pairs)
            if result.content is None
        ]


class FeedbackSource:
    """A confirmed answer to a test."""

    event = "evidence.feedback"

    def __init__(
        self,
        objects: ObjectCheck,
        found: FindingCollector,
        handoffs: HandoffCheck,
        record: Sealed[EvidenceRecord],
        feedback_id: ObjectId,
        feedback: AsyncTestFeedback,
    ) -> None:
        self._objects = objects
        self._found = found
        self._handoffs = handoffs
        self._record = record
        self._feedback_id = feedback_id
        self._feedback = feedback
        self._content: Sealed[EvidenceContent] | None = None
        self.documents = (feedback_id,)
        self.payload = feedback_payload(feedback_id)

    def check(self, step: Step, affects: tuple[str, ...]) -> bool:
        """See :class:`RecordSource`."""
        oid = self._record.document.content
        content = self._objects.lookup(oid, EvidenceContent, self._record.id, "/content")
        if content is None:
            return False
        self._content = Sealed(content, self._objects.encoded(oid), oid)
        try:
            check_content(content)
        except InvalidError as error:
            self._found.add("VS-EVD-016", f"not normal: {error.message}", object=oid)
        request = self._handoffs.answered(self._feedback_id)
        if request is None:
            self._found.add(
                "VS-EVD-025",
                f"{step.name} stores a test's answer that no generation confirmed",
                object=self._record.id,
                pointer=f"{_ORIGIN}/feedback",
                actual=self._feedback_id,
                affects=affects,
            )
            return True
        if self._feedback.analysis_revision != step.generation.analysis_revision:
            self._found.add(
                "VS-EVD-025",
                f"{step.name} stores an answer of another analysis revision",
                object=self._record.id,
                pointer=f"{_ORIGIN}/feedback",
                expected=step.generation.analysis_revision,
                actual=self._feedback.analysis_revision,
                affects=affects,
            )
        expected = content_of(request, self._feedback)
        if expected != content:
            pointer, one, other = difference_of(to_value(expected), to_value(content), "")
            self._found.add(
                "VS-EVD-026",
                f"the content that {step.name} stores is not what the tester's answer yields",
                object=oid,
                pointer=pointer,
                expected=one,
                actual=other,
                affects=affects,
            )
        return True

    def drafts(self) -> list[Draft] | None:
        """See :class:`RecordSource`."""
        if self._content is None:
            return None
        return [
            Draft(
                hypothesis_id=self._feedback.hypothesis_id,
                action_id=self._feedback.action_id,
                content=self._content,
                origin=FeedbackOrigin(feedback=self._feedback_id),
            )
        ]

    def operation(self, draft: Draft) -> str:
        """See :class:`RecordSource`."""
        del draft
        return OPERATION_OF[self._feedback.executor]

    def fruitless(self) -> list[tuple[int, ToolQuery]]:
        """See :class:`RecordSource`."""
        return []


class SourceReader:
    """Finds what the records of a publication come from.

    Args:
        objects: Where documents are.
        found: Takes the findings.
        replies: Checks replies and contents.
        handoffs: Knows which answers were confirmed.
    """

    def __init__(
        self,
        objects: ObjectCheck,
        found: FindingCollector,
        replies: ReplyCheck,
        handoffs: HandoffCheck,
    ) -> None:
        self._objects = objects
        self._found = found
        self._replies = replies
        self._handoffs = handoffs

    def read(self, first: Sealed[EvidenceRecord]) -> RecordSource | None:
        """What the first record of a publication comes from; None when it can't be read."""
        lookup, origin = self._objects.lookup, first.document.origin
        if isinstance(origin, FeedbackOrigin):
            feedback = lookup(origin.feedback, AsyncTestFeedback, first.id, f"{_ORIGIN}/feedback")
            if feedback is None:
                return None
            return FeedbackSource(
                self._objects, self._found, self._handoffs, first, origin.feedback, feedback
            )
        request = lookup(origin.request, ToolRequest, first.id, f"{_ORIGIN}/request")
        envelope = lookup(origin.reply, ReplyEnvelope, first.id, f"{_ORIGIN}/reply")
        if request is None or envelope is None:
            return None
        return ToolSource(self._replies, origin.request, request, origin.reply, envelope)
