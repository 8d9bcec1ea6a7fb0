"""Files beside the package's own that its raw input has too: nothing is wrong with them."""

from __future__ import annotations

import os
from typing import Final

from blake3 import blake3

from vstore.errors import StorageError, VStoreError
from vstore.objects.ids import ObjectId
from vstore.objects.layout import CACHE, FORMAT_FILE, LOCKS, LOG, REFS, TMP
from vstore.objects.text import text_to_bytes
from vstore.objects.tree import Tree, TreeEntry
from vstore.verify.objects import ObjectTable
from vstore.verify.source import PackageFile, PackageSource

__all__ = ["TakenIn"]

#: Names at the top that are the package's own, whatever the raw input has there.
_OWN: Final = frozenset(
    name.partition("/")[0] for name in (FORMAT_FILE, REFS, LOG, TMP, CACHE, LOCKS)
)
_CHUNK: Final = 1 << 20
#: Bytes that are compared at the most; a file beyond is taken for an unknown one.
MAX_COMPARED: Final = 4 << 30


class TakenIn:
    """Says which files of a folder the raw input has, at the same path with the same bytes.

    Args:
        source: The package.
        table: Its objects.
        root: The raw input's tree, None where nobody knows it.
    """

    def __init__(self, source: PackageSource, table: ObjectTable, root: ObjectId | None) -> None:
        self._source = source
        self._table = table
        self._root = None if source.bundle else root
        self._trees: dict[ObjectId, dict[bytes, TreeEntry]] = {}
        self._left = MAX_COMPARED

    def __call__(self, one: PackageFile) -> bool:
        """Whether the raw input has this file, or a folder of this path."""
        if self._root is None or one.path.partition("/")[0] in _OWN:
            return False
        try:
            entry = self._entry(self._root, os.fsencode(one.path).split(b"/"))
        except VStoreError:
            return False  # a tree that can't be read has a finding of its own
        if entry is None:
            return False
        if one.kind == "folder":
            return entry.kind == "tree"
        return entry.kind == "file" and entry.size == one.size and self._same(one, entry.object)

    def _entry(self, root: ObjectId, path: list[bytes]) -> TreeEntry | None:
        entry: TreeEntry | None = None
        for name in path:
            if entry is not None:
                if entry.kind != "tree":
                    return None
                root = entry.object
            entry = self._entries(root).get(name)
            if entry is None:
                return None
        return entry

    def _entries(self, oid: ObjectId) -> dict[bytes, TreeEntry]:
        found = self._trees.get(oid)
        if found is None:
            tree = self._table.document(oid, Tree)
            found = self._trees[oid] = {text_to_bytes(one.name): one for one in tree.entries}
        return found

    def _same(self, one: PackageFile, oid: ObjectId) -> bool:
        digest, left = blake3(), one.size
        self._left -= one.size
        if self._left < 0:
            return False
        try:
            with self._source.open(one.path) as stream:
                while left >= 0 and (chunk := stream.read(_CHUNK)):
                    digest.update(chunk)
                    left -= len(chunk)
        except (StorageError, OSError):
            return False
        return digest.digest() == oid.to_bytes()
