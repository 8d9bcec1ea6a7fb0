"""What a package's evidence and ledger come to, folded from its documents.

A projection follows one package. It is derived: whatever it holds can be folded again from
the log, and nothing is believed because a projection says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from vstore.budget.documents import BudgetPolicy
from vstore.budget.facts import RecordFacts
from vstore.budget.state import LedgerState, OpenAction
from vstore.controller.cached_tables import CaseTables
from vstore.controller.fact_cache import CachedFacts, FactCache
from vstore.controller.folding import empty_states, fold_evidence, fold_ledger
from vstore.errors import IntegrityError, NotFoundError
from vstore.evidence.index_documents import EvidenceRecord, IndexedRecord, ToolOrigin
from vstore.evidence.state import EvidenceState
from vstore.objects.durable import DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.reader import ObjectReader
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository

if TYPE_CHECKING:
    from vstore.handoff.state import HandoffState

__all__ = ["PackageFacts", "Projection", "following", "projection_of"]


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
            from vstore.tools.request import ToolRequest, operation_of

            request = self._objects.document(origin.request, ToolRequest)
            name = operation_of(request.queries[origin.position].arguments)
        else:
            from vstore.handoff.documents import OPERATION_OF, AsyncTestFeedback

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
        tables: What both grow into; has every record, in the order of creation.

    Args:
        case_id: The case.
        package_id: Its package.
        objects: The package's objects.
        io: Writes the cache of what was folded.
    """

    def __init__(self, case_id: str, package_id: str, objects: ObjectReader, io: DurableIO) -> None:
        self.mutex = threading.RLock()
        self._identity = (case_id, package_id)
        self._objects = objects
        self._cache = FactCache(objects, io)
        self._cached = False
        self.evidence: EvidenceState
        self.ledger: LedgerState
        self.tables: CaseTables
        self._begin(self._cache.load(case_id, package_id))
        #: Open actions as of a ledger entry: asked for more often than they change.
        self._open: tuple[ObjectId | None, tuple[OpenAction, ...]] = (None, ())
        self._handoffs: HandoffState | None = None
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
        try:
            self._fold(package)
        except IntegrityError:
            if not self._cached:
                raise
            # Whatever is wrong, it is not for a cache to say so.
            self._cache.discard()
            self._begin(None)
            self._fold(package)
        self._package = package
        self._save(package, _SAVE_EVERY)

    def close(self, package: PinnedPackage) -> None:
        """Keep what was folded for the next process, where that is worth while.

        Args:
            package: The head.
        """
        with self.mutex:
            self.follow(package)
            self._save(package, _SAVE_AT_END)

    def _begin(self, found: CachedFacts | None) -> None:
        self._cached = found is not None
        if found is not None:
            self.evidence, self.ledger, self.tables = found.evidence, found.ledger, found.tables
            return
        self.tables = CaseTables([], self._objects)
        self.evidence, self.ledger = empty_states(*self._identity, self.tables)

    def _fold(self, package: PinnedPackage) -> None:
        index, entry = package.artifact("evidence_index"), package.artifact("budget_ledger")
        if index != self.evidence.head:
            fold_evidence(self.evidence, self.tables, package.objects, index)
        if entry != self.ledger.head:
            fold_ledger(self.ledger, package.objects, entry)

    def _save(self, package: PinnedPackage, every: int) -> None:
        if self._objects.sequence - self._cache.reaches >= every:
            self._cache.save(package.generation_id, self.evidence, self.ledger, self.tables)

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
        from vstore.handoff.history import follow_handoffs
        from vstore.handoff.state import HandoffState

        package = self._package
        if self._handoffs is None:
            self._handoffs = HandoffState()
        if package is not None:
            follow_handoffs(self._handoffs, package)
        return self._handoffs


#: Frames after which the cache is written again, in a running process and at its end.
_SAVE_EVERY: Final = 256
_SAVE_AT_END: Final = 8

_PROJECTIONS: Final[WeakKeyDictionary[Repository, Projection]] = WeakKeyDictionary()
_GUARD: Final = threading.Lock()


@contextmanager
def following(repository: Repository) -> Iterator[tuple[PinnedPackage, Projection]]:
    """The head as it is now, and the projection brought up to it.

    The head is read with the repository's own mutex held, so that no other thread brings the
    projection further than the head that this one goes by.

    Args:
        repository: The package.

    Raises:
        NotFoundError: The package has no generation.
        IntegrityError, InvalidError, UnsupportedError, StorageError: It can't be read.
    """
    with repository.mutex:
        package = repository.pinned()
        projection = projection_of(repository, package)
        with projection.mutex:
            projection.follow(package)
            yield package, projection


def projection_of(repository: Repository, package: PinnedPackage) -> Projection:
    """The projection that follows this repository, shared by the services of a process."""
    with _GUARD:
        found = _PROJECTIONS.get(repository)
        if found is None:
            found = _PROJECTIONS[repository] = Projection(
                package.case_id, package.package_id, repository.reader.objects, repository.io
            )
            repository.before_close(found.close)
        return found
