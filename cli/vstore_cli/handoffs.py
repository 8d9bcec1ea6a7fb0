"""The tests of a case as the package has them, read-only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vstore.errors import NotFoundError
from vstore.evidence.documents import EvidenceRecord, FeedbackOrigin
from vstore.handoff.documents import AsyncTestFeedback
from vstore.handoff.state import Handoff, HandoffState

if TYPE_CHECKING:
    from vstore.objects.ids import ObjectId
    from vstore.package.pinned import PinnedPackage

__all__ = ["ListedTest", "choose", "listed_tests", "read_handoffs"]


@dataclass(frozen=True, kw_only=True)
class ListedTest:
    """One test and how far it has come."""

    handoff: Handoff
    feedback: AsyncTestFeedback | None
    #: The evidence record of the answer.
    record: str | None
    #: The deadline has passed while the answer is awaited. Nothing else follows from it.
    overdue: bool

    @property
    def status(self) -> str:
        """``outstanding``, ``overdue``, ``answered`` or ``recorded``."""
        if self.feedback is None:
            return "overdue" if self.overdue else "outstanding"
        return "answered" if self.record is None else "recorded"

    def value(self) -> dict[str, Any]:
        """The JSON value."""
        request = self.handoff.request
        return {
            "request_id": request.request_id,
            "request": str(self.handoff.request_ref),
            "status": self.status,
            "overdue": self.overdue,
            "deadline": request.deadline,
            "analysis_revision": request.analysis_revision,
            "hypothesis_id": request.hypothesis_id,
            "action_id": request.action_id,
            "executor": request.executor,
            "question": request.question,
            "submitted_in": self.handoff.submitted_in,
            "feedback": self.handoff.feedback_ref,
            "confirmed_in": self.handoff.confirmed_in,
            "outcome": None if self.feedback is None else self.feedback.outcome,
            "record_id": self.record,
        }


def read_handoffs(package: PinnedPackage) -> HandoffState:
    """Every test of the case up to this generation."""
    from vstore.handoff.history import follow_handoffs

    state = HandoffState()
    follow_handoffs(state, package)
    return state


def listed_tests(package: PinnedPackage, now: str) -> list[ListedTest]:
    """Every test of the case, oldest first.

    Args:
        package: The head.
        now: The instant that deadlines are compared with.
    """
    handoffs = list(read_handoffs(package).handoffs.values())
    answers = {one.feedback_ref for one in handoffs if one.feedback_ref is not None}
    records = _records_of(package, answers)
    return [
        ListedTest(
            handoff=one,
            feedback=None
            if one.feedback_ref is None
            else package.objects.document(one.feedback_ref, AsyncTestFeedback),
            record=None if one.feedback_ref is None else records.get(one.feedback_ref),
            overdue=one.feedback_ref is None and one.request.deadline < now,
        )
        for one in handoffs
    ]


def _records_of(package: PinnedPackage, answers: set[ObjectId]) -> dict[ObjectId, str]:
    from vstore_cli.accounts import indexed_records

    found: dict[ObjectId, str] = {}
    if not answers:
        return found
    for _, _, oid in indexed_records(package.objects, package.artifact("evidence_index")):
        record = package.objects.document(oid, EvidenceRecord)
        if isinstance(record.origin, FeedbackOrigin) and record.origin.feedback in answers:
            found[record.origin.feedback] = record.id
            if len(found) == len(answers):
                break
    return found


def choose(tests: list[ListedTest], request_id: str | None) -> ListedTest:
    """The test that is meant: by its id, else the outstanding one, else the last.

    Raises:
        NotFoundError: There is none.
    """
    if request_id is None and tests:
        return next((one for one in tests if one.feedback is None), tests[-1])
    for one in tests:
        if one.handoff.request.request_id == request_id:
            return one
    raise NotFoundError(
        "the case handed out no test yet"
        if not tests
        else "the case handed out no test with this request id",
        kind="unknown_request",
        hint="vstore test request hands one out" if not tests else "vstore test list shows them",
    )
