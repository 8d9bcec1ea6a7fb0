"""What a controller does, and repeats as a whole after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vstore.controller.test_coordinator import Submitted
from vstore.handoff.attachments import attachments_of
from vstore.objects.durable import REAL, DurableIO
from vstore.testing.handoff import HandoffCase, answer_to
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.tools.request import Arguments, SourceRead, SourceSearch

__all__ = ["ACTIONS", "attach_confirm_record_settle", "hand_out", "publish_record_settle"]

_QUERIES: Final[list[tuple[str, str, Arguments]]] = [
    ("H1", "q1", SourceSearch(source="code", pattern="BUG")),
    ("H2", "q2", SourceRead(source="code", path="app/orders.py")),
]
#: What must be reserved before.
ACTIONS: Final = [("H1", "q1", "source.search"), ("H2", "q2", "source.read")]


def publish_record_settle(root: Path, scratch: Path, io: DurableIO = REAL) -> None:
    """Ask, store one batch of two results, record and settle the first action.

    Args:
        root: The package of an :class:`Investigation` that has begun and reserved ``ACTIONS``.
        scratch: Its scratch folder.
        io: Does the durable I/O.
    """
    one = Investigation(root, scratch, io=io)
    package = one.budget.snapshot(CASE, PACKAGE).package
    request = one.router.request(package, _QUERIES)
    reply = one.router.query(package, request)
    saved = one.evidence.store_tool_results(CASE, PACKAGE, "batch", request, reply)
    one.settle(saved, 0, "H1", "q1", 70)
    one.close()


def hand_out(root: Path, scratch: Path, io: DurableIO = REAL) -> None:
    """Hand the first test of a :class:`HandoffCase` out; its action is reserved already.

    Args:
        root: The package of a case that has begun and reserved ``t1`` for a human test.
        scratch: Its scratch folder.
        io: Does the durable I/O.
    """
    case = HandoffCase(root, scratch, io=io)
    case.submit()
    case.close()


def attach_confirm_record_settle(root: Path, scratch: Path, io: DurableIO = REAL) -> None:
    """Answer the first test of a case that waits for it, and settle what it brought.

    Args:
        root: The package of a case that has handed ``test-1`` out.
        scratch: Its scratch folder.
        io: Does the durable I/O.
    """
    case = HandoffCase(root, scratch, io=io)
    handoff = case.tests.snapshot(CASE, PACKAGE).handoffs[0]
    if handoff.feedback_ref is None:
        case.attach(("app.log", b"ZeroDivisionError\n"), request_id="test-1")
    package = case.tests.snapshot(CASE, PACKAGE).package
    submitted = Submitted(
        package=package,
        request_ref=handoff.request_ref,
        request=handoff.request,
        repeated=True,
    )
    answer = answer_to(submitted, attachments_of(package, handoff.request_ref))
    done = case.confirm(answer)
    saved = case.evidence.store_feedback(CASE, PACKAGE, "t1", done.feedback_ref)
    case.settle(saved, 0, "H1", "t1", 70)
    case.close()
