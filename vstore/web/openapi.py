"""The API's description (OpenAPI 3.1), rendered from the operations and the Structs they name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from vstore.objects.ids import ObjectId
from vstore.web.api_documents import Problem
from vstore.web.api_frame import BASE, JSON, PROBLEM, Operation, title_of

__all__ = ["describe"]

_REF: Final = "#/components/schemas/{name}"
_BRACED: Final = re.compile(r"\{([a-z_]+)\}")
#: Refusals that any operation may make: no token, a bad parameter or body, a busy disk.
_ALWAYS: Final = (400, 401, 503)


def describe(operations: tuple[Operation, ...]) -> dict[str, Any]:
    """The description of an API.

    Args:
        operations: What it serves.

    Returns:
        A JSON value.
    """
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(BASE + one.path, {})[one.method.lower()] = _operation(one)
    kinds = [kind for one in operations for kind in (one.takes, one.gives) if kind is not None]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "vstore: tests for bots",
            "version": "1",
            "description": "A bot lists tests, claims one, writes a draft, uploads files, and"
            " confirms exactly what a preview showed. Refusals are problems of RFC 9457 with a"
            " stable kind. Members may be added to answers; none is removed.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Made by vstore tester token.",
                }
            },
            "schemas": _schemas([*kinds, Problem]),
        },
    }


def _operation(one: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {"operationId": one.name, "summary": one.summary}
    if one.description:
        found["description"] = one.description
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _BRACED.findall(one.path)
    ]
    for parameter in one.parameters:
        schema = dict(parameter.schema)
        if parameter.default is not None:
            schema["default"] = parameter.default
        parameters.append(
            {
                "name": parameter.name,
                "in": "query",
                "required": parameter.required,
                "description": parameter.description,
                "schema": schema,
            }
        )
    if parameters:
        found["parameters"] = parameters
    if one.takes is not None:
        found["requestBody"] = {"required": True, "content": _content(JSON, one.takes)}
    elif one.streamer is not None:
        found["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    found["responses"] = _responses(one)
    return found


def _responses(one: Operation) -> dict[str, Any]:
    done: dict[str, Any] = {"description": title_of(one.status)}
    if one.gives is not None:
        done["content"] = _content(JSON, one.gives)
    refusals = set(_ALWAYS) | set(one.refusals)
    if one.takes is not None:
        refusals |= {413, 415}
    if one.streamer is not None:
        refusals.add(429)
    problem = _content(PROBLEM, Problem)
    refused = {
        str(status): {"description": title_of(status), "content": problem}
        for status in sorted(refusals)
    }
    other = {"description": "Any other refusal, and faults of the service", "content": problem}
    return {str(one.status): done, **refused, "default": other}


def _content(media_type: str, kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {media_type: {"schema": {"$ref": _REF.format(name=kind.__name__)}}}


def _schemas(kinds: Iterable[type[msgspec.Struct]]) -> dict[str, Any]:
    _, parts = msgspec.json.schema_components(kinds, schema_hook=_custom, ref_template=_REF)
    return {name: _plain(part) for name, part in sorted(parts.items())}


def _custom(kind: type) -> dict[str, Any]:
    assert kind is ObjectId, kind
    return {"type": "string", "pattern": "^b3:[0-9a-f]{64}$"}


def _plain(value: Any, *, names: bool = False) -> Any:
    """A schema as others understand it: in their expressions ``$`` is the end, not ``\\Z``."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: one.replace("\\Z", "$")
        if key == "pattern" and not names
        else " ".join(one.partition("\n\n")[0].replace("``", "").split())
        if key == "description" and not names
        else _plain(one, names=key == "properties" and not names)
        for key, one in value.items()
    }
