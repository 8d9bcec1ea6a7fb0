"""The API's addresses."""

from __future__ import annotations

import json
from functools import cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vstore.web.api import OPERATIONS
from vstore.web.api_frame import BASE, JSON, endpoint_of
from vstore.web.openapi import describe

__all__ = ["api_routes"]


def api_routes() -> list[BaseRoute]:
    """The operations, and their description, which needs no token."""
    return [
        Route(f"{BASE}/openapi.json", _description, methods=["GET"], name="openapi"),
        *(
            Route(BASE + one.path, endpoint_of(one), methods=[one.method], name=f"api.{one.name}")
            for one in OPERATIONS
        ),
    ]


def _description(_: Request) -> Response:
    return Response(_rendered(), media_type=JSON)


@cache
def _rendered() -> str:
    return json.dumps(describe(OPERATIONS))
