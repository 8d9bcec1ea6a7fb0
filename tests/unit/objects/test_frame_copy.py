from __future__ import annotations

from vstore.objects.frame import (
    NO_GENERATION,
    FrameSummary,
    encode_frame,
    parse_header,
    read_payload,
    trailer_matches,
)
from vstore.objects.frame_copy import copy_frame, reduce_frame
from vstore.objects.ids import object_id

SALT, OTHER = bytes(16), b"s" * 16
HEAD, PARENT = object_id(b"head").to_bytes(), object_id(b"parent").to_bytes()
OBJECTS = [(object_id(one).to_bytes(), kind, one) for kind, one in ((0, b"one"), (1, b"{}"))]
LARGE = [(object_id(b"large").to_bytes(), 0, 2_000_000, 1000, bytes(range(32)))]


def _frame(generation: bytes = HEAD) -> tuple[FrameSummary, bytes]:
    raw = encode_frame(
        salt=SALT,
        offset=7,
        sequence=3,
        parent=PARENT,
        generation=generation,
        objects=OBJECTS,
        large=LARGE,
    )
    found = parse_header(raw, 0, segment=1, salt=SALT, offset=7)
    assert isinstance(found, FrameSummary)
    return found, raw[found.header_length : found.header_length + found.stored_length]


def _parse(raw: bytes) -> FrameSummary:
    found = parse_header(raw, 0, segment=2, salt=OTHER, offset=500)
    assert isinstance(found, FrameSummary)
    assert trailer_matches(found, raw, 0)
    found.check_table()
    return found


def test_a_copy_is_the_frame_as_if_written_there() -> None:
    frame, stored = _frame()
    raw = copy_frame(frame, stored, salt=OTHER, offset=500, sequence=9, parent=NO_GENERATION)
    assert raw == encode_frame(
        salt=OTHER,
        offset=500,
        sequence=9,
        parent=NO_GENERATION,
        generation=HEAD,
        objects=OBJECTS,
        large=LARGE,
    )
    assert _parse(raw).generation == object_id(b"head")


def test_a_reduced_frame_is_as_if_written_with_less() -> None:
    frame, stored = _frame()
    payload = read_payload(frame, stored)
    keep = [OBJECTS[1][0], LARGE[0][0]]
    raw = reduce_frame(
        frame,
        payload,
        keep,
        salt=OTHER,
        offset=500,
        sequence=9,
        parent=PARENT,
        publish=False,
    )
    assert raw == encode_frame(
        salt=OTHER,
        offset=500,
        sequence=9,
        parent=PARENT,
        generation=NO_GENERATION,
        objects=OBJECTS[1:],
        large=LARGE,
    )
    assert [one.hex() for one in _parse(raw).raw_ids()] == [one.hex() for one in keep]


def test_nothing_is_kept_twice() -> None:
    raw = encode_frame(
        salt=SALT,
        offset=7,
        sequence=1,
        parent=PARENT,
        generation=HEAD,
        objects=[*OBJECTS, OBJECTS[0]],
        large=[*LARGE, *LARGE],
    )
    frame = parse_header(raw, 0, segment=1, salt=SALT, offset=7)
    assert isinstance(frame, FrameSummary)
    stored = raw[frame.header_length : frame.header_length + frame.stored_length]
    once = reduce_frame(
        frame,
        read_payload(frame, stored),
        set(frame.raw_ids()),
        salt=OTHER,
        offset=500,
        sequence=1,
        parent=PARENT,
        publish=True,
    )
    assert _parse(once).raw_ids() == [OBJECTS[0][0], OBJECTS[1][0], LARGE[0][0]]


def test_withheld_objects_stay_withheld() -> None:
    frame, stored = _frame()
    table = bytearray(frame.raw_table)
    table[33] = 1  # the first one's state
    table[34 + 8 + 34 : 34 + 8 + 38] = bytes(4)  # so the second one begins where it did
    frame._table = bytes(table)
    frame.raw_length = 2
    raw = reduce_frame(
        frame,
        b"{}",
        frame.raw_ids(),
        salt=OTHER,
        offset=500,
        sequence=9,
        parent=PARENT,
        publish=True,
    )
    assert [(one.state, one.offset, one.length) for one in _parse(raw).objects()] == [
        ("withheld", 0, 3),
        ("present", 0, 2),
    ]
    assert stored


def test_a_frame_without_any_object() -> None:
    frame, stored = _frame()
    raw = reduce_frame(
        frame,
        read_payload(frame, stored),
        [],
        salt=OTHER,
        offset=500,
        sequence=9,
        parent=PARENT,
        publish=True,
    )
    assert (_parse(raw).object_count, _parse(raw).raw_length) == (0, 0)
