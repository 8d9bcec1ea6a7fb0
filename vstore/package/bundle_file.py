"""A bundle file, opened in place: its members found, and every other byte of it compared.

Nothing is unpacked. Sizes that the file claims are bounded before memory is reserved, and
what a member's content is, others check: here it is only where it lies and what its CRC-32 is.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from vstore.errors import (
    IntegrityError,
    NotFoundError,
    StorageError,
    UnsupportedError,
    VStoreError,
)
from vstore.objects.segment_files import Window, file_size, pread
from vstore.package.bundle_layout import (
    CENTRAL_FIXED,
    END_WITH_64_BYTES,
    LOCAL_MAGIC,
    MAX_CENTRAL_BYTES,
    MAX_MEMBERS,
    ArchiveEnd,
    CentralEntry,
    Member,
    central_entry,
    end_records,
    local_header,
    next_entry,
    offsets,
    parse_end,
)
from vstore.package.bundle_names import is_known, name_faults, shown_name

__all__ = ["BundleFault", "BundleFile", "FaultKind", "is_bundle"]

FaultKind = Literal["no_bundle", "bytes", "member", "unsupported", "limit"]

_CHUNK: Final = 1 << 18
_MAX_FAULTS: Final = 100
_ENCRYPTED: Final = 0x2041


class BundleFault(NamedTuple):
    """One way in which a file isn't a bundle.

    ``no_bundle``: it is something else. ``bytes``: bytes of the archive aren't what its
    members ask for. ``member``: a member that no bundle has, or not there. ``unsupported``:
    compressed or encrypted. ``limit``: more than this reader takes on.
    """

    kind: FaultKind
    message: str
    #: Where in the file, in bytes.
    offset: int | None = None
    #: The member's name, not yet safe to show.
    name: str | None = None

    def error(self) -> VStoreError:
        """The error that says so."""
        message = self.message if self.offset is None else f"{self.message}, at {self.offset}"
        if self.kind == "no_bundle":
            return NotFoundError(
                message, kind="not_a_package", hint="name a package, or a bundle of one"
            )
        if self.kind in ("unsupported", "limit"):
            return UnsupportedError(
                f"the bundle can't be read: {message}",
                kind=f"bundle_{self.kind}",
                offset=self.offset,
                path=self.name,
            )
        return IntegrityError(
            f"the bundle is damaged: {message}",
            kind="bad_bundle",
            hint="vstore verify says more; get the bundle again from where it came from",
            offset=self.offset,
            path=self.name,
        )


def is_bundle(path: Path) -> bool:
    """Whether a path leads to an ordinary file that begins as bundles do."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
        return regular and os.pread(fd, len(LOCAL_MAGIC), 0) == LOCAL_MAGIC
    except OSError:
        return False
    finally:
        os.close(fd)


