"""What a package's evidence and ledger come to, folded from its documents.

A projection follows one package. It is derived: whatever it holds can be folded again from
the log, and nothing is believed because a projection says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final
from weakref import WeakKeyDictionary

from vstore.budget.documents import BudgetPolicy, LedgerEntry
from vstore.budget.facts import RecordFacts
from vstore.budget.replay import adopt
from vstore.budget.state import LedgerState, OpenAction
from vstore.errors import IntegrityError, NotFoundError
from vstore.evidence.documents import EvidenceIndex, EvidenceRecord, IndexedRecord, ToolOrigin
from vstore.evidence.state import EvidenceState
from vstore.handoff.documents import OPERATION_OF, AsyncTestFeedback, AsyncTestRequest
from vstore.handoff.state import REQUEST, HandoffState
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.sealed import Sealed, load
from vstore.package.documents import Generation
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.tools.request import ToolRequest, operation_of

__all__ = ["PackageFacts", "Projection", "follow_handoffs", "projection_of"]


class PackageFacts:
    """What the ledger's rules ask of the rest of a package.

    Args:
        evidence: The case's evidence so far.
        objects: Where policies, records and requests are read; pending ones included.
        handoffs: Gives the tests that the case handed out; asked only when needed.
    """

    def __init__(
        self,
        evidence: EvidenceState,
        objects: ObjectSource,
        handoffs: Callable[[], HandoffState],
    ) -> None:
        self._evidence = evidence
        self._objects = objects
        self._handoffs = handoffs

    def policy(self, policy: ObjectId, /) -> BudgetPolicy:
        """A stored policy; see :class:`vstore.budget.facts.Facts`."""
        return self._objects.document(policy, BudgetPolicy)

    def record(self, record: ObjectId, /) -> RecordFacts:
        """A record that the evidence index holds; see :class:`vstore.budget.facts.Facts`.

        Raises:
            NotFoundError: No object of this id, or no record that the index holds.
            IntegrityError, InvalidError: It is damaged.
        """
        document = self._objects.document(record, EvidenceRecord)
        operation = self._evidence.operations.get(
            (document.analysis_revision, document.operation_id)
        )
        indexed = IndexedRecord(id=document.id, object=record)
        if operation is None or indexed not in operation.records:
            raise NotFoundError(
                f"the evidence index doesn't hold this record {document.id}",
                kind="unknown_record",
                hint="record what store_tool_results returned",
                record=record,
            )
        origin = document.origin
        if isinstance(origin, ToolOrigin):
            request = self._objects.document(origin.request, ToolRequest)
            name = operation_of(request.queries[origin.position].arguments)
        else:
            feedback = self._objects.document(origin.feedback, AsyncTestFeedback)
            name = OPERATION_OF[feedback.executor]
        return RecordFacts(
            record_id=document.id,
            analysis_revision=document.analysis_revision,
            hypothesis_id=document.hypothesis_id,
            action_id=document.action_id,
            operation=name,
            novelty_score=document.novelty_score,
        )

    def recorded(self, revision: int, action_id: str, /) -> bool:
        """Whether an evidence record exists for an action, bound in the ledger or not."""
        return self._evidence.recorded(revision, action_id)

    def submitted(self, revision: int, action_id: str, /) -> bool:
        """Whether a test request was submitted for an action."""
        return self._handoffs().submitted(revision, action_id)


class Projection:
    """The evidence and the ledger of one package at one generation.

    Attributes:
        mutex: Held by whoever changes the package through this process.
        evidence: The fold of the evidence indices.
        ledger: The fold of the ledger.
        records: Every record, in the order of creation.
    """

    def __init__(self, case_id: str, package_id: str) -> None:
        self.mutex = threading.RLock()
        self.evidence = EvidenceState.empty(case_id, package_id)
        self.ledger = LedgerState.empty(case_id, package_id)
        self.records: list[IndexedRecord] = []
        #: Open actions as of a ledger entry: asked for more often than they change.
        self._open: tuple[ObjectId | None, tuple[OpenAction, ...]] = (None, ())
        self._handoffs = HandoffState()
        self._package: PinnedPackage | None = None

    def open_actions(self) -> tuple[OpenAction, ...]:
        """Reserved actions that have not ended, in the order of their reservation."""
        head, actions = self._open
        if head != self.ledger.head:
            actions = tuple(self.ledger.open_actions())
            self._open = (self.ledger.head, actions)
        return actions

    def follow(self, package: PinnedPackage) -> None:
        """Fold in what was published since.

        Args:
            package: The head.

        Raises:
            IntegrityError: The package no longer leads to what was folded before, or its
                documents contradict each other.
            NotFoundError, InvalidError, UnsupportedError: A document can't be read.
        """
        self._follow_evidence(package)
        self._follow_ledger(package)
        self._package = package

    def facts(self, objects: ObjectSource) -> PackageFacts:
        """What the ledger's rules may ask, with objects read from here."""
        return PackageFacts(self.evidence, objects, self.handoffs)

    def handoffs(self) -> HandoffState:
        """The tests that the case handed out, up to the generation followed last.

        They are found in the generations themselves, so they are looked for only when
        somebody asks, and not at all in a case that never handed one out.

        Raises:
            IntegrityError: The package no longer leads to what was folded before, or a test
                was handed out or answered out of step.
            NotFoundError, InvalidError, UnsupportedError: A document can't be read.
        """
        package = self._package
        if package is not None:
            follow_handoffs(self._handoffs, package)
        return self._handoffs

    def _follow_evidence(self, package: PinnedPackage) -> None:
        objects = package.objects
        pending: list[Sealed[EvidenceIndex]] = []
        oid = package.artifact("evidence_index")
        while oid != self.evidence.head:
            if oid is None:
                raise _not_continued("evidence index")
            index = load(objects, oid, EvidenceIndex)
            pending.append(index)
            oid = index.document.parent
        for index in reversed(pending):
            records = [load(objects, one.object, EvidenceRecord) for one in index.document.records]
            self.evidence.adopt(index, records)
            self.records.extend(index.document.records)

    def _follow_ledger(self, package: PinnedPackage) -> None:
        objects = package.objects
        pending: list[Sealed[LedgerEntry]] = []
        oid = package.artifact("budget_ledger")
        while oid != self.ledger.head:
            if oid is None:
                raise _not_continued("ledger")
            entry = load(objects, oid, LedgerEntry)
            pending.append(entry)
            oid = entry.document.parent
        for entry in reversed(pending):
            adopt(self.ledger, entry, lambda policy: objects.document(policy, BudgetPolicy))


