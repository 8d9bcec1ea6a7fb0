"""``vstore step``, ``vstore contract measure``, and briefs with their history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vstore.testing.measurement_corpus import build_packages
from vstore.testing.replies import encoded, finding, reply_v14

FIRST = reply_v14(
    [finding(text="three places say 41"), finding("B0002", "against")],
    score=70,
    confidence="strengthened",
    add_questions=["who changed it?"],
    next={
        "kind": "query",
        "operation": "source.read",
        "arguments": {"source": "app", "path": "main.py"},
        "reason": "to see who prints it",
    },
)


def put(vstore: Any, reply: object, name: str = "reply.json") -> Path:
    path: Path = vstore.folder.parent / name
    path.write_bytes(reply if isinstance(reply, bytes) else encoded(reply))
    return path


@pytest.fixture
def asked(prepared: Any) -> Any:
    """The prepared package with one record of H1."""
    prepared.ok("query", "source.search", "-H", "H1", "answer")
    return prepared


def test_opening_prints_what_the_model_is_sent(asked: Any) -> None:
    value = asked.ok("step", "open", "-H", "H1").json
    assert value["call_id"] == "call-0001"
    assert value["contract"] == "investigation_project_v14"
    context = json.loads(value["messages"][1]["content"])
    assert context["previous_result"] == "E000001"
    assert [one["id"] for one in context["evidence"]] == ["E000001"]
    assert "anyOf" in json.dumps(value["provider_schema"])
    assert asked.ok("step", "open", "-H", "H1").json["call_id"] == "call-0002"


def test_checking_stores_nothing(asked: Any, files_of: Any) -> None:
    before = files_of(asked.folder)
    good = asked.ok("step", "check", put(asked, FIRST), "-H", "H1")
    assert "H1 strengthened: its findings speak for and against it (1 records)" in good.out
    assert "assessed E000001 70" in good.out
    assert "nothing was stored" in good.out
    assert files_of(asked.folder) == before


def test_checking_shows_the_hints_as_the_model_gets_them(asked: Any) -> None:
    bad = reply_v14([finding(references=["E000099"])], score=1)
    del bad["update"]["working_brief"]["retired"]
    path = put(asked, bad)
    outcome = asked("step", "check", path, "-H", "H1", "--json")
    assert outcome.code == 1
    assert outcome.json["previous_rejection"] == "INVESTIGATION_REPLY_SCHEMA"
    assert outcome.json["previous_rejection_details"]["members"] == ["retired"]
    assert outcome.json["previous_rejection_more"][0]["details"]["ids"] == ["E000099"]
    text = asked("step", "check", path, "-H", "H1")
    assert text.code == 1
    assert "/update/working_brief: required_members: retired" in text.out
    assert "update.working_brief.findings: known_evidence_ids: E000099" in text.out


def test_checking_from_outside_the_package(asked: Any) -> None:
    path = put(asked, FIRST)
    outside = asked.at(asked.folder.parent)
    outside.ok("step", "check", path, "--package", asked.folder, "-H", "H1")


def test_what_a_step_is_about_must_be_said(asked: Any) -> None:
    path = put(asked, FIRST)
    assert asked("step", "check", path).code == 2
    assert asked("step", "apply", path).code == 2
    asked.refused("unknown_hypothesis", "step", "check", path, "-H", "H9")
    asked.refused("unknown_call", "step", "check", path, "--call", "call-0009")
    asked.refused("no_file", "step", "check", "absent.json", "-H", "H1")


def test_applying_a_reply(asked: Any) -> None:
    outcome = asked.ok("step", "apply", put(asked, FIRST), "-H", "H1")
    assert outcome.lines[0] == "accepted call-0001"
    assert "next: query" in outcome.out
    assert "who changed it?" in asked.ok("hypotheses").out
    log = asked.ok("log").out
    assert "took the reply to call-0001, strengthened, next a query" in log
    assert "opened call-0001" in log
    assert asked.ok("verify").code == 0
    again = asked.ok("step", "apply", put(asked, FIRST), "--call", "call-0001")
    assert again.lines[0] == "accepted call-0001, as before"


def test_a_refused_reply(asked: Any) -> None:
    bad = put(asked, reply_v14([finding(references=["E000099"])], score=1))
    outcome = asked("step", "apply", bad, "-H", "H1")
    assert outcome.code == 1
    assert outcome.lines[0] == "refused call-0001"
    assert "refused the reply to call-0001: brief reference" in asked.ok("log").out
    value = asked.ok("step", "open", "-H", "H1").json
    context = json.loads(value["messages"][1]["content"])
    assert context["previous_rejection"] == "INVESTIGATION_BRIEF_REFERENCE"
    # It answers the call that is open now.
    value = asked.ok("step", "apply", put(asked, FIRST), "-H", "H1", "--json").json
    assert (value["call_id"], value["accepted"]) == ("call-0002", True)


def test_a_reply_that_was_cut_off(asked: Any) -> None:
    outcome = asked("step", "apply", put(asked, FIRST), "-H", "H1", "--cut-off", "--json")
    assert outcome.code == 1
    assert outcome.json["previous_rejection"] == "INVESTIGATION_REPLY_TRUNCATED"


def test_a_brief_with_its_history(asked: Any) -> None:
    asked.ok("step", "apply", put(asked, FIRST), "-H", "H1")
    second = reply_v14(
        [finding(direction="against", text="two places say 41", revision_reason="I misread")],
        retired=[("B0002", "said twice")],
    )
    asked.ok("step", "apply", put(asked, second), "-H", "H1")
    text = asked.ok("show", "brief:H1").out
    for line in (
        "version 2",
        "  B0001 changed: I misread",
        "  - for: three places say 41",
        "  + against: two places say 41",
        "  B0002 removed: said twice",
        "version 1",
        "  B0001 added",
    ):
        assert line in text.splitlines(), line
    assert text.index("version 2") < text.index("version 1")
    assert "brief of H1" in asked.ok("show", "working_brief").out
    value = asked.ok("show", "brief:H1", "--json").json
    assert value["document"]["format_version"] == 1
    asked.refused("unknown_brief", "show", "brief:H2")


def test_showing_steps_and_attempts(asked: Any) -> None:
    value = asked.ok("step", "apply", put(asked, FIRST), "-H", "H1", "--json").json
    assert "call call-0001 on H1" in asked.ok("show", value["step"]).out
    asked("step", "apply", put(asked, reply_v14(score=3)), "-H", "H1")
    entry = asked.ok("show", "investigation_log", "--json").json["document"]
    shown = asked.ok("show", entry["event"]["attempt"]).out
    assert "refused: INVESTIGATION_ASSESSMENT" in shown


def test_hostile_texts_of_a_reply_are_made_visible(asked: Any) -> None:
    evil = "\x1b[31mred\x07 \u202ereversed\nline"
    reply = reply_v14(
        [finding(text=evil, scope=evil)],
        score=1,
        uncertainties=[evil],
        next_question=evil,
        next={"kind": "finish", "reason": evil},
    )
    path = put(asked, reply)
    for words in (
        ("step", "check", path, "-H", "H1"),
        ("step", "apply", path, "-H", "H1"),
        ("show", "brief:H1"),
        ("log",),
    ):
        out = asked.ok(*words).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert "\u202e" not in out
        assert "reversed" in out or words == ("log",)


# --- contract measure -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build_packages(tmp_path_factory.mktemp("measured"))


def test_measuring(vstore: Any, measured: list[Path]) -> None:
    outcome = vstore.ok("contract", "measure", *measured, "--output", "figures.json")
    assert "in all: 26 calls under v13, 23 replies, 3 not reconstructable" in outcome.out
    assert "28.35 %" in outcome.out
    assert "  not kept: reply json, 1" in outcome.lines
    value = json.loads((vstore.folder / "figures.json").read_bytes())
    assert value == vstore.ok("contract", "measure", *measured, "--json").json
    assert [one["case_id"] for one in value["packages"]] == ["django-29182", "sqlite-utils-592"]
    assert value["total"]["replies"] == 23
    raw = (vstore.folder / "figures.json").read_bytes()
    vstore.ok("contract", "measure", *measured, "--output", "again.json")
    assert (vstore.folder / "again.json").read_bytes() == raw


def test_measuring_one_package_and_none(vstore: Any, measured: list[Path]) -> None:
    assert "in all" not in vstore.ok("contract", "measure", measured[0]).out
    assert vstore("contract", "measure").code == 2
    assert vstore("contract", "measure", "absent").code == 1


def test_a_package_without_v13_calls(vstore: Any, investigated: Any) -> None:
    outcome = investigated.ok("contract", "measure", ".")
    assert "0 calls under v13, 0 replies, all reconstructable" in outcome.out


def test_no_text_of_a_refused_reply_is_printed_or_kept(asked: Any) -> None:
    canary = "CANARY5d2b"
    reply = {canary: canary, "assessment": canary, "next": {"kind": canary, canary: canary}}
    path = put(asked, reply)
    for words in (("check",), ("apply",)):
        for more in ((), ("--json",)):
            outcome = asked("step", *words, path, "-H", "H1", *more)
            assert outcome.code == 1
            assert canary not in outcome.out + outcome.err
    assert canary not in asked.ok("log", "--json").out
    stored = b"".join(one.read_bytes() for one in asked.folder.rglob("*") if one.is_file())
    assert canary.encode() not in stored
