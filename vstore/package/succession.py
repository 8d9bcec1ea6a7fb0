"""How a generation follows its parent: pure rules, shared by the writer and the verifier.

The writer builds what these rules ask for and never publishes what they refuse; the
verifier holds every stored generation against the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from vstore.errors import StateError
from vstore.objects.ids import ObjectId
from vstore.package.documents import Generation
from vstore.package.lifecycle import Position, after_events, members_of, starts_revision

__all__ = ["RESERVED_ARTIFACTS", "Fault", "declared_roots", "expected_refs", "faults"]

#: Names that no artifact may bear: they are roles of their own, or a ref's name.
RESERVED_ARTIFACTS: Final = frozenset({"generation", "inputs", "snapshots", "attachments"})


class Fault(NamedTuple):
    """One way in which a generation doesn't follow its parent.

    Attributes:
        kind: Which rule: ``identity``, ``number``, ``parent``, ``history``, ``event``,
            ``state``, ``blocked``, ``revision``, ``member``, ``snapshot``, ``artifact`` or
            ``declared``.
        pointer: The member, as a JSON pointer.
        expected: What the rule asks for, in words or numbers of the rule.
        actual: What stands there.
    """

    kind: str
    pointer: str
    expected: str
    actual: str


def expected_refs(generation_id: ObjectId, generation: Generation) -> dict[str, ObjectId]:
    """Every ref that a package with this head has, by name."""
    return {**generation.artifacts, "generation": generation_id}


def declared_roots(parent: Generation | None, child: Generation) -> dict[str, list[ObjectId]]:
    """The roots that a generation adds, by role, as they follow from its other members.

    Roles are ``inputs``, ``snapshots``, ``attachments`` and the names of artifacts. What these
    roots refer to in turn is not declared.
    """
    roots: dict[str, list[ObjectId]] = {}
    if parent is None or child.inputs != parent.inputs:
        roots["inputs"] = [child.inputs]
    before = set() if parent is None else set(parent.snapshots.values())
    snapshots = sorted(set(child.snapshots.values()) - before)
    if snapshots:
        roots["snapshots"] = snapshots
    if child.attachments is not None and (
        parent is None or child.attachments != parent.attachments
    ):
        roots["attachments"] = [child.attachments]
    old: Mapping[str, ObjectId] = {} if parent is None else parent.artifacts
    for name, oid in child.artifacts.items():
        if name not in RESERVED_ARTIFACTS and old.get(name) != oid:
            roots[name] = [oid]
    return roots


def faults(parent_id: ObjectId | None, parent: Generation | None, child: Generation) -> list[Fault]:
    """Every way in which a generation doesn't follow its parent; none where it does.

    The root of ``history`` needs all generations before and is not checked here, its size is.

    Args:
        parent_id: The id of the parent; None for the first generation.
        parent: The parent; None for the first generation.
        child: The generation.

    Raises:
        UnsupportedError: An event that this version's table doesn't know.
    """
    found: list[Fault] = []

    def same(kind: str, pointer: str, expected: object, actual: object) -> None:
        if expected != actual:
            found.append(Fault(kind, pointer, str(expected), str(actual)))

    number = 1 if parent is None else parent.package_generation + 1
    same("number", "/package_generation", number, child.package_generation)
    same("parent", "/parent", parent_id, child.parent)
    same("history", "/history/size", number - 1, child.history.size)
    if parent is not None:
        same("identity", "/case_id", parent.case_id, child.case_id)
        same("identity", "/package_id", parent.package_id, child.package_id)
    found += _position_faults(parent, child)
    found += _member_faults(parent, child)
    for name in sorted(RESERVED_ARTIFACTS & child.artifacts.keys()):
        found.append(Fault("artifact", f"/artifacts/{name}", "no artifact of this name", name))
    wanted = declared_roots(parent, child)
    for role in _changed(wanted, child.declared):
        expected = ", ".join(wanted.get(role, ())) or "nothing new"
        same("declared", f"/declared/{role}", expected, child.declared.get(role))
    return found


def _changed(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """The names whose values differ, sorted; most often there is one or none."""
    if before == now:
        return []
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def _position_faults(parent: Generation | None, child: Generation) -> list[Fault]:
    found: list[Fault] = []
    before = None if parent is None else Position.of(parent)
    actual = Position.of(child)
    try:
        position = after_events(before, child.events, reason=actual.reason)
    except StateError as error:
        legal = error.details.get("legal")
        expected = ", ".join(map(str, legal)) if isinstance(legal, list) else "a legal event"
        kinds = ", ".join(event.kind for event in child.events)
        found.append(Fault("event", "/events", expected, kinds))
    else:
        if position.state != actual.state:
            found.append(Fault("state", "/state", position.state, actual.state))
        elif (position.reason, position.resume_state) != (actual.reason, actual.resume_state):
            found.append(Fault("blocked", "/blocked", _reason(position), _reason(actual)))
        elif (
            parent is not None
            and actual.reason is not None
            and before == actual
            and parent.blocked != child.blocked
        ):
            found.append(Fault("blocked", "/blocked", "as in the parent", "changed"))
    revision = (1 if parent is None else parent.analysis_revision) + sum(
        starts_revision(event.kind) for event in child.events
    )
    if child.analysis_revision != revision:
        found.append(
            Fault("revision", "/analysis_revision", str(revision), str(child.analysis_revision))
        )
    return found


def _member_faults(parent: Generation | None, child: Generation) -> list[Fault]:
    allowed = members_of(child.events)
    found: list[Fault] = []

    def unchanged(member: str, pointer: str, before: object, now: object) -> None:
        if before != now and member not in allowed:
            found.append(Fault("member", pointer, "as in the parent", "changed by no event"))

    old_snapshots: Mapping[str, ObjectId] = {} if parent is None else parent.snapshots
    old_artifacts: Mapping[str, ObjectId] = {} if parent is None else parent.artifacts
    if parent is not None:
        unchanged("inputs", "/inputs", parent.inputs, child.inputs)
    unchanged(
        "attachments",
        "/attachments",
        None if parent is None else parent.attachments,
        child.attachments,
    )
    for name in _changed(old_snapshots, child.snapshots):
        pointer = f"/snapshots/{name}"
        unchanged("snapshots", pointer, old_snapshots.get(name), child.snapshots.get(name))
        if name in old_snapshots and child.snapshots.get(name) != old_snapshots[name]:
            found.append(Fault("snapshot", pointer, "kept for ever", "replaced or removed"))
    for name in _changed(old_artifacts, child.artifacts):
        unchanged(
            f"artifacts.{name}",
            f"/artifacts/{name}",
            old_artifacts.get(name),
            child.artifacts.get(name),
        )
    return found


def _reason(position: Position) -> str:
    if position.reason is None:
        return "not blocked"
    return f"{position.reason}, from {position.resume_state}"
