"""The packs of a package: which are in use, and what they replace.

A repack puts a new pack in its place before it removes what it replaces, so a crash leaves
both, and then the pack counts. Whoever finds that a segment has gone looks again.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vstore.errors import IntegrityError, StorageError
from vstore.objects.damage import Damage
from vstore.objects.frame_table import FrameSummary
from vstore.objects.layout import pack_range

if TYPE_CHECKING:
    from vstore.objects.pack_file import PackFile

__all__ = ["MAX_PACKS", "PackSet"]

#: Packs of a package at the most: each stays open.
MAX_PACKS: Final = 128
_TRIES: Final = 8


class PackSet:
    """The packs in a folder.

    Args:
        folder: ``objects/pack`` of a package, which may be absent; None where there are none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        #: The packs in use, by the segments that they have; none of them overlap.
        self.packs: list[PackFile] = []
        #: Names of packs that a larger one replaces.
        self.superseded: list[str] = []
        #: Packs that can't be used, and why.
        self.damage: list[Damage] = []

    def __bool__(self) -> bool:
        return bool(self.packs)

    def close(self) -> None:
        """Close all files."""
        for one in self.packs:
            one.close()
        self.packs = []

    def look(self) -> None:
        """List the folder and open what is new.

        Raises:
            UnsupportedError: A pack with features that this version doesn't know.
            StorageError: Something can't be read.
        """
        if self._folder is None:
            return
        for _ in range(_TRIES):
            try:
                self._look(self._folder)
            except FileNotFoundError:
                # Replaced by a larger one between the listing and the look at it.
                continue
            return
        raise StorageError("the packs change all the time", kind="unreadable")

    def _look(self, folder: Path) -> None:
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names, not paths
        except FileNotFoundError:
            names = []
        except OSError as error:
            raise StorageError(
                f"can't read the packs: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
            ) from error
        ranges = {name: found for name in names if (found := pack_range(name)) is not None}
        if not ranges:
            self.packs, self.superseded, self.damage = [], [], []
            return
        from vstore.objects.pack_file import PackFile

        known = {one.name: one for one in self.packs}
        packs: list[PackFile] = []
        superseded: list[str] = []
        damage: list[Damage] = []
        if len(ranges) > MAX_PACKS:
            raise StorageError(f"more than {MAX_PACKS} packs", kind="too_many_packs")
        end = 0
        for name, (first, last) in sorted(ranges.items(), key=lambda one: (one[1][0], -one[1][1])):
            if last <= end:
                superseded.append(name)
                continue
            if first <= end:
                damage.append(_unusable("pack_overlap", name, first))
                continue
            try:
                pack = known.get(name) or PackFile(folder / name, first, last)
            except IntegrityError:
                damage.append(_unusable("bad_pack", name, first))
                continue
            packs.append(pack)
            end = last
        self.packs, self.superseded, self.damage = packs, superseded, damage

    def covering(self, number: int) -> PackFile | None:
        """The pack that has a segment, None for none."""
        for one in self.packs:
            if one.first <= number <= one.last:
                return one
        return None

    def find(self, oid: bytes) -> FrameSummary | None:
        """A frame in a pack that has an object, 32 bytes; of several the newest pack's.

        Raises:
            IntegrityError: A pack is damaged.
        """
        for one in reversed(self.packs):
            found = one.find(oid)
            if found is not None:
                return found
        return None


def _unusable(kind: str, name: str, first: int) -> Damage:
    return Damage(
        kind=kind,
        segment=first,
        start=0,
        end=0,
        first_lost=0,
        frames_lost=None,
        pack=name,
    )
