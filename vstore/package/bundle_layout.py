"""The bytes of a bundle's archive: a ZIP file in the one form that its members allow.

Members are stored, never compressed; every other byte of the archive follows from their
names, sizes and CRC-32 values, so a reader builds it again and compares, and nothing hides
between members (spec: lifecycle, "Transport"). This module is pure: bytes in, values out.
``docs/spec/bundle.md`` has the same for other languages.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = [
    "CENTRAL_FIXED",
    "END_BYTES",
    "END_WITH_64_BYTES",
    "LOCAL_MAGIC",
    "MAX_CENTRAL_BYTES",
    "MAX_MEMBERS",
    "ArchiveEnd",
    "CentralEntry",
    "Member",
    "central_directory",
    "central_entry",
    "end_records",
    "local_header",
    "next_entry",
    "offsets",
    "parse_end",
]

LOCAL_MAGIC: Final = b"PK\x03\x04"
_CENTRAL_MAGIC: Final = b"PK\x01\x02"
_END_MAGIC: Final = b"PK\x05\x06"
_END64_MAGIC: Final = b"PK\x06\x06"
_LOCATOR_MAGIC: Final = b"PK\x06\x07"

_LOCAL: Final = struct.Struct("<4s5H3I2H")
_CENTRAL: Final = struct.Struct("<4s6H3I5H2I")
_END: Final = struct.Struct("<4s4H2IH")
_END64: Final = struct.Struct("<4sQ2H2I4Q")
_LOCATOR: Final = struct.Struct("<4sIQI")
_EXTRA: Final = struct.Struct("<2H")

CENTRAL_FIXED: Final = _CENTRAL.size
END_BYTES: Final = _END.size
END_WITH_64_BYTES: Final = _END64.size + _LOCATOR.size + _END.size

#: Members that a bundle has at the most, so that their number never needs ZIP64.
MAX_MEMBERS: Final = 65_534
#: Bytes of the central directory at the most: more than so many members need.
MAX_CENTRAL_BYTES: Final = 16 * 1024 * 1024

_MARK: Final = 0xFFFFFFFF
_STORED: Final = 10
_ZIP64: Final = 45
#: Made on Unix by version 4.5 of the format, whatever makes it.
_MADE_BY: Final = 3 << 8 | _ZIP64
#: 1 January 1980, midnight: the first instant of ZIP.
_TIME: Final = 0
_DATE: Final = 0x0021
#: An ordinary file, read by all and written by its owner.
_ATTRIBUTES: Final = 0o100644 << 16


class Member(NamedTuple):
    """One file of the archive: all that its headers depend on."""

    name: bytes
    #: In bytes.
    size: int
    crc: int


class CentralEntry(NamedTuple):
    """What an entry of a central directory claims."""

    member: Member
    #: Where its local header begins.
    offset: int
    flags: int
    method: int
    #: Type and permissions as Unix has them, 0 for none.
    mode: int
    #: Bytes of the entry in the directory.
    length: int


class ArchiveEnd(NamedTuple):
    """What the records at the end of an archive claim."""

    members: int
    directory_size: int
    directory_offset: int
    #: Bytes of the records.
    length: int


def local_header(member: Member) -> bytes:
    """The bytes in front of a member's content."""
    name, size, crc = member
    extra = b""
    if size >= _MARK:
        extra = _EXTRA.pack(1, 16) + struct.pack("<2Q", size, size)
    shown = min(size, _MARK)
    needed = _ZIP64 if extra else _STORED
    return (
        _LOCAL.pack(
            LOCAL_MAGIC, needed, 0, 0, _TIME, _DATE, crc, shown, shown, len(name), len(extra)
        )
        + name
        + extra
    )


