from __future__ import annotations

import pytest

from vstore.package.bundle_names import is_known, name_faults, order_key, shown_name

LARGE = "objects/large/ab/" + "0" * 62
GOOD = [
    "VSTORE",
    "BUNDLE",
    "refs/a",
    "refs/generation",
    "objects/log/00000001.vlog",
    "objects/log/00000002.vlog",
    LARGE,
]


def test_the_names_and_their_order() -> None:
    assert all(is_known(name) for name in GOOD)
    assert sorted([*GOOD[3:], *GOOD[:3]], key=order_key) == GOOD
    assert list(name_faults(name.encode() for name in GOOD)) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"/etc/passwd", "absolute"),
        (b"\\etc\\passwd", "absolute"),
        (b"C:/x", "absolute"),
        (b"refs\\a", "backslash"),
        (b"../x", "leads out"),
        (b"refs/../../x", "leads out"),
        (b"refs/..", "leads out"),
        (b"refs/", "folder"),
        (b"", "no bundle has"),
        (b"refs", "no bundle has"),
        (b"refs/./a", "no bundle has"),
        (b"refs//a", "no bundle has"),
        (b"refs/a/b", "no bundle has"),
        (b"refs/A", "no bundle has"),
        (b"refs/" + b"a" * 65, "no bundle has"),
        (b"refs/a\n", "no bundle has"),
        (b"refs/a\0", "no bundle has"),
        (b"refs/\xc3\xa9", "no bundle has"),
        (b"refs/\xff", "no bundle has"),
        (b"vstore", "no bundle has"),
        (b"cache/objects.index", "no bundle has"),
        (b"locks/evidence", "no bundle has"),
        (b"tmp/x", "no bundle has"),
        (b"objects/pack/x", "no bundle has"),
        (b"objects/log/0000001.vlog", "no bundle has"),
        (b"objects/log/00000000.vlog", "no bundle has"),
        (b"objects/log/00000001.vlog.bak", "no bundle has"),
        (b"objects/large/AB/" + b"0" * 62, "no bundle has"),
        (b"objects/large/ab/" + b"0" * 61, "no bundle has"),
        (b"x" * 60_000, "no bundle has"),
        (b"__MACOSX/._VSTORE", "no bundle has"),
    ],
)
def test_other_names(name: bytes, reason: str) -> None:
    assert not is_known(shown_name(name))
    [fault] = name_faults([b"BUNDLE", name, b"refs/generation"])
    assert fault.position == 1
    assert reason in fault.reason


@pytest.mark.parametrize(
    ("names", "position", "reason"),
    [
        (["VSTORE", "VSTORE"], 1, "second member"),
        (["VSTORE", "refs/a", "VSTORE"], 2, "second member"),
        (["VSTORE", "vstore"], 1, "case"),
        (["VSTORE", "refs/a", "REFS/A"], 2, "case"),
        (["VSTORE", "refs/a", "refs/\N{FULLWIDTH LATIN SMALL LETTER A}"], 2, "normalisation"),
        (["VSTORE", "refs/K", "refs/\N{KELVIN SIGN}"], 2, "normalisation"),
        (["VSTORE", "refs/b", "refs/a"], 2, "order"),
        (["refs/a", "VSTORE"], 1, "order"),
        (["VSTORE", "objects/log/00000002.vlog", "objects/log/00000001.vlog"], 2, "order"),
    ],
)
def test_names_that_collide_or_stand_elsewhere(
    names: list[str], position: int, reason: str
) -> None:
    found = list(name_faults(name.encode() for name in names))
    assert (found[-1].position, reason in found[-1].reason) == (position, True)


def test_shown_names_are_short_and_text() -> None:
    assert shown_name(b"a\xff") == "a\udcff"
    assert len(shown_name(b"x" * 60_000)) == 200
