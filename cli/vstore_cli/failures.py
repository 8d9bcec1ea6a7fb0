"""What went wrong in a command: told to the person, and turned into an exit code."""

from __future__ import annotations

import os

import click

from vstore.errors import VStoreError
from vstore_cli import errors
from vstore_cli.terminal import Terminal

__all__ = ["told"]


def told(terminal: Terminal, error: Exception) -> int:
    """Tell what went wrong.

    Args:
        terminal: Where to tell it.
        error: What a command, or click on its behalf, has raised.

    Returns:
        The exit code.

    Raises:
        KeyboardInterrupt: The user broke off a question.
    """
    match error:
        case click.exceptions.Exit():
            terminal.flush()
            return error.exit_code
        case click.UsageError():
            if error.ctx is not None and type(error).__name__ == "NoArgsIsHelpError":
                # A group without a subcommand: its help, as lines and not as an error's text.
                terminal.note(error.ctx.get_help())
            else:
                _usage_error(terminal, error)
            return errors.USAGE
        case click.ClickException():
            terminal.error(error.format_message())
            return errors.USAGE
        case click.Abort():
            raise KeyboardInterrupt from None
    if terminal.environ.get("VSTORE_DEBUG"):
        _traceback(terminal, error)
    match error:
        case VStoreError():
            terminal.error(*errors.error_lines(error))
            return errors.exit_code(error)
        case OSError():
            where = f": {os.fsdecode(error.filename)}" if error.filename else ""
            terminal.error(f"{error.strerror or type(error).__name__}{where} [storage]")
            return errors.STORAGE
    terminal.error(*errors.fault_lines(error))
    return errors.FAULT


def _usage_error(terminal: Terminal, error: click.UsageError) -> None:
    hint = None
    if error.ctx is not None:
        hint = f"{error.ctx.command_path} --help shows the usage"
    # click lists choices in lines of their own; an error is one line.
    message = " ".join(error.format_message().split())
    terminal.error(f"{message} [usage]", hint)


def _traceback(terminal: Terminal, error: Exception) -> None:
    import traceback

    for line in "".join(traceback.format_exception(error)).splitlines():
        terminal.note(line)
