"""Sealing the log of a package in packs: much smaller, the same objects, the same history.

Everything that was published goes into packs but for the last, empty segment, which writers
append to. The publication lock is held to begin that segment and to put a finished pack in
place, not while it is made. A crash leaves the segments, or the pack, or both, and then the
pack counts (docs/adr/0011).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple, Unpack

import msgspec

from vstore.objects.canonical import encode
from vstore.objects.layout import (
    FORMAT_FILE,
    LOG,
    PACKS,
    PACKS_FEATURE,
    TMP,
    pack_name,
    read_format,
)
from vstore.objects.locks import REPACK, PackageLock
from vstore.objects.log import LogReader
from vstore.objects.pack import MAX_PACK_OBJECTS
from vstore.objects.pack_file import PackFile
from vstore.objects.pack_writer import LEVEL, PackFacts, check_pack, write_pack
from vstore.objects.writer import ObjectWriter
from vstore.package.options import WriterOptions, WriterSettings

__all__ = ["RepackFacts", "repack", "repack_store", "try_repack"]

#: A pack is taken into the next one unless it is so many times larger than what is new.
_RATIO: Final = 2
#: What a pack has of the size of the segments that it replaces, about.
_SHARE: Final = 0.5
#: And this many bytes besides, however little is in it.
_OVERHEAD: Final = 8192
#: A pack ends with the segment that brings it to more objects.
_MAX_OBJECTS: Final = MAX_PACK_OBJECTS // 2
_BUFFER: Final = 1 << 20


class RepackFacts(NamedTuple):
    """What was done, or would be.

    Args:
        segments: How many segments of the log went into packs.
        packs: How many packs were written.
        replaced: How many packs these replace.
        objects: How many objects the new packs have.
        before: Bytes of what was replaced.
        after: Bytes of the new packs.
        removed: Files of an earlier repack that was cut short.
    """

    segments: int
    packs: int
    replaced: int
    objects: int
    before: int
    after: int
    removed: int


def repack(
    root: Path,
    *,
    level: int = LEVEL,
    everything: bool = False,
    dry_run: bool = False,
    **options: Unpack[WriterOptions],
) -> RepackFacts:
    """Seal what was published in packs; readers and writers go on meanwhile.

    Args:
        root: The package's folder.
        level: zstd's level, 1 to 22.
        everything: Make packs anew too that are large already.
        dry_run: Only find out what it would bring; nothing is written.
        options: As for ``Repository.open``.

    Raises:
        LockTimeout: Somebody else repacks, or publishes for too long.
        IntegrityError: The package is damaged; nothing is replaced.
        UnsupportedError: It has features that this version doesn't know.
        StorageError: Something can't be read or written; nothing is lost.
    """
    settings = WriterSettings(**options)
    writer = ObjectWriter.open(root, **settings.for_store())
    lock = PackageLock(root, REPACK, timeout=0, command=settings.command, clock=settings.clock)
    try:
        if dry_run:
            return try_repack(writer, level=level, everything=everything)
        with lock:
            return repack_store(writer, level=level, everything=everything)
    finally:
        lock.close()
        writer.close()


def try_repack(
    writer: ObjectWriter, *, level: int = LEVEL, everything: bool = False
) -> RepackFacts:
    """What :func:`repack_store` would do; packs are made and thrown away, nothing is written."""
    log = writer.reader.log
    writer.log.check()
    tail = log.tail
    full = bool(tail.segment) and tail.sequence >= log.header(tail.segment).first_sequence
    groups = _plan(log, tail.segment if full else tail.segment - 1, everything=everything)
    facts = _NOTHING
    for first, last in groups:
        facts = _after(log, first, last, facts)
        made = write_pack(log, first, last, lambda _: None, level=level)
        facts = facts._replace(objects=facts.objects + made.objects, after=facts.after + made.size)
    return facts._replace(removed=len(log.superseded))


def repack_store(
    writer: ObjectWriter, *, level: int = LEVEL, everything: bool = False
) -> RepackFacts:
    """Seal the log of an object store in packs; nobody else may do so meanwhile.

    Args:
        writer: The store.
        level, everything: As for :func:`repack`.

    Raises:
        As :func:`repack`.
    """
    log, io = writer.reader.log, writer.io
    with writer.lock:
        writer.reader.refresh()
        if not writer.log.roll() and log.tail.segment:
            # Whoever began the last segment may have died before its name was on the disk.
            io.sync_folder(writer.root / LOG)
    for path in sorted((writer.root / TMP).glob("pack-*")):
        # Nobody else makes one.
        io.discard(path)
    removed = len(log.superseded)
    if removed:
        # Likewise whoever put the pack there that has replaced them.
        io.sync_folder(writer.root / PACKS)
        _remove_replaced(writer)
    facts = _NOTHING._replace(removed=removed)
    for first, last in _plan(log, log.tail.segment - 1, everything=everything):
        facts = _after(log, first, last, facts)
        temporary = writer.temporary("pack")
        try:
            made = _write(writer, temporary, first, last, level)
            with writer.lock:
                _install(writer, temporary, first, last)
                log.packs.look()
                _remove_replaced(writer)
        except BaseException:
            io.discard(temporary)
            raise
        facts = facts._replace(objects=facts.objects + made.objects, after=facts.after + made.size)
    return facts


_NOTHING: Final = RepackFacts(0, 0, 0, 0, 0, 0, 0)


def _after(log: LogReader, first: int, last: int, facts: RepackFacts) -> RepackFacts:
    """Count what a pack of these segments replaces."""
    packs = [one for one in log.packs.packs if first <= one.first <= last]
    segments = [one for one in range(first, last + 1) if log.packs.covering(one) is None]
    before = sum(one.size for one in packs) + sum(map(log.valid_end, segments))
    return facts._replace(
        segments=facts.segments + len(segments),
        packs=facts.packs + 1,
        replaced=facts.replaced + len(packs),
        before=facts.before + before,
    )


def _plan(log: LogReader, last: int, *, everything: bool) -> list[tuple[int, int]]:
    """The first and last segment of each pack to make."""
    packs = log.packs.packs
    loose = [one for one in range(1, last + 1) if log.packs.covering(one) is None]
    if not loose and not (everything and packs):
        return []
    first = loose[0] if loose else last + 1
    amount = _OVERHEAD + sum(map(log.valid_end, loose)) * _SHARE
    for pack in reversed([one for one in packs if one.last < first]):
        if not everything and pack.size > _RATIO * amount:
            break
        first = pack.first
        amount += pack.size
    counts = _objects(log)
    groups: list[tuple[int, int]] = []
    begin, count = first, 0
    for number in range(first, last + 1):
        count += counts.get(number, 0)
        if count > _MAX_OBJECTS or number == last:
            groups.append((begin, number))
            begin, count = number + 1, 0
    return groups


def _objects(log: LogReader) -> dict[int, int]:
    """How many objects each segment has."""
    found: dict[int, int] = {}
    for frame in log.backwards(packed=False):
        found[frame.segment] = found.get(frame.segment, 0) + frame.object_count
    for pack in log.packs.packs:
        for number in range(pack.first, pack.last + 1):
            found[number] = sum(pack.place(block).objects for block in pack.blocks(number))
    return found


def _write(writer: ObjectWriter, temporary: Path, first: int, last: int, level: int) -> PackFacts:
    """Write a pack under another name, synced, and read it back."""
    io = writer.io
    writer.ensure_folder(writer.root / TMP)
    fd = io.create(temporary)
    buffer = bytearray()

    def write(part: bytes) -> None:
        buffer.extend(part)
        if len(buffer) >= _BUFFER:
            io.write(fd, bytes(buffer))
            buffer.clear()

    try:
        made = write_pack(writer.reader.log, first, last, write, level=level)
        if buffer:
            io.write(fd, bytes(buffer))
        io.sync(fd)
    finally:
        io.close(fd)
    pack = PackFile(temporary, first, last)
    try:
        check_pack(pack, made)
    finally:
        pack.close()
    return made


def _install(writer: ObjectWriter, temporary: Path, first: int, last: int) -> None:
    """Put a pack in its place: from here on it counts (the caller holds the lock)."""
    root, io = writer.root, writer.io
    found = read_format(root)
    if PACKS_FEATURE not in found.required:
        # Before there is a pack: whoever doesn't know packs must not miss what is in one.
        told = msgspec.structs.replace(found, required=sorted([*found.required, PACKS_FEATURE]))
        io.write_atomic(
            root / FORMAT_FILE,
            encode(told) + b"\n",
            temporary=writer.temporary("format"),
            durable=True,
        )
    folder = root / PACKS
    writer.ensure_folder(folder)
    io.replace(temporary, folder / pack_name(first, last))
    io.sync_folder(folder)


def _remove_replaced(writer: ObjectWriter) -> None:
    """Remove files that a pack has replaced which is on the disk."""
    for name in writer.reader.log.superseded:
        writer.io.unlink(writer.root / name)
