"""An index of words: which stretches of which files can hold a literal at all.

A *word* is a run of ASCII letters, digits, underscores and bytes beyond ASCII. A literal
that a line holds puts each of its own words inside one word of the line, and where the
literal goes on beside a word, the line's word ends there too. So the words of a literal,
looked up among the words of all stretches, leave out most of the text and never a line that
has it. A *stretch* is a row of whole lines of about :data:`STRETCH_BYTES`.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from vstore.objects.ids import ObjectId

__all__ = ["STRETCH_BYTES", "Stretch", "WordIndex"]

_WORD: Final = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")
#: More different words than this with a part in common: looking into all files is as fast.
_MAX_WORDS: Final = 3000
_MAX_LOOKED_UP: Final = 4
#: Lines are taken together until there are so many bytes.
STRETCH_BYTES: Final = 4096


class Stretch(NamedTuple):
    """Whole lines of a file, by their bytes; ``before`` counts the lines before them."""

    start: int
    end: int
    before: int


class WordIndex:
    """Words to stretches. Add all files, :meth:`seal` it, then ask. ASCII case is ignored."""

    def __init__(self) -> None:
        self._files: list[ObjectId] = []
        #: Of each stretch its file and its place there.
        self._owners = array("I")
        self._starts = array("Q")
        self._ends = array("Q")
        self._before = array("Q")
        #: Stretches that begin a block; no other one is joined to what is before them.
        self._firsts: set[int] = set()
        self._places: dict[bytes, array[int]] = {}
        self._words = b""
        #: Words by each pair of bytes in them, joined by LFs once they are asked for.
        self._with_pair: dict[bytes, list[bytes] | bytes] = {}

    def add(self, oid: ObjectId, content: Iterable[bytes]) -> None:
        """Add a file, once, its bytes in blocks of whole lines."""
        owner = len(self._files)
        self._files.append(oid)
        base = lines = 0
        places = self._places
        for block in content:
            start = 0
            self._firsts.add(len(self._owners))
            lowered = block.lower()
            while start < len(block):
                end = block.find(b"\n", start + STRETCH_BYTES - 1) + 1 or len(block)
                number = len(self._owners)
                self._owners.append(owner)
                self._starts.append(base + start)
                self._ends.append(base + end)
                self._before.append(lines)
                for word in set(_WORD.findall(lowered, start, end)):
                    found = places.get(word)
                    if found is None:
                        places[word] = array("I", (number,))
                    else:
                        found.append(number)
                lines += block.count(b"\n", start, end)
                start = end
            base += len(block)

    def seal(self) -> None:
        """Make it ready to be asked."""
        self._words = b"\n" + b"\n".join(self._places) + b"\n"
        pairs: dict[bytes, list[bytes] | bytes] = defaultdict(list)
        for word in self._places:
            for pair in {word[at : at + 2] for at in range(len(word) - 1)}:
                pairs[pair].append(word)  # type: ignore[union-attr]
        self._with_pair = dict(pairs)

    def stretches_with(self, literals: Sequence[bytes]) -> dict[ObjectId, list[Stretch]] | None:
        """Where lines can be that hold all these literals, or None where that isn't known.

        Args:
            literals: Parts of one line, without LF; ASCII case is ignored.

        Returns:
            Stretches of each file, in order; those that follow one another in one block of the
            file are made one.
        """
        parts = sorted({part for one in literals for part in _parts(one.lower())}, key=_rarity)
        possible: set[int] | None = None
        for part in parts[:_MAX_LOOKED_UP]:
            places = self._look_up(part)
            if places is not None:
                possible = places if possible is None else possible & places
        if possible is None:
            return None
        found: dict[ObjectId, list[Stretch]] = {}
        last = -2
        for number in sorted(possible):
            stretches = found.setdefault(self._files[self._owners[number]], [])
            one = Stretch(self._starts[number], self._ends[number], self._before[number])
            if last == number - 1 and number not in self._firsts:
                stretches[-1] = Stretch(stretches[-1].start, one.end, stretches[-1].before)
            else:
                stretches.append(one)
            last = number
        return found

    def _look_up(self, part: bytes) -> set[int] | None:
        """Stretches with a word that ``part`` is in, its LFs standing for the word's ends."""
        if part.startswith(b"\n") and part.endswith(b"\n"):
            return set(self._places.get(part[1:-1], ()))
        words = self._words_like(part.strip(b"\n"))
        found: set[int] = set()
        at = words.find(part)
        count = 0
        while at >= 0:
            count += 1
            if count > _MAX_WORDS:
                return None
            start = words.rfind(b"\n", 0, at + 1) + 1
            stop = words.find(b"\n", at + 1)
            found.update(self._places[words[start:stop]])
            at = words.find(part, stop)
        return found

    def _words_like(self, part: bytes) -> bytes:
        """Every word that can have this part in it, each between LFs."""
        if len(part) < 2:
            return self._words
        fewest = self._words
        for pair in {part[at : at + 2] for at in range(len(part) - 1)}:
            found = self._with_pair.get(pair, b"\n")
            if isinstance(found, list):
                found = self._with_pair[pair] = b"\n" + b"\n".join(found) + b"\n"
            if len(found) < len(fewest):
                fewest = found
        return fewest


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
