"""Where two plain JSON values first differ."""

from __future__ import annotations

from typing import Any

__all__ = ["first_difference"]


def first_difference(expected: Any, actual: Any) -> str | None:
    """The JSON pointer (RFC 6901) of the first difference, or None where there is none.

    Members are compared in the order of their names, positions in their order. A value of
    another type differs as a whole, and a boolean is no integer.

    Args:
        expected: A plain JSON value.
        actual: The value compared with it, which may hold anything.

    Returns:
        The pointer; the empty string where the two differ as a whole.
    """
    if type(expected) is not type(actual):
        return ""
    if isinstance(expected, dict):
        if not all(isinstance(name, str) for name in actual):
            # No JSON object: there is no pointer to such a member.
            return ""
        for name in sorted(expected.keys() | actual.keys()):
            if name not in expected or name not in actual:
                return "/" + _escape(name)
            inner = first_difference(expected[name], actual[name])
            if inner is not None:
                return "/" + _escape(name) + inner
        return None
    if isinstance(expected, list):
        for position, (one, other) in enumerate(zip(expected, actual, strict=False)):
            inner = first_difference(one, other)
            if inner is not None:
                return f"/{position}{inner}"
        if len(expected) != len(actual):
            return f"/{min(len(expected), len(actual))}"
        return None
    return None if expected == actual else ""


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
