"""Picking up a record that a crash left unknown to the ledger."""

from __future__ import annotations

from vstore.evidence.documents import EvidenceRecord
from vstore_cli.services import Services

__all__ = ["record_if_answered"]


def record_if_answered(services: Services, action: str) -> str | None:
    """Record an action's evidence in the ledger where only that is missing.

    Returns:
        The record's id, or None where there was nothing to do.
    """
    case_id, package_id = services.case_id, services.package_id
    budget = services.budget.snapshot(case_id, package_id)
    found = next((one for one in budget.open_actions if one.action_id == action), None)
    if found is None or found.is_recorded:
        return None
    package = budget.package
    for indexed in reversed(services.evidence.snapshot(case_id, package_id).records):
        record = package.objects.document(indexed.object, EvidenceRecord)
        if record.analysis_revision != package.revision:
            return None
        if record.action_id == action:
            services.budget.record_evidence(
                case_id, package_id, record.hypothesis_id, action, indexed.object
            )
            return record.id
    return None
