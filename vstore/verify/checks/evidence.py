"""VS-EVD: indices and records, computed again from what they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vstore.budget.facts import RecordFacts
from vstore.errors import InvalidError, NotFoundError, UnsupportedError
from vstore.evidence.documents import (
    RULES,
    EvidenceIndex,
    EvidenceRecord,
    IndexedRecord,
)
from vstore.evidence.index import Draft, Publication, plan_publication
from vstore.evidence.limits import EvidenceLimits
from vstore.evidence.state import EvidenceState, Operation
from vstore.objects.canonical import to_value
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed
from vstore.tools.request import ToolQuery, operation_of
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.checks.origins import RecordSource, SourceReader
from vstore.verify.report import FindingCollector

if TYPE_CHECKING:
    from vstore.verify.checks.ledger import LedgerCheck
    from vstore.verify.swift import Batch

__all__ = ["EvidenceCheck"]

_RECORD: Final = {
    "id": "VS-EVD-003",
    "case_id": "VS-EVD-011",
    "package_id": "VS-EVD-011",
    "analysis_revision": "VS-EVD-011",
    "operation_id": "VS-EVD-011",
    "hypothesis_id": "VS-EVD-012",
    "action_id": "VS-EVD-012",
    "content": "VS-EVD-012",
    "origin": "VS-EVD-012",
    "duplicate_of": "VS-EVD-017",
    "novel_atoms": "VS-EVD-018",
    "novelty_score": "VS-EVD-019",
}
_INDEX: Final = {
    "case_id": "VS-EVD-011",
    "package_id": "VS-EVD-011",
    "analysis_revision": "VS-EVD-011",
    "operation_id": "VS-EVD-011",
    "parent": "VS-EVD-001",
    "sequence": "VS-EVD-002",
    "records": "VS-EVD-003",
    "next_id": "VS-EVD-004",
    "count": "VS-EVD-005",
    "distinct_atoms": "VS-EVD-006",
    "retained_bytes": "VS-EVD-007",
    "tree": "VS-EVD-008",
    "payload": "VS-EVD-009",
}


class _Batch:
    """What one index adds, and where it comes from, as stored."""

    __slots__ = ("index", "index_id", "records", "source")

    def __init__(
        self,
        index_id: ObjectId,
        index: EvidenceIndex,
        records: Sequence[Sealed[EvidenceRecord]],
        source: RecordSource,
    ) -> None:
        self.index_id = index_id
        self.index = index
        self.records = records
        self.source = source


class EvidenceCheck:
    """Folds the evidence as generations add to it.

    Args:
        objects: Where documents are.
        found: Takes the findings.
        ledger: Knows which actions are reserved.
        sources: Finds what records come from.
        limits: Of a service that is to go on with the case; the default ones by default.
    """

    def __init__(
        self,
        objects: ObjectCheck,
        found: FindingCollector,
        ledger: LedgerCheck,
        sources: SourceReader,
        limits: EvidenceLimits | None = None,
    ) -> None:
        self._objects = objects
        self._found = found
        self._ledger = ledger
        self._sources = sources
        self._limits = EvidenceLimits() if limits is None else limits
        self.state: EvidenceState | None = None
        #: Why the rest of the evidence is not checked, or None.
        self.suspended: str | None = None
        self._facts: dict[ObjectId, tuple[str, int, str, str, str, int]] = {}

    def suspend(self, why: str) -> None:
        """Check nothing of the evidence any more."""
        self.suspended = why
        self._found.skip(f"the evidence from there on: {why}")

    def step(self, step: Step) -> None:
        """Check the index that a generation adds."""
        generation = step.generation
        if self.state is None:
            self.state = EvidenceState.empty(generation.case_id, generation.package_id)
        head = generation.artifacts.get("evidence_index")
        if self.suspended is not None or head == self.state.head:
            return
        if head is None:
            self._found.add(
                "VS-EVD-001",
                f"{step.name} has no evidence index although there is evidence",
                object=step.oid,
                pointer="/artifacts",
                expected=self.state.head,
                affects=(step.name,),
            )
            self.suspend(f"{step.name} has no index")
            return
        batch = self._read(step, head)
        if batch is None:
            if self.suspended is None:
                self.suspend(f"what {step.name} adds can't be read")
            return
        self._check_batch(step, batch)

    def accept(self, batch: Batch) -> None:
        """Take in a publication that was proved right elsewhere (:mod:`vstore.verify.swift`)."""
        assert self.state is not None
        for member, oid, operation in batch.records:
            self._facts[oid] = (
                member.record_id,
                batch.revision,
                member.hypothesis_id,
                member.action_id,
                operation,
                member.score,
            )
        self.state.extend(
            (batch.revision, batch.operation_id),
            Operation(
                batch.payload,
                batch.head,
                tuple(
                    IndexedRecord(id=member.record_id, object=oid)
                    for member, oid, _ in batch.records
                ),
            ),
            [
                (member.action_id, member.content, member.duplicate_of is None, member.novel)
                for member, *_ in batch.records
            ],
            batch.frontier,
            head_bytes=batch.head_bytes,
            distinct_atoms=batch.distinct_atoms,
            retained_bytes=batch.retained_bytes,
        )

    def latest_record(self, revision: int, hypothesis_id: str) -> str | None:
        """The id of a hypothesis' latest record of a revision, or None."""
        for record_id, its_revision, its_hypothesis, *_ in reversed(self._facts.values()):
            if its_revision != revision:
                break
            if its_hypothesis == hypothesis_id:
                return record_id
        return None

    def record_facts(self, record: ObjectId) -> RecordFacts:
        """What the ledger needs to know of a record.

        Raises:
            NotFoundError: The index has no such record.
        """
        facts = self._facts.get(record)
        if facts is None:
            raise NotFoundError("the evidence index has no such record", kind="unknown_record")
        record_id, revision, hypothesis_id, action_id, operation, score = facts
        return RecordFacts(
            record_id=record_id,
            analysis_revision=revision,
            hypothesis_id=hypothesis_id,
            action_id=action_id,
            operation=operation,
            novelty_score=score,
        )

    # ---- reading

    def _read(self, step: Step, head: ObjectId) -> _Batch | None:
        lookup = self._objects.lookup
        index = lookup(head, EvidenceIndex, step.oid, "/artifacts/evidence_index")
        if index is None:
            return None
        if index.rules != RULES:
            self._found.add(
                "VS-VER-003",
                "an evidence index follows rules that this version doesn't know",
                object=head,
                pointer="/rules",
                actual=index.rules,
            )
            self.suspend("its rules are not known to this version")
            return None
        records: list[Sealed[EvidenceRecord]] = []
        for position, one in enumerate(index.records):
            record = lookup(one.object, EvidenceRecord, head, f"/records/{position}/object")
            if record is None:
                return None
            records.append(Sealed(record, self._objects.encoded(one.object), one.object))
        source = self._sources.read(records[0])
        return None if source is None else _Batch(head, index, records, source)

    # ---- checking

    def _check_batch(self, step: Step, batch: _Batch) -> None:
        state = self.state
        assert state is not None
        affects = tuple(f"record {one.document.id}" for one in batch.records)
        self._check_event(step, batch.source.event)
        if not batch.source.check(step, affects):
            self.suspend(f"what the records of {step.name} come from can't be read")
            return
        drafts = batch.source.drafts()
        if drafts is None or len(drafts) != len(batch.records):
            self._found.add(
                "VS-EVD-013",
                f"{step.name} adds {len(batch.records)} records for an answer "
                f"with {'other' if drafts is None else len(drafts)} results",
                object=batch.index_id,
                pointer="/records",
                affects=affects,
            )
            self.suspend(f"the records of {step.name} are not those of its answer")
            return
        revision = step.generation.analysis_revision
        self._check_operation(revision, batch)
        self._check_reservations(revision, batch, drafts)
        try:
            planned = plan_publication(
                state,
                revision=revision,
                operation_id=batch.index.operation_id,
                payload=batch.source.payload,
                drafts=drafts,
                source_bytes=sum(map(self._objects.table.size, batch.source.documents)),
                stored_records=batch.records,
            )
        except (InvalidError, UnsupportedError) as error:
            self._found.add(
                "VS-EVD-016",
                f"the contents of {step.name} have no atoms: {error.message}",
                object=batch.index_id,
            )
            self.suspend(f"the contents of {step.name} have no atoms")
            return
        self._compare(batch, planned)
        for draft, assessed, record in zip(drafts, planned.assessed, batch.records, strict=True):
            self._facts[record.id] = (
                assessed.record_id,
                revision,
                draft.hypothesis_id,
                draft.action_id,
                batch.source.operation(draft),
                assessed.novelty_score,
            )
        state.apply(
            planned,
            records=batch.records,
            index=Sealed(batch.index, self._objects.encoded(batch.index_id), batch.index_id),
        )

    def _check_event(self, step: Step, expected: str) -> None:
        """What the generation says it stored is what its records come from."""
        said = [one.kind for one in step.generation.events if one.kind.startswith("evidence.")]
        if said and said != [expected]:
            self._found.add(
                "VS-HIS-009",
                f"{step.name} says that it stored other evidence than it did",
                object=step.oid,
                pointer="/events",
                expected=expected,
                actual=", ".join(said),
                affects=(step.name,),
            )

    def _check_operation(self, revision: int, batch: _Batch) -> None:
        assert self.state is not None
        if self.state.operations.get((revision, batch.index.operation_id)) is not None:
            self._found.add(
                "VS-EVD-010",
                "the operation of this index was stored before",
                object=batch.index_id,
                pointer="/operation_id",
                actual=batch.index.operation_id,
                affects=tuple(f"record {one.document.id}" for one in batch.records),
            )

    def _check_reservations(self, revision: int, batch: _Batch, drafts: Sequence[Draft]) -> None:
        assert self.state is not None
        taken: set[str] = set()
        for draft, record in zip(drafts, batch.records, strict=True):
            name = f"record {record.document.id}"
            self._check_action(
                revision,
                batch.source.operation(draft),
                draft,
                taken,
                (record.id, name, "/action_id"),
            )
        for position, query in batch.source.fruitless():
            self._check_action(
                revision,
                operation_of(query.arguments),
                query,
                taken,
                (
                    batch.source.documents[0],
                    f"query {position} of {batch.index.operation_id}",
                    f"/queries/{position}/action_id",
                ),
            )

    def _check_action(
        self,
        revision: int,
        operation: str,
        asked: Draft | ToolQuery,
        taken: set[str],
        place: tuple[ObjectId, str, str],
    ) -> None:
        """Each result, an error too, is of an action of its own that waits for it.

        Args:
            revision: The analysis revision.
            operation: What the action must be reserved for.
            asked: Names hypothesis and action.
            taken: Actions of the batch before this one.
            place: Object, name and pointer, for the finding.
        """
        assert self.state is not None
        oid, name, pointer = place
        if asked.action_id in taken or self.state.recorded(revision, asked.action_id):
            self._found.add(
                "VS-EVD-021",
                f"{name} is not the first record of action {asked.action_id}",
                object=oid,
                pointer=pointer,
                affects=(name,),
            )
        taken.add(asked.action_id)
        if self._ledger.suspended is not None:
            self._found.skip("reservations of later records: the ledger can't be followed")
            return
        action = self._ledger.open_action(revision, asked.action_id)
        if (
            action is None
            or action.hypothesis_id != asked.hypothesis_id
            or action.operation != operation
            or action.is_recorded
        ):
            self._found.add(
                "VS-EVD-020",
                f"{name}: no open reservation of {asked.hypothesis_id} for action "
                f"{asked.action_id} and operation {operation}",
                object=oid,
                pointer=pointer,
                affects=(name,),
            )

    def _compare(self, batch: _Batch, planned: Publication) -> None:
        for record, expected in zip(batch.records, planned.records, strict=True):
            if record.id == expected.id:
                continue
            name = f"record {expected.document.id}"
            for member, code in _RECORD.items():
                self._differ(
                    code,
                    f"{name} differs from what its originals yield",
                    record.id,
                    member,
                    getattr(expected.document, member),
                    getattr(record.document, member),
                    name,
                )
        if planned.index.id == batch.index_id:
            return
        for member, code in _INDEX.items():
            self._differ(
                code,
                f"evidence index {planned.index.document.sequence} differs from what its "
                "records yield",
                batch.index_id,
                member,
                getattr(planned.index.document, member),
                getattr(batch.index, member),
                f"evidence index {planned.index.document.sequence}",
            )

    def _differ(
        self,
        code: str,
        message: str,
        oid: ObjectId,
        member: str,
        expected: object,
        actual: object,
        affected: str,
    ) -> None:
        if expected == actual:
            return
        pointer, one, other = difference_of(to_value(expected), to_value(actual), f"/{member}")
        self._found.add(
            code,
            message,
            object=oid,
            pointer=pointer,
            expected=one,
            actual=other,
            affects=(affected,),
        )

    # ---- the end

    def finish(self) -> None:
        """Warn where a service with these limits could not continue the case."""
        state, limits = self.state, self._limits
        if state is None:
            return
        for name, what, value, limit in (
            ("max_records", "records", state.count, limits.max_records),
            (
                "max_retained_bytes",
                "retained bytes",
                state.retained_bytes,
                limits.max_retained_bytes,
            ),
        ):
            if value > limit:
                self._found.add(
                    "VS-EVD-023",
                    f"{value} {what} are more than {name} = {limit}",
                    object=state.head,
                    expected=limit,
                    actual=value,
                )
