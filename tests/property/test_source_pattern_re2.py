"""Rewritten patterns against RE2 itself: what is accepted means what RE2 says, line by line."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.tools.source_pattern import PatternError, rewrite

_pieces = (
    st.sampled_from(
        [
            "a",
            "b",
            "K",
            "\u00e9",
            ".",
            "^",
            "$",
            "|",
            "(",
            ")",
            "(?:",
            "(?P<n>",
            "(?<m>",
            "[",
            "]",
            "^",
        ]
    )
    | st.sampled_from(
        ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{", "}", ",", "-", "[^", "[:", ":]", "[[:alpha:]]"]
        # (?s) and a class with \n see what a line never has; case is compared elsewhere.
    )
    | st.sampled_from(
        [
            r"\d",
            r"\D",
            r"\w",
            r"\W",
            r"\s",
            r"\S",
            r"\b",
            r"\B",
            r"\A",
            r"\z",
            r"\Q",
            r"\E",
            r"\.",
            "\\",
        ]
    )
    | st.sampled_from(
        [r"\x41", r"\x{e9}", r"\0", r"\t", "(?s)", "(?m)", "(?U)", "a-b", "-]", "[]a"]
    )
)

patterns = st.lists(_pieces, min_size=1, max_size=8).map("".join)
lines = st.text(alphabet="abkKA_1 .\r\t\x0c\u00e9\u212a-[]{},:", max_size=12)


def compiled(pattern: bytes) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def agree(pattern: str, line: str) -> None:
    try:
        rewritten = rewrite(pattern)
    except PatternError:
        return
    # Whatever is accepted here is a pattern to RE2 too, as it was written.
    original = compiled(pattern.encode())
    ours = compiled(rewritten.pattern)
    text = line.encode()
    assert (ours.search(text) is None) == (original.search(text) is None)
    for literal in rewritten.required:
        if original.search(text) is not None:
            assert literal.lower() in text.lower()
    # Between other lines, where only the line itself may decide.
    framed = b"\n" + text + b"\n\n"
    found = ours.search(framed, 1, 1 + len(text))
    assert (found is None) == (original.search(text) is None)
    if found is not None:
        assert b"\n" not in found.group()


@settings(max_examples=400)
@given(patterns, lines)
def test_rewritten_patterns_match_the_same_lines(pattern: str, line: str) -> None:
    agree(pattern, line)


@pytest.mark.deep
@settings(max_examples=20_000, deadline=None)
@given(patterns, lines)
def test_rewritten_patterns_match_the_same_lines_deep(pattern: str, line: str) -> None:
    agree(pattern, line)
