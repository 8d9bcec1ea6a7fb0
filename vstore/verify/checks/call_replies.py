"""The reply to a call, judged again, and what follows from it."""

from __future__ import annotations

from msgspec.structs import replace

from vstore.errors import IntegrityError, NotFoundError
from vstore.investigation.contracts import contract_named
from vstore.investigation.documents import (
    ChangeAudit,
    InvestigationStep,
    InvestigationUpdate,
    WorkingBrief,
)
from vstore.investigation.entries import hypotheses_of, subject_of
from vstore.investigation.judgement import Refusal, judge
from vstore.investigation.normalise import Normalised
from vstore.investigation.references import Past
from vstore.investigation.state import Call
from vstore.investigation.vocabulary import MAX_REPLY_BYTES
from vstore.objects.canonical import to_value
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import seal
from vstore.verify.checks.call_findings import CallFindings, stated_hypotheses
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.evidence import EvidenceCheck
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck

__all__ = ["ReplyCheck"]


class ReplyCheck:
    """Judges replies by the rules that the service judges by.

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
        #: Replies judged again.
        self.judged = 0

    def judge(
        self, reply: ObjectId, call: Call, known: int
    ) -> tuple[Normalised | Refusal | None, bytes]:
        """The reply judged again, and its bytes; None where it can't be, which others report.

        Args:
            reply: What was answered.
            call: To what.
            known: Records that there were when the call was opened.
        """
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
            self._findings.skip("the investigation: replies that are missing or damaged")
            return None, b""
        if self._evidence.suspended is not None:
            self._findings.skip(
                "the investigation: later replies, as the evidence can't be followed"
            )
            return None, raw
        past = Past(
            known=known,
            result=request.result,
            brief=brief,
            brief_id=request.brief,
        )
        self.judged += 1
        return judge(contract_named(request.contract), raw, subject_of(request), past), raw

    def compare_derived(
        self, oid: ObjectId, stored: InvestigationStep, found: Normalised, call_id: str
    ) -> None:
        """Compare the documents of a step with what its reply yields.

        Args:
            oid: The step.
            stored: What it names.
            found: What the reply comes to.
            call_id: The call.
        """
        # Each document is held against the others as they are stored, so that an edit of one
        # is told once.
        update = replace(found.update.document, working_brief=stored.brief)
        brief = replace(found.brief.document, change_audit=stored.change_audit)
        self._derived(oid, "update", stored.update, update, "VS-INV-010", call_id)
        self._derived(oid, "brief", stored.brief, brief, "VS-INV-011", call_id)
        audit = None if found.audit is None else found.audit.document
        if audit is None or stored.change_audit is None:
            if (audit is None) != (stored.change_audit is None):
                self._findings.add(
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
        self._findings.add(
            code,
            f"what is stored for call {call_id} differs from what its reply yields",
            oid,
            pointer,
            expected=one,
            actual=other,
            affects=(f"step {call_id}",),
        )

    def check_hypotheses(self, step: Step, found: Normalised, call_id: str) -> None:
        """Compare the hypotheses after an accepted reply with what it makes of them.

        Args:
            step: The generation that accepted it.
            found: What the reply comes to.
            call_id: The call.
        """
        if step.parent is None or any(one.kind == "hypotheses" for one in step.generation.events):
            return
        before = stated_hypotheses(self._objects, step, step.parent.artifacts.get("hypotheses"))
        after = step.generation.artifacts.get("hypotheses")
        if before is None or after is None:
            return
        expected = hypotheses_of(before, found.update.document)
        if seal(expected).id == after:
            return
        actual = stated_hypotheses(self._objects, step, after)
        if actual is None:
            return
        pointer, one, other = difference_of(to_value(expected), to_value(actual))
        self._findings.add(
            "VS-INV-015",
            f"the hypotheses of {step.name} differ from what the reply to call {call_id} yields",
            after,
            pointer,
            expected=one,
            actual=other,
            affects=(step.name,),
        )
