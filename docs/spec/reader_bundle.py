"""Bundles for the independent reader: the ZIP file of ``bundle.md``, built again and compared."""

from __future__ import annotations

import re
import struct
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from blake3 import blake3
from reader_documents import Schemas, Unreadable, parse, parse_loosely

Report = Callable[[str, str, str], None]

_WIDE: Final = 0xFFFFFFFF
_MAX_MEMBERS: Final = 65_534
_MAX_DIRECTORY: Final = 16 << 20
_CENTRAL: Final = struct.Struct("<4s6H3I5H2I")
_NAMES: Final = (
    r"VSTORE",
    r"BUNDLE",
    r"refs/[a-z][a-z0-9_.]{0,63}",
    r"objects/log/(?!0{8})[0-9]{8}\.vlog",
    r"objects/large/[0-9a-f]{2}/[0-9a-f]{62}",
)


class Member(NamedTuple):
    """A file of the archive."""

    name: bytes
    crc: int
    size: int


def local_header(member: Member) -> bytes:
    """The bytes in front of a member's content."""
    wide = member.size >= _WIDE
    shown = min(member.size, _WIDE)
    extra = struct.pack("<2H2Q", 1, 16, member.size, member.size) if wide else b""
    fixed = struct.pack(
        "<4s5H3I2H",
        *(b"PK\3\4", 45 if wide else 10, 0, 0, 0, 0x21, member.crc, shown, shown),
        *(len(member.name), len(extra)),
    )
    return fixed + member.name + extra


def central_entry(member: Member, offset: int) -> bytes:
    """A member's entry in the central directory."""
    shown = min(member.size, _WIDE)
    numbers = [member.size, member.size] if member.size >= _WIDE else []
    numbers += [offset] if offset >= _WIDE else []
    extra = struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""
    fixed = _CENTRAL.pack(
        *(b"PK\1\2", 0x032D, 45 if extra else 10, 0, 0, 0, 0x21, member.crc, shown, shown),
        *(len(member.name), len(extra), 0, 0, 0, 0x81A40000, min(offset, _WIDE)),
    )
    return fixed + member.name + extra


def end_records(count: int, size: int, offset: int) -> bytes:
    """What stands behind the central directory."""
    wide = b""
    if offset >= _WIDE:
        wide = struct.pack(
            "<4sQ2H2I4Q", b"PK\6\6", 44, 0x032D, 45, 0, 0, count, count, size, offset
        ) + struct.pack("<4sIQI", b"PK\6\7", 0, offset + size, 1)
    shown = min(offset, _WIDE)
    return wide + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, size, shown, 0)


