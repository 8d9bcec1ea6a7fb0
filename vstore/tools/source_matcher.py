"""Finding the lines of a block of bytes that a pattern matches.

Works on whole blocks (a file, or a part of one that ends at an LF) at the speed of
``bytes.find`` and RE2, and yields one hit for each matching line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from vstore.tools.request import SourceSearch
from vstore.tools.source_pattern import PatternError, Rewritten, rewrite

__all__ = ["Matcher", "compile_matcher", "count_lines", "is_searchable", "matching_lines"]

# The compiled program and its automaton; patterns are bounded far below it (source_pattern).
_RE2_MEMORY = 32 << 20


class Matcher(Protocol):
    """Finds the first match in a block."""

    @property
    def required(self) -> list[bytes]:
        """Literals that every matching line holds, in either case of ASCII letters."""
        ...

    def prepare(self, block: bytes) -> bytes:
        """What to look at instead of the block; of the same length."""
        ...

    def find(self, prepared: bytes, start: int, end: int) -> int:
        """Offset of the first match within ``start`` (a line's start) to ``end``, or -1."""
        ...

    def at_most(self, prepared: bytes) -> int | None:
        """A number that no more lines match than, where it is cheap to say; exact below 2."""
        ...


class _Literal:
    def __init__(self, needle: bytes) -> None:
        self._needle = needle
        self.required = [needle]

    def prepare(self, block: bytes) -> bytes:
        return block

    def find(self, prepared: bytes, start: int, end: int) -> int:
        return prepared.find(self._needle, start, end)

    def at_most(self, prepared: bytes) -> int | None:
        return prepared.count(self._needle)


class _FoldedLiteral(_Literal):
    def __init__(self, needle: bytes) -> None:
        super().__init__(needle.lower())

    def prepare(self, block: bytes) -> bytes:
        return block.lower()  # ASCII letters only; other bytes stay


class _Expression:
    def __init__(self, rewritten: Rewritten) -> None:
        import re2

        self.required = rewritten.required

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _RE2_MEMORY
        try:
            self._search: Any = re2.compile(rewritten.pattern, options).search
        except re2.error as error:
            raise PatternError("a pattern that RE2 doesn't accept") from error
        finally:
            # The module keeps 128 programs with their automata; ours are used once.
            re2.purge()

    def prepare(self, block: bytes) -> bytes:
        return block

    def find(self, prepared: bytes, start: int, end: int) -> int:
        found = self._search(prepared, start, end)
        return -1 if found is None else int(found.start())

    def at_most(self, prepared: bytes) -> int | None:  # noqa: ARG002
        return None


def compile_matcher(question: SourceSearch) -> Matcher:
    """The matcher of a search.

    Raises:
        PatternError: A pattern outside the accepted syntax; see :mod:`source_pattern`.
    """
    if question.syntax == "re2":
        return _Expression(rewrite(question.pattern, ignore_case=question.ignore_case))
    if "\n" in question.pattern or "\0" in question.pattern:
        raise PatternError("a line feed or NUL, which no searched line holds")
    needle = question.pattern.encode("utf-8")
    if not question.ignore_case:
        return _Literal(needle)
    if not question.pattern.isascii():
        raise PatternError("ignoring case beyond ASCII, which depends on a Unicode version")
    return _FoldedLiteral(needle)


def is_searchable(block: bytes) -> bool:
    """Whether a block has neither NUL nor invalid UTF-8."""
    if b"\0" in block:
        return False
    if block.isascii():
        return True
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def count_lines(block: bytes, matcher: Matcher) -> int:
    """How many lines :func:`matching_lines` would yield."""
    most = matcher.at_most(matcher.prepare(block))
    if most is not None and most < 2:
        return most
    return sum(1 for _ in matching_lines(block, matcher))


def matching_lines(block: bytes, matcher: Matcher) -> Iterator[tuple[int, int]]:
    """Start and end (without LF) of every line of a block that matches, in order.

    A last line without LF is a line; after a last LF there is none.
    """
    if not block:
        return
    prepared = matcher.prepare(block)
    end = len(block) - 1 if block.endswith(b"\n") else len(block)
    position = 0
    while position <= end:
        hit = matcher.find(prepared, position, end)
        if hit < 0:
            return
        stop = block.find(b"\n", hit)
        if stop < 0:
            stop = len(block)
        yield block.rfind(b"\n", 0, hit) + 1, stop
        position = stop + 1
