"""Raw input: the bug report, logs and other files that a case starts from.

The id of its tree is the raw input identity. Files are added, and replaced only where that
is asked for; nothing here publishes anything (spec: lifecycle, "Raw input").
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from vstore.errors import InvalidError, NotFoundError
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSink, ObjectSource
from vstore.package.folder import FolderCapture
from vstore.package.limits import PackageLimits
from vstore.package.tree_builder import TreeBuilder, path_text
from vstore.package.unclaimed import refuse_own

__all__ = [
    "AddedInputs",
    "InputFile",
    "add_inputs",
    "check_present",
    "empty_inputs",
    "excluded_note",
    "input_file",
]

#: Characters of patterns that an event quotes; of more it says how many there were.
_MAX_SHOWN_PATTERNS: Final = 500


class InputFile(msgspec.Struct, frozen=True):
    """One file, link or folder to take in.

    Attributes:
        source: Where it is on disk.
        target: Its path in the raw input, with ``/``.
    """

    source: Path
    target: bytes


def input_file(source: Path, *, under: bytes = b"") -> InputFile:
    """A file or folder that keeps its own name.

    Args:
        source: Where it is on disk.
        under: The folder of the raw input that it goes into; the root where empty.

    Raises:
        InvalidError: The path has no last name (``/``, ``..``).
    """
    # normpath would follow no links either, but also drop ".." behind one; absolute is enough.
    name = os.fsencode(source.absolute().name)
    if name in (b"", b".."):
        raise InvalidError(
            f"this path has no name of its own: {path_text(os.fsencode(source))}",
            kind="invalid_path",
            hint="say under which name it is taken in",
        )
    return InputFile(source, under + b"/" + name if under else name)


def check_present(files: Iterable[InputFile]) -> None:
    """Refuse files that aren't there, before anything is made for them.

    Raises:
        NotFoundError: One of them doesn't exist; the message names it.
    """
    for one in files:
        if not os.path.lexists(one.source):
            text = path_text(os.fsencode(one.source))
            raise NotFoundError(f"no such file or folder: {text}", kind="no_file", path=text)


class AddedInputs(msgspec.Struct, frozen=True):
    """The raw input after an addition.

    Attributes:
        root: The raw input identity.
        size: Bytes of all its files.
        files: All its files and links.
        added: Paths that are new or have new bytes, in byte order; an empty folder ends in ``/``.
        excluded: How many paths patterns left out; a folder counts once for all below it.
    """

    root: ObjectId
    size: int
    files: int
    added: tuple[bytes, ...]
    excluded: int


def empty_inputs(sink: ObjectSink) -> ObjectId:
    """The tree of a raw input without files."""
    return TreeBuilder().build(sink).root


def add_inputs(
    objects: ObjectSource,
    base: ObjectId | None,
    sink: ObjectSink,
    files: Iterable[InputFile],
    *,
    exclude: Sequence[str] = (),
    limits: PackageLimits | None = None,
    replace: bool = False,
    never_enter: Iterable[Path] = (),
) -> AddedInputs:
    """The raw input ``base`` and these files.

    Args:
        objects: Where ``base`` is.
        base: The raw input so far; None for none.
        sink: Takes the new objects.
        files: What to take in; folders with everything below them.
        exclude: Patterns of what to leave out (see :mod:`vstore.package.exclude`).
        limits: Bounds on the whole raw input.
        replace: Take new bytes for paths that exist; else they are refused.
        never_enter: Packages whose folders and own files must not be part of it.

    Raises:
        InvalidError: A path is taken by other bytes (``path_taken``), or as
            :func:`vstore.package.folder.capture_folder`.
        NotFoundError, LimitExceeded, StorageError: As there.
    """
    limits = limits or PackageLimits()
    incoming = TreeBuilder()
    packages = list(never_enter)
    capture = FolderCapture(
        sink, exclude=exclude, limits=limits, never_enter=packages, builder=incoming
    )
    for one in files:
        for root in packages:
            refuse_own(root, one.source)
        capture.add(one.source, one.target)
    excluded = len(capture.excluded)
    builder = TreeBuilder() if base is None else TreeBuilder.from_tree(objects, base)
    added = _merge(builder, incoming, replace=replace)
    built = builder.build(sink)
    limits.check_bytes(built.size)
    limits.check_files(built.files + built.links)
    return AddedInputs(built.root, built.size, built.files + built.links, tuple(added), excluded)


def excluded_note(exclude: Sequence[str], count: int) -> str | None:
    """What an event says of files that patterns kept out of the raw input; None for none.

    Args:
        exclude: The patterns.
        count: How many paths they left out.
    """
    if not count:
        return None
    shown = ", ".join(exclude)
    if len(shown) > _MAX_SHOWN_PATTERNS:
        shown = f"{len(exclude)} patterns"
    return f"left out {count} {'path' if count == 1 else 'paths'} by {shown}"


def _merge(builder: TreeBuilder, incoming: TreeBuilder, *, replace: bool) -> list[bytes]:
    added: list[bytes] = []
    every = list(incoming.walk())
    for position, (path, entry) in enumerate(every):
        if entry is None:
            # An empty folder is something by itself, others come with what they hold.
            following = every[position + 1][0] if position + 1 < len(every) else b""
            if not following.startswith(path + b"/") and not builder.is_folder(path):
                added.append(path + b"/")
            builder.add_folder(path)
            continue
        old = builder.find(path)
        if old == entry:
            continue
        if old is not None:
            if not replace:
                raise InvalidError(
                    f"the raw input has other bytes at this path: {path_text(path)}",
                    kind="path_taken",
                    hint="add it under another name, or ask for it to be replaced",
                    path=path_text(path),
                )
            builder.remove(path)
        if entry.kind == "link":
            builder.add_link(path, entry.object, entry.size)
        else:
            builder.add_file(path, entry.object, entry.size, executable=entry.executable)
        added.append(path)
    return added
