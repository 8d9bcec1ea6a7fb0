"""Where a bundle lies while it is judged: a copy that nobody else changes.

The folder is inside of the workspace. Each file in it is locked by whoever works on it; what
nobody locks was left by a crash, and may be removed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from vstore.admission.claims import admission_folder
from vstore.errors import InvalidError, LimitExceeded, NotFoundError, StorageError
from vstore.package.workspace import Workspace

__all__ = ["MAX_BUNDLE_BYTES", "Quarantine"]

_QUARANTINE: Final = "quarantine"
#: Bytes of a bundle at the most; a setting, not a cap of the format.
MAX_BUNDLE_BYTES: Final = 64 * 1024**3
_CHUNK: Final = 1 << 20


class Quarantine:
    """The quarantine of a workspace.

    Args:
        workspace: The workspace.
        max_bytes: Bytes of a bundle at the most, 1 or more.
    """

    def __init__(self, workspace: Workspace, *, max_bytes: int = MAX_BUNDLE_BYTES) -> None:
        self.folder = admission_folder(workspace) / _QUARANTINE
        self._max_bytes = max_bytes

    @contextmanager
    def place(self) -> Iterator[Path]:
        """A name for a bundle that is locked until the end, when the file is removed.

        Raises:
            StorageError: The folder can't be made or written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            name, fd = self._claim()
        except OSError as error:
            raise _failed("make room in the quarantine", error) from error
        path = self.folder / f"{name}.zip"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
            (self.folder / f"{name}.lock").unlink(missing_ok=True)
            os.close(fd)

    def _claim(self) -> tuple[str, int]:
        from filelock import lock_descriptor

        while True:
            name = f"{os.getpid()}-{os.urandom(8).hex()}"
            lock = self.folder / f"{name}.lock"
            fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            # Somebody who clears up may have taken the file for residue before it was locked.
            if lock_descriptor(fd, blocking=False) and lock.exists():
                return name, fd
            os.close(fd)

    def copy(self, source: Path, target: Path) -> None:
        """Copy a bundle in, so that what is judged is what is installed.

        Raises:
            NotFoundError: No such file.
            InvalidError: Not an ordinary file (``not_a_file``).
            LimitExceeded: It has more than ``max_bytes``.
            StorageError: It can't be read or written.
        """
        try:
            fd = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise NotFoundError("no such file", kind="no_file", path=str(source)) from error
        except OSError as error:
            raise _failed("read the bundle", error) from error
        with os.fdopen(fd, "rb") as stream:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise InvalidError("a bundle is an ordinary file", kind="not_a_file")
            try:
                self._copy(stream.read, target)
            except OSError as error:
                raise _failed("copy the bundle into the quarantine", error) from error

    def _copy(self, read: Callable[[int], bytes], target: Path) -> None:
        size = 0
        with target.open("xb") as out:
            while piece := read(_CHUNK):
                size += len(piece)
                if size > self._max_bytes:
                    raise LimitExceeded(
                        f"the bundle has more than {self._max_bytes} bytes",
                        limit="max_bundle_bytes",
                        value=self._max_bytes,
                        asked=size,
                    )
                out.write(piece)

    def residue(self, *, remove: bool = False) -> list[Path]:
        """Files that nobody works on: a crash left them.

        Args:
            remove: Remove them too.

        Raises:
            StorageError: The folder can't be read, or a file can't be removed.
        """
        found: list[Path] = []
        try:
            names = sorted(os.listdir(self.folder)) if self.folder.is_dir() else []  # noqa: PTH208
            for stem in dict.fromkeys(name.partition(".")[0] for name in names):
                with _unlocked(self.folder / f"{stem}.lock") as free:
                    if not free:
                        continue
                    for name in names:
                        if name.partition(".")[0] == stem:
                            found.append(self.folder / name)
                            if remove:
                                (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise _failed("look after the quarantine", error) from error
        return found


@contextmanager
def _unlocked(path: Path) -> Iterator[bool]:
    """Whether nobody holds this lock; it is held meanwhile where it exists."""
    from filelock import lock_descriptor

    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        yield lock_descriptor(fd, blocking=False)
    finally:
        os.close(fd)


def _failed(what: str, error: OSError) -> StorageError:
    return StorageError(
        f"can't {what}: {os.strerror(error.errno) if error.errno else type(error).__name__}",
        kind="quarantine",
    )
