"""What stands between a route and the function that answers it: who may, and the form's fields.

The functions are plain ones and run in a thread, so that a disk never keeps others waiting. Those
that take files are coroutines, which read the body as it comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import InvalidError, LimitExceeded
from vstore.web.login_again import ask_again, ask_to_log_in
from vstore.web.problems import NotAllowed, NotLoggedIn

__all__ = [
    "Access",
    "Form",
    "Reads",
    "Streams",
    "Writes",
    "read_form",
    "reads",
    "streams",
    "writes",
]

Access: TypeAlias = Literal["anyone", "tester", "admin"]
Reads: TypeAlias = Callable[[Request], Response]
Writes: TypeAlias = Callable[[Request, "Form"], Response]
Streams: TypeAlias = Callable[[Request], Awaitable[Response]]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

FORM_FIELDS: Final = 2000
_FORM_TYPE: Final = "application/x-www-form-urlencoded"


class Form:
    """The fields of a form, in their order; line ends are ``\\n``.

    Args:
        fields: Names and values as they came.
    """

    def __init__(self, fields: list[tuple[str, str]]) -> None:
        self._fields = [
            (name, value.replace("\r\n", "\n").replace("\r", "\n")) for name, value in fields
        ]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._fields)

    def __contains__(self, name: str) -> bool:
        return any(name == one for one, _ in self._fields)

    def get(self, name: str, default: str = "") -> str:
        """The first value of a field."""
        return next((value for one, value in self._fields if one == name), default)

    def all(self, name: str) -> list[str]:
        """All values of a field."""
        return [value for one, value in self._fields if one == name]


async def read_form(request: Request) -> Form:
    """The fields of a form without files.

    Raises:
        InvalidError: It is no such form, or no UTF-8.
        LimitExceeded: More bytes than ``Settings.form_bytes``, or more fields than 2000.
    """
    limit = request.app.state.settings.form_bytes
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise LimitExceeded(
                f"a form may have {limit} bytes at most",
                kind="form_too_large",
                limit="form_bytes",
                value=limit,
            )
    if body and kind != _FORM_TYPE:
        raise InvalidError("a form is sent URL-encoded here", kind="form")
    if body.count(b"&") >= FORM_FIELDS:
        raise LimitExceeded(
            f"a form may have {FORM_FIELDS} fields at most",
            kind="form_too_large",
            limit="form_fields",
            value=FORM_FIELDS,
        )
    try:
        text = body.decode("ascii")
        return Form(parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="strict"))
    except ValueError:
        raise InvalidError("a form is UTF-8, percent-encoded", kind="form") from None


def reads(handler: Reads, access: Access) -> Endpoint:
    """The endpoint of a page that is only looked at."""

    async def endpoint(request: Request) -> Response:
        if access != "anyone" and request.state.account is None:
            return ask_to_log_in(request)
        _check_role(request, access)
        return await run_in_threadpool(handler, request)

    return endpoint


def writes(handler: Writes, access: Access) -> Endpoint:
    """The endpoint that a form is sent to.

    Where the session ended meanwhile, what was typed goes into a page that asks to log in and
    then sends it again.
    """

    async def endpoint(request: Request) -> Response:
        form = await read_form(request)
        if access != "anyone" and request.state.account is None:
            return await run_in_threadpool(ask_again, request, list(form))
        _check_role(request, access)
        return await run_in_threadpool(handler, request, form)

    return endpoint


def streams(handler: Streams, access: Access) -> Endpoint:
    """The endpoint that reads its body itself."""

    async def endpoint(request: Request) -> Response:
        if access != "anyone" and request.state.account is None:
            raise NotLoggedIn("log in first", hint="your session has ended")
        _check_role(request, access)
        return await handler(request)

    return endpoint


def _check_role(request: Request, access: Access) -> None:
    account = request.state.account
    if access == "admin" and account.role != "admin":
        raise NotAllowed("this page is for administrators", kind="not_allowed")
