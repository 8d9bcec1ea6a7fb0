"""How generations follow each other: what the writer makes, the rules accept; else they don't."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vstore.errors import InvalidError, StateError, UnsupportedError
from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId, object_id
from vstore.package.change import Change, first_generation, next_generation
from vstore.package.documents import Blocked, Event, Generation, History
from vstore.package.succession import declared_roots, expected_refs, faults

AT = "2026-03-01T12:00:00Z"
ROOT = "0" * 64


def oid(text: str) -> ObjectId:
    return object_id(text.encode())


def event(kind: str) -> Event:
    return Event(kind=kind, operation_id=None, actor="tester", at=AT, reason=None)


def start() -> Generation:
    return first_generation(
        "c", "p", Change(events=[event("init")], inputs=oid("inputs")), History(size=0, root=ROOT)
    )


def follow(parent: Generation, *kinds: str, **members: Any) -> Generation:
    return next_generation(
        object_id(encode(parent)),
        parent,
        Change(events=[event(kind) for kind in kinds], **members),
        History(size=parent.package_generation, root=ROOT),
    )


def walk_to(state: str) -> Generation:
    generation = start()
    while generation.state != state:
        generation = follow(generation, "advance")
    return generation


def check(parent: Generation | None, child: Generation) -> list[tuple[str, str]]:
    parent_id = None if parent is None else object_id(encode(parent))
    return [(fault.kind, fault.pointer) for fault in faults(parent_id, parent, child)]


def blocked(reason: str) -> Blocked:
    return Blocked(
        reason=reason,  # type: ignore[arg-type]
        resume_state="ADMITTED",
        retry_not_before=AT,
        automatic_retry=False,
    )


def test_the_first_generation() -> None:
    first = start()
    assert (first.state, first.package_generation, first.analysis_revision) == ("ADMITTED", 1, 1)
    assert first.declared == {"inputs": [oid("inputs")]}
    assert first.parent is None
    assert check(None, first) == []
    with pytest.raises(InvalidError) as caught:
        first_generation("c", "p", Change(events=[event("init")]), first.history)
    assert caught.value.kind == "bad_generation"
    with pytest.raises(StateError):
        first_generation(
            "c", "p", Change(events=[event("advance")], inputs=oid("i")), first.history
        )


def test_members_that_nothing_changes_stay() -> None:
    unknown = {"from_the_future": oid("x"), "hypotheses": oid("h")}
    parent = msgspec.structs.replace(
        start(), artifacts=unknown, snapshots={"s": oid("s")}, attachments=oid("a")
    )
    child = follow(parent, "advance")
    assert child.artifacts == unknown
    assert child.snapshots == parent.snapshots
    assert child.attachments == parent.attachments
    assert child.inputs == parent.inputs
    assert child.declared == {}
    assert (child.package_generation, child.state) == (2, "INTERPRETING")
    assert child.parent == object_id(encode(parent))
    assert expected_refs(oid("g"), child) == {**unknown, "generation": oid("g")}


def test_what_is_declared_is_what_is_new() -> None:
    parent = walk_to("GENERATING_HYPOTHESES")
    child = follow(
        parent,
        "source.add",
        "database.add",
        "hypotheses",
        snapshots={"b": oid("2"), "a": oid("1")},
        artifacts={"hypotheses": oid("h")},
    )
    assert child.declared == {
        "snapshots": sorted([oid("1"), oid("2")]),
        "hypotheses": [oid("h")],
    }
    again = follow(child, "hypotheses", artifacts={"hypotheses": oid("h2")})
    assert again.declared == {"hypotheses": [oid("h2")]}
    assert declared_roots(child, again) == again.declared


def test_a_block_and_its_end() -> None:
    parent = walk_to("INVESTIGATING_HYPOTHESES")
    waiting = follow(
        parent,
        "test.submit",
        blocked=blocked("AWAITING_TEST_FEEDBACK"),
        artifacts={"async_test_request": oid("r")},
    )
    assert waiting.state == "BLOCKED"
    assert waiting.blocked is not None
    assert waiting.blocked.resume_state == "INVESTIGATING_HYPOTHESES"
    attached = follow(waiting, "test.attach", attachments=oid("a"))
    assert attached.blocked == waiting.blocked
    assert attached.declared == {"attachments": [oid("a")]}
    done = follow(attached, "test.confirm", artifacts={"async_test_feedback": oid("f")})
    assert (done.state, done.blocked) == ("INVESTIGATING_HYPOTHESES", None)
    assert done.analysis_revision == parent.analysis_revision
    changed = msgspec.structs.replace(
        attached,
        blocked=msgspec.structs.replace(attached.blocked, automatic_retry=True),  # type: ignore[type-var]
    )
    assert check(waiting, changed) == [("blocked", "/blocked")]


def test_reopening_raises_the_revision_and_keeps_everything() -> None:
    parent = walk_to("GENERATING_HYPOTHESES")
    parent = follow(parent, "hypotheses", artifacts={"hypotheses": oid("h")})
    for _ in range(2):
        parent = follow(parent, "advance")
    assert parent.state == "DIAGNOSED"
    reopened = follow(parent, "reopen.review", artifacts={"budget_ledger": oid("l")})
    assert (reopened.state, reopened.analysis_revision) == ("REOPENED", 2)
    assert reopened.artifacts == {"budget_ledger": oid("l"), "hypotheses": oid("h")}
    assert reopened.declared == {"budget_ledger": [oid("l")]}
    assert follow(reopened, "advance").state == "GENERATING_HYPOTHESES"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"package_generation": 3}, ("number", "/package_generation")),
        ({"parent": oid("other")}, ("parent", "/parent")),
        ({"parent": None}, ("parent", "/parent")),
        ({"history": History(size=2, root=ROOT)}, ("history", "/history/size")),
        ({"case_id": "other"}, ("identity", "/case_id")),
        ({"package_id": "other"}, ("identity", "/package_id")),
        ({"state": "CLOSED"}, ("state", "/state")),
        ({"blocked": blocked("OPERATOR_HOLD")}, ("blocked", "/blocked")),
        ({"analysis_revision": 2}, ("revision", "/analysis_revision")),
        ({"inputs": oid("other")}, ("member", "/inputs")),
        ({"attachments": oid("a")}, ("member", "/attachments")),
        ({"snapshots": {"s": oid("s")}}, ("member", "/snapshots/s")),
        ({"artifacts": {"hypotheses": oid("h")}}, ("member", "/artifacts/hypotheses")),
        ({"artifacts": {"unheard_of": oid("h")}}, ("member", "/artifacts/unheard_of")),
        ({"artifacts": {"inputs": oid("h")}}, ("artifact", "/artifacts/inputs")),
        ({"declared": {"inputs": [oid("inputs")]}}, ("declared", "/declared/inputs")),
        ({"declared": {"a_role": [oid("x")]}}, ("declared", "/declared/a_role")),
        ({"declared": {"a_role": []}}, ("declared", "/declared/a_role")),
        ({"events": [event("hypotheses")]}, ("event", "/events")),
    ],
)
def test_each_rule_is_broken_by_its_own_fault(
    change: dict[str, Any], fault: tuple[str, str]
) -> None:
    parent = start()
    good = follow(parent, "advance")
    assert check(parent, good) == []
    assert fault in check(parent, msgspec.structs.replace(good, **change))


def test_everything_that_is_new_must_be_declared() -> None:
    parent = start()
    child = follow(parent, "source.add", snapshots={"a": oid("1"), "b": oid("2")})
    for declared in ({}, {"snapshots": []}, {"snapshots": child.declared["snapshots"][:1]}):
        assert check(parent, msgspec.structs.replace(child, declared=declared)) == [
            ("declared", "/declared/snapshots")
        ]


def test_snapshots_are_kept_for_ever() -> None:
    parent = follow(start(), "source.add", snapshots={"s": oid("s")})
    with pytest.raises(InvalidError, match="/snapshots/s"):
        follow(parent, "source.add", snapshots={"s": oid("other")})
    gone = msgspec.structs.replace(
        follow(parent, "source.add", snapshots={"t": oid("t")}), snapshots={"t": oid("t")}
    )
    assert ("snapshot", "/snapshots/s") in check(parent, gone)


def test_members_go_with_events() -> None:
    with pytest.raises(InvalidError) as caught:
        follow(start(), "advance", inputs=oid("other"))
    assert (caught.value.kind, caught.value.details["pointer"]) == ("bad_generation", "/inputs")
    assert follow(start(), "input.add", inputs=oid("other")).inputs == oid("other")
    for name in ("generation", "inputs", "snapshots", "attachments"):
        with pytest.raises(InvalidError):
            follow(walk_to("GENERATING_HYPOTHESES"), "hypotheses", artifacts={name: oid("x")})


def test_unknown_events_are_unsupported() -> None:
    child = msgspec.structs.replace(follow(start(), "advance"), events=[event("time.travel")])
    with pytest.raises(UnsupportedError):
        check(start(), child)
