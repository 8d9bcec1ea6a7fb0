"""Documents of the test handoff (spec: handoff).

A request is what a person or an automaton is asked to do; a feedback is the confirmed
answer, bound to the request that the tester saw.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from vstore.objects.document import (
    Asserted,
    ContentId,
    Count,
    Document,
    Name,
    Part,
    Pinned,
    Positive,
    document,
)
from vstore.objects.ids import ObjectId
from vstore.package.documents import Instant

__all__ = [
    "HUMAN_OPERATION",
    "OPERATION_OF",
    "AsyncTestFeedback",
    "AsyncTestRequest",
    "Attachment",
    "EnvironmentFact",
    "Executor",
    "Observation",
    "RequestedObservation",
]

Executor = Literal["human", "automated"]
HUMAN_OPERATION: Final = "testing.request_human"
AUTOMATED_OPERATION: Final = "testing.request_automated"
#: The only budget operation that goes with each executor.
OPERATION_OF: Final[dict[str, str]] = {
    "human": HUMAN_OPERATION,
    "automated": AUTOMATED_OPERATION,
}

Line = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Paragraph = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]


class EnvironmentFact(Part, frozen=True, kw_only=True):
    """One fact about where a test runs, such as ``release`` is ``3.35``."""

    name: Annotated[Line, Asserted]
    value: Annotated[str, msgspec.Meta(max_length=2000), Asserted]


class RequestedObservation(Part, frozen=True, kw_only=True):
    """One thing that the tester is asked to observe."""

    id: Annotated[Name, Asserted]
    text: Annotated[Paragraph, Asserted]
    kind: Annotated[Literal["text", "yes_no", "number", "attachment"], Asserted]


@document
class AsyncTestRequest(Document, frozen=True, kw_only=True, tag="async-test-request-v1"):
    """A test that somebody else performs, hours or days later."""

    request_id: Annotated[Name, Asserted]
    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    action_id: Annotated[Name, Pinned]
    executor: Annotated[Executor, Pinned]
    question: Annotated[Paragraph, Asserted]
    prerequisites: Annotated[list[Paragraph], Asserted]
    steps: Annotated[Annotated[list[Paragraph], msgspec.Meta(min_length=1)], Asserted]
    observations: Annotated[list[RequestedObservation], msgspec.Meta(min_length=1)]
    environment: list[EnvironmentFact]
    #: For display and scheduling; passing it changes nothing.
    deadline: Annotated[Instant, Asserted]
    #: The ledger entry that reserved the action.
    reservation: Annotated[ObjectId, Pinned]


class Attachment(Part, frozen=True, kw_only=True):
    """A file that came with an answer; it is in the package before the confirmation."""

    name: Annotated[Line, Asserted]
    media_type: Annotated[
        str, msgspec.Meta(pattern=r"^[a-z0-9.+-]{1,64}/[a-z0-9.+-]{1,64}\Z"), Asserted
    ]
    size: Annotated[Count, Pinned]
    object: Annotated[ContentId, Pinned]


class Observation(Part, frozen=True, kw_only=True):
    """What was observed for one request, or in addition where ``id`` is null."""

    id: Annotated[Name | None, Asserted]
    text: Annotated[Paragraph, Asserted]
    #: Attachments of this feedback that belong to this observation.
    attachments: Annotated[list[ContentId], Pinned]


@document
class AsyncTestFeedback(Document, frozen=True, kw_only=True, tag="async-test-feedback-v1"):
    """The confirmed answer to a request."""

    request_id: Annotated[Name, Pinned]
    #: The request that the tester saw.
    request: Annotated[ObjectId, Pinned]
    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    action_id: Annotated[Name, Pinned]
    executor: Annotated[Executor, Pinned]
    environment: list[EnvironmentFact]
    tester_id: Annotated[Line, Asserted]
    outcome: Annotated[Literal["completed", "unable_to_test"], Asserted]
    #: Why a test could not be done, or anything else worth saying.
    remarks: Annotated[Annotated[str, msgspec.Meta(max_length=20_000)] | None, Asserted]
    observations: list[Observation]
    attachments: list[Attachment]
    confirmed_by: Annotated[Line, Asserted]
    confirmed_at: Annotated[Instant, Asserted]
