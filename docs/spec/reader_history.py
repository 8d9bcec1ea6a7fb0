"""Generations for the independent reader: Merkle trees, the lifecycle, refs.

The lifecycle's table is read from ``history.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

RESERVED: Final = {"generation", "inputs", "snapshots", "attachments"}
KNOWN: Final = {
    "evidence_index",
    "budget_ledger",
    "budget_policy",
    "hypotheses",
    "async_test_request",
    "async_test_feedback",
    "investigation_log",
    "working_brief",
}
_NOTHING: Final[dict[str, Any]] = {
    "inputs": None,
    "snapshots": {},
    "attachments": None,
    "artifacts": {},
}
_REPEATABLE: Final = {"advance", "source.add", "database.add"}

Document = dict[str, Any]
#: Takes a finding: area, severity, message.
Report = Callable[[str, str, str], None]


class MerkleTree:
    """A growing tree of RFC 9162: the roots of its complete subtrees, the largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._roots: list[tuple[int, bytes]] = []

    def append(self, leaf: bytes) -> None:
        """Add a leaf with this content."""
        size, root = 1, sha256(b"\0" + leaf).digest()
        while self._roots and self._roots[-1][0] == size:
            root = sha256(b"\1" + self._roots.pop()[1] + root).digest()
            size *= 2
        self._roots.append((size, root))
        self.size += 1

    def root(self) -> str:
        """The root, in hex."""
        if not self._roots:
            return sha256(b"").hexdigest()
        root = self._roots[-1][1]
        for _, left in reversed(self._roots[:-1]):
            root = sha256(b"\1" + left + root).digest()
        return root.hex()


class Rule(NamedTuple):
    """A row of the lifecycle's table."""

    sources: list[str]
    target: str
    reasons: list[str]
    changes: list[str]


def lifecycle(page: Path) -> dict[str, list[Rule]]:
    """The rules of each event, from the table in ``history.md``."""
    rules: dict[str, list[Rule]] = {}
    rows = re.findall(
        r"^\| `([a-z._]+)` \| (.*) \| (.*) \| (.*) \| (.*) \|$",
        page.read_text("utf-8"),
        re.MULTILINE,
    )
    for event, sources, target, reasons, changes in rows:
        rule = Rule(
            re.findall(r"[A-Z_]+", sources),
            target.strip("* "),
            re.findall(r"[A-Z_]+", reasons),
            re.findall(r"`([^`]+)`", changes),
        )
        rules.setdefault(event, []).append(rule)
    return rules


#: State, block reason and resume state.
Position = tuple[str, str | None, str | None]


class Lifecycle:
    """Positions and what leads from one to the next."""

    def __init__(self, page: Path) -> None:
        self._rules = lifecycle(page)

    def known(self, event: str) -> bool:
        """Whether the table has this event."""
        return event in self._rules

    def changes(self, event: str) -> set[str]:
        """The members that an event may change."""
        return {one for rule in self._rules[event] for one in rule.changes}

    @staticmethod
    def position(generation: Document | None) -> Position | None:
        """Where a generation stands."""
        if generation is None:
            return None
        blocked = generation["blocked"]
        if blocked is None:
            return generation["state"], None, None
        return generation["state"], blocked["reason"], blocked["resume_state"]

    def after(self, position: Position | None, event: str, reason: str | None) -> Position | None:
        """Where an event leads, None where it isn't legal."""
        for rule in self._rules[event]:
            if position is None:
                if rule.sources:
                    continue
            elif position[0] not in rule.sources or (
                position[0] == "BLOCKED" and position[1] not in rule.reasons
            ):
                continue
            if rule.target == "BLOCKED":
                legal = reason in rule.reasons and position is not None
                return ("BLOCKED", reason, position[0]) if legal and position else None
            if rule.target == "the same":
                return position
            if rule.target == "resume":
                resumed = position[2] if position else None
                return None if resumed is None else (resumed, None, None)
            return rule.target, None, None
        return None


def check_generation(
    table: Lifecycle,
    number: int,
    parent_id: str | None,
    parent: Document | None,
    child: Document,
    waits: bool,
    report: Report,
) -> None:
    """Check how a generation follows its parent, the history's root and documents left out.

    What the ledger does while a test is outstanding (``waits``) is looked at elsewhere.
    """

    def wrong(message: str, area: str = "history") -> None:
        report(area, "error", f"generation {number}: {message}")

    if child["package_generation"] != number:
        wrong("wrong number")
    if child["parent"] != parent_id:
        wrong("wrong parent")
    if child["history"]["size"] != number - 1:
        wrong("wrong size of the history")
    for member in ("case_id", "package_id"):
        if parent is not None and child[member] != parent[member]:
            wrong(f"another {member}")
    kinds = [event["kind"] for event in child["events"]]
    _check_position(table, parent, child, kinds, wrong)
    _check_members(table, parent, child, kinds, waits, wrong)
    if RESERVED & child["artifacts"].keys():
        wrong("an artifact with a reserved name")
    declared, expected = child["declared"], declared_roots(parent, child)
    if any(
        declared.get(role) != expected.get(role)
        for role in declared.keys() | expected.keys()
        # What is declared under a reserved name follows from the name.
        if role not in RESERVED & child["artifacts"].keys()
    ):
        wrong("declares other roots than it adds")
    for position, kind in enumerate(kinds):
        if kind in kinds[:position] and kind not in _REPEATABLE:
            wrong(f"{kind} stands twice")
        members = table.changes(kind)
        if parent is None or not members or kind.startswith("reopen."):
            continue
        if all(_member(parent, one) == _member(child, one) for one in members):
            wrong(f"{kind} changed nothing")


