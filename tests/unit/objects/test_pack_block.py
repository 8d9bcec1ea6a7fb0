"""Blocks of packs: everything that a frame's table may say comes back, and nothing else passes."""

from __future__ import annotations

import random
import struct

import pytest
from blake3 import blake3

from vstore.objects.frame import NO_GENERATION, FrameSummary, assemble_frame, parse_header
from vstore.objects.frame_table import LARGE_ENTRY, OBJECT_ENTRY
from vstore.objects.pack import BlockPlace, PackIndex, encode_index, index_rows
from vstore.objects.pack_block import MalformedBlock, decode_block, encode_block

SALT = bytes(range(16))
ONE, TWO = b"one", b"another one"
GONE = b"\7" * 32


def digest(content: bytes) -> bytes:
    return blake3(content).digest()


def frame(
    offset: int,
    sequence: int,
    parent: bytes,
    generation: bytes,
    objects: list[tuple[bytes, int, int, int]],
    large: bytes = b"",
) -> FrameSummary:
    """A frame's header: objects are id, kind, state and length."""
    table, position = b"", 0
    for oid, kind, state, length in objects:
        table += OBJECT_ENTRY.pack(oid, kind, state, position, length)
        position += length if state == 0 else 0
    raw = assemble_frame(
        salt=SALT,
        offset=offset,
        sequence=sequence,
        parent=parent,
        generation=generation,
        counts=(len(objects), len(large) // LARGE_ENTRY.size),
        table=table + large,
        payload=b"stored",
        raw_length=position,
    )
    found = parse_header(raw, 0, segment=4, salt=SALT, offset=offset)
    assert isinstance(found, FrameSummary)
    found.digest = raw[-40:-8]
    return found


def three_frames() -> list[tuple[FrameSummary, bytes]]:
    """A generation that is stated, objects withheld and large; bulk; a generation at the end."""
    large = LARGE_ENTRY.pack(b"\3" * 32, 1, 0, 5_000_000, 77, b"\4" * 32)
    large += LARGE_ENTRY.pack(b"\5" * 32, 0, 1, 6_000_000, 78, bytes(32))
    first = frame(
        160,
        9,
        b"\1" * 32,
        digest(ONE),
        [(digest(ONE), 1, 0, len(ONE)), (GONE, 0, 1, 99), (digest(b""), 0, 0, 0)],
        large,
    )
    second = frame(160 + first.length, 10, digest(ONE), NO_GENERATION, [(GONE, 1, 1, 5)])
    third = frame(
        second.offset + second.length,
        11,
        digest(ONE),
        digest(TWO),
        [(digest(TWO), 1, 0, len(TWO))],
    )
    return [(first, ONE), (second, b""), (third, TWO)]


def place(frames: list[tuple[FrameSummary, bytes]], raw: bytes) -> BlockPlace:
    first = frames[0][0]
    return BlockPlace(
        stored=1,
        raw=len(raw),
        frames=len(frames),
        objects=sum(one.object_count for one, _ in frames),
        offset=first.offset,
        head=first.raw_parent,
        digest=bytes(32),
    )


def test_everything_comes_back() -> None:
    frames = three_frames()
    raw = encode_block(frames)
    found = decode_block(raw, place(frames, raw), 4, 9)
    for position, ((wanted, payload), one) in enumerate(zip(frames, found.frames, strict=True)):
        assert one.derived
        assert found.payload(position) == payload
        assert found.position(wanted.offset) == position
        assert (one.segment, one.offset, one.length) == (4, wanted.offset, wanted.length)
        assert (one.sequence, one.raw_parent) == (wanted.sequence, wanted.raw_parent)
        assert (one.generation, one.raw_head) == (wanted.generation, wanted.raw_head)
        assert (one.header_length, one.stored_length) == (wanted.header_length, 6)
        assert (one.raw_table, one.counts) == (wanted.raw_table, wanted.counts)
        assert (one.raw_ids(), list(one.objects())) == (wanted.raw_ids(), list(wanted.objects()))
        assert list(one.large()) == list(wanted.large())
        assert one.digest == wanted.digest[:8]
        one.check_table()
        assert one.find(GONE) == wanted.find(GONE)
    assert found.position(161) is None
    assert found.find(GONE) is found.frames[1]
    assert found.find(b"\5" * 32) is found.frames[0]
    assert found.find(b"\6" * 32) is None


def test_no_block_of_other_bytes_has_the_same_objects_unless_it_says_so() -> None:
    """A flipped bit makes another object, or is refused: it never goes unnoticed."""
    frames = three_frames()
    raw = encode_block(frames)
    wanted = [(one.raw_table, one.raw_head, one.length) for one, _ in frames]
    digests = range(3 * 13, 3 * 13 + 3 * 8)
    for at in range(len(raw)):
        altered = bytearray(raw)
        altered[at] ^= 1 << at % 8
        try:
            found = decode_block(bytes(altered), place(frames, raw), 4, 9)
        except MalformedBlock:
            continue
        tables = [(one.raw_table, one.raw_head, one.length) for one in found.frames]
        # The digests that frames had can't be checked by anybody: caches compare them.
        assert (tables == wanted) == (at in digests), at


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_are_refused_or_read(seed: int) -> None:
    noise = random.Random(seed)
    for _ in range(300):
        raw = noise.randbytes(noise.randrange(200))
        claimed = BlockPlace(1, len(raw), noise.randrange(1, 4), noise.randrange(5), 160,
                             bytes(32), bytes(32))  # fmt: skip
        with pytest.raises(MalformedBlock):
            decode_block(raw, claimed, 1, 1)


def test_sizes_that_lie() -> None:
    """Whatever a block claims, no more is taken than it has."""
    head = struct.pack("<IIIB", 65_536, 4_096, 19_000_000, 0)
    for raw in (head, head + bytes(8), head + bytes(8 + 65_536)):
        with pytest.raises(MalformedBlock):
            decode_block(raw, BlockPlace(1, len(raw), 1, 69_632, 160, bytes(32), bytes(32)), 1, 1)
    for values in ((65_537, 0, 300, 0), (0, 4_097, 300, 0), (0, 0, 1 << 31, 0), (0, 0, 199, 0),
                   (0, 0, 200, 1), (0, 0, 200, 3)):  # fmt: skip
        raw = struct.pack("<IIIB", *values) + bytes(8)
        claimed = BlockPlace(1, len(raw), 1, values[0] + values[1], 160, bytes(32), bytes(32))
        with pytest.raises(MalformedBlock):
            decode_block(raw, claimed, 1, 1)
    raw = struct.pack("<IIIB", 0, 0, 200, 0) + bytes(8)
    (found,) = decode_block(raw, BlockPlace(1, 21, 1, 0, 160, bytes(32), bytes(32)), 1, 1).frames
    assert (found.length, found.object_count, found.raw_length) == (200, 0, 0)


def test_the_index_finds_every_object() -> None:
    noise = random.Random(5)
    blocks = [[noise.randbytes(32) for _ in range(40)] for _ in range(30)]
    blocks[7].append(blocks[3][5])
    # The same first five bytes, and another object.
    alike = blocks[11][0][:5] + noise.randbytes(27)
    blocks[20].append(alike)
    rows = [row for number, ids in enumerate(blocks) for row in index_rows(number, ids)]
    index = PackIndex(encode_index(rows))
    for number, ids in enumerate(blocks):
        for oid in ids:
            assert number in set(index.find(oid))
    assert list(index.find(blocks[3][5])) == [3, 7]
    assert list(index.find(alike)) == [11, 20]
    assert list(index.find(bytes(32))) == []
    assert list(index.find(b"\xff" * 32)) == []
