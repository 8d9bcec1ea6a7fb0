"""JSON Schemas of replies, rendered from the Structs; the frozen half of a contract.

The rendering is our own, so that the frozen bytes don't depend on a library's version. It
knows what replies use: objects, lists, texts, integers, fixed words, and alternatives that
``kind`` tells apart.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vstore.errors import InvalidError
from vstore.objects.plain_json import encode_value

__all__ = ["provider_safe", "schema_bytes", "schema_of"]

_inspect: Final = msgspec.inspect
#: Keywords that providers of structured output refuse; the bounds are enforced here anyhow.
_BOUNDS: Final = frozenset(
    {
        "$id",
        "$schema",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "title",
    }
)


def schema_of(kind: type[msgspec.Struct], name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a reply.

    Args:
        kind: The Struct.
        name: The contract.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:vstore:reply:{name}",
        "title": name,
        **_render(_inspect.type_info(kind)),
    }


def schema_bytes(schema: dict[str, Any]) -> bytes:
    """The canonical bytes that are frozen with a step."""
    return encode_value(schema)


def provider_safe(schema: Any) -> Any:
    """A schema without bounds, for providers that refuse them.

    Every member is required there (null stands for an optional one), alternatives are
    ``anyOf``, fixed words are ``enum``.
    """
    if isinstance(schema, list):
        return [provider_safe(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    safe: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _BOUNDS:
            continue
        if key == "properties":
            safe[key] = {name: provider_safe(one) for name, one in value.items()}
            safe["required"] = list(value)
        elif key == "required":
            continue
        elif key == "oneOf":
            safe["anyOf"] = provider_safe(value)
        elif key == "const":
            safe["enum"] = [value]
        else:
            safe[key] = provider_safe(value)
    return safe


def _render(info: Any) -> dict[str, Any]:
    match info:
        case _inspect.Metadata(type=inner):
            return _render(inner)
        case _inspect.StructType():
            return _object(info)
        case _inspect.StrType():
            return _with(
                {"type": "string"},
                minLength=info.min_length,
                maxLength=info.max_length,
                pattern=None if info.pattern is None else info.pattern.replace("\\Z", "$"),
            )
        case _inspect.IntType():
            return _with({"type": "integer"}, minimum=info.ge, maximum=info.le)
        case _inspect.ListType():
            return _with(
                {"type": "array", "items": _render(info.item_type)},
                minItems=info.min_length or None,
                maxItems=info.max_length,
            )
        case _inspect.DictType():
            return {"type": "object"}
        case _inspect.LiteralType(values=values):
            return _literal(list(values))
        case _inspect.UnionType(types=types):
            return _union(types)
    raise InvalidError("a type that no reply uses", kind="not_representable")


def _object(info: Any) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if info.tag is not None:
        members[info.tag_field] = {"type": "string", "const": info.tag}
    members |= {field.encode_name: _render(field.type) for field in info.fields}
    optional = {field.encode_name for field in info.fields if not field.required}
    return {
        "type": "object",
        "properties": members,
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def _literal(values: list[Any]) -> dict[str, Any]:
    kind = "integer" if isinstance(values[0], int) else "string"
    if len(values) == 1:
        return {"type": kind, "const": values[0]}
    return {"type": kind, "enum": sorted(values)}


def _union(types: Any) -> dict[str, Any]:
    others = [one for one in types if not isinstance(one, _inspect.NoneType)]
    if len(others) == len(types):
        return {"oneOf": [_render(one) for one in others]}
    return {"anyOf": [_render(others[0]), {"type": "null"}]}


def _with(schema: dict[str, Any], **bounds: Any) -> dict[str, Any]:
    return schema | {name: value for name, value in bounds.items() if value is not None}
