"""How a package's folder is: what a crash left, what lags, who holds a lock, what takes space.

Looks only, writes nothing and takes no lock for longer than a look. It reads the log's end
and the ref files; whether the content is right is the verifier's to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from vstore.errors import StorageError, VStoreError
from vstore.objects.ids import ObjectId
from vstore.objects.index_cache import index_path, load_index
from vstore.objects.layout import CACHE, LARGE, LOCKS, LOG, PACKS, REFS, TMP, read_file
from vstore.objects.locks import EVIDENCE, PUBLICATION, REPACK
from vstore.objects.log import LogReader
from vstore.package.reader import PackageReader

__all__ = ["Ailment", "Holder", "PackageHealth", "Severity", "examine", "tmp_residue"]

#: ``error``: writing is refused until it is dealt with; ``warning``: something to look after;
#: ``note``: good to know, nothing to do.
Severity = Literal["error", "warning", "note"]
_LOCKS: Final = (EVIDENCE, PUBLICATION, REPACK)
_MAX_HOLDER_BYTES: Final = 512
_SPACE: Final = {
    "log": LOG,
    "pack": PACKS,
    "large": LARGE,
    "refs": REFS,
    "cache": CACHE,
    "tmp": TMP,
}


class Ailment(msgspec.Struct, frozen=True):
    """One thing about a package that is worth saying.

    Attributes:
        kind: Stable, such as ``ref_lagging``.
        severity: How bad it is.
        message: What it is, in words.
        advice: What to do, in words; None where nothing is to be done.
    """

    kind: str
    severity: Severity
    message: str
    advice: str | None = None


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lock now; what they said of themselves, which nobody checked."""

    lock: str
    process: str
    since: str


