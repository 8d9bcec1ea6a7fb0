"""Dispatch of a request to the adapters whose contracts it names."""

from __future__ import annotations

from collections.abc import Iterable

from vstore.errors import InvalidError, LimitExceeded, StaleGeneration, UnsupportedError
from vstore.objects.canonical import decode, encode
from vstore.objects.ids import object_id
from vstore.objects.sealed import Sealed
from vstore.package.pinned import PinnedPackage
from vstore.tools.adapter import Adapter, failure
from vstore.tools.reply import ToolReply, ToolResult
from vstore.tools.request import (
    OPERATIONS,
    Arguments,
    QueryLimits,
    ToolQuery,
    ToolRequest,
    operation_of,
)

__all__ = ["Router", "RouterLimits"]

#: A router's own bounds are of the same kinds as a query's effective limits.
RouterLimits = QueryLimits


class Router:
    """Answers requests, each query by the adapter of its contract.

    Args:
        adapters: One for each contract; a later one of the same contract is refused.
        limits: The widest limits that a query may ask for in :meth:`query`, or None to take
            whatever a request records, as a verifier must.

    Raises:
        InvalidError: Two adapters for one contract.
    """

    def __init__(self, adapters: Iterable[Adapter], *, limits: RouterLimits | None = None) -> None:
        self._limits = limits
        self._adapters: dict[str, Adapter] = {}
        for adapter in adapters:
            if adapter.contract in self._adapters:
                raise InvalidError(
                    f"two adapters for the contract {adapter.contract}", kind="duplicate_contract"
                )
            self._adapters[adapter.contract] = adapter

    @classmethod
    def default(cls, *, limits: RouterLimits | None = None) -> Router:
        """A router for source and database snapshots.

        Args:
            limits: As for the class.
        """
        from vstore.tools.database_adapter import DatabaseAdapter
        from vstore.tools.source_adapter import SourceAdapter

        return cls([SourceAdapter(), DatabaseAdapter()], limits=limits)

    @property
    def contracts(self) -> frozenset[str]:
        """The contracts that this router can answer."""
        return frozenset(self._adapters)

    def request(
        self,
        package: PinnedPackage,
        queries: Iterable[tuple[str, str, Arguments]],
        *,
        limits: QueryLimits | None = None,
    ) -> ToolRequest:
        """A request bound to a package's generation, with the default contracts.

        Args:
            package: What will be asked.
            queries: Hypothesis id, action id and arguments, 1 to 100 of them.
            limits: Effective limits of every query; the defaults of
                :class:`~vstore.tools.request.QueryLimits` where None.

        Raises:
            InvalidError: A value outside the schema of ``tool-request-v1``.
        """
        effective = QueryLimits() if limits is None else limits
        request = ToolRequest(
            case_id=package.case_id,
            package_id=package.package_id,
            analysis_revision=package.revision,
            generation=package.generation_id,
            queries=[
                ToolQuery(
                    hypothesis_id=hypothesis_id,
                    action_id=action_id,
                    contract=OPERATIONS[operation_of(arguments)],
                    limits=effective,
                    arguments=arguments,
                )
                for hypothesis_id, action_id, arguments in queries
            ],
        )
        return decode(encode(request), ToolRequest)

    def query(self, package: PinnedPackage, request: ToolRequest) -> ToolReply:
        """Answer all queries of a request, in their order.

        Args:
            package: The generation to ask; it must be the one that the request names.
            request: What is asked.

        Returns:
            One result for each query; a question that can't be answered has one with
            ``status="error"``.

        Raises:
            InvalidError: The request is malformed, or about another case, package or
                analysis revision (``wrong_package``).
            StaleGeneration: The request is bound to another generation.
            UnsupportedError: A contract without an adapter (``unsupported_contract``).
            LimitExceeded: A query asks for more than this router's limits.
            IntegrityError, NotFoundError: The package is damaged.
        """
        encoded = encode(request)
        # A Struct made in memory has not been checked against its own schema yet.
        checked = decode(encoded, ToolRequest)
        return self.answer(package, Sealed(checked, encoded, object_id(encoded)))

    def answer(self, package: PinnedPackage, request: Sealed[ToolRequest]) -> ToolReply:
        """As :meth:`query`, for a request that was read from its bytes.

        Args:
            package: The generation to ask; it must be the one that the request names.
            request: What is asked, checked against its own schema.

        Raises:
            As :meth:`query`.
        """
        checked = request.document
        self._check_binding(package, checked)
        adapters = [self._adapter(query) for query in checked.queries]
        for query in checked.queries:
            self._check_limits(query)
        return ToolReply(
            request=request.id,
            generation=checked.generation,
            results=[
                _answer(adapter, package, query)
                for adapter, query in zip(adapters, checked.queries, strict=True)
            ],
        )

    def _adapter(self, query: ToolQuery) -> Adapter:
        adapter = self._adapters.get(query.contract)
        if adapter is None:
            raise UnsupportedError(
                f"no adapter for the contract {query.contract}",
                kind="unsupported_contract",
                hint="a newer vstore may have it",
                contract=query.contract,
            )
        return adapter

    def _check_limits(self, query: ToolQuery) -> None:
        if self._limits is None:
            return
        for name in QueryLimits.__struct_fields__:
            value, asked = getattr(self._limits, name), getattr(query.limits, name)
            if asked > value:
                raise LimitExceeded(
                    f"a query asks for {name} {asked}; at most {value} is allowed",
                    limit=name,
                    value=value,
                    asked=asked,
                )

    def _check_binding(self, package: PinnedPackage, request: ToolRequest) -> None:
        if request.case_id != package.case_id or request.package_id != package.package_id:
            raise InvalidError("the request is about another package", kind="wrong_package")
        if request.generation != package.generation_id:
            raise StaleGeneration(
                "the request is bound to another generation of the package",
                hint="asking again, with a new request, is enough",
                asked=request.generation,
                current=package.generation_id,
            )
        if request.analysis_revision != package.revision:
            raise InvalidError(
                "the request is about another analysis revision", kind="wrong_revision"
            )


def _answer(adapter: Adapter, package: PinnedPackage, query: ToolQuery) -> ToolResult:
    if operation_of(query.arguments) not in adapter.operations:
        return failure(query, "unsupported_operation", "this contract lacks the operation")
    return adapter.answer(package, query)
