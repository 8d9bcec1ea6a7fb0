"""Evidence is recomputed before it is stored; a refusal changes no byte of the package."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vstore.controller import EvidenceStore
from vstore.errors import (
    ForgedReply,
    InvalidError,
    LimitExceeded,
    MissingReservation,
    OperationConflict,
    StaleGeneration,
    StateError,
    UnsupportedError,
    VStoreError,
)
from vstore.evidence.documents import EvidenceRecord
from vstore.evidence.limits import EvidenceLimits
from vstore.objects.canonical import to_value
from vstore.objects.ids import object_id
from vstore.testing.folders import package_bytes
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.tools.request import (
    DatabaseRows,
    SourceRead,
    SourceSearch,
    ToolQuery,
    ToolRequest,
    operation_of,
)
from vstore.verify import verify_package

LINES = SourceRead(source="code", path="app/orders.py", start=1, end=1)
BUG = SourceSearch(source="code", pattern="BUG")
NOTHING = SourceSearch(source="code", pattern="nowhere")
ROWS = DatabaseRows(database="shop", table="orders")


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Investigation]:
    one = Investigation(tmp_path / "package", tmp_path)
    one.begin()
    yield one
    one.close()


def reserved(case: Investigation, *queries: Any) -> tuple[ToolRequest, Any]:
    """A request with reserved actions, and the router's true reply to it."""
    case.budget.reserve_all(CASE, PACKAGE, [(h, a, operation_of(args)) for h, a, args in queries])
    return asked(case, *queries)


def asked(case: Investigation, *queries: Any) -> tuple[ToolRequest, Any]:
    package = case.budget.snapshot(CASE, PACKAGE).package
    request = case.router.request(package, queries)
    return request, case.router.query(package, request)


def store(case: Investigation, operation: str, request: ToolRequest, reply: Any) -> Any:
    return case.evidence.store_tool_results(CASE, PACKAGE, operation, request, reply)


def record(case: Investigation, oid: Any) -> EvidenceRecord:
    objects = case.evidence.snapshot(CASE, PACKAGE).package.objects
    return objects.document(oid, EvidenceRecord)


def refused(
    case: Investigation, kind: type[VStoreError], call: Callable[[], Any], **match: Any
) -> VStoreError:
    before = package_bytes(case.root)
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert package_bytes(case.root) == before
    return caught.value


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Pointer and path of every leaf of a plain JSON value; an empty container is one."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            for pointer, path in leaves(inner, f"{at}/{name}"):
                yield pointer, [name, *path]
    elif isinstance(value, list) and value:
        for position, inner in enumerate(value):
            for pointer, path in leaves(inner, f"{at}/{position}"):
                yield pointer, [position, *path]
    else:
        yield at, []


def altered(leaf: Any) -> list[Any]:
    """Other values for a leaf: of its own type where it has one, and of another type."""
    if isinstance(leaf, bool):
        return [not leaf, int(leaf), None]
    if isinstance(leaf, int):
        return [leaf + 1, str(leaf), True]
    if isinstance(leaf, str):
        return [leaf + "x", "", None, 7]
    if leaf is None:
        return ["invented", 0, []]
    return [[1], {"a": 1}, None]


def put(value: Any, path: list[Any], new: Any) -> Any:
    changed = copy.deepcopy(value)
    target = changed
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = new
    return changed


