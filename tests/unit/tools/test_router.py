"""Dispatch: bindings, contracts, limits."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from vstore.errors import InvalidError, LimitExceeded, StaleGeneration, UnsupportedError
from vstore.objects.canonical import encode
from vstore.objects.ids import object_id
from vstore.objects.memory import MemoryObjects
from vstore.package.pinned import PinnedPackage
from vstore.testing.pinned import build_tree, pin, source_descriptor
from vstore.tools.request import (
    OPERATIONS,
    DatabaseSchema,
    QueryLimits,
    SourceList,
    SourceRead,
    SourceSearch,
    ToolRequest,
)
from vstore.tools.router import Router, RouterLimits
from vstore.tools.source_adapter import SourceAdapter


@pytest.fixture(scope="module")
def package() -> PinnedPackage:
    objects = MemoryObjects()
    tree = build_tree(objects, {b"a.py": b"one\ntwo\n"})
    return pin(objects, [source_descriptor(tree)])


@pytest.fixture
def router() -> Router:
    return Router([SourceAdapter()])


@pytest.fixture
def request_(package: PinnedPackage, router: Router) -> ToolRequest:
    return router.request(
        package,
        [
            ("H1", "Q1", SourceSearch(source="code", pattern="two")),
            ("H2", "Q2", SourceRead(source="code", path="missing")),
            ("H1", "Q3", SourceList(source="code")),
        ],
    )


def test_a_request_is_bound_and_records_contracts_and_limits(
    package: PinnedPackage, request_: ToolRequest
) -> None:
    assert request_.generation == package.generation_id
    assert (request_.case_id, request_.package_id) == ("case-1", "package-1")
    assert request_.analysis_revision == 1
    assert [query.hypothesis_id for query in request_.queries] == ["H1", "H2", "H1"]
    assert {query.contract for query in request_.queries} == {"source-snapshot/1"}
    assert {query.limits for query in request_.queries} == {QueryLimits()}


def test_results_stand_in_the_order_of_the_queries(
    package: PinnedPackage, router: Router, request_: ToolRequest
) -> None:
    reply = router.query(package, request_)
    assert reply.request == object_id(encode(request_))
    assert reply.generation == package.generation_id
    assert [(one.action_id, one.status) for one in reply.results] == [
        ("Q1", "ok"),
        ("Q2", "error"),
        ("Q3", "ok"),
    ]
    again = Router([SourceAdapter()]).query(package, request_)
    assert encode(again) == encode(reply)


def test_limits_of_a_request_are_its_own(package: PinnedPackage, router: Router) -> None:
    limits = QueryLimits(max_matches=1)
    request = router.request(
        package, [("H1", "Q1", SourceSearch(source="code", pattern="o"))], limits=limits
    )
    result = router.query(package, request).results[0]
    assert result.page is not None
    assert (result.page.returned, result.page.total) == (1, 2)


@pytest.mark.parametrize(
    ("change", "error", "kind"),
    [
        ({"case_id": "case-2"}, InvalidError, "wrong_package"),
        ({"package_id": "package-2"}, InvalidError, "wrong_package"),
        ({"analysis_revision": 2}, InvalidError, "wrong_revision"),
        ({"generation": object_id(b"older")}, StaleGeneration, "stale_generation"),
        ({"queries": []}, InvalidError, "invalid_document"),
        ({"case_id": "../x"}, InvalidError, "invalid_document"),
    ],
)
def test_a_request_about_something_else(
    package: PinnedPackage,
    router: Router,
    request_: ToolRequest,
    change: dict[str, object],
    error: type[Exception],
    kind: str,
) -> None:
    with pytest.raises(error) as caught:
        router.query(package, replace(request_, **change))
    assert caught.value.kind == kind  # type: ignore[attr-defined]


def test_what_a_struct_in_memory_never_checked_is_checked(
    package: PinnedPackage, router: Router
) -> None:
    for question in (
        SourceSearch(source="code", pattern=""),
        SourceSearch(source="code", pattern="x", limit=0),
        SourceSearch(source="code", pattern="\ud800"),
        SourceList(source="code", offset=-1),
    ):
        with pytest.raises(InvalidError):
            router.request(package, [("H1", "Q1", question)])


def test_an_unknown_contract_is_unsupported(
    package: PinnedPackage, router: Router, request_: ToolRequest
) -> None:
    newer = [replace(query, contract="source-snapshot/2") for query in request_.queries]
    with pytest.raises(UnsupportedError) as caught:
        router.query(package, replace(request_, queries=newer))
    assert caught.value.kind == "unsupported_contract"
    assert router.contracts == {"source-snapshot/1"}


def test_an_operation_of_another_contract_is_an_error_result(
    package: PinnedPackage, router: Router, request_: ToolRequest
) -> None:
    query = replace(request_.queries[0], arguments=DatabaseSchema(database="db"))
    result = router.query(package, replace(request_, queries=[query])).results[0]
    assert result.error is not None
    assert result.error.kind == "unsupported_operation"
    assert result.operation == "database.schema"


def test_two_adapters_for_one_contract_are_refused() -> None:
    with pytest.raises(InvalidError) as caught:
        Router([SourceAdapter(), SourceAdapter()])
    assert caught.value.kind == "duplicate_contract"


@pytest.mark.parametrize("name", QueryLimits.__struct_fields__)
def test_a_router_may_bound_what_is_asked_for(package: PinnedPackage, name: str) -> None:
    bounded = Router([SourceAdapter()], limits=replace(RouterLimits(), **{name: 10}))
    question = [("H1", "Q1", SourceList(source="code"))]
    with pytest.raises(LimitExceeded) as caught:
        bounded.query(package, bounded.request(package, question))
    assert caught.value.details["limit"] == name
    within = replace(QueryLimits(), **{name: 10})
    assert bounded.query(package, bounded.request(package, question, limits=within))


def test_the_default_router_answers_every_known_operation() -> None:
    assert Router.default().contracts == set(OPERATIONS.values())
