"""The trusted services of the library, opened on the package of this run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vstore_cli.context import Session

if TYPE_CHECKING:
    from vstore.controller.budget_manager import BudgetManager
    from vstore.controller.evidence_store import EvidenceStore
    from vstore.controller.test_coordinator import AsyncTestCoordinator
    from vstore.package.pinned import PinnedPackage
    from vstore.package.workspace import Workspace
    from vstore.tools.router import Router

__all__ = ["Services", "open_services", "services_of"]


@dataclass(frozen=True)
class Services:
    """What asks, stores, hands tests out and keeps the budget."""

    workspace: Workspace
    case_id: str
    package_id: str
    router: Router
    budget: BudgetManager
    evidence: EvidenceStore
    tests: AsyncTestCoordinator

    def package(self) -> PinnedPackage:
        """The head generation."""
        return self.workspace.repository(self.case_id).pinned()


def open_services(session: Session) -> Services:
    """The services on the package that the session finds."""
    from vstore.tools.router import Router

    return services_of(session.workspace(), Router.default())


def services_of(workspace: Workspace, router: Router) -> Services:
    """The services on a workspace that has one case."""
    from vstore.controller.budget_manager import BudgetManager
    from vstore.controller.evidence_store import EvidenceStore
    from vstore.controller.test_coordinator import AsyncTestCoordinator

    case_id = workspace.only_case()
    package = workspace.repository(case_id).pinned()
    return Services(
        workspace=workspace,
        case_id=case_id,
        package_id=package.package_id,
        router=router,
        budget=BudgetManager(workspace),
        evidence=EvidenceStore(workspace, router=router),
        tests=AsyncTestCoordinator(workspace),
    )