def test_every_leaf_of_a_reply_altered_is_forged_at_that_pointer(case: Investigation) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG), ("H2", "q2", ROWS))
    true = to_value(reply)
    tried = 0
    for pointer, path in leaves(true):
        leaf = true
        for step in path:
            leaf = leaf[step]
        for new in altered(leaf):
            if new == leaf and type(new) is type(leaf):
                continue
            forged = put(true, path, new)
            error = refused(
                case, ForgedReply, lambda forged=forged: store(case, "op", request, forged)
            )
            # A value of another shape differs at the leaf itself, whatever is inside it.
            assert error.details["pointer"] == pointer
            tried += 1
    assert tried > 200
    assert store(case, "op", request, true).record_ids == ("E000001", "E000002")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (lambda results: results.append(copy.deepcopy(results[0])), "/results/2"),
        (lambda results: results.pop(), "/results/1"),
        (lambda results: results.reverse(), "/results/0/action_id"),
        (lambda results: results.clear(), "/results/0"),
        (lambda results: results[0].update(invented=1), "/results/0/invented"),
        (lambda results: results[0].pop("page"), "/results/0/page"),
        (lambda results: results[0]["lines"].append(results[0]["lines"][0]), "/results/0/lines/1"),
    ],
)
def test_results_added_removed_or_swapped_are_forged(
    case: Investigation, change: Callable[[list[Any]], Any], pointer: str
) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG), ("H2", "q2", ROWS))
    forged = to_value(reply)
    change(forged["results"])
    error = refused(case, ForgedReply, lambda: store(case, "op", request, forged))
    assert error.details["pointer"] == pointer
    # The message names the place and never what stands there.
    assert "invented" not in str(error).replace(pointer, "")


def test_a_reply_that_is_no_reply_is_forged(case: Investigation) -> None:
    request, _ = reserved(case, ("H1", "q1", BUG))
    for nonsense in (
        {},
        {"results": 1.5},
        {"a": float("nan")},
        {1: 2},
        {None: 1, "results": []},
        {"results": [{1: 2}]},
        {"results": object()},
        {"results": b"x"},
        [],
        None,
    ):
        refused(case, ForgedReply, lambda nonsense=nonsense: store(case, "op", request, nonsense))


@pytest.mark.parametrize(
    "changes",
    [{"case_id": "OTHER"}, {"package_id": "OTHER"}, {"analysis_revision": 2}],
)
def test_identities_that_are_not_the_package_s(
    case: Investigation, changes: dict[str, Any]
) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG))
    request = msgspec.structs.replace(request, **changes)
    error = refused(case, InvalidError, lambda: store(case, "op", request, reply))
    assert error.kind == "identity_mismatch"


def test_a_generation_that_never_was(case: Investigation) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG))
    request = msgspec.structs.replace(request, generation=object_id(b"never"))
    error = refused(case, InvalidError, lambda: store(case, "op", request, reply))
    assert error.kind == "unknown_generation"


def test_an_older_generation_is_stale_and_asking_again_is_enough(case: Investigation) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG))
    case.budget.reserve(CASE, PACKAGE, "H2", "other", operation="source.list")
    error = refused(case, StaleGeneration, lambda: store(case, "op", request, reply))
    assert error.hint is not None
    assert "asking again" in error.hint
    request, reply = asked(case, ("H1", "q1", BUG))
    assert store(case, "op", request, reply).record_ids == ("E000001",)


def test_an_old_reply_to_a_new_request_is_stale(case: Investigation) -> None:
    _, old = reserved(case, ("H1", "q1", BUG))
    case.budget.reserve(CASE, PACKAGE, "H2", "other", operation="source.list")
    request, _ = asked(case, ("H1", "q1", BUG))
    refused(case, StaleGeneration, lambda: store(case, "op", request, old))


def test_reservations_must_exist_match_and_be_unspent(case: Investigation) -> None:
    def attempt(*queries: Any) -> None:
        request, reply = asked(case, *queries)
        refused(case, MissingReservation, lambda: store(case, "op", request, reply))

    attempt(("H1", "never", BUG))
    case.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")
    attempt(("H1", "q1", LINES))  # reserved for another operation
    attempt(("H2", "q1", BUG))  # reserved by another hypothesis
    attempt(("H1", "q1", BUG), ("H1", "q1", NOTHING))  # twice in one batch
    case.budget.void(CASE, PACKAGE, "H1", "q1", reason="changed my mind")
    attempt(("H1", "q1", BUG))
    saved = case.ask("op-2", [("H1", "q2", BUG)])
    attempt(("H1", "q2", BUG))  # has a record, not yet bound in the ledger
    case.settle(saved, 0, "H1", "q2", 50)
    attempt(("H1", "q2", BUG))  # spent


