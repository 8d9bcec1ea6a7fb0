"""Unpacking a compressed file forward, with bounds, to its exact end.

The standard library's file classes ignore what follows a bz2 or xz stream and can be asked
for any amount; this reader accepts whole streams only, one or several in a row, and zero
padding behind them.
"""

from __future__ import annotations

from typing import Any, BinaryIO, Final

from vstore.errors import InvalidError, StorageError, VStoreError
from vstore.tools.archive_members import ArchiveLimits, refuse

__all__ = ["UnpackedStream", "compression_of"]

_CHUNK: Final = 64 * 1024
_XZ_MEMORY: Final = 256 << 20
#: Headers and padding that a tar may have for each file that it may have.
_OVERHEAD_BYTES: Final = 4096

_MAGICS: Final = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz"}


def compression_of(head: bytes) -> str | None:
    """``gzip``, ``bzip2`` or ``xz`` if the first bytes of a file say so, else None."""
    return next((name for magic, name in _MAGICS.items() if head.startswith(magic)), None)


class _Deflate:
    """zlib's object with the interface of the two others."""

    def __init__(self) -> None:
        import zlib

        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, packed: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + packed, max_length)


def _unpacker(compression: str) -> Any:
    if compression == "gzip":
        return _Deflate()
    if compression == "bzip2":
        import bz2

        return bz2.BZ2Decompressor()
    import lzma

    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _is_damage(error: Exception) -> bool:
    import lzma
    import zlib

    # bz2 reports damage as OSError or ValueError; failing reads are StorageErrors by then.
    return isinstance(error, zlib.error | lzma.LZMAError | EOFError | OSError | ValueError)


class UnpackedStream:
    """The unpacked bytes of a file, or its own bytes where it isn't compressed.

    Args:
        stream: The file, at its start.
        compression: ``gzip``, ``bzip2``, ``xz`` or None.
        packed_size: Bytes of the whole file, for the ratio.
        limits: Bounds on ratio and total.
    """

    def __init__(
        self, stream: BinaryIO, compression: str | None, packed_size: int, limits: ArchiveLimits
    ) -> None:
        self._stream = stream
        self._compression = compression
        self._packed_size = packed_size
        self._limits = limits
        package = limits.package
        self._max_bytes = package.max_input_bytes + _OVERHEAD_BYTES * (package.max_input_files + 16)
        self._unpacker: Any = None
        self._begun = False
        self._pending = b""
        self._position = 0

    def read(self, count: int) -> bytes:
        """At most ``count`` bytes, fewer only at the end.

        Raises:
            InvalidError: Damaged (``damaged_archive``), cut (``truncated_archive``) or
                followed by something else (``trailing_bytes``).
            LimitExceeded: ``max_input_bytes``, or ``max_ratio``.
            StorageError: Reading the file failed.
        """
        pieces = []
        wanted = count
        while wanted and (piece := self._read_some(min(wanted, _CHUNK))):
            pieces.append(piece)
            wanted -= len(piece)
            self._position += len(piece)
            if self._position > self._max_bytes:
                self._limits.package.check_bytes(self._position)
            self._limits.check_ratio(self._packed_size, self._position)
        return b"".join(pieces)

    def _read_some(self, count: int) -> bytes:
        if self._compression is None:
            return self._read_file(count)
        try:
            return self._unpack(self._compression, count)
        except VStoreError:
            raise
        except Exception as error:
            if not _is_damage(error):
                raise
            raise InvalidError(
                "the archive's compressed data is damaged", kind="damaged_archive"
            ) from error

    def _unpack(self, compression: str, count: int) -> bytes:
        while self._unpacker is not None or self._begin(compression):
            needy = self._unpacker.needs_input
            packed = self._take() if needy else b""
            piece: bytes = self._unpacker.decompress(packed, count)
            if self._unpacker.eof:
                self._pending = self._unpacker.unused_data
                self._unpacker = None
            elif needy and not packed and not piece:
                refuse("truncated_archive", "the archive's compressed data ends too early")
            if piece:
                return piece
        return b""

    def _begin(self, compression: str) -> bool:
        """Start the next stream; False at the end of the file."""
        head = self._take()
        if self._begun and head and not any(magic[0] == head[0] for magic in _MAGICS):
            while head:
                if head.strip(b"\0"):
                    refuse("trailing_bytes", "the archive is followed by something else")
                head = self._take()
        if not head:
            return False
        self._begun = True
        self._pending = head
        self._unpacker = _unpacker(compression)
        return True

    def _take(self) -> bytes:
        if self._pending:
            taken, self._pending = self._pending, b""
            return taken
        return self._read_file(_CHUNK)

    def _read_file(self, count: int) -> bytes:
        try:
            return self._stream.read(count)
        except OSError as error:
            raise StorageError("reading the archive failed", kind="read_failed") from error
