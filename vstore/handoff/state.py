"""Every test that a case handed out, and what came back: a fold over its generations.

Requests and answers are artifacts that the next ones replace, so the history of a case is
where all of them are found. Pure: whoever reads generations gives them to
:meth:`HandoffState.take` in their order (spec: handoff).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from vstore.errors import IntegrityError
from vstore.handoff.documents import AsyncTestRequest
from vstore.objects.ids import ObjectId
from vstore.package.documents import Generation

__all__ = ["FEEDBACK", "REQUEST", "Handoff", "HandoffState"]

#: The artifacts that name the latest request and the latest answer.
REQUEST: Final = "async_test_request"
FEEDBACK: Final = "async_test_feedback"


class Handoff(msgspec.Struct, frozen=True, kw_only=True):
    """One test that was handed out.

    Attributes:
        request_ref: The object id of the request.
        request: The request.
        ledger: The head of the ledger when it was submitted.
        submitted_in: The number of that generation.
        feedback_ref: The object id of the confirmed answer; None while it is awaited.
        confirmed_in: The number of the generation that confirmed it, or None.
    """

    request_ref: ObjectId
    request: AsyncTestRequest
    ledger: ObjectId | None
    submitted_in: int
    feedback_ref: ObjectId | None = None
    confirmed_in: int | None = None


class HandoffState(msgspec.Struct):
    """The tests of a case so far.

    Attributes:
        head: The generation that was taken last, or None.
        handoffs: By request id, in the order of their submission.
    """

    head: ObjectId | None = None
    handoffs: dict[str, Handoff] = msgspec.field(default_factory=dict)
    _latest: Handoff | None = None
    _submitted: dict[tuple[int, str], str] = msgspec.field(default_factory=dict)

    @property
    def outstanding(self) -> Handoff | None:
        """The test whose answer is awaited, or None."""
        latest = self._latest
        return latest if latest is not None and latest.feedback_ref is None else None

    def submitted(self, revision: int, action_id: str) -> bool:
        """Whether a test was handed out for an action."""
        return (revision, action_id) in self._submitted

    def answered_by(self, feedback_ref: ObjectId) -> Handoff | None:
        """The test that this very answer was confirmed for, or None."""
        for one in self.handoffs.values():
            if one.feedback_ref == feedback_ref:
                return one
        return None

    def take(
        self,
        oid: ObjectId,
        generation: Generation,
        read: Callable[[ObjectId], AsyncTestRequest],
    ) -> None:
        """Take in the next generation.

        Args:
            oid: Its id.
            generation: The generation.
            read: Reads a request that it names for the first time.

        Raises:
            IntegrityError: It answers a test that isn't outstanding (``bad_handoff``).
            VStoreError: What ``read`` raises passes through.
        """
        artifacts, latest = generation.artifacts, self._latest
        request_ref = artifacts.get(REQUEST)
        if request_ref is not None and (latest is None or latest.request_ref != request_ref):
            request = read(request_ref)
            if self.outstanding is not None or request.request_id in self.handoffs:
                raise _out_of_step(generation)
            latest = Handoff(
                request_ref=request_ref,
                request=request,
                ledger=artifacts.get("budget_ledger"),
                submitted_in=generation.package_generation,
            )
            self._submitted[request.analysis_revision, request.action_id] = request.request_id
            self._keep(latest)
        elif any(event.kind == "test.confirm" for event in generation.events):
            if self.outstanding is None or latest is None:
                raise _out_of_step(generation)
            self._keep(
                msgspec.structs.replace(
                    latest,
                    feedback_ref=artifacts.get(FEEDBACK),
                    confirmed_in=generation.package_generation,
                )
            )
        self.head = oid

    def _keep(self, handoff: Handoff) -> None:
        self._latest = handoff
        self.handoffs[handoff.request.request_id] = handoff


def _out_of_step(generation: Generation) -> IntegrityError:
    return IntegrityError(
        f"generation {generation.package_generation} hands out or answers a test out of step",
        kind="bad_handoff",
        hint="vstore verify says what is wrong",
    )