def central_entry(member: Member, offset: int) -> bytes:
    """A member's entry in the central directory.

    Args:
        member: The member.
        offset: Where its local header begins.
    """
    name, size, crc = member
    wide = b""
    if size >= _MARK:
        wide += struct.pack("<2Q", size, size)
    if offset >= _MARK:
        wide += struct.pack("<Q", offset)
    extra = _EXTRA.pack(1, len(wide)) + wide if wide else b""
    shown = min(size, _MARK)
    return (
        _CENTRAL.pack(
            _CENTRAL_MAGIC,
            _MADE_BY,
            _ZIP64 if extra else _STORED,
            0,
            0,
            _TIME,
            _DATE,
            crc,
            shown,
            shown,
            len(name),
            len(extra),
            0,
            0,
            0,
            _ATTRIBUTES,
            min(offset, _MARK),
        )
        + name
        + extra
    )


def offsets(members: Sequence[Member]) -> list[int]:
    """Where each member's local header begins, and at the end where the directory does."""
    position = 0
    found = [0]
    for member in members:
        extra = 20 if member.size >= _MARK else 0
        position += _LOCAL.size + len(member.name) + extra + member.size
        found.append(position)
    return found


def central_directory(members: Sequence[Member]) -> bytes:
    """All entries of the central directory."""
    return b"".join(map(central_entry, members, offsets(members)))


def end_records(count: int, directory_size: int, directory_offset: int) -> bytes:
    """The records behind the central directory."""
    wide = b""
    if directory_offset >= _MARK:
        wide = _END64.pack(
            _END64_MAGIC,
            _END64.size - 12,
            _MADE_BY,
            _ZIP64,
            0,
            0,
            count,
            count,
            directory_size,
            directory_offset,
        ) + _LOCATOR.pack(_LOCATOR_MAGIC, 0, directory_offset + directory_size, 1)
    shown = min(directory_offset, _MARK)
    return wide + _END.pack(_END_MAGIC, 0, 0, count, count, directory_size, shown, 0)


def parse_end(tail: bytes) -> ArchiveEnd | None:
    """Read the records at the end; None when these bytes don't end with them.

    Args:
        tail: The last ``END_WITH_64_BYTES`` of the file, or all of a shorter one.
    """
    if len(tail) < END_BYTES:
        return None
    magic, _, _, _, count, size, offset, _ = _END.unpack_from(tail, len(tail) - END_BYTES)
    if magic != _END_MAGIC:
        return None
    wide = len(tail) - END_WITH_64_BYTES
    if wide >= 0 and tail[wide : wide + 4] == _END64_MAGIC and offset == _MARK:
        *_, count, size, offset = _END64.unpack_from(tail, wide)
        return ArchiveEnd(count, size, offset, END_WITH_64_BYTES)
    return ArchiveEnd(count, size, offset, END_BYTES)


def next_entry(directory: bytes, at: int) -> CentralEntry | None:
    """The entry of a central directory that begins at ``directory[at]``, None for none.

    Nothing is checked but that it fits: whoever asks compares it with what it should be.
    """
    if len(directory) - at < CENTRAL_FIXED:
        return None
    fields = _CENTRAL.unpack_from(directory, at)
    magic, _, _, flags, method, _, _, crc, _, size, name_length, extra_length = fields[:12]
    comment_length, attributes, offset = fields[12], fields[15], fields[16]
    name_end = at + CENTRAL_FIXED + name_length
    end = name_end + extra_length + comment_length
    if magic != _CENTRAL_MAGIC or end > len(directory):
        return None
    name = directory[at + CENTRAL_FIXED : name_end]
    extra = directory[name_end : name_end + extra_length]
    wide = [one[0] for one in struct.iter_unpack("<Q", extra[4 : 4 + (len(extra) - 4) // 8 * 8])]
    if size == _MARK and len(wide) >= 2:
        size = wide[0]
        del wide[:2]
    if offset == _MARK and wide:
        offset = wide[0]
    return CentralEntry(Member(name, size, crc), offset, flags, method, attributes >> 16, end - at)
