"""Computing a publication's records and its index from what the case has gathered.

Pure: the writer publishes what this computes, the verifier compares what is stored with
what this computes (spec: evidence, "Documents", "Novelty" and "Limits").
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vstore.errors import InvalidError, MissingReservation
from vstore.evidence.atoms import atoms
from vstore.evidence.documents import (
    RULES,
    EvidenceContent,
    EvidenceIndex,
    EvidenceRecord,
    FeedbackOrigin,
    IndexedRecord,
    RecordTree,
    ToolOrigin,
)
from vstore.evidence.novelty import assess
from vstore.evidence.record_id import record_id
from vstore.evidence.state import EvidenceState
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.sealed import Sealed, seal

__all__ = ["Assessed", "Draft", "Publication", "check_actions", "plan_publication"]


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become a record."""

    hypothesis_id: str
    action_id: str
    content: Sealed[EvidenceContent]
    origin: ToolOrigin | FeedbackOrigin


class Assessed(msgspec.Struct, frozen=True):
    """A draft, and what the history so far makes of it."""

    draft: Draft
    record_id: str
    #: First record with this content, possibly earlier in the same batch; None for itself.
    duplicate_of: str | None
    #: Sorted atoms first seen here.
    novel: list[Digest]
    novelty_score: int


class Publication(msgspec.Struct, frozen=True, kw_only=True):
    """One publication as the rules make it, and where it starts from."""

    revision: int
    operation_id: str
    payload: Digest
    #: The index and the number of publications before.
    parent: ObjectId | None
    base_sequence: int
    assessed: tuple[Assessed, ...]
    records: tuple[Sealed[EvidenceRecord], ...]
    index: Sealed[EvidenceIndex]
    #: Figures after it.
    distinct_atoms: int
    retained_bytes: int


def check_actions(state: EvidenceState, revision: int, drafts: Sequence[Draft]) -> None:
    """Check that the actions of a batch are distinct and have no record yet.

    Whether each is reserved is the budget's to say.

    Raises:
        MissingReservation: One has a record, or stands in the batch twice.
    """
    batch: set[str] = set()
    for draft in drafts:
        if draft.action_id in batch or state.recorded(revision, draft.action_id):
            raise MissingReservation(
                f"action {draft.action_id} has a record already; it can have only one",
                kind="action_recorded",
                hint="reserve another action for another query",
                action_id=draft.action_id,
            )
        batch.add(draft.action_id)


def plan_publication(
    state: EvidenceState,
    *,
    revision: int,
    operation_id: str,
    payload: Digest,
    drafts: Sequence[Draft],
    source_bytes: int,
    stored_records: Sequence[Sealed[EvidenceRecord]] | None = None,
) -> Publication:
    """The records and the index that a batch makes, computed from the state alone.

    The state stays as it is. Only what the result depends on is checked here; that actions
    are reserved and without records (:func:`check_actions`), that the operation is new
    (:meth:`EvidenceState.recognise`) and that limits hold (:mod:`vstore.evidence.limits`)
    are separate questions, so that a verifier can report them and go on.

    Args:
        state: Before the publication.
        revision: The analysis revision, 1 or more.
        operation_id: As the caller named it.
        payload: From :mod:`vstore.evidence.payload`.
        drafts: In reply order, one or more.
        source_bytes: Bytes of the documents that the drafts come from: request and
            envelope, or feedback. They bind the generation, so they are new each time.
        stored_records: For a verifier: the records as they are stored, one per draft; the
            index then commits to these instead of the computed ones.

    Raises:
        InvalidError: No drafts, a content without atoms' scope, or another number of
            stored records.
        UnsupportedError: A kind of content whose atoms this version doesn't know.
    """
    if not drafts:
        raise InvalidError("a publication has one record or more", kind="empty_batch")
    assessed = _assess_batch(state, drafts)
    records = tuple(seal(_record(state, revision, operation_id, one)) for one in assessed)
    committed = records if stored_records is None else tuple(stored_records)
    if len(committed) != len(records):
        raise InvalidError("one stored record per draft is needed", kind="invalid_batch")
    frontier = state.frontier.copy()
    for record in committed:
        frontier.append(record.encoded)
    count = state.count + len(records)
    distinct = state.distinct_atoms + sum(len(one.novel) for one in assessed)
    retained = (
        state.retained_bytes
        + state.head_bytes
        + source_bytes
        + sum(one.draft.content.size for one in assessed if one.duplicate_of is None)
        + sum(record.size for record in committed)
    )
    index = EvidenceIndex(
        case_id=state.case_id,
        package_id=state.package_id,
        analysis_revision=revision,
        parent=state.head,
        sequence=state.sequence + 1,
        rules=RULES,
        operation_id=operation_id,
        payload=payload,
        records=[
            IndexedRecord(id=one.record_id, object=record.id)
            for one, record in zip(assessed, committed, strict=True)
        ],
        next_id=record_id(count + 1),
        count=count,
        distinct_atoms=distinct,
        retained_bytes=retained,
        tree=RecordTree(size=count, root=frontier.root()),
    )
    return Publication(
        revision=revision,
        operation_id=operation_id,
        payload=payload,
        parent=state.head,
        base_sequence=state.sequence,
        assessed=assessed,
        records=records,
        index=seal(index),
        distinct_atoms=distinct,
        retained_bytes=retained,
    )


def _assess_batch(state: EvidenceState, drafts: Sequence[Draft]) -> tuple[Assessed, ...]:
    """Number, compare and score the drafts in reply order."""
    assessed: list[Assessed] = []
    batch_atoms: set[Digest] = set()
    batch_contents: dict[ObjectId, str] = {}
    for number, draft in enumerate(drafts, state.count + 1):
        own_id = record_id(number)
        novel, score = assess(atoms(draft.content.document), state.seen, batch_atoms)
        batch_atoms.update(novel)
        first = state.contents.get(draft.content.id)
        if first is None:
            first = batch_contents.setdefault(draft.content.id, own_id)
        duplicate_of = None if first == own_id else first
        assessed.append(Assessed(draft, own_id, duplicate_of, novel, score))
    return tuple(assessed)


def _record(
    state: EvidenceState, revision: int, operation_id: str, one: Assessed
) -> EvidenceRecord:
    return EvidenceRecord(
        id=one.record_id,
        case_id=state.case_id,
        package_id=state.package_id,
        analysis_revision=revision,
        hypothesis_id=one.draft.hypothesis_id,
        action_id=one.draft.action_id,
        operation_id=operation_id,
        content=one.draft.content.id,
        duplicate_of=one.duplicate_of,
        novel_atoms=one.novel,
        novelty_score=one.novelty_score,
        origin=one.draft.origin,
    )
