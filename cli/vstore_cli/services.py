"""The trusted services of the library, opened on the package of this run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from vstore_cli.session import Session

if TYPE_CHECKING:
    from vstore.controller.budget_manager import BudgetManager
    from vstore.controller.evidence_store import EvidenceStore
    from vstore.controller.test_coordinator import AsyncTestCoordinator
    from vstore.package.pinned import PinnedPackage
    from vstore.package.workspace import Workspace
    from vstore.tools.router import Router

__all__ = ["Services", "open_services", "services_of"]


class Services:
    """What asks, stores, hands tests out and keeps the budget; each is loaded when it is used.

    Args:
        workspace: Has one case.
        router: Makes the router.
    """

    def __init__(self, workspace: Workspace, router: Callable[[], Router]) -> None:
        self.workspace = workspace
        self._make_router = router
        self.case_id = workspace.only_case()
        self.package_id = self.package().package_id

    @cached_property
    def router(self) -> Router:
        """Answers queries."""
        return self._make_router()

    @cached_property
    def budget(self) -> BudgetManager:
        """Keeps the budget."""
        from vstore.controller.budget_manager import BudgetManager

        return BudgetManager(self.workspace)

    @cached_property
    def evidence(self) -> EvidenceStore:
        """Stores evidence."""
        from vstore.controller.evidence_store import EvidenceStore

        return EvidenceStore(self.workspace, router=self.router)

    @cached_property
    def tests(self) -> AsyncTestCoordinator:
        """Hands tests out."""
        from vstore.controller.test_coordinator import AsyncTestCoordinator

        return AsyncTestCoordinator(self.workspace)

    def package(self) -> PinnedPackage:
        """The head generation."""
        return self.workspace.repository(self.case_id).pinned()


def open_services(session: Session) -> Services:
    """The services on the package that the session finds."""
    return Services(session.workspace(), _default_router)


def services_of(workspace: Workspace, router: Router) -> Services:
    """The services on a workspace that has one case."""
    return Services(workspace, lambda: router)


def _default_router() -> Router:
    from vstore.tools.router import Router

    return Router.default()
