"""VS-INV: every call again, with the same rules that the service judges by."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from vstore.errors import IntegrityError
from vstore.investigation.documents import (
    Answered,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationRequest,
    InvestigationStep,
    Opened,
    Rejected,
    WorkingBriefs,
)
from vstore.investigation.entries import (
    attempt_of,
    briefs_of,
    log_of,
    step_of,
)
from vstore.investigation.judgement import Refusal
from vstore.investigation.rejection import CODES
from vstore.investigation.state import Call, InvestigationState
from vstore.investigation.vocabulary import RULES, V14
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed, seal
from vstore.verify.checks.call_findings import IDENTITY, CallFindings
from vstore.verify.checks.call_replies import ReplyCheck
from vstore.verify.checks.call_requests import RequestCheck
from vstore.verify.checks.evidence import EvidenceCheck
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

__all__ = ["InvestigationCheck"]

#: Entries that one generation may add; a service adds two at the most.
_MAX_NEW: Final = 10_000
_LOG: Final = IDENTITY | {"parent": "VS-INV-001", "sequence": "VS-INV-002"}
_BOUND: Final = IDENTITY | {
    "hypothesis_id": "VS-INV-003",
    "contract": "VS-INV-006",
    "reply_schema": "VS-INV-006",
    "call_id": "VS-INV-006",
    "request": "VS-INV-006",
}
_ATTEMPT: Final = _BOUND | {
    "code": "VS-INV-013",
    "size": "VS-INV-013",
    "digest": "VS-INV-013",
    "reply": "VS-INV-013",
    "hints": "VS-INV-013",
}
_EVENTS: Final = {
    Opened: "investigation.open",
    Answered: "investigation.reply",
    Rejected: "investigation.rejected",
}


class InvestigationCheck:
    """Folds the log of calls as generations add to it.

    Args:
        objects: Where documents are.
        found: Takes the findings.
        evidence: Knows the records.
    """

    def __init__(
        self, objects: ObjectCheck, found: FindingCollector, evidence: EvidenceCheck
    ) -> None:
        self._objects = objects
        self._evidence = evidence
        self._findings = CallFindings(found)
        self._requests = RequestCheck(objects, self._findings, evidence)
        self._replies = ReplyCheck(objects, self._findings, evidence)
        self.state = InvestigationState()
        #: Why the rest of the log is not checked, or None.
        self.suspended: str | None = None
        #: Records that there were when a call was opened.
        self._known: dict[ObjectId, int] = {}
        self._briefs: ObjectId | None = None

    @property
    def judged(self) -> int:
        """Replies judged again."""
        return self._replies.judged

    def suspend(self, why: str) -> None:
        """Check nothing of the investigation any more."""
        self.suspended = why
        self._findings.skip(f"the investigation from there on: {why}")

    def step(self, step: Step) -> None:
        """Check the entries that a generation adds, and what they changed."""
        if self.suspended is not None:
            return
        self.state.enter(step.generation.analysis_revision)
        # Without a new entry nothing may be said to have happened, and the briefs stay.
        head = step.generation.artifacts.get("investigation_log")
        entries = [] if head == self.state.head else self._new_entries(step, head)
        if self.suspended is not None:
            return
        self._check_events(step, entries)
        for entry in entries:
            self._take(step, entry)
            if self.suspended is not None:
                return
        self._check_briefs(step, entries)

    def _new_entries(self, step: Step, head: ObjectId | None) -> list[Sealed[InvestigationLog]]:
        """The entries from the last known one to a generation's head, oldest first."""
        chain: list[Sealed[InvestigationLog]] = []
        referrer, pointer = step.oid, "/artifacts/investigation_log"
        while head is not None and head != self.state.head and len(chain) < _MAX_NEW:
            entry = self._objects.lookup(head, InvestigationLog, referrer, pointer)
            if entry is None:
                self.suspend(f"an entry of {step.name} can't be read")
                return []
            chain.append(Sealed(entry, self._objects.encoded(head), head))
            if entry.sequence <= self.state.sequence:
                break  # it reaches behind what is known without meeting it
            referrer, pointer, head = head, "/parent", entry.parent
        if head != self.state.head:
            self._findings.add(
                "VS-INV-001",
                f"the calls of {step.name} do not continue those before",
                step.oid,
                "/artifacts/investigation_log",
                expected=self.state.head,
                actual=head,
                affects=(step.name,),
            )
            self.suspend(f"the calls of {step.name} do not continue those before")
            return []
        chain.reverse()
        return chain

    def _check_events(self, step: Step, entries: list[Sealed[InvestigationLog]]) -> None:
        """What the generation says happened is what the log says."""
        said = {
            event.kind
            for event in step.generation.events
            if event.kind.startswith("investigation.")
        }
        done = {
            "investigation.import" if one.document.imported else _EVENTS[type(one.document.event)]
            for one in entries
        }
        if said != done:
            self._findings.add(
                "VS-HIS-009",
                f"{step.name} says that something else happened to the calls than their log",
                step.oid,
                "/events",
                expected=", ".join(sorted(done)) or "nothing",
                actual=", ".join(sorted(said)),
                affects=(step.name,),
            )

    # ---- one entry

    def _take(self, step: Step, entry: Sealed[InvestigationLog]) -> None:
        log = entry.document
        if log.rules != RULES:
            self._unknown_rules(entry.id, log.rules)
            return
        event = log.event
        # The revision comes from the generation; what else the entry says is compared.
        self._findings.compare(
            entry.id,
            log_of(self.state, step.generation, event, imported=log.imported),
            log,
            _LOG,
            f"call {event.call_id}",
        )
        if isinstance(event, Opened):
            self._open(step, entry, event)
            return
        call = self.state.call(event.call_id)
        if call is None or not self.state.waits(event.call_id):
            self._refused(entry, "/event/call_id", f"call {event.call_id} waits for no reply")
            return
        if log.imported != call.imported:
            self._findings.add(
                "VS-INV-004",
                f"call {event.call_id} was opened otherwise than it ended",
                entry.id,
                "/imported",
                affects=(f"call {event.call_id}",),
            )
        if isinstance(event, Answered):
            self._answer(step, entry, event, call)
        else:
            self._reject(entry, event, call)

    def _open(self, step: Step, entry: Sealed[InvestigationLog], event: Opened) -> None:
        request = self._objects.lookup(
            event.request, InvestigationRequest, entry.id, "/event/request"
        )
        if request is None:
            self.suspend(f"the request of call {event.call_id} can't be read")
            return
        if self.state.call(event.call_id) is not None:
            self._refused(entry, "/event/call_id", f"the call id {event.call_id} is used twice")
            return
        if request.contract != V14 and not entry.document.imported:
            self._findings.add(
                "VS-INV-004",
                f"call {event.call_id} is new and under an old contract",
                event.request,
                "/contract",
                actual=request.contract,
                affects=(f"call {event.call_id}",),
            )
        self._requests.check(self.state, step, event, request)
        evidence = self._evidence.state
        self._known[event.request] = 0 if evidence is None else evidence.count
        self._apply(entry, request)

    def _answer(
        self, step: Step, entry: Sealed[InvestigationLog], event: Answered, call: Call
    ) -> None:
        stored = self._objects.lookup(event.step, InvestigationStep, entry.id, "/event/step")
        if stored is None:
            self.suspend(f"the step of call {event.call_id} can't be read")
            return
        if stored.rules != RULES:
            self._unknown_rules(event.step, stored.rules)
            return
        name = f"the step of call {event.call_id}"
        verdict, raw = self._replies.judge(stored.reply, call, self._known[call.request_id])
        if isinstance(verdict, Refusal):
            self._findings.add(
                "VS-INV-009",
                f"the reply to call {event.call_id} was accepted against the rules",
                event.step,
                "/reply",
                expected=verdict.code,
                affects=(f"step {event.call_id}",),
            )
            self._findings.compare(
                event.step,
                replace(stored, **_bound(call)),
                stored,
                _BOUND,
                name,
            )
        elif verdict is not None:
            self._findings.compare(event.step, step_of(call, raw, verdict), stored, _BOUND, name)
            self._replies.compare_derived(event.step, stored, verdict, event.call_id)
            self._replies.check_hypotheses(step, verdict, event.call_id)
        self._apply(entry, stored)

    def _reject(self, entry: Sealed[InvestigationLog], event: Rejected, call: Call) -> None:
        stored = self._objects.lookup(
            event.attempt, InvestigationAttempt, entry.id, "/event/attempt"
        )
        if stored is None:
            self.suspend(f"the attempt of call {event.call_id} can't be read")
            return
        if stored.rules != RULES:
            self._unknown_rules(event.attempt, stored.rules)
            return
        name = f"the attempt of call {event.call_id}"
        expected = replace(stored, **_bound(call))
        if stored.reply is None:
            expected = replace(expected, hints=[])
            if stored.code not in CODES:
                expected = replace(expected, code="a code of this version")
        else:
            verdict, raw = self._replies.judge(stored.reply, call, self._known[call.request_id])
            if isinstance(verdict, Refusal):
                expected = attempt_of(call, raw, verdict)
            elif verdict is not None:
                self._findings.add(
                    "VS-INV-009",
                    f"the reply to call {event.call_id} was refused against the rules",
                    event.attempt,
                    "/code",
                    actual=stored.code,
                )
        self._findings.compare(event.attempt, expected, stored, _ATTEMPT, name)
        self._apply(entry, stored)

    def _check_briefs(self, step: Step, entries: list[Sealed[InvestigationLog]]) -> None:
        actual = step.generation.artifacts.get("working_brief")
        expected = self._briefs
        if any(isinstance(one.document.event, Answered) for one in entries):
            expected = seal(briefs_of(step.generation, self.state.briefs)).id
        if expected != actual:
            self._findings.add(
                "VS-INV-014",
                f"{step.name} has another map of briefs than its steps yield",
                step.oid,
                "/artifacts/working_brief",
                expected=expected,
                actual=actual,
                affects=(step.name,),
            )
            if actual is not None:
                self._objects.lookup(actual, WorkingBriefs, step.oid, "/artifacts/working_brief")
        self._briefs = actual

    # ---- telling

    def _apply(
        self,
        entry: Sealed[InvestigationLog],
        document: InvestigationRequest | InvestigationStep | InvestigationAttempt,
    ) -> None:
        """Take an entry in as it is; what was wrong with it is reported already."""
        right = replace(
            entry.document,
            parent=self.state.head,
            sequence=self.state.sequence + 1,
            analysis_revision=self.state.revision,
        )
        try:
            self.state.apply(Sealed(right, entry.encoded, entry.id), document)
        except IntegrityError as error:
            self._refused(entry, "/event", error.message)

    def _refused(self, entry: Sealed[InvestigationLog], pointer: str, message: str) -> None:
        call = f"call {entry.document.event.call_id}"
        self._findings.add("VS-INV-004", message, entry.id, pointer, affects=(call,))
        self.suspend(f"entry {entry.document.sequence} can't have been made")

    def _unknown_rules(self, oid: ObjectId, rules: str) -> None:
        self._findings.add(
            "VS-VER-003",
            "a call follows rules that this version doesn't know",
            oid,
            "/rules",
            actual=rules,
        )
        self.suspend("its rules are not known to this version")


def _bound(call: Call) -> dict[str, Any]:
    """What binds a step or an attempt to its call."""
    request = call.request
    return {
        "case_id": request.case_id,
        "package_id": request.package_id,
        "analysis_revision": request.analysis_revision,
        "hypothesis_id": request.hypothesis_id,
        "contract": request.contract,
        "reply_schema": request.reply_schema,
        "call_id": request.call_id,
        "request": call.request_id,
    }
