"""Locks of a workspace that are not a package's: one admission, one worker a case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from vstore.errors import StorageError
from vstore.objects.layout import TMP
from vstore.objects.locks import PackageLock
from vstore.package.workspace import Workspace

__all__ = ["admission_folder", "claimed"]

_CASES: Final = "cases"


def admission_folder(workspace: Workspace) -> Path:
    """Where admission keeps its own things: a name that no case has, or a package's ``tmp``."""
    return workspace.root / (f"{TMP}/admission" if workspace.is_single else ".admission")


@contextmanager
def claimed(
    workspace: Workspace, case_id: str, what: Literal["admission", "worker"], *, timeout: float
) -> Iterator[None]:
    """Be the only one who admits to a case, or works on it, also where no package is there.

    Args:
        workspace: Where the case is, or will be.
        case_id: The case.
        what: Which of the two.
        timeout: Seconds to wait, 0 or more.

    Raises:
        LockTimeout: Somebody else is, for longer than that.
        StorageError: The lock can't be made.
    """
    folder = admission_folder(workspace) / _CASES / case_id
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError("can't make the folder of a lock", kind="write_failed") from error
    lock = PackageLock(
        folder, what, timeout=timeout, command=f"vstore {what}", clock=workspace.clock
    )
    try:
        with lock:
            yield
    finally:
        lock.close()
