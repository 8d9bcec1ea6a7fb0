"""The demo's human test: handed out, answered with a log and a picture, made evidence.

Nobody sits at the demo: the tester's answer was written down by somebody who did search a
copy of the broken database (``demo_case/human``). It goes the way of any answer.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, cast

from vstore.budget.documents import Reserve
from vstore.controller.test_attachments import Upload
from vstore.handoff.documents import (
    HUMAN_OPERATION,
    AsyncTestFeedback,
    AsyncTestRequest,
    EnvironmentFact,
    RequestedObservation,
)
from vstore.handoff.drafts import draft_template
from vstore.investigation.reply_parts import Test
from vstore.objects.sealed import seal
from vstore_cli.asking import reserve_next
from vstore_cli.happenings import Observation, observation
from vstore_cli.services import Services

if TYPE_CHECKING:
    from vstore.controller.test_coordinator import Submitted

__all__ = ["TESTER", "Answered", "answer_test", "hand_out_test"]

TESTER: Final = "a tester of the workshop"
_FILES: Final = ("search.log", "search-grid.png")
_DAYS: Final = 7
#: What the tester said of each requested observation.
_HOLDS: Final = (
    "anvil: yes. kiln: no, its text does not hold the word kiln. needle: no article came back."
)


class Answered(NamedTuple):
    """An answer, the action that paid for it, and its record."""

    feedback: AsyncTestFeedback
    action: str
    cost: int
    seen: Observation


def hand_out_test(services: Services, hypothesis: str, move: Test, now: str) -> Submitted:
    """Reserve and hand out the test that a reply asks for.

    Args:
        services: The demo's case.
        hypothesis: On whose behalf.
        move: What the reply wants.
        now: The instant, for a deadline a week later.
    """
    entry = reserve_next(services, hypothesis, HUMAN_OPERATION)
    event = entry.event
    assert isinstance(event, Reserve)
    due = datetime.strptime(now, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC) + timedelta(days=_DAYS)
    return services.tests.submit(
        AsyncTestRequest(
            request_id=event.action_id,
            case_id=services.case_id,
            package_id=services.package_id,
            analysis_revision=entry.analysis_revision,
            hypothesis_id=hypothesis,
            action_id=event.action_id,
            executor="human",
            question=move.question,
            prerequisites=[],
            steps=list(move.steps),
            observations=[
                RequestedObservation(id=f"o{number}", text=text, kind="text")
                for number, text in enumerate(move.observations, 1)
            ],
            environment=[EnvironmentFact(name="sqlite-utils", value="3.35")],
            deadline=due.strftime("%Y-%m-%dT%H:%M:%SZ"),
            reservation=seal(entry).id,
        )
    )


def answer_test(services: Services, submitted: Submitted) -> Answered:
    """Attach the tester's files, confirm the answer, store and record it.

    Args:
        services: The demo's case, which waits.
        submitted: What was handed out.
    """
    case_id, package_id, request = services.case_id, services.package_id, submitted.request
    material = files("vstore_cli").joinpath("demo_case", "human")
    with ExitStack() as streams:
        uploads = [
            Upload(
                name, cast("BinaryIO", streams.enter_context(material.joinpath(name).open("rb")))
            )
            for name in _FILES
        ]
        stored = services.tests.attach(case_id, package_id, uploads).attachments
    said = " ".join(material.joinpath("feedback.txt").read_text(encoding="utf-8").split())
    draft = draft_template(request, submitted.request_ref, stored)
    draft["tester_id"] = TESTER
    for one, text in zip(draft["observations"], (said, _HOLDS), strict=True):
        one["text"] = text
    draft["observations"][0]["attachments"] = [str(one.object) for one in stored]
    done = services.tests.confirm_draft(case_id, package_id, draft, confirmed_by=TESTER)
    saved = services.evidence.store_feedback(
        case_id, package_id, request.action_id, done.feedback_ref
    )
    services.budget.record_evidence(
        case_id, package_id, request.hypothesis_id, request.action_id, saved.record_refs[0]
    )
    package = services.package()
    record = saved.record_refs[0]
    assert record is not None
    policy = services.budget.snapshot(case_id, package_id).policy
    assert policy is not None
    return Answered(
        feedback=done.feedback,
        action=request.action_id,
        cost=policy.costs[HUMAN_OPERATION],
        seen=observation(package.objects, record),
    )
