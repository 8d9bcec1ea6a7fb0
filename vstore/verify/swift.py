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

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from blake3 import blake3

from vstore.evidence.content import envelope
from vstore.evidence.novelty import assess
from vstore.evidence.record_id import record_id
from vstore.objects.canonical import decode, encode
from vstore.objects.frame import FrameSummary
from vstore.objects.frame_table import OBJECT_ENTRY
from vstore.objects.ids import Digest, ObjectId, digest_of
from vstore.objects.merkle import Frontier
from vstore.package.documents import Generation
from vstore.package.lifecycle import Position, check, starts_revision
from vstore.package.pinned import PinnedPackage
from vstore.tools.reply import Scope
from vstore.tools.request import DatabaseRows, DatabaseSchema, ToolRequest, operation_of
from vstore.verify.checks.replies import KIND_OF, is_order
from vstore.verify.swift_contents import Around, ContentFacts, ContentReader, ReadContent
from vstore.verify.swift_documents import (
    INDEX,
    Figures,
    GenerationForm,
    Member,
    Query,
    Result,
    between,
    index_bytes,
    payload_bytes,
    read_events,
    read_queries,
    read_results,
    record_bytes,
    reply_around,
    request_around,
)

if TYPE_CHECKING:
    from vstore.evidence.state import EvidenceState
    from vstore.tools.router import Router
    from vstore.verify.checks.evidence import EvidenceCheck
    from vstore.verify.checks.history import HistoryCheck
    from vstore.verify.checks.ledger import LedgerCheck
    from vstore.verify.checks.objects import ObjectCheck

__all__ = ["Batch", "SwiftPass"]

_EVENT: Final = "evidence.tool_results"
_REQUEST_END: Final = b'"schema":"tool-request-v1"}'
#: Contents of which facts are remembered: another record may have the same one.
_KEEP: Final = 100_000


class Batch(NamedTuple):
    """What a proved publication adds to the evidence."""

    revision: int
    operation_id: str
    payload: Digest
    #: Of each record: what it has of its own, its object, its action's budget operation.
    records: list[tuple[Member, ObjectId, str]]
    #: The index, and its size in bytes.
    head: ObjectId
    head_bytes: int
    distinct_atoms: int
    retained_bytes: int
    #: Merkle tree over all records, these included.
    frontier: Frontier


