"""VS-CON of bundles: archives that no bundle is."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from vstore.controller.bundles import create_bundle
from vstore.package.reader import PackageReader
from vstore.testing.bad.change import BadPackage, Make
from vstore.testing.bundles import edit_archive, members_of
from vstore.testing.editor import PackageEditor

__all__ = ["PACKAGES"]

_LOG: Final = "objects/log/00000001.vlog"
_BASE: Final = "investigation"
Members = list[tuple[str, bytes]]


def _bundled(change: Callable[[Path, Path], None], *, since: str | None = None) -> Make:
    """A bundle of a good package, written as a second one with a change."""

    def make(good: Path, target: Path) -> None:
        whole = target.with_name(target.name + ".good")
        with PackageReader.open(good / _BASE) as reader:
            start = None if since is None else reader.resolve(since)
            create_bundle(reader, whole, since=start)
        try:
            change(whole, target)
        finally:
            whole.unlink()

    return make


def _append(whole: Path, target: Path) -> None:
    target.write_bytes(whole.read_bytes() + b"\0")


def _member(whole: Path, target: Path) -> None:
    edit_archive(whole, target, lambda members: members.insert(1, ("notes.txt", b"hello\n")))


def _compress(whole: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members_of(whole):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content,
                             zipfile.ZIP_DEFLATED)  # fmt: skip


def _claim(whole: Path, target: Path) -> None:
    def change(members: Members) -> None:
        at = [name for name, _ in members].index("BUNDLE")
        members[at] = ("BUNDLE", members[at][1].replace(b'"CASE-1"', b'"CASE-2"'))

    edit_archive(whole, target, change)


def _keep(whole: Path, target: Path) -> None:
    target.write_bytes(whole.read_bytes())


def _foreign_salt(good: Path, target: Path) -> None:
    def change(whole: Path, target: Path) -> None:
        other = target.with_name(target.name + ".other")
        log = (PackageEditor(good / _BASE).save(other) / _LOG).read_bytes()
        _remove(other)

        def replace(members: Members) -> None:
            at = [name for name, _ in members].index(_LOG)
            members[at] = (_LOG, log)

        edit_archive(whole, target, replace)

    _bundled(change)(good, target)


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder)


def _with_base(good: Path) -> dict[str, Any]:
    return {"base": good / _BASE}


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-CON-017",
        change="a byte more stands behind the end of a bundle",
        make=_bundled(_append),
    ),
    BadPackage(
        code="VS-CON-018",
        change="a bundle has a member notes.txt",
        make=_bundled(_member),
    ),
    BadPackage(
        code="VS-CON-019",
        change="the members of a bundle are compressed",
        make=_bundled(_compress),
    ),
    BadPackage(
        code="VS-CON-020",
        change="an incremental bundle says that it is of another case",
        make=_bundled(_claim, since="g20"),
        needs=_with_base,
    ),
    BadPackage(
        code="VS-CON-021",
        change="nothing, and an incremental bundle is verified without what it continues",
        make=_bundled(_keep, since="g20"),
    ),
    BadPackage(
        code="VS-CON-022",
        change="the log in a bundle has a salt of its own",
        make=_foreign_salt,
    ),
)
