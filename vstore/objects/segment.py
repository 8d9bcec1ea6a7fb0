"""The header of a log segment, fixed for ever, and what a valid one says about the one before.

All integers are little-endian and unsigned::

    magic 8 | header length u32 | feature bits u32 | segment number u64 | salt 16
    | sequence of its first frame u64 | head generation before it 32, zeros for none
    | valid length of the segment before u64 | length of the torn bytes after that u64
    | BLAKE3 of those torn bytes 32, zeros when there are none | BLAKE3 of all before 32

The salt is random: bytes of an older file, or of another package, never pass for a frame of
this segment. Torn bytes are what a crash left behind the last valid frame; they are
recorded here and never cut (spec: storage, "Recovery").
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from blake3 import blake3

from vstore.objects.frame import NO_GENERATION

__all__ = ["SEGMENT_HEADER_BYTES", "SegmentHeader", "encode_segment_header", "parse_segment_header"]

SEGMENT_MAGIC: Final = b"\x89VSL\r\n\x1a\n"

_HEADER: Final = struct.Struct("<8sIIQ16sQ32sQQ32s")
SEGMENT_HEADER_BYTES: Final = _HEADER.size + 32


class SegmentHeader(NamedTuple):
    """What a segment says about itself and about the one before."""

    number: int
    salt: bytes
    #: Sequence number of the first frame.
    first_sequence: int
    #: Head generation before the first frame, 32 bytes, zeros for none.
    head: bytes = NO_GENERATION
    #: Bytes of the segment before that are valid, its own header included; 0 for the first.
    previous_valid: int = 0
    torn_length: int = 0
    torn_digest: bytes = bytes(32)
    features: int = 0


def encode_segment_header(header: SegmentHeader) -> bytes:
    """The bytes of a segment header."""
    body = _HEADER.pack(
        SEGMENT_MAGIC,
        SEGMENT_HEADER_BYTES,
        header.features,
        header.number,
        header.salt,
        header.first_sequence,
        header.head,
        header.previous_valid,
        header.torn_length,
        header.torn_digest,
    )
    return body + blake3(body).digest()


def parse_segment_header(raw: bytes, number: int) -> SegmentHeader | None:
    """Read the header of segment ``number``; None when these bytes hold no valid one."""
    if len(raw) < SEGMENT_HEADER_BYTES:
        return None
    fields = _HEADER.unpack_from(raw)
    body, digest = raw[: _HEADER.size], raw[_HEADER.size : SEGMENT_HEADER_BYTES]
    if (
        fields[0] != SEGMENT_MAGIC
        or fields[1] != SEGMENT_HEADER_BYTES
        or blake3(body).digest() != digest
    ):
        return None
    _, _, features, its_number, salt, first, head, valid, torn, torn_digest = fields
    if its_number != number or first < 1 or (number == 1) != (valid == 0):
        return None
    return SegmentHeader(its_number, salt, first, head, valid, torn, torn_digest, features)