class PackageHealth(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        root: The package's folder.
        head: The head generation; None where it can't be read or there is none yet.
        generation: Its number, 0 without one.
        ailments: In the order in which they were found; none for a healthy package.
        space: Bytes by part: ``log``, ``pack``, ``large``, ``refs``, ``cache``, ``tmp``.
        residue: Files in ``tmp`` that may be removed while nobody writes.
        holders: Locks that are held now.
    """

    root: Path
    head: ObjectId | None
    generation: int
    ailments: tuple[Ailment, ...]
    space: dict[str, int]
    residue: tuple[Path, ...]
    holders: tuple[Holder, ...]

    @property
    def worst(self) -> Severity | None:
        """The worst severity; None for a healthy package."""
        found = {one.severity for one in self.ailments}
        order: tuple[Severity, ...] = ("error", "warning", "note")
        return next((severity for severity in order if severity in found), None)


def examine(root: Path) -> PackageHealth:
    """Look at a package's folder.

    Args:
        root: The folder, which has a ``VSTORE`` file.

    Raises:
        StorageError: The folder can't be listed.
    """
    ailments: list[Ailment] = []
    head, number = None, 0
    try:
        with PackageReader.open(root) as reader:
            head = reader.head_id()
            ailments += _log_ailments(reader.objects.log)
            if head is None:
                ailments.append(
                    Ailment(
                        "no_generation",
                        "warning",
                        "its creation was cut short",
                        "run init again; it goes on where it stopped",
                    )
                )
            else:
                number = reader.pinned().number
            ailments += _ref_ailments(reader)
            ailments += _cache_ailments(root, reader.objects.log)
    except VStoreError as error:
        severity: Severity = "error"
        ailments.append(Ailment(error.kind, severity, error.message, error.hint))
    files = {part: list(_files(root / where)) for part, where in _SPACE.items()}
    residue = tmp_residue(root)
    if residue:
        ailments.append(
            Ailment(
                "residue",
                "note",
                f"{len(residue)} files in tmp/, left by a crash or in use by a writer",
                "repair --residue removes them; only while nobody writes",
            )
        )
    holders = tuple(one for lock in _LOCKS if (one := _holder(root, lock)) is not None)
    ailments += [
        Ailment(
            "locked",
            "note",
            f"the {one.lock} lock is held by process {one.process} since {one.since}",
        )
        for one in holders
    ]
    if not os.access(root, os.W_OK):
        ailments.append(Ailment("read_only", "note", "the folder can't be written here"))
    return PackageHealth(
        root=root,
        head=head,
        generation=number,
        ailments=tuple(ailments),
        space={part: sum(size for _, size in found) for part, found in files.items()},
        residue=tuple(residue),
        holders=holders,
    )


def tmp_residue(root: Path) -> list[Path]:
    """Files in a package's ``tmp`` that nobody needs once no writer is at work.

    Raises:
        StorageError: The folder can't be listed.
    """
    # Admission keeps folders of its own there, in a workspace of one package.
    return [path for path, _ in _files(root / TMP) if path.parent == root / TMP]


def _log_ailments(log: LogReader) -> Iterator[Ailment]:
    for one in log.damage:
        error = one.error()
        yield Ailment(
            error.kind,
            "error",
            error.message,
            error.hint or "vstore verify says what is lost; get the package from another copy",
        )
    tail = log.tail
    if tail.torn:
        yield Ailment(
            "torn_tail",
            "note",
            f"{tail.torn} bytes at the end of segment {tail.segment} are no frame: a publication "
            "was cut short, or is being written right now",
            "nothing: the next writer begins a new segment behind them",
        )
    if log.superseded:
        yield Ailment(
            "replaced_files",
            "note",
            f"{len(log.superseded)} files that packs have replaced are still there",
            "repack removes them",
        )
    if log.residue is not None:
        yield Ailment(
            "unfinished_segment",
            "note",
            f"segment {log.residue} was begun and holds nothing yet",
            "nothing: the next writer replaces it",
        )
    if tail.features:
        yield Ailment(
            "unsupported_frame",
            "warning",
            "the last frame has features that this version doesn't know: the package is "
            "read-only for it",
            "use a newer vstore to write",
        )


def _ref_ailments(reader: PackageReader) -> Iterator[Ailment]:
    for one in reader.ref_report():
        if one.state == "lagging":
            yield Ailment(
                "ref_lagging",
                "warning",
                f"refs/{one.name} has an earlier value than the log",
                "repair moves it forward, and so does the next writer",
            )
        elif one.state != "current":
            lost = one.name == "generation" and one.state == "foreign"
            yield Ailment(
                "log_lost_head" if lost else f"ref_{one.state}",
                "error",
                f"refs/{one.name} "
                + (
                    "names a generation that the log lacks: acknowledged work may be lost"
                    if lost
                    else "is gone"
                    if one.state == "missing"
                    else "was never so in this package"
                ),
                "restore the package from another copy, or repair --accept-log-head",
            )


def _cache_ailments(root: Path, log: LogReader) -> Iterator[Ailment]:
    if index_path(root).exists() and load_index(root, log) is None:
        yield Ailment(
            "stale_cache",
            "note",
            "the cached index of objects doesn't fit the log, and is not used",
            "nothing: it is built again",
        )


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Files below a folder and their sizes; links aren't followed."""
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path))
                else:
                    yield Path(entry.path), entry.stat(follow_symlinks=False).st_size
    except (FileNotFoundError, NotADirectoryError):
        # It may be removed while somebody looks.
        return
    except OSError as error:
        raise StorageError(
            f"can't list {folder.name}: {os.strerror(error.errno or 0)}", kind="read_failed"
        ) from error


def _holder(root: Path, lock: str) -> Holder | None:
    """Who holds a lock; looked for without making or writing a file."""
    from filelock import lock_descriptor, unlock_descriptor

    try:
        fd = os.open(root / LOCKS / lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if lock_descriptor(fd, blocking=False):
            unlock_descriptor(fd)
            return None
    except OSError:
        return None
    finally:
        os.close(fd)
    told: dict[str, str] = {}
    raw = read_file(root / LOCKS / f"{lock}.holder", _MAX_HOLDER_BYTES) or b""
    for line in raw.decode("utf-8", "replace").splitlines():
        key, _, value = line.partition(" ")
        told[key] = value.strip()
    process, since = told.get("pid", ""), told.get("since", "")
    return Holder(
        lock,
        process if process.isascii() and process.isdigit() else "unknown",
        since if len(since) <= 20 and since.isascii() and since.isprintable() else "unknown",
    )
