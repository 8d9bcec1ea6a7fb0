"""What the commands of the testers' page share: its extra, its folder, its database."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from vstore_cli.errors import Refused
from vstore_cli.session import Session
from vstore_cli.workspaces import open_workspace

if TYPE_CHECKING:
    from vstore.web.database import Database

__all__ = ["need_web_extra", "open_testers", "state_option"]

F = TypeVar("F", bound=Callable[..., Any])

_EXTRA: Final = ("argon2", "jinja2", "python_multipart", "starlette", "uvicorn")


def state_option(command: F) -> F:
    """Adds ``--state`` to a command, as the argument ``state``."""
    return click.option(
        "--state",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="The page's own folder; by default the workspace's path and .testers.",
    )(command)


def need_web_extra() -> None:
    """Refuse to go on without what the extra ``web`` brings.

    Raises:
        Refused: Something of it isn't installed (``missing_extra``).
    """
    for name in _EXTRA:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise Refused(
                f"the testers' page needs {name}, which isn't installed",
                kind="missing_extra",
                hint='pip install "vstore[web]"',
            ) from error


def open_testers(
    session: Session, workspace: Path | None, state: Path | None, *, create: bool = False
) -> Database:
    """The database of the page that serves a workspace; closed with the session.

    Args:
        session: The run.
        workspace: As named; else as :func:`~vstore_cli.workspaces.open_workspace`.
        state: The page's folder as named; else the one beside the workspace.
        create: Make it where it doesn't exist.

    Raises:
        InvalidError: The folder lies in the workspace, or others may look into it.
        NotFoundError: There is no workspace, or no such folder yet.
        Refused: The extra isn't installed.
    """
    need_web_extra()
    from vstore.web.database import Database
    from vstore.web.service_folder import ServiceFolder

    root = open_workspace(session, workspace).root
    folder = ServiceFolder.open(state or ServiceFolder.beside(root), create=create, workspace=root)
    database = Database(folder.database_path, clock=session.clock)
    session.closing.callback(database.close)
    return database
