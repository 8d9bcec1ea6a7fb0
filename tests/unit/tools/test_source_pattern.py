"""Patterns: what is accepted, what it means on one line, what is refused."""

from __future__ import annotations

import re

import pytest

from vstore.tools.request import SourceSearch
from vstore.tools.source_matcher import compile_matcher, is_searchable, matching_lines
from vstore.tools.source_pattern import MAX_WEIGHT, PatternError, rewrite


def lines(text: str | bytes, pattern: str, *, ignore_case: bool = False) -> list[str]:
    block = text.encode() if isinstance(text, str) else text
    question = SourceSearch(source="s", pattern=pattern, syntax="re2", ignore_case=ignore_case)
    matcher = compile_matcher(question)
    return [block[start:stop].decode() for start, stop in matching_lines(block, matcher)]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b", "abc\nxyz\nb", ["abc", "b"]),
        ("^b", "ab\nb\n", ["b"]),
        ("b$", "ab\nba\n", ["ab"]),
        (r"\Ab", "ab\nb\n", ["b"]),
        (r"b\z", "ab\nba\n", ["ab"]),
        ("^$", "a\n\nb\n", [""]),
        ("$", "a\n\nb", ["a", "", "b"]),
        ("x*", "a\n\n", ["a", ""]),
        ("a.b", "a\nb\naxb\na\r\n", ["axb"]),
        ("a[^x]b", "a\nb\nayb\naxb", ["ayb"]),
        (r"a\sb", "a\nb\na\tb", ["a\tb"]),
        ("(?s)a.b", "a\nb\na-b", ["a-b"]),
        ("(?m)^a$", "a\nab", ["a"]),
        ("(?U)a+", "b\naa", ["aa"]),
        ("a$", "a\r\na\n", ["a"]),  # the CR belongs to the line
        ("a\r$", "a\r\na\n", ["a\r"]),
        ("[\r]", "a\rb\nc", ["a\rb"]),  # a lone CR ends no line
        ("b", "a\x0cb\n", ["a\x0cb"]),  # nor does a form feed
        (r"\d+", "a1\nb\u0661\n", ["a1"]),  # an Arabic-Indic digit is none
        (r"^\w+$", "ab_1\nab\u00e9\n", ["ab_1"]),
        (r"\bfoo\b", "foo\nfood\nfoo-bar\n", ["foo", "foo-bar"]),
        (r"\Boo", "foo\noo\n", ["foo"]),
        (r"[[:alpha:]]{2}", "a1\nab\n", ["ab"]),
        (r"[[:^alpha:]]", "ab\na1\n", ["a1"]),
        (r"^[^\D]$", "1\na", ["1"]),
        (r"^[\w-]+$", "a-b\na.b", ["a-b"]),
        ("[]a]", "]\nb\na", ["]", "a"]),
        ("[^]a]", "]\nb\na", ["b"]),
        ("[a-]", "-\nb", ["-"]),
        ("[a-b-d]", "-\nb\nc\nd", ["-", "b", "d"]),
        ("[[.]", ".\n[\nx", [".", "["]),
        (r"[\]\\]", "]\n\\\nx", ["]", "\\"]),
        (r"\[{table}_fts\]", "[{table}_fts]\n", ["[{table}_fts]"]),
        ("a{2}$", "a\naa\nba", ["aa"]),
        ("^a{2,}$", "a\naa\naaa", ["aa", "aaa"]),
        ("^a{1,2}$", "a\naa\naaa", ["a", "aa"]),
        ("^a{0}$", "a\n\n", [""]),
        ("a{", "a{\na", ["a{"]),
        ("a{x}", "a{x}\na", ["a{x}"]),
        ("a{1,x}", "a{1,x}\na", ["a{1,x}"]),
        ("^(a|bc)+$", "abc\nab", ["abc"]),
        ("a|", "b", ["b"]),
        ("()", "b", ["b"]),
        ("(?P<n>a)(?<m>b)", "ab\na", ["ab"]),
        ("(?:a)b", "ab", ["ab"]),
        ("^a??b", "ab\nb\ncb", ["ab", "b"]),
        (r"\x41\x{42}\051", "AB)", ["AB)"]),
        (r"\Qa.b*\Ec", "a.b*c\naxbbc", ["a.b*c"]),
        (r"\Q.\E+", "..\na", [".."]),
        (r"\Qa(", "a(\na", ["a("]),
        (r"\Q\Ea", "a\nb", ["a"]),
        ("\u00e9", "\u00e9\ne\u0301", ["\u00e9"]),  # no normalisation
        ("^.$", "\u00e9\nab\n\U0001f600", ["\u00e9", "\U0001f600"]),
        ("[\u00e0-\u00ff]", "\u00e9\ne", ["\u00e9"]),
        (r"\a|\f|\t|\v", "\x07\n\x0c\n\t\n\x0b\nx", ["\x07", "\x0c", "\t", "\x0b"]),
        (r"\_\-\ \/", "_- /", ["_- /"]),
        ("^*a", "a", ["a"]),
    ],
)
def test_pattern_means_this_on_each_line(pattern: str, text: str, expected: list[str]) -> None:
    assert lines(text, pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("(?i)k", "k\nK\n\u212a", ["k", "K"]),  # the Kelvin sign folds to k in Unicode
        ("(?i)s", "s\nS\n\u017f", ["s", "S"]),
        ("(?i)[j-l]", "k\nK\n\u212a\nm", ["k", "K"]),
        ("(?i)[^k]", "k\nK\n\u212a", ["\u212a"]),
        ("(?i)[[:lower:]]", "A\n1", ["A"]),
        ("(?i)[[:^lower:]]", "A\n1", ["1"]),
        ("(?i)a(?-i)b", "AB\nAb", ["Ab"]),
        ("(?i:a)b", "AB\nAb", ["Ab"]),
        ("(a(?i)b)c", "aBC\naBc", ["aBc"]),
        (r"(?i)\x61", "A", ["A"]),
        (r"(?i)\Qab\E", "AB", ["AB"]),
        ("(?i)a(?-i:\u00e9)", "A\u00e9\na\u00c9", ["A\u00e9"]),
        ("(?i)[Z-a]", "z\nA\n_\nb", ["z", "A", "_"]),
    ],
)
def test_ignoring_case_is_about_ascii_letters_alone(
    pattern: str, text: str, expected: list[str]
) -> None:
    assert lines(text, pattern) == expected


