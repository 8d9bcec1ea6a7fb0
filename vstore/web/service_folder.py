"""Where the service keeps its own data: a folder beside the workspace, only for its owner.

It holds what is no evidence (accounts, sessions, drafts, uploads in progress), so it never
lies in the workspace, where a transfer or a backup of evidence would take it along.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from vstore.errors import InvalidError, NotFoundError, StorageError
from vstore.objects.durable import REAL, storage_error

__all__ = ["ServiceFolder"]

_OTHERS: Final = 0o077


@dataclass(frozen=True)
class ServiceFolder:
    """The folder; :meth:`open` checks it.

    Args:
        path: The folder.
    """

    path: Path

    @staticmethod
    def beside(workspace: Path) -> Path:
        """The usual place for a workspace: its path with ``.testers`` after it."""
        whole = workspace.absolute().resolve()
        return whole.with_name(whole.name + ".testers")

    @classmethod
    def open(cls, path: Path, *, create: bool = True, workspace: Path | None = None) -> Self:
        """The folder at a path, and what stands in it.

        Args:
            path: The folder.
            create: Make it where it doesn't exist.
            workspace: The workspace that it serves, which it must not lie in.

        Raises:
            InvalidError: It lies in the workspace (``state_in_workspace``), or others than
                its owner may look into it (``state_not_private``).
            NotFoundError: It doesn't exist, and isn't to be made (``no_state``).
            StorageError: It can't be made or read, or is no folder.
        """
        if workspace is not None and path.resolve().is_relative_to(workspace.resolve()):
            raise InvalidError(
                "the state folder lies in the workspace",
                kind="state_in_workspace",
                hint="passwords and drafts don't belong with the evidence: name another folder",
            )
        if not path.is_dir():
            if not create:
                raise NotFoundError(
                    "there is no state folder of a testers' page",
                    kind="no_state",
                    hint="vstore tester add NAME --admin makes it, with the first administrator",
                )
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.mkdir(mode=0o700)
            except FileExistsError:
                if not path.is_dir():
                    raise StorageError("the state folder is no folder", kind="no_folder") from None
            except OSError as error:
                raise storage_error(error, "make folder", path) from error
            REAL.sync_folder(path.parent)
        folder = cls(path)
        folder._keep_private()
        try:
            folder.uploads.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise storage_error(error, "make folder", folder.uploads) from error
        return folder

    @property
    def database_path(self) -> Path:
        """The SQLite database of the service."""
        return self.path / "testers.sqlite3"

    @property
    def uploads(self) -> Path:
        """The folder of uploads that are not confirmed yet."""
        return self.path / "uploads"

    def _keep_private(self) -> None:
        try:
            mode = stat.S_IMODE(self.path.stat().st_mode)
            if not mode & _OTHERS:
                return
            if not os.listdir(self.path):  # noqa: PTH208
                # Somebody made it for us, as service managers do; nothing is known yet.
                self.path.chmod(0o700)
                return
        except OSError as error:
            raise storage_error(error, "look at folder", self.path) from error
        raise InvalidError(
            "others than its owner may look into the state folder",
            kind="state_not_private",
            hint=f"chmod 700 {self.path}",
        )
