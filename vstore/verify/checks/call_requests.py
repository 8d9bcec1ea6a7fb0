"""The request of a call: what it must ask, given the case when the call was opened."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from vstore.investigation.contracts import contract_named
from vstore.investigation.documents import InvestigationAttempt, InvestigationRequest, Opened
from vstore.investigation.entries import remembered_hints, request_of
from vstore.investigation.state import InvestigationState
from vstore.objects.canonical import to_value
from vstore.verify.checks.call_findings import IDENTITY, CallFindings, stated_hypotheses
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.evidence import EvidenceCheck
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck

__all__ = ["RequestCheck"]

_REQUEST: Final = IDENTITY | {
    "hypothesis_id": "VS-INV-006",
    "call_id": "VS-INV-006",
    "reply_schema": "VS-INV-005",
    "generation": "VS-INV-007",
    "brief": "VS-INV-007",
    "result": "VS-INV-007",
}


class RequestCheck:
    """Compares requests with what the case yields.

    Args:
        objects: Where documents are.
        findings: Takes what is wrong.
        evidence: Knows the records.
    """

    def __init__(
        self, objects: ObjectCheck, findings: CallFindings, evidence: EvidenceCheck
    ) -> None:
        self._objects = objects
        self._findings = findings
        self._evidence = evidence

    def check(
        self, state: InvestigationState, step: Step, event: Opened, request: InvestigationRequest
    ) -> None:
        """Compare the request of a call with what the case yields.

        Args:
            state: Before the call.
            step: The generation that opens it.
            event: What the log says of it.
            request: As it is stored.
        """
        self._check_request(state, step, event, request)
        self._check_hints(state, event, request)

    def _check_request(
        self, state: InvestigationState, step: Step, event: Opened, request: InvestigationRequest
    ) -> None:
        before, parent_id = step.parent, step.parent_id
        if before is None or parent_id is None:
            return  # the first generation can't open a call: the lifecycle table says so
        current = before.artifacts.get("hypotheses")
        stated = stated_hypotheses(self._objects, step, current)
        # Those of an earlier revision are none of this one's.
        names = (
            {one.id for one in stated.hypotheses}
            if stated is not None and stated.analysis_revision == step.generation.analysis_revision
            else set()
        )
        readable = current is None or stated is not None
        if readable and event.hypothesis_id not in names:
            self._findings.add(
                "VS-INV-004",
                f"call {event.call_id} is about a hypothesis that the case lacks",
                event.request,
                "/hypothesis_id",
                actual=event.hypothesis_id,
                affects=(f"call {event.call_id}",),
            )
        expected = request_of(
            state,
            contract_named(request.contract),
            parent_id,
            step.generation,
            event.hypothesis_id,
            event.call_id,
            latest=self._evidence.latest_record(
                step.generation.analysis_revision, event.hypothesis_id
            ),
            hints=request.previous_rejection,
        )
        if self._evidence.suspended is not None:
            expected = replace(expected, result=request.result)
            self._findings.skip(
                "the investigation: results of later calls, as the evidence can't be followed"
            )
        self._findings.compare(
            event.request, expected, request, _REQUEST, f"the request of call {event.call_id}"
        )

    def _check_hints(
        self, state: InvestigationState, event: Opened, request: InvestigationRequest
    ) -> None:
        refused = state.refused.get(event.hypothesis_id)
        attempt = (
            None
            if refused is None
            else self._objects.lookup(refused, InvestigationAttempt, event.request)
        )
        if refused is not None and attempt is None:
            return
        expected = [] if attempt is None else remembered_hints(attempt)
        given = request.previous_rejection
        if attempt is not None and not attempt.hints:
            # Of a reply that failed its schema nothing is kept that says more than the code.
            same = [one.rejection for one in given[:1]] == [attempt.code]
        else:
            same = given == expected
        if not same:
            pointer, one, other = difference_of(
                to_value(expected), to_value(given), "/previous_rejection"
            )
            self._findings.add(
                "VS-INV-008",
                f"the request of call {event.call_id} repeats other hints than were given",
                event.request,
                pointer,
                expected=one,
                actual=other,
                affects=(f"call {event.call_id}",),
            )
