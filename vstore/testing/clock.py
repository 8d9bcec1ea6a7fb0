"""A clock that tests set."""

from __future__ import annotations

import time

__all__ = ["FrozenClock"]

_START = 1_767_225_600  # 2026-01-01T00:00:00Z


class FrozenClock:
    """Gives instants of its own; nothing moves it but :meth:`tick`, or each call by ``step``.

    Args:
        step: Seconds that it moves after each call, 0 or more.
    """

    def __init__(self, *, step: int = 0) -> None:
        self._now = _START
        self._step = step

    def __call__(self) -> str:
        """The instant now, such as ``2026-01-01T00:00:00Z``."""
        instant = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._now))
        self._now += self._step
        return instant

    def tick(self, seconds: int = 1) -> None:
        """Move the clock on."""
        self._now += seconds
