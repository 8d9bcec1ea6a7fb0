"""The files of a source snapshot: paths resolved, listed in byte order, read in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from vstore.errors import InvalidError
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.text import Text, text_to_bytes
from vstore.objects.tree import PathEntry, Tree, check_tree, walk
from vstore.tools.adapter import QueryRefused

__all__ = ["BLOCK_BYTES", "Selection", "blocks", "find_file", "select"]

#: Files up to this size are looked at whole; larger ones in blocks of whole lines.
BLOCK_BYTES: Final = 8 << 20


class Selection(NamedTuple):
    """What a question is about.

    Attributes:
        files: Files in byte order of their paths.
        links: Links among them, which are left out.
        size: Bytes of all files.
    """

    files: Sequence[PathEntry]
    links: int
    size: int


def path_bytes(path: Text) -> bytes:
    """The bytes of a path in a question.

    Raises:
        QueryRefused: A path tagged as not UTF-8 that is UTF-8.
    """
    try:
        return text_to_bytes(path)
    except (InvalidError, UnicodeEncodeError) as error:
        raise QueryRefused("bad_path", "the path isn't given in its one encoding") from error


def find_file(objects: ObjectSource, root: ObjectId, path: Text) -> PathEntry:
    """The file at a path.

    Raises:
        QueryRefused: Nothing there (``unknown_path``); a folder or a link (``not_a_file``).
    """
    found = _resolve(objects, root, path_bytes(path))
    if found.entry.kind != "file":
        what = "a link, and links are not followed" if found.entry.kind == "link" else "a folder"
        raise QueryRefused("not_a_file", f"the path is {what}")
    return found


def select(objects: ObjectSource, root: ObjectId, under: Text | None) -> Selection:
    """All files at and below a path; everything where it is None.

    Raises:
        QueryRefused: Nothing at the path (``unknown_path``), or a link (``not_a_file``).
    """
    if under is None:
        return _all_below(objects, root, b"")
    found = _resolve(objects, root, path_bytes(under))
    if found.entry.kind == "tree":
        return _all_below(objects, found.entry.object, found.path)
    if found.entry.kind == "link":
        raise QueryRefused("not_a_file", "the path is a link, and links are not followed")
    return Selection([found], 0, found.entry.size)


def _all_below(objects: ObjectSource, tree: ObjectId, under: bytes) -> Selection:
    entries = list(walk(objects, tree, under=under))
    files = [entry for entry in entries if entry.entry.kind == "file"]
    size = sum(file.entry.size for file in files)
    return Selection(files, len(entries) - len(files), size)


def _resolve(objects: ObjectSource, root: ObjectId, path: bytes) -> PathEntry:
    tree = root
    names = path.split(b"/")
    for depth, name in enumerate(names):
        folder = objects.document(tree, Tree)
        check_tree(folder)
        for entry in folder.entries:
            if text_to_bytes(entry.name) == name:
                break
        else:
            break
        if depth == len(names) - 1:
            return PathEntry(path, entry)
        if entry.kind != "tree":
            break
        tree = entry.object
    raise QueryRefused(
        "unknown_path",
        "nothing at this path; paths are given as listed, without ./ before or / behind",
    )


def blocks(objects: ObjectSource, oid: ObjectId, size: int) -> Iterator[bytes]:
    """A file's bytes in order, cut behind LFs only.

    Small files come whole; of a large one as many whole lines as fit into
    :data:`BLOCK_BYTES`, or one line that is longer.
    """
    if size <= BLOCK_BYTES:
        yield objects.get(oid)
        return
    with objects.open(oid) as stream:
        pending: list[bytes] = []
        while chunk := stream.read(BLOCK_BYTES):
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield b"".join([*pending, chunk[:cut]])
                pending = [chunk[cut:]]
            else:
                pending.append(chunk)
        if rest := b"".join(pending):
            yield rest
