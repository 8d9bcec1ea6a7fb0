"""What goes into a bundle: the objects, the frames that carry them, the log they make.

Two passes over the package's log. The first reads and checks everything and finds what the
head leads to; the second writes the frames again, in the bundle's own log: whole frames are
taken over with their compressed bytes, others are made anew without what nothing leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

from vstore.objects.frame import FrameSummary, LargeEntry, compress, read_payload
from vstore.objects.frame_copy import copy_frame, reduce_frame
from vstore.objects.frame_table import NO_GENERATION
from vstore.objects.ids import PREFIX, ObjectId
from vstore.objects.reader import ObjectReader
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.objects.segment import SegmentHeader, encode_segment_header
from vstore.package.bundle_log import SEGMENT_BYTES, segment_salt
from vstore.package.reachable import References
from vstore.package.survey import survey_frame
from vstore.package.survey_ahead import SurveyAhead, can_survey_ahead

#: Stored payloads that are kept from the first pass to the second, in bytes.
_KEPT_BYTES = 64 * 1024 * 1024

__all__ = ["BundlePlan", "LogBuilder", "plan_bundle"]


@dataclass(slots=True)
class BundlePlan:
    """What a bundle will hold.

    Args:
        head: The generation that it leads to.
        since: The generation that it continues, None for a full bundle.
        wanted: The ids of its objects, 32 bytes each.
        frames: The frames that have any of them, in order.
        large: Its large objects, sorted by where they are kept.
        raw_bytes: Uncompressed bytes of all its objects.
    """

    head: ObjectId
    since: ObjectId | None
    wanted: set[bytes]
    frames: list[FrameSummary]
    large: list[LargeEntry] = field(default_factory=list)
    raw_bytes: int = 0
    #: The stored payloads of the first frames, so that they aren't read (and those of frames in
    #: packs not unpacked) twice.
    stored: list[bytes] = field(default_factory=list)


def plan_bundle(
    objects: ObjectReader, head: ObjectId, since: ObjectId | None, decoder: ReferenceDecoder
) -> BundlePlan:
    """Read a package in full and find what goes into a bundle of it.

    Args:
        objects: The package's objects.
        head: Its head generation.
        since: An earlier generation that whoever gets the bundle has, or None.
        decoder: Knows every document type that the package may hold.

    Raises:
        IntegrityError: The package is damaged, or lacks something that is named.
        UnsupportedError: It has features that this version doesn't know.
        StorageError: It can't be read.
    """
    references = References(decoder, objects.get)
    frames: list[FrameSummary] = []
    large: dict[ObjectId, LargeEntry] = {}
    kept: list[bytes] = []
    room = _KEPT_BYTES
    # A full bundle needs the payloads of packs compressed: unpacking a block again costs as much.
    full = since is None
    with ExitStack() as closing:
        ahead = None
        if can_survey_ahead(objects):
            ahead = SurveyAhead.start(objects, decoder, packed=full)
            closing.callback(ahead.close)
        for frame in objects.frames():
            room -= frame.stored_length
            stored = None if frame.derived or room < 0 else objects.log.stored(frame)
            known = None if ahead is None else ahead.take(frame)
            if known is not None:
                references.add(known[0])
                stored = known[1] if stored is None and room >= 0 else stored
            else:
                payload = (
                    objects.log.payload(frame) if stored is None else read_payload(frame, stored)
                )
                survey_frame(objects, frame, payload, references, large)
                if stored is None and full and room >= 0:
                    stored = compress(payload) if payload else b""
            if stored is not None and len(kept) == len(frames):
                kept.append(stored)
            frames.append(frame)
    wanted = references.reachable([head])
    if since is not None:
        wanted -= references.reachable([since])
    plan = BundlePlan(head, since, {bytes.fromhex(oid[len(PREFIX) :]) for oid in wanted}, frames)
    plan.stored = kept
    plan.large = sorted(
        (entry for oid, entry in large.items() if oid in wanted and entry.state == "present"),
        key=lambda entry: entry.oid,
    )
    plan.raw_bytes = references.total_size(wanted)
    return plan


class LogBuilder:
    """Lays out the log of a bundle.

    Args:
        objects: The package's objects.
        plan: What goes in.
    """

    def __init__(self, objects: ObjectReader, plan: BundlePlan) -> None:
        self._objects = objects
        self._plan = plan
        self._since = NO_GENERATION if plan.since is None else plan.since.to_bytes()
        self._head = self._since
        self._left = set(plan.wanted)
        self._segment = bytearray()
        self._salt = b""
        self._number = 0
        self._sequence = 0
        self._previous = 0
        #: Frames and generations so far.
        self.frames = 0
        self.generations = 0

    def segments(self) -> Iterator[bytes]:
        """The bytes of the segments, in order.

        Raises:
            IntegrityError, StorageError: The package changed or can't be read.
        """
        # What an incremental bundle needs of frames before the generation that it continues
        # comes as objects alone: that generation doesn't lead there.
        before = self._plan.since is not None
        for number, frame in enumerate(self._plan.frames):
            ids = set(frame.raw_ids())
            keep = ids & self._left
            publish = not before and frame.raw_generation != NO_GENERATION
            if keep or publish:
                if len(self._segment) >= SEGMENT_BYTES:
                    yield bytes(self._segment)
                    self._previous = len(self._segment)
                    self._segment.clear()
                self._add(number, keep, whole=len(keep) == len(ids), publish=publish)
            if before and frame.generation == self._plan.since:
                before = False
        if self._segment:
            yield bytes(self._segment)

    def _add(self, number: int, keep: set[bytes], *, whole: bool, publish: bool) -> None:
        if not self._segment:
            self._begin_segment()
        found = self._plan.frames[number]
        if number < len(self._plan.stored):
            stored = self._plan.stored[number]
        else:
            found, stored = self._objects.log.read(found.segment, found.offset)
        self._sequence += 1
        offset = len(self._segment)
        bulk = found.raw_generation == NO_GENERATION
        # An object twice in one table would be found in the bundle as a repetition.
        if whole and (publish or bulk) and len(keep) == found.object_count:
            self._segment += copy_frame(
                found,
                stored,
                salt=self._salt,
                offset=offset,
                sequence=self._sequence,
                parent=self._head,
            )
        else:
            self._segment += reduce_frame(
                found,
                read_payload(found, stored),
                keep,
                salt=self._salt,
                offset=offset,
                sequence=self._sequence,
                parent=self._head,
                publish=publish,
            )
        self._left -= keep
        self.frames += 1
        if publish:
            self._head = found.raw_generation
            self.generations += 1

    def _begin_segment(self) -> None:
        self._number += 1
        self._salt = segment_salt(self._number, self._plan.head.to_bytes(), self._since)
        self._segment += encode_segment_header(
            SegmentHeader(
                number=self._number,
                salt=self._salt,
                first_sequence=self._sequence + 1,
                head=self._head,
                previous_valid=self._previous,
            )
        )
