"""Replacing ref files: a temporary file, renamed over the old one.

A file that is made anew for every value has its block allocated and written at once (a file
system doesn't let a rename put data that it still holds back over data that it has) and the
block of the old file freed; that costs more than the publication's own sync. So the file
that a rename replaces is kept under another name and is the temporary file of the next
value: its content is overwritten, its place on the disk stays (docs/adr/0007).

Nothing here is synced but refs that are new. What a power cut may leave is a ref that lags:
see :func:`vstore.objects.refs.classify`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vstore.errors import StorageError
from vstore.objects.durable import DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.refs import encode_ref, ref_path

__all__ = ["RefWriter"]


class _File:
    """One ref, and the names in ``tmp/`` of its temporary file: this time, and next time."""

    __slots__ = ("following", "kept", "path", "temporary", "written")

    def __init__(self, path: Path, temporary: Path, following: Path) -> None:
        self.path = path
        self.temporary = temporary
        self.following = following
        #: Whether this process has written it before: one that writes once keeps nothing.
        self.written = False
        #: Whether there may be files under those names.
        self.kept = False


class RefWriter:
    """Writes the refs of one package; the caller holds the publication lock.

    Args:
        root: The package's folder.
        io: Does the durable I/O.
        free_name: Gives a name in ``tmp/`` that no other writer uses.
    """

    def __init__(self, root: Path, io: DurableIO, free_name: Callable[[str], Path]) -> None:
        self._root = root
        self._io = io
        self._free_name = free_name
        self._files: dict[str, _File] = {}

    def write(self, name: str, value: ObjectId, *, durable: bool) -> None:
        """Give a ref its value.

        Args:
            name: Of the ref.
            value: What it names from now on.
            durable: Sync file and folder, for a ref that is new or was wrong. Without, a
                power cut may leave an earlier value, or a file that is empty, zero-filled,
                cut, or begins with one value and ends with another.

        Raises:
            InvalidError: No ref may have this name.
            StorageError: It couldn't be written, and lags.
        """
        file = self._files.get(name)
        if file is None:
            path = ref_path(self._root, name)
            file = self._files[name] = _File(path, self._free_name("ref"), self._free_name("ref"))
        content = encode_ref(value)
        if file.written and not durable:
            self._replace(file, content)
            return
        self._io.write_atomic(file.path, content, temporary=file.temporary, durable=durable)
        file.written = True

    def remove(self, name: str) -> None:
        """Remove a ref; an absent one is fine.

        Raises:
            InvalidError: No ref may have this name.
            StorageError: It can't be removed.
        """
        self._io.unlink(ref_path(self._root, name))

    def close(self) -> None:
        """Remove what was kept for the next values."""
        for file in self._files.values():
            self._discard(file)

    def _replace(self, file: _File, content: bytes) -> None:
        io = self._io
        file.kept = True
        try:
            if not io.overwrite(file.temporary, content):
                io.discard(file.temporary)
                io.write_temporary(file.temporary, content, sync=False)
            # Where files can't have two names, the next one is made anew.
            io.link(file.path, file.following)
            io.replace(file.temporary, file.path)
        except StorageError:
            self._discard(file)
            raise
        file.temporary, file.following = file.following, file.temporary

    def _discard(self, file: _File) -> None:
        if file.kept:
            file.kept = False
            self._io.discard(file.temporary)
            self._io.discard(file.following)