class _Unproved(Exception):
    """It isn't certain that all of a frame is right."""


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
        #: The form of the generations that may follow, and how many there were when that was
        #: found out or last confirmed: whatever came in otherwise may have changed it.
        self._form: GenerationForm | None = None
        self._at = -1
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
        if frame.generation is None or self._history.count == 0 or self._objects.waits:
            return False
        try:
            return self._prove(frame, number, payload)
        except Exception:  # noqa: BLE001 - whatever it is, the careful checks will say it
            return False

    def _prove(self, frame: FrameSummary, number: int, payload: bytes) -> bool:
        stored = self._stored(frame, payload)
        if stored is None:
            return False
        ids, documents = stored
        form, state, parent_id = self._current_form(), self._evidence.state, self._history.head_id
        if form is None or state is None or parent_id is None:
            return False
        if ids[-1] != frame.generation or parent_id != frame.parent:
            return False
        parent = form.parent
        revision = parent.analysis_revision
        queries_raw = between(documents[0], request_around(state, revision, parent_id))
        results_raw = between(documents[1], reply_around(ids[0], parent_id))
        queries, results = read_queries(queries_raw), read_results(results_raw)
        pairs = list(zip(queries, results, strict=True))
        new = self._new_contents(ids, documents, results, state)
        for query, result in pairs:
            self._check_result(query, result, new, parent_id, parent)
        around = form.around_events(
            parent_id, self._history.count, self._history.frontier.root(), ids[-2]
        )
        (event,) = read_events(between(documents[-1], around))
        if event.kind != _EVENT or event.operation_id is None:
            return False
        payload_digest = digest_of(payload_bytes(state, revision, queries_raw, results_raw))
        batch = self._batch(
            ids, documents, pairs, new, state, revision, event.operation_id, payload_digest
        )
        self._ask_again(ids[0], documents, parent_id, parent)
        self._accept(number, ids, documents, new, batch)
        return True

    def _stored(
        self, frame: FrameSummary, payload: bytes
    ) -> tuple[list[ObjectId], list[bytes]] | None:
        """The documents of a frame that begins with a request and has nothing but new ones."""
        count, large = frame.counts
        if frame.features or large or count < 5:
            return None
        ids: list[ObjectId] = []
        documents: list[bytes] = []
        table = self._table
        for raw, kind, state, offset, length in OBJECT_ENTRY.iter_unpack(frame.raw_table):
            content = payload[offset : offset + length]
            if not ids and not content.endswith(_REQUEST_END):
                return None
            oid = str.__new__(ObjectId, "b3:" + raw.hex())
            if kind != 1 or state or oid in table or blake3(content).digest() != raw:
                return None
            ids.append(oid)
            documents.append(content)
        return (ids, documents) if len(set(ids)) == len(ids) else None

    def _current_form(self) -> GenerationForm | None:
        """The form of a generation that stores tool results now; None where none may."""
        history = self._history
        if self._at == history.count:
            return self._form
        self._at, self._form = history.count, None
        parent, ledger, state = history.believed, self._ledger.state, self._evidence.state
        if parent is None or ledger is None or state is None or parent.blocked is not None:
            return None
        rule = check(Position.of(parent), _EVENT)
        if (
            rule.target is None
            and f"artifacts.{INDEX}" in rule.changes
            and not starts_revision(_EVENT)
            and parent.package_generation == history.count
            and (parent.case_id, parent.package_id) == (state.case_id, state.package_id)
            and parent.artifacts.get(INDEX) == state.head
            and parent.artifacts.get("budget_ledger") == ledger.head
            and parent.artifacts.get("budget_policy") == ledger.policy_id
        ):
            self._form = GenerationForm(parent)
        return self._form

    # ---- contents and results

    def _new_contents(
        self,
        ids: list[ObjectId],
        documents: list[bytes],
        results: list[Result],
        state: EvidenceState,
    ) -> dict[str, ReadContent]:
        """The contents that a frame brings, in the order in which its reply first names them."""
        found: dict[str, ReadContent] = {}
        for result in results:
            oid = result.content
            if oid is None or oid in found or state.contents.get(oid) is not None:  # type: ignore[arg-type]
                continue
            place = 2 + len(found)
            if ids[place] != oid:
                raise _Unproved
            read = self._reader.read(documents[place])
            if not self._table.all_reached(read.references):
                raise _Unproved
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

    def _check_result(
        self,
        query: Query,
        result: Result,
        new: dict[str, ReadContent],
        parent_id: ObjectId,
        parent: Generation,
    ) -> None:
        """Check that a result is one of its query, and of the content that it names."""
        operation, order = operation_of(query.arguments), result.order
        fits = (
            result.action_id == query.action_id
            and result.operation == operation
            and result.provider == query.contract
        )
        if result.content is None:
            fits &= result.status == "error" and result.error is not None and order is None
        else:
            facts = self._facts(result.content, new)
            returned = facts.items if order is None else len(order)
            fits = (
                fits
                and result.status == "ok"
                and result.error is None
                and facts.kind == KIND_OF[operation]
                and facts.truncated == result.truncated
                and (result.page is None or result.page.returned == returned)
                and (order is None or is_order(order, facts.items))
                and facts.around == self._asked(query, parent_id, parent)
            )
        if not fits:
            raise _Unproved

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

    # ---- records and index

    def _batch(
        self,
        ids: list[ObjectId],
        documents: list[bytes],
        pairs: list[tuple[Query, Result]],
        new: dict[str, ReadContent],
        state: EvidenceState,
        revision: int,
        operation_id: str,
        payload: Digest,
    ) -> Batch:
        """What is added, once records and index are those that must be."""
        place = 2 + len(new)
        if state.operations.get((revision, operation_id)) is not None:
            raise _Unproved
        records: list[tuple[Member, ObjectId, str]] = []
        frontier = state.frontier.copy()
        first: dict[str, str] = {}
        seen: set[Digest] = set()
        actions: set[str] = set()
        for position, (query, result) in enumerate(pairs):
            operation = self._reserved(query, result, revision, state)
            actions.add(query.action_id)
            if result.content is None:
                continue
            content = cast("ObjectId", result.content)
            own_id = record_id(state.count + len(records) + 1)
            duplicate_of = state.contents.get(content) or first.get(content)
            novel: list[Digest] = []
            score = 0
            if duplicate_of is None:
                # All atoms of a content that was recorded before were seen with it.
                novel, score = assess(new[content].atoms, state.seen, seen)
                seen.update(novel)
                first[content] = own_id
            member = Member(
                own_id,
                query.hypothesis_id,
                query.action_id,
                content,
                duplicate_of,
                novel,
                score,
                position,
            )
            record = record_bytes(state, revision, operation_id, ids, member)
            if record != documents[place]:
                raise _Unproved
            frontier.append(record)
            records.append((member, ids[place], operation))
            place += 1
        if len(actions) != len(pairs) or len(documents) != place + 2 or not records:
            raise _Unproved
        count = state.count + len(records)
        # Whatever the frame has but the index itself and the generation.
        retained = state.retained_bytes + state.head_bytes + sum(map(len, documents[:-2]))
        distinct = state.distinct_atoms + len(seen)
        index = index_bytes(
            state,
            revision,
            operation_id,
            payload,
            [(one.record_id, oid) for one, oid, _ in records],
            Figures(record_id(count + 1), count, distinct, retained, frontier.root()),
        )
        if index != documents[place]:
            raise _Unproved
        return Batch(
            revision,
            operation_id,
            payload,
            records,
            ids[place],
            len(index),
            distinct,
            retained,
            frontier,
        )

    def _reserved(self, query: Query, result: Result, revision: int, state: EvidenceState) -> str:
        """The operation of an action that waits for a result like this one."""
        action = self._ledger.open_action(revision, query.action_id)
        if (
            action is None
            or action.hypothesis_id != query.hypothesis_id
            or action.operation != result.operation
            or action.is_recorded
            or state.recorded(revision, query.action_id)
        ):
            raise _Unproved
        return action.operation

    def _ask_again(
        self,
        request_id: ObjectId,
        documents: list[bytes],
        parent_id: ObjectId,
        parent: Generation,
    ) -> None:
        """Check that the same is answered when the request is asked again, if that is wanted."""
        if self._router is None:
            return
        request = decode(documents[0], ToolRequest)
        package = PinnedPackage(parent_id, parent, self._table)
        answer, _ = envelope(request_id, self._router.query(package, request))
        if encode(answer) != documents[1]:
            raise _Unproved

    # ---- taking in

    def _accept(
        self,
        number: int,
        ids: list[ObjectId],
        documents: list[bytes],
        new: dict[str, ReadContent],
        batch: Batch,
    ) -> None:
        self._objects.take_reached(ids, list(map(len, documents)), number)
        for oid, read in new.items():
            self._remember(oid, read.facts)
        self._evidence.accept(batch)
        self._history.accept(ids[-1], documents[-1])
        self._at = self._history.count
        self.proved += 1
        if self._router is not None:
            self.recomputed += 1
