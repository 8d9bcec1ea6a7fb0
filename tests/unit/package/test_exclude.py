from __future__ import annotations

import pytest

from vstore.errors import InvalidError
from vstore.package.exclude import ExcludePatterns


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.pyc", b"a.pyc", True),
        ("*.pyc", b"deep/down/a.pyc", True),
        ("*.pyc", b"a.pyc.txt", False),
        ("*.pyc", b"a.pyC", False),
        ("build", b"build", True),
        ("build", b"x/build/y/z", True),
        ("build", b"x/rebuild/y", False),
        ("build/", b"build", False),
        ("build/", b"build/x", True),
        ("/build", b"build/x", True),
        ("/build", b"x/build", False),
        ("./build", b"build", True),
        ("docs/*.md", b"docs/a.md", True),
        ("docs/*.md", b"docs/deep/a.md", False),
        ("docs/*.md", b"x/docs/a.md", False),
        ("docs/**/*.md", b"docs/a.md", True),
        ("docs/**/*.md", b"docs/x/y/a.md", True),
        ("**/cache", b"a/b/cache/c", True),
        ("**/cache", b"cache", True),
        ("docs/**", b"docs/x/y", True),
        ("docs/**", b"docs", False),
        ("?.c", b"a.c", True),
        ("?.c", b"ab.c", False),
        ("[ab].c", b"b.c", True),
        ("[!ab].c", b"b.c", False),
        ("[!ab].c", b"c.c", True),
        ("[a-c]x", b"bx", True),
        ("[a-c]x", b"dx", False),
        ("[]]x", b"]x", True),
        ("[!]]x", b"]x", False),
        ("[a-]x", b"-x", True),
        ("a[!x]b", b"a/b", False),
        (r"\*", b"*", True),
        (r"\*", b"a", False),
        ("a.b", b"axb", False),
        ("(a|b)+", b"a", False),
        ("a\\", b"a\\", True),
        ("ü*", "über".encode(), True),
        ("*", b"\xff\n", True),
        ("***.x", b"a/b.x", True),
    ],
)
def test_patterns(pattern: str, path: bytes, expected: bool) -> None:
    assert ExcludePatterns([pattern]).covers(path) is expected


def test_no_patterns_leave_nothing_out() -> None:
    none = ExcludePatterns()
    assert not none
    assert not none.covers(b"a/b")
    assert not none.matches(b"a", is_folder=True)


def test_folders_alone() -> None:
    patterns = ExcludePatterns(["x/", "/y/"])
    assert patterns.matches(b"a/x", is_folder=True)
    assert not patterns.matches(b"a/x", is_folder=False)
    assert patterns.matches(b"y", is_folder=True)
    assert not patterns.matches(b"y", is_folder=False)
    assert not patterns.matches(b"a/y", is_folder=True)


@pytest.mark.parametrize("pattern", ["", "/", "./", "[a", "x[", "[!", "[z-a]", "[/]", "a" * 1001])
def test_bad_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidError) as caught:
        ExcludePatterns([pattern])
    assert caught.value.kind == "bad_exclude_pattern"


def test_many_stars_stay_fast() -> None:
    patterns = ExcludePatterns(["*a*a*a*a*a*a*a*a*b"])
    assert not patterns.covers(b"a" * 60)
