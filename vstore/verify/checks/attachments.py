"""VS-HND: the tree of attachments, which only ever grows below the outstanding request."""

from __future__ import annotations

import re
from typing import Final

from vstore.errors import InvalidError
from vstore.handoff.attachments import check_attachment_name
from vstore.objects.ids import ObjectId
from vstore.objects.text import text_to_bytes
from vstore.objects.tree import Tree, TreeEntry
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

__all__ = ["AttachmentCheck"]

_is_digest: Final = re.compile(rb"[0-9a-f]{64}").fullmatch


class AttachmentCheck:
    """Compares each tree of attachments with the one before; equal parts cost nothing.

    Args:
        objects: Where trees are.
        found: Takes the findings.
    """

    def __init__(self, objects: ObjectCheck, found: FindingCollector) -> None:
        self._objects = objects
        self._found = found

    def step(self, step: Step, outstanding: ObjectId | None) -> None:
        """Check the tree of a generation that changes it.

        Args:
            step: The generation.
            outstanding: The request whose attachments may grow, or None.
        """
        old = None if step.parent is None else step.parent.attachments
        new = step.generation.attachments
        if new is None:
            self._replaced(step, step.oid, "/attachments")
            return
        own = None if outstanding is None else outstanding.removeprefix("b3:").encode()
        for position, name, entry, before in self._changed(step, old, new, step.oid):
            pointer = f"/entries/{position}"
            if entry.kind != "tree" or _is_digest(name) is None:
                self._misplaced(step, new, pointer)
                continue
            if name != own:
                self._replaced(step, new, pointer)
            self._check_request(step, None if before is None else before.object, entry.object, new)

    def _check_request(
        self, step: Step, old: ObjectId | None, new: ObjectId, referrer: ObjectId
    ) -> None:
        for position, name, entry, before in self._changed(step, old, new, referrer):
            pointer = f"/entries/{position}"
            if entry.kind != "tree" or _is_digest(name) is None:
                self._misplaced(step, new, pointer)
                continue
            self._check_names(
                step, None if before is None else before.object, entry.object, new, name
            )

    def _check_names(
        self,
        step: Step,
        old: ObjectId | None,
        new: ObjectId,
        referrer: ObjectId,
        digest: bytes,
    ) -> None:
        for position, name, entry, before in self._changed(step, old, new, referrer):
            pointer = f"/entries/{position}"
            if (
                entry.kind != "file"
                or entry.executable
                or entry.object != f"b3:{digest.decode()}"
                or not _is_name(name)
            ):
                self._misplaced(step, new, pointer)
            elif before is not None:
                self._replaced(step, new, pointer)

    def _changed(
        self, step: Step, old: ObjectId | None, new: ObjectId, referrer: ObjectId
    ) -> list[tuple[int, bytes, TreeEntry, TreeEntry | None]]:
        """Entries that are new or differ, with what stood there before; losses are reported."""
        tree = self._objects.lookup(new, Tree, referrer)
        if tree is None:
            return []  # reported by who checks trees
        before = self._entries(old, referrer)
        found = []
        for position, entry in enumerate(tree.entries):
            name = text_to_bytes(entry.name)
            earlier = before.pop(name, None)
            if earlier != entry:
                found.append((position, name, entry, earlier))
        if before:
            self._replaced(step, new, "/entries")
        if not tree.entries:
            self._misplaced(step, new, "/entries")
        return found

    def _entries(self, oid: ObjectId | None, referrer: ObjectId) -> dict[bytes, TreeEntry]:
        tree = None if oid is None else self._objects.lookup(oid, Tree, referrer)
        return {} if tree is None else {text_to_bytes(one.name): one for one in tree.entries}

    def _misplaced(self, step: Step, oid: ObjectId, pointer: str) -> None:
        self._add(step, "VS-HND-012", "has something at a path of no attachment", oid, pointer)

    def _replaced(self, step: Step, oid: ObjectId, pointer: str) -> None:
        what = "changes attachments that are not the outstanding test's, or takes some away"
        self._add(step, "VS-HND-013", what, oid, pointer)

    def _add(self, step: Step, code: str, what: str, oid: ObjectId, pointer: str) -> None:
        self._found.add(
            code,
            f"{step.name} {what}",
            object=oid,
            pointer=pointer,
            affects=(step.name,),
        )


def _is_name(name: bytes) -> bool:
    try:
        check_attachment_name(name.decode())
    except (UnicodeDecodeError, InvalidError):
        return False
    return True
