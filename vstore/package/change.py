"""The next generation, made from its parent and what changes: pure, no I/O.

State, revision, number, parent and the declared roots are not given: they follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from vstore.errors import InvalidError
from vstore.objects.canonical import decode, encode
from vstore.objects.ids import ObjectId
from vstore.package.documents import Blocked, Event, Generation, History
from vstore.package.lifecycle import Position, after_events, starts_revision
from vstore.package.succession import declared_roots, faults

__all__ = ["Change", "checked_event", "first_generation", "next_generation"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a generation changes.

    Attributes:
        events: What happened, in order; at least one.
        blocked: Why the case waits from now on, for events that block it; its
            ``resume_state`` is filled in.
        inputs: The new raw input, or None.
        snapshots: Snapshots to add, by name.
        attachments: The new tree of attachments, or None.
        artifacts: Artifacts to set, by name; none is ever taken away.
    """

    events: Sequence[Event]
    blocked: Blocked | None = None
    inputs: ObjectId | None = None
    snapshots: Mapping[str, ObjectId] = msgspec.field(default_factory=dict)
    attachments: ObjectId | None = None
    artifacts: Mapping[str, ObjectId] = msgspec.field(default_factory=dict)


def checked_event(event: Event) -> Event:
    """An event, after holding it against its own schema.

    Raises:
        InvalidError: It isn't what an event can be (``invalid_event``).
    """
    try:
        return decode(encode(event), Event)
    except InvalidError as error:
        raise InvalidError(
            "not an event: an actor has 1 to 200 characters, a reason up to 2,000, and an "
            "operation id is 1 to 100 of A-Z a-z 0-9 . _ -",
            kind="invalid_event",
            pointer=error.details.get("pointer"),
        ) from error


def first_generation(case_id: str, package_id: str, change: Change, history: History) -> Generation:
    """The first generation of a package.

    Args:
        case_id: The case.
        package_id: The package.
        change: Its raw input and events.
        history: The empty tree.

    Raises:
        StateError: The events don't begin a package.
        InvalidError: The members don't go with the events (``bad_generation``).
    """
    position = after_events(None, list(change.events))
    if change.inputs is None:
        raise InvalidError("the first generation needs a raw input", kind="bad_generation")
    child = Generation(
        case_id=case_id,
        package_id=package_id,
        package_generation=1,
        analysis_revision=1,
        state=position.state,
        blocked=None,
        parent=None,
        history=history,
        inputs=change.inputs,
        snapshots=dict(change.snapshots),
        attachments=change.attachments,
        artifacts=dict(change.artifacts),
        declared={},
        events=list(change.events),
    )
    return _checked(None, None, _declare(None, child))


def next_generation(
    parent_id: ObjectId, parent: Generation, change: Change, history: History
) -> Generation:
    """The generation after ``parent``.

    Args:
        parent_id: The id of the parent.
        parent: The parent.
        change: What changes.
        history: The tree over all generations up to the parent, this one included.

    Raises:
        StateError: An event isn't legal in the state of the parent.
        UnsupportedError: An event that the lifecycle table doesn't know.
        InvalidError: The members don't go with the events (``bad_generation``).
    """
    events = list(change.events)
    position = after_events(
        Position.of(parent),
        events,
        reason=None if change.blocked is None else change.blocked.reason,
    )
    child = msgspec.structs.replace(
        parent,
        package_generation=parent.package_generation + 1,
        analysis_revision=parent.analysis_revision
        + sum(starts_revision(event.kind) for event in events),
        state=position.state,
        blocked=_blocked(position, parent, change.blocked),
        parent=parent_id,
        history=history,
        inputs=change.inputs or parent.inputs,
        snapshots={**parent.snapshots, **change.snapshots},
        attachments=change.attachments or parent.attachments,
        artifacts={**parent.artifacts, **change.artifacts},
        declared={},
        events=events,
    )
    return _checked(parent_id, parent, _declare(parent, child))


def _blocked(position: Position, parent: Generation, blocked: Blocked | None) -> Blocked | None:
    if position.state != "BLOCKED" or position.resume_state is None:
        return None
    if blocked is not None:
        return msgspec.structs.replace(blocked, resume_state=position.resume_state)
    return parent.blocked


def _declare(parent: Generation | None, child: Generation) -> Generation:
    return msgspec.structs.replace(child, declared=declared_roots(parent, child))


def _checked(
    parent_id: ObjectId | None, parent: Generation | None, child: Generation
) -> Generation:
    wrong = faults(parent_id, parent, child)
    if wrong:
        first = wrong[0]
        raise InvalidError(
            f"the next generation would break the rule on {first.pointer}: "
            f"expected {first.expected}, not {first.actual}",
            kind="bad_generation",
            pointer=first.pointer,
        )
    return child
