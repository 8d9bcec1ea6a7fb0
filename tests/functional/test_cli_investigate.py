"""status, hypotheses, advance, budget, query, settle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import CommandLine, make_material

Files = Callable[[Path], dict[str, bytes]]


def test_a_whole_investigation_by_hand(vstore: CommandLine) -> None:
    make_material(vstore.folder)
    vstore.ok("init", "case-1", "report.txt")
    inside = vstore.at(vstore.folder / "case-1")
    assert "vstore source add" in inside.ok("status").out
    inside.ok("source", "add", "app", "../tree")
    assert inside.ok("advance").out == "ADMITTED to INTERPRETING, generation 3\n"
    assert inside.ok("advance", "generating_hypotheses", "--json").json["state"] == (
        "GENERATING_HYPOTHESES"
    )
    assert "vstore hypotheses add" in inside.ok("status").out
    inside.refused("not_ready", "advance")
    inside.ok("hypotheses", "add", "H1", "it is wrong")
    assert "vstore budget init" in inside.ok("status").out
    inside.ok("budget", "init")
    inside.ok("advance")
    inside.ok("query", "source.search", "-H", "H1", "answer")
    assert "vstore settle query-0001" in inside.ok("status").out
    inside.ok("settle", "query-0001", "--score", "50", "-m", "so it is")
    inside.ok("hypotheses", "update", "H1", "-c", "confirmed")
    inside.ok("advance")
    assert "close the case" in inside.ok("status").out
    inside.ok("advance", "-m", "done")
    status = inside.ok("status", "--json").json
    assert status["state"] == "CLOSED"
    inside.refused("state", "advance")
    inside.ok("verify")


def test_status(prepared: CommandLine) -> None:
    value = prepared.ok("status", "--json").json
    assert value["schema"] == "vstore-status/1"
    assert value["sources"] == ["app"]
    assert value["databases"] == ["db"]
    assert [one["id"] for one in value["hypotheses"]] == ["H1", "H2"]
    assert [one["balance"] for one in value["accounts"]] == [100, 100]
    assert value["unclaimed"] == []
    assert value["refs"] == []
    assert "budget.reserve" in value["legal"]
    (prepared.folder / "notes.txt").write_text("mine")
    assert prepared.ok("status", "--json").json["unclaimed"] == ["notes.txt"]
    assert "notes.txt" in prepared.ok("status").out


def test_hypotheses(prepared: CommandLine, vstore: CommandLine, files_of: Files) -> None:
    assert prepared.ok("hypotheses").lines == [
        "H1   open          the answer is wrong",
        "H2   open          the orders are wrong",
        "                   ? since when?",
    ]
    before = files_of(prepared.folder)
    prepared.refused("hypothesis_exists", "hypotheses", "add", "H1", "again")
    prepared.refused("hypotheses_fixed", "hypotheses", "add", "H3", "late")
    prepared.refused("unknown_hypothesis", "hypotheses", "update", "H9", "-c", "open")
    prepared.refused("usage", "hypotheses", "update", "H1", code=2)
    prepared.refused("usage", "hypotheses", "update", "H1", "-c", "sure", code=2)
    assert files_of(prepared.folder) == before
    prepared.ok("hypotheses", "update", "H2", "-c", "weakened", "--no-questions")
    prepared.ok("hypotheses", "update", "H2", "--statement", "other words", "-q", "a", "-q", "b")
    value = prepared.ok("hypotheses", "--json").json
    assert value["hypotheses"][1] == {
        "id": "H2",
        "statement": "other words",
        "confidence": "weakened",
        "open_questions": ["a", "b"],
    }
    log = prepared.ok("log", "-n", "2", "--json").json["generations"]
    assert log[1]["changes"][0]["what"] == "weakened (was open)"
    assert log[0]["changes"][0]["what"] == "reworded"


def test_hypotheses_from_a_file(vstore: CommandLine) -> None:
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    file = vstore.folder / "h.json"
    file.write_text(json.dumps([{"id": "A", "statement": "one"}, {"id": "B", "statement": "two"}]))
    inside.refused("state", "hypotheses", "set", file)
    inside.ok("advance")
    inside.ok("advance")
    assert inside.ok("hypotheses").out == "no hypothesis yet\n"
    assert [one[:4] for one in inside.ok("hypotheses", "set", file).lines] == ["A   ", "B   "]
    file.write_text('[{"id": "A"}]')
    inside.refused("invalid_hypotheses", "hypotheses", "set", file)
    file.write_text('{"hypotheses": [{"id": "A", "statement": "other"}]}')
    inside.ok("hypotheses", "set", file)
    inside.ok("budget", "init")
    file.write_text(json.dumps([{"id": "B", "statement": "two"}]))
    inside.refused("hypotheses_fixed", "hypotheses", "set", file)
    inside.refused("no_file", "hypotheses", "set", "absent.json")
    inside.refused("unreadable", "hypotheses", "set", "..")


def test_advance_only_where_it_leads(prepared: CommandLine) -> None:
    prepared.refused("unexpected_state", "advance", "CLOSED")
    prepared.refused("usage", "advance", "NOWHERE", code=2)


def test_budget(prepared: CommandLine, files_of: Files) -> None:
    out = prepared.ok("budget", "reserve", "H1", "source.search").out
    assert out == "reserved query-0001 for H1: source.search, cost 10, balance 90\n"
    value = prepared.ok(
        "budget", "reserve", "H2", "database.rows", "--action", "mine", "--json"
    ).json
    assert value["event"]["cost"] == 10
    before = files_of(prepared.folder)
    prepared.refused("unknown_hypothesis", "budget", "reserve", "H9", "source.search")
    prepared.refused("unknown_action", "budget", "void", "absent", "-m", "x")
    prepared.refused("usage", "budget", "void", "mine", code=2)
    assert prepared("budget", "reserve", "H1", "no.such").code == 1
    assert prepared("settle", "mine", "--score", "1", "-m", "x").code == 1
    assert files_of(prepared.folder) == before
    shown = prepared.ok("budget", "show", "--json").json
    assert shown["schema"] == "vstore-budget/1"
    assert [(one["action_id"], one["status"]) for one in shown["open_actions"]] == [
        ("query-0001", "reserved"),
        ("mine", "reserved"),
    ]
    assert "voided mine of H2" in prepared.ok("budget", "void", "mine", "-m", "not needed").out
    value = prepared.ok("budget", "fail", "query-0001", "-m", "broke", "--json").json
    assert value["account"]["debited"] == 10
    accounts = prepared.ok("budget", "show", "--json").json["accounts"]
    assert [(one["balance"], one["reserved"]) for one in accounts] == [(90, 0), (100, 0)]
    # A repeat is the same command again: nothing is appended.
    before = files_of(prepared.folder)
    prepared.ok("budget", "fail", "query-0001", "-m", "broke")
    assert files_of(prepared.folder) == before
    prepared.refused("operation_conflict", "budget", "fail", "query-0001", "-m", "otherwise")


def test_budget_with_a_policy_of_ones_own(vstore: CommandLine) -> None:
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    inside.refused("no_budget", "budget", "show")
    inside.ok("advance")
    inside.ok("advance")
    inside.refused("unknown_hypothesis", "budget", "init")
    inside.ok("hypotheses", "add", "H1", "x")
    policy = vstore.folder / "policy.json"
    policy.write_text("{}")
    inside.refused("invalid_policy", "budget", "init", "--policy", policy)
    value = {
        "schema": "budget-policy-v1",
        "costs": {"source.search": 3},
        "initial_credits": 7,
        "new_evidence_score": 100,
        "max_reward_percent": 99,
        "low_information": {"threshold": 50, "streak": 1},
        "case_credit_cap": 7,
        "max_revisions": 1,
    }
    policy.write_text(json.dumps(value, indent=2))
    out = inside.ok("budget", "init", "--policy", policy).out
    assert "starts with 7 credits; the case has 7 at the most" in out
    assert inside.ok("budget", "show", "--policy", "--json").json["policy"] == value
    assert inside.ok("budget", "init", "--policy", policy).code == 0
    inside.refused("operation_conflict", "budget", "init")


def test_query_shows_and_keeps_the_answer(prepared: CommandLine) -> None:
    out = prepared.ok("query", "source.search", "-H", "H1", "answer").lines
    assert out == [
        "main.py:2: print(pkg.answer)",
        "pkg/__init__.py:1: answer = 41",
        "pkg/__init__.py:2: # answer: 42 was meant",
        "",
        "3 lines; 1 file skipped as no text",
        "E000001  H1  query-0001  novelty 100% (3 of 3 new)  cost 10",
        'next: vstore settle query-0001 --score 0..100 --reason "..."',
    ]
    again = prepared.ok("query", "source.search", "-H", "H2", "answer", "--json").json
    assert again["schema"] == "vstore-query/1"
    assert again["status"] == "ok"
    assert again["record"]["duplicate_of"] == "E000001"
    assert again["record"]["novelty_score"] == 0
    assert again["result"]["lines"][1] == {
        "path": "pkg/__init__.py",
        "file": again["result"]["lines"][1]["file"],
        "line": 1,
        "text": "answer = 41",
    }


def test_query_options(prepared: CommandLine) -> None:
    def lines(*words: str) -> list[str]:
        words = (words[0], "-H", "H1", "--json", *words[1:])
        found = prepared.ok("query", *words).json["result"]["lines"]
        return [f"{one['path']}:{one['line']}" for one in found]

    assert lines("source.search", "ANSWER", "-i", "--under", "pkg") == [
        "pkg/__init__.py:1",
        "pkg/__init__.py:2",
    ]
    assert lines("source.search", "-E", "4[12]$", "--source", "app") == ["pkg/__init__.py:1"]
    assert lines("source.search", "--", "-") == []
    assert lines("source.search", "Tuesday", "-s", "inputs") == ["report.txt:2"]
    assert lines("source.read", "main.py", "--lines", "2:") == ["main.py:2"]
    prepared.refused("usage", "query", "source.read", "-H", "H1", "main.py", "-L", "2:1", code=2)
    out = prepared.ok("query", "source.search", "-H", "H1", "a", "--limit", "1").out
    assert "--offset 1 shows more" in out
    files = prepared.ok("query", "source.list", "-H", "H2", "--limit", "2", "--json").json
    assert [one["path"] for one in files["result"]["files"]] == ["data.bin", "main.py"]


def test_rows(prepared: CommandLine) -> None:
    out = prepared.ok("query", "database.rows", "-H", "H2", "orders", "--order", "-amount").lines
    assert out[:4] == [
        "rowid  code  amount  note   raw",
        "    2  a-2   2.0     null   null",
        "    1  a-1   1.5     first  x'00ff'",
        "    3  b-1   -3.25   it's   x''",
    ]

    def codes(*words: str) -> list[str]:
        value = prepared.ok(
            "query", "database.rows", "-H", "H2", "orders", "-c", "code", *words, "--json"
        ).json
        return [one["columns"][0][1] for one in value["result"]["rows"]]

    assert codes("-w", "rowid <= 2", "-o", "-rowid") == ["a-2", "a-1"]
    assert codes("-w", "amount > 1.4", "-w", "note is not null") == ["a-1"]
    assert codes("--where", "note = 'it''s'") == ["b-1"]
    assert codes("--where", "code prefix 'a-'", "--limit", "1", "--offset", "1") == ["a-2"]
    assert codes("--where", "raw = x'00FF'") == ["a-1"]
    assert codes("--where", "amount = 2") == ["a-2"]


def test_schema_of_a_database(prepared: CommandLine) -> None:
    out = prepared.ok("query", "database.schema", "-H", "H1", "orders").out
    assert "columns  code TEXT not null, amount REAL, note, raw BLOB" in out
    assert "trigger keep (on orders)" in out
    full = prepared.ok("query", "database.schema", "-H", "H1", "orders", "--full").out
    assert "CREATE TABLE orders (code TEXT NOT NULL, amount REAL, note, raw BLOB)" in full
    found = prepared.ok("query", "database.schema", "-H", "H1", "--type", "view").out
    assert found.startswith("nothing found\n")


def test_bad_conditions_cost_nothing(prepared: CommandLine, files_of: Files) -> None:
    before = files_of(prepared.folder)
    for words in (
        ["-w", "rowid ~ 5"],
        ["-w", "code = a-1"],
        ["-w", "rowid <= 5 and rowid >= 3"],
        ["-o", "-"],
        ["--limit", "0"],
    ):
        outcome = prepared.refused(
            "usage", "query", "database.rows", "-H", "H2", "orders", *words, code=2
        )
        assert "hint:" in outcome.err
    assert files_of(prepared.folder) == before


def test_which_snapshot_is_meant(prepared: CommandLine, vstore: CommandLine) -> None:
    prepared.ok("source", "add", "other", prepared.folder.parent / "tree" / "pkg")
    outcome = prepared.refused("usage", "query", "source.search", "-H", "H1", "x", code=2)
    assert "app, other" in outcome.err
    prepared.ok("query", "source.search", "-H", "H1", "x", "--source", "other")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("unknown_table", ["database.rows", "absent"]),
        ("unknown_column", ["database.rows", "orders", "-c", "absent"]),
        ("unknown_database", ["database.rows", "orders", "-d", "absent"]),
        ("unknown_source", ["source.search", "x", "-s", "absent"]),
        ("unknown_path", ["source.read", "absent.py"]),
        ("bad_pattern", ["source.search", "-E", "("]),
        ("bad_range", ["source.read", "main.py", "-L", "99:"]),
    ],
)
def test_an_error_result_keeps_the_reservation(
    prepared: CommandLine, kind: str, words: list[str]
) -> None:
    outcome = prepared.refused(kind, "query", *words, "-H", "H1")
    assert "query-0001 stays reserved" in outcome.err
    (action,) = prepared.ok("budget", "show", "--json").json["open_actions"]
    assert (action["action_id"], action["status"]) == ("query-0001", "reserved")
    assert prepared.ok("evidence", "--json").json["records"] == []
    value = prepared("query", *words, "-H", "H1", "--action", "query-0001", "--json")
    assert value.code == 1
    assert value.json["status"] == "error"
    assert value.json["result"]["error"]["kind"] == kind
    assert value.json["record"] is None
    prepared.ok("budget", "void", "query-0001", "-m", "asked wrongly")


def test_asking_again_with_the_same_action(prepared: CommandLine, files_of: Files) -> None:
    prepared.ok("budget", "reserve", "H1", "source.search", "--action", "a1")
    words = ["query", "source.search", "-H", "H1", "answer", "--action", "a1"]
    first = prepared.ok(*words, "--json").json
    before = files_of(prepared.folder)
    assert prepared.ok(*words, "--json").json["record"] == first["record"]
    assert files_of(prepared.folder) == before
    prepared.refused(
        "operation_conflict", "query", "source.search", "-H", "H1", "other", "--action", "a1"
    )
    prepared.refused(
        "missing_reservation", "query", "source.search", "-H", "H1", "x", "--action", "none"
    )
    prepared.refused("unknown_hypothesis", "query", "source.search", "-H", "H9", "x")


def test_settle(investigated: CommandLine, files_of: Files) -> None:
    out = investigated.ok("settle", "query-0002", "--score", "40", "-m", "as sent").lines
    assert out[0] == "settled query-0002 for H2: score 40 (yours 40, at most 60), reward 2"
    before = files_of(investigated.folder)
    investigated.ok("settle", "query-0002", "--score", "40", "-m", "as sent")
    assert files_of(investigated.folder) == before
    investigated.refused(
        "operation_conflict", "settle", "query-0002", "--score", "41", "-m", "as sent"
    )
    value = investigated.ok("settle", "query-0003", "--score", "90", "-m", "seen", "--json").json
    assert value["event"]["score"] == 0
    assert value["event"]["reward"] == 0
    investigated.refused("usage", "settle", "query-0003", "--score", "101", "-m", "x", code=2)
    investigated.refused("unknown_action", "settle", "query-0009", "--score", "1", "-m", "x")


def test_a_record_that_a_crash_kept_from_the_ledger(prepared: CommandLine) -> None:
    from vstore.controller import BudgetManager, EvidenceStore
    from vstore.package.workspace import Workspace
    from vstore.tools.request import SourceSearch
    from vstore.tools.router import Router

    for action in ("a1", "a2"):
        prepared.ok("budget", "reserve", "H1", "source.search", "--action", action)
    with Workspace.of_package(prepared.folder) as workspace:
        router = Router.default()
        for action in ("a1", "a2"):
            package = BudgetManager(workspace).snapshot("case-1", "case-1").package
            search = SourceSearch(source="app", pattern="answer")
            request = router.request(package, [("H1", action, search)])
            reply = router.query(package, request)
            EvidenceStore(workspace, router=router).store_tool_results(
                "case-1", "case-1", action, request, reply
            )
    actions = prepared.ok("budget", "show", "--json").json["open_actions"]
    assert [(one["status"], one["record_id"]) for one in actions] == [
        ("answered", "E000001"),
        ("answered", "E000002"),
    ]
    assert prepared.ok("budget", "record", "a1").out == "recorded E000001 for a1\n"
    assert prepared.ok("budget", "record", "a1", "--json").json["record_id"] is None
    prepared.ok("settle", "a2", "--score", "10", "-m", "nothing new")
    prepared.ok("verify")


def test_actors_and_times(prepared: CommandLine) -> None:
    prepared.ok("--actor", "Ada", "budget", "reserve", "H1", "source.read")
    prepared.ok("budget", "reserve", "H1", "source.read", "--actor", "Bob")
    prepared.ok("budget", "reserve", "H1", "source.read")
    log = prepared.ok("log", "-n", "3", "--json").json["generations"]
    assert [one["actor"] for one in log] == ["tester", "Bob", "Ada"]
    assert all(one["at"].startswith("2026-01-01T") for one in log)
    prepared.refused("invalid_actor", "budget", "reserve", "H1", "source.read", "--actor", "a\nb")
    prepared.refused("invalid_actor", "advance", "--actor", "x" * 201)
