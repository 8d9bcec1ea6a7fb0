"""Reservations for the swift pass: all entries of a frame written out, and compared as one.

A batch of reservations is a row of ledger entries and a generation. Of an entry nothing but
its action, hypothesis and operation is free; cost, figures and place in the chain follow
from these and from the ledger so far. So the three are read from the stored bytes, the
entries that they make are written out, and where these are the bytes that are stored, under
the ids that are stated, every member of all is right.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3
from msgspec.structs import replace

from vstore.budget.documents import RULES, AccountFigures
from vstore.budget.state import LedgerState, OpenAction, Outcome
from vstore.objects.ids import ObjectId, digest_of

if TYPE_CHECKING:
    from vstore.objects.frame import FrameSummary

__all__ = ["LEDGER", "RESERVE", "Reservations", "ReservedFrame", "read_reserved", "reserve_again"]

#: The artifact that reservations change, and the event that does it.
LEDGER: Final = "budget_ledger"
RESERVE: Final = "budget.reserve"
#: No figure of an account is larger.
_MAX_CREDITS: Final = 10**12

#: Action, hypothesis and operation of an entry. An action's name must be one; the others are
#: compared with names that are valid.
_events: Final = re.compile(
    rb',"event":\{"action_id":"([A-Za-z0-9][A-Za-z0-9._-]{0,99})","command":"reserve",'
    rb'"cost":[0-9]+,"hypothesis_id":"([A-Za-z0-9._-]+)","operation":"([a-z0-9_.]+)"\},'
).findall


class ReservedFrame(NamedTuple):
    """A frame with what may be entries of reservations, and behind them a generation."""

    ids: list[ObjectId]
    sizes: list[int]
    entries: list[bytes]
    #: Action, hypothesis and operation of each entry.
    names: list[tuple[str, str, str]]
    generation: bytes


class Reservations(NamedTuple):
    """What a proved frame of reservations adds to the ledger."""

    head: ObjectId
    #: The accounts that changed, as they are after it.
    accounts: dict[str, AccountFigures]
    #: Of each: the action, and what its command is remembered by.
    actions: list[tuple[OpenAction, Outcome]]


def read_reserved(frame: FrameSummary, payload: bytes) -> ReservedFrame | None:
    """The reservations of a frame; None where it holds something else.

    Args:
        frame: Its header, already checked.
        payload: The uncompressed objects.
    """
    count, large = frame.counts
    if frame.features or large or count < 2:
        return None
    found = _events(payload)
    if len(found) != count - 1:
        return None
    raws, kinds, states, offsets, sizes = zip(*frame.raw_entries(), strict=True)
    if min(kinds) != 1 or max(kinds) != 1 or any(states):
        return None
    documents = [payload[at : at + size] for at, size in zip(offsets, sizes, strict=True)]
    if not frame.derived and [blake3(one).digest() for one in documents] != list(raws):
        return None
    ids = [ObjectId.from_bytes(raw) for raw in raws]
    if len(set(ids)) != count:
        return None
    names = [(one.decode(), two.decode(), three.decode()) for one, two, three in found]
    return ReservedFrame(ids, list(sizes), documents[:-1], names, documents[-1])


def reserve_again(state: LedgerState, frame: ReservedFrame) -> Reservations | None:
    """What a frame adds to a ledger, where its entries are those that must be; or None.

    The state stays as it is.

    Args:
        state: The ledger so far.
        frame: From :func:`read_reserved`.
    """
    policy, revision = state.policy, state.revision
    if policy is None or not state.is_initialised(revision):
        return None
    costs, known, head = policy.costs, state.outcomes, state.head
    begins = f'"analysis_revision":{revision},"case_id":"{state.case_id}","event":'
    package = f'"package_id":"{state.package_id}","parent":"'
    end = f'","rules":"{RULES}","schema":"budget-ledger-v1","sequence":'
    sequence = state.sequence
    #: Of each account: credits left, credits set aside, and its figures around those.
    accounts: dict[str, list[int]] = {}
    forms: dict[str, tuple[str, str]] = {}
    actions: dict[str, tuple[OpenAction, Outcome]] = {}
    for (action, hypothesis, operation), oid, entry in zip(
        frame.names, frame.ids, frame.entries, strict=False
    ):
        figures = accounts.get(hypothesis)
        if figures is None:
            account = state.accounts.get(hypothesis)
            if account is None or account.status != "open":
                return None
            figures = accounts[hypothesis] = [account.balance, account.reserved]
            forms[hypothesis] = _around(account)
        cost = costs.get(operation)
        if cost is None or figures[0] < cost or action in actions:
            return None
        figures[0] -= cost
        figures[1] += cost
        sequence += 1
        middle, after = forms[hypothesis]
        written = (
            f'{{"accounts":[{{"balance":{figures[0]}{middle}{figures[1]}{after}}}],{begins}'
            f'{{"action_id":"{action}","command":"reserve","cost":{cost},'
            f'"hypothesis_id":"{hypothesis}","operation":"{operation}"}},{package}{head}{end}'
            f"{sequence}}}"
        )
        if written.encode() != entry or known.get((revision, "reserve", action)) is not None:
            return None
        head = oid
        payload = digest_of(
            f'{{"action_id":"{action}","command":"reserve","hypothesis_id":"{hypothesis}",'
            f'"operation":"{operation}"}}'.encode()
        )
        actions[action] = (
            OpenAction(hypothesis_id=hypothesis, action_id=action, operation=operation, cost=cost),
            Outcome(payload, oid),
        )
    if head is None or max(reserved for _, reserved in accounts.values()) > _MAX_CREDITS:
        return None
    return Reservations(
        head,
        {
            name: replace(state.accounts[name], balance=balance, reserved=reserved)
            for name, (balance, reserved) in accounts.items()
        },
        list(actions.values()),
    )


def _around(account: AccountFigures) -> tuple[str, str]:
    """An account in canonical form: between the credits left and those set aside, and behind."""
    before = (
        f',"debited":{account.debited},"expired":{account.expired},"granted":{account.granted},'
        f'"hypothesis_id":"{account.hypothesis_id}","reserved":'
    )
    return (
        before,
        f',"rewarded":{account.rewarded},"status":"{account.status}","streak":{account.streak}',
    )
