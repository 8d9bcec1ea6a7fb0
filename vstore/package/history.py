"""The Merkle tree over the generations before one (spec: storage, "Merkle trees").

A writer needs its frontier for every publication. In a running process it is in memory; a
fresh one takes it from ``cache/`` or rebuilds it from the log. A cached frontier isn't
trusted: it must have the root that the generation it claims to lead to has recorded.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vstore.errors import IntegrityError, InvalidError, StorageError
from vstore.objects import layout
from vstore.objects.ids import ObjectId
from vstore.objects.merkle import Frontier, leaf_hash
from vstore.package.documents import Generation, History

__all__ = ["HistoryTree", "history_of"]

_CACHE_NAME: Final = "history"
_MAX_CACHE_BYTES: Final = 8192
#: A fresh process reads at most about this many generations more than it must.
_SAVE_EVERY: Final = 16


def history_of(frontier: Frontier) -> History:
    """The member of a generation that commits to the tree."""
    return History(size=frontier.size, root=frontier.root())


class HistoryTree:
    """The frontier over all generations up to a head.

    Args:
        root: The package's folder.
        read: Gives a generation document and its canonical bytes by id.
    """

    def __init__(self, root: Path, read: Callable[[ObjectId], tuple[Generation, bytes]]) -> None:
        self._root = root
        self._read = read
        self._head: ObjectId | None = None
        self._frontier = Frontier()
        #: Without the head itself: the tree whose root the head records.
        self._before = Frontier()
        self._unsaved = 0

    def through(self, head: ObjectId | None) -> Frontier:
        """The frontier over the generations up to ``head``, this one included.

        Args:
            head: A generation; None for the empty history.

        Raises:
            IntegrityError: The generations don't have the roots that they record.
            NotFoundError, InvalidError, UnsupportedError: A generation can't be read.
        """
        if head is None:
            return Frontier()
        if head != self._head:
            self._before, self._frontier = self._rebuild(head)
            self._head = head
        return self._frontier.copy()

    def advance(self, head: ObjectId, encoded: bytes) -> None:
        """Take note of the generation that was published on top of the last head."""
        self._before = self._frontier.copy()
        self._frontier.append(encoded)
        self._head = head
        self._unsaved += 1

    def due(self) -> bool:
        """Whether it is time to :meth:`save`."""
        return self._unsaved >= _SAVE_EVERY

    def save(self) -> None:
        """Write the frontier to the cache; what goes wrong there is of no consequence."""
        if not self._unsaved:
            return
        self._unsaved = 0
        lines = [str(self._before.size), *(one.hex() for one in self._before.hashes)]
        folder = self._root / layout.CACHE
        temporary = folder / f"{_CACHE_NAME}.{os.getpid()}"
        try:
            folder.mkdir(exist_ok=True)
            temporary.write_bytes("\n".join((*lines, "")).encode())
            temporary.replace(folder / _CACHE_NAME)
        except OSError:
            return

    def _rebuild(self, head: ObjectId) -> tuple[Frontier, Frontier]:
        """Walk back to a frontier that is known, then forward again, to the head and past it."""
        known = [one for one in (self._frontier if self._head else None, self._cached()) if one]
        hashes: list[bytes] = []
        oid: ObjectId | None = head
        frontier: Frontier | None = None
        last: Generation | None = None
        while oid is not None and frontier is None:
            generation, encoded = self._read(oid)
            if last is not None and generation.package_generation != last.package_generation - 1:
                raise _broken(oid)
            hashes.append(leaf_hash(encoded))
            last = generation
            frontier = next((one for one in known if history_of(one) == generation.history), None)
            oid = generation.parent
        frontier = Frontier() if frontier is None else frontier.copy()
        if last is None or history_of(frontier) != last.history:
            raise _broken(head)
        for one in reversed(hashes[1:]):
            frontier.append_hash(one)
        if history_of(frontier) != self._read(head)[0].history:
            raise _broken(head)
        before = frontier.copy()
        frontier.append_hash(hashes[0])
        return before, frontier

    def _cached(self) -> Frontier | None:
        try:
            raw = layout.read_file(self._root / layout.CACHE / _CACHE_NAME, _MAX_CACHE_BYTES)
        except StorageError:
            return None
        if raw is None or len(raw) > _MAX_CACHE_BYTES:
            return None
        try:
            size, *hashes = raw.decode("ascii").split()
            return Frontier.from_hashes(int(size), [bytes.fromhex(one) for one in hashes])
        except (ValueError, InvalidError):
            return None


def _broken(oid: ObjectId) -> IntegrityError:
    return IntegrityError(
        "the generations don't have the history that they record",
        kind="broken_history",
        hint="verify says where",
        object=oid,
    )
