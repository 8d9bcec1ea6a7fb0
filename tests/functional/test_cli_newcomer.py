"""What a newcomer stumbles over: paths that lead elsewhere, groups alone, closed streams, texts."""

from __future__ import annotations

import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import click
import pytest

from vstore.budget.documents import Reserve
from vstore.package.workspace import Workspace
from vstore_cli.commands import COMMANDS
from vstore_cli.group import cli

from .conftest import CommandLine


def _groups() -> list[str]:
    context = click.Context(cli)
    return [name for name in COMMANDS if isinstance(cli.get_command(context, name), click.Group)]


def test_another_folder_is_not_this_package(prepared: CommandLine) -> None:
    for word in ("../none", "none", "refs/none"):
        outcome = prepared.refused("no_file", "-p", word, "status")
        assert f"no such file or folder: {word}" in outcome.err
        assert prepared("verify", word).code == 3
    prepared.refused("not_a_package", "-p", "../tree", "status")
    prepared.refused("no_file", "status", environ={"VSTORE_PACKAGE": "../none"})
    assert prepared("verify", "../tree").code == 3
    assert prepared("verify", "../tree/../tree").code == 3
    prepared.ok("verify", "refs/..")
    prepared.ok("-p", "../case-1", "status")


@pytest.mark.parametrize("group", _groups())
def test_a_group_alone_shows_its_help(vstore: CommandLine, group: str) -> None:
    outcome = vstore(group)
    if outcome.code != 2:
        # A group that does something by itself says what it misses.
        assert "[not_a_package]" in outcome.err
        return
    assert outcome.out == ""
    assert outcome.err == vstore.ok(group, "--help").out
    assert "\nCommands:\n" in outcome.err


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(("words", "code"), [("status", 0), ("status --none", 2), ("show none", 1)])
def test_closed_streams(prepared: CommandLine, closed: str, words: str, code: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m vstore_cli {words} {closed}'],
        cwd=prepared.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert (done.stdout != "") == (code == 0 and not closed.startswith(">"))


def test_what_an_empty_page_means(prepared: CommandLine) -> None:
    out = prepared.ok("query", "source.search", "-H", "H1", "answer", "--offset", "7").out
    assert "nothing past offset 7, 3 lines in all; 1 file skipped as no text" in out
    assert "nothing past offset 7, 3 lines in all" in prepared.ok("show", "E000001").out
    out = prepared.ok("query", "database.rows", "-H", "H1", "customers", "--offset", "2").out
    assert "nothing past offset 2, 2 rows in all\n" in out
    out = prepared.ok("query", "source.search", "-H", "H1", "no such text").out
    assert "nothing found; 1 file skipped" in out


def test_how_to_see_more(prepared: CommandLine) -> None:
    long = prepared.folder.parent / "long"
    long.mkdir()
    (long / "a").write_text("needle\n" * 1200)
    prepared.ok("source", "add", "long", long)

    def last(*words: str) -> str:
        return prepared.ok("query", *words, "-H", "H1", "-s", "long").lines[-3]

    cut = "1,000 of 1,200 lines, cut by max_matches 1,000"
    assert last("source.read", "a") == f"{cut}; --lines 1001: shows more"
    assert last("source.read", "a", "-L", "9:1100") == f"{cut}; --lines 1009:1100 shows more"
    assert last("source.read", "a", "-L", "1001:") == "200 lines"
    assert last("source.search", "needle", "--limit", "9999") == f"{cut}; --offset 1000 shows more"
    more = last("source.search", "needle", "--limit", "9999", "--offset", "1000")
    assert more == "200 of 1,200 lines, from offset 1,000"
    more = last("source.search", "needle", "--limit", "3", "--offset", "4")
    assert more == "3 of 1,200 lines, cut by limit 3; --offset 7 shows more"


def test_a_repeat_of_what_is_settled_asks_for_no_settlement(investigated: CommandLine) -> None:
    asked = ["query", "source.search", "-H", "H1", "answer", "--action", "query-0001"]
    out = investigated.ok(*asked).out
    assert "E000001  H1  query-0001" in out
    assert "vstore settle" not in out
    other = ["query", "source.search", "-H", "H2", "answer", "--action", "query-0003"]
    assert "next: vstore settle query-0003" in investigated.ok(*other).out
    investigated.ok("advance")
    assert "vstore settle" not in investigated.ok(*asked).out


def test_what_a_refused_question_says_can_be_done(prepared: CommandLine) -> None:
    bad = ["query", "source.search", "-H", "H1", "-E"]
    hint = prepared.refused("bad_pattern", *bad, "(").err.split("hint: ")[1]
    assert hint.startswith("query-0001 stays reserved: ask again with --action query-0001, or ")
    prepared.ok(*shlex.split(hint.rpartition(", or vstore ")[2]))
    assert prepared.ok("budget", "show", "--json").json["open_actions"] == []


def test_two_at_once_never_share_an_action(prepared: CommandLine) -> None:
    """Somebody else takes the number between looking for a free one and reserving it."""
    from vstore.tools.router import Router
    from vstore_cli import asking
    from vstore_cli.services import services_of

    with Workspace.of_package(prepared.folder) as one:
        services = services_of(one, Router.default())
        free = asking.new_action_id(services.package())
        with pytest.MonkeyPatch.context() as patch:

            def overtaken(package: object) -> str:
                del package
                with Workspace.of_package(prepared.folder) as other:
                    rival = services_of(other, Router.default()).budget
                    rival.reserve("case-1", "case-1", "H1", free, operation="source.list")
                return free

            patch.setattr(asking, "new_action_id", overtaken)
            entry = asking.reserve_next(services, "H1", "source.list")
    event = entry.event
    assert isinstance(event, Reserve)
    assert (free, event.action_id) == ("query-0001", "query-0002")
    assert len(prepared.ok("budget", "show", "--json").json["open_actions"]) == 2


def test_links_are_no_files_without_text(prepared: CommandLine) -> None:
    (prepared.folder.parent / "tree" / "link").symlink_to("main.py")
    prepared.ok("source", "add", "linked", "../tree")
    out = prepared.ok("query", "source.list", "-H", "H1", "-s", "linked").out
    assert "3 files; 1 link not listed\n" in out


def test_texts_that_look_like_other_values(prepared: CommandLine) -> None:
    with sqlite3.connect(prepared.folder.parent / "types.sqlite3") as connection:
        connection.execute("create table t (id integer primary key, a)")
        values = [
            None, "null", 1, "1", 1.0, "1.0", "-2e5", b"\0", "x'00'", "", " a", "'q'", "it's",
            "inf", "1 a", "-", "1.2.3",
        ]  # fmt: skip
        connection.executemany("insert into t (a) values (?)", [(one,) for one in values])
    connection.close()
    prepared.ok("database", "add", "types", "../types.sqlite3")
    lines = prepared.ok("query", "database.rows", "-H", "H1", "-d", "types", "t").lines
    shown = [line.split("  ", 2)[2].rstrip() for line in (one.strip() for one in lines[1:18])]
    assert shown == [
        "null", "'null'", "1", "'1'", "1.0", "'1.0'", "'-2e5'", "x'00'", "'x''00'''", "''",
        "' a'", "'''q'''", "it's", "'inf'", "1 a", "-", "1.2.3",
    ]  # fmt: skip


@pytest.mark.parametrize("own", ["VSTORE", "objects", "objects/log", "refs/generation", "locks"])
def test_a_package_is_no_input_of_itself(vstore: CommandLine, own: str) -> None:
    vstore.ok("init", "c")
    inside = vstore.at(vstore.folder / "c")
    before = inside.ok("rev-parse", "HEAD").out
    for word in (own, f"../c/{own}"):
        outcome = inside.refused("inside_itself", "input", "add", word)
        assert own in outcome.err
        if (inside.folder / own).is_dir():
            inside.refused("inside_itself", "source", "add", "x", word)
    assert inside.ok("rev-parse", "HEAD").out == before
    (inside.folder / "objects.txt").write_text("mine")
    (inside.folder / "notes").mkdir()
    (inside.folder / "notes" / "VSTORE").write_text("mine")
    inside.ok("input", "add", "objects.txt", "notes")
    inside.ok("source", "add", "x", "notes")


def test_where_a_package_can_be_made(vstore: CommandLine) -> None:
    (vstore.folder / "file").write_text("mine")
    vstore.refused("exists", "init", "file")
    vstore.refused("exists", "init", "c", "--path", "file")
    assert (vstore.folder / "file").read_text() == "mine"
    out = vstore.ok("init", "c", "--path", "with a blank").out
    assert "\n  cd 'with a blank'\n" in out


def test_no_package_inside_a_package(vstore: CommandLine) -> None:
    vstore.ok("init", "c")
    inside = vstore.at(vstore.folder / "c")
    for words in (
        ["init", "d"],
        ["init", "d", "--path", "notes/d"],
        ["init", "d", "--path", "refs"],
    ):
        outcome = inside.refused("inside_a_package", *words)
        assert str(inside.folder) in outcome.err
    inside.ok("init", "d", "--path", "../d")
    inside.refused("package_exists", "init", "c", "--path", ".")
    assert inside.ok("verify").lines[-1].endswith(": verified")


def test_the_name_of_the_raw_input_is_taken(prepared: CommandLine) -> None:
    for kind, path in (("source", "../tree"), ("database", "../bug.sqlite3")):
        outcome = prepared.refused("snapshot_exists", kind, "add", "inputs", path)
        assert "the name of the raw input" in outcome.err


def test_what_comes_next(vstore: CommandLine) -> None:
    vstore.ok("init", "c")
    inside = vstore.at(vstore.folder / "c")
    (vstore.folder / "t").mkdir()
    inside.ok("source", "add", "app", "../t")
    inside.ok("advance")
    inside.ok("advance")
    for taken in ("H1", "H3"):
        inside.ok("hypotheses", "add", taken, "so it is")
        assert 'vstore hypotheses add H2 "..."    state another one' in inside.ok("status").out
    inside.ok("hypotheses", "add", "H2", "so it is")
    assert 'vstore hypotheses add H4 "..."    state another one' in inside.ok("status").out
    inside.ok("budget", "init")
    inside.ok("budget", "reserve", "H1", "source.list")
    steps = inside.ok("status").out.split("Next:\n")[1]
    assert "vstore query ... --action query-0001" in steps
    inside.ok("query", "source.list", "-H", "H2")
    for _ in range(2):
        # What was found is assessed before more is asked, while hypotheses are made as well.
        steps = inside.ok("status").out.split("Next:\n")[1]
        assert steps.startswith('  vstore settle query-0002 --score N --reason "..."\n')
        inside("advance")


def test_a_budget_where_none_can_be(vstore: CommandLine) -> None:
    vstore.ok("init", "c")
    inside = vstore.at(vstore.folder / "c")
    for state in ("ADMITTED", "INTERPRETING"):
        assert f"not legal in {state}" in inside.refused("state", "budget", "init").err
        inside.ok("advance")
    inside.refused("unknown_hypothesis", "budget", "init")


def test_no_evidence_of_one_hypothesis(investigated: CommandLine) -> None:
    assert investigated.ok("evidence", "-H", "H9").out == "no evidence for H9\n"


def test_numbers_and_texts_past_their_bounds(prepared: CommandLine) -> None:
    before = prepared.ok("rev-parse", "HEAD").out
    search = ["query", "source.search", "-H", "H1"]
    prepared.refused("usage", *search, "x", "--limit", "9" * 20, code=2)
    prepared.refused("usage", *search, "x", "--offset", "9" * 20, code=2)
    outcome = prepared.refused("invalid_document", *search, "")
    assert "$.pattern" in outcome.err
    assert "hint: expected a text of length >= 1\n" in outcome.err
    outcome = prepared.refused("invalid_document", *search, "x" * 1001)
    assert "hint: expected a text of length <= 1000\n" in outcome.err
    for word in ("9" * 16, "9" * 40):
        outcome = prepared.refused(
            "usage", "query", "source.read", "-H", "H1", "main.py", "-L", f"2:{word}", code=2
        )
        assert "past 9007199254740991" in outcome.err
    outcome = prepared.refused("usage", "advance", "nowhere", code=2)
    assert "Invalid value for '[STATE]'" in outcome.err
    outcome = prepared.refused("usage", "block", code=2)
    assert "Choose from: budget_exhausted, provider_unavailable, operator_hold [" in outcome.err
    for words in (
        [*search, os.fsdecode(b"\xff")],
        ["hypotheses", "update", "H1", "--statement", os.fsdecode(b"\xff")],
        ["source", "add", "x", "../tree", "--label", os.fsdecode(b"\xff")],
    ):
        outcome = prepared.refused("not_representable", *words)
        assert "hint: every text is Unicode" in outcome.err
    assert prepared.ok("rev-parse", "HEAD").out == before


def test_json_that_is_refused_says_what_is_accepted(prepared: CommandLine) -> None:
    for text in ("", "[1.5]", '{"a":1,"a":2}', "\ufeff[]", "NaN"):
        (prepared.folder.parent / "some.json").write_text(text)
        for words in (["budget", "init", "--policy"], ["hypotheses", "set"]):
            outcome = prepared.refused("invalid_json", *words, "../some.json")
            assert "no number but integers" in outcome.err


def test_unclaimed_names_and_empty_folders(vstore: CommandLine) -> None:
    vstore.ok("init", "c")
    inside = vstore.at(vstore.folder / "c")
    (inside.folder / "empty" / "inner").mkdir(parents=True)
    (inside.folder / "full").mkdir()
    (inside.folder / "full" / "file").write_text("x")
    Path(os.fsdecode(os.fsencode(inside.folder) + b"/bad\xff")).write_text("x")
    odd = {"type": "bytes", "hex": "626164ff"}
    unclaimed = inside.ok("status", "--json").json["unclaimed"]
    assert unclaimed == [odd, "empty/inner/", "full/file"]
    out = inside.ok("input", "add", "empty", "full").out
    assert out == "added empty/inner/\nadded full/file\n"
    assert inside.ok("status", "--json").json["unclaimed"] == [odd]
    assert inside.ok("input", "add", "empty", "full").out.startswith("nothing new")
    (inside.folder / "empty" / "other").mkdir()
    assert inside.ok("status", "--json").json["unclaimed"] == [odd, "empty/other/"]
    assert inside.ok("input", "add", "empty", "--json").json["added"] == ["empty/other/"]


def test_changed_raw_input_in_the_log(vstore: CommandLine, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    vstore.ok("init", "c", "a")
    inside = vstore.at(tmp_path / "c")
    (tmp_path / "a").write_text("new")
    inside.ok("input", "add", "../a", "../b", "--replace")
    out = inside.ok("log", "--oneline", "-n", "1").out
    assert "added b to the raw input; changed a in the raw input" in out
