"""Templates, in the reader's language and time zone.

Everything that a template prints is escaped; nothing in here marks a text of others as safe.
A template has, besides what its page gives it: ``t(key, **values)``, ``t.count``, ``t.number``,
``t.size``; ``account`` or None; ``path``, and ``here`` with the query; ``language``,
``languages``; ``zone``; ``notice``; ``static(name)``; ``when(instant)``, local and in UTC;
``away(instant)``, how far from now.
"""

from __future__ import annotations

import functools
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from vstore.web import cookies
from vstore.web.local_times import distance, known_zone, local_time
from vstore.web.static_files import static_url
from vstore.web.words import LANGUAGES, Words, accepted_language, words_of

__all__ = ["redirect", "render", "wants_json", "words_for", "zone_for"]


@functools.cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("vstore.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def words_for(request: Request) -> Words:
    """The reader's language: of the account, as chosen in this browser, or as the browser asks."""
    account = getattr(request.state, "account", None)
    chosen = request.cookies.get(cookies.LANGUAGE_COOKIE)
    for code in (None if account is None else account.language, chosen):
        if code in LANGUAGES:
            return words_of(code)
    return words_of(accepted_language(request.headers.get("accept-language", "")))


def zone_for(request: Request) -> str | None:
    """The reader's time zone: of the account, or the browser's; None if neither is known."""
    account = getattr(request.state, "account", None)
    chosen = None if account is None else known_zone(account.zone)
    return chosen or known_zone(request.cookies.get(cookies.ZONE_COOKIE))


def wants_json(request: Request) -> bool:
    """Whether a program asks: the API, or the page's own script."""
    return request.url.path.startswith("/api/") or (
        request.headers.get("accept", "").partition(",")[0].strip() == "application/json"
    )


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A page.

    Args:
        request: Who reads it, and how.
        template: Its name in ``templates/``.
        status: The HTTP status.
        context: What the template shows.
    """
    words = words_for(request)
    zone = zone_for(request)
    notice = request.cookies.get(cookies.NOTICE_COOKIE)
    shown = f"notice.{notice}" if notice and words.has(f"notice.{notice}") else None
    query = request.url.query
    text = (
        _templates()
        .get_template(template)
        .render(
            {
                "t": words,
                "language": words.language,
                "languages": LANGUAGES,
                "account": getattr(request.state, "account", None),
                "path": request.url.path,
                "here": request.url.path + (f"?{query}" if query else ""),
                "zone": zone,
                "notice": shown,
                "static": static_url,
                "number": words.number,
                "when": functools.partial(_when, zone=zone, words=words),
                "away": functools.partial(_away, request=request, words=words),
                **context,
            }
        )
    )
    response = HTMLResponse(text, status_code=status, headers={"content-language": words.language})
    response.headers["vary"] = "accept-language, cookie"
    if notice is not None:
        cookies.keep(request, response, cookies.NOTICE_COOKIE, "", seconds=0)
    return response


def redirect(request: Request, path: str, *, notice: str | None = None) -> RedirectResponse:
    """Go on with another page after a form was taken.

    Args:
        request: The request that was answered.
        path: A path of our own.
        notice: What was done: ``notice.<it>`` is said once, on the next page.
    """
    response = RedirectResponse(path, status_code=303)
    if notice is not None:
        cookies.keep(request, response, cookies.NOTICE_COOKIE, notice, seconds=60)
    return response


def _when(instant: str, *, zone: str | None, words: Words) -> Markup:
    """An instant, local and in UTC, as a ``time`` element."""
    time = local_time(instant, zone, words)
    if time.local is None:
        return Markup('<time class="when" datetime="{0}">{1} UTC</time>').format(instant, time.utc)
    return Markup(
        '<time class="when" datetime="{0}">{1} {2} <span class="utc">({3} UTC)</span></time>'
    ).format(instant, time.local, time.zone, time.utc_beside)


def _away(instant: str, *, request: Request, words: Words) -> str:
    return distance(instant, request.app.state.desk.database.clock(), words)
