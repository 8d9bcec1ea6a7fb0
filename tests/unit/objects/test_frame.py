"""The envelope of a frame: layout, round trip, and everything that is refused."""

from __future__ import annotations

import struct

import pytest
import zstandard
from blake3 import blake3

from vstore.errors import IntegrityError, UnsupportedError
from vstore.objects.frame import (
    HEADER_FIXED,
    MAX_FRAME_BYTES,
    MAX_HEADER_BYTES,
    MAX_LARGE_ENTRIES,
    MAX_RAW_BYTES,
    NO_GENERATION,
    TRAILER_BYTES,
    FrameSummary,
    encode_frame,
    parse_header,
    parse_trailer,
    read_payload,
    trailer_matches,
)

SALT = bytes(range(16))
OFFSET = 4096
A, B, C = (blake3(name).digest() for name in (b"alpha", b"beta", b"gamma"))
PARENT, GENERATION = b"p" * 32, b"g" * 32


def frame(**changes: object) -> bytes:
    values: dict[str, object] = {
        "salt": SALT,
        "offset": OFFSET,
        "sequence": 7,
        "parent": PARENT,
        "generation": GENERATION,
        "objects": [(A, 0, b"alpha"), (B, 1, b"beta")],
        "large": [(C, 0, 5_000_000, 1_000_000, b"d" * 32)],
    }
    values.update(changes)
    return encode_frame(**values)  # type: ignore[arg-type]


def parse(raw: bytes, at: int = 0) -> FrameSummary:
    found = parse_header(raw, at, segment=3, salt=SALT, offset=OFFSET)
    assert isinstance(found, FrameSummary)
    return found


def rehash(raw: bytes) -> bytes:
    """Make an edited frame consistent again."""
    header_length = struct.unpack_from("<I", raw, 8)[0]
    header = raw[: header_length - 32]
    body = header + blake3(header).digest() + raw[header_length:-TRAILER_BYTES]
    return body + blake3(body).digest() + raw[-8:]


def test_the_layout_is_the_documented_one() -> None:
    raw = frame()
    assert raw[:8] == b"\x89VSF\r\n\x1a\n"
    header_length = 128 + 2 * 42 + 82 + 32
    stored = zstandard.ZstdCompressor(level=3).compress(b"alphabeta")
    assert struct.unpack_from("<II", raw, 8) == (header_length, 0)
    assert raw[16:32] == SALT
    assert struct.unpack_from("<QQ", raw, 32) == (OFFSET, 7)
    assert raw[48:80] == PARENT
    assert raw[80:112] == GENERATION
    assert struct.unpack_from("<IIII", raw, 112) == (2, 1, len(stored), 9)
    assert raw[128:170] == A + struct.pack("<BBII", 0, 0, 0, 5)
    assert raw[170:212] == B + struct.pack("<BBII", 1, 0, 5, 4)
    assert raw[212:294] == C + struct.pack("<BBQQ", 0, 0, 5_000_000, 1_000_000) + b"d" * 32
    assert raw[294:326] == blake3(raw[:294]).digest()
    assert raw[326:-40] == stored
    assert raw[-40:-8] == blake3(raw[:-40]).digest()
    assert raw[-8:] == struct.pack("<I", len(raw)) + b"VSFe"


def test_round_trip() -> None:
    raw = frame()
    found = parse(b"xyz" + raw, 3)
    assert trailer_matches(found, b"xyz" + raw, 3)
    assert found.digest == raw[-40:-8]
    assert (found.segment, found.offset, found.length) == (3, OFFSET, len(raw))
    assert (found.sequence, found.raw_parent, found.raw_generation) == (7, PARENT, GENERATION)
    assert found.parent is not None
    assert found.parent.to_bytes() == PARENT
    assert found.generation is not None
    assert found.generation.to_bytes() == GENERATION
    assert found.raw_head == GENERATION
    assert found.supported
    assert found.object_count == 3
    assert found.raw_ids() == [A, B, C]
    assert [tuple(one)[1:] for one in found.objects()] == [
        ("blob", "present", 0, 5),
        ("document", "present", 5, 4),
    ]
    (large,) = found.large()
    assert tuple(large)[1:] == ("blob", "present", 5_000_000, 1_000_000, b"d" * 32)
    stored = raw[found.header_length : found.header_length + found.stored_length]
    assert read_payload(found, stored) == b"alphabeta"
    assert found.find(B) == list(found.objects())[1]
    assert found.find(C) == large
    assert found.find(bytes(32)) is None
    assert repr(found) == f"<frame 7 at 3:{OFFSET}>"


def test_a_bulk_frame_keeps_the_head() -> None:
    found = parse(frame(generation=NO_GENERATION))
    assert found.generation is None
    assert found.raw_head == PARENT
    first = parse(frame(parent=NO_GENERATION, generation=NO_GENERATION))
    assert first.parent is None


def test_a_frame_without_bytes_has_no_payload() -> None:
    raw = frame(objects=[])
    found = parse(raw)
    assert found.stored_length == found.raw_length == 0
    assert read_payload(found, b"") == b""
    with pytest.raises(IntegrityError):
        read_payload(found, b"x")


@pytest.mark.parametrize("bit", range(8))
def test_any_flipped_bit_is_noticed(bit: int) -> None:
    raw = frame()
    for at in range(len(raw)):
        broken = bytearray(raw)
        broken[at] ^= 1 << bit
        found = parse_header(bytes(broken), 0, segment=3, salt=SALT, offset=OFFSET)
        if isinstance(found, FrameSummary):
            assert at >= found.header_length
            assert not trailer_matches(found, bytes(broken), 0)
        else:
            assert found is None
            assert at < parse(raw).header_length


