"""Going through the frames of packs in order, with every check."""

from __future__ import annotations

from collections.abc import Iterator

from vstore.errors import IntegrityError
from vstore.objects.damage import Damage
from vstore.objects.frame_table import FrameSummary
from vstore.objects.pack import index_rows
from vstore.objects.pack_file import PackFile

__all__ = ["PackWalk"]


class PackWalk:
    """One pass over the packs of a log, a segment at a time.

    Args:
        in_full: Check at the end also what a pass needs nothing of: indexes, beginnings,
            torn bytes.
    """

    def __init__(self, *, in_full: bool) -> None:
        self._in_full = in_full
        self._packs: dict[str, PackFile] = {}
        #: What the index of each pack must have; None where a block can't be read.
        self._rows: dict[str, list[bytes] | None] = {}
        self._blocks: dict[str, int] = {}

    def segment(
        self, pack: PackFile, number: int, start: int, sequence: int, head: bytes
    ) -> Iterator[FrameSummary | Damage]:
        """The frames of a segment from ``start`` on, and damaged blocks between them.

        Args:
            pack: Has the segment.
            number: The segment.
            start: Where the first frame that is asked for began in it.
            sequence: Number of the frame before.
            head: Head generation before, 32 bytes.
        """
        if pack.name not in self._packs:
            self._packs[pack.name] = pack
            self._rows[pack.name] = []
            self._blocks[pack.name] = 0
        for block in pack.blocks(number):
            self._blocks[pack.name] += 1
            place = pack.place(block)
            try:
                found = pack.block(block)
            except IntegrityError:
                self._rows[pack.name] = None
                yield pack.block_damage(block)
                sequence += place.frames
                blocks = pack.blocks(number)
                if block + 1 in blocks:
                    head = pack.place(block + 1).head
                continue
            rows = self._rows[pack.name]
            if self._in_full and rows is not None:
                for frame in found.frames:
                    rows += index_rows(block, frame.raw_ids())
            for frame in found.frames:
                if frame.offset < start:
                    continue
                if frame.sequence != sequence + 1 or frame.raw_parent != head:
                    yield Damage(
                        kind="wrong_parent" if frame.sequence == sequence + 1 else "wrong_sequence",
                        segment=number,
                        start=frame.offset,
                        end=frame.offset + frame.length,
                        first_lost=sequence + 1,
                        frames_lost=max(0, frame.sequence - sequence - 1),
                    )
                yield frame
                sequence, head = frame.sequence, frame.raw_head

    def finish(self) -> Iterator[Damage]:
        """What is wrong with the packs that were passed, beside their frames."""
        if self._in_full:
            for name, pack in self._packs.items():
                # The first segments may have been files of their own a moment ago.
                whole = self._blocks[name] == pack.block_count
                yield from pack.check(self._rows[name] if whole else None)
