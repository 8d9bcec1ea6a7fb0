"""Printing to people: colours, width, a pager, and texts that can't do anything.

Every text that comes from a package goes through :func:`safe` before it is printed, so
that no control character, escape sequence or bidirectional override reaches a terminal.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal, TextIO

from vstore.objects.display import visible, visible_bytes, visible_text
from vstore.objects.text import RawText

if TYPE_CHECKING:
    import subprocess

__all__ = ["Colour", "Terminal", "cells", "cut", "pad", "safe"]

Colour = Literal["auto", "always", "never"]

_CODES: Final[dict[str, str]] = {
    "bold": "1",
    "dim": "2",
    "id": "33",
    "good": "32",
    "bad": "31",
    "warn": "33",
    "name": "36",
    "path": "35",
    "head": "1;34",
    "number": "36",
}


def safe(text: str | bytes | RawText) -> str:
    """A text of somebody else, in one line, with everything dangerous made visible."""
    if isinstance(text, RawText):
        return visible_text(text)
    if isinstance(text, bytes):
        return visible_bytes(text)
    return visible(text)


def cells(text: str) -> int:
    """How many columns a text takes, colours left out, wide and combining characters counted."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    import re
    import unicodedata

    width = 0
    for one in re.sub("\x1b\\[[0-9;]*m", "", text):
        if unicodedata.combining(one):
            continue
        width += 2 if unicodedata.east_asian_width(one) in "WF" else 1
    return width


def cut(text: str, width: int) -> str:
    """At most ``width`` columns of an uncoloured text, the last one ``…`` where it is cut."""
    if cells(text) <= width:
        return text
    kept = ""
    used = 0
    for one in text:
        used += cells(one)
        if used > width - 1:
            break
        kept += one
    return kept + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """``text`` filled with blanks to ``width`` columns; flush right if asked."""
    blanks = " " * max(0, width - cells(text))
    return blanks + text if right else text + blanks


class Terminal:
    """Where a command prints.

    Args:
        stdout: Facts go here.
        stderr: Errors, notes and progress go here.
        environ: Environment variables: NO_COLOR, FORCE_COLOR, TERM, COLUMNS, PAGER, ...
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, environ: Mapping[str, str]) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.environ = environ
        self.colour: Colour = "auto"
        self.use_pager = True
        self._pager: subprocess.Popen[str] | None = None
        self._held: list[str] | None = None

    @classmethod
    def system(cls) -> Terminal:
        """The terminal, file or pipe that this process has."""
        # Where a stream was closed before the start, what would go there goes nowhere.
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:
                setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A name may hold what the locale's encoding lacks: never a crash.
                stream.reconfigure(errors="backslashreplace")
        return cls(sys.stdout, sys.stderr, os.environ)

    @property
    def interactive(self) -> bool:
        """Whether facts go to a person's terminal."""
        return self.stdout.isatty()

    @property
    def width(self) -> int:
        """Columns of the terminal; COLUMNS wins, 80 where there is none."""
        return max(40, self._size()[0])

    @property
    def line_width(self) -> int | None:
        """Where a long line should be cut: the width, or None where no terminal is."""
        return self.width if self.interactive else None

    def _size(self) -> tuple[int, int]:
        try:
            columns, lines = os.get_terminal_size(self.stdout.fileno())
        except (OSError, ValueError):
            columns, lines = 80, 24
        given = self.environ.get("COLUMNS", "")
        return int(given) if given.isascii() and given.isdigit() else columns, lines

    def _coloured(self, stream: TextIO) -> bool:
        if self.colour != "auto":
            return self.colour == "always"
        if self.environ.get("NO_COLOR"):
            return False
        if self.environ.get("FORCE_COLOR"):
            return True
        return stream.isatty() and self.environ.get("TERM") != "dumb"

    def paint(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        """``text`` in these styles where colours are wanted, else unchanged."""
        if not text or not self._coloured(stream or self.stdout):
            return text
        codes = ";".join(_CODES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def print(self, line: str = "") -> None:
        """Print one line of facts; long output goes through the pager on a terminal."""
        if self._held is not None:
            self._held.append(line)
            if len(self._held) < self._size()[1]:
                return
            self._start_pager()
            held, self._held = self._held, None
            for one in held:
                self._write(one)
            return
        self._write(line)

    def write_bytes(self, raw: bytes) -> None:
        """Raw bytes to a file or pipe; the caller checks that it is no terminal."""
        self.stdout.flush()
        binary: IO[bytes] | None = getattr(self.stdout, "buffer", None)
        if binary is None:
            self.stdout.write(raw.decode("utf-8", "backslashreplace"))
        else:
            binary.write(raw)
            binary.flush()

    def note(self, line: str) -> None:
        """Print one line beside the facts."""
        self.stderr.write(line + "\n")
        self.stderr.flush()

    def error(self, message: str, hint: str | None = None) -> None:
        """Print an error, and what to do about it. Texts are made safe here."""
        self.flush()
        label = self.paint("error:", "bad", "bold", stream=self.stderr)
        self.note(f"{label} {safe(message)}")
        if hint:
            label = self.paint("hint:", "name", stream=self.stderr)
            self.note(f"{label} {safe(hint)}")

    def warning(self, message: str) -> None:
        """Print a warning. The text is made safe here."""
        self.flush()
        label = self.paint("warning:", "warn", "bold", stream=self.stderr)
        self.note(f"{label} {safe(message)}")

    def json(self, value: object) -> None:
        """Print a JSON value; only ASCII, so that it is safe on a terminal as well."""
        import json

        text = json.dumps(value, ensure_ascii=True, indent=2, default=_plain)
        self.print(text.replace("\x7f", "\\u007f"))

    @contextlib.contextmanager
    def paged(self) -> Iterator[None]:
        """Within this context, output longer than the screen goes through the pager."""
        if not (self.interactive and self.use_pager and self._pager_command()):
            yield
            return
        self._held = []
        try:
            yield
        except BrokenPipeError:
            # Leaving the pager early is nothing to complain about.
            if self._pager is None:
                raise
        finally:
            held, self._held = self._held or [], None
            for one in held:
                self._write(one)
            self._end_pager()

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self.stdout.flush()

    def _pager_command(self) -> list[str]:
        import shlex
        import shutil

        for name in ("VSTORE_PAGER", "PAGER"):
            if name in self.environ:
                try:
                    words = shlex.split(self.environ[name])
                except ValueError:
                    return []
                return [] if words in ([], ["cat"]) else words
        return ["less"] if shutil.which("less") else []

    def _start_pager(self) -> None:
        import subprocess

        environ = dict(self.environ)
        # As git does: quit at one screen, pass colours, leave the text on the screen.
        environ.setdefault("LESS", "FRX")
        try:
            self._pager = subprocess.Popen(  # noqa: S603 - the user's own choice of pager
                self._pager_command(), stdin=subprocess.PIPE, env=environ, text=True
            )
        except OSError:
            self._pager = None

    def _end_pager(self) -> None:
        pager, self._pager = self._pager, None
        if pager is None or pager.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            pager.stdin.close()
        # A person who presses Ctrl-C means the pager, which handles it itself.
        while True:
            try:
                pager.wait()
            except KeyboardInterrupt:
                continue
            return

    def _write(self, line: str) -> None:
        if self._pager is not None and self._pager.stdin is not None:
            self._pager.stdin.write(line + "\n")
        else:
            self.stdout.write(line + "\n")


def _plain(value: object) -> Any:
    from vstore.objects.canonical import to_value

    return to_value(value)
