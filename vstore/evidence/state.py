"""What a case has gathered so far, as far as the next publication depends on it.

The state is a fold over the publications: :func:`vstore.evidence.index.plan_publication`
computes the next one without touching it, :meth:`EvidenceState.apply` takes it in. The
writer and the verifier use the same two. Applying changes the state in place, because
copying the sets would cost as much as the history is long; nothing in it can fail after its
first checks, so it happens as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from vstore.errors import IntegrityError, InvalidError, OperationConflict
from vstore.evidence.index_documents import EvidenceIndex, EvidenceRecord, IndexedRecord
from vstore.evidence.membership import GrowingSet, Table
from vstore.evidence.record_id import record_id
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.merkle import Frontier
from vstore.objects.sealed import Sealed

if TYPE_CHECKING:
    from vstore.evidence.index import Publication

__all__ = ["ActionKey", "EvidenceState", "Operation"]

#: Analysis revision and operation id.
OperationKey = tuple[int, str]
#: Analysis revision and action id.
ActionKey = tuple[int, str]


class Operation(msgspec.Struct, frozen=True):
    """A publication that happened, as a repeat of it needs it."""

    payload: Digest
    #: The index that it published.
    index: ObjectId
    #: Its records, in reply order; an error result has none.
    records: tuple[IndexedRecord, ...]


class EvidenceState(msgspec.Struct, kw_only=True):
    """The evidence of a case so far.

    Attributes:
        case_id: The case.
        package_id: Its package.
        head: The latest index, or None.
        head_bytes: Its size in bytes, 0 without one.
        sequence: Publications so far.
        count: Records so far; the next one's number is one more.
        distinct_atoms: Atoms so far.
        retained_bytes: Uncompressed bytes of distinct requests, envelopes, contents,
            records, feedback, and indices before the latest.
        frontier: Merkle tree over the canonical bytes of all records.
        seen: Every atom of the case.
        contents: Content id to the id of the first record that has it.
        operations: What a repeat is compared with.
        actions: The record of an action that has one.
    """

    case_id: str
    package_id: str
    head: ObjectId | None = None
    head_bytes: int = 0
    sequence: int = 0
    count: int = 0
    distinct_atoms: int = 0
    retained_bytes: int = 0
    frontier: Frontier = msgspec.field(default_factory=Frontier)
    seen: GrowingSet = msgspec.field(default_factory=set[str])
    contents: Table[ObjectId, str] = msgspec.field(default_factory=dict)
    operations: Table[OperationKey, Operation] = msgspec.field(default_factory=dict)
    actions: Table[ActionKey, str] = msgspec.field(default_factory=dict)

    @classmethod
    def empty(cls, case_id: str, package_id: str) -> EvidenceState:
        """The state of a case without evidence."""
        return cls(case_id=case_id, package_id=package_id)

    @classmethod
    def resume(
        cls,
        index: Sealed[EvidenceIndex],
        frontier: Frontier,
        *,
        seen: GrowingSet,
        contents: Table[ObjectId, str],
        operations: Table[OperationKey, Operation],
        actions: Table[ActionKey, str],
    ) -> EvidenceState:
        """The state after ``index``, from derived caches of its history.

        Raises:
            IntegrityError: The frontier is of another history (``stale_cache``).
        """
        document = index.document
        if frontier.size != document.count or frontier.root() != document.tree.root:
            raise IntegrityError("a cache belongs to another history", kind="stale_cache")
        return cls(
            case_id=document.case_id,
            package_id=document.package_id,
            head=index.id,
            head_bytes=index.size,
            sequence=document.sequence,
            count=document.count,
            distinct_atoms=document.distinct_atoms,
            retained_bytes=document.retained_bytes,
            frontier=frontier,
            seen=seen,
            contents=contents,
            operations=operations,
            actions=actions,
        )

    def carried_out(self, revision: int, operation_id: str) -> bool:
        """Whether something was stored under this operation id in this revision."""
        return self.operations.get((revision, operation_id)) is not None

    def recognise(self, revision: int, operation_id: str, payload: Digest) -> Operation | None:
        """The operation that this one repeats, or None for a new one.

        Args:
            revision: The analysis revision, 1 or more.
            operation_id: As the caller named it.
            payload: Of what is to be stored now.

        Raises:
            OperationConflict: The id was used in this revision with another payload.
        """
        known = self.operations.get((revision, operation_id))
        if known is not None and known.payload != payload:
            raise OperationConflict(
                f"operation {operation_id} stored something else before",
                hint="use a new operation id for a new batch",
                operation_id=operation_id,
                analysis_revision=revision,
            )
        return known

    def recorded(self, revision: int, action_id: str) -> bool:
        """Whether an action has an evidence record."""
        return self.actions.get((revision, action_id)) is not None

    def apply(
        self,
        publication: Publication,
        *,
        records: Sequence[Sealed[EvidenceRecord]] | None = None,
        index: Sealed[EvidenceIndex] | None = None,
    ) -> None:
        """Take in a publication that was planned on this very state.

        Figures, atoms and ids are those of the plan. A verifier that found the stored
        documents to differ gives them, so that the documents which refer to them by id or
        digest are judged by what they refer to.

        Args:
            publication: From :func:`vstore.evidence.index.plan_publication`.
            records: The records as stored; the planned ones by default.
            index: The index as stored; the planned one by default.

        Raises:
            InvalidError: Planned on another state (``stale_plan``).
        """
        records = publication.records if records is None else records
        index = publication.index if index is None else index
        if publication.parent != self.head or publication.base_sequence != self.sequence:
            raise InvalidError("planned on another state", kind="stale_plan")
        if len(records) != len(publication.assessed):
            raise InvalidError("another number of records", kind="stale_plan")
        indexed = []
        for one, record in zip(publication.assessed, records, strict=True):
            self.frontier.append(record.encoded)
            self.seen.update(one.novel)
            if one.duplicate_of is None:
                self.contents[one.draft.content.id] = one.record_id
            action = (publication.revision, one.draft.action_id)
            if self.actions.get(action) is None:
                self.actions[action] = one.record_id
            indexed.append(IndexedRecord(id=one.record_id, object=record.id))
        key = (publication.revision, publication.operation_id)
        if self.operations.get(key) is None:
            self.operations[key] = Operation(publication.payload, index.id, tuple(indexed))
        self.head = index.id
        self.head_bytes = index.size
        self.sequence += 1
        self.count += len(indexed)
        self.distinct_atoms = publication.distinct_atoms
        self.retained_bytes = publication.retained_bytes

    def extend(
        self,
        key: OperationKey,
        operation: Operation,
        records: Iterable[tuple[str, ObjectId, bool, list[Digest]]],
        frontier: Frontier,
        *,
        head_bytes: int,
        distinct_atoms: int,
        retained_bytes: int,
    ) -> None:
        """Take in a publication that was judged elsewhere: nothing is checked here.

        Args:
            key: Its analysis revision and operation id, which are new.
            operation: What it published.
            records: Of each record its action, its content, whether it is the first one with
                that content, and its new atoms.
            frontier: The tree over all records, these included.
            head_bytes: The size of its index.
            distinct_atoms, retained_bytes: Figures after it.
        """
        for (action_id, content, is_first, novel), indexed in zip(
            records, operation.records, strict=True
        ):
            self.seen.update(novel)
            if is_first:
                self.contents[content] = indexed.id
            self.actions[key[0], action_id] = indexed.id
        self.operations[key] = operation
        self.frontier = frontier
        self.head = operation.index
        self.head_bytes = head_bytes
        self.sequence += 1
        self.count += len(operation.records)
        self.distinct_atoms = distinct_atoms
        self.retained_bytes = retained_bytes

    def adopt(
        self, index: Sealed[EvidenceIndex], records: Sequence[Sealed[EvidenceRecord]]
    ) -> None:
        """Take in a publication as it is stored, without judging contents again.

        For a writer that continues a package: it checks that the documents continue this
        state, not that their atoms are right, which is the verifier's business.

        Args:
            index: The next index.
            records: The records that it adds, in its order.

        Raises:
            IntegrityError: They don't continue this state (``bad_index``).
        """
        document = index.document
        frontier = self.frontier.copy()
        for record in records:
            frontier.append(record.encoded)
        indexed = tuple(document.records)
        numbered = [
            IndexedRecord(id=record_id(number), object=record.id)
            for number, record in enumerate(records, self.count + 1)
        ]
        novel = sum(len(record.document.novel_atoms) for record in records)
        if (
            document.parent != self.head
            or document.sequence != self.sequence + 1
            or list(indexed) != numbered
            or any(
                one.id != record.document.id for one, record in zip(indexed, records, strict=True)
            )
            or document.count != self.count + len(records)
            or document.distinct_atoms != self.distinct_atoms + novel
            or (document.case_id, document.package_id) != (self.case_id, self.package_id)
            or (document.tree.size, document.tree.root) != (frontier.size, frontier.root())
        ):
            raise IntegrityError(
                f"evidence index {document.sequence} doesn't continue the one before it",
                kind="bad_index",
                hint="vstore verify says what is wrong",
                sequence=document.sequence,
            )
        for record in records:
            own = record.document
            self.seen.update(own.novel_atoms)
            if own.duplicate_of is None and self.contents.get(own.content) is None:
                self.contents[own.content] = own.id
            if self.actions.get((own.analysis_revision, own.action_id)) is None:
                self.actions[own.analysis_revision, own.action_id] = own.id
        self.operations[document.analysis_revision, document.operation_id] = Operation(
            document.payload, index.id, indexed
        )
        self.frontier = frontier
        self.head = index.id
        self.head_bytes = index.size
        self.sequence = document.sequence
        self.count = document.count
        self.distinct_atoms = document.distinct_atoms
        self.retained_bytes = document.retained_bytes
