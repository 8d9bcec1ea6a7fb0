"""What an adapter is: it answers the queries of one contract, from the package alone."""

from __future__ import annotations

from typing import Protocol

from vstore.package.pinned import PinnedPackage
from vstore.tools.reply import Failure, ToolResult
from vstore.tools.request import ToolQuery, operation_of

__all__ = ["Adapter", "QueryRefused", "failed", "failure"]


class Adapter(Protocol):
    """Answers queries deterministically, from the objects of a pinned package.

    Two calls with equal arguments give equal results, in whatever process, on whatever
    machine and in whatever year. A released contract never changes its answers; another
    behaviour is another contract.
    """

    @property
    def contract(self) -> str:
        """The contract that it implements, such as ``source-snapshot/1``."""
        ...

    @property
    def operations(self) -> frozenset[str]:
        """The operations that it answers, such as ``source.search``."""
        ...

    def answer(self, package: PinnedPackage, query: ToolQuery) -> ToolResult:
        """Answer one query.

        A question that can't be answered (an unknown source, path, pattern ...) is a result
        with ``status="error"``, not an exception.

        Raises:
            IntegrityError, InvalidError, NotFoundError: The package itself is damaged.
        """
        ...


class QueryRefused(Exception):
    """Inside an adapter: the question can't be answered; becomes an error result.

    Args:
        kind: Stable kind, such as ``unknown_path``.
        message: One sentence without any text of the snapshot or the query.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def failed(query: ToolQuery, refused: QueryRefused) -> ToolResult:
    """The error result for a refused query."""
    return failure(query, refused.kind, refused.message)


def failure(query: ToolQuery, kind: str, message: str) -> ToolResult:
    """An error result.

    Args:
        query: The query that it answers.
        kind: Stable kind, ``[a-z][a-z0-9_]*``.
        message: One sentence without any text of the snapshot or the query.
    """
    return ToolResult(
        action_id=query.action_id,
        operation=operation_of(query.arguments),
        status="error",
        provider=query.contract,
        error=Failure(kind=kind, message=message),
    )
