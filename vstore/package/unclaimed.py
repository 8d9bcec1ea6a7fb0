"""Files in a package's folder that are no part of the package.

They may be raw input that nobody has taken in yet: they are shown and never touched.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from vstore.errors import InvalidError, StorageError, VStoreError
from vstore.objects import layout
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.tree import TreeEntry
from vstore.package.tree_builder import TreeBuilder, path_text

if TYPE_CHECKING:
    from pathlib import Path

    from vstore.package.reader import PackageReader

__all__ = ["find", "refuse_own"]

#: The names at the top of a package's folder that are its own.
_OWN: Final = frozenset(
    os.fsencode(name.partition("/")[0])
    for name in (
        layout.FORMAT_FILE,
        layout.REFS,
        layout.LOG,
        layout.TMP,
        layout.CACHE,
        layout.LOCKS,
    )
)
_COMPARE_CHUNK: Final = 1024 * 1024


def find(reader: PackageReader, *, taken_in: bool = True) -> list[str]:
    """See :meth:`vstore.package.reader.PackageReader.unclaimed`."""
    root = os.fsencode(reader.root)
    known = TreeBuilder() if taken_in else _inputs(reader)
    found = [path for path in _files(root, b"") if not _is_claimed(root, path, known)]
    return [os.fsdecode(path) for path in sorted(found)]


def refuse_own(root: Path, path: Path) -> None:
    """Refuse what makes up a package: it would be raw input of itself.

    Args:
        root: The package's folder.
        path: What shall be taken in.

    Raises:
        InvalidError: It is one of the package's own files and folders (``inside_itself``).
    """
    where = os.fsencode(path)
    # A link counts where it stands: it is taken in as a link.
    real = os.path.join(os.path.realpath(os.path.dirname(where)), os.path.basename(where))  # noqa: PTH118, PTH119, PTH120  names stay bytes
    own = os.fsencode(os.path.realpath(root))
    if any(real == one or real.startswith(one + b"/") for one in (own + b"/" + n for n in _OWN)):
        raise InvalidError(
            f"this is a part of the package itself: {path_text(where)}",
            kind="inside_itself",
            hint="take in files that aren't the package's own",
            path=path_text(where),
        )


def _files(root: bytes, under: bytes) -> list[bytes]:
    where = root + b"/" + under if under else root
    found: list[bytes] = []
    try:
        with os.scandir(where) as entries:
            for entry in entries:
                if not under and entry.name in _OWN:
                    continue
                path = under + b"/" + entry.name if under else entry.name
                if entry.is_dir(follow_symlinks=False):
                    # An empty folder is listed as itself.
                    found += _files(root, path) or [path + b"/"]
                else:
                    found.append(path)
    except OSError as error:
        raise StorageError(
            f"can't list the folder {path_text(under) or 'of the package'}", kind="read_failed"
        ) from error
    return found


def _inputs(reader: PackageReader) -> TreeBuilder:
    try:
        pinned = reader.pinned()
        return TreeBuilder.from_tree(pinned.objects, pinned.raw_input)
    except VStoreError:
        # A damaged raw input claims nothing; verify says what is wrong with it.
        return TreeBuilder()


def _is_claimed(root: bytes, path: bytes, known: TreeBuilder) -> bool:
    if path.endswith(b"/"):
        return known.is_folder(path[:-1])
    entry = known.find(path)
    return entry is not None and _same(root, path, entry)


def _same(root: bytes, path: bytes, entry: TreeEntry) -> bool:
    where = root + b"/" + path
    try:
        if os.path.islink(where):  # noqa: PTH114  names stay bytes
            return (
                entry.kind == "link" and object_id(os.readlink(where)) == entry.object  # noqa: PTH115
            )
        descriptor = os.open(where, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())
            return (
                entry.kind == "file"
                and status.st_size == entry.size
                and bool(status.st_mode & 0o100) == entry.executable
                and _stream_id(stream) == entry.object
            )
    except OSError:
        return False


def _stream_id(stream: object) -> ObjectId:
    from blake3 import blake3

    hasher = blake3()
    while chunk := stream.read(_COMPARE_CHUNK):  # type: ignore[attr-defined]
        hasher.update(chunk)
    return ObjectId.from_bytes(hasher.digest())
