r"""Search patterns: an exact subset of RE2's syntax, made independent of Unicode versions.

A pattern is parsed here and written again in a few primitives (literals, explicit code
point ranges, groups, counts, ``^ $ \b \B``), so that what it matches depends neither on
the Unicode tables nor on the syntax extensions of the RE2 library that happens to be
installed. The meaning is that of one line at a time, without its LF:

* ``.`` and every class match a code point, never LF; ``^ \A`` and ``$ \z`` hold at the
  start and end of the line; the flags ``m``, ``s`` and ``U`` change nothing.
* ``\d \w \s \b`` and ``[[:name:]]`` are ASCII, as in RE2.
* ``(?i)`` and ``ignore_case`` let ASCII letters match in either case, and nothing else: not
  ``k`` the Kelvin sign. A character beyond ASCII under them is refused, outside classes
  and as an explicit member of one.
* Refused: ``\p \P`` (Unicode version), ``\C`` (half a character), references, look-around,
  ``\1`` octals, ``{,n}``, and line feeds and NULs outside classes (they can't be found).

Patterns are bounded in weight, so that a search is linear in the bytes with a known factor.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vstore.tools.code_ranges import (
    LAST_POINT,
    POSIX_CLASSES,
    Ranges,
    complement,
    folded,
    named_set,
    point_text,
    ranges_text,
    ranges_weight,
)

__all__ = ["MAX_GROUP_DEPTH", "MAX_REPEAT", "MAX_WEIGHT", "PatternError", "Rewritten", "rewrite"]

MAX_REPEAT: Final = 1000
MAX_GROUP_DEPTH: Final = 100
#: Size of the compiled automaton in rough units: an ASCII literal is 1, ``.`` is 13.
MAX_WEIGHT: Final = 4_000


_SIMPLE: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
_GROUP_NAME: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


class PatternError(ValueError):
    """A pattern outside the accepted syntax; the text says what, without quoting it."""


class Rewritten(NamedTuple):
    """A pattern, rewritten.

    Attributes:
        pattern: For RE2 over multi-line text, case-sensitive, in UTF-8 mode; it matches within
            single lines only.
        required: Literals that every matching line holds, in either case of ASCII letters.
    """

    pattern: bytes
    required: list[bytes]


class _Part(NamedTuple):
    """A rewritten piece: its text, weight, largest nested repeat count, and literal text."""

    text: str
    weight: int
    repeats: int
    literal: str = ""


def rewrite(pattern: str, *, ignore_case: bool = False) -> Rewritten:
    """A pattern in the primitives that every RE2 release understands alike.

    Args:
        pattern: What was asked for, in the syntax above.
        ignore_case: Begin as if with ``(?i)``.

    Raises:
        PatternError: The pattern is outside the syntax or too heavy.
    """
    parser = _Parser(pattern, ignore_case)
    part = parser.alternation(0)
    if not parser.at_end():
        raise PatternError("an unexpected )")
    required = [literal.encode("utf-8") for literal in parser.required]
    return Rewritten(b"(?m)" + part.text.encode("ascii"), required)


class _Parser:
    def __init__(self, pattern: str, fold: bool) -> None:
        self._text = pattern
        self._at = 0
        self._fold = fold
        self._names: set[str] = set()
        self.required: list[str] = []

    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def alternation(self, depth: int) -> _Part:
        """Branches up to a closing parenthesis or the end."""
        if depth > MAX_GROUP_DEPTH:
            raise PatternError(f"groups nested deeper than {MAX_GROUP_DEPTH}")
        branches: list[str] = []
        pieces: list[str] = []
        literals = [""]
        weight, repeats = 1, 1
        while not self.at_end() and self._text[self._at] != ")":
            if self._accept("|"):
                branches.append("".join(pieces))
                pieces = []
                weight += 1
                continue
            part = self._repeated(depth)
            pieces.append(part.text)
            if part.literal:
                literals[-1] += part.literal
            elif part.text:
                literals.append("")
            weight += part.weight
            repeats = max(repeats, part.repeats)
            if weight > MAX_WEIGHT:
                raise PatternError(f"a pattern heavier than {MAX_WEIGHT}: lower its counts")
        branches.append("".join(pieces))
        if depth == 0 and len(branches) == 1:
            self.required = [literal for literal in literals if literal]
        return _Part("|".join(branches), weight, repeats)

    def _accept(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self.at_end():
            raise PatternError("the pattern ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _repeated(self, depth: int) -> _Part:
        part = self._atom(depth)
        if part is None:  # only flags, or an empty \Q\E
            if self._repetition() is not None:
                raise PatternError("a repetition of nothing")
            return _Part("", 0, 1)
        bounds = self._repetition()
        if bounds is None:
            return part
        low, high = bounds
        self._accept("?")  # lazy or not, the same lines match
        if self._repetition() is not None:
            raise PatternError("a repetition of a repetition; use a group")
        if (low, high) in ((0, None), (1, None), (0, 1)):
            sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}[low, high]
            return _Part(f"(?:{part.text}){sign}", part.weight + 1, part.repeats)
        factor = max(1, low if high is None else high)
        repeats = part.repeats * factor
        if repeats > MAX_REPEAT:
            raise PatternError(f"repetitions that come to more than {MAX_REPEAT}")
        upper = "" if high is None else str(high)
        count = f"{{{low}}}" if low == high else f"{{{low},{upper}}}"
        return _Part(f"(?:{part.text}){count}", (part.weight + 1) * factor, repeats)

    def _repetition(self) -> tuple[int, int | None] | None:
        if self._accept("*"):
            return 0, None
        if self._accept("+"):
            return 1, None
        if self._accept("?"):
            return 0, 1
        if not self._text.startswith("{", self._at):
            return None
        close = self._text.find("}", self._at)
        first, comma, second = self._text[self._at + 1 : max(close, self._at + 1)].partition(",")
        if close < 0 or not _is_number(first):
            if comma and not first and _is_number(second):
                raise PatternError("a repetition without a lower bound; write {0,n}")
            return None  # an ordinary brace
        if second and not _is_number(second):
            return None
        self._at = close + 1
        low = _number(first)
        high = low if not comma else (_number(second) if second else None)
        if high is not None and high < low:
            raise PatternError("a repetition whose bounds are the wrong way round")
        return low, high

    def _atom(self, depth: int) -> _Part | None:
        if self._repetition() is not None:
            raise PatternError("a repetition of nothing")
        char = self._next()
        if char == "(":
            return self._group(depth)
        if char == "[":
            return _class_part(self._class())
        if char == ".":
            return _class_part([(0, LAST_POINT)])
        if char in "^$":
            return _Part(char, 1, 1)
        if char == "\\":
            return self._escape()
        return self._literal(ord(char))

    def _group(self, depth: int) -> _Part | None:
        outer = self._fold
        if self._accept("?"):
            if self._accept("P<") or (
                self._text.startswith("<", self._at)
                and self._text[self._at + 1 : self._at + 2] not in ("=", "!")
                and self._accept("<")
            ):
                self._group_name()
            else:
                on = True
                while (char := self._next()) not in ":)":
                    if char == "-" and on:
                        on = False
                    elif char == "i":
                        self._fold = on
                    elif char not in "msU":
                        raise PatternError("a group or flag that isn't supported")
                if char == ")":
                    return None  # flags for the rest of the enclosing group
        inner = self.alternation(depth + 1)
        if not self._accept(")"):
            raise PatternError("a ( without its )")
        self._fold = outer
        return _Part(f"(?:{inner.text})", inner.weight, inner.repeats)

    def _group_name(self) -> None:
        name = ""
        while (char := self._next()) != ">":
            if char not in _GROUP_NAME:
                raise PatternError("a group name with other than ASCII letters, digits and _")
            name += char
        if not name or name in self._names:
            raise PatternError("a group name that is empty or used twice")
        self._names.add(name)

    def _literal(self, point: int) -> _Part:
        _check_point(point)
        if point in (0, 10):
            raise PatternError("a line feed or NUL, which no searched line holds")
        if self._fold:
            if point > 127:
                raise PatternError("ignoring case beyond ASCII, which depends on a Unicode version")
            if chr(point).isalpha():
                part = _class_part(folded([(point, point)]))
                return part._replace(literal=chr(point))
        char = chr(point)
        if point > 127:
            return _Part(point_text(point), 4, 1, char)
        return _Part(char if char.isalnum() else point_text(point), 1, 1, char)

    def _escape(self) -> _Part | None:
        char = self._next()
        if char in "bB":
            return _Part("\\" + char, 1, 1)
        if char == "A":
            return _Part("^", 1, 1)
        if char == "z":
            return _Part("$", 1, 1)
        if char == "Q":
            return self._quoted()
        if (ranges := named_set(char)) is not None:
            return _class_part(ranges)
        return self._literal(self._escaped_point(char))

    def _quoted(self) -> _Part | None:
        close = self._text.find("\\E", self._at)
        stop = close if close >= 0 else len(self._text)
        parts = [self._literal(ord(char)) for char in self._text[self._at : stop]]
        self._at = stop + 2
        if not parts:
            return None
        # As in RE2, a repetition after \E is of the last character alone; that surprises, so
        # it is refused.
        if len(parts) > 1:
            before = self._at
            if self._repetition() is not None:
                raise PatternError(r"a repetition of \Q...\E; use a group")
            self._at = before
        return _Part(
            "".join(part.text for part in parts),
            sum(part.weight for part in parts),
            1,
            "".join(part.literal for part in parts),
        )

    def _escaped_point(self, char: str) -> int:
        if char in _SIMPLE:
            return _SIMPLE[char]
        if char == "x":
            return self._hex_point()
        if char == "0":
            digits = "0"
            while len(digits) < 3 and self._text[self._at : self._at + 1] in _OCTAL:
                digits += self._next()
            return int(digits, 8)
        if char in "pP":
            raise PatternError("a Unicode class, which depends on a Unicode version")
        if char == "C":
            raise PatternError(r"\C, which matches half characters")
        if char in "123456789":
            raise PatternError(r"a reference or octal escape; write \x{...} for a character")
        if char.isascii() and not char.isalnum() and char.isprintable():
            return ord(char)
        raise PatternError("an escape that isn't supported")

    def _hex_point(self) -> int:
        if self._accept("{"):
            digits = ""
            while (char := self._next()) != "}":
                digits += char
        else:
            digits = self._next() + self._next()
        if not digits or len(digits) > 8 or not _HEX.issuperset(digits):
            raise PatternError(r"a \x escape that isn't hexadecimal")
        return _check_point(int(digits, 16))

    def _class(self) -> Ranges:
        negated = self._accept("^")
        ranges: Ranges = []
        first = True
        while first or not self._accept("]"):
            first = False
            if self._accept("[:"):
                ranges += self._posix()
                continue
            low = self._class_member()
            if not isinstance(low, int):
                ranges += low
                continue
            high: int | Ranges = low
            if (
                self._text.startswith("-", self._at)
                and self._text[self._at + 1 : self._at + 2] != "]"
            ):
                self._at += 1
                high = self._class_member()
            if not isinstance(high, int) or high < low:
                raise PatternError("a range in a class that isn't one")
            if self._fold and high > 127:
                raise PatternError("ignoring case beyond ASCII, which depends on a Unicode version")
            ranges += folded([(low, high)]) if self._fold else [(low, high)]
        return complement(ranges) if negated else ranges

    def _class_member(self) -> int | Ranges:
        char = self._next()
        if char != "\\":
            return _check_point(ord(char))
        char = self._next()
        if (ranges := named_set(char)) is not None:
            return ranges
        return self._escaped_point(char)

    def _posix(self) -> Ranges:
        negated = self._accept("^")
        close = self._text.find(":]", self._at)
        ranges = POSIX_CLASSES.get(self._text[self._at : close]) if close >= 0 else None
        if ranges is None:
            raise PatternError("a [: that begins no known class")
        self._at = close + 2
        if self._fold:
            ranges = folded(ranges)
        return complement(ranges) if negated else ranges


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _number(text: str) -> int:
    if len(text) > 4 or int(text) > MAX_REPEAT:
        raise PatternError(f"a repetition of more than {MAX_REPEAT}")
    return int(text)


def _check_point(point: int) -> int:
    if point > LAST_POINT or 0xD800 <= point <= 0xDFFF:
        raise PatternError("a code point that isn't a character")
    return point


def _point(point: int) -> str:
    return f"\\x{{{point:x}}}"


def _class_part(ranges: Ranges) -> _Part:
    return _Part(ranges_text(ranges), ranges_weight(ranges), 1)
