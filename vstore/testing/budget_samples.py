"""A policy and the facts of a package, settable one by one, for tests of the ledger rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.budget.facts import RecordFacts
from vstore.errors import NotFoundError
from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId, object_id

__all__ = ["SettableFacts", "policy", "record_ref"]


def policy(
    costs: dict[str, int] | None = None,
    *,
    initial_credits: int = 100,
    new_evidence_score: int = 60,
    max_reward_percent: int = 50,
    threshold: int = 10,
    streak: int = 3,
    case_credit_cap: int = 1000,
    max_revisions: int = 5,
) -> BudgetPolicy:
    """A policy with these numbers; searching costs 10 by default."""
    return BudgetPolicy(
        costs={"source.search": 10} if costs is None else costs,
        initial_credits=initial_credits,
        new_evidence_score=new_evidence_score,
        max_reward_percent=max_reward_percent,
        low_information=LowInformation(threshold=threshold, streak=streak),
        case_credit_cap=case_credit_cap,
        max_revisions=max_revisions,
    )


def record_ref(revision: int, action_id: str) -> ObjectId:
    """The object id under which :class:`SettableFacts` knows the record of an action."""
    return object_id(f"record of {action_id} in {revision}".encode())


@dataclass(slots=True)
class SettableFacts:
    """Facts of a package without a package."""

    policies: dict[ObjectId, BudgetPolicy] = field(default_factory=dict)
    records: dict[ObjectId, RecordFacts] = field(default_factory=dict)
    recorded_actions: set[tuple[int, str]] = field(default_factory=set)
    submitted_tests: set[tuple[int, str]] = field(default_factory=set)

    def add_policy(self, one: BudgetPolicy) -> ObjectId:
        """Store a policy."""
        oid = object_id(encode(one))
        self.policies[oid] = one
        return oid

    def add_record(
        self,
        revision: int,
        hypothesis_id: str,
        action_id: str,
        novelty_score: int,
        *,
        operation: str = "source.search",
    ) -> ObjectId:
        """Publish an evidence record for an action."""
        oid = record_ref(revision, action_id)
        self.records[oid] = RecordFacts(
            record_id=f"E{len(self.records) + 1:06d}",
            analysis_revision=revision,
            hypothesis_id=hypothesis_id,
            action_id=action_id,
            operation=operation,
            novelty_score=novelty_score,
        )
        self.recorded_actions.add((revision, action_id))
        return oid

    def policy(self, policy: ObjectId, /) -> BudgetPolicy:
        """See :meth:`vstore.budget.facts.Facts.policy`."""
        try:
            return self.policies[policy]
        except KeyError:
            raise NotFoundError(f"no object {policy}", kind="no_object") from None

    def record(self, record: ObjectId, /) -> RecordFacts:
        """See :meth:`vstore.budget.facts.Facts.record`."""
        try:
            return self.records[record]
        except KeyError:
            raise NotFoundError(f"no object {record}", kind="no_object") from None

    def recorded(self, revision: int, action_id: str, /) -> bool:
        """See :meth:`vstore.budget.facts.Facts.recorded`."""
        return (revision, action_id) in self.recorded_actions

    def submitted(self, revision: int, action_id: str, /) -> bool:
        """See :meth:`vstore.budget.facts.Facts.submitted`."""
        return (revision, action_id) in self.submitted_tests
