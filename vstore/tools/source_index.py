"""An index of words: which files can hold a literal at all.

A *word* is a run of ASCII letters, digits, underscores and bytes beyond ASCII. A literal
that a file holds puts each of its own words inside one word of the file, and where the
literal goes on beside a word, the file's word ends there too. So the words of a literal,
looked up among the words of all files, leave out most files and never one that has it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from typing import Final

from vstore.objects.ids import ObjectId

__all__ = ["WordIndex"]

_WORD: Final = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
#: More different words than this with a part in common: looking into all files is as fast.
_MAX_WORDS: Final = 3000
_MAX_LOOKED_UP: Final = 4


class WordIndex:
    """Words to files. Add all files, :meth:`seal` it, then ask. ASCII case is ignored."""

    def __init__(self) -> None:
        self._files: list[ObjectId] = []
        self._places: dict[bytes, array[int]] = {}
        self._words = b""

    def add(self, oid: ObjectId, content: Iterable[bytes]) -> None:
        """Add a file, its bytes in blocks of whole lines."""
        number = len(self._files)
        self._files.append(oid)
        words: set[bytes] = set()
        for block in content:
            words.update(_WORD.findall(block.lower()))
        for word in words:
            places = self._places.get(word)
            if places is None:
                self._places[word] = array("I", (number,))
            else:
                places.append(number)

    def seal(self) -> None:
        """Make it ready to be asked."""
        self._words = b"\n" + b"\n".join(self._places) + b"\n"

    def files_with(self, literals: Sequence[bytes]) -> set[ObjectId] | None:
        """The files that can hold all these literals, or None where that says nothing.

        Args:
            literals: Parts of one line, without LF; ASCII case is ignored.
        """
        parts = sorted({part for one in literals for part in _parts(one.lower())}, key=_rarity)
        possible: set[int] | None = None
        for part in parts[:_MAX_LOOKED_UP]:
            places = self._look_up(part)
            if places is not None:
                possible = places if possible is None else possible & places
        return None if possible is None else {self._files[number] for number in possible}

    def _look_up(self, part: bytes) -> set[int] | None:
        """Files with a word that ``part`` is in, its LFs standing for the word's ends."""
        if part.startswith(b"\n") and part.endswith(b"\n"):
            return set(self._places.get(part[1:-1], ()))
        found: set[int] = set()
        at = self._words.find(part)
        count = 0
        while at >= 0:
            count += 1
            if count > _MAX_WORDS:
                return None
            start = self._words.rfind(b"\n", 0, at + 1) + 1
            stop = self._words.find(b"\n", at + 1)
            found.update(self._places[self._words[start:stop]])
            at = self._words.find(part, stop)
        return found


def _parts(literal: bytes) -> list[bytes]:
    """The words of a literal, with an LF on each side where the word ends for certain."""
    return [
        (b"\n" if match.start() else b"")
        + match.group()
        + (b"\n" if match.end() < len(literal) else b"")
        for match in _WORD.finditer(literal)
    ]


def _rarity(part: bytes) -> tuple[int, bytes]:
    return -len(part), part
