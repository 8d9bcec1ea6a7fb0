"""Documents of the evidence layer (spec: evidence, "Documents")."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from vstore.objects.document import (
    Asserted,
    ContentId,
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
from vstore.objects.text import Text
from vstore.package.documents import Coverage
from vstore.tools.items import LineText, Location, TableSchema
from vstore.tools.reply import ContentKind, Scope, Truncation
from vstore.tools.request import Arguments
from vstore.tools.values import Value

__all__ = [
    "RULES",
    "EvidenceContent",
    "EvidenceIndex",
    "EvidenceRecord",
    "FeedbackOrigin",
    "FileEntry",
    "FileLines",
    "IndexedRecord",
    "NumberedLine",
    "PlacedRow",
    "RecordId",
    "RecordTree",
    "SoughtTest",
    "TableRows",
    "TestFact",
    "TestObservation",
    "TestScope",
    "ToolOrigin",
    "member_of",
]

RULES: Final = "evidence/1"


class NumberedLine(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A line within its file, written as the pair ``[number, text]``."""

    line: Annotated[Positive, Derived]
    text: Annotated[LineText, Derived]


class FileLines(Part, frozen=True, kw_only=True):
    """Lines of one file, by number."""

    path: Annotated[Text, Derived]
    file: Annotated[ContentId, Derived]
    lines: list[NumberedLine]


class FileEntry(Part, frozen=True, kw_only=True):
    """One file."""

    path: Annotated[Text, Derived]
    file: Annotated[ContentId, Derived]
    size: Annotated[Count, Derived]


class PlacedRow(Part, frozen=True, kw_only=True):
    """One row within its group: its place, its digest, the values of the group's columns."""

    location: Location
    row: Annotated[Digest, Derived]
    #: One value for each of the group's columns.
    values: Annotated[list[Value], Derived]


class TableRows(Part, frozen=True, kw_only=True):
    """Rows of one table in one projection."""

    table: Annotated[Text, Derived]
    #: Names of the selected columns, in the order of the query.
    columns: Annotated[list[Text], Derived]
    rows: list[PlacedRow]


class TestObservation(Part, frozen=True, kw_only=True):
    """What a tester was asked to observe, and what was observed."""

    __test__ = False

    asked: Annotated[str, Derived]
    observed: Annotated[str, Derived]
    attachments: Annotated[list[ContentId], Derived]


class TestFact(Part, frozen=True, kw_only=True):
    """One fact about where a test ran."""

    __test__ = False

    name: Annotated[str, Derived]
    value: Annotated[str, Derived]


class TestScope(Part, frozen=True, kw_only=True):
    """What observations of a test are about, without any id."""

    __test__ = False

    executor: Annotated[Literal["human", "automated"], Derived]
    #: As observed, sorted by name; each name once.
    environment: list[TestFact]


class SoughtTest(Part, tag="testing.request", tag_field="operation", frozen=True, kw_only=True):
    """What a tester was asked who could not test."""

    question: Annotated[str, Derived]
    steps: Annotated[list[str], Derived]
    #: The texts of what was to be observed, sorted, each once.
    observations: Annotated[list[str], Derived]


@document
class EvidenceContent(Document, tag="evidence-content-v1", frozen=True, kw_only=True):
    """What was observed, apart from how it was asked; items sorted, grouped, no repeats.

    Exactly the member of its ``kind`` holds items; the others are null. Contents of
    snapshots have ``scope`` and ``coverage``, those of tests have ``tested`` instead.
    """

    kind: Annotated[ContentKind, Derived]
    scope: Scope | None
    coverage: Coverage | None
    tested: TestScope | None
    truncated: Truncation | None
    #: The normalised question, only in a content without items.
    sought: Arguments | SoughtTest | None
    lines: list[FileLines] | None
    files: list[FileEntry] | None
    rows: list[TableRows] | None
    tables: list[TableSchema] | None
    observations: list[TestObservation] | None


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


_KINDS: Final[dict[str, str]] = {
    "source_lines": "lines",
    "source_files": "files",
    "database_rows": "rows",
    "database_schema": "tables",
    "test_observations": "observations",
}


def member_of(kind: str) -> Literal["lines", "files", "rows", "tables", "observations"]:
    """The member of a content that holds items of this kind."""
    return _KINDS[kind]  # type: ignore[return-value]
