"""The entry point: find the command, run it, turn what goes wrong into an exit code.

Most of a short command's time goes into loading modules, so nothing stands at the top of this
one that :func:`main` has a say in, and a command line that is read without click (see ``plain``)
never loads it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vstore.package.clock import Clock, utc_now
from vstore_cli.lean_imports import import_leanly

if TYPE_CHECKING:
    from vstore_cli.session import Session
    from vstore_cli.terminal import Terminal

__all__ = ["COMPLETE_VARIABLE", "main", "run"]

COMPLETE_VARIABLE: Final = "_VSTORE_COMPLETE"
#: New objects before Python looks for cycles. Loading modules makes more than ten thousand
#: that all stay.
_GARBAGE_THRESHOLD: Final = 20_000


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
    from vstore_cli.session import Session
    from vstore_cli.terminal import Terminal

    terminal = terminal or Terminal.system()
    session = Session(terminal, terminal.environ, clock)
    start = _current_folder()
    try:
        with contextlib.redirect_stdout(terminal.stdout), session.closing:
            code = _run(list(arguments), session)
        terminal.flush()
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the last line: a fault is told, not thrown
        from vstore_cli.failures import told

        return told(terminal, error)
    else:
        return code
    finally:
        if start is not None:
            with contextlib.suppress(OSError):
                os.chdir(start)


def _current_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - no pathlib yet
    except OSError:
        return None  # somebody removed it; commands that need it will say so


def _run(arguments: list[str], session: Session) -> int:
    from vstore_cli import errors, plain

    found = plain.read(arguments)
    if found is not None:
        found.run(session)
        return errors.DONE
    from vstore_cli.group import cli

    # click prints help texts by itself.
    with cli.make_context("vstore", arguments, obj=session) as context:
        returned = cli.invoke(context)
    return returned if isinstance(returned, int) else errors.DONE


def main() -> None:
    """Run the command line of this process and exit."""
    gc.set_threshold(_GARBAGE_THRESHOLD)
    import_leanly()
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction:
        from click.shell_completion import shell_complete

        from vstore_cli.group import cli

        sys.exit(shell_complete(cli, {}, "vstore", COMPLETE_VARIABLE, instruction))
    try:
        code = run(sys.argv[1:])
    except BrokenPipeError:
        # As git: whoever reads has gone, so there is nobody to tell. Python would try to
        # flush once more at exit.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        from vstore_cli.errors import PIPE_CLOSED

        code = PIPE_CLOSED
    except KeyboardInterrupt:
        import signal

        # Die by the signal, so that a shell's loop stops as well.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with contextlib.suppress(OSError):
            os.kill(os.getpid(), signal.SIGINT)
        from vstore_cli.errors import INTERRUPTED

        code = INTERRUPTED
    # Nothing is left to be found when Python, at its end, looks for cycles among all objects.
    gc.freeze()
    sys.exit(code)
