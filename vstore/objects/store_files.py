"""Where the files of a package are: in a folder, or inside of one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from vstore.objects.frame import LargeEntry
from vstore.objects.ids import ObjectId
from vstore.objects.index_cache import IndexCache, load_index
from vstore.objects.large import open_large, stored_pieces
from vstore.objects.layout import LOG, StoreFormat, large_path, read_format
from vstore.objects.log import LogReader
from vstore.objects.refs import BadRef, read_refs

__all__ = ["FolderFiles", "StoreFiles"]


class StoreFiles(Protocol):
    """Reads the parts of a package that are files of their own."""

    #: Whether nobody ever writes to it: a bundle.
    sealed: bool

    def format(self) -> StoreFormat:
        """What the ``VSTORE`` file says; errors as :func:`vstore.objects.layout.read_format`."""
        ...

    def log(self) -> LogReader:
        """The log; errors as :class:`vstore.objects.log.LogReader`."""
        ...

    def refs(self) -> dict[str, ObjectId | BadRef]:
        """What the refs say; errors as :func:`vstore.objects.refs.read_refs`."""
        ...

    def open_large(self, entry: LargeEntry) -> BinaryIO:
        """A stream over a large object; as :func:`vstore.objects.large.open_large`."""
        ...

    def stored_pieces(self, entry: LargeEntry) -> Iterator[bytes]:
        """The compressed bytes of a large object as they are stored, unchecked.

        Raises:
            IntegrityError: There are none (``missing_large_object``).
            StorageError: They can't be read.
        """
        ...

    def index(self, log: LogReader) -> IndexCache | None:
        """The cached index of objects, None where there is none that fits the log."""
        ...

    def close(self) -> None:
        """Close what is open, but for the log."""
        ...


class FolderFiles:
    """The files of a package's folder.

    Args:
        root: The folder.
    """

    sealed = False

    def __init__(self, root: Path) -> None:
        self._root = root

    def format(self) -> StoreFormat:
        """See :meth:`StoreFiles.format`."""
        return read_format(self._root)

    def log(self) -> LogReader:
        """See :meth:`StoreFiles.log`."""
        return LogReader(self._root / LOG)

    def refs(self) -> dict[str, ObjectId | BadRef]:
        """See :meth:`StoreFiles.refs`."""
        return read_refs(self._root)

    def open_large(self, entry: LargeEntry) -> BinaryIO:
        """See :meth:`StoreFiles.open_large`."""
        return open_large(
            large_path(self._root, entry.oid),
            entry.oid,
            length=entry.length,
            stored_length=entry.stored_length,
        )

    def stored_pieces(self, entry: LargeEntry) -> Iterator[bytes]:
        """See :meth:`StoreFiles.stored_pieces`."""
        return stored_pieces(large_path(self._root, entry.oid))

    def index(self, log: LogReader) -> IndexCache | None:
        """See :meth:`StoreFiles.index`."""
        return load_index(self._root, log)

    def close(self) -> None:
        """Nothing is open."""
