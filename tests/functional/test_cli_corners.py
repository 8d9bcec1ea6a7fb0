"""What an ordinary investigation doesn't meet: blocks, stops, races, odd tables and lines."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from vstore.errors import IntegrityError, StaleGeneration
from vstore.objects.canonical import to_value
from vstore.package.documents import Blocked
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace
from vstore.tools.reply import ToolReply
from vstore.tools.request import SourceSearch, ToolRequest
from vstore.tools.router import Router
from vstore_cli.asking import ask
from vstore_cli.errors import error_lines
from vstore_cli.services import services_of

from .conftest import CommandLine


def test_a_blocked_case(prepared: CommandLine) -> None:
    prepared.ok("budget", "reserve", "H1", "source.search")
    with Repository.open(prepared.folder, actor="operator", clock=prepared.clock) as repository:
        blocked = Blocked(
            reason="OPERATOR_HOLD",
            resume_state="INVESTIGATING_HYPOTHESES",
            retry_not_before=None,
            automatic_retry=False,
        )
        with repository.begin() as transaction:
            event = repository.event("block", reason="back on Monday")
            repository.publish(transaction, repository.pinned(), events=[event], blocked=blocked)
    out = prepared.ok("log", "-n", "1").lines
    assert out[0].endswith("revision 1, BLOCKED (OPERATOR_HOLD)")
    assert out[2] == "  INVESTIGATING_HYPOTHESES to BLOCKED (OPERATOR_HOLD)"
    assert out[3] == "  “back on Monday”"
    status = prepared.ok("status", "--json").json
    assert status["blocked"]["reason"] == "OPERATOR_HOLD"
    assert status["legal"] == ["resume"]
    assert "state        BLOCKED (OPERATOR_HOLD)" in prepared.ok("status").out
    for words in (
        ["query", "source.search", "-H", "H1", "x", "--action", "query-0001"],
        ["budget", "void", "query-0001", "-m", "x"],
        ["advance"],
        ["hypotheses", "update", "H1", "-c", "open"],
        ["source", "add", "late", "../tree"],
    ):
        prepared.refused("state", *words)
    prepared.ok("verify")


def test_an_account_that_is_stopped(prepared: CommandLine) -> None:
    for number in range(1, 4):
        prepared.ok("query", "source.search", "-H", "H1", "absent text")
        outcome = prepared("settle", f"query-000{number}", "--score", "0", "-m", "nothing")
        assert outcome.code == 0
    assert "the account of H1 is stopped" in outcome.err
    assert "settled query-0003, score 0, account stopped" in prepared.ok("log", "-n", "1").out
    assert "stopped" in prepared.ok("status").out
    outcome = prepared("query", "source.search", "-H", "H1", "answer")
    assert outcome.code == 1
    prepared.ok("query", "source.search", "-H", "H2", "answer")


def test_what_is_given_back_is_shown(prepared: CommandLine) -> None:
    prepared.ok("budget", "reserve", "H1", "source.search")
    prepared.ok("budget", "void", "query-0001", "-m", "never asked")
    assert "voided query-0001  10 given back" in prepared.ok("log", "-n", "1").out
    (line,) = prepared.ok("log", "-n", "1", "--oneline").lines[1:]
    assert "(10) voided query-0001" in line


def test_a_result_that_is_no_evidence(prepared: CommandLine) -> None:
    from vstore.controller import BudgetManager

    prepared.ok("budget", "reserve", "H1", "source.search")
    with Workspace.of_package(prepared.folder) as workspace:
        BudgetManager(workspace).record_result(
            "case-1", "case-1", "H1", "query-0001", result="a web page", novel_refs=["page-1"]
        )
    assert "recorded a result for query-0001" in prepared.ok("log", "-n", "1").out
    assert "“a web page”" in prepared.ok("log", "-n", "1").out
    (action,) = prepared.ok("budget", "show", "--json").json["open_actions"]
    assert (action["status"], action["record_id"]) == ("recorded", None)
    prepared.ok("settle", "query-0001", "--score", "10", "-m", "of some use")


class _Racing(Router):
    """Somebody publishes while we ask, the first few times."""

    def __init__(self, folder: Path, times: int) -> None:
        default = Router.default()
        super().__init__(default._adapters.values())
        self._folder = folder
        self._left = times

    def query(self, package: PinnedPackage, request: ToolRequest) -> ToolReply:
        reply = super().query(package, request)
        if self._left:
            self._left -= 1
            with Workspace.of_package(self._folder) as other:
                case = other.case("case-1")
                stated = case.package.hypotheses()
                assert stated is not None
                first: dict[str, Any] = {"id": "H1", "statement": f"wording {self._left}"}
                case.set_hypotheses([first, stated.hypotheses[1]])
        return reply


def test_somebody_publishes_in_between(prepared: CommandLine) -> None:
    search = SourceSearch(source="app", pattern="answer")
    with Workspace.of_package(prepared.folder) as workspace:
        answer = ask(services_of(workspace, _Racing(prepared.folder, 2)), "H1", None, search)
        assert answer.observation is not None
        assert answer.observation.record.id == "E000001"
        with pytest.raises(StaleGeneration) as caught:
            ask(services_of(workspace, _Racing(prepared.folder, 99)), "H1", None, search)
        assert "query-0002 stays reserved" in str(caught.value.hint)
    prepared.ok("verify")


def test_numbers_that_were_taken_by_hand(prepared: CommandLine) -> None:
    def reserve(*words: str) -> str:
        value = prepared.ok("budget", "reserve", *words, "source.list", "--json").json
        return str(value["event"]["action_id"])

    assert reserve("H1", "--action", "query-0003") == "query-0003"
    assert reserve("H1", "--action", "other") == "other"
    assert reserve("H1", "--action", "query-0001") == "query-0001"
    # 2 is free; 3 is taken, by the same hypothesis and the same operation or not.
    assert reserve("H1") == "query-0002"
    assert reserve("H1") == "query-0004"
    assert reserve("H2", "--action", "query-0006") == "query-0006"
    assert reserve("H1", "--action", "query-0004") == "query-0004"
    assert reserve("H1") == "query-0007"
    prepared.ok("verify")


def test_accounts_are_those_of_the_whole_ledger(investigated: CommandLine) -> None:
    """Reading stops early; the fold of all events says the same."""
    from vstore.controller import BudgetManager

    investigated.ok("budget", "reserve", "H1", "source.list")
    shown = investigated.ok("budget", "show", "--json").json
    with Workspace.of_package(investigated.folder) as workspace:
        folded = BudgetManager(workspace).snapshot("case-1", "case-1")
    assert shown["accounts"] == [to_value(one) for one in folded.accounts]
    assert [one["action_id"] for one in shown["open_actions"]] == [
        one.action_id for one in folded.open_actions
    ]
    assert [one["status"] for one in shown["open_actions"]] == ["recorded", "recorded", "reserved"]


def test_no_source_and_no_database(vstore: CommandLine) -> None:
    (vstore.folder / "report.txt").write_text("it breaks\n")
    vstore.ok("init", "case-1", "report.txt")
    inside = vstore.at(vstore.folder / "case-1")
    inside.ok("advance")
    inside.ok("advance")
    inside.ok("hypotheses", "add", "H1", "x")
    inside.ok("budget", "init")
    assert "report.txt:1: it breaks" in inside.ok("query", "source.search", "-H", "H1", "it").out
    outcome = inside.refused("usage", "query", "database.schema", "-H", "H1", code=2)
    assert "no database is pinned yet" in outcome.err


@pytest.fixture
def odd(vstore: CommandLine) -> CommandLine:
    """A package of odd tables and lines."""
    connection = sqlite3.connect(vstore.folder / "odd.sqlite3")
    connection.executescript(
        """
        CREATE TABLE parent (a INTEGER, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
        INSERT INTO parent VALUES (1, 'x'), (2, 'y');
        CREATE TABLE child (
            p INTEGER, q TEXT, note, raw BLOB, FOREIGN KEY (p, q) REFERENCES parent (a, b));
        CREATE UNIQUE INDEX once ON child (p, lower(q));
        CREATE VIEW seen AS SELECT p FROM child;
        """
    )
    connection.execute(
        "INSERT INTO child VALUES (?, ?, ?, ?)", (2**60, "n" * 100, "t" * 5000, b"\1" * 20)
    )
    connection.execute("INSERT INTO child VALUES (?, ?, ?, ?)", (1, "x", b"b" * 5000, 1e300))
    connection.commit()
    connection.close()
    tree = vstore.folder / "tree"
    tree.mkdir()
    (tree / "long.txt").write_bytes(b"kiln" + b"x" * 5000 + b"\n\tkiln\xff\n")
    (tree / "run").symlink_to("long.txt")
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    inside.ok("source", "add", "app", "../tree")
    inside.ok("database", "add", "db", "../odd.sqlite3")
    inside.ok("advance")
    inside.ok("advance")
    inside.ok("hypotheses", "add", "H1", "x")
    inside.ok("budget", "init")
    return inside


def test_odd_tables(odd: CommandLine) -> None:
    out = odd.ok("query", "database.rows", "-H", "H1", "parent").lines
    assert out[:3] == ["key   a  b", "1, x  1  x", "2, y  2  y"]
    out = odd.ok("query", "database.rows", "-H", "H1", "child").out
    assert str(2**60) in out
    assert "n" * 39 + "…" in out
    assert "(20 bytes)" in out
    assert "(5,000 bytes)" in out
    assert "1e+300" in out
    full = odd.ok("query", "database.rows", "-H", "H1", "child", "--full").out
    assert "n" * 100 in full
    assert f"x'{'01' * 20}'" in full
    out = odd.ok("query", "database.schema", "-H", "H1").out
    assert "table parent (without rowid)" in out
    assert "  unique index  once (p, (expression))" in out
    assert "  foreign key  p, q -> parent" in out
    assert "view seen" in out


def test_odd_lines(odd: CommandLine) -> None:
    out = odd.ok("query", "source.read", "-H", "H1", "long.txt").lines
    assert out[0].startswith("long.txt:1: kilnxxx")
    assert out[0].endswith("… (5,004 bytes)")
    assert out[1] == r"long.txt:2: \tkiln\xff"
    screen = odd.ok("query", "source.read", "-H", "H1", "long.txt", tty=True).out
    assert all(len(line) <= 100 for line in screen.splitlines())
    assert odd.ok("show", "app:run").out == "link to long.txt\n"


def test_questions_in_words(odd: CommandLine) -> None:
    for words, question in {
        ("source.list", "--under", "long.txt"): "source.list app under long.txt",
        ("source.read", "long.txt", "-L", "2"): "source.read app long.txt:2",
        ("source.read", "long.txt", "-L", "2:"): "source.read app long.txt:2-",
        ("source.read", "long.txt"): "source.read app long.txt",
        ("source.search", "-iE", "k.*n"): "source.search app /k.*n/i",
        ("database.schema", "seen"): "database.schema db seen",
        (
            "database.rows", "child", "-c", "p", "-w", "note is not null", "-w", "q = 'it''s'",
            "-o", "p",
        ): "database.rows db child (p) where note is not null and q = 'it''s' order p",
    }.items():  # fmt: skip
        odd.ok("query", *words, "-H", "H1")
        last = odd.ok("evidence", "-n", "1").lines[-1].split("  ")[-1]
        assert last.split(" (same as")[0] == question


def test_pointers_and_paths_of_errors() -> None:
    error = IntegrityError("it differs", pointer="/results/0", path=b"caf\xe9")
    assert error_lines(error) == ("it differs, at /results/0: caf\udce9 [integrity]", None)
    several = IntegrityError("they differ", paths=["a", "b", "c", "d", "e", "f"])
    assert error_lines(several)[0] == "they differ: a, b, c, d, e, ... [integrity]"


def test_large_objects_are_not_shown(vstore: CommandLine) -> None:
    (vstore.folder / "large.txt").write_bytes(b"x" * (5 * 1024 * 1024))
    vstore.ok("init", "case-1", "large.txt")
    inside = vstore.at(vstore.folder / "case-1")
    inside.refused("not_shown", "show", "HEAD:large.txt")
    value = inside.ok("show", "HEAD:large.txt", "--json").json
    assert value["size"] == 5 * 1024 * 1024
    assert "text" not in value


def test_many_unclaimed_files(prepared: CommandLine) -> None:
    for number in range(13):
        (prepared.folder / f"note-{number:02d}.txt").write_text("x")
    out = prepared.ok("status").out
    assert "note-09.txt" in out
    assert "note-10.txt" not in out
    assert "and 3 more" in out


def test_shapes_of_json_name_their_version(investigated: CommandLine) -> None:
    for words in (
        ["status"],
        ["log"],
        ["show"],
        ["evidence"],
        ["hypotheses"],
        ["budget", "show"],
        ["ls-tree"],
        ["ls-refs"],
        ["rev-parse", "HEAD"],
        ["checkpoint"],
        ["repair", "--dry-run"],
        ["repack", "--dry-run"],
    ):
        value = json.loads(investigated.ok(*words, "--json").out)
        name, version = value["schema"].split("/")
        assert name.startswith("vstore-")
        assert version == "1"