def _check_position(
    table: Lifecycle,
    parent: Document | None,
    child: Document,
    kinds: list[str],
    wrong: Callable[[str], None],
) -> None:
    before, actual = table.position(parent), table.position(child)
    assert actual is not None
    position = before
    for kind in kinds:
        position = table.after(position, kind, actual[1])
        if position is None:
            wrong(f"{kind} is not legal here")
            break
    if position is not None and position != actual:
        wrong(f"is {actual[0]}, should be {position[0]}")
    elif position is not None and before == actual and actual[1] is not None:
        assert parent is not None
        if parent["blocked"] != child["blocked"]:
            wrong("the block changed")
    revision = 1 if parent is None else parent["analysis_revision"]
    if child["analysis_revision"] != revision + sum(kind.startswith("reopen.") for kind in kinds):
        wrong("wrong analysis revision")


def _check_members(
    table: Lifecycle,
    parent: Document | None,
    child: Document,
    kinds: list[str],
    waits: bool,
    wrong: Callable[..., None],
) -> None:
    allowed = {one for kind in kinds for one in table.changes(kind)}
    if waits:
        allowed.add("artifacts.budget_ledger")
    empty: Document = {
        "inputs": child["inputs"],
        "attachments": None,
        "snapshots": {},
        "artifacts": {},
    }
    before = empty if parent is None else parent
    if child["inputs"] != before["inputs"] and "inputs" not in allowed:
        wrong("inputs changed", "inputs")
    if child["attachments"] != before["attachments"] and "attachments" not in allowed:
        wrong("attachments changed")
    for name in before["snapshots"].keys() | child["snapshots"].keys():
        old, new = before["snapshots"].get(name), child["snapshots"].get(name)
        if old != new and (old is not None or "snapshots" not in allowed):
            wrong(f"snapshot {name} changed", "inputs")
    for name in before["artifacts"].keys() | child["artifacts"].keys():
        old, new = before["artifacts"].get(name), child["artifacts"].get(name)
        if old == new or new is None:
            continue  # removed ones are looked at whatever the events say
        if f"artifacts.{name}" not in allowed and name in KNOWN:
            wrong(f"artifact {name} changed")


def check_removed(number: int, parent: Document | None, child: Document, report: Report) -> None:
    """Check that no artifact disappeared, but hypotheses at a new revision."""
    if parent is None:
        return
    reopened = child["analysis_revision"] > parent["analysis_revision"]
    for name in parent["artifacts"].keys() - child["artifacts"].keys():
        if not (reopened and name == "hypotheses"):
            report("history", "error", f"generation {number}: artifact {name} disappeared")


def declared_roots(parent: Document | None, child: Document) -> dict[str, list[str]]:
    """The roots that a generation adds, by role."""
    before = parent or _NOTHING
    roots: dict[str, list[str]] = {}
    if child["inputs"] != before["inputs"]:
        roots["inputs"] = [child["inputs"]]
    added = set(child["snapshots"].values()) - set(before["snapshots"].values())
    if added:
        roots["snapshots"] = sorted(added)
    if child["attachments"] not in (None, before["attachments"]):
        roots["attachments"] = [child["attachments"]]
    for name, oid in child["artifacts"].items():
        if name not in RESERVED and before["artifacts"].get(name) != oid:
            roots[name] = [oid]
    return roots


def _member(generation: Document, name: str) -> Any:
    if name.startswith("artifacts."):
        return generation["artifacts"].get(name[10:])
    return generation[name]


def check_refs(refs: dict[str, bytes], past: list[dict[str, str]], report: Report) -> None:
    """Check refs against what the generations expected, the head's first."""
    expected = past[0] if past else {}
    for name in sorted(refs.keys() | expected.keys()):
        raw = refs.get(name)
        value = _ref_value(raw)
        if value is not None and value == expected.get(name):
            continue
        if not past and name == "generation" and raw == b"":
            continue
        if raw is None:
            lags = _may_be_absent(name, refs, past)
        elif value is not None:
            lags = any(one.get(name) == value for one in past[1:])
        else:
            left = _ref_rest(raw)
            lags = left is not None and any(
                one.get(name, "").startswith(left) for one in past if name in one
            )
        if lags:
            report("history", "lag", f"the ref {name} lags")
        else:
            report(
                "history", "error", f"the ref {name} is {'missing' if raw is None else 'foreign'}"
            )


def _ref_value(raw: bytes | None) -> str | None:
    return raw[:-1].decode() if raw and re.fullmatch(rb"b3:[0-9a-f]{64}\n", raw) else None


def _ref_rest(raw: bytes) -> str | None:
    """What is left of a cut ref, None for what is none."""
    left = raw.rstrip(b"\0")
    if len(raw) > 68 or not re.fullmatch(rb"(b|b3|b3:[0-9a-f]{0,64})?", left):
        return None
    return left.decode()


def _may_be_absent(name: str, refs: dict[str, bytes], past: list[dict[str, str]]) -> bool:
    named = refs.get("generation")
    if named is None:
        return False
    value = _ref_value(named)
    if value is None:
        return _ref_rest(named) is not None and (len(past) <= 1 or name not in past[1])
    return any(one["generation"] == value and name not in one for one in past[1:])
