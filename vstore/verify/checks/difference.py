"""Where two JSON values differ first, as a JSON pointer (RFC 6901)."""

from __future__ import annotations

from typing import Any, Final

from vstore.objects.plain_json import encode_value

__all__ = ["first_difference"]

_SHOWN: Final = 200


def first_difference(expected: Any, actual: Any, at: str = "") -> tuple[str, str, str]:
    """The pointer of the first difference, and both values there, cut to a line.

    Members are compared in the order of their names. Two equal values differ nowhere: then
    the pointer is ``at`` itself.

    Args:
        expected: A plain JSON value.
        actual: Another one.
        at: The pointer that both stand at.
    """
    while True:
        if isinstance(expected, dict) and isinstance(actual, dict):
            names = sorted(
                name
                for name in expected.keys() | actual.keys()
                if name not in expected
                or name not in actual
                or not _same(expected[name], actual[name])
            )
            if not names:
                break
            name = names[0]
            at = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in expected or name not in actual:
                return (
                    at,
                    _shown(expected[name]) if name in expected else "nothing",
                    _shown(actual[name]) if name in actual else "nothing",
                )
            expected, actual = expected[name], actual[name]
        elif isinstance(expected, list) and isinstance(actual, list):
            place = next(
                (
                    place
                    for place, (one, other) in enumerate(zip(expected, actual, strict=False))
                    if not _same(one, other)
                ),
                min(len(expected), len(actual)),
            )
            if place >= len(expected) and place >= len(actual):
                break
            at = f"{at}/{place}"
            if place >= len(expected) or place >= len(actual):
                return (
                    at,
                    _shown(expected[place]) if place < len(expected) else "nothing",
                    _shown(actual[place]) if place < len(actual) else "nothing",
                )
            expected, actual = expected[place], actual[place]
        else:
            break
    return at, _shown(expected), _shown(actual)


def _same(one: Any, other: Any) -> bool:
    # In Python True == 1; in JSON they differ, at any depth.
    return bool(one == other) and encode_value(one) == encode_value(other)


def _shown(value: Any) -> str:
    """Numbers and short texts as they are; of longer values the beginning."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    if not text and not isinstance(value, str):
        text = encode_value(value).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