def test_an_unknown_contract_is_unsupported(case: Investigation) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG))
    query: ToolQuery = msgspec.structs.replace(request.queries[0], contract="elsewhere/1")
    request = msgspec.structs.replace(request, queries=[query])
    refused(case, UnsupportedError, lambda: store(case, "op", request, reply))


def test_states_without_evidence(tmp_path: Path) -> None:
    one = Investigation(tmp_path / "package", tmp_path)
    one.workspace.init(CASE, PACKAGE)
    package = one.budget.snapshot(CASE, PACKAGE).package
    search = SourceSearch(source="inputs", pattern="x")
    request = one.router.request(package, [("H1", "q1", search)])
    reply = one.router.query(package, request)
    error = refused(one, StateError, lambda: store(one, "op", request, reply))
    assert error.details["state"] == "ADMITTED"
    one.workspace.case(CASE).advance()
    one.workspace.case(CASE).advance()
    request, reply = asked(one, ("H1", "q1", search))
    error = refused(one, StateError, lambda: store(one, "op", request, reply))
    assert error.kind == "not_initialised"
    one.close()


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"max_json_bytes": 300}, "max_json_bytes"),
        ({"max_records": 1}, "max_records"),
        ({"max_retained_bytes": 2000}, "max_retained_bytes"),
    ],
)
def test_limits_are_named_and_change_nothing(
    case: Investigation, limits: dict[str, int], name: str
) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG), ("H2", "q2", ROWS))
    narrow = EvidenceStore(case.workspace, router=case.router, limits=EvidenceLimits(**limits))
    error = refused(
        case,
        LimitExceeded,
        lambda: narrow.store_tool_results(CASE, PACKAGE, "op", request, reply),
    )
    assert error.details["limit"] == name
    assert error.details["value"] == limits[name]
    asked_for = error.details["asked"]
    assert isinstance(asked_for, int)
    assert asked_for > limits[name]


def test_a_repeat_returns_what_exists_in_every_state(case: Investigation) -> None:
    request, reply = reserved(
        case, ("H1", "q1", BUG), ("H1", "q2", SourceRead(source="code", path="no"))
    )
    first = store(case, "op", request, reply)
    assert first.record_refs[1] is None
    before = package_bytes(case.root)
    again = store(case, "op", request, reply)
    assert again.repeated
    assert (again.record_refs, again.record_ids, again.index_ref) == (
        first.record_refs,
        first.record_ids,
        first.index_ref,
    )
    assert package_bytes(case.root) == before
    # Asked again on a later generation it is the same payload: the binding is left out.
    later, later_reply = asked(
        case, ("H1", "q1", BUG), ("H1", "q2", SourceRead(source="code", path="no"))
    )
    assert later.generation != request.generation
    assert store(case, "op", later, later_reply).record_refs == first.record_refs
    case.workspace.case(CASE).advance()
    assert store(case, "op", request, reply).repeated
    assert package_bytes(case.root).keys() == before.keys()


def test_the_same_operation_with_another_payload_conflicts(case: Investigation) -> None:
    request, reply = reserved(case, ("H1", "q1", BUG))
    store(case, "op", request, reply)
    other, other_reply = reserved(case, ("H1", "q2", LINES))
    refused(case, OperationConflict, lambda: store(case, "op", other, other_reply))
    refused(case, OperationConflict, lambda: store(case, "op", request, {"results": []}))


def test_a_batch_of_errors_publishes_nothing_and_keeps_the_reservation(
    case: Investigation,
) -> None:
    request, reply = reserved(case, ("H1", "q1", SourceRead(source="code", path="absent")))
    before = package_bytes(case.root)
    saved = store(case, "op", request, reply)
    assert saved.record_refs == (None,)
    assert saved.index_ref is None
    assert package_bytes(case.root) == before
    actions = case.budget.snapshot(CASE, PACKAGE).open_actions
    assert [action.action_id for action in actions] == ["q1"]


