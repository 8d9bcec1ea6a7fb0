"""Building nested trees from paths that come in any order.

A folder on disk, the members of an archive and the additions to a raw input all end here,
so this is where paths that can't stand together in one tree are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from vstore.errors import InvalidError
from vstore.objects.display import visible_bytes
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSink, ObjectSource
from vstore.objects.text import text_from_bytes, text_to_bytes
from vstore.objects.tree import (
    MAX_NAME_BYTES,
    MAX_TREE_DEPTH,
    Tree,
    TreeEntry,
    check_name,
    check_tree,
    sort_key,
)

__all__ = ["BuiltTree", "TreeBuilder", "path_text"]

_MAX_MESSAGE_PATH = 500


def path_text(path: bytes) -> str:
    """A path for a message: what isn't plain text as visible escapes, cut when very long."""
    text = visible_bytes(path)
    return text if len(text) <= _MAX_MESSAGE_PATH else text[:_MAX_MESSAGE_PATH] + "..."


class BuiltTree(msgspec.Struct, frozen=True):
    """What was built.

    Attributes:
        root: The id of the root tree.
        size: Bytes of all files and link targets.
        files: Files.
        links: Symbolic links.
        folders: Folders, without the root.
    """

    root: ObjectId
    size: int
    files: int
    links: int
    folders: int


class _Leaf(msgspec.Struct):
    kind: Literal["file", "link"]
    oid: ObjectId
    size: int
    executable: bool = False


class _Folder(msgspec.Struct):
    children: dict[bytes, _Leaf | _Folder] = msgspec.field(default_factory=dict)


class TreeBuilder:
    """Collects files, links and folders by path; :meth:`build` writes the trees.

    Paths are bytes, relative, with ``/`` between components. Folders on the way come into
    being by themselves; an empty one is added with :meth:`add_folder`.
    """

    def __init__(self) -> None:
        self._root = _Folder()

    @classmethod
    def from_tree(cls, objects: ObjectSource, root: ObjectId) -> TreeBuilder:
        """A builder that holds what a stored tree holds.

        Raises:
            InvalidError: A tree that is malformed or nested too deep.
            NotFoundError, IntegrityError: A tree is absent or damaged.
        """
        builder = cls()
        _load(objects, root, builder._root, MAX_TREE_DEPTH)
        return builder

    def add_file(self, path: bytes, oid: ObjectId, size: int, *, executable: bool = False) -> None:
        """Add a file.

        Args:
            path: Where, relative to the root.
            oid: The object with its bytes.
            size: Its bytes, 0 or more.
            executable: Whether it may be run.

        Raises:
            InvalidError: No path of a tree (``invalid_path``), or taken (``path_taken``).
        """
        self._add(path, _Leaf("file", oid, size, executable))

    def add_link(self, path: bytes, oid: ObjectId, size: int) -> None:
        """Add a symbolic link whose target's bytes are the object ``oid``.

        Raises:
            InvalidError: No path of a tree (``invalid_path``), or taken (``path_taken``).
        """
        self._add(path, _Leaf("link", oid, size))

    def add_folder(self, path: bytes) -> None:
        """Add a folder, which may exist already.

        Raises:
            InvalidError: No path of a tree (``invalid_path``), or a file's (``path_taken``).
        """
        self._descend(path, _components(path))

    def find(self, path: bytes) -> TreeEntry | None:
        """The file or link at a path, as an entry; None for a folder or nothing."""
        node: _Leaf | _Folder | None = self._root
        for name in path.split(b"/"):
            if not isinstance(node, _Folder):
                return None
            node = node.children.get(name)
        return _entry(path.rpartition(b"/")[2], node) if isinstance(node, _Leaf) else None

    def is_folder(self, path: bytes) -> bool:
        """Whether a folder stands at this path."""
        node: _Leaf | _Folder | None = self._root
        for name in path.split(b"/"):
            if not isinstance(node, _Folder):
                return False
            node = node.children.get(name)
        return isinstance(node, _Folder)

    def remove(self, path: bytes) -> None:
        """Take a file or link out again; folders stay, and what isn't there stays away."""
        names = path.split(b"/")
        node: _Leaf | _Folder | None = self._root
        for name in names[:-1]:
            if not isinstance(node, _Folder):
                return
            node = node.children.get(name)
        if isinstance(node, _Folder) and isinstance(node.children.get(names[-1]), _Leaf):
            del node.children[names[-1]]

    def walk(self) -> Iterator[tuple[bytes, TreeEntry | None]]:
        """Every path in byte order: files and links with an entry, folders with None."""
        yield from _walk(self._root, b"")

    def build(self, sink: ObjectSink) -> BuiltTree:
        """Write every tree, children first.

        Args:
            sink: Takes the tree documents; files and link targets are there already.
        """
        root, size, files, links, folders = _write(sink, self._root)
        return BuiltTree(root, size, files, links, folders)

    def _add(self, path: bytes, leaf: _Leaf) -> None:
        names = _components(path)
        folder = self._descend(path, names[:-1])
        if names[-1] in folder.children:
            raise _taken(path, folder.children[names[-1]])
        folder.children[names[-1]] = leaf

    def _descend(self, path: bytes, names: list[bytes]) -> _Folder:
        folder = self._root
        for name in names:
            child = folder.children.get(name)
            if child is None:
                child = folder.children[name] = _Folder()
            elif isinstance(child, _Leaf):
                raise _taken(path, child)
            folder = child
        return folder


