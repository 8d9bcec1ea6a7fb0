"""Claims: one holder, leases under a clock that moves, fencing tokens that only grow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from vstore.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    StateError,
    VStoreError,
)
from vstore.testing.desk import KEY, DeskCase
from vstore.testing.investigation import CASE, PACKAGE
from vstore.web.accounts import Account
from vstore.web.board import RequestKey
from vstore.web.claims import Claim, Claims

LEASE = 900


def kind_of(error: type[VStoreError], action: Callable[[], Any]) -> str:
    with pytest.raises(error) as caught:
        action()
    return caught.value.kind


def test_one_holds_a_test_and_another_learns_who(case: DeskCase) -> None:
    first = case.claim()
    assert (first.name, first.fence, first.live) == ("pat", 1, True)
    assert first.claimed_at == "2026-01-01T00:00:00Z"
    assert first.lease_until == "2026-01-01T00:15:00Z"
    with pytest.raises(ConflictError) as error:
        case.claim(case.kim)
    assert error.value.kind == "claimed"
    assert error.value.details == {"holder": "pat", "lease_until": "2026-01-01T00:15:00Z"}
    assert case.desk.claims.holder(KEY) == first
    assert case.desk.claims.holders() == {KEY: first}


def test_ones_own_claim_again_renews_and_is_the_same_one(case: DeskCase) -> None:
    case.claim()
    case.clock.tick(600)
    again = case.claim()
    assert (again.fence, again.claimed_at) == (1, "2026-01-01T00:00:00Z")
    assert again.lease_until == "2026-01-01T00:25:00Z"
    claims = [one for one in case.desk.audit.recent() if one.action == "test.claim"]
    assert len(claims) == 1


def test_a_lease_that_ran_out_costs_nothing_until_somebody_else_comes(case: DeskCase) -> None:
    first = case.claim()
    case.clock.tick(LEASE - 1)
    assert kind_of(ConflictError, lambda: case.claim(case.kim)) == "claimed"
    case.clock.tick(1)
    held = case.desk.claims.holder(KEY)
    assert held is not None
    assert not held.live
    case.clock.tick(86_400)
    case.write(first)  # they go on, and hold it again
    assert kind_of(ConflictError, lambda: case.claim(case.kim)) == "claimed"
    renewed = case.desk.claims.renew(KEY, case.pat, first.fence)
    assert (renewed.fence, renewed.live) == (1, True)


def test_who_was_superseded_can_do_nothing_any_more(case: DeskCase) -> None:
    first = case.claim()
    upload = case.upload(first)
    writer = case.desk.uploads.begin(KEY, case.pat, first.fence, "late.log")
    draft = case.write(first, upload)
    preview = case.desk.confirming.preview(KEY, case.pat, first.fence, draft.revision)
    case.clock.tick(LEASE)
    second = case.claim(case.kim)
    assert second.fence == 2
    desk, fence = case.desk, first.fence
    for action in (
        lambda: desk.drafts.save(KEY, case.pat, fence, 1, draft.content),
        lambda: desk.confirming.confirm(KEY, case.pat, fence, 1, preview.draft_digest or ""),
        lambda: desk.confirming.preview(KEY, case.pat, fence, 1),
        lambda: desk.claims.renew(KEY, case.pat, fence),
        lambda: desk.claims.release(KEY, case.pat, fence),
        lambda: desk.claims.decline(KEY, case.pat, fence, "late"),
        lambda: desk.uploads.begin(KEY, case.pat, fence, "x"),
        lambda: desk.uploads.remove(KEY, case.pat, fence, upload.upload_id),
        lambda: (writer.write(b"late"), writer.finish()),
    ):
        assert kind_of(ConflictError, action) == "superseded"
    # A token of somebody else's doesn't help.
    assert kind_of(ConflictError, lambda: desk.claims.renew(KEY, case.pat, 2)) == "not_claimed"
    held = desk.claims.holder(KEY)
    assert held is not None
    assert (held.name, held.fence) == ("kim", 2)
    assert desk.board.entry(KEY).status == "open"
    # What they wrote and uploaded is still theirs.
    assert desk.drafts.load(KEY, case.pat).content == draft.content
    assert desk.uploads.list(KEY, case.pat) == [upload]
    assert [one.name for one in (case.root / "state/uploads").iterdir()] == [upload.upload_id]


def test_a_clock_that_is_moved_forwards(case: DeskCase) -> None:
    first = case.claim()
    draft = case.write(first)
    case.clock.tick(10 * 365 * 86_400)
    second = case.claim(case.kim)
    case.clock.tick(-10 * 365 * 86_400)  # and back: who was superseded stays superseded
    assert (
        kind_of(ConflictError, lambda: case.save(first, draft.revision, draft.content))
        == "superseded"
    )
    held = case.desk.claims.holder(KEY)
    assert held is not None
    assert held.fence == second.fence


def test_a_clock_that_is_moved_backwards_prolongs_no_lease(case: DeskCase) -> None:
    case.claim()
    case.clock.tick(-86_400)
    held = case.desk.claims.holder(KEY)
    assert held is not None
    # Not a day and a quarter of an hour.
    assert held.lease_until == "2025-12-31T00:15:00Z"
    assert kind_of(ConflictError, lambda: case.claim(case.kim)) == "claimed"
    case.clock.tick(LEASE - 1)
    assert kind_of(ConflictError, lambda: case.claim(case.kim)) == "claimed"
    case.clock.tick(1)
    assert case.claim(case.kim).fence == 2


def test_release_frees_it_and_an_old_page_is_refused(case: DeskCase) -> None:
    first = case.claim()
    case.desk.claims.release(KEY, case.pat, first.fence, "other work")
    assert case.desk.claims.holder(KEY) is None
    assert case.desk.claims.holders() == {}
    old = case.desk.audit.recent(1)[0]
    assert (old.actor, old.action, old.facts["reason"]) == ("pat", "test.release", "other work")
    again = lambda: case.desk.claims.renew(KEY, case.pat, first.fence)  # noqa: E731
    assert kind_of(ConflictError, again) == "not_claimed"
    assert case.claim().fence == 2
    # The page from before the release is an old one, also where the tester is the same.
    assert kind_of(ConflictError, again) == "superseded"


def test_declining_needs_a_reason_that_others_see(case: DeskCase) -> None:
    claims = case.desk.claims
    first = case.claim()
    assert kind_of(InvalidError, lambda: claims.decline(KEY, case.pat, 1, "  ")) == "invalid_reason"
    too_long = "x" * 2001
    assert (
        kind_of(InvalidError, lambda: claims.decline(KEY, case.pat, 1, too_long))
        == "invalid_reason"
    )
    assert (
        kind_of(InvalidError, lambda: claims.release(KEY, case.pat, 1, "\ud800"))
        == "invalid_reason"
    )
    declined = claims.decline(KEY, case.pat, first.fence, " no such machine\n")
    assert claims.declines(KEY) == [declined]
    assert (declined.name, declined.reason) == ("pat", "no such machine")
    assert claims.holder(KEY) is None
    # One needn't hold it to say so, and may say it again.
    claims.decline(KEY, case.kim, None, "on holiday")
    claims.decline(KEY, case.kim, None, "on holiday until May")
    assert [one.reason for one in claims.declines(KEY)] == [
        "no such machine",
        "on holiday until May",
    ]
    # Who takes it all the same has changed their mind.
    case.claim(case.kim)
    assert [one.name for one in claims.declines(KEY)] == ["pat"]
    # Holding it, and forgetting to show the token, frees it too.
    claims.decline(KEY, case.kim, None, "again")
    assert claims.holder(KEY) is None


def test_who_may_claim_what(case: DeskCase) -> None:
    claims = case.desk.claims
    assert (
        kind_of(StateError, lambda: claims.claim(KEY, case.pat, executor="automated"))
        == "wrong_executor"
    )
    unknown = RequestKey(CASE, PACKAGE, "test-2")
    assert kind_of(NotFoundError, lambda: claims.claim(unknown, case.pat)) == "unknown_request"
    case.confirm(*case.ready())
    assert kind_of(StateError, lambda: case.claim(case.kim)) == "answered"
    assert kind_of(StateError, lambda: claims.decline(KEY, case.kim, None, "no")) == "answered"


def test_a_disabled_holder_holds_nobody_up_and_can_write_no_more(case: DeskCase) -> None:
    first = case.claim()
    writer = case.desk.uploads.begin(KEY, case.pat, first.fence, "app.log")
    case.desk.accounts.disable("pat", by="ada")
    assert kind_of(ConflictError, lambda: case.write(first)) == "not_claimed"
    assert kind_of(ConflictError, writer.finish) == "not_claimed"
    assert case.claim(case.kim).fence == 2


@pytest.mark.parametrize("seconds", [0, -1, 604_801, 1.5, True])
def test_a_lease_has_a_length(case: DeskCase, seconds: Any) -> None:
    desk = case.desk
    with pytest.raises(InvalidError) as error:
        Claims(desk.database, desk.board, desk.audit, lease_seconds=seconds)
    assert error.value.kind == "invalid_lease"


def test_of_fifty_at_once_one_wins(case: DeskCase) -> None:
    testers = [case.desk.accounts.add(f"tester {n}", by="ada") for n in range(50)]
    start = threading.Barrier(len(testers))

    def claim(account: Account) -> Claim | str:
        start.wait(30)
        try:
            return case.claim(account)
        except ConflictError as error:
            return f"{error.kind} by {error.details['holder']}"

    with ThreadPoolExecutor(len(testers)) as pool:
        outcomes = list(pool.map(claim, testers))
    (winner,) = [one for one in outcomes if isinstance(one, Claim)]
    assert winner.fence == 1
    # All others were told the same name.
    assert {one for one in outcomes if isinstance(one, str)} == {f"claimed by {winner.name}"}
    assert len([one for one in case.desk.audit.recent(1000) if one.action == "test.claim"]) == 1
