"""The envelopes of the log: the segment header and the frame, fixed for ever.

A *frame* is one publication, or objects alone (a *bulk frame*). All integers are
little-endian and unsigned::

    header   magic 8 | header length u32 | feature bits u32 | segment salt 16 | own offset u64
             | sequence u64 | parent generation 32 | generation 32, zeros for bulk
             | object count u32 | large count u32 | payload stored u32 | payload raw u32
             | object entries: id 32, kind u8, state u8, offset u32, length u32
             | large entries: id 32, kind u8, state u8, raw u64, stored u64, stored digest 32
             | BLAKE3 of all before 32
    payload  one zstd frame that states its content size; nothing when raw is 0
    trailer  BLAKE3 of all before 32 | length of the frame u32 | magic 4

The trailer has a fixed size, so a reader can walk a log backwards from its end. Objects lie
in the payload one after another in the order of the table. A *withheld* object has an id
and a length but no bytes. This module is pure: bytes in, values out.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from vstore.errors import IntegrityError
from vstore.objects.frame_table import (
    LARGE_ENTRY,
    NO_GENERATION,
    OBJECT_ENTRY,
    TRAILER_BYTES,
    FrameSummary,
    LargeEntry,
    ObjectEntry,
    ObjectKind,
    ObjectState,
)

if TYPE_CHECKING:
    from zstandard import ZstdCompressor, ZstdDecompressor

__all__ = [
    "FRAME_MAGIC",
    "HEADER_FIXED",
    "MAX_FRAME_BYTES",
    "MAX_HEADER_BYTES",
    "MAX_LARGE_ENTRIES",
    "MAX_OBJECT_ENTRIES",
    "MAX_RAW_BYTES",
    "NO_GENERATION",
    "TRAILER_BYTES",
    "FrameSummary",
    "LargeEntry",
    "ObjectEntry",
    "ObjectKind",
    "ObjectState",
    "assemble_frame",
    "compress",
    "encode_frame",
    "parse_header",
    "parse_trailer",
    "read_payload",
    "summary_of",
    "trailer_matches",
]

FRAME_MAGIC: Final = b"\x89VSF\r\n\x1a\n"
END_MAGIC: Final = b"VSFe"

_FIXED: Final = struct.Struct("<8sII16sQQ32s32sIIII")
_TRAILER: Final = struct.Struct("<32sI4s")

HEADER_FIXED: Final = _FIXED.size
MAX_OBJECT_ENTRIES: Final = 65_536
MAX_LARGE_ENTRIES: Final = 4_096
MAX_HEADER_BYTES: Final = (
    HEADER_FIXED
    + MAX_OBJECT_ENTRIES * OBJECT_ENTRY.size
    + MAX_LARGE_ENTRIES * LARGE_ENTRY.size
    + 32
)
#: Bytes of the objects of one frame before compression.
MAX_RAW_BYTES: Final = 16 * 1024 * 1024
#: zstd adds at most this to what it can't compress.
_MAX_STORED_BYTES: Final = MAX_RAW_BYTES + MAX_RAW_BYTES // 256 + 64
MAX_FRAME_BYTES: Final = MAX_HEADER_BYTES + _MAX_STORED_BYTES + TRAILER_BYTES

_LEVEL: Final = 3
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


class _Contexts(threading.local):
    """zstd contexts: costly to make, and not to be shared between threads."""

    compressor: ZstdCompressor | None = None
    decompressor: ZstdDecompressor | None = None


_contexts: Final = _Contexts()


def encode_frame(
    *,
    salt: bytes,
    offset: int,
    sequence: int,
    parent: bytes,
    generation: bytes,
    objects: Iterable[tuple[bytes, int, bytes]],
    large: Sequence[tuple[bytes, int, int, int, bytes]] = (),
) -> bytes:
    """The bytes of one frame.

    Args:
        salt: The segment's 16 random bytes.
        offset: Where in the segment the frame will begin.
        sequence: Its number, 1 or more.
        parent: Head generation before it, 32 bytes, zeros for none.
        generation: What it publishes, 32 bytes, zeros for a bulk frame.
        objects: Id, kind (0 blob, 1 document) and bytes of each object.
        large: Id, kind, raw length, stored length and stored digest of each large object.

    Raises:
        ValueError: More than a frame may hold; callers split before.
    """
    table = bytearray()
    parts: list[bytes] = []
    position = 0
    for raw, kind, content in objects:
        table += OBJECT_ENTRY.pack(raw, kind, 0, position, len(content))
        parts.append(content)
        position += len(content)
    for raw, kind, length, stored_length, digest in large:
        table += LARGE_ENTRY.pack(raw, kind, 0, length, stored_length, digest)
    if (
        position > MAX_RAW_BYTES
        or len(parts) > MAX_OBJECT_ENTRIES
        or len(large) > (MAX_LARGE_ENTRIES)
    ):
        raise ValueError("more than one frame may hold")
    return assemble_frame(
        salt=salt,
        offset=offset,
        sequence=sequence,
        parent=parent,
        generation=generation,
        counts=(len(parts), len(large)),
        table=table,
        payload=compress(b"".join(parts)) if position else b"",
        raw_length=position,
    )


def assemble_frame(
    *,
    salt: bytes,
    offset: int,
    sequence: int,
    parent: bytes,
    generation: bytes,
    counts: tuple[int, int],
    table: bytes | bytearray,
    payload: bytes,
    raw_length: int,
) -> bytes:
    """The bytes of a frame whose table and compressed payload are there already.

    Args:
        salt, offset, sequence, parent, generation: As for :func:`encode_frame`.
        counts: How many objects, and how many large ones, the table has.
        table: The entries of both.
        payload: One zstd frame, or nothing.
        raw_length: What it becomes, in bytes.
    """
    header_length = HEADER_FIXED + len(table) + 32
    header = _FIXED.pack(
        FRAME_MAGIC,
        header_length,
        0,
        salt,
        offset,
        sequence,
        parent,
        generation,
        *counts,
        len(payload),
        raw_length,
    )
    header += table
    body = b"".join((header, blake3(header).digest(), payload))
    trailer = _TRAILER.pack(blake3(body).digest(), len(body) + TRAILER_BYTES, END_MAGIC)
    return body + trailer


def parse_header(
    buffer: bytes, at: int, *, segment: int, salt: bytes, offset: int, lightly: bool = False
) -> FrameSummary | int | None:
    """Read the header of the frame that begins at ``buffer[at]``.

    Args:
        buffer: Holds it.
        at: Where it begins in there.
        segment, salt, offset: What it must say of itself.
        lightly: Believe its digest.

    Returns:
        The summary; or how many bytes from ``at`` are needed when the buffer ends before
        the header does; or None when there is no valid header of this segment and offset.
    """
    if len(buffer) - at < HEADER_FIXED:
        return HEADER_FIXED
    fields = _FIXED.unpack_from(buffer, at)
    header_length: int = fields[1]
    magic, _, _, its_salt, its_offset, _, _, _, objects, large, stored, raw = fields
    if (
        magic != FRAME_MAGIC
        or its_salt != salt
        or its_offset != offset
        or objects > MAX_OBJECT_ENTRIES
        or large > MAX_LARGE_ENTRIES
        or stored > _MAX_STORED_BYTES
        or raw > MAX_RAW_BYTES
        or header_length
        != HEADER_FIXED + objects * OBJECT_ENTRY.size + large * LARGE_ENTRY.size + 32
    ):
        return None
    end = at + header_length
    if len(buffer) < end:
        return header_length
    body = buffer[at : end - 32]
    if not lightly and blake3(body).digest() != buffer[end - 32 : end]:
        return None
    return FrameSummary(segment, header_length, fields, body[HEADER_FIXED:])


def summary_of(frame: bytes, segment: int) -> FrameSummary:
    """The summary of a frame that :func:`encode_frame` has just made, for this segment."""
    fields = _FIXED.unpack_from(frame)
    header_length: int = fields[1]
    summary = FrameSummary(segment, header_length, fields, frame[HEADER_FIXED : header_length - 32])
    summary.digest = frame[-TRAILER_BYTES : -TRAILER_BYTES + 32]
    return summary


def parse_trailer(trailer: bytes) -> int | None:
    """The length of the frame that ends with these 40 bytes, None when it is no trailer."""
    _, length, magic = _TRAILER.unpack(trailer)
    if magic != END_MAGIC or not HEADER_FIXED + 32 + TRAILER_BYTES <= length <= MAX_FRAME_BYTES:
        return None
    return int(length)


def trailer_matches(summary: FrameSummary, buffer: bytes, at: int) -> bool:
    """Check the whole frame that begins at ``buffer[at]`` against its trailer.

    Sets ``summary.digest`` when it matches.
    """
    end = at + summary.length - TRAILER_BYTES
    digest, length, magic = _TRAILER.unpack_from(buffer, end)
    if (
        magic != END_MAGIC
        or length != summary.length
        or blake3(memoryview(buffer)[at:end]).digest() != digest
    ):
        return False
    summary.digest = digest
    return True


def read_payload(summary: FrameSummary, stored: bytes) -> bytes:
    """Decompress the payload of a frame; the sizes were bounded with the header.

    Raises:
        UnsupportedError: Features that this version doesn't know.
        IntegrityError: Not exactly one zstd frame of the stated size.
    """
    summary.check_table()
    if summary.raw_length == 0:
        if stored:
            raise _bad_payload(summary)
        return b""
    import zstandard

    if _contexts.decompressor is None:
        _contexts.decompressor = zstandard.ZstdDecompressor()
    try:
        # The size that zstd would reserve is the claimed one, which must be the bounded one.
        parameters = zstandard.get_frame_parameters(stored)
        if (
            stored[:4] != _ZSTD_MAGIC
            or parameters.content_size != summary.raw_length
            or parameters.dict_id != 0
        ):
            raise _bad_payload(summary)
        payload = _contexts.decompressor.decompress(stored, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise _bad_payload(summary) from error
    if len(payload) != summary.raw_length:  # pragma: no cover - zstd checks it too
        raise _bad_payload(summary)
    return payload


def _bad_payload(summary: FrameSummary) -> IntegrityError:
    return IntegrityError(
        f"the payload of the frame at {summary.segment}:{summary.offset} is malformed",
        kind="bad_frame",
        segment=summary.segment,
        offset=summary.offset,
    )


def compress(content: bytes) -> bytes:
    """One zstd frame of this content, which states its size."""
    if _contexts.compressor is None:
        from zstandard import ZstdCompressor

        _contexts.compressor = ZstdCompressor(level=_LEVEL)
    return _contexts.compressor.compress(content)
