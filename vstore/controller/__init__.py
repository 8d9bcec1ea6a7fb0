"""The trusted services of a controller: I/O around the pure rules.

==================  ==================================================================
``evidence_store``  :class:`EvidenceStore`: recompute, then publish what tools answered
``budget_manager``  :class:`BudgetManager`: reserve, record, settle
``case_lifecycle``  :class:`CaseLifecycle`: block, resume, reopen
``projection``      what a package's evidence and ledger come to, kept in step
==================  ==================================================================

No model output reaches ids, novelty, duplicates or budget (spec: evidence, budget).
"""

from __future__ import annotations

from vstore.controller.budget_manager import BudgetManager, BudgetSnapshot
from vstore.controller.case_lifecycle import CaseLifecycle, Reopened
from vstore.controller.evidence_store import EvidenceSnapshot, EvidenceStore, Saved

__all__ = [
    "BudgetManager",
    "BudgetSnapshot",
    "CaseLifecycle",
    "EvidenceSnapshot",
    "EvidenceStore",
    "Reopened",
    "Saved",
]
