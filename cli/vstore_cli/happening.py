"""One thing that happened in a generation, as facts and in words."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Happening"]


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened; texts are safe to print.

    ``cost`` is what a reservation sets aside, and what a settlement or a failure spends.
    """

    kind: str
    what: str
    #: The same for one line of the log; ``what`` where None.
    brief: str | None = None
    hypothesis: str | None = None
    action: str | None = None
    record: str | None = None
    operation: str | None = None
    cost: int | None = None
    novelty: int | None = None
    #: Credits earned by a settlement; credits given back have their own member.
    reward: int | None = None
    refund: int | None = None
    #: A statement of a person or a controller, one line.
    reason: str | None = None

    def value(self) -> dict[str, Any]:
        """The JSON value, members that say nothing left out."""
        members = {
            "kind": self.kind,
            "what": self.what,
            "hypothesis_id": self.hypothesis,
            "action_id": self.action,
            "record_id": self.record,
            "operation": self.operation,
            "cost": self.cost,
            "novelty_score": self.novelty,
            "reward": self.reward,
            "refund": self.refund,
            "reason": self.reason,
        }
        return {name: value for name, value in members.items() if value is not None}
