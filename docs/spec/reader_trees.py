"""Trees of files for the independent reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reader_documents import Unreadable, text_bytes

Document = dict[str, Any]
Report = Callable[[str, str, str], None]


class Trees:
    """Checks trees of files.

    Args:
        tree: Gives the tree with an object id, None where it can't be had.
        size: Gives the size of a sound object, None where there is none.
        report: Takes findings.
    """

    def __init__(
        self,
        tree: Callable[[str], Document | None],
        size: Callable[[str], int | None],
        report: Report,
    ) -> None:
        self._tree = tree
        self._size = size
        self._report = report
        #: Size and depth of each tree that was checked.
        self._known: dict[str, tuple[int | None, int]] = {}

    def check(self, root: str) -> None:
        """Check a root and everything below."""
        if self._check(root, 64)[1] > 64:
            self._report("inputs", "error", f"{root}: a tree nested deeper than 64")

    def _check(self, oid: str, left: int) -> tuple[int | None, int]:
        if oid in self._known:
            return self._known[oid]
        if left == 0:
            return None, 65
        tree = self._tree(oid)
        if tree is None:
            return None, 1
        try:
            check_entries(tree["entries"])
        except Unreadable as error:
            self._report("inputs", "error", f"{oid}: {error}")
        total, depth = 0, 0
        for entry in tree["entries"]:
            if entry["kind"] == "tree":
                size, below = self._check(entry["object"], left - 1)
                depth = max(depth, below)
            else:
                size = self._size(entry["object"])
            if size is not None and size != entry["size"]:
                self._report("inputs", "error", f"{oid}: an entry has a wrong size")
            total += entry["size"] if size is None else size
        self._known[oid] = total, depth + 1
        return self._known[oid]


def check_entries(entries: Iterable[Document]) -> None:
    """Check the names of a tree.

    Raises:
        Unreadable: They are not as they must be.
    """
    last, names = b"", set()
    for entry in entries:
        name = text_bytes(entry["name"])
        key = name + b"/" if entry["kind"] == "tree" else name
        if name in (b"", b".", b"..") or b"/" in name or b"\0" in name or len(name) > 255:
            raise Unreadable("a name that is no file name")
        if key <= last or name in names:
            raise Unreadable("names out of order")
        if entry["executable"] and entry["kind"] != "file":
            raise Unreadable("an executable that is no file")
        last = key
        names.add(name)
