"""Command lines that are read without click: click would have read the same."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from itertools import product
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore_cli import print_log, reserving
from vstore_cli.commands import COMMANDS
from vstore_cli.group import cli
from vstore_cli.plain import PLAIN, read
from vstore_cli.session import Session
from vstore_cli.terminal import Terminal

#: What click may read in a way of its own, and what is wrong.
ODD = ("", "-", "--", "-1", "5", "05", "+5", " 5", "٣", "12345678901", "x", "HEAD~2",
       "source.search", "-n5", "-pHERE", "-p=HERE", "--max-count=5", "--action=a", "--js",
       "--json=1", "--help", "-h", "--no-pager", "-C", "--version")  # fmt: skip
LINES = [(words, [*sorted(command.options), *ODD]) for words, command in sorted(PLAIN.items())]
IDS = [" ".join(words) for words, _ in LINES]

Call = tuple[str | None, str | None, dict[str, Any]]


class Recorder:
    """Stands for the functions that run commands, and keeps how they were called."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def instead_of(self, function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function)

        def keep(session: Session, *args: Any, **named: Any) -> None:
            bound = dict(signature.bind(session, *args, **named).arguments)
            del bound["session"]
            self.calls.append((session.package_option, session.actor_option, bound))

        return keep


@pytest.fixture(scope="module")
def recorder() -> Any:
    one = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(print_log, "print_log", one.instead_of(print_log.print_log))
        patch.setattr(reserving, "reserve", one.instead_of(reserving.reserve))
        yield one


def session() -> Session:
    return Session(Terminal(io.StringIO(), io.StringIO(), {}), {})


def agrees(recorder: Recorder, line: list[str]) -> bool:
    """Whether the line is read here; if so, click must make the same call of it."""
    found = read(line)
    if found is None:
        return False
    recorder.calls.clear()
    found.run(session())
    with cli.make_context("vstore", list(line), obj=session()) as context:
        cli.invoke(context)
    mine, clicks = recorder.calls
    assert mine == clicks, line
    return True


@pytest.mark.parametrize(("words", "tokens"), LINES, ids=IDS)
def test_short_lines_exhaustively(
    recorder: Recorder, words: tuple[str, ...], tokens: list[str]
) -> None:
    lines = [[*words, *rest] for length in range(4) for rest in product(tokens, repeat=length)]
    read_here = sum(agrees(recorder, line) for line in lines)
    assert read_here > 100


@pytest.mark.parametrize(("words", "tokens"), LINES, ids=IDS)
@given(data=st.data())
def test_longer_lines(
    recorder: Recorder, words: tuple[str, ...], tokens: list[str], data: st.DataObject
) -> None:
    usual = [one for one in tokens if one.startswith("-") and one not in ODD] + ["5", "H1", "a"]
    some = st.one_of(st.sampled_from(usual), st.sampled_from(tokens), st.text(max_size=3))
    agrees(recorder, [*words, *data.draw(st.lists(some, min_size=3, max_size=10))])


@pytest.mark.parametrize(
    "line",
    [
        "log",
        "log -n 20",
        "log HEAD~1 --oneline --max-count 3 -p here",
        "log --json",
        "budget reserve H1 source.search --action a",
        "budget reserve --actor me H1 --json source.search --package here",
    ],
)
def test_usual_lines_are_read_here(recorder: Recorder, line: str) -> None:
    assert agrees(recorder, line.split(" "))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "budget",
        "help log",
        "--no-pager log",
        "log -n",
        "log -n x",
        "log -n -1",
        "log --help",
        "log HEAD HEAD",
        "log -n 1 -n 2",
        "log -n 1 --max-count 2",
        "log -- HEAD",
        "budget reserve",
        "budget reserve H1",
        "budget reserve H1 source.search extra",
        "budget reserve H1 source.search --action",
        "budget reserve H1 source.search --action --json",
        "budget show",
    ],
)
def test_everything_else_is_left_to_click(line: str) -> None:
    assert read(line.split(" ") if line else []) is None


@pytest.mark.parametrize(("words", "tokens"), LINES, ids=IDS)
def test_every_option_of_clicks_is_here(words: tuple[str, ...], tokens: list[str]) -> None:
    command = cli.get_command(click.Context(cli), words[0])
    for word in words[1:]:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    assert command is not None
    assert words[0] in COMMANDS
    options = [one for one in command.params if isinstance(one, click.Option)]
    spelled = {text for one in options for text in (*one.opts, *one.secondary_opts)}
    assert spelled == set(PLAIN[words].options)
