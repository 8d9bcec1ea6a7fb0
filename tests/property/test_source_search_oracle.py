"""Searching against a brute force over split lines, with Python's own ``re`` as the oracle."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.objects.ids import object_id
from vstore.tools import source_index
from vstore.tools.request import SourceSearch
from vstore.tools.source_index import WordIndex
from vstore.tools.source_matcher import compile_matcher, count_lines, matching_lines

texts = st.text(alphabet="abAB_1 .\n\r\t\x0c\u00e9\u212a\u017f(-", max_size=60).map(
    lambda text: text.encode()
)
literals = st.text(alphabet="abAB_1 .\r\t(-", min_size=1, max_size=4)

# A grammar on which RE2 and re.ASCII agree about whether a line matches; \B isn't in it, since
# re has (until 3.14) none in an empty text.
_atoms = st.sampled_from(
    ["a", "b", "A", "B", "_", "1", "-", "^", "$", ".", "[ab]", "[^ab]", "[a-b1]", "[-_]"],
) | st.sampled_from(
    [r"\.", r"\(", r"\d", r"\w", r"\W", r"\s", r"\S", r"\b", r"[^\w]", r"[\s.]", r"\x41"]
)


def _join(parts: list[str]) -> str:
    return "".join(parts)


patterns = st.recursive(
    st.lists(_atoms, min_size=1, max_size=3).map(_join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"{pair[0]}|{pair[1]}"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?", "{1,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}){pair[1]}"),
    ),
    max_leaves=5,
)


def split(block: bytes) -> list[tuple[int, bytes]]:
    """Start and bytes of each line, by the rule alone: LF ends a line."""
    found, start = [], 0
    for at in range(len(block)):
        if block[at] == 10:
            found.append((start, block[start:at]))
            start = at + 1
    if start < len(block):
        found.append((start, block[start:]))
    return found


def asked(pattern: str, block: bytes, syntax: str, *, ignore_case: bool) -> list[int]:
    question = SourceSearch(source="s", pattern=pattern, syntax=syntax, ignore_case=ignore_case)
    matcher = compile_matcher(question)
    found = [start for start, _ in matching_lines(block, matcher)]
    assert count_lines(block, matcher) == len(found)
    return found


@given(texts, literals, st.booleans())
def test_literal(block: bytes, literal: str, ignore_case: bool) -> None:
    needle = literal.encode()
    expected = [
        start
        for start, line in split(block)
        if (needle.lower() in line.lower() if ignore_case else needle in line)
    ]
    assert asked(literal, block, "literal", ignore_case=ignore_case) == expected


@settings(max_examples=250)
@given(texts, patterns)
def test_expression(block: bytes, pattern: str) -> None:
    # In re, $ also holds before a last LF, of which a line has none; \s has \v in re only,
    # which the alphabet leaves out.
    oracle = re.compile(pattern, re.ASCII)
    expected = [start for start, line in split(block) if oracle.search(line.decode())]
    assert asked(pattern, block, "re2", ignore_case=False) == expected


@settings(max_examples=100)
@given(texts, patterns)
def test_expression_ignoring_ascii_case(block: bytes, pattern: str) -> None:
    # re.ASCII with re.IGNORECASE folds ASCII letters alone, on bytes; every atom but the
    # ones about single characters is about bytes as well as about characters.
    bytewise = block.decode().replace("\u00e9", "!").replace("\u212a", "!").replace("\u017f", "!")
    oracle = re.compile(pattern.encode(), re.ASCII | re.IGNORECASE)
    expected = [start for start, line in split(bytewise.encode()) if oracle.search(line)]
    assert asked(pattern, bytewise.encode(), "re2", ignore_case=True) == expected
    # The characters beyond ASCII are letters of no case: they match where ! does, but for
    # what names ! itself, which no atom does.
    assert len(asked(pattern, block, "re2", ignore_case=True)) == len(expected)


@given(st.lists(texts, min_size=1, max_size=4), literals, st.integers(1, 20))
def test_the_index_never_leaves_a_line_out_that_has_the_literal(
    files: list[bytes], literal: str, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_index, "STRETCH_BYTES", size)
        index = WordIndex()
        for content in dict.fromkeys(files):
            index.add(object_id(content), [content])
        index.seal()
        possible = index.stretches_with([literal.encode()])
    for content in files:
        for start, line in split(content):
            if literal.encode().lower() in line.lower():
                assert possible is None or any(
                    one.start <= start < one.end for one in possible[object_id(content)]
                )


@given(texts, st.integers(1, 20), st.integers(1, 3))
def test_stretches_are_whole_lines_and_know_how_many_are_before(
    content: bytes, size: int, parts: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_index, "STRETCH_BYTES", size)
        index = WordIndex()
        index.add(object_id(content), _in_blocks(content, parts))
        index.seal()
        found = index.stretches_with([b"a"])
    starts = {start for start, _ in split(content)}
    for one in (found or {}).get(object_id(content), []):
        assert one.start in starts
        assert one.end in starts or one.end == len(content)
        assert one.before == content.count(b"\n", 0, one.start)
        assert b"a" in content[one.start : one.end].lower()


def _in_blocks(content: bytes, count: int) -> list[bytes]:
    """A content cut behind some of its LFs."""
    cuts = [at + 1 for at in range(len(content)) if content[at] == 10][: count - 1]
    edges = [0, *cuts, len(content)]
    return [content[one:other] for one, other in pairwise(edges)]
