"""Patterns that leave files out of a capture, in a small language of their own.

===========  =====================================================================
``*``        any characters but ``/``
``**``       any characters, ``/`` too; ``**/`` also nothing at all
``?``        one character but ``/``
``[abc]``    one of these characters; ``[!abc]`` none of them; ``a-z`` is a range
``\\x``       the character ``x`` itself
===========  =====================================================================

A pattern without ``/`` is tried on every name, one with ``/`` on the whole path from the
root; a ``/`` at its end makes it match folders only. A folder that matches is left out
with everything below it. Characters are bytes: nothing depends on a locale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from vstore.errors import InvalidError

__all__ = ["ExcludePatterns"]

_MAX_PATTERN = 1000


class _Matcher(Protocol):
    def fullmatch(self, text: bytes, /) -> object: ...


class ExcludePatterns:
    """A compiled list of patterns.

    Args:
        patterns: The patterns, in text; an empty one is refused.

    Raises:
        InvalidError: A pattern is empty, too long, or has a bracket that is never closed.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self.patterns = tuple(patterns)
        self._names: list[tuple[_Matcher, bool]] = []
        self._paths: list[tuple[_Matcher, bool]] = []
        for pattern in self.patterns:
            body = pattern.removeprefix("./").removeprefix("/")
            folders_only = body.endswith("/")
            body = body.rstrip("/")
            if not body or len(pattern) > _MAX_PATTERN:
                raise _invalid("an exclude pattern is empty or longer than 1000 characters")
            compiled = _compile(_translate(body.encode("utf-8", "surrogateescape")))
            whole = "/" in body or pattern.startswith("/")
            (self._paths if whole else self._names).append((compiled, folders_only))

    def matches(self, path: bytes, *, is_folder: bool) -> bool:
        """Whether this path is left out by a pattern of its own (its parents aren't looked at).

        Args:
            path: From the root, with ``/``.
            is_folder: Whether a folder stands there.
        """
        name = path.rpartition(b"/")[2]
        return any(
            pattern.fullmatch(name) and (is_folder or not only) for pattern, only in self._names
        ) or any(
            pattern.fullmatch(path) and (is_folder or not only) for pattern, only in self._paths
        )

    def covers(self, path: bytes) -> bool:
        """Whether this file is left out by a pattern that matches it or a folder above it."""
        if not self.patterns:
            return False
        names = path.split(b"/")
        return any(
            self.matches(b"/".join(names[:count]), is_folder=count < len(names))
            for count in range(1, len(names) + 1)
        )

    def __bool__(self) -> bool:
        return bool(self.patterns)


def _compile(pattern: bytes) -> _Matcher:
    # RE2 is linear in the path, whatever the pattern; Python's own engine is not.
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.dot_nl = True
    options.log_errors = False
    return cast("_Matcher", re2.compile(pattern, options))


def _literal(one: int) -> bytes:
    return b"\\x%02x" % one


def _translate(glob: bytes) -> bytes:
    out = bytearray()
    at = 0
    while at < len(glob):
        one = glob[at : at + 1]
        at += 1
        if one == b"*":
            stars = len(glob[at - 1 :]) - len(glob[at - 1 :].lstrip(b"*"))
            at += stars - 1
            if stars == 1:
                out += b"[^/]*"
            elif glob[at : at + 1] == b"/":
                at += 1
                out += b"(?:.*/)?"
            else:
                out += b".*"
        elif one == b"?":
            out += b"[^/]"
        elif one == b"[":
            end = glob.find(b"]", at + (2 if glob[at : at + 1] == b"!" else 1))
            if end < 0:
                raise _invalid("an exclude pattern has a bracket that is never closed")
            out += _bracket(glob[at:end])
            at = end + 1
        elif one == b"\\" and at < len(glob):
            out += _literal(glob[at])
            at += 1
        else:
            out += _literal(one[0])
    return bytes(out)


def _bracket(body: bytes) -> bytes:
    negated = body.startswith(b"!")
    if negated:
        body = body[1:]
    chosen: set[int] = set()
    at = 0
    while at < len(body):
        first = last = body[at]
        if body[at + 1 : at + 2] == b"-" and at + 2 < len(body):
            last = body[at + 2]
            if last < first:
                raise _invalid("an exclude pattern has a range that ends before it begins")
            at += 2
        chosen.update(range(first, last + 1))
        at += 1
    if negated:
        chosen = set(range(256)) - chosen
    chosen.discard(0x2F)
    if not chosen:
        raise _invalid("an exclude pattern has a bracket that matches nothing")
    return b"[" + b"".join(map(_literal, sorted(chosen))) + b"]"


def _invalid(message: str) -> InvalidError:
    return InvalidError(message, kind="bad_exclude_pattern")
