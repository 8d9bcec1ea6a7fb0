"""Frames at another place of another log: as they are, or with some of their objects.

Compaction and transport rewrite frames without breaking the history, because frames chain by
sequence, parent generation and generation alone (spec: storage, "On disk"). The compressed
bytes are taken over as they are unless objects are left out.
"""

from __future__ import annotations

from collections.abc import Collection

from vstore.objects.frame import FrameSummary, assemble_frame, compress
from vstore.objects.frame_table import LARGE_ENTRY, OBJECT_ENTRY

__all__ = ["copy_frame", "reduce_frame"]


def copy_frame(
    frame: FrameSummary,
    stored: bytes,
    *,
    salt: bytes,
    offset: int,
    sequence: int,
    parent: bytes,
) -> bytes:
    """The bytes of a frame at another place, its table and payload unchanged.

    Args:
        frame: The frame; its features are known.
        stored: Its compressed payload.
        salt: The new segment's salt.
        offset: Where in that segment it will begin.
        sequence: Its new number.
        parent: The head generation before it, 32 bytes, zeros for none.
    """
    return assemble_frame(
        salt=salt,
        offset=offset,
        sequence=sequence,
        parent=parent,
        generation=frame.raw_generation,
        counts=frame.counts,
        table=frame.raw_table,
        payload=stored,
        raw_length=frame.raw_length,
    )


def reduce_frame(
    frame: FrameSummary,
    payload: bytes,
    keep: Collection[bytes],
    *,
    salt: bytes,
    offset: int,
    sequence: int,
    parent: bytes,
    publish: bool,
) -> bytes:
    """The bytes of a frame at another place with only some of its objects.

    Args:
        frame: The frame; its features are known and its table was checked.
        payload: Its uncompressed payload.
        keep: The ids of the objects to keep, 32 bytes each; each is kept once.
        salt, offset, sequence, parent: As for :func:`copy_frame`.
        publish: Whether it still publishes its generation; else it becomes a bulk frame.
    """
    left = set(keep)
    table = bytearray()
    parts: list[bytes] = []
    small = large = position = 0
    objects, _ = frame.counts
    split = objects * OBJECT_ENTRY.size
    for raw, kind, state, begin, length in OBJECT_ENTRY.iter_unpack(frame.raw_table[:split]):
        if raw not in left:
            continue
        left.discard(raw)
        table += OBJECT_ENTRY.pack(raw, kind, state, position, length)
        small += 1
        if state == 0:
            parts.append(payload[begin : begin + length])
            position += length
    for at in range(split, len(frame.raw_table), LARGE_ENTRY.size):
        entry = frame.raw_table[at : at + LARGE_ENTRY.size]
        if entry[:32] in left:
            left.discard(entry[:32])
            table += entry
            large += 1
    return assemble_frame(
        salt=salt,
        offset=offset,
        sequence=sequence,
        parent=parent,
        generation=frame.raw_generation if publish else bytes(32),
        counts=(small, large),
        table=table,
        payload=compress(b"".join(parts)) if position else b"",
        raw_length=position,
    )
