"""What a caller asks of the budget: commands, before they become events of the ledger.

A command holds what its caller states and nothing that follows from the ledger (costs,
scores, rewards, grants); the event that it becomes holds both. Two commands with one key
and one payload are one command (spec: budget, table of commands).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from vstore.budget import documents as events
from vstore.budget.documents import LedgerEvent, Reason
from vstore.errors import InvalidError
from vstore.objects.canonical import decode, encode
from vstore.objects.document import MapKey, Name, Percent
from vstore.objects.ids import Digest, ObjectId, digest_of

__all__ = [
    "Command",
    "CommandKey",
    "Fail",
    "Initialise",
    "RecordEvidence",
    "RecordResult",
    "Reopen",
    "Reserve",
    "Settle",
    "Void",
    "checked_payload",
    "command_of",
    "key_of",
    "name_of",
]

#: Analysis revision, name of the command, and the action id; empty for the commands that
#: concern a whole revision.
CommandKey = tuple[int, str, str]


class _Command(
    msgspec.Struct, tag_field="command", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    pass


class _Action(_Command, frozen=True, kw_only=True):
    hypothesis_id: Name
    action_id: Name


class Initialise(_Command, tag="initialise", frozen=True, kw_only=True):
    """Open the accounts of a revision, one per hypothesis, in this order."""

    policy: ObjectId
    hypotheses: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=100)]


class Reserve(_Action, tag="reserve", frozen=True, kw_only=True):
    """Set the cost of an operation aside for one action."""

    operation: MapKey


class RecordEvidence(_Action, tag="record_evidence", frozen=True, kw_only=True):
    """Bind an evidence record to a reserved action."""

    record: ObjectId


class RecordResult(_Action, tag="record_result", frozen=True, kw_only=True):
    """Bind a result that is no evidence to a reserved action."""

    result: Reason
    novel_refs: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=500)]],
        msgspec.Meta(max_length=1000),
    ]


class Settle(_Action, tag="settle", frozen=True, kw_only=True):
    """End a recorded action with an assessment of 0 to 100."""

    semantic_score: Percent
    reason: Reason


class Void(_Action, tag="void", frozen=True, kw_only=True):
    """Take a reservation back that was never dispatched."""

    reason: Reason


class Fail(_Action, tag="fail", frozen=True, kw_only=True):
    """End an action that brought no evidence; its credits are spent."""

    reason: Reason


class Reopen(_Command, tag="reopen", frozen=True, kw_only=True):
    """End the accounts of a revision, because the case is reopened."""

    reason: Reason


Command = Initialise | Reserve | RecordEvidence | RecordResult | Settle | Void | Fail | Reopen


def name_of(command: Command) -> str:
    """The command's name, such as ``reserve``."""
    return str(command.__struct_config__.tag)


def key_of(revision: int, command: Command) -> CommandKey:
    """What makes a repeat of a command recognisable."""
    return revision, name_of(command), getattr(command, "action_id", "")


def checked_payload(command: Command) -> Digest:
    """The digest of a command's canonical form, after checking each member's range.

    Raises:
        InvalidError: A member is out of range, or of another type (a boolean is no integer).
    """
    encoded = encode(command)
    if decode(encoded, type(command), what=f"{name_of(command)} command") != command:
        raise InvalidError("a command that doesn't survive writing", kind="invalid_command")
    return digest_of(encoded)


def command_of(event: LedgerEvent) -> Command:
    """The command that an event of the ledger came from."""
    if isinstance(event, events.Initialise):
        return Initialise(
            policy=event.policy, hypotheses=[grant.hypothesis_id for grant in event.grants]
        )
    if isinstance(event, events.Reopen):
        return Reopen(reason=event.reason)
    hypothesis, action = event.hypothesis_id, event.action_id
    if isinstance(event, events.Reserve):
        return Reserve(hypothesis_id=hypothesis, action_id=action, operation=event.operation)
    if isinstance(event, events.RecordEvidence):
        return RecordEvidence(hypothesis_id=hypothesis, action_id=action, record=event.record)
    if isinstance(event, events.RecordResult):
        return RecordResult(
            hypothesis_id=hypothesis,
            action_id=action,
            result=event.result,
            novel_refs=event.novel_refs,
        )
    if isinstance(event, events.Settle):
        return Settle(
            hypothesis_id=hypothesis,
            action_id=action,
            semantic_score=event.semantic_score,
            reason=event.reason,
        )
    if isinstance(event, events.Void):
        return Void(hypothesis_id=hypothesis, action_id=action, reason=event.reason)
    return Fail(hypothesis_id=hypothesis, action_id=action, reason=event.reason)
