"""Progress of long work: one line on a terminal that is written over, else nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Final

from vstore_cli.terminal import Terminal, cut, safe

__all__ = ["Progress"]

#: Seconds before the first line, and between two.
_PATIENCE: Final = 0.5
_PAUSE: Final = 0.1
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """A line on standard error that says what is worked at.

    Nothing is ever written unless standard error is a terminal that can clear a line.

    Args:
        terminal: Where.
        clock: Seconds; nothing but the rhythm of the line rests on it.
    """

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal = terminal
        self._clock = clock
        self.wanted = terminal.stderr.isatty() and terminal.environ.get("TERM") != "dumb"
        self._due = clock() + _PATIENCE
        self._shown = False

    def show(self, text: str) -> None:
        """Say what is worked at; anything, for it is made safe here."""
        if not self.wanted or self._clock() < self._due:
            return
        self._due = self._clock() + _PAUSE
        self._shown = True
        self._write(_CLEAR + cut(safe(text), self._terminal.width - 1))

    @contextlib.contextmanager
    def verifying(self, name: str) -> Iterator[Callable[[int, int], None] | None]:
        """Say how far a package is verified; the block gets what to tell that, or None.

        Args:
            name: What the package is called.
        """

        def told(objects: int, size: int) -> None:
            self.show(f"verifying {name}: {objects} objects, {size >> 20} MiB")

        try:
            yield told if self.wanted else None
        finally:
            self.clear()

    def clear(self) -> None:
        """Take the line away before something else is printed."""
        if self._shown:
            self._shown = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        self._terminal.stderr.write(text)
        self._terminal.stderr.flush()
