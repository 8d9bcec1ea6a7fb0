"""Instants, as events record them. Nothing decides by them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Clock", "utc_now"]

#: Gives the current instant in UTC, to the second, such as ``2026-03-01T12:00:00Z``.
Clock: TypeAlias = Callable[[], str]


def utc_now() -> str:
    """The machine's current instant in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
