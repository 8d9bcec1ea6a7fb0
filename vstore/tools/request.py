"""What was asked: a batch of queries with the contracts and limits in force.

A request records every effective limit and the contract of the adapter, so that a
verifier recomputes the same bytes years later (spec: evidence, "Requests, replies, time").
"""

from typing import Annotated, Final, Literal

import msgspec

from vstore.objects.document import (
    Asserted,
    Count,
    Document,
    MapKey,
    Name,
    Part,
    Pinned,
    Positive,
    document,
)
from vstore.objects.ids import ObjectId
from vstore.objects.text import Text
from vstore.tools.values import Value

__all__ = [
    "DATABASE_CONTRACT",
    "DEFAULT_PAGE",
    "OPERATIONS",
    "SOURCE_CONTRACT",
    "Arguments",
    "Condition",
    "DatabaseRows",
    "DatabaseSchema",
    "Order",
    "QueryLimits",
    "SourceList",
    "SourceRead",
    "SourceSearch",
    "ToolQuery",
    "ToolRequest",
    "operation_of",
]

SOURCE_CONTRACT: Final = "source-snapshot/1"
DATABASE_CONTRACT: Final = "database-snapshot/1"
DEFAULT_PAGE: Final = 100


class _Arguments(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="operation"
):
    pass


class SourceList(_Arguments, tag="source.list", frozen=True, kw_only=True):
    """The files of a source, in byte order of their paths."""

    source: Annotated[MapKey, Asserted]
    #: A file or folder; everything where null.
    under: Annotated[Text | None, Asserted] = None
    limit: Annotated[Positive, Asserted] = DEFAULT_PAGE
    offset: Annotated[Count, Asserted] = 0


class SourceSearch(_Arguments, tag="source.search", frozen=True, kw_only=True):
    """Lines that hold a literal, or match an RE2 pattern."""

    source: Annotated[MapKey, Asserted]
    pattern: Annotated[str, msgspec.Meta(min_length=1, max_length=1000), Asserted]
    syntax: Annotated[Literal["literal", "re2"], Asserted] = "literal"
    #: ASCII letters match in either case.
    ignore_case: Annotated[bool, Asserted] = False
    under: Annotated[Text | None, Asserted] = None
    limit: Annotated[Positive, Asserted] = DEFAULT_PAGE
    offset: Annotated[Count, Asserted] = 0


class SourceRead(_Arguments, tag="source.read", frozen=True, kw_only=True):
    """Lines ``start`` to ``end`` of a file, both included, 1 for the first."""

    source: Annotated[MapKey, Asserted]
    path: Annotated[Text, Asserted]
    start: Annotated[Positive, Asserted] = 1
    #: The last line, or null for the file's last.
    end: Annotated[Positive | None, Asserted] = None


class DatabaseSchema(_Arguments, tag="database.schema", frozen=True, kw_only=True):
    """Tables, views and triggers, sorted by name."""

    database: Annotated[MapKey, Asserted]
    #: A name; for a table also its triggers.
    table: Annotated[Text | None, Asserted] = None
    type: Annotated[Literal["table", "view", "trigger", "virtual", "shadow"] | None, Asserted] = (
        None
    )
    limit: Annotated[Positive, Asserted] = DEFAULT_PAGE
    offset: Annotated[Count, Asserted] = 0


class Condition(Part, frozen=True, kw_only=True):
    """One condition on a row; all of a query's conditions must hold.

    Order is null < number (exact) < text (bytes) < blob; no affinity, no collation. Unlike
    SQL, ``eq`` null holds for null.
    """

    column: Annotated[Text, Asserted]
    op: Annotated[Literal["eq", "ne", "lt", "le", "gt", "ge", "contains", "prefix"], Asserted]
    value: Annotated[Value, Asserted]


class Order(Part, frozen=True, kw_only=True):
    """One sort key; ties keep the snapshot's own order."""

    column: Annotated[Text, Asserted]
    descending: Annotated[bool, Asserted] = False


class DatabaseRows(_Arguments, tag="database.rows", frozen=True, kw_only=True):
    """Rows of a table. ``rowid`` counts as a column where the table has rowids."""

    database: Annotated[MapKey, Asserted]
    table: Annotated[Text, Asserted]
    #: Columns to return, in this order; all of the table's where null.
    columns: Annotated[list[Text] | None, Asserted] = None
    where: Annotated[list[Condition], Asserted] = []
    order: Annotated[list[Order], Asserted] = []
    limit: Annotated[Positive, Asserted] = DEFAULT_PAGE
    offset: Annotated[Count, Asserted] = 0


Arguments = SourceList | SourceSearch | SourceRead | DatabaseSchema | DatabaseRows

#: Operation name to the contract of the adapter that answers it by default.
OPERATIONS: Final[dict[str, str]] = {
    "source.list": SOURCE_CONTRACT,
    "source.search": SOURCE_CONTRACT,
    "source.read": SOURCE_CONTRACT,
    "database.schema": DATABASE_CONTRACT,
    "database.rows": DATABASE_CONTRACT,
}


def operation_of(arguments: Arguments) -> str:
    """The operation's name, such as ``source.search``."""
    tag = arguments.__struct_config__.tag
    assert isinstance(tag, str)
    return tag


class QueryLimits(Part, frozen=True, kw_only=True):
    """Effective operational limits of one query, all deterministic (no clocks)."""

    #: Items returned at the most.
    max_matches: Annotated[Positive, Asserted] = 1_000
    #: Bytes of files looked at.
    max_bytes_scanned: Annotated[Positive, Asserted] = 1 << 30
    #: Rows looked at.
    max_rows_scanned: Annotated[Positive, Asserted] = 10_000_000
    #: Canonical bytes of the items returned.
    max_result_bytes: Annotated[Positive, Asserted] = 2 << 20


class ToolQuery(Part, frozen=True, kw_only=True):
    """One question of a batch, on behalf of one hypothesis and one reserved action."""

    hypothesis_id: Annotated[Name, Pinned]
    action_id: Annotated[Name, Pinned]
    contract: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,63}/[0-9]{1,4}\Z"), Asserted]
    limits: QueryLimits
    arguments: Arguments


@document
class ToolRequest(Document, tag="tool-request-v1", frozen=True, kw_only=True):
    """A batch of queries, bound to one generation of one package."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Pinned]
    generation: Annotated[ObjectId, Pinned]
    queries: Annotated[list[ToolQuery], msgspec.Meta(min_length=1, max_length=100)]
