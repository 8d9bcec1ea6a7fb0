"""vstore test: by people and by automata, from the request to the settled answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vstore.objects.ids import object_id
from vstore.testing.folders import package_bytes

from .conftest import CommandLine

OPTIONS = [
    "-H", "H1",
    "--question", "Does it fail?",
    "--prerequisite", "a fresh install",
    "--step", "Open it.",
    "--step", "Wait.",
    "--observe", "fails:yes_no=Does it fail?",
    "--observe", "log:attachment=What does the log say?",
    "--environment", "os=Debian",
    "--deadline", "2026-01-05T13:00:00+01:00",
]  # fmt: skip


@pytest.fixture
def case(vstore: CommandLine) -> CommandLine:
    """A case that investigates one hypothesis."""
    (vstore.folder / "report.txt").write_text("It breaks.\n")
    vstore.ok("init", "CASE-1", "report.txt")
    one = vstore.at(vstore.folder / "CASE-1")
    one.ok("advance")
    one.ok("advance")
    one.ok("hypotheses", "add", "H1", "it breaks")
    one.ok("budget", "init")
    one.ok("advance")
    return one


@pytest.fixture
def waiting(case: CommandLine) -> CommandLine:
    """The same, waiting for a test."""
    case.ok("test", "request", *OPTIONS)
    return case


def filled_in(waiting: CommandLine, folder: Path) -> Path:
    """A draft whose blanks are filled in, its log attached."""
    log = folder / "app.log"
    log.write_bytes(b"boom\n")
    waiting.ok("test", "attach", log)
    draft = waiting.ok("test", "show", "--draft").json
    draft["tester_id"] = "pat"
    draft["observations"][0]["text"] = "yes"
    draft["observations"][1] |= {
        "text": "boom",
        "attachments": [draft["attachments"][0]["object"]],
    }
    path = folder / "draft.json"
    path.write_text(json.dumps(draft, indent=1))
    return path


def test_from_request_to_settlement(case: CommandLine, tmp_path: Path) -> None:
    assert case.ok("test", "list").lines == ["no tests yet"]
    out = case.ok("test", "request", *OPTIONS).lines
    assert (
        out[0] == "test query-0001 handed out to a human tester; BLOCKED (AWAITING_TEST_FEEDBACK)"
    )
    (listed,) = case.ok("test", "list", "--json").json["tests"]
    assert listed["deadline"] == "2026-01-05T12:00:00Z"
    assert (listed["status"], listed["action_id"]) == ("outstanding", "query-0001")
    assert "the answer is due 2026-01-05T12:00:00Z" in case.ok("status").out
    draft = filled_in(case, tmp_path)
    out = case.ok("test", "confirm", draft, "--as", "Pat Doe").lines
    assert out[0].startswith("the answer to test query-0001 confirmed by Pat Doe at ")
    assert out[0].endswith("; INVESTIGATING_HYPOTHESES")
    assert "vstore test record" in case.ok("status").out
    assert case.ok("test", "record").lines[0] == "recorded E000001 for query-0001"
    assert case.ok("test", "record", "--json").json["repeated"] is True
    settled = case.ok("settle", "query-0001", "--score", "80", "--reason", "clear", "--json").json
    # 40 credits, at most 50 %, 60 for new evidence.
    assert (settled["event"]["reward"], settled["account"]["balance"]) == (12, 72)
    shown = case.ok("test", "show").out
    for text in ("Does it fail?", "a fresh install", "2. Wait.", "os = Debian", "boom", "Pat Doe",
                 "app.log", "5 bytes  text/plain", "status: recorded, E000001"):  # fmt: skip
        assert text in shown
    record = case.ok("show", "E000001").out
    assert "observed  boom" in record
    assert "by human, os = Debian" in record
    log = case.ok("log").out
    for text in (
        "handed out test query-0001, due 2026-01-05T12:00:00Z: Does it fail?",
        "attached app.log, 5 bytes",
        "answer to test query-0001 confirmed by Pat Doe: completed",
        "E000001 testing.request Does it fail? (2 of 2 new)",
    ):
        assert text in log
    assert case("verify").code == 0


def test_automata_ask_and_answer_in_json(case: CommandLine, tmp_path: Path) -> None:
    request = {
        "hypothesis_id": "H1",
        "request_id": "nightly-7",
        "action_id": "nightly-7",
        "executor": "automated",
        "question": "Does the suite pass?",
        "steps": ["Run it."],
        "observations": [{"id": "failed", "text": "How many failed?", "kind": "number"}],
        "deadline": "2026-01-05T12:00:00Z",
    }
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request, indent=2))
    asked = case.ok("test", "request", path, "--json").json
    assert (asked["request_id"], asked["repeated"], asked["state"]) == (
        "nightly-7",
        False,
        "BLOCKED",
    )
    before = package_bytes(case.folder)
    assert case.ok("test", "request", path, "--json").json["repeated"] is True
    shown = case.ok("test", "show", "--json").out
    # Exactly the bytes that a confirmation binds.
    assert object_id(shown.encode()) == asked["request"]
    assert case.ok("cat-object", asked["request"]).out == shown
    assert package_bytes(case.folder) == before
    answer = tmp_path / "answer.json"
    answer.write_text(
        json.dumps(
            {
                "request": asked["request"],
                "tester_id": "bench-3",
                "environment": [{"name": "commit", "value": "abc"}],
                "outcome": "completed",
                "observations": [{"id": "failed", "text": "17"}],
            }
        )
    )
    preview = case.ok("test", "confirm", answer, "--as", "bench-3", "--dry-run").json
    assert preview["executor"] == "automated"
    assert package_bytes(case.folder) == before
    done = case.ok("test", "confirm", answer, "--as", "bench-3", "--json").json
    assert (done["outcome"], done["repeated"], done["confirmed_by"]) == (
        "completed",
        False,
        "bench-3",
    )
    after = package_bytes(case.folder)
    again = case.ok("test", "confirm", answer, "--as", "bench-4", "--json").json
    assert again["repeated"] is True
    assert (again["confirmed_by"], again["feedback"]) == ("bench-3", done["feedback"])
    assert package_bytes(case.folder) == after
    recorded = case.ok("test", "record", "nightly-7", "--json").json
    assert (recorded["record_id"], recorded["action_id"]) == ("E000001", "nightly-7")
    # The request again, long after: the same one.
    assert case.ok("test", "request", path, "--json").json["repeated"] is True


def test_a_file_does_not_confirm_itself(waiting: CommandLine, tmp_path: Path) -> None:
    draft = filled_in(waiting, tmp_path)
    value = json.loads(draft.read_text())
    draft.write_text(json.dumps(value | {"confirmed": True}))
    waiting.refused("invalid_document", "test", "confirm", draft, "--as", "pat")
    value |= {"confirmed_by": "the boss", "confirmed_at": "1999-01-01T00:00:00Z"}
    draft.write_text(json.dumps(value))
    done = waiting.ok("test", "confirm", draft, "--as", "pat", "--json").json
    assert done["confirmed_by"] == "pat"
    assert done["confirmed_at"].startswith("2026-01-0")


def test_who_confirms_must_be_said(waiting: CommandLine, tmp_path: Path) -> None:
    draft = filled_in(waiting, tmp_path)
    assert waiting("test", "confirm", draft).code == 2
    waiting.refused("invalid_document", "test", "confirm", draft, "--as", "")


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (["--deadline", "2026-01-05T12:00:00"], "usage", 2),
        (["--deadline", "tomorrow"], "usage", 2),
        (["--observe", "nothing"], "usage", 2),
        (["--observe", "x:picture=What?"], "usage", 2),
        (["--environment", "debian"], "usage", 2),
        (["--observe", "fails=Again?"], "repeated", 1),
        (["--executor", "automated", "-H", "H9"], "unknown_hypothesis", 1),
        (["--id", "no good"], "invalid_document", 1),
    ],
)
def test_requests_that_are_refused_cost_nothing(
    case: CommandLine, words: list[str], kind: str, code: int
) -> None:
    before = package_bytes(case.folder)
    case.refused(kind, "test", "request", *OPTIONS, *words, code=code)
    assert package_bytes(case.folder) == before


def test_a_request_in_a_state_that_hands_nothing_out_reserves_nothing(
    waiting: CommandLine, vstore: CommandLine
) -> None:
    before = package_bytes(waiting.folder)
    waiting.refused("state", "test", "request", *OPTIONS, "--action", "other")
    assert package_bytes(waiting.folder) == before
    vstore.ok("init", "CASE-2")
    vstore.at(vstore.folder / "CASE-2").refused("state", "test", "request", *OPTIONS)


def test_files_that_can_not_be_attached(waiting: CommandLine, tmp_path: Path) -> None:
    before = package_bytes(waiting.folder)
    waiting.refused("no_file", "test", "attach", tmp_path / "absent")
    waiting.refused("unreadable", "test", "attach", tmp_path)
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    waiting.refused("usage", "test", "attach", one, other, "--name", "both", code=2)
    waiting.refused("unknown_request", "test", "attach", one, "--test", "nobody")
    waiting.refused("invalid_name", "test", "attach", one, "--name", "a/b")
    assert package_bytes(waiting.folder) == before
    named = waiting.ok("test", "attach", one, "--name", "two.txt", "--json").json
    assert [item["name"] for item in named["attachments"]] == ["two.txt"]
    assert waiting.ok("test", "attach", one, "--name", "two.txt", "--json").json["repeated"]
    assert (
        waiting.ok("test", "attach", other, "--name", "two.txt", "--json").json["repeated"] is False
    )


def test_an_overdue_test_is_only_shown_as_such(waiting: CommandLine) -> None:
    before = package_bytes(waiting.folder)
    waiting.clock.tick(30 * 24 * 3600)
    (listed,) = waiting.ok("test", "list", "--json").json["tests"]
    assert (listed["status"], listed["overdue"]) == ("overdue", True)
    assert "overdue" in waiting.ok("test", "list").out
    assert "status: overdue" in waiting.ok("test", "show").out
    waiting.refused("state", "advance")
    assert package_bytes(waiting.folder) == before


def test_tests_that_are_not_there(case: CommandLine) -> None:
    case.refused("unknown_request", "test", "show")
    case.refused("unknown_request", "test", "record")
    case.ok("test", "request", *OPTIONS)
    case.refused("unknown_request", "test", "show", "nobody")
    case.refused("unanswered", "test", "record")
    case.refused("unanswered", "test", "record", "query-0001")


def test_unable_to_test_is_shown_as_such(waiting: CommandLine, tmp_path: Path) -> None:
    draft = waiting.ok("test", "show", "--draft").json
    draft |= {"tester_id": "pat", "outcome": "unable_to_test", "observations": []}
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(draft))
    waiting.refused("reason", "test", "confirm", path, "--as", "pat")
    path.write_text(json.dumps(draft | {"remarks": "The machine\nis gone."}))
    waiting.ok("test", "confirm", path, "--as", "pat")
    waiting.ok("test", "record")
    shown = waiting.ok("show", "E000001").out
    assert "nothing observed: unable to test" in shown
    assert "sought  testing.request Does it fail?" in shown
    assert "is gone." in waiting.ok("test", "show").out
    evidence: dict[str, Any] = waiting.ok("evidence", "--json").json["records"][0]
    assert (evidence["novelty_score"], evidence["returned"]) == (0, 0)


def test_on_a_terminal_even_exact_bytes_are_safe(case: CommandLine) -> None:
    case.ok("test", "request", *OPTIONS, "--question", "Is \x9b31m\u202e it red?")
    for words in (["show"], ["show", "--json"], ["list"]):
        out = case.ok("test", *words, tty=True).out
        assert "\x9b" not in out
        assert "\u202e" not in out


def test_it_is_read_from_a_bundle_too(waiting: CommandLine, tmp_path: Path) -> None:
    filled_in(waiting, tmp_path)
    waiting.ok("bundle", "create", tmp_path / "case.zip")
    shown = waiting.ok("-C", tmp_path, "test", "show", "-p", "case.zip").out
    assert "app.log" in shown
    (listed,) = waiting.ok("test", "list", "-p", tmp_path / "case.zip", "--json").json["tests"]
    assert listed["status"] == "outstanding"
