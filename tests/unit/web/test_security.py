"""What the guard lets through, and what every answer has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from vstore.errors import VStoreError
from vstore.web.error_pages import status_of
from vstore.web.security import Guard
from vstore.web.settings import Settings

OURS = "http://127.0.0.1:8484"
HERE = Settings.listening("127.0.0.1", 8484)


async def behind(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads all that it gets, and says how much that was."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await PlainTextResponse(str(size))(scope, receive, send)


def refuse(_: Request, error: VStoreError) -> Response:
    return PlainTextResponse(error.kind, status_of(error))


def ask(
    method: str = "GET",
    headers: list[tuple[str, str]] | None = None,
    *,
    path: str = "/",
    host: str | None = "127.0.0.1:8484",
    body: list[bytes] | None = None,
    settings: Settings = HERE,
    app: Any = behind,
) -> tuple[int, dict[str, str], str]:
    """What the guard answers: status, headers, body."""
    raw = [(name.lower().encode(), value.encode()) for name, value in headers or []]
    if host is not None:
        raw.append((b"host", host.encode()))
    scope = {"type": "http", "method": method, "path": path, "headers": raw, "query_string": b""}
    parts = body or [b""]
    messages: list[Message] = [
        {"type": "http.request", "body": part, "more_body": at < len(parts) - 1}
        for at, part in enumerate(parts)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(Guard(app, settings, refuse)(scope, receive, send))
    got = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], got, b"".join(one.get("body", b"") for one in sent).decode()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize(
    ("headers", "taken"),
    [
        ([("Sec-Fetch-Site", "same-origin")], True),
        ([("Sec-Fetch-Site", "same-origin"), ("Origin", OURS)], True),
        ([("Origin", OURS)], True),
        ([], False),
        ([("Sec-Fetch-Site", "none")], False),
        ([("Sec-Fetch-Site", "same-site")], False),
        ([("Sec-Fetch-Site", "cross-site")], False),
        ([("Sec-Fetch-Site", "Same-Origin")], False),
        ([("Sec-Fetch-Site", "")], False),
        # One good sign doesn't make up for a bad one.
        ([("Sec-Fetch-Site", "cross-site"), ("Origin", OURS)], False),
        ([("Sec-Fetch-Site", "same-origin"), ("Origin", "https://evil.example")], False),
        ([("Origin", "null")], False),
        ([("Origin", "")], False),
        ([("Origin", "http://127.0.0.1:8485")], False),
        ([("Origin", "https://127.0.0.1:8484")], False),
        ([("Origin", OURS + ".evil.example")], False),
        ([("Referer", OURS + "/")], False),
        # A token counts for the API alone.
        ([("Authorization", "Bearer vst_0")], False),
    ],
)
def test_only_our_own_pages_change_something(
    method: str, headers: list[tuple[str, str]], taken: bool
) -> None:
    status, _, body = ask(method, headers)
    assert (status, body) == ((200, "0") if taken else (403, "cross_site"))


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_looking_is_allowed_from_anywhere(method: str) -> None:
    assert ask(method, [("Sec-Fetch-Site", "cross-site")])[0] == 200


@pytest.mark.parametrize(
    ("path", "authorization", "status"),
    [
        ("/api/v1/tests", "Bearer vst_0", 200),
        ("/api/v1/tests", "bearer vst_0", 200),
        ("/api/v1/tests", "Basic dXNlcjo=", 403),
        ("/api", "Bearer vst_0", 403),
        ("/r/api/", "Bearer vst_0", 403),
    ],
)
def test_a_bot_sends_no_origin(path: str, authorization: str, status: int) -> None:
    assert ask("POST", [("Authorization", authorization)], path=path)[0] == status


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8484", "", None])
def test_another_host_is_not_ours(host: str | None) -> None:
    assert ask(host=host)[::2] == (421, "host")


def test_two_hosts_are_none() -> None:
    assert ask(headers=[("Host", "127.0.0.1:8484")])[0] == 421


def test_a_body_is_bounded_however_it_comes() -> None:
    small = Settings(origin=OURS, behind_proxy=False, loopback=True, body_bytes=10)
    ours = [("Origin", OURS)]

    def size(headers: list[tuple[str, str]], body: list[bytes]) -> tuple[int, str]:
        return ask("POST", headers + ours, body=body, settings=small)[::2]

    assert size([("Content-Length", "10")], [b"0123456789"]) == (200, "10")
    assert size([], [b"01234", b"56789"]) == (200, "10")
    assert size([("Content-Length", "11")], [b""]) == (413, "body_too_large")
    assert size([("Content-Length", "9" * 5000)], [b""]) == (413, "body_too_large")
    assert size([("Content-Length", "-1")], [b""]) == (413, "body_too_large")
    assert size([("Content-Length", "x")], [b""]) == (413, "body_too_large")
    # Without a length, or with a wrong one, what comes is counted.
    with pytest.raises(VStoreError) as refused:
        size([], [b"01234", b"567890"])
    assert refused.value.kind == "body_too_large"


def silent_after(parts: list[Message], settings: Settings, app: Any) -> list[Message]:
    """What the guard sends when nothing comes behind these messages."""
    scope = {
        "type": "http", "method": "GET", "path": "/", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8484")],
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        if parts:
            return parts.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(Guard(app, settings, refuse)(scope, receive, send))
    return sent


IMPATIENT = Settings(origin=OURS, behind_proxy=False, loopback=True, silence_seconds=0.05)


@pytest.mark.parametrize("came", [0, 1, 3])
def test_a_body_that_stops_coming_is_given_up(came: int) -> None:
    parts: list[Message] = [
        {"type": "http.request", "body": b"x", "more_body": True} for _ in range(came)
    ]
    with pytest.raises(VStoreError) as refused:
        silent_after(parts, IMPATIENT, behind)
    assert (refused.value.kind, status_of(refused.value)) == ("body_stalled", 408)


def test_behind_its_body_a_request_may_be_silent() -> None:
    async def patient(scope: Scope, receive: Receive, send: Send) -> None:
        assert await receive() == {"type": "http.request", "body": b"all", "more_body": False}
        gone = asyncio.ensure_future(receive())
        await asyncio.wait([gone], timeout=4 * IMPATIENT.silence_seconds)
        assert not gone.done()
        gone.cancel()
        await PlainTextResponse("done")(scope, receive, send)

    whole: list[Message] = [{"type": "http.request", "body": b"all", "more_body": False}]
    assert silent_after(whole, IMPATIENT, patient)[0]["status"] == 200


EXPECTED = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}


@pytest.mark.parametrize("case", [{}, {"method": "POST"}, {"host": "evil.example"}])
def test_every_answer_has_the_headers(case: dict[str, Any]) -> None:
    _, headers, _ = ask(**case)
    assert EXPECTED.items() <= headers.items()
    assert "strict-transport-security" not in headers


def test_over_tls_browsers_are_told_to_stay_there() -> None:
    settings = Settings.listening("127.0.0.1", 8484, "https://tests.example.org")
    _, headers, _ = ask(host="tests.example.org", settings=settings)
    assert headers["strict-transport-security"] == "max-age=31536000"


def test_an_answer_may_state_a_policy_of_its_own_but_drop_nothing() -> None:
    own = {
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "no-cache",
        "X-Frame-Options": "ALLOWALL",
        "X-Content-Type-Options": "",
    }
    _, headers, _ = ask(app=PlainTextResponse("", headers=own))
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["cache-control"] == "no-cache"
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


def test_what_is_no_request_passes() -> None:
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    asyncio.run(Guard(app, HERE, refuse)({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan"]
