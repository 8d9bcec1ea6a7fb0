"""The swift pass: a publication of tool results proved right as a whole.

Most frames of a long history store one batch of tool results, and most packages are sound.
For such a frame this pass computes what must be in it, from the state so far and from the
few members that nothing determines, and compares whole documents with what is stored:

=================  ===================================================================
request, reply     read strictly and checked against each other
                   (:mod:`vstore.verify.swift_read`), bound to the state
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

from vstore.evidence.content import envelope
from vstore.evidence.novelty import assess
from vstore.evidence.record_id import record_id
from vstore.objects.canonical import decode, encode
from vstore.objects.frame import FrameSummary
from vstore.objects.ids import Digest, ObjectId, digest_of
from vstore.objects.merkle import Frontier
from vstore.package.documents import Generation
from vstore.package.lifecycle import Position, check, starts_revision
from vstore.package.pinned import PinnedPackage
from vstore.tools.reply import Scope
from vstore.tools.request import ToolRequest
from vstore.verify.checks.replies import is_order
from vstore.verify.swift_contents import Around, ContentFacts, ContentReader, ReadContent
from vstore.verify.swift_documents import (
    INDEX,
    Figures,
    GenerationForm,
    Member,
    between,
    index_bytes,
    payload_bytes,
    read_events,
    record_bytes,
    reply_head,
    request_head,
)
from vstore.verify.swift_ledger import LEDGER, RESERVE, ReservedFrame, reserve_again
from vstore.verify.swift_read import REPLY_END, REQUEST_END, Answer, Publication

if TYPE_CHECKING:
    from vstore.evidence.state import EvidenceState
    from vstore.tools.router import Router
    from vstore.verify.checks.evidence import EvidenceCheck
    from vstore.verify.checks.history import HistoryCheck
    from vstore.verify.checks.ledger import LedgerCheck
    from vstore.verify.checks.objects import ObjectCheck

__all__ = ["Batch", "SwiftPass"]

_EVENT: Final = "evidence.tool_results"
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
        #: Frames of reservations that were proved.
        self.reserved = 0

    def take(self, frame: FrameSummary, number: int, publication: Publication) -> bool:
        """Take in a frame if it is right in every respect; else do nothing.

        Args:
            frame: Its header, already checked.
            number: By which the table of objects finds the payload again.
            publication: What was read of it.

        Returns:
            Whether it was taken in.
        """
        if self._history.count == 0 or self._objects.waits:
            return False
        try:
            return self._prove(frame, number, publication)
        except Exception:  # noqa: BLE001 - whatever it is, the careful checks will say it
            return False

    def _prove(self, frame: FrameSummary, number: int, one: Publication) -> bool:
        history, state = self._history, self._evidence.state
        form, parent_id, ids = self._current_form(), history.head_id, one.ids
        if form is None or state is None or parent_id is None:
            return False
        parent = form.parent
        revision = parent.analysis_revision
        if (
            ids[-1].to_bytes() != frame.raw_generation
            or parent_id.to_bytes() != frame.raw_parent
            or one.request != request_head(state, revision, parent_id)
            or one.reply != reply_head(ids[0], parent_id)
            or self._table.any_known(ids)
        ):
            return False
        new = self._new_contents(one, state)
        for answer in one.answers:
            self._check_answer(answer, new, parent_id, parent)
        around = form.around_events(parent_id, history.count, history.frontier.root(), ids[-2])
        (event,) = read_events(between(one.rest[-1], around))
        if event.kind != _EVENT or event.operation_id is None:
            return False
        batch = self._batch(one, new, state, revision, event.operation_id)
        self._ask_again(one, parent_id, parent)
        self._accept(number, one, new, batch)
        return True

    def take_reserved(self, frame: FrameSummary, number: int, reserved: ReservedFrame) -> bool:
        """As :meth:`take`, for a frame of reservations."""
        if self._history.count == 0 or self._objects.waits:
            return False
        try:
            return self._prove_reserved(frame, number, reserved)
        except Exception:  # noqa: BLE001 - whatever it is, the careful checks will say it
            return False

    def _prove_reserved(self, frame: FrameSummary, number: int, one: ReservedFrame) -> bool:
        history, ledger = self._history, self._ledger.state
        form, parent_id = self._form_of(RESERVE, LEDGER), history.head_id
        if (
            form is None
            or ledger is None
            or parent_id is None
            or ledger.revision != form.parent.analysis_revision
            or one.ids[-1].to_bytes() != frame.raw_generation
            or parent_id.to_bytes() != frame.raw_parent
            or self._table.any_known(one.ids)
        ):
            return False
        reservations = reserve_again(ledger, one)
        if reservations is None:
            return False
        root = history.frontier.root()
        around = form.around_events(parent_id, history.count, root, reservations.head)
        (event,) = read_events(between(one.generation, around))
        if event.kind != RESERVE:
            return False
        self._objects.take_reached(one.ids, one.sizes, number)
        self._ledger.accept(reservations)
        history.accept(one.ids[-1], one.generation)
        self.reserved += 1
        return True

    def _current_form(self) -> GenerationForm | None:
        """The form of a generation that stores tool results now; None where none may."""
        if self._at != self._history.count:
            self._at, self._form = self._history.count, self._form_of(_EVENT, INDEX)
        return self._form

    def _form_of(self, event: str, artifact: str) -> GenerationForm | None:
        """The form of a generation in which this event changes this artifact; or None."""
        history = self._history
        parent, ledger, state = history.believed, self._ledger.state, self._evidence.state
        if parent is None or ledger is None or state is None or parent.blocked is not None:
            return None
        rule = check(Position.of(parent), event)
        if (
            rule.target is None
            and f"artifacts.{artifact}" in rule.changes
            and not starts_revision(event)
            and parent.package_generation == history.count
            and (parent.case_id, parent.package_id) == (state.case_id, state.package_id)
            and parent.artifacts.get(INDEX) == state.head
            and parent.artifacts.get(LEDGER) == ledger.head
            and parent.artifacts.get("budget_policy") == ledger.policy_id
        ):
            return GenerationForm(parent, artifact)
        return None

    # ---- contents and results

    def _new_contents(self, one: Publication, state: EvidenceState) -> dict[str, ReadContent]:
        """The contents that a frame brings: the ones that its reply names and no record has."""
        found: dict[str, ReadContent] = {}
        for answer in one.answers:
            oid, place = answer.content, len(found)
            if oid is None or oid in found or state.contents.get(oid) is not None:
                continue
            read = one.contents[place]
            if one.ids[2 + place] != oid or not self._table.all_reached(read.references):
                raise _Unproved
            found[oid] = read
        if len(found) != len(one.contents):
            raise _Unproved
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

    def _check_answer(
        self,
        answer: Answer,
        new: dict[str, ReadContent],
        parent_id: ObjectId,
        parent: Generation,
    ) -> None:
        """Check that a result is of the content that it names, and that of what was asked."""
        if answer.content is None:
            return
        facts, order = self._facts(answer.content, new), answer.order
        returned = facts.items if order is None else len(order)
        if (
            facts.kind != answer.content_kind
            or facts.truncated != answer.truncated
            or answer.returned not in (None, returned)
            or not (order is None or is_order(order, facts.items))
            or facts.around != self._asked(answer, parent_id, parent)
        ):
            raise _Unproved

    def _asked(self, answer: Answer, parent_id: ObjectId, parent: Generation) -> Around:
        """Scope and coverage of the snapshot that was asked."""
        name, kind = answer.snapshot, answer.snapshot_kind
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
        one: Publication,
        new: dict[str, ReadContent],
        state: EvidenceState,
        revision: int,
        operation_id: str,
    ) -> Batch:
        """What is added, once records and index are those that must be."""
        ids, place = one.ids, 2 + len(new)
        if state.operations.get((revision, operation_id)) is not None:
            raise _Unproved
        records: list[tuple[Member, ObjectId, str]] = []
        frontier = state.frontier.copy()
        first: dict[str, str] = {}
        seen: set[Digest] = set()
        actions: set[str] = set()
        for position, answer in enumerate(one.answers):
            self._check_reserved(answer, revision, state)
            actions.add(answer.action_id)
            content = answer.content
            if content is None:
                continue
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
                answer.hypothesis_id,
                answer.action_id,
                content,
                duplicate_of,
                novel,
                score,
                position,
            )
            record = record_bytes(state, revision, operation_id, ids, member)
            if record != one.rest[len(records)]:
                raise _Unproved
            frontier.append(record)
            records.append((member, ids[place], answer.operation))
            place += 1
        if len(actions) != len(one.answers) or len(ids) != place + 2 or not records:
            raise _Unproved
        count = state.count + len(records)
        # Whatever the frame has but the index itself and the generation.
        retained = state.retained_bytes + state.head_bytes + sum(one.sizes[:-2])
        distinct = state.distinct_atoms + len(seen)
        payload = digest_of(payload_bytes(state, revision, one.queries, one.results))
        index = index_bytes(
            state,
            revision,
            operation_id,
            payload,
            [(member.record_id, oid) for member, oid, _ in records],
            Figures(record_id(count + 1), count, distinct, retained, frontier.root()),
        )
        if index != one.rest[-2]:
            raise _Unproved
        return Batch(
            revision,
            operation_id,
            payload,
            records,
            ids[-2],
            len(index),
            distinct,
            retained,
            frontier,
        )

    def _check_reserved(self, answer: Answer, revision: int, state: EvidenceState) -> None:
        """Check that an action waits for a result like this one."""
        action = self._ledger.open_action(revision, answer.action_id)
        if (
            action is None
            or action.hypothesis_id != answer.hypothesis_id
            or action.operation != answer.operation
            or action.is_recorded
            or state.recorded(revision, answer.action_id)
        ):
            raise _Unproved

    def _ask_again(self, one: Publication, parent_id: ObjectId, parent: Generation) -> None:
        """Check that the same is answered when the request is asked again, if that is wanted."""
        if self._router is None:
            return
        request = decode(one.request + one.queries + REQUEST_END, ToolRequest)
        package = PinnedPackage(parent_id, parent, self._table)
        answer, _ = envelope(one.ids[0], self._router.query(package, request))
        if encode(answer) != one.reply + one.results + REPLY_END:
            raise _Unproved

    # ---- taking in

    def _accept(
        self, number: int, one: Publication, new: dict[str, ReadContent], batch: Batch
    ) -> None:
        self._objects.take_reached(one.ids, one.sizes, number)
        for oid, read in new.items():
            self._remember(oid, read.facts)
        self._evidence.accept(batch)
        self._history.accept(one.ids[-1], one.rest[-1])
        self._at = self._history.count
        self.proved += 1
        if self._router is not None:
            self.recomputed += 1
