"""The contract ``database-snapshot/1``: database.schema and database.rows."""

from __future__ import annotations

from typing import Final

from vstore.errors import NotFoundError
from vstore.package.documents import SnapshotDescriptor
from vstore.package.pinned import PinnedPackage
from vstore.tools.adapter import QueryRefused, failed, failure
from vstore.tools.database_query import query_rows, query_schema
from vstore.tools.database_snapshot import ChunkCache, DatabaseSnapshot
from vstore.tools.reply import Scope, ToolResult
from vstore.tools.request import (
    DATABASE_CONTRACT,
    DatabaseRows,
    DatabaseSchema,
    ToolQuery,
    operation_of,
)

__all__ = ["DatabaseAdapter"]

_OPERATIONS: Final = frozenset(("database.schema", "database.rows"))


class DatabaseAdapter:
    """Answers from the documents of captured databases; see :class:`~vstore.tools.adapter.Adapter`.

    Decoded chunks are kept between queries, in bounded memory.
    """

    def __init__(self) -> None:
        self._cache = ChunkCache()

    @property
    def contract(self) -> str:
        """``database-snapshot/1``."""
        return DATABASE_CONTRACT

    @property
    def operations(self) -> frozenset[str]:
        """The operations that it answers."""
        return _OPERATIONS

    def answer(self, package: PinnedPackage, query: ToolQuery) -> ToolResult:
        """Answer one query.

        Error kinds: ``unsupported_operation``, ``unknown_database``, and those of
        :func:`~vstore.tools.database_query.query_rows`.

        Raises:
            IntegrityError, InvalidError, NotFoundError: The package itself is damaged.
        """
        arguments = query.arguments
        if not isinstance(arguments, DatabaseSchema | DatabaseRows):
            return failure(
                query, "unsupported_operation", f"{DATABASE_CONTRACT} doesn't answer this operation"
            )
        try:
            descriptor = package.snapshot(arguments.database, kind="database")
        except NotFoundError as error:
            if error.kind != "unknown_database":
                raise
            return failure(query, error.kind, "no database of this name is pinned")
        snapshot = DatabaseSnapshot(package.objects, descriptor.content, self._cache)
        try:
            return _answer(snapshot, descriptor, query, arguments)
        except QueryRefused as refused:
            return failed(query, refused)


def _answer(
    snapshot: DatabaseSnapshot,
    descriptor: SnapshotDescriptor,
    query: ToolQuery,
    arguments: DatabaseSchema | DatabaseRows,
) -> ToolResult:
    rows = tables = None
    if isinstance(arguments, DatabaseRows):
        rows, page, truncated, sought = query_rows(snapshot, arguments, query.limits)
    else:
        tables, page, truncated, sought = query_schema(  # type: ignore[assignment]
            snapshot, arguments, query.limits
        )
    return ToolResult(
        action_id=query.action_id,
        operation=operation_of(arguments),
        status="ok",
        provider=query.contract,
        kind="database_schema" if rows is None else "database_rows",
        scope=Scope(content=descriptor.content, name=descriptor.name, origin=descriptor.origin),
        coverage=descriptor.coverage,
        page=page,
        truncated=truncated,
        sought=sought,
        rows=rows,
        tables=tables,
    )
