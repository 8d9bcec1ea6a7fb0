"""Texts, widths, tables, colours, and the pager's choice."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.objects.text import RawText, text_from_bytes
from vstore_cli.table import Column, table
from vstore_cli.terminal import Terminal, cells, cut, pad, safe


def terminal(tty: bool = False, **environ: str) -> Terminal:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return tty

    return Terminal(Screen(), Screen(), environ)


def written(one: Terminal) -> str:
    assert isinstance(one.stdout, io.StringIO)
    return one.stdout.getvalue()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ünïcode 漢字", "plain ünïcode 漢字"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        (b"caf\xe9", r"caf\xe9"),
        (RawText("ff41"), r"\xffA"),
        ("\udcff", r"\xff"),
    ],
)
def test_nothing_dangerous_is_shown(text: Any, expected: str) -> None:
    assert safe(text) == expected


@given(st.binary(max_size=60))
def test_whatever_the_bytes_are(raw: bytes) -> None:
    for text in (raw, text_from_bytes(raw)):
        shown = safe(text)
        shown.encode("utf-8")
        assert "\x1b" not in shown
        assert all(one.isprintable() or one == "\u3000" or one.isspace() for one in shown)
        assert "\n" not in shown


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("\x1b[1mabc\x1b[0m", 3),
        ("漢字", 4),
        ("e\u0301", 1),
        ("", 0),
        ("\x1b[31mé\x1b[0m", 1),
    ],
)
def test_cells(text: str, width: int) -> None:
    assert cells(text) == width


def test_cut_and_pad() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 5) == "abcd…"
    assert cut("漢字漢字", 5) == "漢字…"
    assert cut("漢字漢字", 4) == "漢…"
    assert pad("a", 3) == "a  "
    assert pad("a", 3, right=True) == "  a"
    assert pad("漢", 3) == "漢 "


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=40),
       st.integers(2, 30))  # fmt: skip
def test_cut_never_passes_the_width(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width


def test_a_table_is_aligned() -> None:
    lines = table(
        terminal(),
        [Column(title="id"), Column(title="n", right=True), Column(title="what")],
        [["a", "1", "x"], ["bcd", "200", "漢字"]],
        indent=1,
    )
    assert lines == [" id     n  what", " a      1  x", " bcd  200  漢字"]
    assert table(terminal(), [Column()], []) == []


def test_a_table_gives_way_where_it_may() -> None:
    columns = [Column(title="a"), Column(title="b", shrink=True), Column(title="c", shrink=True)]
    rows = [["fixed", "x" * 30, "y" * 10]]
    lines = table(terminal(), columns, rows, width=31)
    assert lines[1] == "fixed  " + "x" * 11 + "…  " + "y" * 10
    assert all(cells(line) <= 31 for line in lines)
    narrow = table(terminal(), columns, rows, width=5)
    assert narrow[1] == "fixed  xxxxx…  yyyyy…"
    assert table(terminal(), [Column(at_most=4)], [["abcdef"]]) == ["abc…"]


@given(st.lists(st.tuples(st.text("ab", max_size=40), st.text("cd", max_size=40)), min_size=1),
       st.integers(20, 60))  # fmt: skip
def test_no_line_passes_the_width(rows: list[tuple[str, str]], width: int) -> None:
    lines = table(terminal(), [Column(shrink=True), Column(shrink=True)], rows, width=width)
    assert all(cells(line) <= width for line in lines)


def test_colours_are_for_terminals() -> None:
    assert terminal().paint("x", "bad") == "x"
    assert terminal(tty=True).paint("x", "bad", "bold") == "\x1b[31;1mx\x1b[0m"
    assert terminal(tty=True).paint("", "bad") == ""
    assert terminal(tty=True, NO_COLOR="1").paint("x", "bad") == "x"
    assert terminal(tty=True, NO_COLOR="").paint("x", "bad") != "x"
    assert terminal(tty=True, TERM="dumb").paint("x", "bad") == "x"
    assert terminal(FORCE_COLOR="1").paint("x", "bad") != "x"
    forced = terminal(NO_COLOR="1")
    forced.colour = "always"
    assert forced.paint("x", "bad") != "x"


def test_width() -> None:
    assert terminal().width == 80
    assert terminal(COLUMNS="100").width == 100
    assert terminal(COLUMNS="1").width == 40
    assert terminal(COLUMNS="wide").width == 80
    assert terminal(COLUMNS="100").line_width is None
    assert terminal(tty=True, COLUMNS="100").line_width == 100


@pytest.mark.parametrize("environ", [{"PAGER": "cat"}, {"PAGER": ""}, {"VSTORE_PAGER": "'"}])
def test_no_pager(environ: dict[str, str]) -> None:
    one = terminal(tty=True, **environ)
    with one.paged():
        for number in range(100):
            one.print(str(number))
    assert written(one).count("\n") == 100


def test_short_output_needs_no_pager() -> None:
    one = terminal(tty=True, PAGER="false")
    with one.paged():
        for number in range(20):
            one.print(str(number))
    assert written(one).count("\n") == 20


def test_a_pager_that_is_not_there() -> None:
    one = terminal(tty=True, PAGER="/nonexistent/pager")
    with one.paged():
        for number in range(100):
            one.print(str(number))
    assert written(one).count("\n") == 100


def test_long_output_goes_to_the_pager(tmp_path: Any) -> None:
    target = tmp_path / "paged"
    one = terminal(tty=True, PAGER=f"sh -c 'cat > {target}'", PATH="/usr/bin:/bin")
    with one.paged():
        for number in range(100):
            one.print(str(number))
    assert target.read_text().split() == [str(number) for number in range(100)]
    assert written(one) == ""


def test_a_pager_that_is_left_early() -> None:
    one = terminal(tty=True, PAGER="true", PATH="/usr/bin:/bin")
    printed = 0
    with one.paged():
        for printed in range(200_000):
            one.print(str(printed))
    assert printed < 199_999
    one.print("and on")
    assert written(one) == "and on\n"


def test_a_pipe_that_is_closed_is_no_pager() -> None:
    one = terminal(tty=True, PAGER="cat")
    with pytest.raises(BrokenPipeError), one.paged():
        raise BrokenPipeError


def test_json_is_ascii() -> None:
    one = terminal()
    one.json({"a": "ü\x7f\x1b"})
    assert written(one) == '{\n  "a": "\\u00fc\\u007f\\u001b"\n}\n'