def follow_handoffs(state: HandoffState, package: PinnedPackage) -> None:
    """Fold in the tests of the generations since the one that was taken last.

    Args:
        state: The fold; changed in place.
        package: The head.

    Raises:
        As :meth:`Projection.handoffs`.
    """
    objects = package.objects
    pending: list[tuple[ObjectId, Generation]] = []
    oid, generation = package.generation_id, package.generation
    while oid != state.head and REQUEST in generation.artifacts:
        pending.append((oid, generation))
        if generation.parent is None:
            break
        oid = generation.parent
        generation = objects.document(oid, Generation)
    if state.head is not None and oid != state.head:
        raise _not_continued("history of tests")
    for oid, generation in reversed(pending):
        state.take(oid, generation, lambda ref: objects.document(ref, AsyncTestRequest))


_PROJECTIONS: Final[WeakKeyDictionary[Repository, Projection]] = WeakKeyDictionary()
_GUARD: Final = threading.Lock()


def projection_of(repository: Repository, package: PinnedPackage) -> Projection:
    """The projection that follows this repository, shared by the services of a process."""
    with _GUARD:
        found = _PROJECTIONS.get(repository)
        if found is None:
            found = _PROJECTIONS[repository] = Projection(package.case_id, package.package_id)
        return found


def _not_continued(what: str) -> IntegrityError:
    return IntegrityError(
        f"the package's {what} no longer leads to what it held before",
        kind="history_replaced",
        hint="the package was replaced under a running process; start again and verify it",
    )
