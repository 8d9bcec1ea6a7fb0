"""The cookies of the page: the session, the reader's zone and language, a notice."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vstore.web.settings import Settings

__all__ = [
    "LANGUAGE_COOKIE",
    "NOTICE_COOKIE",
    "ZONE_COOKIE",
    "drop_session",
    "keep",
    "keep_session",
    "session_cookie",
    "session_secret",
]

#: Set by the page's script; says which time zone the browser is in.
ZONE_COOKIE: Final = "vstore-zone"
LANGUAGE_COOKIE: Final = "vstore-language"
#: What was done by the request before, shown once.
NOTICE_COOKIE: Final = "vstore-notice"
_YEAR: Final = 365 * 24 * 3600


def session_cookie(settings: Settings) -> str:
    """The name of the session's cookie.

    With ``__Host-`` a browser takes it over TLS only, for this name only, from this name only
    (RFC 6265bis, 4.1.3.2); over plain loopback it would refuse that name.
    """
    return "__Host-vstore" if settings.secure else "vstore"


def session_secret(request: Request) -> str | None:
    """What the browser showed as its session, or None."""
    return request.cookies.get(session_cookie(request.app.state.settings)) or None


def keep_session(request: Request, response: Response, secret: str) -> None:
    """Give the browser its session; it forgets it when it is closed."""
    settings: Settings = request.app.state.settings
    response.set_cookie(
        session_cookie(settings),
        secret,
        path="/",
        secure=settings.secure,
        httponly=True,
        samesite="lax",
    )


def drop_session(request: Request, response: Response) -> None:
    """Take the session from the browser."""
    settings: Settings = request.app.state.settings
    response.delete_cookie(
        session_cookie(settings),
        path="/",
        secure=settings.secure,
        httponly=True,
        samesite="lax",
    )


def keep(
    request: Request, response: Response, name: str, value: str, *, seconds: int = _YEAR
) -> None:
    """Keep a harmless choice in the browser.

    Args:
        request: Says whether the page is reached over TLS.
        response: Takes the cookie.
        name: One of the names above.
        value: ASCII letters, digits and ``/_+-``.
        seconds: How long, 0 to drop it.
    """
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path="/",
        secure=request.app.state.settings.secure,
        httponly=name != ZONE_COOKIE,
        samesite="lax",
    )
