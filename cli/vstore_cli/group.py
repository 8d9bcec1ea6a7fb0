"""The group of all commands, as click has it."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import click

from vstore_cli.commands import COMMANDS, SECTIONS
from vstore_cli.context import Session, actor_option, package_option
from vstore_cli.terminal import Colour

__all__ = ["cli"]


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