def test_the_argument_is_as_the_flag() -> None:
    assert lines("Ab\naB\nb", "ab", ignore_case=True) == ["Ab", "aB"]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\pL", r"\p{Greek}", r"\PL", r"[\pL]", r"[^\P{Lu}]", r"\C",
        "(?i)\u00e9", "(?i)[\u00e9]", "(?i)[a-\u00e9]", r"(?i)\x{e9}", "(?i:\u00e9)",
        r"\1", r"\8", r"\103", r"\Z", r"\e", r"\h", r"\R", r"\N{a}", r"\E", "\\\u00e9", "\\",
        r"\x", r"\x4", r"\x4g", r"\x{}", r"\x{110000}", r"\x{d800}", r"\x{000000041}", r"\x{41",
        r"[\b]", r"[\A]",
        "a\nb", r"\n", r"\x0a", r"\0", "a\0", "(?i)\n",
        "*", "+a", "?", "|*", "(*a)", "(?i)*", "a**", "a+*", "a???", "a{2}{3}",
        r"\Q\E*", r"\Qab\E*",
        "a{1001}", "a{2,1}", "a{,5}", "a{99999}", "(a{100}){100}", "((a{10}){10}){11}",
        ".{1000}", "[^a]{300}",
        "(", "(a", ")", "a)", "(a))", "(?", "(?i", "(?x)a", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)",
        "(?#c)", "(?P=n)", "(?P<>a)", "(?<n", "(?P<\u00e9>a)", "(?P<n>a)(?<n>b)", "(?i--s)",
        "[", "[a", "[]", "[^]", "[z-a]", r"[a-\d]", "[a-[:alpha:]]", "[[:foo:]]", "[[:alpha]",
        "[[:^foo:]]", "(" * 101 + ")" * 101,
    ],
)  # fmt: skip
@pytest.mark.parametrize("ignore_case", [False, True])
def test_refused(pattern: str, ignore_case: bool) -> None:
    with pytest.raises(PatternError):
        rewrite(pattern, ignore_case=ignore_case)


