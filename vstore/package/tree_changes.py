"""What differs between two trees, by path; equal folders are never entered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.tree import (
    MAX_TREE_DEPTH,
    MAX_TREE_ENTRIES,
    Tree,
    TreeEntry,
    check_tree,
    sort_key,
)

__all__ = ["TreeChange", "tree_changes"]

_Names = dict[bytes, TreeEntry]
_EMPTY: Final[_Names] = {}


class TreeChange(NamedTuple):
    """One path that two trees don't have alike.

    ``path`` ends with ``/`` for a folder that is empty in the tree that has it.
    """

    path: bytes
    kind: Literal["added", "removed", "changed"]
    before: TreeEntry | None
    after: TreeEntry | None


class _Budget:
    """How many entries may still be visited."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise LimitExceeded(
                f"the trees have more than {self.most} entries to compare",
                limit="max_entries",
                value=self.most,
                asked=self.most + 1,
            )


def tree_changes(
    before: tuple[ObjectSource, ObjectId | None],
    after: tuple[ObjectSource, ObjectId | None],
    *,
    max_entries: int = MAX_TREE_ENTRIES,
) -> Iterator[TreeChange]:
    """Every file and link that two trees don't have alike, in byte order of their paths.

    A path that is a file in one tree and a folder in the other is removed as the one and
    added as the other.

    Args:
        before: Where the one tree is, and its id; None for no tree.
        after: Likewise for the other.
        max_entries: Refuse to visit more files, links and folders than this, 1 or more.

    Raises:
        InvalidError: A tree that is malformed or too deep.
        LimitExceeded: More than ``max_entries``.
        NotFoundError, IntegrityError: A tree is absent or damaged.
    """
    yield from _changes(before, after, b"", 0, _Budget(max_entries))


def _changes(
    before: tuple[ObjectSource, ObjectId | None],
    after: tuple[ObjectSource, ObjectId | None],
    prefix: bytes,
    depth: int,
    budget: _Budget,
) -> Iterator[TreeChange]:
    if before[1] == after[1]:
        return
    if depth >= MAX_TREE_DEPTH:
        raise InvalidError(f"a tree is nested deeper than {MAX_TREE_DEPTH}", kind="invalid_tree")
    old, new = _entries(*before), _entries(*after)
    budget.spend(len(old) + len(new))
    for key in sorted({*old, *new}):
        one, other = old.get(key), new.get(key)
        if one == other:
            continue
        path = prefix + key
        if not key.endswith(b"/"):
            yield TreeChange(path, _kind(one, other), one, other)
            continue
        below = list(
            _changes(
                (before[0], None if one is None else one.object),
                (after[0], None if other is None else other.object),
                path,
                depth + 1,
                budget,
            )
        )
        # A folder alone: that it is there is all there is to say.
        yield from below or [TreeChange(path, _kind(one, other), one, other)]


def _entries(objects: ObjectSource, oid: ObjectId | None) -> _Names:
    """Entries by what they are sorted by, so that a file and a folder never meet."""
    if oid is None:
        return _EMPTY
    tree = objects.document(oid, Tree)
    check_tree(tree)
    return {sort_key(entry): entry for entry in tree.entries}


def _kind(
    before: TreeEntry | None, after: TreeEntry | None
) -> Literal["added", "removed", "changed"]:
    if before is None:
        return "added"
    return "removed" if after is None else "changed"
