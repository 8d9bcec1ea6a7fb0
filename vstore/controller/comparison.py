"""What differs between two generations, of one package or of two copies of it.

Reads only. Chains (generations, indices, ledger entries) are followed back to where they
meet, so what the two have in common costs nothing to skip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from vstore.budget.documents import AccountFigures, Initialise, LedgerEntry
from vstore.errors import InvalidError
from vstore.evidence.documents import EvidenceIndex, IndexedRecord
from vstore.objects.ids import ObjectId
from vstore.package.documents import Generation, Hypotheses, Hypothesis
from vstore.package.lifecycle import Position
from vstore.package.pinned import PinnedPackage
from vstore.package.tree_changes import TreeChange, tree_changes

__all__ = ["AccountChange", "Comparison", "HypothesisChange", "Relation", "compare", "relate"]

#: How the second stands to the first: the same, ahead of it, behind it, or neither.
Relation = Literal["same", "ahead", "behind", "diverged", "unrelated"]
#: Artifacts that have a part of the comparison of their own.
_TOLD = frozenset({"evidence_index", "budget_ledger", "budget_policy", "hypotheses"})

D = TypeVar("D", Generation, EvidenceIndex, LedgerEntry)


@dataclass(frozen=True, slots=True)
class HypothesisChange:
    """A hypothesis that the two don't have alike; None where one lacks it."""

    hypothesis_id: str
    before: Hypothesis | None
    after: Hypothesis | None