def scores(case: Investigation, saved: Any) -> list[int]:
    return [record(case, oid).novelty_score for oid in saved.record_refs]


def test_novelty_of_excerpts(case: Investigation) -> None:
    def read(start: int, end: int) -> SourceRead:
        return SourceRead(source="code", path="app/orders.py", start=start, end=end)

    assert scores(case, case.ask("a", [("H1", "q1", read(1, 1))])) == [100]
    # One of two lines is new.
    assert scores(case, case.ask("b", [("H1", "q2", read(1, 2))])) == [50]
    # The same two lines, asked by another hypothesis under other ids.
    assert scores(case, case.ask("c", [("H2", "q3", read(1, 2))])) == [0]
    # Regrouped: one line of each earlier excerpt, in two results of one batch.
    assert scores(case, case.ask("d", [("H1", "q4", read(1, 1)), ("H1", "q5", read(2, 2))])) == [
        0,
        0,
    ]
    # A hit of a search and a line of an excerpt at the same place are the same item.
    assert scores(case, case.ask("e", [("H2", "q6", BUG)])) == [0]
    # New in position 0 is seen in position 1.
    assert scores(case, case.ask("f", [("H1", "q7", read(3, 3)), ("H2", "q8", read(3, 3))])) == [
        100,
        0,
    ]


def test_empty_findings_are_worth_nothing_and_differ_by_what_was_sought(
    case: Investigation,
) -> None:
    other = SourceSearch(source="code", pattern="neither")
    saved = case.ask("a", [("H1", "q1", NOTHING), ("H1", "q2", other), ("H2", "q3", NOTHING)])
    records = [record(case, oid) for oid in saved.record_refs]
    assert [one.novelty_score for one in records] == [0, 0, 0]
    assert [one.duplicate_of for one in records] == [None, None, "E000001"]


def test_the_same_snapshot_under_another_name_is_not_new(case: Investigation) -> None:
    case.workspace.case(CASE).add_snapshot(
        "again",
        "source",
        lambda sink: msgspec.structs.replace(case._source(sink), name="again"),
    )
    case.ask("a", [("H1", "q1", BUG)])
    saved = case.ask("b", [("H1", "q2", SourceSearch(source="again", pattern="BUG"))])
    again = record(case, saved.record_refs[0])
    assert again.novelty_score == 0
    # The name is part of what people read, so the contents differ; the atoms don't.
    assert again.duplicate_of is None


def test_a_duplicate_points_at_the_first_record(case: Investigation) -> None:
    case.ask("a", [("H1", "q1", BUG)])
    saved = case.ask("b", [("H2", "q2", BUG), ("H1", "q3", BUG)])
    records = [record(case, oid) for oid in saved.record_refs]
    assert [one.id for one in records] == ["E000002", "E000003"]
    assert {one.duplicate_of for one in records} == {"E000001"}
    assert case.evidence.snapshot(CASE, PACKAGE).records[2].id == "E000003"


def test_a_fresh_process_continues_where_the_other_stopped(case: Investigation) -> None:
    case.ask("a", [("H1", "q1", BUG)])
    other = Investigation(case.root, case.scratch)
    assert (
        other.evidence.snapshot(CASE, PACKAGE).records
        == case.evidence.snapshot(CASE, PACKAGE).records
    )
    saved = other.ask("b", [("H1", "q2", BUG)])
    assert record(other, saved.record_refs[0]).id == "E000002"
    assert record(other, saved.record_refs[0]).novelty_score == 0
    # And the first one follows.
    third = case.ask("c", [("H2", "q3", ROWS)])
    assert third.record_ids == ("E000003",)
    other.close()
    report = verify_package(case.root)
    assert report.exit_code == 0
    assert not report.findings


def test_an_empty_case_has_no_index(case: Investigation) -> None:
    snapshot = case.evidence.snapshot(CASE, PACKAGE)
    assert snapshot.index_ref is None
    assert snapshot.records == ()
