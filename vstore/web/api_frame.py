"""What stands around the API's operations: tokens, bodies, parameters, answers, problems."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from vstore.errors import InvalidError, LimitExceeded, StateError, VStoreError
from vstore.objects.canonical import encode, to_value
from vstore.objects.document import MAX_INTEGER
from vstore.objects.plain_json import decode_value
from vstore.web.accounts import Account
from vstore.web.api_documents import Problem
from vstore.web.board import BoardEntry, RequestKey
from vstore.web.desk import Desk
from vstore.web.problems import NotLoggedIn
from vstore.web.statuses import status_of

__all__ = [
    "BASE",
    "JSON",
    "PROBLEM",
    "Call",
    "Operation",
    "Parameter",
    "endpoint_of",
    "problem",
    "problem_response",
    "title_of",
]

BASE: Final = "/api/v1"
JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"

#: Bytes of a body; a draft may be 1 MiB, and any of its characters escaped.
_MAX_BODY: Final = 8 << 20
_WORD: Final = re.compile(r"[0-9]{1,16}")
_POINTER: Final = re.compile(r" - at `(\$[A-Za-z0-9_.\[\]]*)`\Z")
_BEARER: Final = re.compile(r"bearer +([\x21-\x7e]{1,200}) *", re.IGNORECASE)

Handler: TypeAlias = Callable[["Call"], msgspec.Struct | None]
Streamer: TypeAlias = Callable[["Call"], Awaitable[msgspec.Struct]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the query.

    Attributes:
        name: Its name.
        description: One sentence.
        schema: Its JSON Schema, also the check: an ``enum``, an integer, or a text.
        default: Where it isn't given; None with ``required`` false is no value.
        required: It must be given.
    """

    name: str
    description: str
    schema: dict[str, Any]
    default: str | int | None = None
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation, as it is served and as it is described.

    Attributes:
        method: Of HTTP.
        path: Below :data:`BASE`, with parameters in braces.
        name: Its stable id.
        summary: One line.
        handler: Answers it; runs in a thread.
        streamer: Answers it and reads the body itself, instead.
        takes: The body that is sent, or None.
        gives: The body of the answer, or None for an empty one.
        status: Of an answer that is no refusal.
        refusals: Statuses of refusals that are of its own.
        parameters: Of the query.
        description: More than fits the summary.
    """

    method: Literal["GET", "PUT", "POST", "DELETE"]
    path: str
    name: str
    summary: str
    handler: Handler | None = None
    streamer: Streamer | None = None
    takes: type[msgspec.Struct] | None = None
    gives: type[msgspec.Struct] | None = None
    status: int = 200
    refusals: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    description: str = ""


@dataclass(slots=True)
class Call:
    """One request for an operation.

    Attributes:
        request: As Starlette has it.
        account: Whose token it shows.
        body: What was sent, of the operation's type.
        query: The parameters by name, checked.
    """

    request: Request
    account: Account
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)

    @property
    def desk(self) -> Desk:
        """What the API does."""
        desk: Desk = self.request.app.state.desk
        return desk

    @property
    def key(self) -> RequestKey:
        """The test that the path names; whether there is one, the desk says."""
        part = self.request.path_params
        return RequestKey(part["case_id"], part["package_id"], part["request_id"])

    def automated(self) -> BoardEntry:
        """The test, which a bot may do.

        Raises:
            NotFoundError: There is none.
            StateError: It is for a person (``wrong_executor``).
        """
        entry = self.desk.board.entry(self.key)
        if entry.request.executor != "automated":
            raise StateError(
                "this test is for a person",
                kind="wrong_executor",
                hint="a person answers it on the page",
            )
        return entry


def endpoint_of(operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    """The Starlette endpoint of an operation."""

    async def endpoint(request: Request) -> Response:
        try:
            account = await run_in_threadpool(_account, request)
            call = Call(request, account, query=_query(request, operation))
            if operation.streamer is not None:
                answer: msgspec.Struct | None = await operation.streamer(call)
            else:
                if operation.takes is not None:
                    call.body = _decoded(await _body(request), operation.takes)
                assert operation.handler is not None
                answer = await run_in_threadpool(operation.handler, call)
        except ClientDisconnect:
            return Response(status_code=499)
        except VStoreError as error:
            return problem(error)
        if answer is None:
            return Response(status_code=204)
        return Response(encode(answer), operation.status, media_type=JSON)

    return endpoint


def title_of(status: int) -> str:
    """What a status is called; by the same words whatever Python it is."""
    return "Content Too Large" if status == 413 else HTTPStatus(status).phrase


def problem(error: VStoreError) -> Response:
    """The answer to a request that was refused."""
    return problem_response(
        status_of(error),
        kind=error.kind,
        detail=error.message,
        hint=error.hint,
        details=error.details,
    )


def problem_response(
    status: int,
    *,
    kind: str,
    detail: str,
    hint: str | None = None,
    details: dict[str, object] | None = None,
) -> Response:
    """A problem as RFC 9457 has it, with the headers that its status asks for."""
    value = Problem(
        type=f"urn:vstore:problem:{kind}",
        title=title_of(status),
        status=status,
        detail=detail,
        kind=kind,
        hint=hint,
        details={name: one for name, one in (details or {}).items() if _is_plain(one)},
    )
    response = Response(json.dumps(to_value(value)), status, media_type=PROBLEM)
    retry = value.details.get("retry_after")
    if isinstance(retry, int):
        response.headers["retry-after"] = str(max(1, retry))
    if status == 401:
        response.headers["www-authenticate"] = 'Bearer realm="vstore"'
    return response


def _account(request: Request) -> Account:
    """Whose token a request shows; no cookie counts here."""
    shown = request.headers.getlist("authorization")
    found = _BEARER.fullmatch(shown[0]) if len(shown) == 1 else None
    if found is None:
        raise NotLoggedIn(
            "no token was shown",
            kind="no_token",
            hint="send the header Authorization: Bearer and a token of vstore tester token",
        )
    account: Account | None = request.app.state.desk.tokens.find(found[1])
    if account is None:
        raise NotLoggedIn(
            "this is no token, or no longer one", kind="invalid_token", hint="it may be revoked"
        )
    return account


async def _body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise InvalidError(
            f"the body has to be {JSON}", kind="media_type", hint=f"Content-Type: {JSON}"
        )
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY:
            raise LimitExceeded(
                f"a body may have {_MAX_BODY} bytes at most",
                kind="body_too_large",
                limit="max_body_bytes",
                value=_MAX_BODY,
            )
    return bytes(body)


def _decoded(data: bytes, kind: type[msgspec.Struct]) -> msgspec.Struct:
    value = decode_value(data, max_bytes=_MAX_BODY, canonical=False)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # Its text may quote what was sent; a path of known members doesn't.
        found = _POINTER.search(str(error))
        raise InvalidError(
            f"the body is no {kind.__name__}",
            kind="invalid_body",
            hint=f"{BASE}/openapi.json describes it",
            pointer=found[1] if found else "$",
        ) from error


def _query(request: Request, operation: Operation) -> dict[str, Any]:
    """The parameters of the query, each at most once, and no others."""
    given = request.query_params.multi_items()
    known = {one.name: one for one in operation.parameters}
    names = [name for name, _ in given]
    if len(set(names)) != len(names) or not known.keys() >= set(names):
        raise InvalidError(
            "a parameter that isn't known, or one that is given twice",
            kind="invalid_parameter",
            hint=f"{BASE}/openapi.json lists them",
        )
    return {one.name: _value(one, dict(given).get(one.name)) for one in known.values()}


def _value(parameter: Parameter, text: str | None) -> str | int | None:
    schema = parameter.schema
    if text is None and not parameter.required:
        return parameter.default
    if text is not None:
        if schema["type"] != "integer":
            if text in schema.get("enum", (text,)):
                return text
        elif _WORD.fullmatch(text):
            number = int(text)
            if schema["minimum"] <= number <= schema.get("maximum", MAX_INTEGER):
                return number
    raise InvalidError(
        f"the parameter {parameter.name} is missing, or no such value",
        kind="invalid_parameter",
        hint=parameter.description,
        parameter=parameter.name,
    )


def _is_plain(value: object) -> bool:
    """Whether a detail is one that JSON can hold; others are of use only inside."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(one) for name, one in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | bool)
