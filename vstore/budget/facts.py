"""What the ledger's rules ask of the rest of the package.

Evidence needs reservations and the budget needs records; their rules don't know each other,
so the budget states here what it must be told.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from vstore.budget.documents import BudgetPolicy
from vstore.objects.ids import ObjectId

__all__ = ["Facts", "RecordFacts"]


class RecordFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the budget needs to know of an evidence record."""

    record_id: str
    analysis_revision: int
    hypothesis_id: str
    action_id: str
    #: Of the query, or of the test, that the record comes from.
    operation: str
    #: 0 to 100.
    novelty_score: int


class Facts(Protocol):
    """The rest of the package, as of the generation that the ledger continues from."""

    def policy(self, policy: ObjectId, /) -> BudgetPolicy:
        """A stored policy.

        Raises:
            VStoreError: It isn't there, or isn't a policy.
        """
        ...

    def record(self, record: ObjectId, /) -> RecordFacts:
        """A record that the evidence index holds.

        Raises:
            VStoreError: The index doesn't hold it.
        """
        ...

    def recorded(self, revision: int, action_id: str, /) -> bool:
        """Whether an evidence record exists for an action, bound in the ledger or not."""
        ...

    def submitted(self, revision: int, action_id: str, /) -> bool:
        """Whether a test request was submitted for an action."""
        ...
