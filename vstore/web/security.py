"""What every request and every answer goes through: headers, host, origin, size, silence.

Plain ASGI, around everything else, so that also a fault's answer and a file have the headers.

Forms carry no token. A request that changes something is taken only from our own pages, as the
browser itself says it: Fetch metadata where it sends that, else the Origin header. A request with
neither is refused. (W3C Fetch Metadata; RFC 6454, section 7.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vstore.errors import InvalidError, LimitExceeded, VStoreError
from vstore.web.problems import NotAllowed, Stalled
from vstore.web.settings import Settings

__all__ = ["API", "CONTENT_POLICY", "SAFE_METHODS", "Guard", "stated_headers"]

API: Final = "/api/"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CONTENT_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
)
_HEADERS: Final = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # no-referrer would turn the Origin of our own forms into "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
#: A page may have a stricter policy of its own, and a file that never changes may be kept.
_MAY_DIFFER: Final = frozenset({"content-security-policy", "cache-control"})
_TLS_ONLY: Final = ("strict-transport-security", "max-age=31536000")


def stated_headers(settings: Settings) -> dict[str, str]:
    """The headers that every answer has, unless it states a policy of its own."""
    return dict([*_HEADERS.items(), *([_TLS_ONLY] if settings.secure else [])])


class Guard:
    """Refuses what doesn't come from our own pages, and puts the headers on every answer.

    Args:
        app: What is guarded.
        settings: How the page is reached.
        refuse: Makes the answer to a refused request.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        refuse: Callable[[Request, VStoreError], Response],
    ) -> None:
        self._app = app
        self._settings = settings
        self._refuse = refuse
        self._headers = stated_headers(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    if name not in _MAY_DIFFER or name not in headers:
                        headers[name] = value
            await send(message)

        try:
            self._check(scope)
        except VStoreError as error:
            response = self._refuse(Request(scope), error)
            response.headers["connection"] = "close"  # the body was not read
            await response(scope, receive, send_with_headers)
            return
        await self._app(scope, self._bounded(receive), send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        origins = self._settings.own_origins(hosts[0]) if len(hosts) == 1 else frozenset()
        if not origins:
            raise InvalidError(
                "this name is not one under which the page is served",
                kind="host",
                hint="open the page under its own address",
            )
        if scope["method"] not in SAFE_METHODS and not _by_token(scope["path"], headers):
            _check_origin(headers, origins)
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit()) or int(size[:20]) > self._settings.body_bytes:
            raise _too_large(self._settings.body_bytes)

    def _bounded(self, receive: Receive) -> Receive:
        """Receives no more than the largest body, however it is sent, and waits for no ghost."""
        limit, silence = self._settings.body_bytes, self._settings.silence_seconds
        seen = 0
        more = True

        async def bounded() -> Message:
            nonlocal seen, more
            # Behind the body only the end of the connection comes, whenever that is.
            try:
                async with asyncio.timeout(silence if more else None):
                    message = await receive()
            except TimeoutError:
                raise _stalled(silence) from None
            more = message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > limit:
                raise _too_large(limit)
            return message

        return bounded


def _by_token(path: str, headers: Headers) -> bool:
    """Whether a request of a bot: no browser sends this header to another site on its own."""
    return path.startswith(API) and headers.get("authorization", "").lower().startswith("bearer ")


def _check_origin(headers: Headers, origins: frozenset[str]) -> None:
    refused = NotAllowed(
        "this request doesn't come from one of our own pages",
        kind="cross_site",
        hint="open the page itself and try again there",
    )
    site = headers.get("sec-fetch-site")
    origin = headers.get("origin")
    if site is None and origin is None:
        raise refused
    if site is not None and site != "same-origin":
        raise refused
    if origin is not None and origin not in origins:
        raise refused


def _stalled(silence: float) -> Stalled:
    return Stalled(
        f"nothing of the request came for {silence:g} seconds",
        hint="send it again when the line is better; what was saved before is still there",
        seconds=silence,
    )


def _too_large(limit: int) -> LimitExceeded:
    return LimitExceeded(
        f"a request may have {limit} bytes at most",
        kind="body_too_large",
        limit="body_bytes",
        value=limit,
    )
