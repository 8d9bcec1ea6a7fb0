"""Names with a path behind them: ``HEAD:report.txt``, ``app:src/db.py``, as in git."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vstore.errors import InvalidError, NotFoundError, UnsupportedError
from vstore.objects.canonical import decode_document
from vstore.objects.ids import PREFIX, ObjectId
from vstore.objects.text import text_to_bytes
from vstore.objects.tree import Tree, TreeEntry

if TYPE_CHECKING:
    from vstore.objects.document import Document
    from vstore.package.reader import PackageReader

__all__ = ["Named", "document_of", "find", "tree_of"]

#: No document that people look at is larger; larger objects are blobs or stay unread.
_MOST = 16 * 1024 * 1024


@dataclass(frozen=True)
class Named:
    """An object that a name stands for.

    Args:
        oid: Its id.
        entry: Its entry in a tree, where a path led to it.
    """

    oid: ObjectId
    entry: TreeEntry | None = None


def find(reader: PackageReader, name: str) -> Named:
    """The object that a name stands for: an id, ``HEAD~2``, ``E000012``, ``app``, ``app:PATH``.

    Raises:
        NotFoundError, InvalidError: There is none, or several.
    """
    prefix = PREFIX if name.startswith(PREFIX) else ""
    base, colon, path = name[len(prefix) :].partition(":")
    if colon and base in ("brief", "working_brief"):
        return Named(_brief(reader, path))
    oid = reader.resolve(prefix + base)
    if not colon:
        return Named(oid)
    root = tree_of(reader, oid)
    found = Named(root)
    parts = [part for part in os.fsencode(path).split(b"/") if part]
    for at, part in enumerate(parts):
        tree = reader.pinned().objects.document(found.oid, Tree)
        entry = next((one for one in tree.entries if text_to_bytes(one.name) == part), None)
        if entry is None or (at < len(parts) - 1 and entry.kind != "tree"):
            raise NotFoundError("no such path in this tree", kind="unknown_path", path=path)
        found = Named(entry.object, entry)
    return found


def _brief(reader: PackageReader, hypothesis: str) -> ObjectId:
    """The current brief of a hypothesis."""
    from vstore.investigation.documents import WorkingBriefs

    oid = reader.pinned().artifact("working_brief")
    briefs = [] if oid is None else reader.pinned().objects.document(oid, WorkingBriefs).briefs
    for one in briefs:
        if one.hypothesis_id == hypothesis:
            return one.brief
    raise NotFoundError(
        "no brief of this hypothesis",
        kind="unknown_brief",
        hint="vstore show working_brief shows all of them" if briefs else "no step made one yet",
    )


def tree_of(reader: PackageReader, oid: ObjectId) -> ObjectId:
    """The tree that an object is or names: a generation's raw input, a source's root.

    Raises:
        InvalidError: It has none.
    """
    from vstore.package.documents import Generation, SnapshotDescriptor

    document = document_of(reader, oid)
    if isinstance(document, Tree):
        return oid
    if isinstance(document, Generation):
        return document.inputs
    if isinstance(document, SnapshotDescriptor) and document.kind == "source":
        return document.content
    raise InvalidError(
        f"{oid} is no tree",
        kind="not_a_tree",
        hint="name a tree, a generation (its raw input), or a source",
    )


def document_of(reader: PackageReader, oid: ObjectId) -> Document | None:
    """The document that an object is, or None for a blob.

    Raises:
        NotFoundError, IntegrityError: It is absent or damaged.
    """
    _know_documents()
    if reader.pinned().objects.size(oid) > _MOST:
        return None
    try:
        return decode_document(reader.pinned().objects.get(oid))
    except (InvalidError, UnsupportedError):
        return None


def _know_documents() -> None:
    """Import the modules that define document types, so that readers know them."""
    import vstore.budget.documents
    import vstore.evidence.documents
    import vstore.investigation.documents
    import vstore.package.documents
    import vstore.tools.database_content
    import vstore.tools.reply
    import vstore.tools.request  # noqa: F401
