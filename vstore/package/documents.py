"""Documents of the package layer (spec: lifecycle, "Generation").

A *generation* is an immutable state of a package, linked to its parent as a commit is.
"""

from typing import Annotated, Literal

import msgspec

from vstore.objects.document import (
    Asserted,
    Count,
    Derived,
    Document,
    MapKey,
    Name,
    Part,
    Pinned,
    Positive,
    document,
)
from vstore.objects.ids import Digest, ObjectId, StatedDigest

__all__ = [
    "BLOCK_REASONS",
    "STATES",
    "BlockReason",
    "Blocked",
    "Coverage",
    "Event",
    "Generation",
    "History",
    "Hypotheses",
    "Hypothesis",
    "Instant",
    "Origin",
    "SnapshotDescriptor",
    "State",
]

State = Literal[
    "ADMITTED",
    "INTERPRETING",
    "GENERATING_HYPOTHESES",
    "INVESTIGATING_HYPOTHESES",
    "DIAGNOSED",
    "CLOSED",
    "BLOCKED",
    "REOPENED",
]
STATES: tuple[State, ...] = (
    "ADMITTED",
    "INTERPRETING",
    "GENERATING_HYPOTHESES",
    "INVESTIGATING_HYPOTHESES",
    "DIAGNOSED",
    "CLOSED",
    "BLOCKED",
    "REOPENED",
)
BlockReason = Literal[
    "AWAITING_TEST_FEEDBACK", "BUDGET_EXHAUSTED", "PROVIDER_UNAVAILABLE", "OPERATOR_HOLD"
]
BLOCK_REASONS: tuple[BlockReason, ...] = (
    "AWAITING_TEST_FEEDBACK",
    "BUDGET_EXHAUSTED",
    "PROVIDER_UNAVAILABLE",
    "OPERATOR_HOLD",
)

#: An instant in UTC, to the second, RFC 3339 with ``Z``.
Instant = Annotated[
    str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z")
]


class Blocked(Part, frozen=True, kw_only=True):
    """Why a case waits, and what ends the wait."""

    reason: Annotated[BlockReason, Asserted]
    resume_state: Annotated[State, Derived]
    retry_not_before: Annotated[Instant | None, Asserted]
    automatic_retry: Annotated[bool, Asserted]


class Event(Part, frozen=True, kw_only=True):
    """One thing that happened in a generation."""

    #: ``init``, ``advance``, ``input.add``, ``source.add``, ``database.add``, ``hypotheses``,
    #: ``evidence.tool_results``, ``budget.initialise``, ``budget.reserve`` ...
    kind: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_.]{0,63}\Z"), Asserted]
    operation_id: Annotated[Name | None, Asserted]
    actor: Annotated[str, msgspec.Meta(min_length=1, max_length=200), Asserted]
    at: Annotated[Instant, Asserted]
    reason: Annotated[Annotated[str, msgspec.Meta(max_length=2000)] | None, Asserted]


class History(Part, frozen=True, kw_only=True):
    """Merkle tree (RFC 9162, SHA-256) over the canonical bytes of all generations before."""

    size: Annotated[Count, Derived]
    root: Annotated[Digest, Derived]


@document
class Generation(Document, tag="package-generation-v1", frozen=True, kw_only=True):
    """An immutable state of a package."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    package_generation: Annotated[Positive, Derived]
    analysis_revision: Annotated[Positive, Derived]
    state: Annotated[State, Derived]
    blocked: Blocked | None
    parent: Annotated[ObjectId | None, Pinned]
    history: History
    #: The tree of the raw input; its id is the raw input identity.
    inputs: Annotated[ObjectId, Pinned]
    #: Snapshot name to the id of its descriptor.
    snapshots: Annotated[dict[MapKey, ObjectId], Pinned]
    #: Tree of test attachments, or null while there are none.
    attachments: Annotated[ObjectId | None, Pinned]
    artifacts: Annotated[dict[MapKey, ObjectId], Pinned]
    #: Roots that this generation adds, by role; never what they refer to in turn.
    declared: Annotated[dict[MapKey, list[ObjectId]], Derived]
    events: Annotated[list[Event], msgspec.Meta(min_length=1)]


class Origin(Part, frozen=True, kw_only=True):
    """Where a snapshot was taken from, for people."""

    #: ``directory``, ``git``, ``wheel``, ``sdist``, ``zip``, ``tar``, ``sqlite``, ``jsonl``.
    kind: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_.]{0,63}\Z"), Asserted]
    #: A commit, a version, a file name, a dump time: what the operator said.
    label: Annotated[str, msgspec.Meta(max_length=1000), Asserted]
    #: Digest of the archive or file that was read, where there was one.
    digest: Annotated[StatedDigest | None, Asserted]


class Coverage(Part, frozen=True, kw_only=True):
    """What a snapshot claims to hold of the thing it was taken from."""

    kind: Annotated[Literal["complete", "partial"], Asserted]
    statement: Annotated[str, msgspec.Meta(max_length=20_000), Asserted]


@document
class SnapshotDescriptor(Document, tag="snapshot-descriptor-v1", frozen=True, kw_only=True):
    """A pinned source or database, as the operator named it."""

    name: Annotated[MapKey, Pinned]
    kind: Annotated[Literal["source", "database"], Pinned]
    #: The snapshot's identity: its root tree, or its ``database-content-v1``.
    content: Annotated[ObjectId, Pinned]
    origin: Origin
    coverage: Coverage


class Hypothesis(Part, frozen=True, kw_only=True):
    """One possible explanation of the bug."""

    id: Annotated[Name, Asserted]
    statement: Annotated[str, msgspec.Meta(min_length=1, max_length=4000), Asserted]
    confidence: Annotated[
        Literal["open", "strengthened", "weakened", "confirmed", "refuted"], Asserted
    ]
    open_questions: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]], Asserted
    ]


@document
class Hypotheses(Document, tag="hypotheses-v1", frozen=True, kw_only=True):
    """The hypotheses of one analysis revision, in the order in which they were stated."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypotheses: Annotated[list[Hypothesis], msgspec.Meta(min_length=1, max_length=100)]
