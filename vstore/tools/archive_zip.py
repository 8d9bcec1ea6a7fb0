"""Reading zip archives (wheels too), one member after another.

Names are the bytes of the archive: UTF-8 where its flag says so, else whatever they are.
A zip doesn't say which encoding that is, and a guess would change the evidence. Unix
modes are taken from archives made on Unix: executables, links, devices.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from vstore.errors import InvalidError, LimitExceeded, VStoreError
from vstore.tools.archive_members import ArchiveLimits, Member, clean_path, refuse

if TYPE_CHECKING:
    from zipfile import ZipInfo

__all__ = ["ZipReader"]

_UNIX: Final = 3
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
_UTF8: Final = 0x800
_MAX_LINK_BYTES: Final = 64 * 1024
#: Bytes of the directory of members for each file that is allowed.
_DIRECTORY_BYTES: Final = 128


class _GuardedFile:
    """A file that isn't read in one piece beyond a bound: the directory of members is."""

    def __init__(self, stream: BinaryIO, max_read: int) -> None:
        self._stream = stream
        self._max_read = max_read
        self.seek = stream.seek
        self.tell = stream.tell
        self.seekable = stream.seekable

    def read(self, count: int = -1) -> bytes:
        if count > self._max_read:
            raise LimitExceeded(
                "the archive has a directory of members that is too large",
                limit="max_input_files",
                value=self._max_read // _DIRECTORY_BYTES,
                asked=count // _DIRECTORY_BYTES,
            )
        return self._stream.read(count)


@contextmanager
def _zip_errors(name: bytes | None = None) -> Iterator[None]:
    """Turn what zipfile and its decompressors raise into our errors."""
    import lzma
    import struct
    import zipfile
    import zlib

    try:
        yield
    except VStoreError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
        ValueError,
        struct.error,
    ) as error:
        unknown = isinstance(error, NotImplementedError)
        kind = "unsupported_archive" if unknown else "damaged_archive"
        what = "a compression that isn't known" if unknown else "damaged"
        if name is None:
            raise InvalidError(f"the archive is {what}", kind=kind) from error
        try:
            refuse(kind, "a member is damaged" if not unknown else f"a member has {what}", name)
        except InvalidError as refused:
            raise refused from error


class ZipReader:
    """The members of a zip, in the order of its directory.

    Args:
        stream: The file.
        packed_size: Its bytes.
        limits: Bounds on members and ratio.

    Raises:
        InvalidError: No zip or a damaged one (``damaged_archive``), members that overlap
            (``overlapping_members``) or are encrypted (``encrypted_archive``), a name that
            is refused (see :func:`~vstore.tools.archive_members.clean_path`).
        LimitExceeded: Too many members, or they unfold too far.
    """

    def __init__(self, stream: BinaryIO, packed_size: int, limits: ArchiveLimits) -> None:
        import zipfile

        most = limits.package.max_input_files
        guarded = _GuardedFile(stream, max(1 << 20, most * _DIRECTORY_BYTES))
        with _zip_errors():
            self._zip = zipfile.ZipFile(guarded)
            self._infos = self._zip.infolist()
        if sum(one.compress_size for one in self._infos) > packed_size:
            refuse("overlapping_members", "the archive has members that overlap")
        unpacked = sum(one.file_size for one in self._infos)
        limits.check_ratio(packed_size, unpacked)
        self._members = [_member(one) for one in self._infos]

    def members(self) -> list[Member]:
        """All members; the archive's root is one with an empty path."""
        return list(self._members)

    def open(self, position: int) -> IO[bytes]:
        """A stream over the bytes of the file at a position of :meth:`members`."""
        with _zip_errors(_name(self._infos[position])):
            return self._zip.open(self._infos[position])

    def read(self, position: int) -> bytes:
        """The bytes of the file at a position of :meth:`members`, checked to the end."""
        with _zip_errors(_name(self._infos[position])):
            return self._zip.read(self._infos[position])

    @contextmanager
    def errors(self, position: int) -> Iterator[None]:
        """Around reads of :meth:`open`'s stream: the archive's faults name the member."""
        with _zip_errors(_name(self._infos[position])):
            yield


def _name(info: ZipInfo) -> bytes:
    # orig_filename is what the directory says, before zipfile cuts it at a NUL; code page
    # 437 has a character for each byte, so this gives back the archive's bytes.
    return info.orig_filename.encode("utf-8" if info.flag_bits & _UTF8 else "cp437")


def _member(info: ZipInfo) -> Member:
    name = _name(info)
    if info.flag_bits & _ENCRYPTED:
        refuse("encrypted_archive", "a member is encrypted", name)
    mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
    path = clean_path(name)
    if name.endswith(b"/") or not path:
        if info.file_size:
            refuse("damaged_archive", "a folder with bytes of its own", name)
        return Member(path, "folder")
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        if info.file_size > _MAX_LINK_BYTES:
            refuse("not_representable", "a link with an impossible target", name)
        return Member(path, "link", size=info.file_size)
    if kind not in (0, stat.S_IFREG):
        refuse("not_representable", "a device, pipe or socket can't be captured", name)
    return Member(path, "file", size=info.file_size, executable=bool(mode & stat.S_IXUSR))
