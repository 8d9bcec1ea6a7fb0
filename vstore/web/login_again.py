"""What happens to somebody who isn't logged in, or isn't any more.

Nothing that was typed is lost: the fields of a form that came too late travel in the login page
itself, and from there in the page after it, which sends them again. The service keeps nothing of
somebody it doesn't know.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from vstore.web.problems import NotLoggedIn
from vstore.web.rendering import redirect, render, wants_json

__all__ = ["AGAIN", "FIELD", "ask_again", "ask_to_log_in", "carried", "safe_path"]

#: The hidden field with the address that the form was sent to.
AGAIN: Final = "again"
#: What stands before the names of its fields.
FIELD: Final = "again."
#: Never sent back to a page.
_SECRET: Final = ("password", "code")


def ask_to_log_in(request: Request) -> Response:
    """Ask who it is, and come back to this page then."""
    if wants_json(request):
        raise _not_logged_in()
    query = request.url.query
    here = request.url.path + (f"?{query}" if query else "")
    return redirect(request, "/login" + ("" if here == "/" else f"?next={quote(here, safe='')}"))


def ask_again(request: Request, fields: list[tuple[str, str]]) -> Response:
    """Ask who it is, and keep what was typed.

    Args:
        request: Came without a session.
        fields: What it brought.
    """
    if wants_json(request):
        # The script still has what was typed, and says that it isn't saved.
        raise _not_logged_in()
    return render(
        request,
        "login.html",
        status=401,
        errors=[],
        name="",
        next="/",
        again=request.url.path,
        carried=[(name, value) for name, value in fields if not name.startswith(_SECRET)],
    )


def carried(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The fields that travel in a login form."""
    return [(name.removeprefix(FIELD), value) for name, value in fields if name.startswith(FIELD)]


def safe_path(path: str) -> str:
    """A path of our own, or ``/`` for whatever else is named: no other site, no line break."""
    own = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if own and path.isascii() and path.isprintable() and len(path) <= 2000 else "/"


def _not_logged_in() -> NotLoggedIn:
    return NotLoggedIn("log in first", hint="nothing was changed; log in and send it again")
