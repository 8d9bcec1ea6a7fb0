"""Objects in files of their own: one zstd frame each, streamed in both directions.

The frame that names a large object records the length and digest of the stored file. A file
that no frame records yet is residue of a crash, or being written.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from blake3 import blake3

from vstore.errors import IntegrityError, StorageError
from vstore.objects.ids import ObjectId

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "LARGE_BYTES",
    "PIECE",
    "StoredLarge",
    "checked_stream",
    "measure",
    "missing_large",
    "open_large",
    "read_chunks",
    "stored_pieces",
    "unpack_chunks",
]

#: Objects with more bytes than this get files of their own.
LARGE_BYTES: Final = 1024 * 1024

_CHUNK: Final = 1 << 18
#: zstd may grow what it is fed 20,000-fold; small pieces bound what one of them can become.
PIECE: Final = 1 << 10
_MAX_WINDOW: Final = 1 << 23


class StoredLarge(NamedTuple):
    """A large object and the file that it is stored in."""

    oid: ObjectId
    length: int
    stored_length: int
    stored_digest: bytes


def read_chunks(path: Path, *, length: int | None, stored_length: int | None) -> Iterator[bytes]:
    """The bytes of a stored object, piece by piece, with every size checked on the way.

    Args:
        path: The stored file.
        length: How many bytes the object must have; None to accept any number.
        stored_length: How many the file must have; None to accept any number.

    Raises:
        IntegrityError: Absent, not exactly one zstd frame, or of other sizes.
        StorageError: The file can't be read.
    """
    return unpack_chunks(
        stored_pieces(path), _name(path), length=length, stored_length=stored_length
    )


def stored_pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a stored file, unchecked, at most ``PIECE`` at a time.

    Raises:
        IntegrityError: Absent.
        StorageError: The file can't be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(fd, "rb", buffering=_CHUNK) as file:  # noqa: PTH123
            while piece := file.read(PIECE):
                yield piece
    except FileNotFoundError:
        raise missing_large(_name(path)) from None
    except OSError as error:
        raise StorageError(
            f"can't read a large object: {os.strerror(error.errno or errno.EIO)}",
            kind="unreadable",
        ) from error


def unpack_chunks(
    pieces: Iterable[bytes], name: str, *, length: int | None, stored_length: int | None
) -> Iterator[bytes]:
    """The bytes of a stored object, wherever it is stored; as :func:`read_chunks`.

    Args:
        pieces: The stored bytes, at most ``PIECE`` at a time.
        name: The file's name within the package.
        length, stored_length: As there.
    """
    import zstandard

    window = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj()
    produced = consumed = 0
    try:
        for piece in pieces:
            consumed += len(piece)
            if window.eof or (stored_length is not None and consumed > stored_length):
                raise _damaged(name)
            content = window.decompress(piece)
            produced += len(content)
            if window.unused_data or (length is not None and produced > length):
                raise _damaged(name)
            if content:
                yield content
    except zstandard.ZstdError as error:
        raise _damaged(name) from error
    if (
        not window.eof
        or (length is not None and produced != length)
        or (stored_length is not None and consumed != stored_length)
    ):
        raise _damaged(name)


def measure(path: Path) -> StoredLarge | None:
    """What a stored file holds, read in full; None when it is absent or not whole.

    Raises:
        StorageError: The file can't be read.
    """
    raw, length = blake3(), 0
    try:
        for chunk in read_chunks(path, length=None, stored_length=None):
            raw.update(chunk)
            length += len(chunk)
        stored = blake3()
        stored_length = 0
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                stored.update(chunk)
                stored_length += len(chunk)
    except (IntegrityError, FileNotFoundError):
        return None
    oid = ObjectId.from_bytes(raw.digest())
    return StoredLarge(oid, length, stored_length, stored.digest())


def open_large(path: Path, oid: ObjectId, *, length: int, stored_length: int) -> BinaryIO:
    """A stream over a large object; its digest is checked when the end is reached.

    Reading raises what :func:`read_chunks` does, and IntegrityError at the end when the bytes
    are not those of ``oid``.
    """
    chunks = read_chunks(path, length=length, stored_length=stored_length)
    return checked_stream(chunks, oid, _name(path))


def checked_stream(chunks: Iterator[bytes], oid: ObjectId, name: str) -> BinaryIO:
    """A stream over the chunks of an object, its digest checked when the end is reached."""
    return io.BufferedReader(_LargeStream(chunks, name, oid), _CHUNK)


def missing_large(name: str) -> IntegrityError:
    """The error that says that a large object's file is absent."""
    return IntegrityError("a large object has no file", kind="missing_large_object", file=name)


class _LargeStream(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes], name: str, oid: ObjectId) -> None:
        super().__init__()
        self._chunks = chunks
        self._name = name
        self._oid = oid
        self._hasher = blake3()
        self._rest = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        if not self._rest and not self._ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
                if self._hasher.digest() != self._oid.to_bytes():
                    raise _damaged(self._name)
            else:
                self._hasher.update(chunk)
                self._rest = memoryview(chunk)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _name(path: Path) -> str:
    return f"objects/large/{path.parent.name}/{path.name}"


def _damaged(name: str) -> IntegrityError:
    return IntegrityError(
        "the file of a large object is damaged", kind="bad_large_object", file=name
    )
