"""VS-HND: tests that were handed out, the answers to them, waits that cost nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vstore.errors import VStoreError
from vstore.handoff.attachments import stored_attachments
from vstore.handoff.documents import OPERATION_OF, AsyncTestFeedback, AsyncTestRequest
from vstore.handoff.matching import (
    feedback_faults,
    match_faults,
    missing_attachments,
    request_faults,
)
from vstore.handoff.state import FEEDBACK, REQUEST
from vstore.objects.ids import ObjectId
from vstore.verify.checks.attachments import AttachmentCheck
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

if TYPE_CHECKING:
    from vstore.verify.checks.ledger import LedgerCheck

__all__ = ["HandoffCheck"]

_EVENTS: Final = ("test.submit", "test.attach", "test.confirm")
_WAITING: Final = "AWAITING_TEST_FEEDBACK"


class HandoffCheck:
    """Follows tests through the generations. It sees each one before the ledger does.

    Args:
        objects: Where documents are.
        found: Takes the findings.
        ledger: Knows which actions were reserved before.
    """

    def __init__(self, objects: ObjectCheck, found: FindingCollector, ledger: LedgerCheck) -> None:
        self._objects = objects
        self._found = found
        self._ledger = ledger
        self._attachments = AttachmentCheck(objects, found)
        #: Why the rest of the handoff is not checked, or None.
        self.suspended: str | None = None
        #: The test whose answer is awaited, and the ledger when it was handed out.
        self._open: tuple[ObjectId, AsyncTestRequest] | None = None
        self._ledger_then: ObjectId | None = None
        #: The last generation that moved the ledger while a test was outstanding.
        self._moved: ObjectId | None = None
        self._ids: set[str] = set()
        self._actions: set[tuple[int, str]] = set()
        self._answered: dict[ObjectId, AsyncTestRequest] = {}

    def suspend(self, why: str) -> None:
        """Check nothing of the handoff any more."""
        self.suspended = why
        self._found.skip(f"handed out tests from there on: {why}")

    def moved(self, step: Step) -> bool:
        """Whether a generation moved the ledger while a test was outstanding."""
        return step.oid == self._moved

    def answered(self, feedback: ObjectId) -> AsyncTestRequest | None:
        """The request that this confirmed answer is for, or None."""
        return self._answered.get(feedback)

    @property
    def waits(self) -> bool:
        """Whether a test is out whose answer is awaited."""
        return self._open is not None

    @property
    def guards_the_ledger(self) -> bool:
        """Whether a test is out and this check says when the ledger moves meanwhile."""
        return self.waits and self.suspended is None

    def submitted(self, revision: int, action_id: str) -> bool:
        """Whether a test was handed out for an action."""
        return (revision, action_id) in self._actions

    def step(self, step: Step) -> None:
        """Check what a generation does to a test."""
        if self.suspended is not None:
            return
        generation, parent = step.generation, step.parent
        kinds = [event.kind for event in generation.events]
        if len(kinds) > 1 and any(kind in _EVENTS for kind in kinds):
            self._add(step, "VS-HND-007", "does more than one thing to a test", "/events")
        request_ref, feedback_ref = step.changed(REQUEST), step.changed(FEEDBACK)
        if self._open is not None:
            self._check_wait(step)
        before = self._open
        if feedback_ref is not None:
            self._confirm(step, feedback_ref)
        if request_ref is not None and self.suspended is None:
            self._submit(step, request_ref)
        about = self._open or before
        if generation.attachments != (None if parent is None else parent.attachments):
            self._attachments.step(step, None if about is None else about[0])
        self._check_events(step, before)

    # ---- handing out

    def _submit(self, step: Step, ref: ObjectId) -> None:
        pointer = f"/artifacts/{REQUEST}"
        request = self._objects.lookup(ref, AsyncTestRequest, step.oid, pointer)
        if request is None:
            self.suspend(f"the request of {step.name} can't be read")
            return
        generation = step.generation
        for name in ("case_id", "package_id", "analysis_revision"):
            expected, actual = getattr(generation, name), getattr(request, name)
            if expected != actual:
                self._about(
                    step, "VS-HND-001", "is of something else", ref, f"/{name}", expected, actual
                )
        for fault in request_faults(request):
            self._about(step, "VS-HND-002", fault.message, ref, fault.pointer)
        action = (request.analysis_revision, request.action_id)
        if request.request_id in self._ids:
            self._about(step, "VS-HND-004", "was handed out before", ref, "/request_id")
        elif action in self._actions:
            self._about(step, "VS-HND-004", "has the action of another one", ref, "/action_id")
        else:
            self._check_reservation(step, ref, request)
        self._ids.add(request.request_id)
        self._actions.add(action)
        self._open = (ref, request)
        self._ledger_then = generation.artifacts.get("budget_ledger")
        self._check_blocked(step, request)

    def _check_reservation(self, step: Step, ref: ObjectId, request: AsyncTestRequest) -> None:
        ledger = self._ledger
        if ledger.suspended is not None or ledger.state is None:
            self._found.skip("reservations of later tests: the ledger can't be followed")
            return
        revision = request.analysis_revision
        action = ledger.open_action(revision, request.action_id)
        if (
            action is None
            or action.is_recorded
            or action.hypothesis_id != request.hypothesis_id
            or action.operation != OPERATION_OF[request.executor]
        ):
            self._about(step, "VS-HND-003", "is not reserved", ref, "/action_id")
            return
        outcome = ledger.state.outcomes.get((revision, "reserve", request.action_id))
        expected = None if outcome is None else outcome.entry
        if expected != request.reservation:
            self._about(
                step,
                "VS-HND-003",
                "names another entry than the one that reserved it",
                ref,
                "/reservation",
                expected,
                request.reservation,
            )

    def _check_blocked(self, step: Step, request: AsyncTestRequest) -> None:
        blocked = step.generation.blocked
        if blocked is None or blocked.reason != _WAITING:
            return  # the lifecycle's to say
        for name, expected in (
            ("retry_not_before", request.deadline),
            ("automatic_retry", False),
        ):
            actual = getattr(blocked, name)
            if actual != expected:
                self._add(
                    step,
                    "VS-HND-005",
                    "waits otherwise than its request says",
                    f"/blocked/{name}",
                    expected,
                    actual,
                )

    # ---- waiting

    def _check_wait(self, step: Step) -> None:
        actual = step.generation.artifacts.get("budget_ledger")
        if actual != self._ledger_then:
            self._add(
                step,
                "VS-HND-008",
                "moves the ledger while the case waits for a test",
                "/artifacts/budget_ledger",
                self._ledger_then,
                actual,
            )
            self._ledger_then = actual
            self._moved = step.oid

    def _check_events(self, step: Step, before: tuple[ObjectId, AsyncTestRequest] | None) -> None:
        """An event of a test names the request that it is about."""
        for position, event in enumerate(step.generation.events):
            if event.kind not in _EVENTS:
                continue
            about = self._open if event.kind == "test.submit" else before or self._open
            if about is not None and event.operation_id != about[1].request_id:
                self._add(
                    step,
                    "VS-HND-006",
                    "names another request than it is about",
                    f"/events/{position}/operation_id",
                    about[1].request_id,
                    event.operation_id,
                )

    # ---- answering

    def _confirm(self, step: Step, ref: ObjectId) -> None:
        pointer = f"/artifacts/{FEEDBACK}"
        feedback = self._objects.lookup(ref, AsyncTestFeedback, step.oid, pointer)
        if feedback is None:
            self.suspend(f"the answer of {step.name} can't be read")
            return
        if self._open is None:
            return  # nothing is awaited: the lifecycle's to say
        request_ref, request = self._open
        for fault in match_faults(feedback, request, request_ref):
            self._about(step, "VS-HND-009", fault.message, ref, fault.pointer)
        for fault in feedback_faults(feedback):
            self._about(step, "VS-HND-010", fault.message, ref, fault.pointer)
        self._check_listed(step, ref, feedback, request_ref)
        self._answered[ref] = request
        self._open = None

    def _check_listed(
        self, step: Step, ref: ObjectId, feedback: AsyncTestFeedback, request_ref: ObjectId
    ) -> None:
        try:
            stored = [
                (one.object, one.name, one.size)
                for one in stored_attachments(
                    self._objects.table, step.generation.attachments, request_ref
                )
            ]
        except VStoreError:
            self._found.skip(f"the attachments of {step.name}: their tree can't be read")
            return
        for position, one in missing_attachments(feedback, stored):
            self._about(
                step,
                "VS-HND-011",
                "lists an attachment that is not there",
                ref,
                f"/attachments/{position}",
                None,
                one.object,
            )

    # ---- reporting

    def _about(
        self,
        step: Step,
        code: str,
        what: str,
        oid: ObjectId,
        pointer: str,
        expected: object = None,
        actual: object = None,
    ) -> None:
        which = "answer" if code in ("VS-HND-009", "VS-HND-010", "VS-HND-011") else "request"
        self._found.add(
            code,
            f"the test's {which} in {step.name}: {what}",
            object=oid,
            pointer=pointer,
            expected=expected,
            actual=actual,
            affects=(step.name,),
        )

    def _add(
        self,
        step: Step,
        code: str,
        what: str,
        pointer: str,
        expected: object = None,
        actual: object = None,
    ) -> None:
        self._found.add(
            code,
            f"{step.name} {what}",
            object=step.oid,
            pointer=pointer,
            expected=expected,
            actual=actual,
            affects=(step.name,),
        )
