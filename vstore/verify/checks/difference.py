"""Where two JSON values differ first, and what stands there in both."""

from __future__ import annotations

from typing import Any, Final

from vstore.objects.difference import first_difference
from vstore.objects.plain_json import encode_value

__all__ = ["difference_of"]

_SHOWN: Final = 200
_NOTHING: Final = object()


def difference_of(expected: Any, actual: Any, at: str = "") -> tuple[str, str, str]:
    """The pointer of the first difference, and both values there, cut to a line.

    Args:
        expected: A plain JSON value.
        actual: Another one. Two equal values differ nowhere: then the pointer is ``at``.
        at: The pointer that both stand at.
    """
    pointer = first_difference(expected, actual) or ""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        expected, actual = _below(expected, name), _below(actual, name)
    return at + pointer, _shown(expected), _shown(actual)


def _below(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name, _NOTHING)
    if isinstance(value, list):
        place = int(name)
        return value[place] if place < len(value) else _NOTHING
    return _NOTHING


def _shown(value: Any) -> str:
    """Texts as they are, anything else as JSON; of long ones the beginning."""
    if value is _NOTHING:
        return "nothing"
    text = value if isinstance(value, str) else encode_value(value).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
