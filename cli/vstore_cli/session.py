"""What a command works on: the package, the actor, the clock, the terminal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vstore.package.clock import Clock, utc_now
from vstore_cli.terminal import Terminal

if TYPE_CHECKING:
    from vstore.package.case import Case
    from vstore.package.reader import PackageReader
    from vstore.package.workspace import Workspace

__all__ = ["Session"]


class Session:
    """One run of the command line.

    Args:
        terminal: Where to print.
        environ: Environment variables.
        clock: Says when things happen.
    """

    def __init__(
        self,
        terminal: Terminal,
        environ: Mapping[str, str],
        clock: Clock = utc_now,
    ) -> None:
        self.terminal = terminal
        self.environ = environ
        self.clock = clock
        self.closing = contextlib.ExitStack()
        self.package_option: str | None = None
        self.actor_option: str | None = None

    @property
    def actor(self) -> str:
        """Who acts: ``--actor``, VSTORE_ACTOR, or the login name."""
        from vstore_cli.errors import Refused

        name = self.actor_option or self.environ.get("VSTORE_ACTOR") or self._login()
        if not 1 <= len(name) <= 200 or not name.isprintable():
            raise Refused(
                "an actor's name has 1 to 200 printable characters",
                kind="invalid_actor",
                hint="say who acts with --actor NAME or VSTORE_ACTOR",
            )
        return name

    def package_path(self) -> Path:
        """The package: ``--package``, VSTORE_PACKAGE, or upwards from the current folder.

        Raises:
            NotFoundError: There is none.
        """
        from vstore.errors import NotFoundError
        from vstore.package.reader import discover

        named = self.package_option or self.environ.get("VSTORE_PACKAGE")
        if named and os.path.isfile(named):  # noqa: PTH113 - false where it can't be looked at
            # A bundle, or nothing: never the package around it.
            return Path(named)
        if named and not os.path.lexists(named):
            raise NotFoundError(f"no such file or folder: {named}", kind="no_file")
        return discover(Path(named) if named else Path.cwd())

    def reader(self) -> PackageReader:
        """The package, for reading."""
        from vstore.package.reader import PackageReader

        return self.closing.enter_context(PackageReader.open(self.package_path()))

    def workspace(self) -> Workspace:
        """A workspace of this one package, for writing."""
        from vstore.package.workspace import Workspace

        path = self.package_path()
        if path.is_file():
            from vstore_cli.errors import Refused

            raise Refused(
                "a bundle is only read",
                kind="read_only_bundle",
                hint="vstore clone makes a package of it, which can be written to",
            )
        return self.closing.enter_context(
            Workspace.of_package(path, actor=self.actor, clock=self.clock)
        )

    def case(self) -> Case:
        """The operations on the case of this package."""
        workspace = self.workspace()
        return workspace.case(workspace.only_case())

    def _login(self) -> str:
        import getpass

        try:
            return getpass.getuser()
        except (OSError, KeyError):
            # A container may run a user that has no name.
            return f"uid-{os.getuid()}"
