from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.objects.display import visible, visible_bytes, visible_text
from vstore.objects.text import RawText, text_from_bytes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain text, äöü, 漢字, 🙂", "plain text, äöü, 漢字, 🙂"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\x00b\x7fc\x9bd", r"a\x00b\x7fc\x9bd"),
        ("line\nnext\r\tend", r"line\nnext\r\tend"),
        ("user\u202enimda\u2066x", r"user\u202enimda\u2066x"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("private\ue000", r"private\ue000"),
        ("sep\u2028\u2029", r"sep\u2028\u2029"),
        ("ideographic\u3000space\u00a0", "ideographic\u3000space\u00a0"),
        ("lone \ud800", r"lone \ud800"),
        ("byte \udcff", r"byte \xff"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_shows_what_would_act_on_a_terminal_as_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_keeps_what_the_caller_means() -> None:
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_doubles_backslashes_where_asked() -> None:
    assert visible("\\x1b", double_backslash=True) == r"\\x1b"
    assert visible("\\x1b\x1b", double_backslash=True) == r"\\x1b\x1b"


def test_shows_bytes_that_are_no_text() -> None:
    assert visible_bytes(b"caf\xc3\xa9 \xff\x1b") == "café \\xff\\x1b"
    assert visible_text(RawText("ff41")) == r"\xffA"
    assert visible_text("a\x07") == r"a\x07"


@given(st.text(st.characters()))
def test_nothing_a_terminal_acts_on_is_left(text: str) -> None:
    shown = visible(text)
    assert all(
        unicodedata.category(one) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for one in shown
    )
    shown.encode("utf-8")


@given(st.text(st.characters()), st.text(st.characters()))
def test_with_doubled_backslashes_different_texts_stay_different(one: str, other: str) -> None:
    same = visible(one, double_backslash=True) == visible(other, double_backslash=True)
    # U+00FF's byte twin U+DCFF is the one intended pair, and U+0080..U+009F with their bytes.
    fold = str.maketrans({0xDC00 + byte: chr(byte) for byte in range(0x80, 0xA0)})
    if same:
        assert one.translate(fold) == other.translate(fold)


@given(st.binary(max_size=40))
def test_any_bytes_can_be_shown(raw: bytes) -> None:
    assert visible_bytes(raw) == visible_text(text_from_bytes(raw))
