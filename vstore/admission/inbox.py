"""A directory that bundles are dropped into, shared by any number of workers.

A bundle is claimed by an OS lock on the file itself, so that a killed worker blocks nobody,
and leaves the inbox by a rename. Whoever drops one should write it under a name that begins
with a dot, or ends in ``.part`` or ``.tmp``, and rename it: such names are left alone.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from vstore.errors import StorageError

__all__ = ["ADMITTED", "REJECTED", "Inbox"]

#: Where a bundle goes that was taken in, and one that was refused, with its findings.
ADMITTED: Final = "admitted"
REJECTED: Final = "rejected"
_UNFINISHED: Final = (".part", ".tmp")
#: Ends the name of the findings beside a bundle.
_BESIDE: Final = ".findings.json"
#: Bytes of a name that are kept; file systems have room for 255.
_MAX_NAME_BYTES: Final = 220


class Inbox:
    """An inbox; its folders are made when they are needed.

    Args:
        folder: The directory; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: The files that are claimed here, open.
        self._claimed: dict[Path, int] = {}

    def waiting(self) -> list[Path]:
        """The files that wait, by name.

        Raises:
            StorageError: The directory can't be read.
        """
        try:
            with os.scandir(self.folder) as entries:
                found = [
                    one.name
                    for one in entries
                    if one.name not in (ADMITTED, REJECTED)
                    and not one.name.startswith(".")
                    and not one.name.endswith(_UNFINISHED)
                    and one.is_file(follow_symlinks=False)
                ]
        except OSError as error:
            raise _failed("read the inbox", error) from error
        return [self.folder / name for name in sorted(found, key=os.fsencode)]

    @contextmanager
    def claim(self, path: Path) -> Iterator[bool]:
        """Claim a file that waits; False where another worker has it, or has dealt with it.

        Raises:
            StorageError: It can't be opened.
        """
        from filelock import lock_descriptor

        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(path, flags)
        except FileNotFoundError:
            yield False
            return
        except OSError as error:
            raise _failed("open a file of the inbox", error) from error
        mine = False
        try:
            mine = lock_descriptor(fd, blocking=False) and _is_there(path, fd)
            if mine:
                self._claimed[path] = fd
            yield mine
        finally:
            if mine:
                del self._claimed[path]
            os.close(fd)

    def accept(self, path: Path) -> Path:
        """Put a claimed bundle away that was taken in; returns where it is.

        Raises:
            StorageError: It can't be moved, or another file has its name by now
                (``replaced``), which waits.
        """
        self._check_claimed(path)
        with self._opened(ADMITTED) as folder:
            name = _free(path.name, folder)
            try:
                os.replace(path, name, dst_dir_fd=folder)
            except OSError as error:
                raise _failed("put a bundle away", error) from error
        return self.folder / ADMITTED / name

    def reject(self, path: Path, findings: dict[str, Any]) -> Path:
        """Put a claimed bundle away that was refused, a findings file beside it.

        Args:
            path: The bundle.
            findings: What is wrong with it, as JSON.

        Returns:
            Where it is; the findings have its name and ``.findings.json``.

        Raises:
            StorageError: It can't be moved, another file has its name by now (``replaced``),
                or the findings can't be written.
        """
        self._check_claimed(path)
        with self._opened(REJECTED) as folder:
            name = _free(path.name, folder)
            try:
                # First why, then what: a crash between leaves the bundle where it waits.
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                beside = os.open(name + _BESIDE, flags, 0o644, dir_fd=folder)
                with os.fdopen(beside, "w", encoding="ascii") as out:
                    out.write(json.dumps(findings, indent=1) + "\n")
                os.replace(path, name, dst_dir_fd=folder)
            except OSError as error:
                raise _failed("put a rejected bundle away", error) from error
        return self.folder / REJECTED / name

    def _check_claimed(self, path: Path) -> None:
        """Never put away what nobody has looked at."""
        fd = self._claimed.get(path)
        if fd is None or not _is_there(path, fd):
            raise StorageError(
                "another file has the name of the claimed one by now", kind="replaced"
            )

    @contextmanager
    def _opened(self, folder: str) -> Iterator[int]:
        """A folder of the inbox, made where it is absent; never one that a link leads to."""
        path = self.folder / folder
        try:
            path.mkdir(exist_ok=True)
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise _failed(f"open the folder {folder} of the inbox", error) from error
        try:
            yield fd
        finally:
            os.close(fd)


def _free(name: str, folder: int) -> str:
    """A name that no other bundle has in an open folder."""
    try:
        taken = set(os.listdir(folder))
    except OSError as error:
        raise _failed("read a folder of the inbox", error) from error
    stem, dot, ending = _shortened(name).partition(".")
    name = stem + dot + ending
    number = 1
    # What stands beside it must not be another bundle either.
    while name in taken or name + _BESIDE in taken:
        number += 1
        name = f"{stem}-{number}{dot}{ending}"
    return name


def _shortened(name: str) -> str:
    """A name to which a number and the ending of the findings can be added."""
    return os.fsdecode(os.fsencode(name)[:_MAX_NAME_BYTES])


def _is_there(path: Path, fd: int) -> bool:
    """Whether the locked file still waits under its name, an ordinary file."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(now.st_mode) and os.path.samestat(now, os.fstat(fd))


def _failed(what: str, error: OSError) -> StorageError:
    return StorageError(f"can't {what}: {os.strerror(error.errno or 0)}", kind="inbox")
