"""How errors reach a person: one exit code per class, a message, a hint, a stable kind."""

from __future__ import annotations

from typing import Final

from vstore.errors import StorageError, UnsupportedError, VStoreError

__all__ = [
    "DONE",
    "FAULT",
    "INTERRUPTED",
    "PIPE_CLOSED",
    "REFUSED",
    "STORAGE",
    "USAGE",
    "Refused",
    "error_lines",
    "exit_code",
    "fault_lines",
]

DONE: Final = 0
#: The package, the budget or a rule says no.
REFUSED: Final = 1
#: The command line itself is wrong.
USAGE: Final = 2
#: The disk failed, or the package needs a newer vstore.
STORAGE: Final = 3
#: vstore itself is wrong.
FAULT: Final = 4
#: As a shell shows a death by SIGINT and by SIGPIPE.
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


class Refused(VStoreError):
    """The command line's own refusal: something that the library wasn't even asked."""

    kind = "refused"


def exit_code(error: VStoreError) -> int:
    """The exit code of an error that vstore raised on purpose."""
    return STORAGE if isinstance(error, StorageError | UnsupportedError) else REFUSED


def error_lines(error: VStoreError) -> tuple[str, str | None]:
    """What to print of an error: what happened with its kind, and the hint.

    Neither is escaped yet: the terminal does that.
    """
    text = error.message
    pointer = error.details.get("pointer")
    if isinstance(pointer, str) and pointer not in text:
        text += f", at {pointer}"
    for name in ("path", "paths"):
        where = error.details.get(name)
        shown = _paths(where)
        if shown and shown not in text:
            text += f": {shown}"
    return f"{text} [{error.kind}]", error.hint


def _paths(where: object) -> str:
    if isinstance(where, bytes):
        where = where.decode("utf-8", "surrogateescape")
    if isinstance(where, list | tuple):
        return ", ".join(_paths(one) for one in where[:5]) + (", ..." if len(where) > 5 else "")
    return "" if where is None else str(where)


def fault_lines(error: BaseException) -> tuple[str, str]:
    """What to print of an error that vstore did not expect."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", "?"))
        if module.split(".")[0] in ("vstore", "vstore_cli") or not place:
            place = f"{module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return (
        f"this is a fault of vstore itself: {type(error).__name__} in {place} [fault]",
        "please report it with the command, and with what VSTORE_DEBUG=1 prints in addition",
    )
