"""Instants in the reader's zone and in UTC."""

from __future__ import annotations

import pytest

from vstore.web.local_times import distance, known_zone, local_time, zones
from vstore.web.words import words_of

EN, DE = words_of("en"), words_of("de")


@pytest.mark.parametrize(
    ("zone", "local", "name"),
    [
        ("Europe/Berlin", "1 Jul 2026, 14:05", "CEST"),
        ("America/New_York", "1 Jul 2026, 08:05", "EDT"),
        ("Asia/Kathmandu", "1 Jul 2026, 17:50", "+0545"),
        ("Pacific/Auckland", "2 Jul 2026, 00:05", "NZST"),
        ("UTC", None, "UTC"),
        (None, None, "UTC"),
    ],
)
def test_an_instant_stands_in_both_zones(zone: str | None, local: str | None, name: str) -> None:
    shown = local_time("2026-07-01T12:05:59Z", zone, EN)
    assert (shown.local, shown.zone, shown.utc) == (local, name, "1 Jul 2026, 12:05")


@pytest.mark.parametrize(
    ("zone", "beside"),
    [
        ("Europe/Berlin", "12:05"),
        ("Pacific/Auckland", "1 Jul 2026, 12:05"),
        (None, "1 Jul 2026, 12:05"),
    ],
)
def test_beside_a_local_time_the_day_is_not_said_twice(zone: str | None, beside: str) -> None:
    assert local_time("2026-07-01T12:05:59Z", zone, EN).utc_beside == beside


def test_german_writes_it_in_its_own_way() -> None:
    shown = local_time("2026-03-29T01:00:00Z", "Europe/Berlin", DE)
    # The hour that the clocks skip: 02:00 is 03:00.
    assert (shown.local, shown.utc) == ("29. März 2026, 03:00 Uhr", "29. März 2026, 01:00 Uhr")


@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/New_York", None])
def test_the_ends_of_time_are_shown_too(instant: str, zone: str | None) -> None:
    assert local_time(instant, zone, EN).utc in ("1 Jan 1, 00:00", "31 Dec 9999, 23:59")


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Europe/Berlin", True),
        ("UTC", True),
        ("Europe/berlin", False),
        ("../../../etc/passwd", False),
        ("/etc/localtime", False),
        ("posixrules", False),
        ("", False),
        (None, False),
    ],
)
def test_a_zone_is_one_of_the_list(name: str | None, known: bool) -> None:
    assert known_zone(name) == (name if known else None)


def test_the_list_is_of_places() -> None:
    assert len(zones()) > 300
    assert list(zones()) == sorted(zones())
    assert not [name for name in zones() if name.startswith(("Etc/", "/")) or ".." in name]


@pytest.mark.parametrize(
    ("instant", "english", "german"),
    [
        ("2026-01-04T12:00:00Z", "in 3 days", "in 3 Tagen"),
        ("2026-01-03T11:59:59Z", "in 47 hours", "in 47 Stunden"),
        ("2026-01-01T13:59:59Z", "in 119 minutes", "in 119 Minuten"),
        ("2026-01-01T12:01:00Z", "in 1 minute", "in 1 Minute"),
        ("2026-01-01T12:00:30Z", "in a moment", "gleich"),
        ("2026-01-01T12:00:00Z", "just now", "gerade eben"),
        ("2026-01-01T11:58:00Z", "2 minutes ago", "vor 2 Minuten"),
        ("2025-12-30T12:00:00Z", "2 days ago", "vor 2 Tagen"),
    ],
)
def test_how_far_away_it_is(instant: str, english: str, german: str) -> None:
    now = "2026-01-01T12:00:00Z"
    assert (distance(instant, now, EN), distance(instant, now, DE)) == (english, german)
