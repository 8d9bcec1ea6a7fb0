"""Who asks: looks the session up before a page is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from vstore.errors import VStoreError
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
        refuse: Makes the answer where the session can't be looked up.
    """

    def __init__(self, app: ASGIApp, refuse: Callable[[Request, VStoreError], Response]) -> None:
        self._app = app
        self._refuse = refuse

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
                    try:
                        state.session = await run_in_threadpool(find, secret)
                    except VStoreError as error:
                        # Outside of what turns errors into answers.
                        await self._refuse(request, error)(scope, receive, send)
                        return
                    state.session_ended = state.session is None
                if state.session is not None:
                    state.session_secret = secret
                    state.account = state.session.account
        await self._app(scope, receive, send)
