"""Instants as a reader sees them: in their own time zone, and in UTC."""

from __future__ import annotations

import functools
import zoneinfo
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from vstore.web.times import seconds as to_seconds
from vstore.web.words import Words

__all__ = ["LocalTime", "distance", "known_zone", "local_time", "zones"]

_UTC: Final = zoneinfo.ZoneInfo("UTC")
#: From these many seconds on, the next larger unit reads better.
_UNITS: Final = (("days", 86_400, 2 * 86_400), ("hours", 3_600, 2 * 3_600), ("minutes", 60, 60))


class LocalTime(NamedTuple):
    """One instant in words.

    Attributes:
        instant: As it is recorded.
        local: In the reader's zone, or None where that is unknown or UTC itself.
        zone: What the zone calls itself then, such as ``CET`` or ``+0545``.
        utc: In UTC.
        utc_beside: In UTC, without the day where ``local`` is of the same one.
    """

    instant: str
    local: str | None
    zone: str
    utc: str
    utc_beside: str


@functools.cache
def zones() -> tuple[str, ...]:
    """The names of all zones that people live in, sorted."""
    return tuple(
        sorted(
            name
            for name in zoneinfo.available_timezones()
            if "/" in name and not name.startswith(("Etc/", "SystemV/", "posix/", "right/"))
        )
    )


def known_zone(name: str | None) -> str | None:
    """The zone of that name, or None; a name is never used as a path before it is known."""
    return name if name in ("UTC", *zones()) else None


def local_time(instant: str, zone: str | None, words: Words) -> LocalTime:
    """An instant in the reader's zone and in UTC.

    Args:
        instant: Such as ``2026-03-01T12:00:00Z``.
        zone: A name that :func:`known_zone` gave, or None.
        words: In this language.
    """
    at = datetime(1970, 1, 1, tzinfo=_UTC) + timedelta(seconds=to_seconds(instant))
    utc = _written(at, words)
    if zone is None or zone == "UTC":
        return LocalTime(instant, None, "UTC", utc, utc)
    try:
        there = at.astimezone(zoneinfo.ZoneInfo(zone))
    except OverflowError:
        # On the first and the last day of the calendar there is no other zone.
        return LocalTime(instant, None, "UTC", utc, utc)
    beside = _time(at, words) if there.date() == at.date() else utc
    return LocalTime(instant, _written(there, words), there.tzname() or zone, utc, beside)


def distance(instant: str, now: str, words: Words) -> str:
    """How far away an instant is: ``in 2 days``, ``3 hours ago``, ``just now``.

    Args:
        instant: The instant.
        now: The instant from which it is looked at.
        words: In this language.
    """
    away = to_seconds(instant) - to_seconds(now)
    for name, unit, from_ in _UNITS:
        if abs(away) >= from_:
            return words.count(("in." if away > 0 else "ago.") + name, abs(away) // unit)
    return words("in.moment" if away > 0 else "ago.moment")


def _written(at: datetime, words: Words) -> str:
    month = words("date.months").split(",")[at.month - 1]
    return words("date.written", day=at.day, month=month, year=at.year, time=_time(at, words))


def _time(at: datetime, words: Words) -> str:
    return words("date.time", hour=f"{at.hour:02}", minute=f"{at.minute:02}")
