"""The session and the options that many commands share, as click decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from vstore_cli.session import Session

__all__ = [
    "Session",
    "actor_option",
    "json_option",
    "package_option",
    "pass_session",
]

F = TypeVar("F", bound=Callable[..., Any])

pass_session = click.make_pass_decorator(Session)


def package_option(command: F) -> F:
    """Adds ``--package`` to a command; the session keeps it."""

    def keep(context: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            context.find_root().obj.package_option = value

    return click.option(
        "--package",
        "-p",
        metavar="PATH",
        expose_value=False,
        callback=keep,
        help="The package or bundle; by default found from the current folder upwards.",
    )(command)


def actor_option(command: F) -> F:
    """Adds ``--actor`` to a command; the session keeps it."""

    def keep(context: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            context.find_root().obj.actor_option = value

    return click.option(
        "--actor",
        metavar="NAME",
        expose_value=False,
        callback=keep,
        help="Who acts; by default VSTORE_ACTOR or the login name.",
    )(command)


def json_option(command: F) -> F:
    """Adds ``--json`` to a command, as the argument ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
