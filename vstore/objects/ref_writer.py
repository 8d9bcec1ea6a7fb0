"""Replacing ref files: a temporary file, renamed over the old one.

A file that is made anew for every value has its block allocated and written at once (a file
system doesn't let a rename put data that it still holds back over data that it has) and the
block of the old file freed; that costs more than the publication's own sync. So the file
that a rename replaces is kept in ``cache/`` and is the temporary file of the next value: its
content is overwritten, its place on the disk stays (docs/adr/0007).

Nothing here is synced but refs that are new. What a power cut may leave is a ref that lags:
see :func:`vstore.objects.refs.classify`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vstore.errors import StorageError
from vstore.objects.durable import DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.layout import CACHE
from vstore.objects.refs import encode_ref, ref_path

__all__ = ["RefWriter"]


class _File:
    """One ref, and the two names that the file kept for its next value has in turns."""

    __slots__ = ("kept", "other", "path")

    def __init__(self, root: Path, name: str) -> None:
        self.path = ref_path(root, name)
        # Checked with the name of the ref; whoever writes holds the publication lock.
        self.kept = root / CACHE / f"ref-{name}-0"
        self.other = root / CACHE / f"ref-{name}-1"


class RefWriter:
    """Writes the refs of one package; the caller holds the publication lock.

    Args:
        root: The package's folder.
        io: Does the durable I/O.
        temporary: Gives a name in ``tmp/``, which is there then, that no other writer uses.
    """

    def __init__(self, root: Path, io: DurableIO, temporary: Callable[[], Path]) -> None:
        self._root = root
        self._io = io
        self._temporary = temporary
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
            file = self._files[name] = _File(self._root, name)
        content = encode_ref(value)
        if durable:
            self._io.write_atomic(file.path, content, temporary=self._temporary(), durable=True)
        else:
            self._replace(file, content)

    def remove(self, name: str) -> None:
        """Remove a ref; an absent one is fine.

        Raises:
            InvalidError: No ref may have this name.
            StorageError: It can't be removed.
        """
        self._io.unlink(ref_path(self._root, name))

    def _replace(self, file: _File, content: bytes) -> None:
        io = self._io
        written = file.kept
        if not io.overwrite(written, content):
            # The process before may have ended with the other name.
            file.kept, file.other = file.other, file.kept
            written = file.kept
            if not io.overwrite(written, content):
                written = self._temporary()
                io.write_temporary(written, content, sync=False)
        # Where a file can't have two names, or that name is taken, the next one is made anew.
        io.link(file.path, file.other)
        try:
            io.replace(written, file.path)
        except StorageError:
            io.discard(written)
            raise
        file.kept, file.other = file.other, file.kept
