"""Every member of every document, changed, removed, added to and swapped: what a sweep tries.

What a verifier can find out about a member is what its mark says, so a mutation carries the
mark of the member that it touches.
"""

from __future__ import annotations

import copy
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from vstore.objects.document import registered

__all__ = ["Mark", "Mutation", "mark_of", "mutations"]

Mark = Literal["derived", "pinned", "asserted"]
Way = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One edit of a document's JSON value.

    Attributes:
        schema: The document's schema name.
        way: The member, from the document down.
        edit: ``change``, ``remove``, ``add`` or ``swap``.
        mark: The mark of the member.
        value: The document as it is afterwards.
    """

    schema: str
    way: Way
    edit: Literal["change", "remove", "add", "swap"]
    mark: Mark
    value: Any


def mark_of(schema: str, value: Any, way: Way) -> Mark:
    """The mark of the outermost marked member on the way to a value.

    A member that is marked decides for everything in it: a group that is derived in one
    document may be an original in another.

    Args:
        schema: The document's schema name.
        value: The document, to tell the members of a union apart.
        way: From the document down.

    Raises:
        LookupError: No member on the way is marked.
    """
    kind: Any = registered()[schema]
    found: Mark | None = None
    for step in way:
        kind, mark = _inside(kind, value, step)
        found = found or mark
        value = value[step]
    if found is None:
        raise LookupError(f"{schema} {way} has no mark")
    return found


def _inside(kind: Any, value: Any, step: str | int) -> tuple[Any, Mark | None]:
    """The annotation of a member, and the mark that stands on it."""
    for one in _alternatives(kind):
        if isinstance(one, type) and issubclass(one, msgspec.Struct):
            hints = typing.get_type_hints(one, include_extras=True)
            if isinstance(step, int) and one.__struct_config__.array_like:
                member = hints[one.__struct_fields__[step]]
                return member, _own_mark(member)
            if step in hints and _is_tagged_as(one, value):
                return hints[str(step)], _own_mark(hints[str(step)])
        origin, args = typing.get_origin(one), typing.get_args(one)
        if origin is list and isinstance(step, int):
            return args[0], _own_mark(args[0])
        if origin is dict and isinstance(step, str):
            return args[1], _own_mark(args[1])
    return None, None


def _alternatives(kind: Any) -> Iterator[Any]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        yield from _alternatives(args[0])
    elif origin in (types.UnionType, typing.Union):
        for one in args:
            yield from _alternatives(one)
    elif kind is not None:
        yield kind


def _is_tagged_as(kind: type[msgspec.Struct], value: Any) -> bool:
    config = kind.__struct_config__
    return config.tag_field is None or value.get(config.tag_field) == config.tag


def _own_mark(member: Any) -> Mark | None:
    if typing.get_origin(member) is not Annotated:
        return None
    for one in member.__metadata__:
        extra = getattr(one, "extra_json_schema", None) or {}
        if "x-origin" in extra:
            return typing.cast("Mark", extra["x-origin"])
    return None


def mutations(schema: str, value: Any) -> Iterator[Mutation]:
    """All edits of one document that this sweep knows.

    Lists are entered at their first two places; tags are no members, so they are left alone.
    """
    for way in _ways(value):
        mark = _mark_or_none(schema, value, way)
        if mark is None:
            continue
        before = _look(value, way)
        for after in _others(before):
            yield Mutation(schema, way, "change", mark, _put(value, way, after))
        removed = copy.deepcopy(value)
        del _look(removed, way[:-1])[way[-1]]
        yield Mutation(schema, way, "remove", mark, removed)
        yield from _swaps(schema, value, way, mark)
        if isinstance(before, dict):
            added = copy.deepcopy(value)
            _look(added, way)["zz_added"] = 1
            yield Mutation(schema, way, "add", mark, added)
        elif isinstance(before, list) and before:
            yield Mutation(schema, way, "add", mark, _put(value, way, [*before, before[0]]))


def _swaps(schema: str, value: Any, way: Way, mark: Mark) -> Iterator[Mutation]:
    """The member exchanged with the next one of its kind beside it."""
    parent = _look(value, way[:-1])
    keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    place = keys.index(way[-1])
    for other in keys[place + 1 :]:
        one, two = parent[way[-1]], parent[other]
        if type(one) is type(two) and one != two:
            swapped = copy.deepcopy(value)
            inside = _look(swapped, way[:-1])
            inside[way[-1]], inside[other] = inside[other], inside[way[-1]]
            yield Mutation(schema, way, "swap", mark, swapped)
            return


def _mark_or_none(schema: str, value: Any, way: Way) -> Mark | None:
    try:
        return mark_of(schema, value, way)
    except LookupError:
        return None


def _ways(value: Any, at: Way = ()) -> Iterator[Way]:
    if at and at != ("schema",):
        yield at
    if isinstance(value, dict):
        for name in value:
            yield from _ways(value[name], (*at, name))
    elif isinstance(value, list):
        for place in range(min(len(value), 2)):
            yield from _ways(value[place], (*at, place))


def _look(value: Any, way: Way) -> Any:
    for part in way:
        value = value[part]
    return value


def _put(value: Any, way: Way, new: Any) -> Any:
    changed = copy.deepcopy(value)
    _look(changed, way[:-1])[way[-1]] = new
    return changed


def _others(value: Any) -> list[Any]:
    """Other values of the same kind, as far as there are any."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1] + [value - 1] * (value > 0)
    if isinstance(value, str):
        if value.startswith("b3:"):
            return ["b3:" + "7" * 64]
        return [("1" if value[:1] != "1" else "2") + value[1:]]
    if isinstance(value, list) and len(value) > 1:
        return [value[::-1]] if value != value[::-1] else []
    return [1] if value is None else []
