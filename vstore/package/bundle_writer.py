"""Writing a bundle: a package in one file, the same bytes for the same package.

Nothing of the package is changed, and no lock is taken: a bundle holds what the log had when
it was opened. The file is complete and synced before it gets its name.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from blake3 import blake3

from vstore.errors import ConflictError, IntegrityError, InvalidError, LimitExceeded, StorageError
from vstore.objects.canonical import encode
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.frame import LargeEntry
from vstore.objects.ids import ObjectId
from vstore.objects.layout import (
    FORMAT_FILE,
    LOG,
    PACKS_FEATURE,
    REFS,
    StoreFormat,
    large_name,
    segment_name,
)
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.objects.refs import encode_ref
from vstore.package import refs_policy
from vstore.package.bundle_layout import (
    MAX_MEMBERS,
    Member,
    central_directory,
    end_records,
    local_header,
    offsets,
)
from vstore.package.bundle_log import max_raw_bytes
from vstore.package.bundle_names import NEEDS_FILE
from vstore.package.bundle_needs import VERSION, BundleNeeds, encode_needs
from vstore.package.bundle_plan import LogBuilder, plan_bundle
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import PackageReader

__all__ = ["BundleFacts", "write_bundle"]

_BUFFER: Final = 1 << 20

_Pieces = Callable[[LargeEntry], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class BundleFacts:
    """What was written.

    Args:
        path: The file.
        size: Its size in bytes.
        head: The generation that it leads to.
        since: The generation that it continues, None for a full bundle.
        generations: How many generations it has.
        objects: How many objects it has.
    """

    path: Path
    size: int
    head: ObjectId
    since: ObjectId | None
    generations: int
    objects: int


def write_bundle(
    package: PackageReader,
    target: Path,
    *,
    decoder: ReferenceDecoder,
    since: ObjectId | None = None,
    replace: bool = False,
    io: DurableIO = REAL,
) -> BundleFacts:
    """Write a bundle of a package's head.

    Args:
        package: The package; it may be in a bundle itself.
        target: The file to make.
        decoder: Knows every document type that the package may hold: what an unknown one
            names can only be guessed.
        since: A generation that whoever gets the bundle has: leave out what it leads to.
        replace: Replace a file that is there.
        io: Durable I/O.

    Raises:
        NotFoundError: The package has no generation, or ``since`` is none of its.
        InvalidError: Nothing was published since (``nothing_since``).
        ConflictError: The file exists (``file_exists``).
        IntegrityError: The package is damaged, or lacks something that is named.
        UnsupportedError: It has features that this version doesn't know.
        LimitExceeded: More than readers of bundles take on.
        StorageError: Something can't be read or written; no file is left behind.
    """
    if not replace and (target.exists() or target.is_symlink()):
        raise ConflictError(
            "the file exists already",
            kind="file_exists",
            hint="choose another name, or --force to replace it",
            path=str(target),
        )
    objects = package.objects
    head = _sound_head(package)
    base = None if since is None else package.at(since)
    if since == head.generation_id:
        raise InvalidError(
            "nothing was published since that generation", kind="nothing_since", since=since
        )
    if not objects.files.sealed:
        # What leaves the machine must not be lost here by a power cut.
        fd = objects.log.fd(objects.log.tail.segment)
        if isinstance(fd, int):
            io.sync(fd)
    plan = plan_bundle(objects, head.generation_id, since, decoder)
    builder = LogBuilder(objects, plan)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    io.discard(temporary)
    archive = _Archive(io, io.create(temporary))
    try:
        try:
            archive.add(FORMAT_FILE, encode(_without_packs(objects.format)) + b"\n")
            if base is not None:
                needs = BundleNeeds(
                    bundle=VERSION,
                    case_id=head.case_id,
                    package_id=head.package_id,
                    since=base.generation_id,
                    since_generation=base.number,
                    head=head.generation_id,
                    head_generation=head.number,
                )
                archive.add(NEEDS_FILE, encode_needs(needs))
            for name, oid in sorted(refs_policy.head_refs(package).items()):
                archive.add(f"{REFS}/{name}", encode_ref(oid))
            for number, segment in enumerate(builder.segments(), 1):
                archive.add(f"{LOG}/{segment_name(number)}", segment)
            for entry in plan.large:
                archive.add_large(entry, objects.files.stored_pieces)
            size = archive.finish()
            allowed = max_raw_bytes(size)
            if plan.raw_bytes > allowed:
                raise LimitExceeded(
                    "the objects are too many times larger than their compressed form: nobody "
                    "would read the bundle",
                    limit="max_raw_bytes",
                    value=allowed,
                    asked=plan.raw_bytes,
                )
            io.sync(archive.fd)
        finally:
            io.close(archive.fd)
        io.replace(temporary, target)
    except BaseException:
        io.discard(temporary)
        raise
    io.sync_folder(target.parent)
    return BundleFacts(
        target, size, head.generation_id, since, builder.generations, len(plan.wanted)
    )


def _without_packs(found: StoreFormat) -> StoreFormat:
    """What a bundle says of its format: it has all frames in its log."""
    return msgspec.structs.replace(
        found, required=[one for one in found.required if one != PACKS_FEATURE]
    )


def _sound_head(package: PackageReader) -> PinnedPackage:
    """The head of a package whose end is not damaged and whose refs agree with it."""
    while True:
        if package.objects.damage:
            raise package.objects.damage[0].error()
        head = package.pinned()
        try:
            refs_policy.refuse_damaged(package.ref_report())
        except IntegrityError:
            # Somebody may have published since the log was looked at: then refs are ahead.
            if package.refresh():
                continue
            raise
        return head


class _Archive:
    """Writes members one after another; each is complete before the next begins."""

    def __init__(self, io: DurableIO, fd: int) -> None:
        self._io = io
        self.fd = fd
        self._members: list[Member] = []
        self._buffer = bytearray()
        self._size = 0

    def add(self, name: str, content: bytes) -> None:
        """Add a member that is in memory."""
        self._begin(Member(name.encode("ascii"), len(content), zlib.crc32(content)))
        self._write(content)

    def add_large(self, entry: LargeEntry, pieces: _Pieces) -> None:
        """Add the stored file of a large object, read twice: to know it, and to copy it."""
        size, crc, digest = 0, 0, blake3()
        for piece in pieces(entry):
            size += len(piece)
            crc = zlib.crc32(piece, crc)
            digest.update(piece)
        if size != entry.stored_length or digest.digest() != entry.stored_digest:
            raise IntegrityError(
                "the file of a large object is damaged",
                kind="bad_large_object",
                file=large_name(entry.oid),
            )
        self._begin(Member(large_name(entry.oid).encode("ascii"), size, crc))
        again = 0
        for piece in pieces(entry):
            again = zlib.crc32(piece, again)
            size -= len(piece)
            self._write(piece)
        if size or again != crc:
            raise StorageError("a file changed while it was read", kind="unreadable")

    def finish(self) -> int:
        """Write the directory; returns the size of the file in bytes."""
        directory = central_directory(self._members)
        start = offsets(self._members)[-1]
        self._write(directory)
        self._write(end_records(len(self._members), len(directory), start))
        self._flush()
        return self._size

    def _begin(self, member: Member) -> None:
        if len(self._members) >= MAX_MEMBERS:
            raise LimitExceeded(
                f"more than {MAX_MEMBERS} members",
                limit="max_members",
                value=MAX_MEMBERS,
                asked=len(self._members) + 1,
            )
        self._members.append(member)
        self._write(local_header(member))

    def _write(self, content: bytes) -> None:
        if len(content) >= _BUFFER:
            # Large pieces go out as they are, without a copy.
            self._flush()
            self._put(content)
            return
        self._buffer += content
        if len(self._buffer) >= _BUFFER:
            self._flush()

    def _flush(self) -> None:
        if self._buffer:
            self._put(bytes(self._buffer))
            self._buffer.clear()

    def _put(self, content: bytes) -> None:
        self._io.write(self.fd, content)
        self._size += len(content)
