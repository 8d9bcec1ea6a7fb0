"""Instants as text, as the clock gives them, and as seconds to calculate with."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from vstore.errors import InvalidError

__all__ = ["instant", "seconds"]

_INSTANT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(instant: str) -> int:
    """Seconds since 1970 of an instant.

    Args:
        instant: In UTC to the second, such as ``2026-03-01T12:00:00Z``.

    Raises:
        InvalidError: It isn't one (``invalid_instant``).
    """
    if _INSTANT.fullmatch(instant) is not None:
        try:
            found = datetime.fromisoformat(instant)
        except ValueError:
            pass
        else:
            return (found - _EPOCH) // timedelta(seconds=1)
    raise InvalidError(
        "not an instant in UTC", kind="invalid_instant", hint="such as 2026-03-01T12:00:00Z"
    )


def instant(seconds: int) -> str:
    """The instant in UTC, as text.

    Args:
        seconds: Since 1970; of the years 1 to 9999.

    Raises:
        InvalidError: No year of four digits has it (``invalid_instant``).
    """
    try:
        found = _EPOCH + timedelta(seconds=seconds)
    except OverflowError as error:
        raise InvalidError("the instant is out of range", kind="invalid_instant") from error
    return found.isoformat().removesuffix("+00:00") + "Z"
