"""The testers' page as one ASGI application."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.types import ASGIApp

from vstore.web import error_pages
from vstore.web.desk import Desk
from vstore.web.identity import Identity
from vstore.web.routes import all_routes
from vstore.web.security import Guard
from vstore.web.settings import Settings

__all__ = ["TestersPage", "create_app"]


class TestersPage(Starlette):
    """The application; what guards it stands around everything, also around a fault's answer.

    Args:
        desk: What the page does.
        settings: How it is reached.
    """

    #: pytest would take it for a class of tests.
    __test__ = False

    def __init__(self, desk: Desk, settings: Settings) -> None:
        super().__init__(routes=all_routes(), exception_handlers=error_pages.handlers)
        self.router.redirect_slashes = False
        self.add_middleware(Identity, refuse=error_pages.refuse)
        self.state.desk = desk
        self.state.settings = settings

    def build_middleware_stack(self) -> ASGIApp:
        """The guard, then what Starlette builds."""
        return Guard(super().build_middleware_stack(), self.state.settings, error_pages.refuse)


def create_app(desk: Desk, settings: Settings) -> TestersPage:
    """The application.

    Args:
        desk: What the page does; the caller closes it.
        settings: How it is reached.
    """
    return TestersPage(desk, settings)
