"""The trusted services of a controller: I/O around the pure rules.

=======================  ====================================================================
``evidence_store``       :class:`EvidenceStore`: recompute, then publish what tools answered
``budget_manager``       :class:`BudgetManager`: reserve, record, settle
``case_lifecycle``       :class:`CaseLifecycle`: block, resume, reopen
``investigation_steps``  :class:`InvestigationSteps`: open calls, judge replies
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

__all__ = [
    "BudgetManager",
    "BudgetSnapshot",
    "CaseLifecycle",
    "EvidenceSnapshot",
    "EvidenceStore",
    "InvestigationSteps",
    "OpenCall",
    "Outcome",
    "Reopened",
    "Saved",
]

_MODULES = {
    "BudgetManager": "budget_manager",
    "BudgetSnapshot": "budget_manager",
    "CaseLifecycle": "case_lifecycle",
    "EvidenceSnapshot": "evidence_store",
    "EvidenceStore": "evidence_store",
    "InvestigationSteps": "investigation_steps",
    "OpenCall": "investigation_steps",
    "Outcome": "investigation_steps",
    "Reopened": "case_lifecycle",
    "Saved": "evidence_store",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), name)
