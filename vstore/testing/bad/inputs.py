"""VS-INP: trees, raw input, snapshots."""

from __future__ import annotations

from typing import Any, Final

from vstore.testing.bad.change import BadPackage, edited, forged, put, remove
from vstore.testing.editor import PackageEditor, StoredObject

__all__ = ["PACKAGES"]

_GENERATION: Final = "package-generation-v1"


def _other_inputs(editor: PackageEditor) -> None:
    tree = str(editor.find("tree-v1", 1).oid)

    def change(document: Any) -> None:
        document["inputs"] = tree
        document["declared"]["inputs"] = [tree]

    editor.edit(editor.find(_GENERATION, -1), change)


def _spare(editor: PackageEditor) -> StoredObject:
    """The folder of a source snapshot that nobody asked anything."""
    (found,) = [one for one in editor.objects("tree-v1") if b"second.txt" in one.content]
    return found


def _archive(editor: PackageEditor) -> StoredObject:
    """The content of a database snapshot that nobody asked anything."""
    return editor.find("database-content-v1", 1)


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-INP-001",
        change="the entries of a folder stand in reverse order",
        make=forged(
            lambda editor: editor.edit(_spare(editor), lambda tree: tree["entries"].reverse())
        ),
    ),
    BadPackage(
        code="VS-INP-002",
        change="a folder says that its first file has 5 bytes",
        make=forged(lambda editor: editor.edit(_spare(editor), put("/entries/0/size", 5))),
    ),
    BadPackage(
        code="VS-INP-003",
        change="the descriptor of a snapshot bears another name",
        make=edited("snapshot-descriptor-v1", 2, put("/name", "other")),
    ),
    BadPackage(
        code="VS-INP-004",
        change="a database snapshot counts rows that it doesn't have",
        make=forged(lambda editor: editor.edit(_archive(editor), put("/tables/0/rows", 9))),
    ),
    BadPackage(
        code="VS-INP-005",
        change="the raw input is another folder in the last generation",
        make=forged(_other_inputs),
    ),
    BadPackage(
        code="VS-INP-006",
        change="a snapshot is gone in the last generation",
        make=edited(_GENERATION, -1, remove("/snapshots/spare")),
    ),
)
