"""Documents of the evidence layer (spec: evidence, "Documents")."""

from typing import Annotated, Final, Literal

import msgspec

from vstore.evidence.index_documents import (
    EvidenceIndex,
    EvidenceRecord,
    FeedbackOrigin,
    IndexedRecord,
    RecordTree,
    ToolOrigin,
)
from vstore.objects.document import (
    ContentId,
    Count,
    Derived,
    Document,
    Part,
    Positive,
    RecordId,
    document,
)
from vstore.objects.ids import Digest
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
