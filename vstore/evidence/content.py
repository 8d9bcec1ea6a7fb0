"""Normalising what a tool answered into a content, and back.

A content is what was observed apart from how it was asked: items sorted, without repeats,
grouped so that nothing is written twice. The envelope keeps the rest of the reply, and the
tool's own order where it differs, so that the two together give the reply back
(spec: evidence, "Requests, replies and time" and "Documents").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from vstore.errors import InvalidError
from vstore.evidence.documents import (
    EvidenceContent,
    FileEntry,
    FileLines,
    NumberedLine,
    PlacedRow,
    SoughtTest,
    TableRows,
    TestObservation,
    member_of,
)
from vstore.evidence.ordering import arrange, key_of_kind
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed, seal
from vstore.tools.items import Column, DatabaseRow, Item, SourceFile, SourceLine
from vstore.tools.reply import EnvelopeResult, ReplyEnvelope, ToolReply, ToolResult

__all__ = ["envelope", "item_count", "items", "normalise", "restore"]


def normalise(result: ToolResult) -> tuple[EvidenceContent, list[int] | None]:
    """The content of a successful result.

    Args:
        result: One position of a reply, with status ``ok``.

    Returns:
        The content, and where each returned item stands in it (0-based); None in its place
        when the tool's own order is the sorted one and nothing was returned twice.

    Raises:
        InvalidError: The result isn't well-formed: an error, a member of another kind,
            a count that is wrong, ``sought`` beside items, two items that claim one place.
    """
    if result.status != "ok" or result.error is not None:
        raise _malformed("not a successful result")
    kind = result.kind
    if kind is None or kind == "test_observations":
        raise _malformed("a result of no kind that tools return")
    if result.scope is None or result.coverage is None:
        raise _malformed("a result without scope or coverage")
    member = member_of(kind)
    returned: Sequence[Any] | None = getattr(result, member)
    if returned is None or any(
        getattr(result, other) is not None
        for other in ("lines", "files", "rows", "tables")
        if other != member
    ):
        raise _malformed("items that are not of the result's kind")
    if result.page is not None and result.page.returned != len(returned):
        raise _malformed("a page that miscounts its items")
    if (result.sought is None) == (not returned):
        raise _malformed("the normalised question stands where, and only where, nothing is found")
    arranged, order = arrange(returned, key_of_kind(kind))
    return (
        EvidenceContent(
            kind=kind,
            scope=result.scope,
            coverage=result.coverage,
            tested=None,
            truncated=result.truncated,
            sought=result.sought,
            lines=_group_lines(arranged) if member == "lines" else None,
            files=_plain_files(arranged) if member == "files" else None,
            rows=_group_rows(arranged) if member == "rows" else None,
            tables=arranged if member == "tables" else None,
            observations=None,
        ),
        order,
    )


def envelope(
    request: ObjectId, reply: ToolReply
) -> tuple[ReplyEnvelope, list[Sealed[EvidenceContent] | None]]:
    """Split a reply into the document that is stored and its contents.

    Args:
        request: The id of the stored request.
        reply: The complete reply.

    Returns:
        The envelope, and per position the content; None for an error result.

    Raises:
        InvalidError: A result isn't well-formed.
    """
    results: list[EnvelopeResult] = []
    contents: list[Sealed[EvidenceContent] | None] = []
    for result in reply.results:
        content: Sealed[EvidenceContent] | None = None
        order: list[int] | None = None
        if result.status == "ok":
            document, order = normalise(result)
            content = seal(document)
        else:
            _check_error(result)
        contents.append(content)
        results.append(
            EnvelopeResult(
                action_id=result.action_id,
                operation=result.operation,
                status=result.status,
                provider=result.provider,
                error=result.error,
                page=result.page,
                truncated=result.truncated,
                content=None if content is None else content.id,
                order=order,
            )
        )
    return (
        ReplyEnvelope(request=request, generation=reply.generation, results=results),
        contents,
    )


def restore(stored: ReplyEnvelope, content_of: Callable[[ObjectId], EvidenceContent]) -> ToolReply:
    """The reply that an envelope and its contents were made from.

    Args:
        stored: The envelope.
        content_of: Reads a content by id; what it raises passes through.

    Raises:
        InvalidError: Envelope and contents don't fit together.
    """
    return ToolReply(
        request=stored.request,
        generation=stored.generation,
        results=[
            _restore_result(one, None if one.content is None else content_of(one.content))
            for one in stored.results
        ],
    )


def items(content: EvidenceContent) -> Iterator[Item | TestObservation]:
    """The items of a content, ungrouped, in their order."""
    for group in content.lines or ():
        for numbered in group.lines:
            yield SourceLine(
                path=group.path, file=group.file, line=numbered.line, text=numbered.text
            )
    for entry in content.files or ():
        yield SourceFile(path=entry.path, file=entry.file, size=entry.size)
    for table in content.rows or ():
        for row in table.rows:
            if len(row.values) != len(table.columns):
                raise InvalidError(
                    "a row whose values don't match the columns", kind="invalid_content"
                )
            yield DatabaseRow(
                table=table.table,
                location=row.location,
                row=row.row,
                columns=list(map(Column, table.columns, row.values)),
            )
    yield from content.tables or ()
    yield from content.observations or ()


def item_count(content: EvidenceContent) -> int:
    """How many items a content has, without ungrouping them."""
    return (
        sum(len(group.lines) for group in content.lines or ())
        + len(content.files or ())
        + sum(len(table.rows) for table in content.rows or ())
        + len(content.tables or ())
        + len(content.observations or ())
    )


def _group_lines(arranged: list[SourceLine]) -> list[FileLines]:
    return [
        FileLines(path=path, file=file, lines=[NumberedLine(one.line, one.text) for one in members])
        for (path, file), members in groupby(arranged, lambda one: (one.path, one.file))
    ]


def _plain_files(arranged: list[SourceFile]) -> list[FileEntry]:
    return [FileEntry(path=one.path, file=one.file, size=one.size) for one in arranged]


def _group_rows(arranged: list[DatabaseRow]) -> list[TableRows]:
    return [
        TableRows(
            table=table,
            columns=list(columns),
            rows=[
                PlacedRow(
                    location=one.location,
                    row=one.row,
                    values=[column.value for column in one.columns],
                )
                for one in members
            ],
        )
        for (table, columns), members in groupby(
            arranged, lambda one: (one.table, tuple(column.name for column in one.columns))
        )
    ]


def _restore_result(stored: EnvelopeResult, content: EvidenceContent | None) -> ToolResult:
    if content is None:
        if stored.status == "ok" or stored.order is not None:
            raise _malformed("a successful result without a content")
        return ToolResult(
            action_id=stored.action_id,
            operation=stored.operation,
            status=stored.status,
            provider=stored.provider,
            error=stored.error,
            page=stored.page,
            truncated=stored.truncated,
        )
    found = list(items(content))
    if stored.order is not None:
        if any(at >= len(found) for at in stored.order) or len(set(stored.order)) != len(found):
            raise _malformed("an order that doesn't fit its content")
        found = [found[at] for at in stored.order]
    member, sought = member_of(content.kind), content.sought
    if member == "observations" or isinstance(sought, SoughtTest):
        raise _malformed("observations of a test in a tool's reply")
    members: dict[str, Any] = {member: found}
    return ToolResult(
        action_id=stored.action_id,
        operation=stored.operation,
        status=stored.status,
        provider=stored.provider,
        error=stored.error,
        kind=content.kind,
        scope=content.scope,
        coverage=content.coverage,
        page=stored.page,
        truncated=stored.truncated,
        sought=sought,
        **members,
    )


def _check_error(result: ToolResult) -> None:
    """An error result says nothing about the snapshot: the envelope has no room for it."""
    if result.error is None or any(
        getattr(result, name) is not None
        for name in ("kind", "scope", "coverage", "sought", "lines", "files", "rows", "tables")
    ):
        raise _malformed("an error result without an error, or with more than an error")


def _malformed(what: str) -> InvalidError:
    return InvalidError(what, kind="malformed_reply")
