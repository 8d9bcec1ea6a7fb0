"""VS-LED: the fold of all events, with the same rules that the service writes by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vstore.budget.commands import command_of
from vstore.budget.documents import (
    RULES,
    BudgetPolicy,
    Initialise,
    LedgerEntry,
    RecordEvidence,
    RecordResult,
    Settle,
)
from vstore.budget.facts import RecordFacts
from vstore.budget.ledger import Planned, entry_of, plan
from vstore.budget.state import LedgerState, OpenAction, Outcome
from vstore.errors import BudgetError, InvalidError, NotFoundError, OperationConflict
from vstore.objects.canonical import to_value
from vstore.objects.ids import ObjectId
from vstore.package.documents import Hypotheses
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.evidence import EvidenceCheck
from vstore.verify.checks.handoff import HandoffCheck
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

if TYPE_CHECKING:
    from vstore.verify.swift_ledger import Reservations

__all__ = ["LedgerCheck"]

#: Entries that one generation may add; far more than any service does.
_MAX_NEW: Final = 100_000
_MEMBERS: Final = {
    "case_id": "VS-LED-003",
    "package_id": "VS-LED-003",
    "analysis_revision": "VS-LED-003",
    "parent": "VS-LED-001",
    "sequence": "VS-LED-002",
    "accounts": "VS-LED-006",
}


class LedgerCheck:
    """Folds the ledger as generations add to it.

    Args:
        objects: Where documents are.
        found: Takes the findings.
    """

    def __init__(self, objects: ObjectCheck, found: FindingCollector) -> None:
        self._objects = objects
        self._found = found
        self._evidence: EvidenceCheck | None = None
        self._handoffs: HandoffCheck | None = None
        self.state: LedgerState | None = None
        #: Why the rest of the ledger is not checked, or None.
        self.suspended: str | None = None
        self.count = 0
        self._step: Step | None = None
        #: Entries that depend on each record: for what falls with a faulty one.
        self.dependents: dict[str, list[int]] = {}
        self._records: dict[tuple[int, str], str] = {}
        self._results: set[tuple[int, str]] = set()

    def attach(self, evidence: EvidenceCheck, handoffs: HandoffCheck) -> None:
        """Say where records and tests are judged."""
        self._evidence = evidence
        self._handoffs = handoffs

    def open_action(self, revision: int, action_id: str) -> OpenAction | None:
        """The reservation of an action that is open, or None."""
        state = self.state
        if state is None or state.revision != revision:
            return None
        return state.actions.get(action_id)

    def step(self, step: Step) -> None:
        """Check the entries that a generation adds."""
        if self.state is None:
            generation = step.generation
            self.state = LedgerState.empty(generation.case_id, generation.package_id)
        head = step.generation.artifacts.get("budget_ledger")
        if self.suspended is None and head != self.state.head:
            self._step = step
            entries = self._new_entries(step, head)
            self._check_events(step, entries)
            for oid, entry in entries:
                self._take(oid, entry)
                if self.suspended is not None:
                    break
        if self.suspended is None:
            self._check_policy(step)
            self._check_ended(step)

    def accept(self, reservations: Reservations) -> None:
        """Take in reservations that were proved right elsewhere (:mod:`vstore.verify.swift`)."""
        state = self.state
        assert state is not None
        self.count += len(reservations.actions)
        state.accounts.update(reservations.accounts)
        for action, outcome in reservations.actions:
            state.actions[action.action_id] = action
            state.outcomes[state.revision, "reserve", action.action_id] = outcome
        state.sequence += len(reservations.actions)
        state.head = reservations.head

    def suspend(self, why: str) -> None:
        """Check nothing of the ledger any more."""
        self.suspended = why
        self._found.skip(f"the ledger from there on: {why}")

    def _check_events(self, step: Step, entries: list[tuple[ObjectId, LedgerEntry]]) -> None:
        """What the generation says happened to the budget is what the ledger says."""
        said = {
            event.kind[7:] for event in step.generation.events if event.kind.startswith("budget.")
        }
        if any(event.kind.startswith("reopen.") for event in step.generation.events):
            said.add("reopen")
        done = {str(entry.event.__struct_config__.tag) for _, entry in entries}
        if self._handoffs is not None and self._handoffs.moved(step):
            return  # no event could have done that: the handoff's check says so
        if entries and said != done:
            self._found.add(
                "VS-HIS-009",
                f"{step.name} says that something else happened to the budget than its ledger",
                object=step.oid,
                pointer="/events",
                expected=", ".join(sorted(done)),
                actual=", ".join(sorted(said)),
                affects=(step.name,),
            )

    def _check_ended(self, step: Step) -> None:
        """A new analysis revision ends the accounts of the one before in its publication."""
        state, revision = self.state, step.generation.analysis_revision
        assert state is not None
        started = step.parent is not None and revision > step.parent.analysis_revision
        if started and state.revision and not state.closed:
            self._found.add(
                "VS-HIS-009",
                f"{step.name} starts revision {revision}, and its ledger ends no account",
                object=step.oid,
                pointer="/artifacts/budget_ledger",
                expected="reopen",
                actual="no reopen",
                affects=(step.name,),
            )

    def _new_entries(self, step: Step, head: ObjectId | None) -> list[tuple[ObjectId, LedgerEntry]]:
        """The entries from the last known one to a generation's head, oldest first."""
        state = self.state
        assert state is not None
        chain: list[tuple[ObjectId, LedgerEntry]] = []
        referrer, pointer = step.oid, "/artifacts/budget_ledger"
        while head is not None and head != state.head:
            entry = self._objects.lookup(head, LedgerEntry, referrer, pointer)
            if entry is None:
                self.suspend(f"an entry of {step.name} can't be read")
                return []
            if entry.sequence <= state.sequence or len(chain) >= _MAX_NEW:
                # It reaches behind what is known without meeting it.
                chain.append((head, entry))
                break
            chain.append((head, entry))
            referrer, pointer, head = head, "/parent", entry.parent
        chain.reverse()
        if head != state.head:
            self._found.add(
                "VS-LED-001",
                f"the ledger of {step.name} does not continue the one before",
                object=step.oid,
                pointer="/artifacts/budget_ledger",
                expected=state.head,
                actual=head,
                affects=(step.name,),
            )
            self.suspend(f"the ledger of {step.name} does not continue the one before")
            return []
        return chain

    def _take(self, oid: ObjectId, entry: LedgerEntry) -> None:
        state = self.state
        assert state is not None
        self.count += 1
        if entry.rules != RULES:
            self._found.add(
                "VS-VER-003",
                "a ledger entry follows rules that this version doesn't know",
                object=oid,
                pointer="/rules",
                actual=entry.rules,
            )
            self.suspend("its rules are not known to this version")
            return
        planned = self._plan(oid, entry)
        if planned is None:
            self.suspend(f"entry {entry.sequence} can't have been made")
            return
        self._note(oid, entry)
        expected = entry_of(state, planned)
        if expected.id != oid:
            self._compare(oid, expected.document, entry)
        if isinstance(entry.event, Initialise):
            self._check_opening(oid, entry.event)
        state.commit(planned, oid)

    def _plan(self, oid: ObjectId, entry: LedgerEntry) -> Planned | None:
        """What the rules make of an event; None, with a finding, where they refuse it."""
        state, step = self.state, self._step
        assert state is not None
        assert step is not None
        # What the entry says of it is compared later: here only the truth counts.
        opens = isinstance(entry.event, Initialise)
        revision = step.generation.analysis_revision if opens else max(state.revision, 1)
        code, message = "VS-LED-004", ""
        try:
            planned = plan(state, revision, command_of(entry.event), self, is_read=True)
            if not isinstance(planned, Outcome):
                return planned
            message = "its command was carried out before"
        except InvalidError as error:
            code = "VS-LED-008" if error.kind == "invalid_policy" else code
            message = error.message
        except NotFoundError as error:
            if self._evidence is not None and self._evidence.suspended is not None:
                return None  # whether there is such a record can't be said
            code = "VS-LED-009" if isinstance(entry.event, RecordEvidence) else code
            message = error.message
        except (BudgetError, OperationConflict) as error:
            code = "VS-LED-009" if error.kind == "record_mismatch" else code
            message = error.message
        self._found.add(
            code,
            f"ledger entry {entry.sequence}: {message}",
            object=oid,
            pointer="/event",
            affects=(f"ledger entry {entry.sequence}",),
        )
        return None

    def _note(self, oid: ObjectId, entry: LedgerEntry) -> None:
        """Remember which entries depend on which record."""
        event, state = entry.event, self.state
        assert state is not None
        if isinstance(event, RecordEvidence):
            self._records[state.revision, event.action_id] = event.record_id
            self.dependents.setdefault(event.record_id, []).append(entry.sequence)
        elif isinstance(event, RecordResult):
            self._results.add((state.revision, event.action_id))
        elif isinstance(event, Settle):
            record = self._records.pop((state.revision, event.action_id), None)
            if record is not None:
                self.dependents[record].append(entry.sequence)
            elif (state.revision, event.action_id) in self._results and event.reward:
                self._found.add(
                    "VS-LED-012",
                    f"ledger entry {entry.sequence} rewards {event.reward} for action "
                    f"{event.action_id}, which has no evidence record",
                    object=oid,
                    pointer="/event/reward",
                    actual=event.reward,
                )

    def _compare(self, oid: ObjectId, expected: LedgerEntry, entry: LedgerEntry) -> None:
        for name in LedgerEntry.__struct_fields__:
            wanted, actual = getattr(expected, name), getattr(entry, name)
            if wanted == actual:
                continue
            pointer, one, other = difference_of(to_value(wanted), to_value(actual), f"/{name}")
            code = _MEMBERS.get(name, "VS-LED-005")
            if pointer == "/event/novelty_cap":
                code = "VS-LED-010"
            elif pointer == "/event/record_id":
                code = "VS-LED-009"
            self._found.add(
                code,
                f"ledger entry {entry.sequence} differs from what the rules yield",
                object=oid,
                pointer=pointer,
                expected=one,
                actual=other,
                affects=(f"ledger entry {entry.sequence}",),
            )

    def _check_opening(self, oid: ObjectId, event: Initialise) -> None:
        """The accounts are those of the revision's hypotheses."""
        step = self._step
        assert step is not None
        stated = step.generation.artifacts.get("hypotheses")
        document = (
            None
            if stated is None
            else self._objects.lookup(stated, Hypotheses, step.oid, "/artifacts/hypotheses")
        )
        if stated is not None and document is None:
            return
        # Those of an earlier revision are none of this one's.
        revision = step.generation.analysis_revision
        current = document is not None and document.analysis_revision == revision
        expected = [one.id for one in document.hypotheses] if document and current else []
        actual = [grant.hypothesis_id for grant in event.grants]
        if sorted(expected) != sorted(actual):
            self._found.add(
                "VS-LED-011",
                f"{step.name} opens accounts for other hypotheses than the case has",
                object=oid,
                pointer="/event/grants",
                expected=", ".join(expected[:10]),
                actual=", ".join(actual[:10]),
                affects=(step.name,),
            )

    def _check_policy(self, step: Step) -> None:
        state = self.state
        assert state is not None
        actual = step.generation.artifacts.get("budget_policy")
        if actual != state.policy_id:
            self._found.add(
                "VS-LED-007",
                f"{step.name} names another policy than its accounts were opened with",
                object=step.oid,
                pointer="/artifacts/budget_policy",
                expected=state.policy_id,
                actual=actual,
                affects=(step.name,),
            )

    # ---- what the rules ask of the rest of the package

    def policy(self, policy: ObjectId, /) -> BudgetPolicy:
        """See :class:`vstore.budget.ledger.Facts`."""
        assert self._step is not None
        found = self._objects.lookup(policy, BudgetPolicy, self._step.oid, "/event/policy")
        if found is None:
            raise NotFoundError("its policy can't be read", kind="no_object")
        return found

    def record(self, record: ObjectId, /) -> RecordFacts:
        """See :class:`vstore.budget.ledger.Facts`."""
        assert self._evidence is not None
        return self._evidence.record_facts(record)

    def recorded(self, revision: int, action_id: str, /) -> bool:
        """See :class:`vstore.budget.ledger.Facts`."""
        assert self._evidence is not None
        state = self._evidence.state
        return state is not None and state.recorded(revision, action_id)

    def submitted(self, revision: int, action_id: str, /) -> bool:
        """See :class:`vstore.budget.ledger.Facts`."""
        assert self._handoffs is not None
        return self._handoffs.submitted(revision, action_id)
