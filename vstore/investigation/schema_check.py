"""Every way in which a value fails a frozen schema, all at once.

The frozen schema itself is interpreted, not the Struct of this version: a step is judged by
the contract that it was opened under. Where ``kind`` tells alternatives apart, an error is
located in the one that the value names. Nothing of the value gets into a problem but
positions in lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from vstore.errors import InvalidError
from vstore.investigation.contracts import known_members
from vstore.investigation.rejection import SCHEMA, Path, Problem

__all__ = ["schema_problems"]

_KEYWORDS: Final = frozenset(
    {
        "$id",
        "$schema",
        "additionalProperties",
        "anyOf",
        "const",
        "enum",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "oneOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
    }
)
_TYPES: Final[dict[str, type]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "null": type(None),
}


def schema_problems(schema: Any, value: Any, path: Path = ()) -> Iterator[Problem]:
    """The problems of a value, in no order.

    Args:
        schema: A schema of the subset that :mod:`vstore.investigation.reply_schema` writes.
        value: A plain JSON value.
        path: Where the value stands.

    Raises:
        InvalidError: The schema is none of this subset (``bad_schema``).
    """
    if not isinstance(schema, dict) or not schema.keys() <= _KEYWORDS:
        raise _bad_schema()
    try:
        yield from _check(schema, value, path)
    except (AttributeError, KeyError, TypeError, re.error, RecursionError) as error:
        raise _bad_schema() from error


def _bad_schema() -> InvalidError:
    return InvalidError("a schema that this version can't apply", kind="bad_schema")


def _problem(path: Path, requirement: str, *members: str) -> Problem:
    return Problem(code=SCHEMA, path=path, requirement=requirement, members=members)


def _check(schema: dict[str, Any], value: Any, path: Path) -> Iterator[Problem]:
    if "oneOf" in schema:
        yield from _alternative(schema["oneOf"], value, path)
        return
    if "anyOf" in schema:
        if value is not None:
            yield from schema_problems(schema["anyOf"][0], value, path)
        return
    wanted: str = schema["type"]
    # A boolean is no integer, and nothing else is anything else either.
    kind: Any = type(value)
    if kind is not _TYPES[wanted]:
        yield _problem(path, f"type_{wanted}")
        return
    if "const" in schema and value != schema["const"]:
        yield _problem(path, f"exactly {schema['const']}")
    elif "enum" in schema and value not in schema["enum"]:
        yield _problem(path, f"one_of {', '.join(schema['enum'])}")
    elif wanted == "string":
        yield from _text(schema, value, path)
    elif wanted == "integer":
        yield from _bounds(schema, value, path, "minimum", "maximum", "")
    elif wanted == "array":
        yield from _bounds(schema, len(value), path, "minItems", "maxItems", " items")
        # A list that is too long is told so; what stands in it would only add noise.
        if len(value) <= schema["maxItems"]:
            for position, one in enumerate(value):
                yield from schema_problems(schema["items"], one, (*path, position))
    elif wanted == "object" and "properties" in schema:
        yield from _object(schema, value, path)


def _object(schema: dict[str, Any], value: dict[str, Any], path: Path) -> Iterator[Problem]:
    members = schema["properties"]
    missing = [name for name in schema["required"] if name not in value]
    if missing:
        yield _problem(path, "required_members", *missing)
    if schema["additionalProperties"] is False and value.keys() - members.keys():
        # An unknown name is text of the model; one that another contract has is not.
        named = sorted((value.keys() - members.keys()) & known_members())
        yield _problem(path, "no_other_members", *named)
    for name, one in members.items():
        if name in value:
            yield from schema_problems(one, value[name], (*path, name))


def _alternative(alternatives: list[Any], value: Any, path: Path) -> Iterator[Problem]:
    if type(value) is not dict:
        yield _problem(path, "type_object")
        return
    by_kind = {one["properties"]["kind"]["const"]: one for one in alternatives}
    kind = value.get("kind")
    chosen = by_kind.get(kind) if isinstance(kind, str) else None
    if chosen is not None:
        yield from schema_problems(chosen, value, path)
    elif "kind" not in value:
        yield _problem(path, "required_members", "kind")
    else:
        yield _problem((*path, "kind"), f"one_of {', '.join(sorted(by_kind))}")


def _text(schema: dict[str, Any], value: str, path: Path) -> Iterator[Problem]:
    yield from _bounds(schema, len(value), path, "minLength", "maxLength", " characters")
    if "pattern" in schema and _compiled(schema["pattern"]).search(value) is None:
        yield _problem(path, f"pattern {schema['pattern']}")


def _bounds(
    schema: dict[str, Any], number: int, path: Path, low: str, high: str, unit: str
) -> Iterator[Problem]:
    if low in schema and number < schema[low]:
        yield _problem(path, f"at_least {schema[low]}{unit}")
    if high in schema and number > schema[high]:
        yield _problem(path, f"at_most {schema[high]}{unit}")


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    # In the expressions of JSON Schema, $ is the very end; Python's also allows a line feed.
    if pattern.endswith("$"):
        pattern = pattern[:-1] + r"\Z"
    return re.compile(pattern)
