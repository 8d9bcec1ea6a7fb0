"""VS-INV: every call again, with the same rules that the service judges by."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from msgspec.structs import replace

from vstore.errors import IntegrityError, NotFoundError
from vstore.investigation.contracts import contract_named
from vstore.investigation.documents import (
    Answered,
    ChangeAudit,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationRequest,
    InvestigationStep,
    InvestigationUpdate,
    Opened,
    Rejected,
    WorkingBrief,
    WorkingBriefs,
)
from vstore.investigation.entries import (
    attempt_of,
    briefs_of,
    hypotheses_of,
    log_of,
    remembered_hints,
    request_of,
    step_of,
    subject_of,
)
from vstore.investigation.judgement import Refusal, judge
from vstore.investigation.normalise import Normalised
from vstore.investigation.references import Past
from vstore.investigation.rejection import CODES
from vstore.investigation.state import Call, InvestigationState
from vstore.investigation.vocabulary import MAX_REPLY_BYTES, RULES, V14
from vstore.objects.canonical import to_value
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed, seal
from vstore.package.documents import Hypotheses
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.evidence import EvidenceCheck
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

__all__ = ["InvestigationCheck"]

D = TypeVar("D", bound=Document)

#: Entries that one generation may add; a service adds two at the most.
_MAX_NEW: Final = 10_000
_IDENTITY: Final = {
    "case_id": "VS-INV-003",
    "package_id": "VS-INV-003",
    "analysis_revision": "VS-INV-003",
}
_LOG: Final = _IDENTITY | {"parent": "VS-INV-001", "sequence": "VS-INV-002"}
_REQUEST: Final = _IDENTITY | {
    "hypothesis_id": "VS-INV-006",
    "call_id": "VS-INV-006",
    "reply_schema": "VS-INV-005",
    "generation": "VS-INV-007",
    "brief": "VS-INV-007",
    "result": "VS-INV-007",
}
_BOUND: Final = _IDENTITY | {
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
        self._found = found
        self._evidence = evidence
        self.state = InvestigationState()
        #: Why the rest of the log is not checked, or None.
        self.suspended: str | None = None
        #: Replies judged again.
        self.judged = 0
        #: Records that there were when a call was opened.
        self._known: dict[ObjectId, int] = {}
        self._briefs: ObjectId | None = None

    def suspend(self, why: str) -> None:
        """Check nothing of the investigation any more."""
        self.suspended = why
        self._found.skip(f"the investigation from there on: {why}")

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
            self._add(
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
            self._add(
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
        self._compare(
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
            self._add(
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
            self._add(
                "VS-INV-004",
                f"call {event.call_id} is new and under an old contract",
                event.request,
                "/contract",
                actual=request.contract,
                affects=(f"call {event.call_id}",),
            )
        self._check_request(step, event, request)
        self._check_hints(event, request)
        evidence = self._evidence.state
        self._known[event.request] = 0 if evidence is None else evidence.count
        self._apply(entry, request)

    def _check_request(self, step: Step, event: Opened, request: InvestigationRequest) -> None:
        before, parent_id = step.parent, step.parent_id
        if before is None or parent_id is None:
            return  # the first generation can't open a call: the lifecycle table says so
        current = before.artifacts.get("hypotheses")
        stated = self._hypotheses(step, current)
        # Those of an earlier revision are none of this one's.
        names = (
            {one.id for one in stated.hypotheses}
            if stated is not None and stated.analysis_revision == step.generation.analysis_revision
            else set()
        )
        readable = current is None or stated is not None
        if readable and event.hypothesis_id not in names:
            self._add(
                "VS-INV-004",
                f"call {event.call_id} is about a hypothesis that the case lacks",
                event.request,
                "/hypothesis_id",
                actual=event.hypothesis_id,
                affects=(f"call {event.call_id}",),
            )
        expected = request_of(
            self.state,
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
            self._found.skip(
                "the investigation: results of later calls, as the evidence can't be followed"
            )
        self._compare(
            event.request, expected, request, _REQUEST, f"the request of call {event.call_id}"
        )

    def _check_hints(self, event: Opened, request: InvestigationRequest) -> None:
        refused = self.state.refused.get(event.hypothesis_id)
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
            self._add(
                "VS-INV-008",
                f"the request of call {event.call_id} repeats other hints than were given",
                event.request,
                pointer,
                expected=one,
                actual=other,
                affects=(f"call {event.call_id}",),
            )

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
        verdict, raw = self._judge(stored.reply, call)
        if isinstance(verdict, Refusal):
            self._add(
                "VS-INV-009",
                f"the reply to call {event.call_id} was accepted against the rules",
                event.step,
                "/reply",
                expected=verdict.code,
                affects=(f"step {event.call_id}",),
            )
            self._compare(
                event.step,
                replace(stored, **_bound(call)),
                stored,
                _BOUND,
                name,
            )
        elif verdict is not None:
            self._compare(event.step, step_of(call, raw, verdict), stored, _BOUND, name)
            self._compare_derived(event.step, stored, verdict, event.call_id)
            self._check_hypotheses(step, verdict, event.call_id)
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
            verdict, raw = self._judge(stored.reply, call)
            if isinstance(verdict, Refusal):
                expected = attempt_of(call, raw, verdict)
            elif verdict is not None:
                self._add(
                    "VS-INV-009",
                    f"the reply to call {event.call_id} was refused against the rules",
                    event.attempt,
                    "/code",
                    actual=stored.code,
                )
        self._compare(event.attempt, expected, stored, _ATTEMPT, name)
        self._apply(entry, stored)

    def _judge(self, reply: ObjectId, call: Call) -> tuple[Normalised | Refusal | None, bytes]:
        """The reply judged again; None where it can't be, which others report."""
        request = call.request
        brief = None
        if request.brief is not None:
            brief = self._objects.lookup(request.brief, WorkingBrief, call.request_id, "/brief")
            if brief is None:
                return None, b""
        try:
            # What is larger than any reply is refused for that, whatever it holds.
            large = self._objects.table.size(reply) > MAX_REPLY_BYTES
            raw = bytes(MAX_REPLY_BYTES + 1) if large else self._objects.table.get(reply)
        except (NotFoundError, IntegrityError):
            self._found.skip("the investigation: replies that are missing or damaged")
            return None, b""
        if self._evidence.suspended is not None:
            self._found.skip("the investigation: later replies, as the evidence can't be followed")
            return None, raw
        past = Past(
            known=self._known[call.request_id],
            result=request.result,
            brief=brief,
            brief_id=request.brief,
        )
        self.judged += 1
        return judge(contract_named(request.contract), raw, subject_of(request), past), raw

    # ---- what follows from a reply

    def _compare_derived(
        self, oid: ObjectId, stored: InvestigationStep, found: Normalised, call_id: str
    ) -> None:
        # Each document is held against the others as they are stored, so that an edit of one
        # is told once.
        update = replace(found.update.document, working_brief=stored.brief)
        brief = replace(found.brief.document, change_audit=stored.change_audit)
        self._derived(oid, "update", stored.update, update, "VS-INV-010", call_id)
        self._derived(oid, "brief", stored.brief, brief, "VS-INV-011", call_id)
        audit = None if found.audit is None else found.audit.document
        if audit is None or stored.change_audit is None:
            if (audit is None) != (stored.change_audit is None):
                self._add(
                    "VS-INV-012",
                    f"the step of call {call_id} lacks an audit, or has one too many",
                    oid,
                    "/change_audit",
                )
            return
        self._derived(oid, "change_audit", stored.change_audit, audit, "VS-INV-012", call_id)

    def _derived(
        self,
        referrer: ObjectId,
        member: str,
        oid: ObjectId,
        expected: InvestigationUpdate | WorkingBrief | ChangeAudit,
        code: str,
        call_id: str,
    ) -> None:
        if seal(expected).id == oid:
            return
        actual = self._objects.lookup(oid, type(expected), referrer, f"/{member}")
        if actual is None:
            return
        pointer, one, other = difference_of(to_value(expected), to_value(actual))
        self._add(
            code,
            f"what is stored for call {call_id} differs from what its reply yields",
            oid,
            pointer,
            expected=one,
            actual=other,
            affects=(f"step {call_id}",),
        )

    def _check_hypotheses(self, step: Step, found: Normalised, call_id: str) -> None:
        if step.parent is None or any(one.kind == "hypotheses" for one in step.generation.events):
            return
        before = self._hypotheses(step, step.parent.artifacts.get("hypotheses"))
        after = step.generation.artifacts.get("hypotheses")
        if before is None or after is None:
            return
        expected = hypotheses_of(before, found.update.document)
        if seal(expected).id == after:
            return
        actual = self._hypotheses(step, after)
        if actual is None:
            return
        pointer, one, other = difference_of(to_value(expected), to_value(actual))
        self._add(
            "VS-INV-015",
            f"the hypotheses of {step.name} differ from what the reply to call {call_id} yields",
            after,
            pointer,
            expected=one,
            actual=other,
            affects=(step.name,),
        )

    def _check_briefs(self, step: Step, entries: list[Sealed[InvestigationLog]]) -> None:
        actual = step.generation.artifacts.get("working_brief")
        expected = self._briefs
        if any(isinstance(one.document.event, Answered) for one in entries):
            expected = seal(briefs_of(step.generation, self.state.briefs)).id
        if expected != actual:
            self._add(
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

    def _hypotheses(self, step: Step, oid: ObjectId | None) -> Hypotheses | None:
        if oid is None:
            return None
        return self._objects.lookup(oid, Hypotheses, step.oid, "/artifacts/hypotheses")

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

    def _compare(
        self,
        oid: ObjectId,
        expected: Any,
        actual: Any,
        codes: dict[str, str],
        name: str,
    ) -> None:
        for member, code in codes.items():
            wanted, there = getattr(expected, member), getattr(actual, member)
            if wanted == there:
                continue
            pointer, one, other = difference_of(to_value(wanted), to_value(there), f"/{member}")
            self._add(
                code,
                f"{name} differs from what the package yields",
                oid,
                pointer,
                expected=one,
                actual=other,
                affects=(name,),
            )

    def _refused(self, entry: Sealed[InvestigationLog], pointer: str, message: str) -> None:
        call = f"call {entry.document.event.call_id}"
        self._add("VS-INV-004", message, entry.id, pointer, affects=(call,))
        self.suspend(f"entry {entry.document.sequence} can't have been made")

    def _unknown_rules(self, oid: ObjectId, rules: str) -> None:
        self._add(
            "VS-VER-003",
            "a call follows rules that this version doesn't know",
            oid,
            "/rules",
            actual=rules,
        )
        self.suspend("its rules are not known to this version")

    def _add(
        self,
        code: str,
        message: str,
        oid: ObjectId | None,
        pointer: str | None,
        *,
        expected: object = None,
        actual: object = None,
        affects: tuple[str, ...] = (),
    ) -> None:
        self._found.add(
            code,
            message,
            object=oid,
            pointer=pointer,
            expected=expected,
            actual=actual,
            affects=affects,
        )


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
