"""The parts of a reply that satisfy the schema, where the whole perhaps does not.

All errors of a reply are told at once, so the rules look at whatever can be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec

from vstore.investigation.rejection import Path, Problem

__all__ = ["ABSENT", "Readable"]

T = TypeVar("T")

#: Stands for a part that is missing or can't be read.
ABSENT: Final = object()


class Readable:
    """A reply's value, and where it fails the schema.

    Args:
        value: The plain JSON value.
        problems: All its schema problems.
    """

    def __init__(self, value: Any, problems: Iterable[Problem]) -> None:
        self._value = value
        self._bad = {one.path for one in problems}

    def sound(self, path: Path) -> bool:
        """Whether there is a part here without a problem in it."""
        return self._at(path) is not ABSENT and not any(
            one[: len(path)] == path for one in self._bad
        )

    def get(self, path: Path, kind: type[T]) -> T | None:
        """A sound part as this type; None where it is not sound."""
        return msgspec.convert(self._at(path), kind) if self.sound(path) else None

    def parts(self, path: Path, kind: type[T]) -> list[T]:
        """The sound members of a list; none of one that is no list, or too long to look into."""
        found = self._at(path)
        if not isinstance(found, list) or path in self._bad:
            return []
        parts = (self.get((*path, position), kind) for position in range(len(found)))
        return [one for one in parts if one is not None]

    def _at(self, path: Path) -> Any:
        value = self._value
        for part in path:
            if isinstance(part, str) and not (isinstance(value, dict) and part in value):
                return ABSENT
            value = value[part]
        return value
