"""Bundles as another program would make them: by the standard library's ``zipfile``.

An independent writer of the one form that a bundle may have, and so a means to change one
thing of a bundle and leave every other byte in order.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from vstore.controller.bundles import create_bundle
from vstore.testing.investigation import small_investigation

__all__ = ["archive_info", "edit_archive", "make_bundle", "members_of", "write_archive"]


def make_bundle(folder: Path) -> Path:
    """The package of a small investigation in ``package``, and its bundle beside it."""
    one = small_investigation(folder / "package", folder)
    one.close()
    create_bundle(folder / "package", folder / "bundle.zip")
    return folder / "bundle.zip"


def archive_info(name: str) -> zipfile.ZipInfo:
    """The headers of a member as bundles have them."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_STORED
    info.create_system, info.create_version, info.extract_version = 3, 45, 10
    info.external_attr = 0o100644 << 16
    return info


def write_archive(path: Path, members: Iterable[tuple[str, bytes]]) -> Path:
    """Write an archive with these members in this order, in the form that bundles have."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(archive_info(name), content)
    return path


def members_of(path: Path) -> list[tuple[str, bytes]]:
    """Names and contents of an archive, in its order."""
    with zipfile.ZipFile(path) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def edit_archive(
    source: Path, target: Path, change: Callable[[list[tuple[str, bytes]]], None]
) -> Path:
    """A copy of a bundle with other members; checksums and lengths are right again."""
    members = members_of(source)
    change(members)
    return write_archive(target, members)
