"""Hints help, and leak nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.investigation.rejection import CODES, Problem, hint_value, hints_of
from vstore.testing.replies import changed, encoded, finding, reply_v13, reply_v14

CANARY = "CANARY7f3a"


def test_the_hint_of_the_specification(bench: Any) -> None:
    bench.with_past(known=1)
    refusal = bench.refuse(reply_v14([finding(references=["E999999"])]))
    assert hint_value(refusal.hints) == {
        "previous_rejection": "INVESTIGATION_BRIEF_REFERENCE",
        "previous_rejection_details": {
            "field": "update.working_brief.findings",
            "ids": ["E999999"],
            "requirement": "known_evidence_ids",
        },
    }


def test_a_schema_error_has_a_path_and_known_names(bench: Any) -> None:
    reply = changed(reply_v14(), lambda value: value["update"]["working_brief"].pop("retired"))
    assert hint_value(bench.refuse(reply).hints) == {
        "previous_rejection": "INVESTIGATION_REPLY_SCHEMA",
        "previous_rejection_details": {
            "field": "/update/working_brief",
            "ids": [],
            "requirement": "required_members",
            "members": ["retired"],
        },
    }


def test_the_first_error_stands_apart_and_the_others_follow(bench: Any) -> None:
    value = hint_value(bench.refuse(reply_v14([finding(references=["E999999"])], score=1)).hints)
    assert value["previous_rejection"] == "INVESTIGATION_ASSESSMENT"
    assert [one["rejection"] for one in value["previous_rejection_more"]] == [
        "INVESTIGATION_BRIEF_REFERENCE"
    ]
    assert value["previous_rejection_more"][0]["details"]["ids"] == ["E999999"]


def test_no_rejection_says_nothing() -> None:
    assert hint_value([]) == {}


def test_only_what_has_the_form_of_an_id_is_repeated() -> None:
    ids = ("E000001", "B0001", "E12 " + CANARY, CANARY, "E", "F000001", "E٣", "E1\n")
    hint = hints_of([Problem(code="X", path=("update",), requirement="r", ids=ids)])[0]
    assert hint.details.ids == ["E000001", "B0001"]


def test_only_known_members_are_named() -> None:
    names = ("retired", CANARY, "type")
    hint = hints_of([Problem(code="X", path=(), requirement="r", members=names)])[0]
    assert hint.details.members == ["retired"]


def test_hints_of_the_same_problem_are_told_once() -> None:
    problem = Problem(code="X", path=("a",), requirement="r")
    assert len(hints_of([problem, problem])) == 1


# --- one reply for every code ---------------------------------------------------------------


def test_a_reply_that_was_cut_off_is_not_parsed(bench: Any) -> None:
    # Not even a whole and valid one: the provider says that something is missing.
    refusal = bench.refuse(reply_v14(), cut_off=True)
    assert (refusal.code, refusal.readable) == ("INVESTIGATION_REPLY_TRUNCATED", False)
    assert bench.refuse(b'{"assessment": nul', cut_off=True).code == refusal.code


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"I think that",
        b"```json\n{}\n```",
        b"{} {}",
        b'{"a": 1, "a": 2}',
        b'{"a": 1.5}',
        b'{"a": NaN}',
        b'{"a": 9007199254740992}',
        b'{"a": -0}',
        b'"\\ud800"',
        b"\xef\xbb\xbf{}",
        b"\xff",
        "{}".encode("utf-16"),
        b"[" * 65 + b"]" * 65,
        b" " * (1 << 20) + b"{}",
    ],
)
def test_what_is_not_one_document_of_the_subset(bench: Any, raw: bytes) -> None:
    refusal = bench.refuse(raw)
    assert (refusal.code, refusal.readable) == ("INVESTIGATION_REPLY_JSON", False)
    assert len(refusal.hints) == 1


def test_a_reply_that_fails_the_schema_is_not_readable(bench: Any) -> None:
    assert not bench.refuse({}).readable
    assert bench.refuse(reply_v14(score=1)).readable


def test_every_code_can_be_reached(bench: Any, bench13: Any) -> None:
    bench.accept(reply_v14([finding()]))
    bad = {"kind": "query", "operation": "source.read", "arguments": {}, "reason": "r"}
    refusals = [
        bench.refuse(reply_v14(), cut_off=True),
        bench.refuse(b"no"),
        bench.refuse({}),
        bench.refuse(reply_v14([finding()], score=1)),
        bench.refuse(reply_v14([finding(references=["E000001", "E000999"])])),
        bench.refuse(reply_v14([finding(), finding()])),
        bench.refuse(reply_v14([])),
        bench.refuse(reply_v14([finding(direction="against")])),
        bench.refuse(reply_v14([finding()], confidence="refuted")),
        bench.refuse(reply_v14([finding()], next=bad)),
        bench13.refuse(reply_v13([finding()])),
        bench13.refuse(reply_v13([finding()], references=[], changes=[("B0001", "added")])),
    ]
    assert [one.code for one in refusals] == [
        "INVESTIGATION_REPLY_TRUNCATED",
        "INVESTIGATION_REPLY_JSON",
        "INVESTIGATION_REPLY_SCHEMA",
        "INVESTIGATION_ASSESSMENT",
        "INVESTIGATION_BRIEF_REFERENCE",
        "INVESTIGATION_BRIEF_FINDING",
        "INVESTIGATION_BRIEF_RETIRED",
        "INVESTIGATION_BRIEF_REVISION",
        "INVESTIGATION_CONFIDENCE",
        "INVESTIGATION_NEXT_ARGUMENTS",
        "INVESTIGATION_BRIEF_CHANGES",
        "INVESTIGATION_REFERENCE_SETS",
    ]
    assert {one.code for one in refusals} == set(CODES)


# --- canaries -------------------------------------------------------------------------------


def full(version: int) -> dict[str, Any]:
    """A reply in which every member that there can be is present."""
    query = {
        "kind": "query",
        "operation": "source.search",
        "arguments": {"source": "app", "pattern": "x"},
        "reason": "r",
    }
    common: dict[str, Any] = {
        "score": 5, "resolve_questions": ["q"], "add_questions": ["q"], "next": query,
    }  # fmt: skip
    if version == 14:
        one = finding(revision_reason="r")
        return reply_v14([one, finding("B0002")], retired=[("B0003", "r")], **common)
    return reply_v13(
        [finding(), finding("B0002")], changes=[("B0001", "added")], assessed=["E000001"], **common
    )


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    items: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, one in items:
        yield from places(one, (*way, key))


def planted(version: int) -> Iterator[dict[str, Any]]:
    """A canary in every value and as an unknown member of every object, one at a time."""
    for way in places(full(version)):
        for where in ("value", "name", "list"):
            reply: Any = {"root": full(version)}
            part = reply
            path = ("root", *way)
            for key in path[:-1]:
                part = part[key]
            here = part[path[-1]]
            if where == "value":
                part[path[-1]] = CANARY if not isinstance(here, int) else CANARY + "1"
            elif where == "name" and isinstance(here, dict):
                here[CANARY] = {CANARY: [CANARY]}
            elif where == "list" and isinstance(here, list):
                here.append(CANARY)
            else:
                continue
            yield reply["root"]


@pytest.mark.parametrize("version", [13, 14])
def test_no_canary_gets_into_a_hint_a_log_or_an_error(
    bench: Any, bench13: Any, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    from vstore.investigation.judgement import Refusal

    caplog.set_level(logging.DEBUG)
    one = bench if version == 14 else bench13
    tried = 0
    for reply in planted(version):
        found = one.judge(reply)
        if isinstance(found, Refusal):
            tried += 1
            assert CANARY not in json.dumps(hint_value(found.hints)), reply
            assert CANARY not in repr(found)
    assert tried > 50
    assert CANARY not in caplog.text


def test_canaries_everywhere_at_once(bench: Any) -> None:
    def plant(value: Any) -> Any:
        if isinstance(value, dict):
            return {CANARY: CANARY, **{name: plant(one) for name, one in value.items()}}
        if isinstance(value, list):
            return [*(plant(one) for one in value), CANARY]
        return CANARY

    reply = plant(full(14))
    reply["next"]["kind"] = "query"
    refusal = bench.refuse(reply)
    assert CANARY not in json.dumps(hint_value(refusal.hints))
    assert len(refusal.hints) > 10


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.text(min_size=3), st.recursive(st.text(), st.lists, max_leaves=3), max_size=3
    ),
    st.lists(st.sampled_from(sorted(CODES)), max_size=2),
)
def test_no_text_of_a_reply_gets_into_a_hint(extra: dict[str, Any], unused: list[str]) -> None:
    from vstore.investigation.contracts import contract_named
    from vstore.investigation.judgement import Refusal, judge
    from vstore.investigation.normalise import Subject
    from vstore.investigation.references import Past

    marked = {"\x01" + name + "\x01": value for name, value in extra.items()}
    reply = {**full(14), **marked, "update": {**full(14)["update"], "confidence": "\x01sure"}}
    found = judge(
        contract_named("investigation_project_v14"),
        encoded(reply),
        Subject(case_id="C", package_id="P", analysis_revision=1, hypothesis_id="H1"),
        Past(known=9, result="E000001", brief=None, brief_id=None),
    )
    assert isinstance(found, Refusal)
    assert "\\u0001" not in json.dumps(hint_value(found.hints))
