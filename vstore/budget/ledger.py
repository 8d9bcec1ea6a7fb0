"""The ledger as a fold: from a command to its event, and from events to the state.

    planned = plan(state, revision, command, facts)      # or the outcome of what it repeats
    entry = entry_of(state, planned)                     # the document to store
    state.commit(planned, entry.id)

The writer stores the entry; the verifier compares the stored one with it, having made the
command from the stored event (:func:`vstore.budget.commands.command_of`). Whether the case's
state allows a command is the lifecycle table's to say; a repeat is recognised before that is
asked (spec: budget, "Account and ledger").
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vstore.budget import commands, effects, revisions
from vstore.budget.commands import Command, CommandKey, checked_payload, key_of
from vstore.budget.documents import (
    RULES,
    AccountFigures,
    BudgetPolicy,
    LedgerEntry,
    LedgerEvent,
)
from vstore.budget.effects import Effect
from vstore.budget.facts import Facts
from vstore.budget.state import LedgerState, OpenAction, Outcome
from vstore.errors import BudgetError, InvalidError, MissingReservation, OperationConflict
from vstore.objects.canonical import encode
from vstore.objects.ids import Digest, ObjectId, digest_of
from vstore.objects.sealed import Sealed, seal

__all__ = ["Planned", "entry_of", "find_reservation", "plan", "plan_all", "recognise"]


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A command that the ledger allows, where it starts from, and all that it does."""

    revision: int
    key: CommandKey
    payload: Digest
    parent: ObjectId | None
    base_sequence: int
    effect: Effect

    @property
    def event(self) -> LedgerEvent:
        """The event of the ledger."""
        return self.effect.event

    @property
    def accounts(self) -> tuple[AccountFigures, ...]:
        """The accounts that it touches, after it, in the order in which they were opened."""
        return self.effect.accounts


def recognise(state: LedgerState, revision: int, command: Command) -> Outcome | None:
    """The outcome of the command that this one repeats, or None for a new one.

    Args:
        state: The ledger so far.
        revision: The analysis revision that the command belongs to, 1 or more.
        command: What is asked.

    Raises:
        InvalidError: A member of the command is out of range.
        OperationConflict: The same key was used with another payload.
    """
    return _recognise(state, key_of(revision, command), checked_payload(command))


def find_reservation(
    state: LedgerState, revision: int, hypothesis_id: str, action_id: str, operation: str
) -> OpenAction:
    """The reserved action that a query or a test may use.

    Args:
        state: The ledger so far.
        revision: The analysis revision, 1 or more.
        hypothesis_id: For whom.
        action_id: As reserved.
        operation: As reserved, such as ``source.search``.

    Raises:
        MissingReservation: No such action is open, it is of another operation, or it has a
            record or a result already.
    """
    action = state.actions.get(action_id) if state.is_initialised(revision) else None
    if (
        action is None
        or action.hypothesis_id != hypothesis_id
        or action.operation != operation
        or action.is_recorded
    ):
        raise MissingReservation(
            f"hypothesis {hypothesis_id} has no reserved action {action_id} for {operation}",
            hint="reserve the action first, with the operation that it is for",
            hypothesis_id=hypothesis_id,
            action_id=action_id,
            operation=operation,
        )
    return action


def plan(
    state: LedgerState, revision: int, command: Command, facts: Facts, *, is_read: bool = False
) -> Planned | Outcome:
    """What a command does, or the outcome of the one that it repeats.

    The state stays as it is.

    Args:
        state: The ledger so far.
        revision: The analysis revision that the command belongs to, 1 or more. For
            ``reopen``, the revision that ends.
        command: What is asked.
        facts: The rest of the package.
        is_read: Whether the command's members come from a document that was read strictly, so
            that their ranges needn't be checked again.

    Raises:
        InvalidError: A member of the command, or its policy, is out of range.
        OperationConflict: The same key was used with another payload.
        MissingReservation: The hypothesis has no such action, or it ended.
        BudgetError: The ledger doesn't allow it. Kinds: ``not_initialised``,
            ``account_closed``, ``account_stopped``, ``unknown_hypothesis``, ``no_cost``,
            ``insufficient_credits``, ``already_recorded``, ``not_recorded``,
            ``record_mismatch``, ``test_operation``, ``dispatched``, ``has_evidence``,
            ``revision_open``, ``stale_revision``, ``max_revisions``, ``credit_cap``,
            ``cap_fixed``.
        VStoreError: What ``facts`` raises passes through.
    """
    if type(revision) is not int or revision < 1:
        raise InvalidError("an analysis revision is an integer from 1", kind="invalid_revision")
    key = key_of(revision, command)
    payload = digest_of(encode(command)) if is_read else checked_payload(command)
    known = _recognise(state, key, payload)
    if known is not None:
        return known
    return Planned(
        revision=revision,
        key=key,
        payload=payload,
        parent=state.head,
        base_sequence=state.sequence,
        effect=_effect(state, revision, command, facts),
    )


