"""Documents of the budget layer (spec: budget)."""

from typing import Annotated, Final, Literal

import msgspec

from vstore.objects.document import (
    Asserted,
    Count,
    Derived,
    Document,
    MapKey,
    Name,
    Part,
    Percent,
    Pinned,
    Positive,
    RecordId,
    document,
)
from vstore.objects.ids import ObjectId

__all__ = [
    "RULES",
    "AccountFigures",
    "BudgetPolicy",
    "Disposition",
    "Fail",
    "Grant",
    "Initialise",
    "LedgerEntry",
    "LedgerEvent",
    "LowInformation",
    "RecordEvidence",
    "RecordResult",
    "Reopen",
    "Reserve",
    "Settle",
    "Void",
]

RULES: Final = "budget/1"
Credits = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


class LowInformation(Part, frozen=True, kw_only=True):
    """When an account is stopped: ``streak`` settlements in a row scoring under ``threshold``."""

    threshold: Annotated[int, msgspec.Meta(ge=1, le=100), Asserted]
    streak: Annotated[Positive, Asserted]


@document
class BudgetPolicy(Document, tag="budget-policy-v1", frozen=True, kw_only=True):
    """What things cost and earn, frozen per analysis revision."""

    #: Operation name to its cost in credits.
    costs: Annotated[dict[MapKey, Annotated[int, msgspec.Meta(ge=1, le=10**9)]], Asserted]
    #: Granted to each hypothesis.
    initial_credits: Annotated[int, msgspec.Meta(ge=1, le=10**9), Asserted]
    #: The highest deterministic score that counts.
    new_evidence_score: Annotated[Percent, Asserted]
    max_reward_percent: Annotated[int, msgspec.Meta(ge=0, le=99), Asserted]
    low_information: LowInformation
    #: Bounds all grants of all revisions together; revision 1 fixes it.
    case_credit_cap: Annotated[int, msgspec.Meta(ge=1, le=10**12), Asserted]
    max_revisions: Annotated[Positive, Asserted]


class _Event(Part, tag_field="command", frozen=True, kw_only=True):
    pass


class Grant(Part, frozen=True, kw_only=True):
    """Credits granted to one hypothesis."""

    hypothesis_id: Annotated[Name, Asserted]
    credits: Annotated[Credits, Derived]


class Initialise(_Event, tag="initialise", frozen=True, kw_only=True):
    """Opens the accounts of a revision."""

    policy: Annotated[ObjectId, Pinned]
    grants: Annotated[list[Grant], msgspec.Meta(min_length=1, max_length=100)]


class Reserve(_Event, tag="reserve", frozen=True, kw_only=True):
    """Sets credits aside for one action."""

    hypothesis_id: Annotated[Name, Asserted]
    action_id: Annotated[Name, Asserted]
    operation: Annotated[MapKey, Asserted]
    cost: Annotated[Credits, Derived]


class RecordEvidence(_Event, tag="record_evidence", frozen=True, kw_only=True):
    """Binds an evidence record to a reserved action; no balance moves."""

    hypothesis_id: Annotated[Name, Pinned]
    action_id: Annotated[Name, Pinned]
    record_id: Annotated[RecordId, Pinned]
    record: Annotated[ObjectId, Pinned]
    novelty_cap: Annotated[Percent, Derived]


class RecordResult(_Event, tag="record_result", frozen=True, kw_only=True):
    """Binds a result that is no evidence to a reserved action; no balance moves."""

    hypothesis_id: Annotated[Name, Asserted]
    action_id: Annotated[Name, Asserted]
    result: Annotated[Reason, Asserted]
    #: What the result refers to; refs never seen before in the case make it count.
    novel_refs: Annotated[
        Annotated[
            list[Annotated[str, msgspec.Meta(min_length=1, max_length=500)]],
            msgspec.Meta(max_length=1000),
        ],
        Asserted,
    ]


class Settle(_Event, tag="settle", frozen=True, kw_only=True):
    """Ends a recorded action and rewards what it brought."""

    hypothesis_id: Annotated[Name, Asserted]
    action_id: Annotated[Name, Asserted]
    semantic_score: Annotated[Percent, Asserted]
    reason: Annotated[Reason, Asserted]
    deterministic: Annotated[Percent, Derived]
    score: Annotated[Percent, Derived]
    reward: Annotated[Credits, Derived]


class Void(_Event, tag="void", frozen=True, kw_only=True):
    """Gives back the credits of an action that was never dispatched."""

    hypothesis_id: Annotated[Name, Asserted]
    action_id: Annotated[Name, Asserted]
    reason: Annotated[Reason, Asserted]


class Fail(_Event, tag="fail", frozen=True, kw_only=True):
    """Ends an action without evidence; its credits are spent."""

    hypothesis_id: Annotated[Name, Asserted]
    action_id: Annotated[Name, Asserted]
    reason: Annotated[Reason, Asserted]


class Disposition(Part, frozen=True, kw_only=True):
    """What reopening did with an open action."""

    hypothesis_id: Annotated[Name, Derived]
    action_id: Annotated[Name, Derived]
    outcome: Annotated[Literal["voided", "forfeited"], Derived]


class Reopen(_Event, tag="reopen", frozen=True, kw_only=True):
    """Ends a revision's accounts: open actions voided or forfeited, balances expired."""

    reason: Annotated[Reason, Asserted]
    actions: list[Disposition]


LedgerEvent = Initialise | Reserve | RecordEvidence | RecordResult | Settle | Void | Fail | Reopen


class AccountFigures(Part, frozen=True, kw_only=True):
    """An account after an event.

    Always ``granted + rewarded - debited == balance + reserved + expired``.
    """

    hypothesis_id: Annotated[Name, Derived]
    granted: Annotated[Credits, Derived]
    balance: Annotated[Credits, Derived]
    reserved: Annotated[Credits, Derived]
    debited: Annotated[Credits, Derived]
    rewarded: Annotated[Credits, Derived]
    expired: Annotated[Credits, Derived]
    #: Settlements in a row under the low-information threshold.
    streak: Annotated[Count, Derived]
    status: Annotated[Literal["open", "stopped", "closed"], Derived]


@document
class LedgerEntry(Document, tag="budget-ledger-v1", frozen=True, kw_only=True):
    """One event of the ledger and the figures of the accounts that it touched."""

    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    analysis_revision: Annotated[Positive, Derived]
    parent: Annotated[ObjectId | None, Pinned]
    #: 1 for the first entry of the case.
    sequence: Annotated[Positive, Derived]
    rules: Annotated[str, msgspec.Meta(pattern=r"^budget/[1-9][0-9]{0,3}\Z"), Asserted]
    event: LedgerEvent
    #: Accounts touched by the event, in the order in which they were opened.
    accounts: Annotated[list[AccountFigures], msgspec.Meta(min_length=1)]