class Bundle:
    """The members of a bundle, with what a package's folder offers.

    Args:
        path: The file.
    """

    bundle = True
    #: A segment ends with the frame that makes it as long as this.
    segment_bytes = 8_388_608

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        self._members: dict[str, tuple[int, Member]] = {}
        #: What an incremental bundle says of itself.
        self.needs: dict[str, Any] | None = None

    @property
    def since(self) -> bytes:
        """The generation that it continues, zeros for none."""
        return bytes.fromhex(self.needs["since"][3:]) if self.needs else bytes(32)

    @property
    def limit(self) -> int:
        """Bytes that all objects may have together."""
        return 268_435_456 + 1_000 * len(self._data)

    # ---- the archive

    def check(self, report: Report, schemas: Schemas) -> bool:
        """Compare every byte outside of the contents; whether members can be read."""
        try:
            members = self._directory(report)
            if members is None:
                return False
        except (ValueError, struct.error) as error:
            report("container", "error", f"not the archive that its members ask for: {error}")
            return False
        self._take_names(members, report)
        for name, (start, member) in self._members.items():
            if zlib.crc32(self._data[start : start + member.size]) != member.crc:
                report("container", "error", f"{name}: another CRC-32")
        return self._check_needs(report, schemas)

    def _directory(self, report: Report) -> list[Member] | None:
        """The members, None with a finding where this is no bundle or can't be judged."""
        data = self._data
        if data[-22:-18] != b"PK\5\6":
            if data[:4] == b"PK\3\4":
                raise ValueError("no end")
            report("verifier", "unsupported", "no bundle")
            return None
        count, size, offset = struct.unpack("<H2I", data[-12:-2])
        end = 22
        if offset == _WIDE and data[-98:-94] == b"PK\6\6":
            count, size, offset = struct.unpack("<3Q", data[-66:-42])
            end = 98
        if count > _MAX_MEMBERS or size > _MAX_DIRECTORY:
            report("container", "unsupported", "more members than this reader takes on")
            return None
        if offset + size + end != len(data):
            raise ValueError("parts that don't fit")
        members: list[Member] = []
        at = offset
        for _ in range(count):
            fields = _CENTRAL.unpack_from(data, at)
            if fields[0] != b"PK\1\2":
                raise ValueError("a malformed entry")
            flags, method, crc, length = fields[3], fields[4], fields[7], fields[9]
            if method or flags & 0x2041:
                report("container", "unsupported", "a compressed or encrypted member")
                return None
            name_end = at + _CENTRAL.size + fields[10]
            if length == _WIDE and fields[11] >= 12:
                (length,) = struct.unpack_from("<Q", data, name_end + 4)
            members.append(Member(data[at + _CENTRAL.size : name_end], crc, length))
            at = name_end + fields[11] + fields[12]
        if at != offset + size:
            raise ValueError("something behind the directory")
        if not members:
            report("verifier", "unsupported", "an archive without members")
            return None
        self._compare(members, offset)
        return members

    def _compare(self, members: list[Member], offset: int) -> None:
        position, directory = 0, b""
        for member in members:
            header = local_header(member)
            if self._data[position : position + len(header)] != header:
                raise ValueError("an unexpected header")
            directory += central_entry(member, position)
            position += len(header) + member.size
        end = end_records(len(members), len(directory), position)
        if position != offset or self._data[position:] != directory + end:
            raise ValueError("an unexpected directory or end")

    def _take_names(self, members: list[Member], report: Report) -> None:
        position, last, seen = 0, (-1, ""), set()
        for member in members:
            start = position + len(local_header(member))
            position = start + member.size
            name = member.name[:200].decode("ascii", "surrogateescape")
            folded = unicodedata.normalize(
                "NFKC", member.name[:200].decode("utf-8", "surrogateescape")
            ).casefold()
            ranks = [rank for rank, one in enumerate(_NAMES) if re.fullmatch(one, name)]
            key = (ranks[0], name) if ranks else last
            if not ranks or folded in seen or key < last:
                report("container", "error", f"{name!r}: no member of this name belongs here")
            else:
                last = key
            seen.add(folded)
            if ranks:
                self._members.setdefault(name, (start, member))

    def _check_needs(self, report: Report, schemas: Schemas) -> bool:
        raw = self.read("BUNDLE", 4097)
        if raw is None:
            return True
        types = {
            **dict.fromkeys(("bundle", "since_generation", "head_generation"), "positive"),
            **dict.fromkeys(("case_id", "package_id"), "name"),
            **dict.fromkeys(("since", "head"), "object id"),
        }
        try:
            loose = parse_loosely(raw)
            version = loose.get("bundle") if isinstance(loose, dict) else None
            if type(version) is int and version != 1:
                report("container", "unsupported", f"BUNDLE of version {version}")
                return False
            found = parse(raw.removesuffix(b"\n"))
            if (
                len(raw) > 4096
                or not raw.endswith(b"\n")
                or not isinstance(found, dict)
                or found.keys() != types.keys()
                or not all(schemas.checker(kind)(found[one], []) for one, kind in types.items())
            ):
                raise Unreadable("other members")
        except Unreadable as error:
            report("container", "error", f"BUNDLE is damaged: {error}")
            return False
        self.needs = found
        report("container", "unsupported", "an incremental bundle without what it continues")
        return True

    # ---- what a folder offers too

    def names(self) -> Iterator[tuple[str, str]]:
        """The known members, and that each is a file."""
        for name in self._members:
            if name != "BUNDLE":
                yield name, "file"

    def read(self, path: str, limit: int = -1) -> bytes | None:
        """The first bytes of a member, None when there is none."""
        found = self._members.get(path)
        if found is None:
            return None
        start, member = found
        size = member.size if limit < 0 else min(limit, member.size)
        return self._data[start : start + size]

    def segment(self, number: int) -> bytes:
        """The bytes of a segment."""
        return self.read(f"objects/log/{number:08d}.vlog") or b""

    def segments(self) -> list[int]:
        """The numbers of all segments."""
        return [int(name[12:20]) for name in self._members if name.startswith("objects/log/")]

    def refs(self, _report: Report) -> dict[str, bytes]:
        """The bytes of each ref."""
        names = [name for name in self._members if name.startswith("refs/")]
        return {name[5:]: self.read(name, 80) or b"" for name in names}

    def salt(self, number: int, head: bytes) -> bytes:
        """The salt of a segment."""
        seed = b"vstore-bundle-salt-v1\0" + head + self.since + number.to_bytes(8, "little")
        return blake3(seed).digest(16)
