"""Nothing that a package holds reaches a terminal raw, whichever command shows it."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from vstore_cli.commands import COMMANDS

from .conftest import CommandLine

#: Clear the screen, set the title, a C1 sequence, a bidirectional override, a zero-width
#: space, DEL, and a carriage return that would hide what stands before it.
EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u200b\x7f\rok"
_OURS = re.compile("\x1b\\[[0-9;]*m")
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(vstore: CommandLine) -> CommandLine:
    """A package with hostile texts wherever a text may stand."""
    folder = vstore.folder
    source = folder / "tree"
    source.mkdir()
    (source / f"name{EVIL}.py").write_text(f"kiln {EVIL}\n" + "x" * 5000 + "kiln\n")
    (source / "plain.py").write_bytes(b"kiln \xff\xfe\n")
    Path(folder / f"report{EVIL}.txt").write_text(EVIL)
    (source / "link").symlink_to(f"to{EVIL}")
    connection = sqlite3.connect(folder / "db.sqlite3")
    table = f'"t{EVIL}"'
    connection.execute(f'CREATE TABLE {table} ("c{EVIL}" "type{EVIL}", other)')
    connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (EVIL, b"\x1b[2J"))
    connection.execute(f"INSERT INTO {table} VALUES (CAST(? AS TEXT), ?)", (b"\xff\x1b", None))
    connection.execute(f'CREATE INDEX "i{EVIL}" ON {table} ("c{EVIL}")')
    connection.execute(
        f"CREATE TRIGGER \"g{EVIL}\" AFTER INSERT ON {table} BEGIN SELECT '{EVIL}'; END"
    )
    connection.commit()
    connection.close()
    vstore.ok("init", "case", f"report{EVIL}.txt")
    inside = vstore.at(folder / "case")
    options = ["--label", EVIL, "--statement", EVIL, "--partial"]
    inside.ok("source", "add", "app", "../tree", *options)
    inside.ok("database", "add", "db", "../db.sqlite3", *options)
    inside.ok("advance", "-m", EVIL)
    inside.ok("advance")
    inside.ok("hypotheses", "add", "H1", EVIL, "-q", EVIL)
    inside.ok("budget", "init")
    inside.ok("advance")
    return inside


def _harmless(text: str, *, tty: bool) -> None:
    plain = _OURS.sub("", text) if tty else text
    found = _RAW.search(plain)
    assert found is None, plain[max(0, found.start() - 60) : found.end() + 20]


def test_hostile_texts(hostile: CommandLine) -> None:
    table = f"t{EVIL}"
    quoted = f'"c{EVIL}"'
    asked = [
        ["query", "source.search", "-H", "H1", "kiln"],
        ["query", "source.search", "-H", "H1", EVIL],
        ["query", "source.list", "-H", "H1", "--under", f"name{EVIL}.py"],
        ["query", "source.read", "-H", "H1", f"name{EVIL}.py"],
        ["query", "source.read", "-H", "H1", "plain.py"],
        ["query", "database.schema", "-H", "H1", "--full"],
        ["query", "database.rows", "-H", "H1", table],
        ["query", "database.rows", "-H", "H1", table, "-w", f"{quoted} = '{EVIL}'", "--full"],
        ["query", "database.rows", "-H", "H1", f"absent{EVIL}"],
        ["query", "database.rows", "-H", "H1", table, "-w", f"x{EVIL} = 1"],
        ["settle", "query-0001", "--score", "5", "-m", EVIL],
        ["budget", "fail", "query-0009", "-m", EVIL],
        ["hypotheses", "update", "H1", "--statement", EVIL + "!", "-q", EVIL],
    ]
    for words in asked:
        outcome = hostile(*words, tty=True)
        assert outcome.code in (0, 1, 2), outcome
        assert "fault" not in outcome.err
        _harmless(outcome.out, tty=True)
        _harmless(outcome.err, tty=True)
    read = [
        ["status"],
        ["log"],
        ["log", "--oneline"],
        ["evidence"],
        ["hypotheses"],
        ["budget", "show"],
        ["verify"],
        ["ls-tree"],
        ["ls-tree", "-r", "app"],
        ["ls-refs"],
        ["diff", "g1", "HEAD"],
        ["show"],
        ["show", "g1"],
        ["show", "app"],
        ["show", "db"],
        ["show", "hypotheses"],
        ["show", "budget_ledger"],
        ["show", "evidence_index"],
        ["show", "app:link"],
        ["show", f"app:name{EVIL}.py"],
        ["show", f"HEAD:report{EVIL}.txt"],
        *(["show", f"E00000{number}", "--full"] for number in range(1, 9)),
        *(["show", f"E00000{number}"] for number in range(1, 9)),
    ]
    (hostile.folder / f"unclaimed{EVIL}").write_text("x")
    for words in read:
        for tty in (True, False):
            for extra in ([], ["--json"]):
                outcome = hostile.ok(*words, *extra, tty=tty)
                _harmless(outcome.out, tty=tty)
                assert outcome.out.strip() or words[0] == "verify"
    _harmless(hostile.ok("cat-object", f"app:name{EVIL}.py", tty=True).out, tty=True)
    _harmless(hostile.ok("cat-object", "hypotheses", tty=True).out, tty=True)
    packed = f"../b{EVIL}.zip"
    sent = [
        ["bundle", "create", packed],
        ["bundle", "create", packed],
        ["-C", packed, "status"],
        ["-C", packed, "advance"],
        ["verify", packed],
        ["clone", packed, f"../c{EVIL}"],
        ["clone", packed, f"../c{EVIL}"],
    ]
    for words, code in zip(sent, (0, 1, 0, 1, 0, 0, 1), strict=True):
        outcome = hostile(*words, tty=True)
        assert outcome.code == code, outcome
        _harmless(outcome.out, tty=True)
        _harmless(outcome.err, tty=True)
    # The unclaimed file is a warning, no more.
    assert hostile.ok("verify").lines[-1].endswith("verified (1 warning)")
    covered = {words[0] for words in asked + read + sent}
    writing = {"init", "input", "source", "database", "advance", "demo", "repair"}
    writing |= {"block", "resume", "reopen", "admit", "worker", "doctor", "repack"}
    texts_of_none = {"hash-object", "rev-parse", "schema", "completion", "cat-object"}
    texts_of_none |= {"checkpoint"}
    # test_cli_handoff, test_cli_steps, test_cli_tester and the page's tests have their own.
    elsewhere = {"test", "step", "contract", "tester", "serve"}
    assert covered | writing | texts_of_none | elsewhere >= set(COMMANDS)
