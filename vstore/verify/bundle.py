"""A bundle, verified in place; an incremental one together with what it continues."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from vstore.errors import (
    IntegrityError,
    StorageError,
    UnsupportedError,
    VStoreError,
)
from vstore.objects.display import visible
from vstore.objects.frame import NO_GENERATION, LargeEntry
from vstore.objects.ids import ObjectId
from vstore.objects.layout import large_name
from vstore.objects.refs import BadRef
from vstore.package.bundle_file import BundleFault, BundleFile
from vstore.package.bundle_names import NEEDS_FILE
from vstore.package.bundle_needs import BundleNeeds
from vstore.package.bundle_reader import BundleFiles
from vstore.package.documents import Generation
from vstore.verify.bundle_log import BundleLog
from vstore.verify.folder import MAX_FILES, FolderSource
from vstore.verify.report import FindingCollector
from vstore.verify.source import PackageFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["BundleSource", "open_source"]

_CODES: Final = {
    "no_bundle": "VS-VER-002",
    "bytes": "VS-CON-017",
    "member": "VS-CON-018",
    "unsupported": "VS-CON-019",
    "limit": "VS-CON-019",
}


def open_source(
    path: Path, base: Path | None = None, *, max_files: int = MAX_FILES
) -> FolderSource | BundleSource:
    """The package at a path: a folder, or a bundle where it is an ordinary file.

    Args:
        path: The package.
        base: A package or bundle that has what an incremental bundle continues.
        max_files: Files and folders that are looked at in a folder, 1 or more.

    Raises:
        StorageError: The bundle can't be read.
    """
    if not os.path.isfile(path):  # noqa: PTH113 - false where the path can't be looked at
        return FolderSource(path, max_files=max_files)
    try:
        known = None if base is None else open_source(base)
    except StorageError:
        # Then the bundle is verified without one, and the report says what it needs.
        known = None
    return BundleSource(path, known)


class BundleSource:
    """The members of a bundle; see :class:`vstore.verify.source.PackageSource`.

    Args:
        path: The bundle.
        base: What an incremental bundle continues, or None.

    Raises:
        StorageError: The file can't be opened.
    """

    bundle = True

    def __init__(self, path: Path, base: FolderSource | BundleSource | None = None) -> None:
        #: The file itself.
        self.file = BundleFile(path)
        self._files = BundleFiles(self.file)
        self._base = base
        self._log: BundleLog | None = None
        #: What an incremental bundle says of itself, once the archive was checked.
        self.needs: BundleNeeds | None = None
        self.partial: str | None = None

    def close(self) -> None:
        """Close the files."""
        self.file.close()
        if isinstance(self._base, BundleSource):
            self._base.close()

    # ---- the archive

    def check_container(self, found: FindingCollector) -> bool:
        """See :meth:`PackageSource.check_container`: every byte of the file is read."""
        for fault in self.file.faults:
            _report(fault, found)
        if not self.file.readable:
            return False
        try:
            for fault in self.file.check_contents():
                _report(fault, found)
            self.needs = self._files.needs()
        except StorageError as error:
            found.add("VS-CON-015", error.message)
            return False
        except UnsupportedError as error:
            found.add("VS-CON-002", error.message, file=NEEDS_FILE)
            return False
        except IntegrityError as error:
            found.add("VS-CON-020", error.message, file=NEEDS_FILE)
            return False
        if self.needs is not None:
            self._check_base(self.needs, found)
        return True

    def _check_base(self, needs: BundleNeeds, found: FindingCollector) -> None:
        """Say why what the bundle continues isn't there, where it isn't."""
        wanted = f"generation {needs.since_generation}, {needs.since}"
        if self._base is None:
            why = f"it continues {wanted}"
        elif isinstance(self._base, BundleSource) and not self._base.usable_as_base():
            why = f"it continues {wanted}; the base is no full and sound bundle"
        else:
            try:
                log = self._base.log()
                try:
                    if log.publishes(needs.since.to_bytes()):
                        return
                finally:
                    log.close()
                why = f"the base doesn't have what it continues: {wanted}"
            except VStoreError as error:
                why = f"it continues {wanted}; the base can't be read ({error.kind})"
        found.add("VS-CON-021", why, file=NEEDS_FILE)
        self.partial = "an incremental bundle without what it continues"
        self._base = None

    def usable_as_base(self) -> bool:
        """Whether this is a full bundle without a fault in its archive."""
        return not self.file.faults and self.file.window(NEEDS_FILE) is None

    def check_claims(
        self, head: ObjectId | None, document: Generation | None, found: FindingCollector
    ) -> None:
        """See :meth:`PackageSource.check_claims`."""
        needs = self.needs
        if needs is None or document is None:
            return
        own = 0 if self._log is None else self._log.generations
        claims: list[tuple[str, object, object]] = [
            ("/head", head, needs.head),
            ("/head_generation", document.package_generation, needs.head_generation),
            ("/since_generation", document.package_generation - own, needs.since_generation),
            ("/case_id", document.case_id, needs.case_id),
            ("/package_id", document.package_id, needs.package_id),
        ]
        for pointer, expected, actual in claims:
            if expected != actual:
                found.add(
                    "VS-CON-020",
                    "it differs from what the bundle holds",
                    file=NEEDS_FILE,
                    pointer=pointer,
                    expected=expected,
                    actual=actual,
                )

    # ---- what is in it

    def entries(self) -> Iterator[PackageFile]:
        """See :meth:`PackageSource.entries`; unknown members were reported before."""
        for name in self.file.names:
            window = self.file.window(name)
            if window is not None and name != NEEDS_FILE:
                yield PackageFile(name, "file", window.size)

    def open(self, path: str) -> BinaryIO:
        """See :meth:`PackageSource.open`."""
        if self.file.window(path) is None:
            if self._base is not None:
                return self._base.open(path)
            raise StorageError("no such file", kind="no_file", path=path)
        return io.BufferedReader(_MemberStream(self.file.pieces(path)))

    def refs(self) -> dict[str, ObjectId | BadRef]:
        """See :meth:`PackageSource.refs`."""
        return self._files.refs()

    def large_chunks(self, entry: LargeEntry) -> Iterator[bytes]:
        """See :meth:`PackageSource.large_chunks`."""
        if self._base is not None and self.file.window(large_name(entry.oid)) is None:
            return self._base.large_chunks(entry)
        return self._files.large_chunks(entry)

    def open_large(self, entry: LargeEntry) -> BinaryIO:
        """See :meth:`PackageSource.open_large`."""
        if self._base is not None and self.file.window(large_name(entry.oid)) is None:
            return self._base.open_large(entry)
        return self._files.open_large(entry)

    def check_format(self) -> None:
        """See :meth:`PackageSource.check_format`."""
        self._files.format()

    def log(self) -> BundleLog:
        """See :meth:`PackageSource.log`."""
        since = NO_GENERATION if self.needs is None else self.needs.since.to_bytes()
        base = None if self._base is None or self.needs is None else self._base.log()
        self._log = BundleLog(self.file, since, base)
        return self._log


def _report(fault: BundleFault, found: FindingCollector) -> None:
    name = None if fault.name is None else visible(fault.name)
    found.add(_CODES[fault.kind], fault.message, file=name, offset=fault.offset)


class _MemberStream(io.RawIOBase):
    """A member's content, piece by piece."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
