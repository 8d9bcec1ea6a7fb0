"""The entry point: find the command, run it, turn what goes wrong into an exit code."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from vstore.errors import VStoreError
from vstore.package.clock import Clock, utc_now
from vstore_cli import errors
from vstore_cli.commands import COMMANDS, SECTIONS
from vstore_cli.context import Session, actor_option, package_option
from vstore_cli.terminal import Colour, Terminal

__all__ = ["COMPLETE_VARIABLE", "cli", "main", "run"]

COMPLETE_VARIABLE: Final = "_VSTORE_COMPLETE"


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        command = importlib.import_module(listed.module).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "help":
            # As with git: vstore help log.
            args = [*args[1:], "--help"]
            if len(args) == 1:
                self.parse_args(ctx, args)
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise _unknown_command(ctx, args[0])
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        for title, listed in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(one.name, one.summary) for one in listed])


def _unknown_command(ctx: click.Context, name: str) -> click.UsageError:
    import difflib

    message = f"there is no command {name}"
    close = difflib.get_close_matches(name, COMMANDS, 1)
    return click.UsageError(message + (f"; did you mean {close[0]}?" if close else ""), ctx)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from vstore import __version__

        ctx.obj.terminal.print(f"vstore {__version__}")
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=(
        "\b\nStart with: vstore demo\n"
        "Variables: VSTORE_PACKAGE, VSTORE_WORKSPACE, VSTORE_ACTOR, VSTORE_PAGER,\n"
        "VSTORE_DEBUG, NO_COLOR"
    ),
)
@click.option(
    "-C",
    "directory",
    metavar="DIR",
    multiple=True,
    help="Run as if started in DIR; or on a bundle.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="When to colour; NO_COLOR is honoured.",
)
@click.option("--no-pager", is_flag=True, help="Never use a pager.")
@package_option
@actor_option
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version.",
)
@click.pass_context
def cli(ctx: click.Context, directory: tuple[str, ...], color: Colour, no_pager: bool) -> None:
    """git for investigation evidence.

    vstore keeps what was really observed of a bug as content-addressed, budgeted evidence
    in one portable package, and lets anybody recompute all of it offline.
    """
    session: Session = ctx.obj
    session.terminal.colour = color
    if no_pager:
        session.terminal.use_pager = False
    for one in directory:
        if os.path.isfile(one):  # noqa: PTH113 - false where it can't be looked at
            session.package_option = session.package_option or str(Path(one).absolute())
            continue
        try:
            os.chdir(one)
        except OSError as error:
            raise click.BadParameter(f"{one}: {error.strerror}", ctx, param_hint="-C") from error
    if ctx.invoked_subcommand is None:
        session.terminal.print(ctx.get_help())


def run(
    arguments: Sequence[str],
    *,
    terminal: Terminal | None = None,
    clock: Clock = utc_now,
) -> int:
    """Run one command line in this process.

    Args:
        arguments: The words after ``vstore``.
        terminal: Where to print; the process's own by default.
        clock: Says when things happen.

    Returns:
        The exit code: 0 done, 1 refused, 2 usage, 3 storage or unsupported, 4 a fault.

    Raises:
        BrokenPipeError: Nobody reads the output any more.
        KeyboardInterrupt: The user pressed Ctrl-C.
    """
    terminal = terminal or Terminal.system()
    session = Session(terminal, terminal.environ, clock)
    start = _current_folder()
    try:
        # click prints help texts by itself.
        with (
            contextlib.redirect_stdout(terminal.stdout),
            session.closing,
            cli.make_context("vstore", list(arguments), obj=session) as ctx,
        ):
            returned = cli.invoke(ctx)
        terminal.flush()
        return returned if isinstance(returned, int) else errors.DONE
    except click.exceptions.Exit as leave:
        terminal.flush()
        return leave.exit_code
    except click.UsageError as error:
        if error.ctx is not None and type(error).__name__ == "NoArgsIsHelpError":
            # A group without a subcommand: its help, as lines and not as an error's text.
            terminal.note(error.ctx.get_help())
            return errors.USAGE
        _usage_error(terminal, error)
        return errors.USAGE
    except click.ClickException as error:
        terminal.error(error.format_message())
        return errors.USAGE
    except click.Abort:
        raise KeyboardInterrupt from None
    except VStoreError as error:
        if terminal.environ.get("VSTORE_DEBUG"):
            _traceback(terminal)
        terminal.error(*errors.error_lines(error))
        return errors.exit_code(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        if terminal.environ.get("VSTORE_DEBUG"):
            _traceback(terminal)
        where = f": {os.fsdecode(error.filename)}" if error.filename else ""
        terminal.error(f"{error.strerror or type(error).__name__}{where} [storage]")
        return errors.STORAGE
    except Exception as error:  # noqa: BLE001 - the last line: a fault is told, not thrown
        if terminal.environ.get("VSTORE_DEBUG"):
            _traceback(terminal)
        terminal.error(*errors.fault_lines(error))
        return errors.FAULT
    finally:
        if start is not None:
            with contextlib.suppress(OSError):
                os.chdir(start)


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None  # somebody removed it; commands that need it will say so


def _usage_error(terminal: Terminal, error: click.UsageError) -> None:
    hint = None
    if error.ctx is not None:
        hint = f"{error.ctx.command_path} --help shows the usage"
    # click lists choices in lines of their own; an error is one line.
    message = " ".join(error.format_message().split())
    terminal.error(f"{message} [usage]", hint)


def _traceback(terminal: Terminal) -> None:
    import traceback

    for line in traceback.format_exc().splitlines():
        terminal.note(line)


def main() -> None:
    """Run the command line of this process and exit."""
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(cli, {}, "vstore", COMPLETE_VARIABLE, instruction))
    try:
        code = run(sys.argv[1:])
    except BrokenPipeError:
        # As git: whoever reads has gone, so there is nobody to tell. Python would try to
        # flush once more at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = errors.PIPE_CLOSED
    except KeyboardInterrupt:
        import signal

        # Die by the signal, so that a shell's loop stops as well.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with contextlib.suppress(OSError):
            os.kill(os.getpid(), signal.SIGINT)
        code = errors.INTERRUPTED
    sys.exit(code)
