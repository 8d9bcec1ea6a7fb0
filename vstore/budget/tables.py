"""What the ledger's rules ask of the maps and sets that grow with the case.

Builtin dicts and sets do; derived caches on disk may stand in their place. An overlay lets
several commands be planned one on the other while what lies below stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

__all__ = ["GrowingSet", "OverlaySet", "OverlayTable", "Table"]

K = TypeVar("K")
V = TypeVar("V")
K_contra = TypeVar("K_contra", contravariant=True)


class Table(Protocol[K_contra, V]):
    """A map whose entries are never changed once made."""

    def get(self, key: K_contra, /) -> V | None:
        """The value of a key, or None."""
        ...

    def __setitem__(self, key: K_contra, value: V, /) -> None: ...


class GrowingSet(Protocol):
    """A set of texts that only ever grows."""

    def __contains__(self, member: object, /) -> bool: ...

    def update(self, members: Iterable[str], /) -> None:
        """Add members; adding one again changes nothing."""
        ...


class OverlayTable(Generic[K, V]):
    """New entries over a table that is left alone."""

    def __init__(self, below: Table[K, V]) -> None:
        self._below = below
        self._new: dict[K, V] = {}

    def get(self, key: K, /) -> V | None:
        """See :meth:`Table.get`."""
        found = self._new.get(key)
        return self._below.get(key) if found is None else found

    def __setitem__(self, key: K, value: V, /) -> None:
        self._new[key] = value


class OverlaySet:
    """New members over a set that is left alone."""

    def __init__(self, below: GrowingSet) -> None:
        self._below = below
        self._new: set[str] = set()

    def __contains__(self, member: object, /) -> bool:
        return member in self._new or member in self._below

    def update(self, members: Iterable[str], /) -> None:
        """See :meth:`GrowingSet.update`."""
        self._new.update(members)
