"""Picking up a record that a crash left unknown to the ledger."""

from __future__ import annotations

from vstore.errors import NotFoundError
from vstore_cli.accounts import Accounts
from vstore_cli.services import Services

__all__ = ["record_if_answered"]


def record_if_answered(services: Services, accounts: Accounts | None, action: str) -> str | None:
    """Record an action's evidence in the ledger where only that is missing.

    Returns:
        The record's id, or None where there was nothing to do.
    """
    found = next(
        (
            one
            for one in (() if accounts is None else accounts.open_actions)
            if one.action == action
        ),
        None,
    )
    if found is None or found.status != "answered":
        return None
    for reference in services.evidence.snapshot(services.case_id, services.package_id).records:
        if reference.id == found.record:
            services.budget.record_evidence(
                services.case_id, services.package_id, found.hypothesis, action, reference.object
            )
            return found.record
    raise NotFoundError(f"no record {found.record}", kind="unknown_record")
