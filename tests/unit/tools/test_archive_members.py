"""Names of archives, and where members go."""

from __future__ import annotations

import pytest

from vstore.errors import InvalidError, LimitExceeded
from vstore.package.exclude import ExcludePatterns
from vstore.tools.archive_members import ArchiveLimits, Member, clean_path, plan


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (b"a", b"a"),
        (b"a/b", b"a/b"),
        (b"./a/b", b"a/b"),
        (b"././/a", b"a"),
        (b"a/", b"a"),
        (b".", b""),
        (b"./", b""),
        (b"././", b""),
        (b"...", b"..."),
        (b"..a/b..", b"..a/b.."),
        (b"a\\..\\b", b"a\\..\\b"),  # a name with backslashes, not a path
        (b"C:x", b"C:x"),
        (b" \t\r\n", b" \t\r\n"),
        (b"\xff\xfe", b"\xff\xfe"),
    ],
)
def test_names(name: bytes, path: bytes) -> None:
    assert clean_path(name) == path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (b"/a", "absolute_path"),
        (b"//a", "absolute_path"),
        (b"/", "absolute_path"),
        (b"..", "path_traversal"),
        (b"../a", "path_traversal"),
        (b"./../a", "path_traversal"),
        (b"a/../b", "path_traversal"),
        (b"a/..", "path_traversal"),
        (b"a/../", "path_traversal"),
        (b"", "invalid_path"),
        (b"a//b", "invalid_path"),
        (b"a/./b", "invalid_path"),
        (b"a//", "invalid_path"),
        (b"a\0b", "invalid_path"),
    ],
)
def test_refused_names(name: bytes, kind: str) -> None:
    with pytest.raises(InvalidError) as caught:
        clean_path(name)
    assert caught.value.kind == kind


def test_a_message_shows_control_characters_escaped() -> None:
    with pytest.raises(InvalidError) as caught:
        clean_path(b"../\x1b[31m")
    assert "\x1b" not in str(caught.value)


def targets(
    *paths: str, exclude: tuple[str, ...] = (), strip_top: bool = True
) -> tuple[list[bytes | None], bool, int]:
    members = [
        Member(path.rstrip("/").encode(), "folder" if path.endswith("/") else "file")
        for path in paths
    ]
    found = plan(members, ExcludePatterns(exclude), strip_top=strip_top)
    return found.targets, found.stripped, found.excluded


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["t/", "t/a", "t/b/c"], [None, b"a", b"b/c"]),
        (["t/a", "t/b"], [b"a", b"b"]),
        (["t/u/a"], [b"u/a"]),
    ],
)
def test_one_top_folder_is_taken_off(paths: list[str], expected: list[bytes | None]) -> None:
    assert targets(*paths) == (expected, True, 0)
    kept = [path.rstrip("/").encode() for path in paths]
    assert targets(*paths, strip_top=False) == (kept, False, 0)


@pytest.mark.parametrize(
    "paths", [["t/a", "u/b"], ["t/a", "b"], ["a"], ["t/"], ["t/a", "ta/b"], []]
)
def test_anything_else_keeps_its_paths(paths: list[str]) -> None:
    assert targets(*paths) == ([path.rstrip("/").encode() for path in paths], False, 0)


def test_a_file_in_the_place_of_the_top_folder_keeps_it() -> None:
    assert targets("t", "t/a")[1] is False


def test_patterns_are_about_paths_in_the_tree() -> None:
    found = targets("t/docs/", "t/docs/a", "t/src/docs.py", "t/x.pyc", exclude=("docs/", "*.pyc"))
    assert found == ([None, None, b"src/docs.py", None], True, 3)


def test_a_hard_link_needs_what_it_repeats() -> None:
    good = [Member(b"a", "file"), Member(b"b", "hardlink", target=b"a")]
    assert plan(good, ExcludePatterns(), strip_top=False).targets == [b"a", b"b"]
    for members in ([good[1], good[0]], [Member(b"d", "folder"), good[1]], [good[1]]):
        with pytest.raises(InvalidError) as caught:
            plan(members, ExcludePatterns(), strip_top=False)
        assert caught.value.kind == "broken_hardlink"


def test_ratio() -> None:
    limits = ArchiveLimits(max_ratio=10, ratio_from_bytes=1000)
    limits.check_ratio(1, 1000)
    limits.check_ratio(101, 1010)
    with pytest.raises(LimitExceeded) as caught:
        limits.check_ratio(100, 1001)
    assert caught.value.details == {"limit": "max_ratio", "value": 10, "asked": 10}
