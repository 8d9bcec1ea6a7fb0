"""What the log of calls comes to: a fold, shared by the service and the verifier."""

from __future__ import annotations

from dataclasses import dataclass, field

from vstore.errors import IntegrityError
from vstore.evidence.record_id import record_number
from vstore.investigation.documents import (
    Answered,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationRequest,
    InvestigationStep,
    Opened,
    Rejected,
)
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed

__all__ = ["Call", "InvestigationState"]


@dataclass(slots=True)
class Call:
    """One call and what became of it.

    Attributes:
        request_id: The object id of its request.
        request: The request.
        imported: Whether it was brought in from elsewhere.
        outcome: The event that ended it, or None.
    """

    request_id: ObjectId
    request: InvestigationRequest
    imported: bool
    outcome: Answered | Rejected | None = None


@dataclass(slots=True)
class InvestigationState:
    """All calls of a case, and where the current revision stands.

    Attributes:
        head: The latest log entry, or None.
        sequence: Entries so far.
        revision: The analysis revision that the four tables below are of; 0 before any.
        calls: By revision and call id.
        open: The call of a hypothesis that waits for its reply.
        briefs: The brief of a hypothesis.
        assessed: The number of the last record that a step of a hypothesis assessed.
        refused: The attempt of a hypothesis that no later step made good.
    """

    head: ObjectId | None = None
    sequence: int = 0
    revision: int = 0
    calls: dict[tuple[int, str], Call] = field(default_factory=dict)
    open: dict[str, str] = field(default_factory=dict)
    briefs: dict[str, ObjectId] = field(default_factory=dict)
    assessed: dict[str, int] = field(default_factory=dict)
    refused: dict[str, ObjectId] = field(default_factory=dict)

    def enter(self, revision: int) -> None:
        """Begin an analysis revision; the one before leaves no open call and no brief."""
        if revision != self.revision:
            self.revision = revision
            self.open, self.briefs, self.assessed, self.refused = {}, {}, {}, {}

    def call(self, call_id: str) -> Call | None:
        """A call of the current revision, or None."""
        return self.calls.get((self.revision, call_id))

    def waits(self, call_id: str) -> bool:
        """Whether a call waits for its reply: opened, not ended, not followed by another."""
        call = self.call(call_id)
        return (
            call is not None
            and call.outcome is None
            and self.open.get(call.request.hypothesis_id) == call_id
        )

    def result(self, hypothesis_id: str, latest: str | None) -> str | None:
        """The result that the next reply has to assess.

        Args:
            hypothesis_id: The hypothesis.
            latest: Its latest evidence record of this revision, or None.

        Returns:
            ``latest`` where no step assessed it yet.
        """
        if latest is None or record_number(latest) <= self.assessed.get(hypothesis_id, 0):
            return None
        return latest

    def apply(
        self,
        entry: Sealed[InvestigationLog],
        document: InvestigationRequest | InvestigationStep | InvestigationAttempt,
    ) -> None:
        """Take in the next entry, with the document that it names.

        Raises:
            IntegrityError: It doesn't continue this state (``bad_investigation_log``).
        """
        log = entry.document
        if log.parent != self.head or log.sequence != self.sequence + 1:
            raise _bad(log)
        self.enter(log.analysis_revision)
        event = log.event
        key = (log.analysis_revision, event.call_id)
        if isinstance(event, Opened):
            if key in self.calls or not isinstance(document, InvestigationRequest):
                raise _bad(log)
            self.calls[key] = Call(event.request, document, log.imported)
            self.open[event.hypothesis_id] = event.call_id
        else:
            self._end(log, event, document)
        self.head = entry.id
        self.sequence += 1

    def _end(
        self,
        log: InvestigationLog,
        event: Answered | Rejected,
        document: InvestigationRequest | InvestigationStep | InvestigationAttempt,
    ) -> None:
        if not self.waits(event.call_id):
            raise _bad(log)
        call = self.calls[log.analysis_revision, event.call_id]
        hypothesis = call.request.hypothesis_id
        if isinstance(event, Answered) and isinstance(document, InvestigationStep):
            self.briefs[hypothesis] = document.brief
            self.refused.pop(hypothesis, None)
            if call.request.result is not None:
                self.assessed[hypothesis] = record_number(call.request.result)
        elif isinstance(event, Rejected) and isinstance(document, InvestigationAttempt):
            self.refused[hypothesis] = event.attempt
        else:
            raise _bad(log)
        call.outcome = event
        del self.open[hypothesis]


def _bad(log: InvestigationLog) -> IntegrityError:
    return IntegrityError(
        f"entry {log.sequence} of the investigation log doesn't continue the one before it",
        kind="bad_investigation_log",
        hint="vstore verify says what is wrong",
        sequence=log.sequence,
    )
