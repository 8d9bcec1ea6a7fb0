"""What was answered.

In memory and between processes a :class:`ToolReply` carries its items in place. In a
package it is split: contents are documents of their own (``evidence-content-v1``) and
``tool-reply-v1`` names them, so that items are stored once (spec: evidence, "Requests,
replies and time").
"""

from typing import Annotated, Literal

import msgspec

from vstore.objects.document import Count, Derived, Document, Name, Part, Pinned, Positive, document
from vstore.objects.ids import ObjectId
from vstore.package.documents import Coverage, Origin
from vstore.tools.items import DatabaseRow, SourceFile, SourceLine, TableSchema
from vstore.tools.request import Arguments

__all__ = [
    "ContentKind",
    "EnvelopeResult",
    "Failure",
    "Page",
    "ReplyEnvelope",
    "Scope",
    "ToolReply",
    "ToolResult",
    "Truncation",
]

ContentKind = Literal[
    "source_lines", "source_files", "database_rows", "database_schema", "test_observations"
]


class Scope(Part, frozen=True, kw_only=True):
    """The snapshot that was asked; name and origin are for people."""

    content: Annotated[ObjectId, Derived]
    name: Annotated[str, Derived]
    origin: Origin


class Page(Part, frozen=True, kw_only=True):
    """Which part of all matches this is."""

    offset: Annotated[Count, Derived]
    limit: Annotated[Positive | None, Derived]
    returned: Annotated[Count, Derived]
    #: All matches, or null where a limit stopped the count.
    total: Annotated[Count | None, Derived]


class Truncation(Part, frozen=True, kw_only=True):
    """What the query left out, and why."""

    #: ``limit`` (the page), ``max_matches``, ``max_bytes_scanned``, ``max_rows_scanned``,
    #: ``max_result_bytes``, ``offset`` (only what is before the page is left out); null where
    #: only files were skipped.
    limit: Annotated[str | None, Derived]
    #: The limit's value.
    value: Annotated[Count | None, Derived]
    total: Annotated[Count | None, Derived]
    #: Files not searched because they have NUL or invalid UTF-8; links not listed.
    skipped_files: Annotated[Count, Derived]


class Failure(Part, frozen=True, kw_only=True):
    """Why a query has no result. Its kind is stable; its message holds no snapshot text."""

    kind: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,63}\Z"), Derived]
    message: Annotated[str, Derived]


class ToolResult(Part, frozen=True, kw_only=True):
    """The answer to one query, items in the tool's own order."""

    action_id: Annotated[Name, Pinned]
    operation: Annotated[str, Pinned]
    status: Annotated[Literal["ok", "error"], Derived]
    #: The adapter contract that answered.
    provider: Annotated[str, Derived]
    error: Failure | None = None
    kind: Annotated[ContentKind | None, Derived] = None
    scope: Scope | None = None
    coverage: Coverage | None = None
    page: Page | None = None
    truncated: Truncation | None = None
    #: The normalised question, given only when nothing was found.
    sought: Arguments | None = None
    lines: list[SourceLine] | None = None
    files: list[SourceFile] | None = None
    rows: list[DatabaseRow] | None = None
    tables: list[TableSchema] | None = None


class ToolReply(Part, frozen=True, kw_only=True):
    """The complete answer to a request, results in the order of its queries."""

    request: Annotated[ObjectId, Pinned]
    generation: Annotated[ObjectId, Pinned]
    results: list[ToolResult]


class EnvelopeResult(Part, frozen=True, kw_only=True):
    """One position of a stored reply."""

    action_id: Annotated[Name, Pinned]
    operation: Annotated[str, Pinned]
    status: Annotated[Literal["ok", "error"], Derived]
    provider: Annotated[str, Derived]
    error: Failure | None
    page: Page | None
    truncated: Truncation | None
    content: Annotated[ObjectId | None, Derived]
    #: Where each returned item stands in the sorted content; null where the tool's own order
    #: is the sorted one and nothing was returned twice.
    order: Annotated[list[Count] | None, Derived]


@document
class ReplyEnvelope(Document, tag="tool-reply-v1", frozen=True, kw_only=True):
    """A stored reply: what was answered, with its contents named by id."""

    request: Annotated[ObjectId, Pinned]
    generation: Annotated[ObjectId, Pinned]
    results: list[EnvelopeResult]
