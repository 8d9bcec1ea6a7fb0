"""Making a package out of a bundle: the checked members, written to a new folder."""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

from vstore.errors import ConflictError, IntegrityError, UnsupportedError
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.layout import FORMAT_FILE
from vstore.package.bundle_file import BundleFile
from vstore.package.bundle_names import NEEDS_FILE, is_known

__all__ = ["check_free", "unpack_bundle"]


def check_free(target: Path) -> None:
    """Refuse a place where something is already; an empty folder is nothing.

    Raises:
        ConflictError: Something is there (``exists``).
    """
    if target.is_symlink() or (
        target.exists() and not (target.is_dir() and not any(target.iterdir()))
    ):
        raise ConflictError(
            "there is something at this place already",
            kind="exists",
            hint="name a folder that doesn't exist yet",
            path=str(target),
        )


def unpack_bundle(bundle: BundleFile, target: Path, *, io: DurableIO = REAL) -> None:
    """Make the package that a full bundle holds.

    Nothing of the package is judged here: verify it first. All is written under another name
    beside the target and renamed at the end.

    Args:
        bundle: The open bundle.
        target: The folder to make: absent, or empty; its parent must exist.
        io: Durable I/O.

    Raises:
        ConflictError: Something is there already.
        IntegrityError, NotFoundError: The file is no sound bundle.
        UnsupportedError: It is incremental, or can't be read by this version.
        StorageError: Something can't be read or written; nothing is left behind.
    """
    bundle.check()
    if bundle.window(NEEDS_FILE) is not None:
        raise UnsupportedError(
            "an incremental bundle is no package of its own",
            kind="incremental_bundle",
            hint="unpack the bundle that it continues",
        )
    check_free(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        io.mkdir(temporary)
        folders: set[Path] = set()
        # The format file comes last: without one the folder is no package.
        for name in sorted(bundle.names, key=lambda one: one == FORMAT_FILE):
            _write_member(bundle, name, temporary, folders, io)
        for folder in sorted(folders, reverse=True):
            io.sync_folder(folder)
        io.sync_folder(temporary)
        io.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    io.sync_folder(target.parent)


def _write_member(
    bundle: BundleFile, name: str, root: Path, folders: set[Path], io: DurableIO
) -> None:
    if not is_known(name):  # pragma: no cover - the bundle was checked
        raise IntegrityError("no bundle has a member of this name", kind="bad_bundle")
    path = root / name
    for folder in reversed(path.relative_to(root).parents[:-1]):
        if root / folder not in folders:
            io.mkdir(root / folder)
            folders.add(root / folder)
    fd = io.create(path)
    try:
        crc = size = 0
        for piece in bundle.pieces(name):
            crc = zlib.crc32(piece, crc)
            size += len(piece)
            io.write(fd, piece)
        bundle.check_content(name, size, crc)
        io.sync(fd)
    finally:
        io.close(fd)