class BundleFile:
    """The members of a bundle, and what is wrong with the archive.

    Args:
        path: The file.

    Raises:
        StorageError: It can't be opened or read (``unreadable``, ``no_file``), or is no
            ordinary file (``not_a_file``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: What is wrong, at most 100 of it.
        self.faults: list[BundleFault] = []
        #: Whether the members are where the directory says, whatever else is wrong.
        self.readable = False
        self._windows: dict[str, tuple[Window, int]] = {}
        self.fd = _open(path)
        try:
            #: In bytes.
            self.size = file_size(self.fd)
            self._read_archive()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def check(self) -> None:
        """Refuse what is not a bundle to the last byte of its headers.

        Raises:
            IntegrityError, UnsupportedError, NotFoundError: The first fault.
        """
        if self.faults:
            raise self.faults[0].error()

    # ---- members

    @property
    def names(self) -> list[str]:
        """The known names, in the order of the archive."""
        return list(self._windows)

    def window(self, name: str) -> Window | None:
        """Where a member's content lies; None when there is no such member."""
        found = self._windows.get(name)
        return None if found is None else found[0]

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """The content of a small member, its CRC-32 checked; None when there is none.

        At most ``max_bytes + 1`` are read: a longer answer says that it is too long.

        Raises:
            IntegrityError: The content has another CRC-32.
            StorageError: The file can't be read.
        """
        found = self._windows.get(name)
        if found is None:
            return None
        window, crc = found
        content = pread(window, max_bytes + 1, 0)
        if window.size <= max_bytes and (len(content) != window.size or zlib.crc32(content) != crc):
            raise _wrong_crc(name, window).error()
        return content

    def pieces(self, name: str, step: int = _CHUNK) -> Iterator[bytes]:
        """The content of a member, at most ``step`` bytes at a time.

        Raises:
            StorageError: The file can't be read.
        """
        window = self.window(name)
        position = 0
        while window is not None and position < window.size:
            chunk = pread(window, max(step, _CHUNK), position)
            if not chunk:
                return
            position += len(chunk)
            if len(chunk) <= step:
                yield chunk
            else:
                yield from (chunk[at : at + step] for at in range(0, len(chunk), step))

    def check_content(self, name: str, size: int, crc: int) -> None:
        """Compare what was read of a member with what the archive says.

        Raises:
            IntegrityError: It differs.
        """
        window, expected = self._windows[name]
        if (size, crc) != (window.size, expected):
            raise _wrong_crc(name, window).error()

    def check_contents(self) -> Iterator[BundleFault]:
        """Read every member and compare its CRC-32.

        Raises:
            StorageError: The file can't be read.
        """
        for name, (window, expected) in self._windows.items():
            crc = 0
            for piece in self.pieces(name):
                crc = zlib.crc32(piece, crc)
            if crc != expected:
                yield _wrong_crc(name, window)

    # ---- the archive

    def _fault(
        self, kind: FaultKind, message: str, offset: int | None = None, name: str | None = None
    ) -> None:
        if len(self.faults) < _MAX_FAULTS:
            self.faults.append(BundleFault(kind, message, offset, name))

    def _read_archive(self) -> None:
        start = max(0, self.size - END_WITH_64_BYTES)
        tail = pread(self.fd, END_WITH_64_BYTES, start)
        end = parse_end(tail)
        if end is None:
            if pread(self.fd, len(LOCAL_MAGIC), 0) != LOCAL_MAGIC:
                self._fault("no_bundle", "this file is no bundle")
            else:
                self._fault(
                    "bytes",
                    "it doesn't end as an archive does: it was cut, or something was appended",
                    self.size,
                )
            return
        entries = self._entries(end)
        if entries is None:
            return
        if not entries:
            self._fault("no_bundle", "an archive without members is no bundle")
            return
        members = [one.member for one in entries]
        places = offsets(members)
        if places[-1] != end.directory_offset:
            self._fault(
                "bytes",
                "the sizes of the members don't add up to where the directory begins",
                end.directory_offset,
            )
            return
        self._compare(entries, places, end, tail)
        if self.faults:
            return
        self.readable = True
        self._take_names(members, places)

    def _entries(self, end: ArchiveEnd) -> list[CentralEntry] | None:
        """The entries of the central directory, None where that makes no sense."""
        if end.members > MAX_MEMBERS or end.directory_size > MAX_CENTRAL_BYTES:
            self._fault(
                "limit",
                f"more than {MAX_MEMBERS} members, or a directory of more than "
                f"{MAX_CENTRAL_BYTES} bytes",
            )
            return None
        if (
            end.directory_offset + end.directory_size + end.length != self.size
            or end.members * CENTRAL_FIXED > end.directory_size
        ):
            self._fault(
                "bytes",
                "the records at the end don't fit the file: something stands before, between or "
                "behind its parts",
                self.size - end.length,
            )
            return None
        directory = pread(self.fd, end.directory_size, end.directory_offset)
        found: list[CentralEntry] = []
        at = 0
        for _ in range(end.members):
            entry = next_entry(directory, at)
            if entry is None:
                self._fault(
                    "bytes", "the directory has a malformed entry", end.directory_offset + at
                )
                return None
            if entry.flags & _ENCRYPTED or entry.method != 0:
                what = "encrypted" if entry.flags & _ENCRYPTED else "compressed"
                self._fault(
                    "unsupported",
                    f"a member is {what}; members of bundles are stored",
                    end.directory_offset + at,
                    shown_name(entry.member.name),
                )
                return None
            found.append(entry)
            at += entry.length
        if at != end.directory_size:
            self._fault("bytes", "something stands behind the directory", end.directory_offset + at)
            return None
        return found

    def _compare(
        self, entries: list[CentralEntry], places: list[int], end: ArchiveEnd, tail: bytes
    ) -> None:
        """Compare every byte outside of the contents with what the members ask for."""
        at = end.directory_offset
        directory = pread(self.fd, end.directory_size, at)
        for entry, place in zip(entries, places, strict=False):
            name = shown_name(entry.member.name)
            start = at - end.directory_offset
            if directory[start : start + entry.length] != central_entry(entry.member, place):
                what = "" if stat.S_IFMT(entry.mode) in (0, stat.S_IFREG) else ": it is no file"
                self._fault("bytes", f"the directory has an unexpected entry{what}", at, name)
            header = local_header(entry.member)
            if pread(self.fd, len(header), place) != header:
                self._fault("bytes", "a member has an unexpected header", place, name)
            at += entry.length
        expected = end_records(len(entries), end.directory_size, end.directory_offset)
        if tail[-end.length :] != expected:
            self._fault("bytes", "the records at the end are unexpected", at)

    def _take_names(self, members: list[Member], places: list[int]) -> None:
        for fault in name_faults(one.name for one in members):
            self._fault(
                "member",
                fault.reason,
                places[fault.position],
                shown_name(members[fault.position].name),
            )
        for member, place in zip(members, places, strict=False):
            name = shown_name(member.name)
            if is_known(name) and name not in self._windows:
                start = place + len(local_header(member))
                self._windows[name] = (Window(self.fd, start, member.size), member.crc)


def _wrong_crc(name: str, window: Window) -> BundleFault:
    return BundleFault("bytes", "a member's content has another CRC-32", window.start, name)


def _open(path: Path) -> int:
    try:
        # Never wait at a FIFO.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise StorageError("no such file", kind="no_file", path=str(path)) from error
    except OSError as error:
        raise StorageError(
            f"can't be read: {os.strerror(error.errno or errno.EIO)}",
            kind="unreadable",
            path=str(path),
        ) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise StorageError("not a regular file", kind="not_a_file", path=str(path))
    return fd