def test_too_few_bytes_say_how_many_are_needed() -> None:
    raw = frame()
    length = parse(raw).header_length
    for have in range(length):
        wanted = parse_header(raw[:have], 0, segment=3, salt=SALT, offset=OFFSET)
        assert wanted == (HEADER_FIXED if have < HEADER_FIXED else length)


def test_another_segment_or_place_is_not_this_frame() -> None:
    raw = frame()
    assert parse_header(raw, 0, segment=3, salt=bytes(16), offset=OFFSET) is None
    assert parse_header(raw, 0, segment=3, salt=SALT, offset=OFFSET + 1) is None


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (8, 2**32 - 1),
        (112, 65_537),
        (116, MAX_LARGE_ENTRIES + 1),
        (120, 2**32 - 1),
        (124, MAX_RAW_BYTES + 1),
    ],
    ids=["header", "objects", "large", "stored", "raw"],
)
def test_claimed_sizes_are_bounded_before_anything_is_read(at: int, value: int) -> None:
    raw = bytearray(frame())
    struct.pack_into("<I", raw, at, value)
    assert parse_header(bytes(raw), 0, segment=3, salt=SALT, offset=OFFSET) is None


def test_trailers() -> None:
    raw = frame()
    assert parse_trailer(raw[-40:]) == len(raw)
    assert parse_trailer(raw[-40:-4] + b"VSFx") is None
    for length in (0, 199, MAX_FRAME_BYTES + 1):
        assert parse_trailer(bytes(32) + struct.pack("<I", length) + b"VSFe") is None


def test_unknown_features_are_unsupported_but_the_table_can_be_read() -> None:
    raw = bytearray(frame())
    struct.pack_into("<I", raw, 12, 4)
    found = parse(rehash(bytes(raw)))
    assert not found.supported
    assert found.raw_ids() == [A, B, C]
    for ask in (found.check_table, lambda: found.find(A), lambda: read_payload(found, b"")):
        with pytest.raises(UnsupportedError) as caught:
            ask()
        assert caught.value.kind == "unsupported_frame"


def test_withheld_objects_have_a_length_and_no_bytes() -> None:
    raw = bytearray(frame(objects=[(B, 1, b"beta")]))
    # Put a withheld entry before: it takes no room in the payload.
    entry = A + struct.pack("<BBII", 0, 1, 0, 5)
    raw[128:128] = entry
    struct.pack_into("<I", raw, 8, struct.unpack_from("<I", raw, 8)[0] + 42)
    struct.pack_into("<I", raw, 112, 2)
    raw[-8:-4] = struct.pack("<I", len(raw))
    found = parse(rehash(bytes(raw)))
    assert [(one.state, one.offset, one.length) for one in found.objects()] == [
        ("withheld", 0, 5),
        ("present", 0, 4),
    ]
    found.check_table()
    at = found.header_length
    assert read_payload(found, bytes(raw[at : at + found.stored_length])) == b"beta"


@pytest.mark.parametrize(
    ("at", "change"),
    [
        (128 + 32, b"\x02"),
        (128 + 33, b"\x02"),
        (128 + 34, b"\x01\0\0\0"),
        (128 + 38, b"\x06\0\0\0"),
        (170 + 38, b"\xff\xff\xff\xff"),
        (212 + 32, b"\x02"),
        (212 + 33, b"\x02"),
        (212 + 34, b"\xff" * 8),
        (212 + 42, b"\xff" * 8),
    ],
)
def test_a_malformed_table_is_refused(at: int, change: bytes) -> None:
    raw = bytearray(frame())
    raw[at : at + len(change)] = change
    found = parse(rehash(bytes(raw)))
    with pytest.raises(IntegrityError) as caught:
        found.check_table()
    assert caught.value.kind == "bad_frame"
    with pytest.raises(IntegrityError):
        _ = [*found.objects(), *found.large()]


def lying(payload: bytes, raw_length: int) -> tuple[FrameSummary, bytes]:
    """A frame whose table says ``raw_length`` bytes, over any payload."""
    raw = frame(objects=[(A, 0, bytes(raw_length))], large=[])
    found = parse(raw)
    return found, payload


def test_payloads_that_lie() -> None:
    compress = zstandard.ZstdCompressor().compress
    good = compress(bytes(100))
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(100))
    dictionary = zstandard.ZstdCompressionDict(b"some bytes of a dictionary" * 20)
    skippable = b"\x50\x2a\x4d\x18\x64\0\0\0" + bytes(100)
    assert read_payload(*lying(good, 100)) == bytes(100)
    for payload in (
        b"",
        b"not zstd",
        good[:-1],
        good + b"x",
        good + good,
        compress(bytes(99)),
        compress(bytes(1 << 28)),
        unsized,
        skippable,
        zstandard.ZstdCompressor(dict_data=dictionary).compress(b"") + good,
    ):
        with pytest.raises(IntegrityError):
            read_payload(*lying(payload, 100))


def test_more_than_a_frame_holds_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="frame"):
        frame(objects=[(A, 0, bytes(MAX_RAW_BYTES + 1))])
    with pytest.raises(ValueError, match="frame"):
        frame(large=[(C, 0, 1, 1, bytes(32))] * (MAX_LARGE_ENTRIES + 1))
    assert MAX_HEADER_BYTES < MAX_FRAME_BYTES