def plan_all(
    state: LedgerState, revision: int, wanted: Sequence[Command], facts: Facts
) -> list[tuple[Planned, Sealed[LedgerEntry]] | Outcome]:
    """Plan several commands one on the other: all of them, or none.

    The state stays as it is; commit the planned ones in their order.

    Args:
        state, revision, facts: As for :func:`plan`.
        wanted: In order.

    Returns:
        Per command, what it does and its entry, or the outcome of the one that it repeats.

    Raises:
        VStoreError: As :func:`plan`, for the first command that is refused.
    """
    draft = state.fork()
    done: list[tuple[Planned, Sealed[LedgerEntry]] | Outcome] = []
    for command in wanted:
        planned = plan(draft, revision, command, facts)
        if isinstance(planned, Outcome):
            done.append(planned)
        else:
            entry = entry_of(draft, planned)
            draft.commit(planned, entry.id)
            done.append((planned, entry))
    return done


def entry_of(state: LedgerState, planned: Planned) -> Sealed[LedgerEntry]:
    """The ledger entry that says what was planned.

    The entry of a ``reopen`` bears the revision that it ends.

    Args:
        state: The one that it was planned on, or one equal to it.
        planned: From :func:`plan`.
    """
    return seal(
        LedgerEntry(
            case_id=state.case_id,
            package_id=state.package_id,
            analysis_revision=planned.revision,
            parent=planned.parent,
            sequence=planned.base_sequence + 1,
            rules=RULES,
            event=planned.event,
            accounts=list(planned.accounts),
        )
    )


def _recognise(state: LedgerState, key: CommandKey, payload: Digest) -> Outcome | None:
    known = state.outcomes.get(key)
    if known is not None and known.payload != payload:
        revision, name, action_id = key
        raise OperationConflict(
            f"{name}{' of action ' + action_id if action_id else ''} was carried out with "
            f"other particulars in revision {revision}",
            hint="a command can be repeated only as it was",
            command=name,
            action_id=action_id or None,
            analysis_revision=revision,
        )
    return known


def _effect(state: LedgerState, revision: int, command: Command, facts: Facts) -> Effect:
    if isinstance(command, commands.Initialise):
        return revisions.initialise(state, revision, command, facts)
    policy = _open_policy(state, revision)
    if isinstance(command, commands.Reopen):
        return revisions.reopen(state, command, facts)
    account = state.accounts.get(command.hypothesis_id)
    if account is None:
        raise BudgetError(
            f"revision {revision} has no hypothesis {command.hypothesis_id}",
            kind="unknown_hypothesis",
            hint="a revision's hypotheses are fixed when its budget is initialised",
            hypothesis_id=command.hypothesis_id,
        )
    if isinstance(command, commands.Reserve):
        return effects.reserve(policy, command, account)
    action = state.actions.get(command.action_id)
    if action is None or action.hypothesis_id != command.hypothesis_id:
        ended = state.outcomes.get((revision, "reserve", command.action_id)) is not None
        raise MissingReservation(
            f"action {command.action_id} "
            + (
                f"of hypothesis {command.hypothesis_id} isn't open"
                if ended
                else "was never reserved"
            ),
            kind="action_not_open" if ended else None,
            hypothesis_id=command.hypothesis_id,
            action_id=command.action_id,
        )
    if isinstance(command, commands.RecordEvidence):
        return effects.record_evidence(revision, command, account, action, facts)
    if isinstance(command, commands.RecordResult):
        return effects.record_result(state, command, account, action, facts)
    if isinstance(command, commands.Settle):
        return effects.settle(policy, command, account, action)
    if isinstance(command, commands.Void):
        return effects.void(state, command, account, action, facts)
    return effects.fail(state, command, account, action, facts)


def _open_policy(state: LedgerState, revision: int) -> BudgetPolicy:
    """The policy of a revision whose accounts are open."""
    if state.policy is None or revision != state.revision:
        raise BudgetError(
            f"the budget of revision {revision} is not initialised",
            kind="not_initialised",
            hint="initialise it with a policy and the revision's hypotheses",
            analysis_revision=revision,
        )
    if state.closed:
        raise BudgetError(
            f"the accounts of revision {revision} ended when the case was reopened",
            kind="account_closed",
            analysis_revision=revision,
        )
    return state.policy
