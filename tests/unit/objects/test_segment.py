"""The header of a log segment."""

from __future__ import annotations

import struct

from blake3 import blake3

from vstore.objects.segment import (
    SEGMENT_HEADER_BYTES,
    SegmentHeader,
    encode_segment_header,
    parse_segment_header,
)

HEADER = SegmentHeader(
    number=2,
    salt=bytes(range(16)),
    first_sequence=9,
    head=b"h" * 32,
    previous_valid=4096,
    torn_length=17,
    torn_digest=b"t" * 32,
)


def test_the_layout_is_the_documented_one() -> None:
    raw = encode_segment_header(HEADER)
    assert len(raw) == SEGMENT_HEADER_BYTES == 160
    assert raw[:8] == b"\x89VSL\r\n\x1a\n"
    assert struct.unpack_from("<IIQ", raw, 8) == (160, 0, 2)
    assert raw[24:40] == bytes(range(16))
    assert struct.unpack_from("<Q", raw, 40) == (9,)
    assert raw[48:80] == b"h" * 32
    assert struct.unpack_from("<QQ", raw, 80) == (4096, 17)
    assert raw[96:128] == b"t" * 32
    assert raw[128:] == blake3(raw[:128]).digest()


def test_round_trip_and_flips() -> None:
    raw = encode_segment_header(HEADER)
    assert parse_segment_header(raw + b"more", 2) == HEADER
    for at in range(len(raw)):
        broken = bytearray(raw)
        broken[at] ^= 0x10
        assert parse_segment_header(bytes(broken), 2) is None
    assert parse_segment_header(raw[:-1], 2) is None
    assert parse_segment_header(b"", 1) is None


def test_a_header_that_contradicts_its_place() -> None:
    assert parse_segment_header(encode_segment_header(HEADER), 3) is None
    first = HEADER._replace(number=1, previous_valid=0)
    assert parse_segment_header(encode_segment_header(first), 1) == first
    assert parse_segment_header(encode_segment_header(HEADER._replace(number=1)), 1) is None
    orphan = HEADER._replace(previous_valid=0)
    assert parse_segment_header(encode_segment_header(orphan), 2) is None
    zero = HEADER._replace(first_sequence=0)
    assert parse_segment_header(encode_segment_header(zero), 2) is None
