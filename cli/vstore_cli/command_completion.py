"""``vstore completion``: scripts that complete the command line in a shell."""

from __future__ import annotations

import click

from vstore_cli.context import Session, pass_session

__all__ = ["command"]


@click.command("completion", short_help="Print a script that completes vstore's command line.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@pass_session
def command(session: Session, shell: str) -> None:
    """Print a script that makes SHELL complete vstore's command line.

    \b
    Example:
      bash:  eval "$(vstore completion bash)"       in ~/.bashrc
      zsh:   eval "$(vstore completion zsh)"        in ~/.zshrc
      fish:  vstore completion fish | source        in config.fish
    """
    from click.shell_completion import get_completion_class

    from vstore_cli.group import cli
    from vstore_cli.main import COMPLETE_VARIABLE

    found = get_completion_class(shell)
    assert found is not None
    script = _without_check(found)(cli, {}, "vstore", COMPLETE_VARIABLE).source()
    for line in script.strip().splitlines():
        session.terminal.print(line)


def _without_check(found: type) -> type:
    """Printing the script for a shell doesn't need that shell to be installed."""
    if not hasattr(found, "_check_version"):
        return found
    return type(found.__name__, (found,), {"_check_version": staticmethod(lambda: None)})
