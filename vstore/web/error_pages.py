"""Every error as a page, or as JSON for a program.

The class of an error decides the status, its kind the words: ``error.<kind>`` if the page has such
words, else those of the status. Messages of the library are English and for operators; a page shows
them only where it has no words of its own.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vstore.errors import VStoreError
from vstore.web.api_frame import problem_response
from vstore.web.rendering import render, wants_json
from vstore.web.security import API
from vstore.web.statuses import status_of

__all__ = ["handlers", "refuse", "status_of"]

_log = logging.getLogger("vstore.web")


def refuse(request: Request, error: VStoreError) -> Response:
    """The answer to a request that was refused."""
    status = status_of(error)
    if status >= 500:
        _log.error("%s [%s]", error.message, error.kind)
    headers = {}
    retry = error.details.get("retry_after")
    if isinstance(retry, int):
        headers["retry-after"] = str(max(1, retry))
    response = _answer(
        request, status, kind=error.kind, message=error.message, hint=error.hint,
        details=error.details,
    )  # fmt: skip
    response.headers.update(headers)
    return response


def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, VStoreError)
    return refuse(request, error)


def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: "no_page", 405: "method"}.get(error.status_code, "http")
    response = _answer(
        request, error.status_code, kind=kind, message=HTTPStatus(error.status_code).phrase
    )
    response.headers.update(error.headers or {})
    return response


def _on_fault(request: Request, error: Exception) -> Response:  # noqa: ARG001
    # Whoever runs the service finds the trace in its log; a reader gets no inside view.
    return _answer(request, 500, kind="fault", message="this is a fault of the service itself")


handlers: Final[dict[Any, Any]] = {
    VStoreError: _on_error,
    HTTPException: _on_http,
    Exception: _on_fault,
}


def _answer(
    request: Request,
    status: int,
    *,
    kind: str,
    message: str,
    hint: str | None = None,
    details: dict[str, object] | None = None,
) -> Response:
    if request.url.path.startswith(API):
        return problem_response(status, kind=kind, detail=message, hint=hint, details=details)
    if wants_json(request):
        value = {"kind": kind, "message": message, "hint": hint, "details": _plain(details or {})}
        return JSONResponse({"error": value}, status_code=status)
    return render(
        request, "error.html", status=status, code=status, kind=kind, message=message, hint=hint,
        details=details or {},
    )  # fmt: skip


def _plain(details: dict[str, object]) -> dict[str, object]:
    """The details that JSON can hold; others are of use only inside the service."""
    return {
        name: value
        for name, value in details.items()
        if value is None or isinstance(value, str | int | float | bool)
    }
