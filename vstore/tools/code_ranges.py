"""Sets of code points as ranges, and the ASCII classes of search patterns."""

from __future__ import annotations

from typing import Final

__all__ = [
    "LAST_POINT",
    "POSIX_CLASSES",
    "Ranges",
    "complement",
    "folded",
    "named_set",
    "point_text",
    "ranges_text",
    "ranges_weight",
]

#: First and last code point of each range, both included.
Ranges = list[tuple[int, int]]

LAST_POINT: Final = 0x10FFFF

_SETS: Final[dict[str, Ranges]] = {
    "d": [(48, 57)],
    "s": [(9, 10), (12, 13), (32, 32)],
    "w": [(48, 57), (65, 90), (95, 95), (97, 122)],
}
POSIX_CLASSES: Final[dict[str, Ranges]] = {
    "alnum": [(48, 57), (65, 90), (97, 122)],
    "alpha": [(65, 90), (97, 122)],
    "ascii": [(0, 127)],
    "blank": [(9, 9), (32, 32)],
    "cntrl": [(0, 31), (127, 127)],
    "digit": [(48, 57)],
    "graph": [(33, 126)],
    "lower": [(97, 122)],
    "print": [(32, 126)],
    "punct": [(33, 47), (58, 64), (91, 96), (123, 126)],
    "space": [(9, 13), (32, 32)],
    "upper": [(65, 90)],
    "word": [(48, 57), (65, 90), (95, 95), (97, 122)],
    "xdigit": [(48, 57), (65, 70), (97, 102)],
}


def named_set(char: str) -> Ranges | None:
    r"""The set of ``\d \D \s \S \w \W`` by its letter, ASCII as in RE2; None for another."""
    ranges = _SETS.get(char.lower())
    if ranges is None:
        return None
    return complement(ranges) if char.isupper() else ranges


def merged(ranges: Ranges) -> Ranges:
    """The same set as sorted ranges that don't touch."""
    merged: Ranges = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def complement(ranges: Ranges) -> Ranges:
    """All other code points."""
    gaps: Ranges = []
    start = 0
    for low, high in merged(ranges):
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST_POINT:
        gaps.append((start, LAST_POINT))
    return gaps


def folded(ranges: Ranges) -> Ranges:
    """The ranges, and the other case of every ASCII letter in them."""
    more = list(ranges)
    for low, high in ranges:
        for first, last, shift in ((65, 90, 32), (97, 122, -32)):
            if max(low, first) <= min(high, last):
                more.append((max(low, first) + shift, min(high, last) + shift))
    return more


def point_text(point: int) -> str:
    """A code point as RE2 reads it everywhere."""
    return f"\\x{{{point:x}}}"


def _without_line_feed(ranges: Ranges) -> Ranges:
    found: Ranges = []
    for low, high in merged(ranges):
        found += [
            (first, last)
            for first, last in ((low, min(high, 9)), (max(low, 11), high))
            if first <= last
        ]
    return found


def ranges_text(ranges: Ranges) -> str:
    """A class of these code points but LF, as explicit ranges; an empty one matches nothing."""
    pieces = [
        point_text(low) if low == high else f"{point_text(low)}-{point_text(high)}"
        for low, high in _without_line_feed(ranges)
    ]
    return f"[{''.join(pieces)}]" if pieces else f"[^{point_text(0)}-{point_text(LAST_POINT)}]"


def ranges_weight(ranges: Ranges) -> int:
    """About how many instructions the class takes: 1 for an ASCII range, 12 for another."""
    return sum(1 if high < 128 else 12 for _, high in _without_line_feed(ranges)) or 1
