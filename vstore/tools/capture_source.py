"""Pinning a source: a folder, a git revision, or an archive, as a snapshot descriptor.

What was read, what was left out, and whether paths were shortened stands in the coverage
statement, behind what the operator says: a search that finds nothing is worth what the
snapshot covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from vstore.errors import InvalidError
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.memory import ObjectSink
from vstore.package.documents import Coverage, Origin, SnapshotDescriptor
from vstore.package.folder import capture_folder
from vstore.package.limits import PackageLimits
from vstore.package.pinned import INPUTS_SOURCE
from vstore.package.unclaimed import refuse_own
from vstore.tools.archive_members import ArchiveLimits

__all__ = ["capture_source"]

_MAX_STATEMENT: Final = 20_000
_MAX_LABEL: Final = 1000
_WORDS: Final = {
    "directory": "folder",
    "git": "revision",
    "sdist": "source distribution",
    "wheel": "wheel",
    "zip": "zip archive",
    "tar": "tar archive",
}


class _Captured(NamedTuple):
    kind: str
    root: ObjectId
    files: int
    links: int
    excluded: int
    label: str
    digest: Digest | None = None
    stripped: bool = False


def capture_source(
    path: Path,
    sink: ObjectSink,
    *,
    name: str,
    revision: str | None = None,
    exclude: Sequence[str] = (),
    strip_top: bool = True,
    label: str | None = None,
    statement: str | None = None,
    partial: bool = False,
    limits: PackageLimits | ArchiveLimits | None = None,
    never_enter: Iterable[Path] = (),
) -> SnapshotDescriptor:
    """Pin a source into a sink; the caller publishes the descriptor.

    Args:
        path: A folder, an archive (wheel, zip, sdist, tar), or with ``revision`` a git
            repository.
        sink: Takes the objects.
        name: Name of the snapshot, ``[a-z][a-z0-9_.]*``, not ``inputs``.
        revision: A commit, tag or branch of the repository at ``path``.
        exclude: Patterns of what to leave out (see :mod:`vstore.package.exclude`).
        strip_top: Take the one top folder off an archive's paths (never a wheel's).
        label: For people: a version, a commit; the archive's file name or the commit's id
            where None.
        statement: What the operator says about coverage, at most 10,000 characters.
        partial: The operator says that the source isn't all of what it is taken from.
        limits: Bounds on files, bytes and ratios.
        never_enter: Packages whose folders must not be part of a captured folder.

    Returns:
        The descriptor; its coverage is ``partial`` where ``partial`` says so or a pattern
        left something out.

    Raises:
        InvalidError: A bad name (``invalid_name``), label or statement
            (``statement_too_long``), or as :func:`~vstore.package.folder.capture_folder`,
            :func:`~vstore.tools.capture_archive.capture_archive` and
            :func:`~vstore.tools.capture_git.capture_revision`.
        NotFoundError, LimitExceeded, StorageError, UnsupportedError: As these.
    """
    _check_words(name, label, statement)
    bounds = limits if isinstance(limits, ArchiveLimits) else _bounds(limits)
    if revision is not None:
        captured = _revision(path, revision, sink, exclude, bounds)
    elif path.is_dir():
        packages = list(never_enter)
        for root in packages:
            refuse_own(root, path.resolve())
        tree = capture_folder(
            path, sink, exclude=exclude, limits=bounds.package, never_enter=packages
        )
        captured = _Captured(
            "directory", tree.root, tree.files, tree.links, len(tree.excluded), path.absolute().name
        )
    else:
        captured = _archive(path, sink, exclude, bounds, strip_top=strip_top)
    return SnapshotDescriptor(
        name=name,
        kind="source",
        content=captured.root,
        origin=Origin(
            kind=captured.kind,
            label=_label(captured.label) if label is None else label,
            digest=captured.digest,
        ),
        coverage=Coverage(
            kind="partial" if partial or captured.excluded else "complete",
            statement=_statement(captured, exclude, statement),
        ),
    )


def _bounds(limits: PackageLimits | None) -> ArchiveLimits:
    return ArchiveLimits() if limits is None else ArchiveLimits(package=limits)


def _revision(
    path: Path, revision: str, sink: ObjectSink, exclude: Sequence[str], limits: ArchiveLimits
) -> _Captured:
    from vstore.tools.capture_git import capture_revision

    found = capture_revision(path, revision, sink, exclude=exclude, limits=limits.package)
    tree = found.tree
    return _Captured("git", tree.root, tree.files, tree.links, found.excluded, found.commit)


def _archive(
    path: Path, sink: ObjectSink, exclude: Sequence[str], limits: ArchiveLimits, *, strip_top: bool
) -> _Captured:
    from vstore.tools.capture_archive import capture_archive

    found = capture_archive(path, sink, exclude=exclude, strip_top=strip_top, limits=limits)
    tree = found.tree
    return _Captured(
        found.kind,
        tree.root,
        tree.files,
        tree.links,
        found.excluded,
        path.name,
        found.digest,
        found.stripped,
    )


def _check_words(name: str, label: str | None, statement: str | None) -> None:
    import re

    if re.fullmatch(r"[a-z][a-z0-9_.]{0,63}", name) is None or name == INPUTS_SOURCE:
        raise InvalidError(
            "not a name for a source",
            kind="invalid_name",
            hint="1 to 64 of a-z, 0-9, _ and ., beginning with a letter; not 'inputs'",
        )
    if len(label or "") > _MAX_LABEL or len(statement or "") > _MAX_STATEMENT // 2:
        raise InvalidError(
            "the label has over 1,000 or the statement over 10,000 characters",
            kind="statement_too_long",
        )


def _label(text: str) -> str:
    """A file's name as a label: bytes that aren't UTF-8 as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")[:_MAX_LABEL]


def _statement(captured: _Captured, exclude: Sequence[str], said: str | None) -> str:
    what = _WORDS[captured.kind]
    parts = [said.strip()] if said and said.strip() else []
    everything = "Of" if captured.excluded else "Everything in"
    parts.append(f"{everything} the {what}: {_count(captured.files, 'file')}.")
    if captured.links:
        parts.append(
            f"{_count(captured.links, 'symbolic link')}, kept as such: not listed, not searched."
        )
    if captured.stripped:
        parts.append("Paths are below the archive's one top folder.")
    if exclude:
        # Quoted, so that blanks and control characters of a pattern show.
        shown = ", ".join(ascii(pattern) for pattern in exclude)
        shown = shown if len(shown) <= _MAX_STATEMENT // 4 else f"{len(exclude)} patterns"
        parts.append(f"Left out by {shown}: {_count(captured.excluded, 'path')}.")
    return " ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
