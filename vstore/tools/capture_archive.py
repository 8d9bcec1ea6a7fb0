"""Capturing archives into a tree: planned as a whole, then read member by member.

The archive is walked once to check every name and size, before anything is written, and
once more to read the bytes; nothing is ever unpacked onto the disk. Its digest is taken
before and after, so that what is pinned is what the digest names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from blake3 import blake3

from vstore.errors import InvalidError, LimitExceeded, NotFoundError, StorageError
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.memory import ObjectSink
from vstore.package.exclude import ExcludePatterns
from vstore.package.tree_builder import BuiltTree, TreeBuilder
from vstore.tools.archive_members import ArchiveLimits, Member, Plan, plan, refuse
from vstore.tools.archive_stream import UnpackedStream, compression_of
from vstore.tools.archive_tar import TarReader
from vstore.tools.archive_zip import ZipReader

__all__ = ["CapturedArchive", "capture_archive"]

_HEAD_BYTES: Final = 512
_READ_WHOLE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class CapturedArchive:
    """A captured archive.

    Attributes:
        kind: ``wheel``, ``zip``, ``sdist`` or ``tar``.
        digest: BLAKE3 of the archive's bytes.
        tree: What was built.
        stripped: Whether its one top folder was taken off.
        excluded: Members that a pattern left out.
    """

    kind: str
    digest: Digest
    tree: BuiltTree
    stripped: bool
    excluded: int


def capture_archive(
    path: Path,
    sink: ObjectSink,
    *,
    exclude: Sequence[str] = (),
    strip_top: bool = True,
    limits: ArchiveLimits | None = None,
) -> CapturedArchive:
    """Capture a wheel, zip, sdist or tar (plain, gzip, bzip2, xz).

    The format is read from the bytes; the name only tells a wheel and an sdist apart from
    other zips and tars.

    Args:
        path: The file.
        sink: Takes the objects.
        exclude: Patterns of what to leave out (see :mod:`vstore.package.exclude`), tried on
            paths inside the tree.
        strip_top: Take off the one top folder that all members are in, as sdists and
            exported repositories have it; never done to a wheel.
        limits: Bounds.

    Raises:
        NotFoundError: No such file.
        InvalidError: Not an archive (``unknown_archive``), or one that is refused:
            ``damaged_archive``, ``truncated_archive``, ``trailing_bytes``,
            ``unsupported_archive``, ``encrypted_archive``, ``overlapping_members``,
            ``absolute_path``, ``path_traversal``, ``invalid_path``, ``path_taken``,
            ``broken_hardlink``, ``not_representable``, ``changed_while_reading``.
        LimitExceeded: It has, or unfolds to, more than the limits allow.
        StorageError: The file system failed.
    """
    limits = limits or ArchiveLimits()
    patterns = ExcludePatterns(exclude)
    try:
        stream = path.open("rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError("no such archive", kind="no_file", path=str(path)) from error
    except OSError as error:
        raise StorageError("the archive can't be opened", kind="read_failed") from error
    with stream:
        try:
            digest, size = _digest(stream)
            capture = _Capture(sink, patterns, limits, strip_top=strip_top)
            captured = capture.run(stream, path.name, digest, size)
            if _digest(stream)[0] != digest:
                refuse("changed_while_reading", "the archive changed while it was read")
        except OSError as error:
            raise StorageError("reading the archive failed", kind="read_failed") from error
    return captured


class _Capture:
    """One run: the sink, the patterns, the limits."""

    def __init__(
        self, sink: ObjectSink, exclude: ExcludePatterns, limits: ArchiveLimits, *, strip_top: bool
    ) -> None:
        self._sink = sink
        self._exclude = exclude
        self._limits = limits
        self._strip_top = strip_top
        self._builder = TreeBuilder()
        # What hard links repeat is read even where its own name is left out.
        self._linked: set[bytes] = set()

    def run(self, stream: BinaryIO, name: str, digest: Digest, size: int) -> CapturedArchive:
        head = stream.read(_HEAD_BYTES)
        stream.seek(0)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            wheel = name.lower().endswith(".whl")
            planned = self._zip(stream, size, strip_top=self._strip_top and not wheel)
            kind = "wheel" if wheel else "zip"
        else:
            compression = compression_of(head)
            if compression is None and head[257:262] != b"ustar":
                raise InvalidError(
                    "not an archive of a known format",
                    kind="unknown_archive",
                    hint="zip, wheel, and tar (plain, gzip, bzip2, xz) are read",
                )
            planned, is_sdist = self._tar(stream, compression, size)
            kind = "sdist" if is_sdist else "tar"
        return CapturedArchive(
            kind, digest, self._builder.build(self._sink), planned.stripped, planned.excluded
        )

    def _plan(self, members: Sequence[Member], *, strip_top: bool) -> Plan:
        planned = plan(members, self._exclude, strip_top=strip_top)
        package = self._limits.package
        folders = sum(member.kind == "folder" for member in members)
        package.check_files(max(folders, len(members) - folders))
        taken = zip(members, planned.targets, strict=True)
        package.check_bytes(sum(member.size for member, target in taken if target is not None))
        # A dry run of the tree: paths that can't stand together are found before any write.
        trial = TreeBuilder()
        for member, target in zip(members, planned.targets, strict=True):
            if target is None:
                continue
            if member.size > package.max_file_bytes:
                raise LimitExceeded(
                    f"a member of {member.size} bytes",
                    limit="max_file_bytes",
                    value=package.max_file_bytes,
                    asked=member.size,
                )
            if member.kind == "folder":
                trial.add_folder(target)
            else:
                trial.add_link(target, _NO_OBJECT, 0)
        return planned

    def _zip(self, stream: BinaryIO, size: int, *, strip_top: bool) -> Plan:
        reader = ZipReader(stream, size, self._limits)
        members = reader.members()
        planned = self._plan(members, strip_top=strip_top)
        for position, (member, target) in enumerate(zip(members, planned.targets, strict=True)):
            if target is None:
                continue
            if member.kind == "folder":
                self._builder.add_folder(target)
            elif member.kind == "link":
                link = reader.read(position)
                self._builder.add_link(target, self._sink.put(link), len(link))
            else:
                with reader.errors(position), reader.open(position) as content:
                    self._add_file(target, member, content)
        return planned

    def _tar(self, stream: BinaryIO, compression: str | None, size: int) -> tuple[Plan, bool]:
        first = TarReader(UnpackedStream(stream, compression, size, self._limits))
        members: list[Member] = []
        counts = [0, 0]
        for member, _ in first.members():
            members.append(member)
            # Folders have a count of their own, and the same bound.
            counts[member.kind == "folder"] += 1
            self._limits.package.check_files(max(counts))
        planned = self._plan(members, strip_top=self._strip_top)
        stream.seek(0)
        second = TarReader(UnpackedStream(stream, compression, size, self._limits))
        self._linked = {member.target for member in members if member.kind == "hardlink"}
        leaves: dict[bytes, tuple[Member, ObjectId, int]] = {}
        walk = zip(second.members(), members, planned.targets, strict=True)
        for (member, link), expected, target in walk:
            if member != expected:
                refuse("changed_while_reading", "the archive changed while it was read")
            self._add_tar_member(member, link, target, second, leaves)
        is_sdist = planned.stripped and any(
            target == b"PKG-INFO" and member.kind == "file"
            for member, target in zip(members, planned.targets, strict=True)
        )
        return planned, is_sdist

    def _add_tar_member(
        self,
        member: Member,
        link: bytes,
        target: bytes | None,
        reader: TarReader,
        leaves: dict[bytes, tuple[Member, ObjectId, int]],
    ) -> None:
        if member.kind == "folder":
            if target is not None:
                self._builder.add_folder(target)
        elif member.kind == "hardlink":
            original, oid, size = leaves[member.target]
            leaves[member.path] = (original, oid, size)
            if target is not None:
                self._add_leaf(target, original, oid, size)
        elif member.kind == "link":
            oid = self._sink.put(link)
            leaves[member.path] = (member, oid, len(link))
            if target is not None:
                self._add_leaf(target, member, oid, len(link))
        elif target is not None or member.path in self._linked:
            oid = self._put(member, reader)
            leaves[member.path] = (member, oid, member.size)
            if target is not None:
                self._add_leaf(target, member, oid, member.size)

    def _add_leaf(self, target: bytes, member: Member, oid: ObjectId, size: int) -> None:
        if member.kind == "link":
            self._builder.add_link(target, oid, size)
        else:
            self._builder.add_file(target, oid, size, executable=member.executable)

    def _add_file(self, target: bytes, member: Member, content: Any) -> None:
        self._add_leaf(target, member, self._put(member, content), member.size)

    def _put(self, member: Member, content: Any) -> ObjectId:
        if member.size <= _READ_WHOLE:
            whole = content.read()
            oid, size = self._sink.put(whole), len(whole)
        else:
            oid, size = self._sink.put_stream(content, max_bytes=member.size)
        if size != member.size:
            refuse("damaged_archive", "a member with another size than it claims", member.path)
        return oid


_NO_OBJECT: Final = ObjectId.from_bytes(bytes(32))


def _digest(stream: BinaryIO) -> tuple[Digest, int]:
    """Digest and size of the whole file; leaves it at its start."""
    stream.seek(0)
    hasher = blake3()
    size = 0
    while chunk := stream.read(_READ_WHOLE):
        hasher.update(chunk)
        size += len(chunk)
    stream.seek(0)
    return hasher.hexdigest(), size
