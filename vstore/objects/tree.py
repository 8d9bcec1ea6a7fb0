"""Trees: one document per folder, as in git (spec: storage, "Objects").

Entries are sorted by the bytes of their names, a folder's name counting as if it ended
in ``/``: then a walk in entry order visits files in byte order of their whole paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

from vstore.errors import InvalidError
from vstore.objects.document import Count, Document, Part, Pinned, document
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.text import Text, text_to_bytes

__all__ = [
    "MAX_NAME_BYTES",
    "MAX_TREE_DEPTH",
    "PathEntry",
    "Tree",
    "TreeEntry",
    "check_name",
    "check_tree",
    "sort_key",
    "walk",
]

MAX_NAME_BYTES = 255
MAX_TREE_DEPTH = 64


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


def check_tree(tree: Tree) -> None:
    """Check what the schema of a tree can't say.

    Raises:
        InvalidError: Bad names, names out of order or twice, an executable that is no file.
    """
    previous = b""
    names: set[bytes] = set()
    for entry in tree.entries:
        name = text_to_bytes(entry.name)
        check_name(name)
        key = sort_key(entry)
        if key <= previous or name in names:
            raise InvalidError("tree entries are out of order", kind="invalid_tree")
        if entry.executable and entry.kind != "file":
            raise InvalidError("only a file is executable", kind="invalid_tree")
        previous = key
        names.add(name)


def walk(
    objects: ObjectSource, root: ObjectId, *, under: bytes = b"", max_depth: int = MAX_TREE_DEPTH
) -> Iterator[PathEntry]:
    """Every file and link below a tree, in byte order of their paths.

    Args:
        objects: Where the trees are.
        root: The id of the tree to walk.
        under: A path prefix put before every path, without a slash at its end.
        max_depth: Refuse deeper trees, 1 or more.

    Raises:
        InvalidError: A tree that is malformed or too deep.
        NotFoundError, IntegrityError: A tree is absent or damaged.
    """
    if max_depth == 0:
        raise InvalidError("a tree is nested too deep", kind="invalid_tree")
    tree = objects.document(root, Tree)
    check_tree(tree)
    for entry in tree.entries:
        name = text_to_bytes(entry.name)
        path = under + b"/" + name if under else name
        if entry.kind == "tree":
            yield from walk(objects, entry.object, under=path, max_depth=max_depth - 1)
        else:
            yield PathEntry(path, entry)
