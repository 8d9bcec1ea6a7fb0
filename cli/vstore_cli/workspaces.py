"""The workspace that a command works on: a folder of packages, one for each case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vstore_cli.session import Session

if TYPE_CHECKING:
    from vstore.package.workspace import Workspace

__all__ = ["open_workspace", "workspace_option"]

F = TypeVar("F", bound=Callable[..., Any])


def workspace_option(command: F) -> F:
    """Adds ``--workspace`` to a command, as the argument ``workspace``."""
    return click.option(
        "--workspace",
        "-w",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="The folder of packages; by default VSTORE_WORKSPACE or the current one.",
    )(command)


def open_workspace(session: Session, path: Path | None) -> Workspace:
    """The workspace: as named, VSTORE_WORKSPACE, or the current folder.

    Raises:
        NotFoundError: No such folder (``no_workspace``).
    """
    from vstore.package.workspace import Workspace

    named = path or session.environ.get("VSTORE_WORKSPACE")
    return session.closing.enter_context(
        Workspace.open(Path(named) if named else Path.cwd(), actor=session.actor,
                       clock=session.clock)
    )  # fmt: skip
