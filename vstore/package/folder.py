"""Capturing a folder from disk: names, bytes, executable bits and links, exactly.

Links are kept as links, never followed. What a tree can't represent (a socket, a device, a
pipe), and what can't be read, is an error that names the path: nothing is skipped silently
(spec: lifecycle, "Raw input").
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from vstore.errors import InvalidError, LimitExceeded, NotFoundError, StorageError
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSink
from vstore.package.exclude import ExcludePatterns
from vstore.package.limits import PackageLimits
from vstore.package.tree_builder import TreeBuilder, path_text

__all__ = ["CapturedTree", "FolderCapture", "capture_folder"]

#: Files up to this size are read whole; larger ones are streamed.
_READ_WHOLE: Final = 1024 * 1024

_KINDS: Final = (
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


class CapturedTree(msgspec.Struct, frozen=True):
    """A captured folder.

    Attributes:
        root: The id of its tree.
        size: Bytes of all files and link targets.
        files: Files in it.
        links: Symbolic links in it.
        folders: Folders in it, without itself.
        excluded: Paths that a pattern left out, in byte order; a folder stands for all below.
    """

    root: ObjectId
    size: int
    files: int
    links: int
    folders: int
    excluded: tuple[bytes, ...]


def capture_folder(
    path: Path,
    sink: ObjectSink,
    *,
    exclude: Sequence[str] | ExcludePatterns = (),
    limits: PackageLimits | None = None,
    never_enter: Iterable[Path] = (),
) -> CapturedTree:
    """Capture a folder and everything below it.

    Args:
        path: The folder, or a link to one.
        sink: Takes the objects.
        exclude: Patterns of what to leave out (see :mod:`vstore.package.exclude`).
        limits: Bounds on files and bytes.
        never_enter: Folders that must not be part of it, such as the package itself.

    Raises:
        NotFoundError: No such folder.
        InvalidError: Something that can't be read (``unreadable``), isn't a file, folder or
            link (``not_representable``), changed meanwhile (``changed_while_reading``), or is
            in ``never_enter`` (``inside_itself``); the message and ``details["path"]`` name it.
        LimitExceeded: More files or bytes than the limits allow.
        StorageError: The file system failed.
    """
    capture = FolderCapture(sink, exclude=exclude, limits=limits, never_enter=never_enter)
    capture.add_folder(path, b"")
    return capture.build()


class FolderCapture:
    """Captures files and folders from several places into one tree.

    Args:
        sink: Takes the objects.
        exclude: Patterns of what to leave out, tried on paths inside the tree.
        limits: Bounds on files and bytes.
        never_enter: Folders that must not be part of it.
        builder: What the tree holds already; counts toward no limit here.
    """

    def __init__(
        self,
        sink: ObjectSink,
        *,
        exclude: Sequence[str] | ExcludePatterns = (),
        limits: PackageLimits | None = None,
        never_enter: Iterable[Path] = (),
        builder: TreeBuilder | None = None,
    ) -> None:
        self._sink = sink
        self._exclude = (
            exclude if isinstance(exclude, ExcludePatterns) else ExcludePatterns(exclude)
        )
        self._limits = limits or PackageLimits()
        self._never_enter = {os.path.realpath(os.fsencode(one)) for one in never_enter}
        self._builder = builder or TreeBuilder()
        self._excluded: list[bytes] = []
        self._bytes = 0
        self._files = 0

    def add(self, path: Path, target: bytes) -> None:
        """Capture one file, link or folder.

        Args:
            path: Where it is on disk.
            target: Its path in the tree.

        Raises:
            As :func:`capture_folder`.
        """
        where = os.fsencode(path)
        try:
            status = os.lstat(where)
        except OSError as error:
            _explain(error, where)
        if stat.S_ISDIR(status.st_mode):
            self.add_folder(path, target)
        else:
            self._add_leaf(where, target, status)

    def add_folder(self, path: Path, target: bytes) -> None:
        """Capture a folder, or what a link to one names.

        Raises:
            As :func:`capture_folder`.
        """
        where = os.fsencode(path)
        try:
            status = os.stat(where)  # noqa: PTH116  names stay bytes
        except OSError as error:
            _explain(error, where)
        if not stat.S_ISDIR(status.st_mode):
            raise InvalidError(
                f"not a folder: {path_text(where)}", kind="not_a_folder", path=path_text(where)
            )
        self._enter(where, target)

    @property
    def excluded(self) -> tuple[bytes, ...]:
        """Paths that a pattern left out so far, in byte order."""
        return tuple(sorted(self._excluded))

    def build(self) -> CapturedTree:
        """Write the trees of everything captured so far."""
        built = self._builder.build(self._sink)
        return CapturedTree(
            root=built.root,
            size=built.size,
            files=built.files,
            links=built.links,
            folders=built.folders,
            excluded=self.excluded,
        )

    def _enter(self, where: bytes, target: bytes) -> None:
        if self._never_enter and os.path.realpath(where) in self._never_enter:
            raise InvalidError(
                f"this folder is the package itself: {path_text(where)}",
                kind="inside_itself",
                hint="leave it out with an exclude pattern, or capture another folder",
                path=path_text(where),
            )
        if target:
            self._builder.add_folder(target)
        try:
            with os.scandir(where) as found:
                # Byte order of names: the order on disk must not decide which error comes first.
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            _explain(error, where)
        for entry in entries:
            inner = target + b"/" + entry.name if target else entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                _explain(error, entry.path)
            is_folder = stat.S_ISDIR(status.st_mode)
            if self._exclude and self._exclude.matches(inner, is_folder=is_folder):
                self._excluded.append(inner)
            elif is_folder:
                self._enter(entry.path, inner)
            else:
                self._add_leaf(entry.path, inner, status)

    def _add_leaf(self, where: bytes, target: bytes, status: os.stat_result) -> None:
        self._files += 1
        self._limits.check_files(self._files)
        if stat.S_ISLNK(status.st_mode):
            try:
                link = os.readlink(where)  # noqa: PTH115  names stay bytes
            except OSError as error:
                _explain(error, where)
            self._count(len(link))
            self._builder.add_link(target, self._sink.put(link), len(link))
        elif stat.S_ISREG(status.st_mode):
            oid, size = self._read(where, status)
            self._builder.add_file(
                target, oid, size, executable=bool(status.st_mode & stat.S_IXUSR)
            )
        else:
            kind = next((name for test, name in _KINDS if test(status.st_mode)), "special")
            raise InvalidError(
                f"{kind} can't be captured: {path_text(where)}",
                kind="not_representable",
                hint="leave it out with an exclude pattern",
                path=path_text(where),
            )

    def _read(self, where: bytes, status: os.stat_result) -> tuple[ObjectId, int]:
        self._limits.check_file(status.st_size, path_text(where))
        self._count(status.st_size)
        try:
            # No link and no pipe that took the file's place meanwhile is opened.
            descriptor = os.open(where, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            _explain(error, where)
        try:
            with os.fdopen(descriptor, "rb") as stream:
                opened = os.fstat(stream.fileno())
                if not stat.S_ISREG(opened.st_mode):
                    raise _changed(where)
                if status.st_size <= _READ_WHOLE:
                    content = stream.read(_READ_WHOLE + 1)
                    if len(content) != status.st_size:
                        raise _changed(where)
                    return self._sink.put(content), len(content)
                oid, size = self._sink.put_stream(stream, max_bytes=self._limits.max_file_bytes)
                if size != status.st_size:
                    raise _changed(where)
                return oid, size
        except LimitExceeded as error:
            # It grew while it was read.
            raise _changed(where) from error
        except OSError as error:
            _explain(error, where)

    def _count(self, size: int) -> None:
        self._bytes += size
        self._limits.check_bytes(self._bytes)


def _changed(where: bytes) -> InvalidError:
    return InvalidError(
        f"changed while it was read: {path_text(where)}",
        kind="changed_while_reading",
        hint="capture it again when nothing writes to it",
        path=path_text(where),
    )


def _explain(error: OSError, where: bytes) -> NoReturn:
    text = path_text(where)
    if isinstance(error, PermissionError):
        raise InvalidError(
            f"no permission to read: {text}",
            kind="unreadable",
            hint="make it readable, or leave it out with an exclude pattern",
            path=text,
        ) from error
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        raise NotFoundError(f"no such file or folder: {text}", kind="no_file", path=text) from error
    if error.errno == errno.ELOOP:
        raise _changed(where) from error
    raise StorageError(
        f"reading failed ({errno.errorcode.get(error.errno or 0, 'unknown')}): {text}",
        kind="read_failed",
        path=text,
    ) from error
