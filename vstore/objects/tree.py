"""Trees: one document per folder, as in git (spec: storage, "Objects").

Entries are sorted by the bytes of their names, a folder's name counting as if it ended
in ``/``: then a walk in entry order visits files in byte order of their whole paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal, NamedTuple

from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.document import Count, Document, Part, Pinned, document
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.text import Text, text_to_bytes

__all__ = [
    "MAX_NAME_BYTES",
    "MAX_TREE_DEPTH",
    "MAX_TREE_ENTRIES",
    "PathEntry",
    "Tree",
    "TreeEntry",
    "check_name",
    "check_tree",
    "sort_key",
    "walk",
]

MAX_NAME_BYTES: Final = 255
MAX_TREE_DEPTH: Final = 64
MAX_TREE_ENTRIES: Final = 10_000_000


class TreeEntry(Part, frozen=True, kw_only=True):
    """One name in a folder."""

    name: Annotated[Text, Pinned]
    kind: Annotated[Literal["file", "tree", "link"], Pinned]
    #: A file's bytes, a folder's tree, or the bytes of a link's target.
    object: Annotated[ObjectId, Pinned]
    #: Bytes of the file or of the link's target; of all files below for a folder.
    size: Annotated[Count, Pinned]
    executable: Annotated[bool, Pinned]


@document
class Tree(Document, tag="tree-v1", frozen=True, kw_only=True):
    """A folder."""

    entries: list[TreeEntry]


class PathEntry(NamedTuple):
    """A file or link of a tree, with its whole path."""

    path: bytes
    entry: TreeEntry


def sort_key(entry: TreeEntry) -> bytes:
    """What entries are sorted by."""
    name = text_to_bytes(entry.name)
    return name + b"/" if entry.kind == "tree" else name


def check_name(name: bytes) -> None:
    """Refuse a name that is no single path component.

    Raises:
        InvalidError: Empty, ``.``, ``..``, with ``/`` or NUL, or over 255 bytes.
    """
    if name in (b"", b".", b"..") or b"/" in name or b"\0" in name:
        raise InvalidError("a tree has a name that is no file name", kind="invalid_tree_name")
    if len(name) > MAX_NAME_BYTES:
        raise InvalidError(
            f"a tree has a name over {MAX_NAME_BYTES} bytes", kind="invalid_tree_name"
        )


def check_tree(tree: Tree) -> list[bytes]:
    """Check what the schema of a tree can't say.

    Returns:
        The names of its entries as bytes, in their order.

    Raises:
        InvalidError: Bad names, names out of order or twice, an executable that is no file.
    """
    previous = b""
    names: dict[bytes, None] = {}
    for entry in tree.entries:
        name = text_to_bytes(entry.name)
        check_name(name)
        key = name + b"/" if entry.kind == "tree" else name
        if key <= previous or name in names:
            raise InvalidError("tree entries are out of order", kind="invalid_tree")
        if entry.executable and entry.kind != "file":
            raise InvalidError("only a file is executable", kind="invalid_tree")
        previous = key
        names[name] = None
    return list(names)


def walk(
    objects: ObjectSource,
    root: ObjectId,
    *,
    under: bytes = b"",
    max_depth: int = MAX_TREE_DEPTH,
    max_entries: int = MAX_TREE_ENTRIES,
) -> Iterator[PathEntry]:
    """Every file and link below a tree, in byte order of their paths.

    Args:
        objects: Where the trees are.
        root: The id of the tree to walk.
        under: A path prefix put before every path, without a slash at its end.
        max_depth: Refuse deeper trees, 1 or more.
        max_entries: Stop after this many files, links and folders, 1 or more. A few trees
            that name each other twice can describe more entries than anybody can visit.

    Raises:
        InvalidError: A tree that is malformed or too deep.
        LimitExceeded: More than ``max_entries``.
        NotFoundError, IntegrityError: A tree is absent or damaged.
    """
    left = max_entries
    # Paths of the folders being walked and their entries still to visit, root first.
    stack = [(under + b"/" if under else b"", iter(_checked_entries(objects, root)))]
    while stack:
        prefix, entries = stack[-1]
        for name, entry in entries:
            left -= 1
            if left < 0:
                raise LimitExceeded(
                    f"a tree has more than {max_entries} entries",
                    limit="max_entries",
                    value=max_entries,
                    asked=max_entries + 1,
                )
            if entry.kind != "tree":
                yield PathEntry(prefix + name, entry)
                continue
            if len(stack) >= max_depth:
                raise InvalidError(f"a tree is nested deeper than {max_depth}", kind="invalid_tree")
            below = iter(_checked_entries(objects, entry.object))
            stack.append((prefix + name + b"/", below))
            break
        else:
            stack.pop()


def _checked_entries(objects: ObjectSource, oid: ObjectId) -> list[tuple[bytes, TreeEntry]]:
    tree = objects.document(oid, Tree)
    return list(zip(check_tree(tree), tree.entries, strict=True))
