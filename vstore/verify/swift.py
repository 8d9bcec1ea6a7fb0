"""The swift pass: a publication of tool results proved right as a whole.

Most frames of a long history store one batch of tool results, and most packages are sound.
For such a frame this pass computes what must be in it, from the state so far and from the
few members that nothing determines, and compares whole documents with what is stored:

=================  ===================================================================
request, reply     read strictly, bound to the state, checked against each other
contents           valid, in normal form (:mod:`vstore.verify.swift_contents`)
records, index     computed, and equal byte for byte
generation         computed from its parent and its own event, and equal byte for byte
=================  ===================================================================

It only ever finds that all of a frame is right, and takes it in; or it changes nothing, and
the careful checks look at every member and say what is wrong. It is asked only while there
is no finding and every check goes on, so that what came before can't make a difference.
That both ways agree is tested on every good and every bad package there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3
from msgspec.structs import replace

from vstore.evidence.content import envelope
from vstore.evidence.documents import (
    RULES,
    EvidenceIndex,
    EvidenceRecord,
    IndexedRecord,
    RecordTree,
    ToolOrigin,
)
from vstore.evidence.novelty import assess
from vstore.evidence.record_id import record_id
from vstore.objects.canonical import decode, encode
from vstore.objects.frame import FrameSummary
from vstore.objects.frame_table import OBJECT_ENTRY
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.merkle import Frontier
from vstore.objects.sealed import Sealed
from vstore.package.documents import Generation, History
from vstore.package.lifecycle import Position, check, starts_revision
from vstore.package.pinned import PinnedPackage
from vstore.tools.reply import Scope
from vstore.tools.request import DatabaseRows, DatabaseSchema, ToolRequest, operation_of
from vstore.verify.checks.replies import KIND_OF, is_order
from vstore.verify.swift_contents import Around, ContentFacts, ContentReader, ReadContent
from vstore.verify.swift_documents import (
    Query,
    Reply,
    Request,
    Result,
    payload_of,
    read_events,
    read_pair,
)

if TYPE_CHECKING:
    from vstore.evidence.state import EvidenceState
    from vstore.tools.router import Router
    from vstore.verify.checks.evidence import EvidenceCheck
    from vstore.verify.checks.history import HistoryCheck
    from vstore.verify.checks.ledger import LedgerCheck
    from vstore.verify.checks.objects import ObjectCheck

__all__ = ["SwiftPass"]

_EVENT: Final = "evidence.tool_results"
_INDEX: Final = "evidence_index"
#: Contents of which facts are remembered: another record may have the same one.
_KEEP: Final = 100_000


class _Stored(NamedTuple):
    """The documents of a frame, their digests checked."""

    ids: list[ObjectId]
    documents: list[bytes]


class Batch(NamedTuple):
    """What a proved publication adds to the evidence."""

    revision: int
    #: The budget operation of each record's action.
    operations: list[str]
    records: list[Sealed[EvidenceRecord]]
    head: Sealed[EvidenceIndex]
    frontier: Frontier


class SwiftPass:
    """Proves frames.

    Args:
        objects: Where documents are noted.
        history: The generations so far.
        ledger: Knows which actions are reserved.
        evidence: The evidence so far.
        router: Answers requests again; None to leave that out.
    """

    def __init__(
        self,
        objects: ObjectCheck,
        history: HistoryCheck,
        ledger: LedgerCheck,
        evidence: EvidenceCheck,
        router: Router | None,
    ) -> None:
        self._objects = objects
        self._table = objects.table
        self._history = history
        self._ledger = ledger
        self._evidence = evidence
        self._router = router
        self._reader = ContentReader()
        self._contents: dict[str, ContentFacts] = {}
        self._pinned: dict[tuple[ObjectId, str, str], Around] = {}
        #: Whether a case in this state may store tool results.
        self._legal: dict[str, bool] = {}
        #: Frames that were proved, and answers that were asked for again on the way.
        self.proved = self.recomputed = 0

    def take(self, frame: FrameSummary, number: int, payload: bytes) -> bool:
        """Take in a frame if it is right in every respect; else do nothing.

        Args:
            frame: Its header, already checked.
            number: By which the table of objects finds the payload again.
            payload: The uncompressed objects.

        Returns:
            Whether it was taken in.
        """
        head = self._history.head
        if head is None or frame.generation is None or self._objects.waits:
            return False
        try:
            stored = self._stored(frame, payload)
            return stored is not None and self._prove(frame, number, stored, head.oid)
        except Exception:  # noqa: BLE001 - whatever it is, the careful checks will say it
            return False

    def _stored(self, frame: FrameSummary, payload: bytes) -> _Stored | None:
        """The documents of a frame that has new, present documents only."""
        if frame.features or frame.counts[1] or frame.counts[0] < 5:
            return None
        ids: list[ObjectId] = []
        documents: list[bytes] = []
        table = self._table
        for raw, kind, state, offset, length in OBJECT_ENTRY.iter_unpack(frame.raw_table):
            content = payload[offset : offset + length]
            oid = str.__new__(ObjectId, "b3:" + raw.hex())
            if kind != 1 or state or oid in table or blake3(content).digest() != raw:
                return None
            ids.append(oid)
            documents.append(content)
        return _Stored(ids, documents) if len(set(ids)) == len(ids) else None

    # ---- proving

    def _prove(
        self, frame: FrameSummary, number: int, stored: _Stored, parent_id: ObjectId
    ) -> bool:
        ids, documents = stored
        parent, state = self._history.believed, self._evidence.state
        pair = read_pair(documents[0], documents[1])
        if pair is None or parent is None or state is None:
            return False
        request, reply = pair
        if (
            ids[-1] != frame.generation
            or frame.parent != parent_id
            or not self._may_store(parent)
            or state.head != parent.artifacts.get(_INDEX)
            or request.case_id != parent.case_id
            or request.package_id != parent.package_id
            or request.analysis_revision != parent.analysis_revision
            or request.generation != parent_id
            or reply.generation != parent_id
            or reply.request != ids[0]
            or len(reply.results) != len(request.queries)
        ):
            return False
        new = self._new_contents(stored, reply, state)
        if new is None or not all(
            self._fits(query, result, new, parent_id, parent)
            for query, result in zip(request.queries, reply.results, strict=True)
        ):
            return False
        events = read_events(documents[-1])
        if len(events) != 1 or events[0].kind != _EVENT or events[0].operation_id is None:
            return False
        batch = self._plan(stored, request, reply, new, state, events[0].operation_id)
        if batch is None:
            return False
        generation = replace(
            parent,
            package_generation=parent.package_generation + 1,
            parent=parent_id,
            history=History(size=self._history.count, root=self._history.frontier.root()),
            artifacts={**parent.artifacts, _INDEX: batch.head.id},
            declared={_INDEX: [batch.head.id]},
            events=events,
        )
        if encode(generation) != documents[-1] or not self._asked_again(stored, parent_id, parent):
            return False
        self._accept(number, stored, new, batch, generation)
        return True

    def _may_store(self, parent: Generation) -> bool:
        """Whether tool results may follow this generation and change the index alone."""
        ledger = self._ledger.state
        if (
            ledger is None
            or parent.blocked is not None
            or parent.artifacts.get("budget_ledger") != ledger.head
            or parent.artifacts.get("budget_policy") != ledger.policy_id
        ):
            return False
        known = self._legal.get(parent.state)
        if known is None:
            rule = check(Position.of(parent), _EVENT)
            known = self._legal[parent.state] = (
                rule.target is None
                and f"artifacts.{_INDEX}" in rule.changes
                and not starts_revision(_EVENT)
            )
        return known

    def _new_contents(
        self, stored: _Stored, reply: Reply, state: EvidenceState
    ) -> dict[str, ReadContent] | None:
        """The contents that a frame brings, in the order in which its reply first names them."""
        ids, documents = stored
        found: dict[str, ReadContent] = {}
        for result in reply.results:
            oid = result.content
            if oid is None or oid in found or state.contents.get(oid) is not None:  # type: ignore[arg-type]
                continue
            place = 2 + len(found)
            if ids[place] != oid:
                return None
            read = self._reader.read(documents[place])
            if not self._table.all_reached(read.references):
                return None
            found[oid] = read
        return found

    def _facts(self, oid: str, new: dict[str, ReadContent]) -> ContentFacts:
        read = new.get(oid)
        if read is not None:
            return read.facts
        facts = self._contents.get(oid)
        if facts is None:
            facts = self._reader.read(self._table.get(oid)).facts  # type: ignore[arg-type]
            self._remember(oid, facts)
        return facts

    def _remember(self, oid: str, facts: ContentFacts) -> None:
        if len(self._contents) >= _KEEP:
            self._contents.clear()
        self._contents[oid] = facts

    def _fits(
        self,
        query: Query,
        result: Result,
        new: dict[str, ReadContent],
        parent_id: ObjectId,
        parent: Generation,
    ) -> bool:
        """Whether a result is one of this query, and of the content that it names."""
        operation, order = operation_of(query.arguments), result.order
        if (
            result.action_id != query.action_id
            or result.operation != operation
            or result.provider != query.contract
        ):
            return False
        if result.content is None:
            return result.status == "error" and result.error is not None and order is None
        facts = self._facts(result.content, new)
        returned = facts.items if order is None else len(order)
        return (
            result.status == "ok"
            and result.error is None
            and facts.kind == KIND_OF[operation]
            and facts.truncated == result.truncated
            and (result.page is None or result.page.returned == returned)
            and (order is None or is_order(order, facts.items))
            and facts.around == self._asked(query, parent_id, parent)
        )

    def _asked(self, query: Query, parent_id: ObjectId, parent: Generation) -> Around:
        """Scope and coverage of what a query asks."""
        arguments = query.arguments
        if isinstance(arguments, DatabaseRows | DatabaseSchema):
            name, kind = arguments.database, "database"
        else:
            name, kind = arguments.source, "source"
        key = (parent.snapshots.get(name, parent.inputs), name, kind)
        known = self._pinned.get(key)
        if known is None:
            package = PinnedPackage(parent_id, parent, self._table)
            found = package.snapshot(name, kind=kind)
            scope = Scope(content=found.content, name=found.name, origin=found.origin)
            known = self._pinned[key] = Around(encode(scope), encode(found.coverage))
        return known

    def _plan(
        self,
        stored: _Stored,
        request: Request,
        reply: Reply,
        new: dict[str, ReadContent],
        state: EvidenceState,
        operation_id: str,
    ) -> Batch | None:
        """Records and index that must be stored; None where others are."""
        ids, documents = stored
        revision, place = request.analysis_revision, 2 + len(new)
        if (
            len(documents) != place + sum(one.content is not None for one in reply.results) + 2
            or state.operations.get((revision, operation_id)) is not None
        ):
            return None
        records: list[Sealed[EvidenceRecord]] = []
        operations: list[str] = []
        frontier = state.frontier.copy()
        first: dict[str, str] = {}
        seen: set[Digest] = set()
        actions: set[str] = set()
        for position, (query, result) in enumerate(
            zip(request.queries, reply.results, strict=True)
        ):
            action = self._ledger.open_action(revision, query.action_id)
            if (
                action is None
                or action.hypothesis_id != query.hypothesis_id
                or action.operation != result.operation
                or action.is_recorded
                or query.action_id in actions
                or state.recorded(revision, query.action_id)
            ):
                return None
            actions.add(query.action_id)
            if result.content is None:
                continue
            own_id = record_id(state.count + len(records) + 1)
            content: ObjectId = result.content  # type: ignore[assignment]
            duplicate_of = state.contents.get(content) or first.get(content)
            novel: list[Digest] = []
            score = 0
            if duplicate_of is None:
                # All atoms of a content that was recorded before were seen with it.
                novel, score = assess(new[content].atoms, state.seen, seen)
                seen.update(novel)
                first[content] = own_id
            record = EvidenceRecord(
                id=own_id,
                case_id=state.case_id,
                package_id=state.package_id,
                analysis_revision=revision,
                hypothesis_id=action.hypothesis_id,
                action_id=query.action_id,
                operation_id=operation_id,
                content=content,
                duplicate_of=duplicate_of,
                novel_atoms=novel,
                novelty_score=score,
                origin=ToolOrigin(request=ids[0], reply=ids[1], position=position),
            )
            encoded = encode(record)
            if encoded != documents[place]:
                return None
            frontier.append(encoded)
            records.append(Sealed(record, encoded, ids[place]))
            operations.append(action.operation)
            place += 1
        count = state.count + len(records)
        index = EvidenceIndex(
            case_id=state.case_id,
            package_id=state.package_id,
            analysis_revision=revision,
            parent=state.head,
            sequence=state.sequence + 1,
            rules=RULES,
            operation_id=operation_id,
            payload=payload_of(request, reply),
            records=[IndexedRecord(id=one.document.id, object=one.id) for one in records],
            next_id=record_id(count + 1),
            count=count,
            distinct_atoms=state.distinct_atoms + len(seen),
            # Whatever the frame has but the index itself and the generation.
            retained_bytes=state.retained_bytes
            + state.head_bytes
            + sum(map(len, documents[:place])),
            tree=RecordTree(size=count, root=frontier.root()),
        )
        if encode(index) != documents[place]:
            return None
        sealed = Sealed(index, documents[place], ids[place])
        return Batch(revision, operations, records, sealed, frontier)

    def _asked_again(self, stored: _Stored, parent_id: ObjectId, parent: Generation) -> bool:
        """Whether the same is answered when the request is asked again, if that is wanted."""
        if self._router is None:
            return True
        request = decode(stored.documents[0], ToolRequest)
        package = PinnedPackage(parent_id, parent, self._table)
        answer, _ = envelope(stored.ids[0], self._router.query(package, request))
        return encode(answer) == stored.documents[1]

    # ---- taking in

    def _accept(
        self,
        number: int,
        stored: _Stored,
        new: dict[str, ReadContent],
        batch: Batch,
        generation: Generation,
    ) -> None:
        self._objects.take_reached(stored.ids, list(map(len, stored.documents)), number)
        for oid, read in new.items():
            self._remember(oid, read.facts)
        self._evidence.accept(batch)
        self._history.accept(stored.ids[-1], generation, stored.documents[-1])
        self.proved += 1
        if self._router is not None:
            self.recomputed += 1
