"""The description is whole, and says what is served."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from starlette.routing import Route

from vstore.testing.bot import API
from vstore.web.api import OPERATIONS
from vstore.web.openapi import describe
from vstore.web.routes import all_routes


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    # As it goes over the wire.
    return json.loads(json.dumps(describe(OPERATIONS)))


def references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from references(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name == "$ref":
                yield one
            else:
                yield from references(one)


def test_every_route_is_described_and_nothing_else(description: dict[str, Any]) -> None:
    served = {
        (method, route.path)
        for route in all_routes()
        if isinstance(route, Route) and route.path.startswith("/api/")
        for method in (route.methods or set()) - {"HEAD"}
    }
    described = {
        (method.upper(), path)
        for path, operations in description["paths"].items()
        for method in operations
    }
    assert served - described == {("GET", f"{API}/openapi.json")}
    assert described <= served
    assert len(described) == 15


def test_it_is_an_openapi_document(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1.")
    assert {"openapi", "info", "paths", "components"} <= description.keys()
    names = set()
    for path, operations in description["paths"].items():
        assert path.startswith("/")
        for method, one in operations.items():
            assert method in ("get", "put", "post", "delete")
            names.add(one["operationId"])
            assert one["summary"].endswith(".")
            in_path = [p["name"] for p in one.get("parameters", []) if p["in"] == "path"]
            assert in_path == re.findall(r"\{(\w+)\}", path)
            assert all(p["required"] for p in one.get("parameters", []) if p["in"] == "path")
            for p in one.get("parameters", []):
                jsonschema.Draft202012Validator.check_schema(p["schema"])
            for status, answer in one["responses"].items():
                assert re.fullmatch(r"[2-5][0-9]{2}|default", status)
                assert answer["description"]
            assert {"401", "default"} <= one["responses"].keys()
    assert len(names) == 15


def test_schemas_are_schemas_and_references_lead_somewhere(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
        # In the expressions of JSON Schema there is no \Z.
        assert "\\\\Z" not in json.dumps(schema)
        assert "``" not in json.dumps(schema)
    used = set(references(description))
    assert used == {f"#/components/schemas/{name}" for name in schemas}


def test_what_is_sent_is_strict_and_what_comes_back_may_grow(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for operations in description["paths"].values():
        for one in operations.values():
            body = one.get("requestBody", {}).get("content", {}).get("application/json")
            if body is not None:
                name = body["schema"]["$ref"].rpartition("/")[2]
                assert schemas[name]["additionalProperties"] is False
            for status, answer in one["responses"].items():
                for content in answer.get("content", {}).values():
                    name = content["schema"]["$ref"].rpartition("/")[2]
                    assert "additionalProperties" not in schemas[name], (status, name)
                    # All members are always there.
                    assert set(schemas[name]["required"]) == set(schemas[name]["properties"])