def test_messages_never_quote_the_pattern() -> None:
    for pattern in ("hostile\x1b[31m(", "[hostile", "(?P<hostile!>a)", "[[:hostile:]]"):
        with pytest.raises(PatternError) as caught:
            rewrite(pattern)
        assert "hostile" not in str(caught.value)


def test_a_rewritten_pattern_is_plain_ascii() -> None:
    rewritten = rewrite(r"(?i)k.*|[^\W_]{2,3}\b").pattern
    assert rewritten.isascii()
    assert b"(?i" not in rewritten
    assert re.search(rb"\\[wWdDsSpP]", rewritten) is None


def test_nesting_and_weight_have_bounds_that_can_be_reached() -> None:
    assert rewrite("(" * 100 + "a" + ")" * 100)
    assert rewrite("a{1000}")
    assert rewrite("(a{10}){100}")
    assert rewrite(f".{{{MAX_WEIGHT // 15}}}")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("schema", [b"schema"]),
        ("def .*schema", [b"def ", b"schema"]),
        ("a|b", []),
        ("(ab)c", [b"c"]),
        ("ab*c", [b"a", b"c"]),
        ("^ab$", [b"ab"]),
        ("(?i)Ab", [b"Ab"]),
        (r"\Qa+b\E", [b"a+b"]),
        ("\u00e9a", ["\u00e9a".encode()]),
    ],
)
def test_literals_that_a_matching_line_must_hold(pattern: str, expected: list[bytes]) -> None:
    assert rewrite(pattern).required == expected


@pytest.mark.parametrize("pattern", ["a\nb", "\0", "\n"])
def test_literal_across_lines_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="line feed"):
        compile_matcher(SourceSearch(source="s", pattern=pattern))


def test_literal_ignoring_case_beyond_ascii_is_refused() -> None:
    with pytest.raises(PatternError, match="Unicode"):
        compile_matcher(SourceSearch(source="s", pattern="\u00c9t", ignore_case=True))


def test_literal_has_no_syntax_and_no_folding() -> None:
    block = b"a.c\nabc\nA.C\n"
    exact = compile_matcher(SourceSearch(source="s", pattern="a.c"))
    folded = compile_matcher(SourceSearch(source="s", pattern="a.C", ignore_case=True))
    assert list(matching_lines(block, exact)) == [(0, 3)]
    assert list(matching_lines(block, folded)) == [(0, 3), (8, 11)]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"", True),
        (b"plain\n", True),
        ("caf\u00e9".encode(), True),
        (b"\xef\xbb\xbfbom", True),
        (b"a\0b", False),
        (b"caf\xe9", False),
        (b"\xed\xa0\x80", False),  # a surrogate
        (b"\xc0\x80", False),  # an overlong form
        (b"\xf4\x90\x80\x80", False),  # past U+10FFFF
        (b"\xc3", False),
    ],
)
def test_searchable_is_utf8_without_nul(block: bytes, expected: bool) -> None:
    assert is_searchable(block) is expected


def test_a_hit_a_line() -> None:
    matcher = compile_matcher(SourceSearch(source="s", pattern="a"))
    assert list(matching_lines(b"aaa\nbab", matcher)) == [(0, 3), (4, 7)]
    assert list(matching_lines(b"", matcher)) == []
