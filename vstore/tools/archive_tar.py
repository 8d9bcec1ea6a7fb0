"""Reading tar archives strictly, one header after another (POSIX ustar, pax, GNU names).

Written for hostile input rather than for every tar ever made: a header with a wrong
checksum, a cut archive, a missing end, bytes behind the end, devices, sparse files and
types of vendors are errors, where common readers stop or skip without a word. Names are
the bytes of the archive, in whatever encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vstore.tools.archive_members import Member, clean_path, refuse
from vstore.tools.archive_stream import UnpackedStream

__all__ = ["MAX_EXTENSION_BYTES", "TarReader"]

_BLOCK: Final = 512
_ZEROS: Final = bytes(_BLOCK)
#: Longest pax header or GNU long name.
MAX_EXTENSION_BYTES: Final = 1 << 20
_MAX_EXTENSIONS: Final = 8
_CHUNK: Final = 64 * 1024

_DEVICES: Final = {b"3": "a character device", b"4": "a block device", b"6": "a named pipe"}


class _Header(NamedTuple):
    name: bytes
    link: bytes
    size: int
    mode: int
    kind: bytes


class TarReader:
    """Walks a tar once, forward.

    Args:
        stream: Its unpacked bytes.
    """

    def __init__(self, stream: UnpackedStream) -> None:
        self._stream = stream
        self._left = 0
        self._padding = 0

    def members(self) -> Iterator[tuple[Member, bytes]]:
        """Each member, and the target's bytes of a symbolic link.

        The bytes of a file are read with :meth:`read` before the next member is asked for;
        what isn't read is skipped. The archive's root itself is no member.

        Raises:
            InvalidError: ``damaged_archive``, ``truncated_archive``, ``trailing_bytes``,
                ``not_representable``, or a name that is refused (see
                :func:`~vstore.tools.archive_members.clean_path`).
            LimitExceeded: As :meth:`UnpackedStream.read`.
        """
        while (header := self._next_member()) is not None:
            member = _member(header)
            if member.path:
                yield member, header.link if member.kind == "link" else b""
            elif member.kind != "folder":
                refuse("invalid_path", "a file in the place of the archive's root", header.name)

    def read(self, count: int = -1) -> bytes:
        """Bytes of the current file, at most ``count``, or all that are left where negative."""
        wanted = self._left if count < 0 else min(count, self._left)
        piece = self._exactly(wanted)
        self._left -= wanted
        return piece

    def _next_member(self) -> _Header | None:
        extension: dict[bytes, bytes] = {}
        for _ in range(_MAX_EXTENSIONS):
            header = self._next_header()
            if header is None:
                if extension:
                    refuse("damaged_archive", "the archive ends behind a pax header")
                return None
            if header.kind not in b"xgLK":
                return self._extended(header, extension)
            if header.size > MAX_EXTENSION_BYTES:
                refuse("damaged_archive", "a pax header that is too large", header.name)
            payload = self.read()
            if header.kind == b"L":
                extension[b"path"] = payload.rstrip(b"\0")
            elif header.kind == b"K":
                extension[b"linkpath"] = payload.rstrip(b"\0")
            elif header.kind == b"x":
                extension.update(_pax_records(payload))
            elif {b"path", b"linkpath", b"size"} & _pax_records(payload).keys():
                refuse("damaged_archive", "a global pax header that names a file", header.name)
        return refuse("damaged_archive", "too many pax headers before one member")

    def _extended(self, header: _Header, extension: dict[bytes, bytes]) -> _Header:
        if any(key.startswith(b"GNU.sparse.") for key in extension):
            refuse("not_representable", "a sparse file can't be captured", header.name)
        size = header.size
        if b"size" in extension:
            digits = extension[b"size"]
            if not digits.isdigit() or len(digits) > 18:
                refuse("damaged_archive", "a pax size that is no number", header.name)
            size = int(digits)
        header = header._replace(
            name=extension.get(b"path", header.name),
            link=extension.get(b"linkpath", header.link),
            size=size,
        )
        if header.kind not in (b"0", b"\0", b"7"):
            if size:
                refuse("damaged_archive", "a member with bytes that is no file", header.name)
            size = 0
        self._expect(size)
        return header

    def _next_header(self) -> _Header | None:
        self._skip()
        block = self._stream.read(_BLOCK)
        if block == _ZEROS:
            self._check_end()
            return None
        if len(block) < _BLOCK:
            refuse("truncated_archive", "the archive ends without its end marker")
        stored = _number(block[148:156])
        if stored != sum(block[:148]) + 8 * 32 + sum(block[156:]):
            refuse("damaged_archive", "a tar header with a wrong checksum")
        name = block[:100].split(b"\0", 1)[0]
        if block[257:263] == b"ustar\0" and (prefix := block[345:500].split(b"\0", 1)[0]):
            name = prefix + b"/" + name
        header = _Header(
            name=name,
            link=block[157:257].split(b"\0", 1)[0],
            size=_number(block[124:136]),
            mode=_number(block[100:108]),
            kind=block[156:157],
        )
        if header.kind in b"xgLK":
            self._expect(header.size)
        return header

    def _expect(self, size: int) -> None:
        self._left = size
        self._padding = -size % _BLOCK

    def _skip(self) -> None:
        while self._left:
            self.read(_CHUNK)
        self._exactly(self._padding)
        self._padding = 0

    def _check_end(self) -> None:
        while rest := self._stream.read(_CHUNK):
            if rest.strip(b"\0"):
                refuse("trailing_bytes", "the archive's end is followed by something else")

    def _exactly(self, count: int) -> bytes:
        piece = self._stream.read(count)
        if len(piece) < count:
            refuse("truncated_archive", "the archive ends within a member")
        return piece


def _member(header: _Header) -> Member:
    name, kind = header.name, header.kind
    if kind in _DEVICES:
        refuse("not_representable", f"{_DEVICES[kind]} can't be captured", name)
    if kind == b"5" or (kind in (b"0", b"\0") and name.endswith(b"/") and not header.size):
        return Member(clean_path(name), "folder")
    path = clean_path(name)
    if name.endswith(b"/"):
        refuse("invalid_path", "a member whose name is no path", name)
    if kind in (b"0", b"\0", b"7"):
        return Member(path, "file", size=header.size, executable=bool(header.mode & 0o100))
    if kind == b"2":
        return Member(path, "link")
    if kind == b"1":
        return Member(path, "hardlink", target=clean_path(header.link))
    if kind == b"S":
        refuse("not_representable", "a sparse file can't be captured", name)
    return refuse("not_representable", "a member of a type that tar doesn't define", name)


def _number(raw: bytes) -> int:
    """Octal digits, or GNU's base 256."""
    if raw[:1] == b"\x80":
        number = int.from_bytes(raw[1:])
        if number >= 1 << 62:
            refuse("damaged_archive", "a tar header with an impossible number")
        return number
    digits = raw.strip(b"\0 ")
    if not digits:
        return 0
    try:
        if not digits.isdigit():
            raise ValueError
        return int(digits, 8)
    except ValueError:
        return refuse("damaged_archive", "a tar header with a number that is none")


def _pax_records(payload: bytes) -> dict[bytes, bytes]:
    records: dict[bytes, bytes] = {}
    at = 0
    while at < len(payload):
        space = payload.find(b" ", at, at + 8)
        digits = payload[at:space] if space > at else b""
        end = at + int(digits) if digits.isdigit() else 0
        key, equals, value = payload[space + 1 : end - 1].partition(b"=")
        if end <= space + 1 or end > len(payload) or payload[end - 1 : end] != b"\n" or not equals:
            refuse("damaged_archive", "a pax header that is malformed")
        records[key] = value
        at = end
    return records
