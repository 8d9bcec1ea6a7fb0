"""VS-CON: the files of large objects, streamed."""

from __future__ import annotations

from typing import Final

from blake3 import blake3

from vstore.errors import IntegrityError, StorageError
from vstore.objects.frame import LargeEntry
from vstore.verify.checks.container import large_path
from vstore.verify.report import FindingCollector
from vstore.verify.source import PackageSource

__all__ = ["MAX_READ_BYTES", "check_large"]

_CHUNK: Final = 1 << 18
#: A reader's limit, not one of the format: larger objects are not read, and so not verified.
MAX_READ_BYTES: Final = 4 << 30


def check_large(source: PackageSource, entry: LargeEntry, found: FindingCollector) -> bool:
    """Check a large object's file in full; whether it holds what its id says."""
    path = large_path(entry)
    if max(entry.length, entry.stored_length) > MAX_READ_BYTES:
        found.add(
            "VS-OBJ-009",
            f"{entry.length} bytes, stored as {entry.stored_length}, are more than "
            f"{MAX_READ_BYTES}",
            object=entry.oid,
            file=path,
        )
        return False
    try:
        stored, length = blake3(), 0
        with source.open(path) as stream:
            # A byte more than recorded is enough to know.
            while length <= entry.stored_length and (chunk := stream.read(_CHUNK)):
                stored.update(chunk)
                length += len(chunk)
        if length != entry.stored_length or stored.digest() != entry.stored_digest:
            found.add(
                "VS-CON-012",
                "the stored file differs from what the log records",
                object=entry.oid,
                file=path,
                expected=entry.stored_length,
                actual=length,
            )
            return False
        content = blake3()
        for chunk in source.large_chunks(entry):
            content.update(chunk)
    except StorageError as error:
        code = "VS-CON-011" if error.kind == "no_file" else "VS-CON-015"
        found.add(code, error.message, object=entry.oid, file=path)
        return False
    except IntegrityError as error:
        found.add("VS-CON-012", error.message, object=entry.oid, file=path)
        return False
    if content.digest() != entry.oid.to_bytes():
        found.add(
            "VS-OBJ-001", "the bytes under this id have another digest", object=entry.oid, file=path
        )
        return False
    return True
