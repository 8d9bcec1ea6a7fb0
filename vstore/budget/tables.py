"""What the ledger's rules ask of the maps and sets that grow with the case.

Builtin dicts and sets do; derived caches on disk may stand in their place. An overlay lets
several commands be planned one on the other while what lies below stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Generic, Protocol, TypeVar

__all__ = ["GrowingSet", "LazyMap", "OverlayMap", "OverlaySet", "OverlayTable", "Table"]

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


class OverlayMap(MutableMapping[K, V]):
    """Changes over a map that is left alone; new keys come after its own."""

    def __init__(self, below: Mapping[K, V]) -> None:
        self._below = below
        #: None stands for a key that was removed.
        self._changed: dict[K, V | None] = {}

    def __getitem__(self, key: K, /) -> V:
        if key not in self._changed:
            return self._below[key]
        found = self._changed[key]
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: K, value: V, /) -> None:
        self._changed[key] = value

    def __delitem__(self, key: K, /) -> None:
        if key not in self:
            raise KeyError(key)
        self._changed[key] = None

    def __iter__(self) -> Iterator[K]:
        for key in self._below:
            if self._changed.get(key, self) is not None:
                yield key
        for key, value in self._changed.items():
            if value is not None and key not in self._below:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)


class LazyMap(MutableMapping[K, V]):
    """A map that is loaded when somebody reads it; until then it only takes additions.

    Args:
        load: Gives what is in it.
    """

    def __init__(self, load: Callable[[], dict[K, V]]) -> None:
        self._load = load
        self._loaded: dict[K, V] | None = None
        self._added: dict[K, V] = {}

    def _all(self) -> dict[K, V]:
        if self._loaded is None:
            self._loaded = {**self._load(), **self._added}
        return self._loaded

    def __getitem__(self, key: K, /) -> V:
        return self._all()[key]

    def __setitem__(self, key: K, value: V, /) -> None:
        (self._added if self._loaded is None else self._loaded)[key] = value

    def __delitem__(self, key: K, /) -> None:
        del self._all()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


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
