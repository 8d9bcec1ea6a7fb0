"""What the rules ask of the sets and maps that a case accumulates.

Builtin sets and dicts do; derived caches on disk may stand in their place, so that a fresh
process needn't read a history of 10,000 records (spec: storage, "Cost").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

__all__ = ["GrowingSet", "Membership", "Table"]

K = TypeVar("K", contravariant=True)
V = TypeVar("V")


class Membership(Protocol):
    """Something that knows what belongs to it."""

    def __contains__(self, member: object, /) -> bool: ...


class GrowingSet(Protocol):
    """A set of digests that only ever grows."""

    def __contains__(self, member: object, /) -> bool: ...

    def update(self, members: Iterable[str], /) -> None:
        """Add members; adding one again changes nothing."""
        ...


class Table(Protocol[K, V]):
    """A map whose entries are never changed once made."""

    def get(self, key: K, /) -> V | None:
        """The value of a key, or None."""
        ...

    def __setitem__(self, key: K, value: V, /) -> None: ...
