"""Documents that say which evidence a case has: records and the chain of indices.

Apart from what was observed (``documents`` has that and names all of them), because a command
that only adds to the ledger reads no more of the evidence than this.
"""

from typing import Annotated

import msgspec

from vstore.objects.document import (
    Asserted,
    Count,
    Derived,
    Document,
    Name,
    Part,
    Percent,
    Pinned,
    Positive,
    RecordId,
    document,
)
from vstore.objects.ids import Digest, ObjectId

__all__ = [
    "EvidenceIndex",
    "EvidenceRecord",
    "FeedbackOrigin",
    "IndexedRecord",
    "RecordTree",
    "ToolOrigin",
]


class ToolOrigin(Part, tag="tool", tag_field="kind", frozen=True, kw_only=True):
    """Comes from a stored reply."""

    request: Annotated[ObjectId, Pinned]
    reply: Annotated[ObjectId, Pinned]
    #: 0-based position in the reply.
    position: Annotated[Count, Pinned]


class FeedbackOrigin(Part, tag="feedback", tag_field="kind", frozen=True, kw_only=True):
    """Comes from a confirmed test feedback."""

    feedback: Annotated[ObjectId, Pinned]


@document
class EvidenceRecord(Document, tag="evidence-record-v1", frozen=True, kw_only=True):
    """One observation of a case, numbered for ever."""

    id: Annotated[RecordId, Derived]
    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    hypothesis_id: Annotated[Name, Pinned]
    action_id: Annotated[Name, Pinned]
    operation_id: Annotated[Name, Pinned]
    content: Annotated[ObjectId, Derived]
    #: The first record of the case with the same content, or null.
    duplicate_of: Annotated[RecordId | None, Derived]
    #: Sorted digests of the atoms first seen in this record.
    novel_atoms: Annotated[list[Digest], Derived]
    novelty_score: Annotated[Percent, Derived]
    origin: ToolOrigin | FeedbackOrigin


class IndexedRecord(Part, frozen=True, kw_only=True):
    """A record that an index adds."""

    id: Annotated[RecordId, Derived]
    object: Annotated[ObjectId, Derived]


class RecordTree(Part, frozen=True, kw_only=True):
    """Merkle tree (RFC 9162, SHA-256) over the canonical bytes of all records so far."""

    size: Annotated[Count, Derived]
    root: Annotated[Digest, Derived]


@document
class EvidenceIndex(Document, tag="evidence-index-v1", frozen=True, kw_only=True):
    """The evidence of a case so far, as a chain: commits to all, costs the same each time."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    parent: Annotated[ObjectId | None, Pinned]
    #: 1 for the first index of the case.
    sequence: Annotated[Positive, Derived]
    rules: Annotated[str, msgspec.Meta(pattern=r"^evidence/[1-9][0-9]{0,3}\Z"), Asserted]
    operation_id: Annotated[Name, Asserted]
    #: Digest of what was to be stored, the generation left out: makes a repeat recognisable.
    payload: Annotated[Digest, Derived]
    records: Annotated[list[IndexedRecord], msgspec.Meta(min_length=1)]
    next_id: Annotated[RecordId, Derived]
    #: Records so far.
    count: Annotated[Count, Derived]
    distinct_atoms: Annotated[Count, Derived]
    #: Uncompressed bytes of distinct requests, envelopes, contents, records, feedback and
    #: earlier indices.
    retained_bytes: Annotated[Count, Derived]
    tree: RecordTree