@dataclass(frozen=True, slots=True)
class AccountChange:
    """An account that the two don't have alike; None where one lacks it.

    ``before_revision`` and ``after_revision`` say whose account each is: equal ids in two
    revisions are two accounts.
    """

    hypothesis_id: str
    before_revision: int
    after_revision: int
    before: AccountFigures | None
    after: AccountFigures | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What differs between two generations, ``before`` and ``after``.

    Attributes:
        before, after: The generations.
        relation: How ``after`` stands to ``before``.
        common: The last generation that both histories have, and its number; None where
            they have none.
        inputs: Paths of the raw input that differ.
        attachments: Paths of the test attachments that differ.
        snapshots: Names of snapshots that differ, with the ids of their descriptors.
        hypotheses: Hypotheses that differ.
        records_removed: Records of ``before`` that ``after`` lacks, by position and object.
        records_added: Likewise the other way round.
        entries_removed: Ledger entries of ``before`` that ``after`` lacks, oldest first.
        entries_added: Likewise the other way round.
        accounts: Accounts that differ.
        policy: The ids of the policies where they differ, else None.
        artifacts: Other artifacts that differ, with the ids of their objects.
    """

    before: PinnedPackage
    after: PinnedPackage
    relation: Relation
    common: tuple[ObjectId, int] | None
    inputs: tuple[TreeChange, ...]
    attachments: tuple[TreeChange, ...]
    snapshots: dict[str, tuple[ObjectId | None, ObjectId | None]]
    hypotheses: tuple[HypothesisChange, ...]
    records_removed: tuple[IndexedRecord, ...]
    records_added: tuple[IndexedRecord, ...]
    entries_removed: tuple[tuple[ObjectId, LedgerEntry], ...]
    entries_added: tuple[tuple[ObjectId, LedgerEntry], ...]
    accounts: tuple[AccountChange, ...]
    policy: tuple[ObjectId | None, ObjectId | None] | None
    artifacts: dict[str, tuple[ObjectId | None, ObjectId | None]]

    @property
    def moved(self) -> tuple[Position, Position] | None:
        """The positions in the lifecycle where they differ, else None."""
        before, after = self.before.position, self.after.position
        return None if before == after else (before, after)


def relate(
    before: PinnedPackage, after: PinnedPackage
) -> tuple[Relation, tuple[ObjectId, int] | None]:
    """How one generation stands to another, and the last one that both histories have.

    Args:
        before: The one.
        after: The other, of the same package or of another copy of it.

    Returns:
        The relation, and id and number of the last common generation, None without one.

    Raises:
        NotFoundError, IntegrityError, InvalidError, UnsupportedError: Not readable.
    """
    meeting, _, _ = _until_met(
        before, before.generation_id, after, after.generation_id, Generation, _number
    )
    if meeting is None:
        return "unrelated", None
    number = before.objects.document(meeting, Generation).package_generation
    relation: Relation = "diverged"
    if before.generation_id == after.generation_id:
        relation = "same"
    elif meeting == before.generation_id:
        relation = "ahead"
    elif meeting == after.generation_id:
        relation = "behind"
    return relation, (meeting, number)


def compare(before: PinnedPackage, after: PinnedPackage) -> Comparison:
    """What differs between two generations.

    Args:
        before: The one, of any package.
        after: The other.

    Raises:
        NotFoundError, IntegrityError, InvalidError, UnsupportedError: Not readable.
        LimitExceeded: A raw input has too many files to compare.
    """
    relation, common = relate(before, after)
    one, other = before.generation, after.generation
    _, indices_removed, indices_added = _until_met(
        before,
        before.artifact("evidence_index"),
        after,
        after.artifact("evidence_index"),
        EvidenceIndex,
        _sequence,
    )
    _, entries_removed, entries_added = _until_met(
        before,
        before.artifact("budget_ledger"),
        after,
        after.artifact("budget_ledger"),
        LedgerEntry,
        _sequence,
    )
    policies = before.artifact("budget_policy"), after.artifact("budget_policy")
    return Comparison(
        before=before,
        after=after,
        relation=relation,
        common=common,
        inputs=tuple(tree_changes((before.objects, one.inputs), (after.objects, other.inputs))),
        attachments=tuple(
            tree_changes((before.objects, one.attachments), (after.objects, other.attachments))
        ),
        snapshots=_differing(one.snapshots, other.snapshots),
        hypotheses=tuple(_hypotheses(before, after)),
        records_removed=tuple(each for _, index in indices_removed for each in index.records),
        records_added=tuple(each for _, index in indices_added for each in index.records),
        entries_removed=tuple(entries_removed),
        entries_added=tuple(entries_added),
        accounts=tuple(_accounts(before, after)),
        policy=None if policies[0] == policies[1] else policies,
        artifacts={
            name: ids
            for name, ids in _differing(one.artifacts, other.artifacts).items()
            if name not in _TOLD
        },
    )


def _number(document: Generation) -> int:
    return document.package_generation


def _sequence(document: EvidenceIndex | LedgerEntry) -> int:
    return document.sequence


def _until_met(
    before: PinnedPackage,
    one: ObjectId | None,
    after: PinnedPackage,
    other: ObjectId | None,
    kind: type[D],
    position: Callable[[D], int],
) -> tuple[ObjectId | None, list[tuple[ObjectId, D]], list[tuple[ObjectId, D]]]:
    """Follow two chains back to where they meet.

    Returns:
        Where they meet (None: nowhere), and what each has behind that, oldest first.
    """
    left: list[tuple[ObjectId, D]] = []
    right: list[tuple[ObjectId, D]] = []
    first = None if one is None else before.objects.document(one, kind)
    second = None if other is None else after.objects.document(other, kind)
    while one != other:
        at = -1 if first is None else position(first)
        there = -1 if second is None else position(second)
        if at >= there:
            assert first is not None
            assert one is not None
            left.append((one, first))
            one, first = _back(before, first, kind, position)
        if there >= at:
            assert second is not None
            assert other is not None
            right.append((other, second))
            other, second = _back(after, second, kind, position)
    return one, left[::-1], right[::-1]


def _back(
    package: PinnedPackage, document: D, kind: type[D], position: Callable[[D], int]
) -> tuple[ObjectId | None, D | None]:
    oid = document.parent
    if oid is None:
        return None, None
    parent = package.objects.document(oid, kind)
    if position(parent) >= position(document):
        # Positions fall with every step, so a forged chain ends too.
        raise InvalidError("a chain of documents doesn't go back", kind="broken_history")
    return oid, parent


def _differing(
    before: dict[str, ObjectId], after: dict[str, ObjectId]
) -> dict[str, tuple[ObjectId | None, ObjectId | None]]:
    return {
        name: (before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }


def _hypotheses(before: PinnedPackage, after: PinnedPackage) -> Iterator[HypothesisChange]:
    one, other = _stated(before.hypotheses()), _stated(after.hypotheses())
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) != other.get(name):
            yield HypothesisChange(name, one.get(name), other.get(name))


def _stated(document: Hypotheses | None) -> dict[str, Hypothesis]:
    return {} if document is None else {one.id: one for one in document.hypotheses}


def _accounts(before: PinnedPackage, after: PinnedPackage) -> Iterator[AccountChange]:
    revision, one = _figures(before)
    later, other = _figures(after)
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) != other.get(name) or revision != later:
            yield AccountChange(name, revision, later, one.get(name), other.get(name))


def _figures(package: PinnedPackage) -> tuple[int, dict[str, AccountFigures]]:
    """The accounts of the last revision that has some, as the ledger's entries state them."""
    found: dict[str, AccountFigures] = {}
    oid, revision, order = package.artifact("budget_ledger"), 0, list[str]()
    last: int | None = None
    while oid is not None:
        entry = package.objects.document(oid, LedgerEntry)
        if last is not None and entry.sequence >= last:
            raise InvalidError("a chain of documents doesn't go back", kind="broken_history")
        last = entry.sequence
        revision = revision or entry.analysis_revision
        for account in entry.accounts:
            found.setdefault(account.hypothesis_id, account)
        if isinstance(entry.event, Initialise):
            order = [grant.hypothesis_id for grant in entry.event.grants]
            break
        oid = entry.parent
    return revision, {name: found[name] for name in order if name in found}
