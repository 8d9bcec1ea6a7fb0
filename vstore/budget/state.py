"""The accounts of a case, as far as the next command depends on them.

A pure fold of the ledger's events: :func:`vstore.budget.ledger.plan` computes what a
command does without touching the state, :meth:`LedgerState.commit` takes it in, as a whole
or not at all. Writer and verifier use the same two.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

import msgspec

from vstore.budget.commands import CommandKey
from vstore.budget.documents import AccountFigures, BudgetPolicy
from vstore.budget.tables import GrowingSet, OverlayMap, OverlaySet, OverlayTable, Table
from vstore.errors import InvalidError
from vstore.objects.ids import Digest, ObjectId

if TYPE_CHECKING:
    from vstore.budget.ledger import Planned

__all__ = ["LedgerState", "OpenAction", "Outcome"]


class OpenAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action whose credits are set aside."""

    hypothesis_id: str
    action_id: str
    operation: str
    #: Credits, 1 or more.
    cost: int
    #: Its evidence record, once one is bound.
    record: ObjectId | None = None
    #: The record's novelty score; None without a record.
    novelty_cap: int | None = None
    #: Whether a result that is no evidence is bound.
    has_result: bool = False
    #: Whether that result named a ref that the case had never seen.
    unseen_refs: bool = False

    @property
    def is_recorded(self) -> bool:
        """Whether it can be settled."""
        return self.has_result or self.record is not None


class Outcome(msgspec.Struct, frozen=True):
    """A command that was carried out: what a repeat is compared with, and answered by."""

    payload: Digest
    #: The ledger entry, which holds the event and the figures.
    entry: ObjectId


class LedgerState(msgspec.Struct, kw_only=True):
    """The ledger of a case so far.

    Attributes:
        case_id: The case.
        package_id: Its package.
        head: The latest entry, or None.
        sequence: Entries so far.
        revision: The latest revision with accounts, 0 without one.
        closed: Whether that revision's accounts were ended by a reopening.
        policy: That revision's policy, or None.
        policy_id: Its object id, or None.
        case_credit_cap: Fixed by the first policy of the case; 0 without one.
        max_revisions: Likewise.
        granted: Credits granted in all revisions together.
        accounts: Of that revision, by hypothesis, in the order in which they were opened.
        actions: Open actions of that revision, in the order of their reservation.
        outcomes: Every command that was carried out, in any revision.
        seen_refs: Every ref that a result named, in any revision.
    """

    case_id: str
    package_id: str
    head: ObjectId | None = None
    sequence: int = 0
    revision: int = 0
    closed: bool = False
    policy: BudgetPolicy | None = None
    policy_id: ObjectId | None = None
    case_credit_cap: int = 0
    max_revisions: int = 0
    granted: int = 0
    accounts: dict[str, AccountFigures] = msgspec.field(default_factory=dict)
    actions: MutableMapping[str, OpenAction] = msgspec.field(default_factory=dict)
    outcomes: Table[CommandKey, Outcome] = msgspec.field(default_factory=dict)
    seen_refs: GrowingSet = msgspec.field(default_factory=set[str])

    @classmethod
    def empty(cls, case_id: str, package_id: str) -> LedgerState:
        """The state of a case without a ledger."""
        return cls(case_id=case_id, package_id=package_id)

    def is_initialised(self, revision: int) -> bool:
        """Whether a revision has accounts that are not ended."""
        return revision == self.revision and revision > 0 and not self.closed

    def open_actions(self, hypothesis_id: str | None = None) -> Iterator[OpenAction]:
        """Open actions of the latest revision, of one hypothesis or of all."""
        for action in self.actions.values():
            if hypothesis_id is None or action.hypothesis_id == hypothesis_id:
                yield action

    def fork(self) -> LedgerState:
        """A state that starts as this one and leaves it alone; costs O(accounts)."""
        return LedgerState(
            case_id=self.case_id,
            package_id=self.package_id,
            head=self.head,
            sequence=self.sequence,
            revision=self.revision,
            closed=self.closed,
            policy=self.policy,
            policy_id=self.policy_id,
            case_credit_cap=self.case_credit_cap,
            max_revisions=self.max_revisions,
            granted=self.granted,
            accounts=dict(self.accounts),
            actions=OverlayMap(self.actions),
            outcomes=OverlayTable(self.outcomes),
            seen_refs=OverlaySet(self.seen_refs),
        )

    def commit(self, planned: Planned, entry: ObjectId) -> None:
        """Take in a command that was planned on a state equal to this one.

        Args:
            planned: From :func:`vstore.budget.ledger.plan`.
            entry: The id of the ledger entry that says so.

        Raises:
            InvalidError: Planned on another state (``stale_plan``).
        """
        if planned.parent != self.head or planned.base_sequence != self.sequence:
            raise InvalidError("planned on another state", kind="stale_plan")
        effect = planned.effect
        opening = effect.opening
        if opening is not None:
            self.revision = planned.revision
            self.closed = False
            self.policy = opening.policy
            self.policy_id = opening.policy_id
            self.case_credit_cap = opening.case_credit_cap
            self.max_revisions = opening.max_revisions
            self.granted += sum(account.granted for account in effect.accounts)
            self.accounts = {}
            self.actions = {}
        for account in effect.accounts:
            self.accounts[account.hypothesis_id] = account
        if effect.changed is not None:
            self.actions[effect.changed.action_id] = effect.changed
        for action_id in effect.ended:
            del self.actions[action_id]
        self.seen_refs.update(effect.refs)
        self.closed = self.closed or effect.closes
        self.outcomes[planned.key] = Outcome(planned.payload, entry)
        self.head = entry
        self.sequence += 1
