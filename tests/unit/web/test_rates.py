"""Sliding windows, against a list of instants counted by hand."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vstore.testing.clock import FrozenClock
from vstore.web.database import Database
from vstore.web.problems import TooMany
from vstore.web.rates import Rates, network


@pytest.fixture
def rates(database: Database) -> Rates:
    return Rates(database)


def test_a_window_slides(rates: Rates, clock: FrozenClock) -> None:
    for _ in range(3):
        rates.check("a", 3, 100)
        rates.hit("a", 3, 100)
        clock.tick(10)
    for refuse in (rates.check, rates.hit):
        with pytest.raises(TooMany) as error:
            refuse("a", 3, 100)
        # The first was at 0, and it is 30 now.
        assert error.value.details["retry_after"] == 70
        assert (error.value.details["limit"], error.value.details["value"]) == (3, 3)
    rates.hit("b", 3, 100)
    clock.tick(69)
    with pytest.raises(TooMany):
        rates.check("a", 3, 100)
    clock.tick(1)
    rates.hit("a", 3, 100)


def test_giving_back_and_clearing(rates: Rates) -> None:
    rates.hit("a", 1, 100)
    rates.give_back("a")
    rates.hit("a", 1, 100)
    rates.clear("b")
    with pytest.raises(TooMany):
        rates.check("a", 1, 100)
    rates.clear("a")
    rates.check("a", 1, 100)
    rates.give_back("a")


def test_a_clock_that_was_moved_back_locks_nobody_out(rates: Rates, clock: FrozenClock) -> None:
    clock.tick(10**6)
    for _ in range(3):
        rates.hit("a", 3, 100)
    clock.tick(-(10**6))
    for _ in range(3):
        rates.hit("a", 3, 100)
    with pytest.raises(TooMany) as error:
        rates.hit("a", 3, 100)
    assert error.value.details["retry_after"] == 100


def test_what_is_over_is_removed(rates: Rates, clock: FrozenClock, database: Database) -> None:
    for number in range(50):
        rates.hit(f"key {number}", 5, 10)
        clock.tick(1)
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM rates").fetchone()[0] == 10
        assert b"key" not in bytes(db.execute("SELECT key FROM rates").fetchone()[0])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    limit=st.integers(1, 4),
    window=st.integers(1, 20),
    steps=st.lists(st.integers(0, 10), max_size=25),
)
def test_like_a_list_of_instants(
    rates: Rates, clock: FrozenClock, limit: int, window: int, steps: list[int]
) -> None:
    rates.clear("a")
    now, taken = 0, []
    for step in steps:
        clock.tick(step)
        now += step
        allowed = sum(now - window < at for at in taken) < limit
        if allowed:
            rates.hit("a", limit, window)
            taken.append(now)
        else:
            with pytest.raises(TooMany) as error:
                rates.hit("a", limit, window)
            wait = int(str(error.value.details["retry_after"]))
            assert sum(now + wait - window < at for at in taken) < limit
            assert sum(now + wait - 1 - window < at for at in taken) >= limit


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, "unknown"),
        ("", "unknown"),
        ("testclient", "testclient"),
        ("x" * 500, "x" * 100),
        # As some proxies pass them on.
        ("192.0.2.7:50123", "192.0.2.7"),
        ("[2001:db8:1:2:3::4]:50123", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:3::4]", "2001:db8:1:2::/64"),
        ("[", "["),
        ("a:b", "a:b"),
    ],
    ids=[
        "v4",
        "mapped",
        "v6",
        "scoped",
        "none",
        "empty",
        "name",
        "long",
        "v4-port",
        "v6-port",
        "v6-brackets",
        "bracket",
        "colon",
    ],
)
def test_places(address: str | None, place: str) -> None:
    assert network(address) == place
