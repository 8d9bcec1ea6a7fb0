"""Damage of the log: bytes that are not what was written there."""

from __future__ import annotations

import msgspec

from vstore.errors import IntegrityError
from vstore.objects.ids import ObjectId

__all__ = ["Damage", "broken_at", "missing_segment"]


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the log that are not what was written there."""

    #: ``bad_frame``, ``bad_segment``, ``missing_segment``, ``wrong_parent``,
    #: ``wrong_sequence``, ``torn_bytes_changed``, ``bad_pack``, ``pack_index``, ``pack_overlap``.
    kind: str
    segment: int
    #: The damaged bytes, from ``start`` up to ``end``; equal for damage without extent.
    start: int
    end: int
    #: Sequence numbers of lost frames: first, and how many (None: not known).
    first_lost: int
    frames_lost: int | None
    #: Ids of lost objects, as far as a readable table names them.
    objects_lost: tuple[ObjectId, ...] = ()
    #: The file in ``objects/pack`` that ``start`` and ``end`` are about; empty for a segment.
    pack: str = ""

    def error(self) -> IntegrityError:
        """The error that says so."""
        count = "an unknown number of" if self.frames_lost is None else str(self.frames_lost)
        return IntegrityError(
            f"the log is damaged ({self.kind}) in {self.where}, bytes {self.start} to "
            f"{self.end}: {count} frames lost from sequence {self.first_lost} on, "
            f"{len(self.objects_lost)} lost objects known by id",
            kind=self.kind,
            hint="restore the package from a bundle or another copy; don't delete anything",
            segment=self.segment,
            start=self.start,
            end=self.end,
            first_lost=self.first_lost,
            frames_lost=self.frames_lost,
            objects_lost=[str(oid) for oid in self.objects_lost],
        )

    @property
    def where(self) -> str:
        """The file that is damaged, in words."""
        return f"pack {self.pack}" if self.pack else f"segment {self.segment}"


def missing_segment(number: int) -> Damage:
    """The damage that a missing segment is."""
    return Damage(
        kind="missing_segment", segment=number, start=0, end=0, first_lost=0, frames_lost=None
    )


def broken_at(segment: int, offset: int) -> IntegrityError:
    """The error of a reader that came across something else than the frame it expected."""
    return IntegrityError(
        f"the log is damaged in segment {segment} at byte {offset}",
        kind="bad_frame",
        hint="vstore verify says what is lost; restore the package from another copy",
        segment=segment,
        start=offset,
    )
