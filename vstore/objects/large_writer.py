"""Writing objects into files of their own: compressed as they stream in."""

from __future__ import annotations

import errno
import os
from typing import BinaryIO, Final

from blake3 import blake3

from vstore.errors import LimitExceeded, StorageError
from vstore.objects.durable import DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.large import StoredLarge

__all__ = ["write_large"]

_CHUNK: Final = 1 << 18
_LEVEL: Final = 3


def write_large(stream: BinaryIO, fd: int, io: DurableIO, *, max_bytes: int) -> StoredLarge:
    """Compress a stream into an open file.

    Raises:
        LimitExceeded: More than ``max_bytes``.
        StorageError: Reading or writing failed.
    """
    from zstandard import ZstdCompressor

    compressor = ZstdCompressor(level=_LEVEL).compressobj()
    raw, stored = blake3(), blake3()
    length = stored_length = 0
    while True:
        try:
            chunk = stream.read(_CHUNK)
        except OSError as error:
            raise StorageError(
                f"can't read: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
            ) from error
        length += len(chunk)
        if length > max_bytes:
            raise LimitExceeded(
                f"more than {max_bytes} bytes", limit="max_bytes", value=max_bytes, asked=length
            )
        raw.update(chunk)
        packed = compressor.compress(chunk) if chunk else compressor.flush()
        if packed:
            io.write(fd, packed)
            stored.update(packed)
            stored_length += len(packed)
        if not chunk:
            oid = ObjectId.from_bytes(raw.digest())
            return StoredLarge(oid, length, stored_length, stored.digest())
