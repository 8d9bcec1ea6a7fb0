"""Folding stored entries into a state, as a verifier judges them or as a writer continues.

Both go through :func:`vstore.budget.ledger.plan`: the command is read off the stored event,
planned again, and what follows is compared with what is stored.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vstore.budget import documents as events
from vstore.budget.commands import command_of
from vstore.budget.documents import BudgetPolicy, LedgerEntry
from vstore.budget.facts import Facts, RecordFacts
from vstore.budget.ledger import Planned, entry_of, plan
from vstore.budget.state import LedgerState, Outcome
from vstore.errors import BudgetError, ConflictError, IntegrityError, InvalidError
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed

__all__ = ["adopt", "judge"]


def judge(
    state: LedgerState, stored: LedgerEntry, facts: Facts
) -> tuple[Planned, Sealed[LedgerEntry]]:
    """What the rules make of the command behind a stored entry.

    The state stays as it is; afterwards commit the planned one with the stored entry's id,
    so that the next entry's parent is judged by what is stored.

    Args:
        state: The ledger before the entry.
        stored: The entry as stored.
        facts: The rest of the package, as of the generation before the entry's.

    Returns:
        The planned command, and the entry that should be stored.

    Raises:
        IntegrityError: The command was carried out before (``repeated_entry``).
        VStoreError: As :func:`vstore.budget.ledger.plan`: the rules refuse the command.
    """
    planned = plan(state, stored.analysis_revision, command_of(stored.event), facts)
    if isinstance(planned, Outcome):
        raise IntegrityError(
            f"ledger entry {stored.sequence} repeats an earlier one",
            kind="repeated_entry",
            sequence=stored.sequence,
        )
    return planned, entry_of(state, planned)


def adopt(
    state: LedgerState,
    stored: Sealed[LedgerEntry],
    policy_of: Callable[[ObjectId], BudgetPolicy],
) -> None:
    """Take in a stored entry, believing what it says of evidence and tests.

    For a writer that continues a package: every figure is computed again and compared;
    whether records and tests exist as the entry says is the verifier's business.

    Args:
        state: The ledger before the entry.
        stored: The entry as stored.
        policy_of: Reads a policy by id; what it raises passes through.

    Raises:
        IntegrityError: The entry doesn't follow from the ledger before it (``bad_entry``).
    """
    entry = stored.document
    try:
        planned, expected = judge(state, entry, _AsStated(state, entry, policy_of))
    except (BudgetError, InvalidError, ConflictError) as error:
        raise _bad(entry) from error
    if expected.encoded != stored.encoded:
        raise _bad(entry)
    state.commit(planned, stored.id)


class _AsStated(msgspec.Struct, frozen=True):
    """Facts as an entry itself states them."""

    state: LedgerState
    entry: LedgerEntry
    policy_of: Callable[[ObjectId], BudgetPolicy]

    def policy(self, policy: ObjectId, /) -> BudgetPolicy:
        return self.policy_of(policy)

    def record(self, _record: ObjectId, /) -> RecordFacts:
        event = self.entry.event
        if not isinstance(event, events.RecordEvidence):  # pragma: no cover - plan asks for it
            raise InvalidError("no record in this entry", kind="invalid_entry")
        return RecordFacts(
            record_id=event.record_id,
            analysis_revision=self.entry.analysis_revision,
            hypothesis_id=event.hypothesis_id,
            action_id=event.action_id,
            operation=self.state.actions[event.action_id].operation,
            novelty_score=event.novelty_cap,
        )

    def recorded(self, _revision: int, action_id: str, /) -> bool:
        event = self.entry.event
        return isinstance(event, events.Reopen) and any(
            one.action_id == action_id and one.outcome == "forfeited" for one in event.actions
        )

    def submitted(self, _revision: int, _action_id: str, /) -> bool:
        return False


def _bad(entry: LedgerEntry) -> IntegrityError:
    return IntegrityError(
        f"ledger entry {entry.sequence} doesn't follow from the ledger before it",
        kind="bad_entry",
        hint="vstore verify says what is wrong",
        sequence=entry.sequence,
    )