def _components(path: bytes) -> list[bytes]:
    names = path.split(b"/")
    try:
        for name in names:
            check_name(name)
    except InvalidError as error:
        raise InvalidError(
            f"not a path of a tree: {path_text(path)}",
            kind="invalid_path",
            hint=f"a path is relative, without . and .., in names of up to {MAX_NAME_BYTES} bytes",
            path=path_text(path),
        ) from error
    # The root is a tree too.
    if len(names) > MAX_TREE_DEPTH - 1:
        raise InvalidError(
            f"nested deeper than {MAX_TREE_DEPTH - 1} folders: {path_text(path)}",
            kind="invalid_path",
            path=path_text(path),
        )
    return names


def _taken(path: bytes, by: _Leaf | _Folder) -> InvalidError:
    # Whether it is a file or a link isn't known yet where an archive is only looked through.
    what = "a folder" if isinstance(by, _Folder) else "a file or a link"
    return InvalidError(
        f"two things want to be at one path, where {what} is already: {path_text(path)}",
        kind="path_taken",
        path=path_text(path),
    )


def _entry(name: bytes, leaf: _Leaf) -> TreeEntry:
    return TreeEntry(
        name=text_from_bytes(name),
        kind=leaf.kind,
        object=leaf.oid,
        size=leaf.size,
        executable=leaf.executable,
    )


def _walk(folder: _Folder, under: bytes) -> Iterator[tuple[bytes, TreeEntry | None]]:
    def key(name: bytes) -> bytes:
        return name + b"/" if isinstance(folder.children[name], _Folder) else name

    for name in sorted(folder.children, key=key):
        child = folder.children[name]
        path = under + b"/" + name if under else name
        if isinstance(child, _Folder):
            yield path, None
            yield from _walk(child, path)
        else:
            yield path, _entry(name, child)


def _write(sink: ObjectSink, folder: _Folder) -> tuple[ObjectId, int, int, int, int]:
    entries = []
    size = files = links = folders = 0
    for name, child in folder.children.items():
        if isinstance(child, _Leaf):
            entries.append(_entry(name, child))
            size += child.size
            files += child.kind == "file"
            links += child.kind == "link"
            continue
        below = _write(sink, child)
        entries.append(
            TreeEntry(
                name=text_from_bytes(name),
                kind="tree",
                object=below[0],
                size=below[1],
                executable=False,
            )
        )
        size += below[1]
        files += below[2]
        links += below[3]
        folders += below[4] + 1
    entries.sort(key=sort_key)
    return sink.put_document(Tree(entries=entries)), size, files, links, folders


def _load(objects: ObjectSource, oid: ObjectId, into: _Folder, depth: int) -> None:
    if depth == 0:
        raise InvalidError("a tree is nested too deep", kind="invalid_tree")
    tree = objects.document(oid, Tree)
    check_tree(tree)
    for entry in tree.entries:
        name = text_to_bytes(entry.name)
        if entry.kind == "tree":
            child = into.children[name] = _Folder()
            _load(objects, entry.object, child, depth - 1)
        else:
            into.children[name] = _Leaf(entry.kind, entry.object, entry.size, entry.executable)
