"""Who asks: looks the session up before a page is made."""

from __future__ import annotations

from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from vstore.web.cookies import session_secret

__all__ = ["Identity"]

#: Here nobody is asked who they are, or in another way.
_WITHOUT: Final = ("/static/", "/api/")


class Identity:
    """Sets ``request.state``: ``account``, ``session``, ``session_secret``, ``session_ended``.

    ``account`` and ``session`` are None for somebody who isn't logged in; ``session_ended`` says
    that the browser showed a session which is over.

    Args:
        app: What is asked afterwards.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            state = request.state
            state.account = state.session = state.session_secret = None
            state.session_ended = False
            if not scope["path"].startswith(_WITHOUT):
                secret = session_secret(request)
                if secret is not None:
                    find = request.app.state.desk.sessions.find
                    state.session = await run_in_threadpool(find, secret)
                    state.session_ended = state.session is None
                if state.session is not None:
                    state.session_secret = secret
                    state.account = state.session.account
        await self._app(scope, receive, send)
