"""VS-INP: trees, raw input, snapshots."""

from __future__ import annotations

from typing import Final, NamedTuple

from vstore.errors import InvalidError
from vstore.objects.ids import ObjectId
from vstore.objects.tree import MAX_TREE_DEPTH, Tree, check_tree
from vstore.package.documents import SnapshotDescriptor
from vstore.tools.database_content import DatabaseContent
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.objects import BAD
from vstore.verify.report import FindingCollector

__all__ = ["InputCheck"]


class _TreeFacts(NamedTuple):
    #: Bytes of all files below.
    size: int
    #: Folders on the longest way down, 1 for one without folders.
    depth: int


_UNKNOWN: Final = _TreeFacts(-1, 1)


class InputCheck:
    """Checks trees and snapshots where generations first name them.

    Args:
        objects: Where documents are.
        found: Takes the findings.
    """

    def __init__(self, objects: ObjectCheck, found: FindingCollector) -> None:
        self._objects = objects
        self._found = found
        self._trees: dict[ObjectId, _TreeFacts] = {}
        self._contents: set[ObjectId] = set()
        #: Why the rest of the inputs is not checked, or None.
        self.suspended: str | None = None

    def suspend(self, why: str) -> None:
        """Check no inputs any more."""
        self.suspended = why
        self._found.skip(f"inputs from there on: {why}")

    def step(self, step: Step) -> None:
        """Check what a generation adds."""
        if self.suspended is not None:
            return
        generation, parent = step.generation, step.parent
        if parent is None or generation.inputs != parent.inputs:
            self._check_root(generation.inputs, step.oid, "/inputs")
        if generation.attachments is not None and (
            parent is None or generation.attachments != parent.attachments
        ):
            self._check_root(generation.attachments, step.oid, "/attachments")
        added: list[str] = []
        for name, oid in generation.snapshots.items():
            if parent is None or parent.snapshots.get(name) != oid:
                kind = self._check_snapshot(step, name, oid)
                if kind is None:
                    return
                added.append(kind)
        said = [
            event.kind[:-4]
            for event in generation.events
            if event.kind in ("source.add", "database.add")
        ]
        if added and sorted(said) != sorted(added):
            self._found.add(
                "VS-HIS-009",
                f"{step.name} says that other snapshots were added than were",
                object=step.oid,
                pointer="/events",
                expected=", ".join(sorted(added)),
                actual=", ".join(sorted(said)),
                affects=(step.name,),
            )

    def _check_snapshot(self, step: Step, name: str, oid: ObjectId) -> str | None:
        pointer = f"/snapshots/{name}"
        descriptor = self._objects.lookup(oid, SnapshotDescriptor, step.oid, pointer)
        if descriptor is None:
            return None
        if descriptor.name != name or name == "inputs":
            self._found.add(
                "VS-INP-003",
                f"{step.name} gives a snapshot another name than its descriptor",
                object=oid,
                pointer="/name",
                expected=name,
                actual=descriptor.name,
                affects=(f"snapshot {name}",),
            )
        if descriptor.kind == "source":
            self._check_root(descriptor.content, oid, "/content")
        elif descriptor.content not in self._contents:
            self._contents.add(descriptor.content)
            self._check_database(name, descriptor.content, oid)
        return descriptor.kind

    def _check_database(self, name: str, content: ObjectId, referrer: ObjectId) -> None:
        from vstore.tools.snapshot_check import check_database

        if self._objects.lookup(content, DatabaseContent, referrer, "/content") is None:
            return
        table = self._objects.table
        for fault in check_database(table, content):
            flags = table.flags(fault.object)
            if fault.kind == "no_object" or flags is None or flags & BAD:
                continue  # reported by who follows references or checks digests
            self._found.add(
                "VS-INP-004",
                f"the database snapshot is malformed: {fault.message}",
                object=fault.object,
                affects=(f"snapshot {name}",),
            )

    # ---- trees

    def _check_root(self, root: ObjectId, referrer: ObjectId, pointer: str) -> None:
        facts = self._tree(root, referrer, pointer, MAX_TREE_DEPTH)
        if facts.depth > MAX_TREE_DEPTH:
            self._found.add(
                "VS-INP-001",
                f"folders are nested deeper than {MAX_TREE_DEPTH}",
                object=root,
            )

    def _tree(self, oid: ObjectId, referrer: ObjectId, pointer: str, left: int) -> _TreeFacts:
        known = self._trees.get(oid)
        if known is not None:
            return known
        tree = self._objects.lookup(oid, Tree, referrer, pointer)
        if tree is None or left == 0:
            # Absent, bad or of another type: reported by who found out.
            return _UNKNOWN if left else _TreeFacts(-1, MAX_TREE_DEPTH + 1)
        try:
            check_tree(tree)
        except InvalidError as error:
            self._found.add("VS-INP-001", error.message, object=oid, pointer="/entries")
        total, depth = 0, 0
        for position, entry in enumerate(tree.entries):
            if entry.kind == "tree":
                below = self._tree(entry.object, oid, f"/entries/{position}/object", left - 1)
                size, depth = below.size, max(depth, below.depth)
            else:
                size = self._size(entry.object)
            if size >= 0 and size != entry.size:
                self._found.add(
                    "VS-INP-002",
                    "a folder gives a wrong size",
                    object=oid,
                    pointer=f"/entries/{position}/size",
                    expected=size,
                    actual=entry.size,
                )
            total += size if size >= 0 else entry.size
        facts = _TreeFacts(total, depth + 1)
        self._trees[oid] = facts
        return facts

    def _size(self, oid: ObjectId) -> int:
        flags = self._objects.table.flags(oid)
        known = flags is not None and not flags & BAD
        return self._objects.table.size(oid) if known else -1
