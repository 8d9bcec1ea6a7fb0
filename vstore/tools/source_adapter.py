"""``source-snapshot/1``: listing, searching and reading pinned sources.

Paths are bytes, given as listed. Links are kept in a snapshot as links, and are never
followed: ``source.list`` leaves them out and counts them in ``truncated.skipped_files``,
``source.search`` looks into files only, and a path that is a link is an error
(``not_a_file``). Kinds of errors: ``unknown_source``, ``unknown_path``, ``not_a_file``,
``bad_path``, ``bad_pattern``, ``bad_range``, ``unsupported_operation``.

``page.total`` counts all matches, also those beyond the page; it is null only where
``max_bytes_scanned`` stopped the scan. ``sought`` stands in results without items: the
question with paging reset, so that asking for another page of nothing is the same finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from vstore.errors import NotFoundError
from vstore.objects.text import text_from_bytes
from vstore.objects.tree import PathEntry
from vstore.package.documents import SnapshotDescriptor
from vstore.package.pinned import PinnedPackage
from vstore.tools.adapter import QueryRefused, failed
from vstore.tools.items import SourceFile
from vstore.tools.paging import PageFiller
from vstore.tools.reply import Scope, ToolResult
from vstore.tools.request import (
    DEFAULT_PAGE,
    SOURCE_CONTRACT,
    Arguments,
    QueryLimits,
    SourceList,
    SourceRead,
    SourceSearch,
    ToolQuery,
    operation_of,
)
from vstore.tools.source_cache import SourceCache
from vstore.tools.source_search import LinesFound, read_lines, search_lines

__all__ = ["SourceAdapter"]


class SourceAdapter:
    """Answers ``source.list``, ``source.search`` and ``source.read``.

    Args:
        cache: Keeps files between queries; one with the default bounds where None.
    """

    contract = SOURCE_CONTRACT
    operations = frozenset({"source.list", "source.search", "source.read"})

    def __init__(self, *, cache: SourceCache | None = None) -> None:
        self._cache = SourceCache() if cache is None else cache

    def answer(self, package: PinnedPackage, query: ToolQuery) -> ToolResult:
        """See :meth:`vstore.tools.adapter.Adapter.answer`."""
        try:
            return self._answer(package, query)
        except QueryRefused as refused:
            return failed(query, refused)

    def _answer(self, package: PinnedPackage, query: ToolQuery) -> ToolResult:
        question = query.arguments
        if not isinstance(question, SourceList | SourceSearch | SourceRead):
            raise QueryRefused("unsupported_operation", "this contract lacks the operation")
        descriptor = _descriptor(package, question.source)
        if isinstance(question, SourceList):
            return self._list(package, descriptor, query, question)
        if isinstance(question, SourceSearch):
            found = search_lines(
                package.objects, descriptor.content, question, query.limits, self._cache
            )
            return _lines_result(descriptor, query, found, _without_paging(question))
        found, normalised = read_lines(
            package.objects, descriptor.content, question, query.limits, self._cache
        )
        return _lines_result(descriptor, query, found, normalised)

    def _list(
        self,
        package: PinnedPackage,
        descriptor: SnapshotDescriptor,
        query: ToolQuery,
        question: SourceList,
    ) -> ToolResult:
        selection = self._cache.select(package.objects, descriptor.content, question.under)
        filler = _list_page(selection.files, query.limits, question)
        return ToolResult(
            action_id=query.action_id,
            operation="source.list",
            status="ok",
            provider=query.contract,
            kind="source_files",
            scope=_scope(descriptor),
            coverage=descriptor.coverage,
            page=filler.page(),
            truncated=filler.truncation(skipped_files=selection.links),
            sought=None if filler.items else _without_paging(question),
            files=filler.items,
        )


def _list_page(
    files: Sequence[PathEntry], limits: QueryLimits, question: SourceList
) -> PageFiller[SourceFile]:
    filler: PageFiller[SourceFile] = PageFiller(
        limits, offset=question.offset, limit=question.limit
    )
    for position, file in enumerate(files):
        if not filler.wanted:
            filler.count_only(len(files) - position)
            break
        filler.offer(partial(_file, file))
    return filler


def _file(file: PathEntry) -> SourceFile:
    return SourceFile(path=text_from_bytes(file.path), file=file.entry.object, size=file.entry.size)


def _descriptor(package: PinnedPackage, name: str) -> SnapshotDescriptor:
    try:
        return package.snapshot(name, kind="source")
    except NotFoundError as error:
        if error.kind != "unknown_source":
            raise  # the descriptor itself is missing from the package
        raise QueryRefused("unknown_source", "no source of this name is pinned") from error


def _scope(descriptor: SnapshotDescriptor) -> Scope:
    return Scope(content=descriptor.content, name=descriptor.name, origin=descriptor.origin)


def _without_paging(question: SourceList | SourceSearch) -> Arguments:
    return replace(question, limit=DEFAULT_PAGE, offset=0)


def _lines_result(
    descriptor: SnapshotDescriptor, query: ToolQuery, found: LinesFound, sought: Arguments
) -> ToolResult:
    return ToolResult(
        action_id=query.action_id,
        operation=operation_of(query.arguments),
        status="ok",
        provider=query.contract,
        kind="source_lines",
        scope=_scope(descriptor),
        coverage=descriptor.coverage,
        page=found.page,
        truncated=found.truncated,
        sought=None if found.lines else sought,
        lines=found.lines,
    )
