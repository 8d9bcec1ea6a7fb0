"""The trusted services of a controller: I/O around the pure rules.

=======================  ====================================================================
``evidence_store``       :class:`EvidenceStore`: recompute, then publish what tools answered
``budget_manager``       :class:`BudgetManager`: reserve, record, settle
``case_lifecycle``       :class:`CaseLifecycle`: block, resume, reopen
``investigation_steps``  :class:`InvestigationSteps`: open calls, judge replies
``test_coordinator``     :class:`AsyncTestCoordinator`: hand tests out, take answers
``test_checks``          what must hold before either
``projection``           what a package's evidence and ledger come to, kept in step
=======================  ====================================================================

No model output reaches ids, novelty, duplicates or budget (spec: evidence, budget). A command
that keeps the budget needn't load what recomputes replies: each is loaded when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vstore.controller.budget_manager import BudgetManager, BudgetSnapshot
    from vstore.controller.case_lifecycle import CaseLifecycle, Reopened
    from vstore.controller.evidence_store import EvidenceSnapshot, EvidenceStore, Saved
    from vstore.controller.investigation_steps import InvestigationSteps, OpenCall, Outcome
    from vstore.controller.test_attachments import Attached, Upload
    from vstore.controller.test_coordinator import (
        AsyncTestCoordinator,
        Confirmed,
        HandoffSnapshot,
        Submitted,
    )

__all__ = [
    "AsyncTestCoordinator",
    "Attached",
    "BudgetManager",
    "BudgetSnapshot",
    "CaseLifecycle",
    "Confirmed",
    "EvidenceSnapshot",
    "EvidenceStore",
    "HandoffSnapshot",
    "InvestigationSteps",
    "OpenCall",
    "Outcome",
    "Reopened",
    "Saved",
    "Submitted",
    "Upload",
]

_MODULES = {
    "AsyncTestCoordinator": "test_coordinator",
    "Attached": "test_attachments",
    "BudgetManager": "budget_manager",
    "BudgetSnapshot": "budget_manager",
    "CaseLifecycle": "case_lifecycle",
    "Confirmed": "test_coordinator",
    "EvidenceSnapshot": "evidence_store",
    "EvidenceStore": "evidence_store",
    "HandoffSnapshot": "test_coordinator",
    "InvestigationSteps": "investigation_steps",
    "OpenCall": "investigation_steps",
    "Outcome": "investigation_steps",
    "Reopened": "case_lifecycle",
    "Saved": "evidence_store",
    "Submitted": "test_coordinator",
    "Upload": "test_attachments",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), name)
