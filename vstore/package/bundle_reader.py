"""Reading a package in a bundle file, in place and read-only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from vstore.errors import IntegrityError, NotFoundError, UnsupportedError
from vstore.objects.frame import LargeEntry
from vstore.objects.ids import ObjectId
from vstore.objects.index_cache import IndexCache
from vstore.objects.large import PIECE, checked_stream, missing_large, unpack_chunks
from vstore.objects.layout import (
    FORMAT_FILE,
    LOG,
    MAX_FORMAT_BYTES,
    REFS,
    StoreFormat,
    large_name,
    parse_format,
)
from vstore.objects.log import LogReader
from vstore.objects.reader import ObjectReader
from vstore.objects.refs import MAX_REF_BYTES, BadRef, decode_ref
from vstore.package.bundle_file import BundleFile
from vstore.package.bundle_log import BundleSegments
from vstore.package.bundle_names import NEEDS_FILE
from vstore.package.bundle_needs import MAX_NEEDS_BYTES, BundleNeeds, parse_needs

__all__ = ["BundleFiles", "open_bundle"]


def open_bundle(path: Path) -> ObjectReader:
    """The objects of a full bundle.

    Raises:
        NotFoundError: The file is no bundle (``not_a_package``).
        IntegrityError: It is damaged.
        UnsupportedError: An incremental bundle (``incremental_bundle``), or features or limits
            that this version can't read.
        StorageError: It can't be read.
    """
    bundle = BundleFile(path)
    try:
        bundle.check()
        files = BundleFiles(bundle)
        needs = files.needs()
        if needs is not None:
            raise UnsupportedError(
                f"an incremental bundle, which continues {needs.since}: it is no package of its "
                "own",
                kind="incremental_bundle",
                hint="vstore verify --base checks it together with what it continues",
                since=needs.since,
            )
        return ObjectReader(path, files)
    except BaseException:
        bundle.close()
        raise


class BundleFiles:
    """The parts of a package inside of a bundle; see ``StoreFiles``.

    Args:
        bundle: The open bundle; closed with this.
    """

    sealed = True

    def __init__(self, bundle: BundleFile) -> None:
        self.bundle = bundle

    def needs(self) -> BundleNeeds | None:
        """What an incremental bundle continues; None for a full one.

        Raises:
            IntegrityError, UnsupportedError: As ``parse_needs``.
        """
        raw = self.bundle.read(NEEDS_FILE, MAX_NEEDS_BYTES)
        return None if raw is None else parse_needs(raw)

    def format(self) -> StoreFormat:
        """See ``StoreFiles.format``."""
        raw = self.bundle.read(FORMAT_FILE, MAX_FORMAT_BYTES)
        if raw is None:
            raise NotFoundError(
                "not an evidence package: the archive has no VSTORE file", kind="not_a_package"
            )
        return parse_format(raw)

    def log(self) -> LogReader:
        """See ``StoreFiles.log``."""
        return LogReader(self.bundle.path / LOG, BundleSegments(self.bundle))

    def refs(self) -> dict[str, ObjectId | BadRef]:
        """See ``StoreFiles.refs``."""
        found: dict[str, ObjectId | BadRef] = {}
        for name in self.bundle.names:
            folder, _, ref = name.partition("/")
            if folder == REFS:
                raw = self.bundle.read(name, MAX_REF_BYTES)
                if raw is None:  # pragma: no cover - it was listed
                    raise IntegrityError("a ref is gone", kind="bad_bundle")
                found[ref] = decode_ref(raw)
        return found

    def large_chunks(self, entry: LargeEntry) -> Iterator[bytes]:
        """The uncompressed bytes of a large object, piece by piece, sizes checked.

        Raises:
            IntegrityError: No such member (``missing_large_object``), or not one zstd frame of
                the sizes that the entry says.
        """
        return unpack_chunks(
            self.stored_pieces(entry),
            large_name(entry.oid),
            length=entry.length,
            stored_length=entry.stored_length,
        )

    def stored_pieces(self, entry: LargeEntry) -> Iterator[bytes]:
        """See ``StoreFiles.stored_pieces``."""
        name = large_name(entry.oid)
        if self.bundle.window(name) is None:
            raise missing_large(name)
        return self.bundle.pieces(name, PIECE)

    def open_large(self, entry: LargeEntry) -> BinaryIO:
        """See ``StoreFiles.open_large``."""
        return checked_stream(self.large_chunks(entry), entry.oid, large_name(entry.oid))

    def index(self, log: LogReader) -> IndexCache | None:  # noqa: ARG002
        """Nothing that is derived travels."""
        return None

    def close(self) -> None:
        """Close the file."""
        self.bundle.close()
