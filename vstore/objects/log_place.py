"""Up to which frame a derived cache reaches, and whether a log has that frame."""

from __future__ import annotations

import msgspec

from vstore.errors import VStoreError
from vstore.objects.frame import TRAILER_BYTES
from vstore.objects.log import LogReader
from vstore.objects.segment import SEGMENT_HEADER_BYTES

__all__ = ["LogPlace", "holds", "place_of"]


class LogPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The end of a frame: where it is, and the digest of all of it."""

    segment: int
    #: Offset in bytes behind the frame.
    end: int
    sequence: int
    #: 64 hex digits.
    digest: str


def place_of(log: LogReader) -> LogPlace | None:
    """The end of a log; None where no frame is known to be there, or the log is damaged."""
    tail = log.tail
    if not tail.digest or log.damage:
        return None
    return LogPlace(
        segment=tail.segment, end=tail.end, sequence=tail.sequence, digest=tail.digest.hex()
    )


def holds(log: LogReader, place: LogPlace) -> bool:
    """Whether a log has this very frame at this very place.

    A frame's digest covers its parent, so a log that holds it holds all that led to it.
    """
    try:
        if (
            not 1 <= place.segment <= log.tail.segment
            or not SEGMENT_HEADER_BYTES + TRAILER_BYTES <= place.end <= log.valid_end(place.segment)
            or not 1 <= place.sequence <= log.tail.sequence
        ):
            return False
        digest = log.digest_before(place.segment, place.end)
    except VStoreError:
        return False
    return len(place.digest) == 64 and bool(digest) and place.digest.startswith(digest.hex())
