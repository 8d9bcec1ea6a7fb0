"""A small investigation that hands a test out, made with the real services."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from vstore.controller.test_attachments import Attached, Upload
from vstore.controller.test_coordinator import AsyncTestCoordinator, Confirmed, Submitted
from vstore.handoff.attachments import attachments_of
from vstore.handoff.documents import (
    OPERATION_OF,
    AsyncTestFeedback,
    AsyncTestRequest,
    Attachment,
    EnvironmentFact,
    Executor,
    Observation,
    RequestedObservation,
)
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.ids import ObjectId
from vstore.testing.investigation import CASE, INSTANT, PACKAGE, Investigation

__all__ = ["DEADLINE", "HandoffCase", "answer_to", "handed_out", "handoff_story"]

DEADLINE: Final = "2026-01-03T12:00:00Z"


class HandoffCase(Investigation):
    """One case that may wait for tests.

    Args:
        root: A folder for the package.
        scratch: A folder for the files that are pinned.
        io: Does the durable I/O of the package.
    """

    def __init__(self, root: Path, scratch: Path, *, io: DurableIO = REAL) -> None:
        super().__init__(root, scratch, io=io)
        self.tests = AsyncTestCoordinator(self.workspace)

    def reserve(
        self, action: str = "t1", *, hypothesis: str = "H1", executor: Executor = "human"
    ) -> ObjectId:
        """Set a test's cost aside; the ledger entry that did it."""
        self.budget.reserve(CASE, PACKAGE, hypothesis, action, operation=OPERATION_OF[executor])
        entry = self.budget.snapshot(CASE, PACKAGE).ledger_ref
        assert entry is not None
        return entry

    def request(
        self,
        request_id: str = "test-1",
        action: str = "t1",
        *,
        hypothesis: str = "H1",
        executor: Executor = "human",
        **changes: Any,
    ) -> AsyncTestRequest:
        """Reserve a test's action and write the request, without handing it out."""
        entry = self.reserve(action, hypothesis=hypothesis, executor=executor)
        request = AsyncTestRequest(
            request_id=request_id,
            case_id=CASE,
            package_id=PACKAGE,
            analysis_revision=self.budget.snapshot(CASE, PACKAGE).package.revision,
            hypothesis_id=hypothesis,
            action_id=action,
            executor=executor,
            question="Does the application fail without orders?",
            prerequisites=["the application runs"],
            steps=["Delete all orders.", "Open the page of totals."],
            observations=[
                RequestedObservation(id="fails", text="Does it fail?", kind="yes_no"),
                RequestedObservation(id="log", text="What does the log say?", kind="attachment"),
                RequestedObservation(id="seconds", text="How long did it take?", kind="number"),
            ],
            environment=[EnvironmentFact(name="release", value="1.0")],
            deadline=DEADLINE,
            reservation=entry,
        )
        return replace(request, **changes)

    def submit(self, request_id: str = "test-1", action: str = "t1", **changes: Any) -> Submitted:
        """Reserve, write and hand out a test."""
        return self.tests.submit(self.request(request_id, action, **changes))

    def attach(self, *files: tuple[str, bytes], request_id: str | None = None) -> Attached:
        """Attach files to the outstanding test."""
        uploads = [Upload(name, io.BytesIO(content)) for name, content in files]
        return self.tests.attach(CASE, PACKAGE, uploads, request_id=request_id)

    def confirm(self, feedback: AsyncTestFeedback | bytes) -> Confirmed:
        """Confirm an answer."""
        return self.tests.confirm_feedback(feedback)


def handed_out(root: Path, scratch: Path) -> tuple[HandoffCase, AsyncTestFeedback]:
    """A case that waits for its first test, and an answer to it that is good.

    Args:
        root: A folder for the package; must not exist yet.
        scratch: A folder for the files that are pinned.

    Returns:
        The case, still open, and the answer, whose log is attached.
    """
    case = HandoffCase(root, scratch)
    case.begin()
    submitted = case.submit()
    attached = case.attach(("app.log", b"ZeroDivisionError: division by zero\n"))
    return case, answer_to(submitted, attached.attachments)


def answer_to(
    submitted: Submitted, attachments: Sequence[Attachment], **changes: Any
) -> AsyncTestFeedback:
    """A good answer to a request of :meth:`HandoffCase.request`.

    Args:
        submitted: The request as it was handed out.
        attachments: Its attachments, one or more.
        changes: Members to have another value.
    """
    request = submitted.request
    feedback = AsyncTestFeedback(
        request_id=request.request_id,
        request=submitted.request_ref,
        case_id=request.case_id,
        package_id=request.package_id,
        analysis_revision=request.analysis_revision,
        hypothesis_id=request.hypothesis_id,
        action_id=request.action_id,
        executor=request.executor,
        environment=[
            EnvironmentFact(name="release", value="1.0"),
            EnvironmentFact(name="os", value="Debian 12"),
        ],
        tester_id="pat",
        outcome="completed",
        remarks=None,
        observations=[
            Observation(id="fails", text="yes", attachments=[]),
            Observation(
                id="log",
                text="It divides by zero.",
                attachments=[one.object for one in attachments[:1]],
            ),
            Observation(id="seconds", text="0.5", attachments=[]),
            Observation(id=None, text="With one order it works.", attachments=[]),
        ],
        attachments=list(attachments),
        confirmed_by="pat",
        confirmed_at=INSTANT,
    )
    return replace(feedback, **changes)


def handoff_story(root: Path, scratch: Path) -> HandoffCase:
    """Three tests: one answered and settled, one that nobody could do, one outstanding.

    Args:
        root: A folder for the package; must not exist yet.
        scratch: A folder for the files that are pinned.

    Returns:
        The case, still open.
    """
    case = HandoffCase(root, scratch)
    case.begin()
    submitted = case.submit()
    case.attach(("app.log", b"ZeroDivisionError: division by zero\n"))
    attached = case.attach(("app.log", b"another log\n"), ("screen.png", b"\x89PNG\r\n\x1a\n"))
    snapshot = attachments_of(attached.package, submitted.request_ref)
    _settled(case, case.confirm(answer_to(submitted, snapshot)), "H1", "t1", 70)
    submitted = case.submit("test-2", "t2", hypothesis="H2", executor="automated")
    unable = answer_to(
        submitted, (), outcome="unable_to_test", observations=[], remarks="no such machine"
    )
    _settled(case, case.confirm(unable), "H2", "t2", 10)
    case.submit("test-3", "t3", hypothesis="H2")
    case.attach(("third.log", b"third\n"))
    return case


def _settled(case: HandoffCase, done: Confirmed, hypothesis: str, action: str, score: int) -> None:
    saved = case.evidence.store_feedback(CASE, PACKAGE, action, done.feedback_ref)
    case.settle(saved, 0, hypothesis, action, score)
