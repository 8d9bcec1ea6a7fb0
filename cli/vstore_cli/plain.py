"""Command lines of the commands that run most often, read without click.

Importing click takes a short command a quarter of its time. What is read here is only what
needs no rule of click's: a command in :data:`PLAIN`, each option in a word of its own and given
once, each value in the next word, nothing that begins with ``-`` but options. click reads
everything else (options before the command, help, completion, whatever is wrong) and would read
the same out of these: ``tests/unit/vstore_cli/test_plain.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from vstore_cli.session import Session

__all__ = ["PLAIN", "Command", "Option", "Read", "read"]

#: How long a number may be that is read here.
_DIGITS: Final = 9


class Option(NamedTuple):
    """What an option gives.

    ``package`` and ``actor`` are kept by the session, everything else is an argument.
    """

    name: str
    kind: Literal["flag", "text", "number"] = "text"


class Command(NamedTuple):
    """A command: what runs it, and what it takes."""

    run: Callable[..., None]
    #: Names of the words that are no options.
    words: tuple[str, ...]
    #: By how they are written.
    options: dict[str, Option]
    #: Of everything that may be left out.
    defaults: dict[str, Any]


class Read(NamedTuple):
    """A command line that was read."""

    command: Command
    arguments: dict[str, Any]
    #: What the session keeps: ``package`` and ``actor``.
    kept: dict[str, str]

    def run(self, session: Session) -> None:
        """Run the command."""
        session.package_option = self.kept.get("package")
        session.actor_option = self.kept.get("actor")
        self.command.run(session, **self.arguments)


def _log(session: Session, **arguments: Any) -> None:
    from vstore_cli.print_log import print_log

    print_log(session, **arguments)


def _reserve(session: Session, **arguments: Any) -> None:
    from vstore_cli.reserving import reserve

    reserve(session, **arguments)


_PACKAGE: Final = {"-p": Option("package"), "--package": Option("package")}
_JSON: Final = {"--json": Option("as_json", "flag")}

PLAIN: Final[dict[tuple[str, ...], Command]] = {
    ("log",): Command(
        _log,
        ("start",),
        {
            "-n": Option("number", "number"),
            "--max-count": Option("number", "number"),
            "--oneline": Option("oneline", "flag"),
            **_JSON,
            **_PACKAGE,
        },
        {"start": "HEAD", "number": None, "oneline": False, "as_json": False},
    ),
    ("budget", "reserve"): Command(
        _reserve,
        ("hypothesis", "operation"),
        {"--action": Option("action"), "--actor": Option("actor"), **_JSON, **_PACKAGE},
        {"action": None, "as_json": False},
    ),
}


def read(arguments: list[str]) -> Read | None:
    """Read a command line; None where click has to.

    Args:
        arguments: The words after ``vstore``.
    """
    for length in (1, 2):
        command = PLAIN.get(tuple(arguments[:length]))
        if command is not None:
            return _read(command, arguments[length:])
    return None


def _read(command: Command, rest: list[str]) -> Read | None:
    given: dict[str, Any] = {}
    words = iter(command.words)
    remaining = iter(rest)
    for word in remaining:
        value: Any = word
        if word.startswith("-"):
            option = command.options.get(word)
            if option is None:
                return None
            name = option.name
            value = True if option.kind == "flag" else next(remaining, "")
            if option.kind == "number":
                value = int(value) if _is_number(value) else ""
        else:
            name = next(words, "")
        if name in ("", *given) or value == "" or str(value).startswith("-"):
            return None
        given[name] = value
    kept: dict[str, str] = {name: given.pop(name) for name in ("package", "actor") if name in given}
    found = {**command.defaults, **given}
    if any(name not in found for name in command.words):
        return None
    return Read(command, found, kept)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS
