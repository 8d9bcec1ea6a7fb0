"""Schemas, their provider-safe form, and errors in the right place."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.errors import InvalidError, UnsupportedError
from vstore.investigation.contracts import contract_named, known_members, published_schemas
from vstore.investigation.schema_check import schema_problems
from vstore.testing.replies import finding, reply_v13, reply_v14

V13 = contract_named("investigation_project_v13")
V14 = contract_named("investigation_project_v14")

SEED = """{
  "assessment": {
    "semantic_score": 90,
    "reason": "Das neue Ergebnis liefert einen konkret eingegrenzten Gegenbeleg."
  },
  "update": {
    "confidence": "weakened",
    "resolve_questions": [],
    "add_questions": [],
    "working_brief": {
      "format_version": 2,
      "findings": [
        {
          "id": "B0001",
          "direction": "against",
          "text": "Der als fehlend vermutete Callback ist im untersuchten Source vorhanden.",
          "scope": "Commit A, keine Aussage über tatsächliche Ausführung im Deployment.",
          "evidence_refs": ["E000001"]
        }
      ],
      "uncertainties": ["Welcher Stand war beim ursprünglichen Recording ausgeliefert?"],
      "next_question": "Deploymentabweichung prüfen oder diesen Mechanismus verwerfen?",
      "retired": []
    }
  },
  "next": {"kind": "finish", "reason": "Der konkrete Mechanismus ist nicht hinreichend belegt."}
}"""


def problems(value: Any, contract: Any = V14) -> list[tuple[str, str, tuple[str, ...]]]:
    found = [
        ("".join(f"/{part}" for part in one.path), one.requirement, one.members)
        for one in schema_problems(contract.schema, value)
    ]
    return sorted(found)


def test_the_specifications_example_is_a_v14_reply(bench: Any) -> None:
    assert problems(json.loads(SEED)) == []
    bench.with_past(result="E000001")
    update = bench.accept(SEED.encode()).update.document
    assert update.causal_review.effect == "contradicts"
    assert update.note == "Deploymentabweichung prüfen oder diesen Mechanismus verwerfen?"


def test_a_released_contract_never_changes() -> None:
    """A change is a new contract: these ids are frozen with every stored step."""
    assert V14.schema_id == ("b3:c06e0179da7a2e84a7c44899ba510282b907555f6c1e3c6bbbc4f289a8e7c29d")
    assert V13.schema_id == ("b3:bf1a6ed488ff1ac2016f296ba4ce6226702aeace3c7477a9a6c7cf94fe527d5f")


def test_an_unknown_contract() -> None:
    with pytest.raises(UnsupportedError) as caught:
        contract_named("investigation_project_v15")
    assert caught.value.kind == "unsupported_contract"
    assert "v15" not in str(caught.value)


@pytest.mark.parametrize("name", ["evidence_refs", "causal_review", "note"])
def test_v14_refuses_what_v13_repeats(name: str) -> None:
    value = reply_v14([finding()])
    value["update"][name] = reply_v13([finding()])["update"][name]
    assert problems(value) == [("/update", "no_other_members", (name,))]


def test_v14_refuses_references_of_the_assessment() -> None:
    value = reply_v14(score=1)
    value["assessment"]["evidence_refs"] = []
    assert problems(value) == [("/assessment", "no_other_members", ("evidence_refs",))]


def test_a_v13_change_log_is_none_of_v14() -> None:
    value = reply_v14()
    value["update"]["working_brief"]["changes"] = []
    assert problems(value) == [("/update/working_brief", "no_other_members", ("changes",))]


def test_a_missing_member_is_told_by_its_place_and_name() -> None:
    value = reply_v14()
    del value["update"]["working_brief"]["retired"]
    assert problems(value) == [("/update/working_brief", "required_members", ("retired",))]


def test_all_missing_members_are_told() -> None:
    assert problems({}) == [("", "required_members", ("assessment", "update", "next"))]


# --- next -----------------------------------------------------------------------------------


def with_next(move: Any) -> dict[str, Any]:
    return reply_v14(next=move)


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        ({"kind": "finish"}, [("/next", "required_members", ("reason",))]),
        (
            {"kind": "query", "reason": "r"},
            [("/next", "required_members", ("operation", "arguments"))],
        ),
        (
            {"kind": "query", "operation": "shell.run", "arguments": [], "reason": ""},
            [
                ("/next/arguments", "type_object", ()),
                (
                    "/next/operation",
                    (
                        "one_of database.rows, database.schema, source.list, source.read, "
                        "source.search"
                    ),
                    (),
                ),
                ("/next/reason", "at_least 1 characters", ()),
            ],
        ),
        (
            {"kind": "test", "question": "q", "steps": [], "observations": ["o"], "reason": "r"},
            [("/next/steps", "at_least 1 items", ())],
        ),
        (
            {"kind": "finish", "reason": "r", "steps": ["of a test"]},
            [("/next", "no_other_members", ("steps",))],
        ),
        ({"kind": "wait"}, [("/next/kind", "one_of finish, query, test", ())]),
        ({"kind": ["query"]}, [("/next/kind", "one_of finish, query, test", ())]),
        ({"reason": "r"}, [("/next", "required_members", ("kind",))]),
        ("finish", [("/next", "type_object", ())]),
        (None, [("/next", "type_object", ())]),
    ],
)
def test_errors_of_next_are_located_in_the_alternative_that_it_names(
    move: Any, expected: list[Any]
) -> None:
    assert problems(with_next(move)) == expected


# --- bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "value", "requirement"),
    [
        ("assessment/semantic_score", 101, "at_most 100"),
        ("assessment/semantic_score", -1, "at_least 0"),
        ("assessment/semantic_score", True, "type_integer"),
        ("assessment/semantic_score", "90", "type_integer"),
        ("assessment/reason", "", "at_least 1 characters"),
        ("assessment/reason", "x" * 2001, "at_most 2000 characters"),
        ("assessment", [], "type_object"),
        ("update/confidence", "sure", None),
        ("update/working_brief/format_version", 1, "exactly 2"),
        ("update/working_brief/findings/0/id", "B1", "pattern ^B[0-9]{4}$"),
        ("update/working_brief/findings/0/id", "B0001\n", "pattern ^B[0-9]{4}$"),
        ("update/working_brief/findings/0/direction", "neutral", "one_of against, for"),
        ("update/working_brief/findings/0/evidence_refs/0", "E1", None),
        ("update/working_brief/findings/0/evidence_refs/0", None, "type_string"),
        ("update/add_questions", ["q"] * 21, "at_most 20 items"),
        ("update/add_questions/0", "", "at_least 1 characters"),
        ("update/working_brief/next_question", "", "at_least 1 characters"),
        ("update/working_brief/retired/0/reason", "", "at_least 1 characters"),
    ],
)
def test_every_bound_is_enforced(way: str, value: Any, requirement: str | None) -> None:
    reply = reply_v14([finding()], score=1, add_questions=["q"], retired=[("B0002", "r")])
    part: Any = reply
    *path, last = way.split("/")
    for name in path:
        part = part[int(name) if isinstance(part, list) else name]
    part[int(last) if isinstance(part, list) else last] = value
    found = problems(reply)
    assert len(found) == 1
    assert found[0][0] == "/" + way
    if requirement is not None:
        assert found[0][1] == requirement


def test_a_list_that_is_too_long_is_not_looked_into() -> None:
    reply = reply_v14([{"id": "B0001"}] * 5000)
    assert problems(reply) == [("/update/working_brief/findings", "at_most 100 items", ())]


def test_a_schema_of_another_kind_is_refused() -> None:
    for schema in ({"type": "object", "patternProperties": {}}, {"type": "thing"}, [], {"x": 1},
                   {"type": "string", "pattern": "("}):  # fmt: skip
        with pytest.raises(InvalidError) as caught:
            list(schema_problems(schema, "x"))
        assert caught.value.kind == "bad_schema"


# --- the same as the standard, and as the Struct --------------------------------------------

texts = st.sampled_from(["", "x", "B0001", "E000001", "for", "query", "x\n", "é" * 2001])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 102) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            found += places(one, (*path, key))
    return found


@settings(max_examples=70, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("contract", [V13, V14], ids=["v13", "v14"])
def test_the_standard_the_struct_and_the_check_agree(contract: Any, data: st.DataObject) -> None:
    if contract is V14:
        base = reply_v14([finding(), finding("B0002", revision_reason="r")], score=5)
    else:
        base = reply_v13([finding()], score=5, assessed=["E000001"], changes=[("B0001", "added")])
    base["next"] = data.draw(
        st.sampled_from(
            [
                {"kind": "finish", "reason": "r"},
                {"kind": "query", "operation": "source.list", "arguments": {}, "reason": "r"},
                {"kind": "test", "question": "q", "steps": ["s"], "observations": ["o"],
                 "reason": "r"},
            ]
        )
    )  # fmt: skip
    value: Any = copy.deepcopy(base)
    for _ in range(data.draw(st.integers(0, 2))):
        *path, last = data.draw(st.sampled_from(places(value)[1:]))
        part = value
        for key in path:
            part = part[key]
        change = data.draw(st.sampled_from(["drop", "replace", "add"]))
        if change == "drop":
            del part[last]
        elif change == "add" and isinstance(part, dict):
            part[data.draw(texts)] = data.draw(values)
        else:
            part[last] = data.draw(values)
        if not isinstance(value, dict) or not value:
            break
    ours = not problems(value, contract)
    try:
        msgspec.convert(value, contract.reply)
        typed = True
    except msgspec.ValidationError:
        typed = False
    assert ours == typed
    if "\\n" not in json.dumps(value):
        assert jsonschema.Draft202012Validator(contract.schema).is_valid(value) == ours


# --- published ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(published_schemas()))
def test_published_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(published_schemas()[name])


def keywords(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {word for one in schema for word in keywords(one)}
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, value in schema.items():
        if key == "properties":
            found |= {word for one in value.values() for word in keywords(one)}
        else:
            found |= keywords(value)
    return found


@pytest.mark.parametrize("contract", [V13, V14], ids=["v13", "v14"])
def test_the_provider_safe_schema_has_no_bounds(contract: Any) -> None:
    safe = contract.provider_schema
    assert keywords(safe) <= {
        "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum",
    }  # fmt: skip
    # It is laxer, never stricter, but that optional members are null instead of absent.
    value = reply_v14([finding(revision_reason=None)]) if contract is V14 else reply_v13()
    jsonschema.Draft202012Validator(safe).validate(value)
    assert problems(value, contract) == []
    if contract is V14:
        too_long = reply_v14([finding(text="", revision_reason=None)])
        jsonschema.Draft202012Validator(safe).validate(too_long)
        assert problems(too_long) != []


def test_the_members_that_hints_may_name() -> None:
    assert {"causal_review", "retired", "changes", "operation"} <= known_members()
    assert not {"type", "properties", "const"} & (known_members() - {"type"})


def test_the_published_files_are_the_schemas() -> None:
    import vstore_schemas

    folder = Path(vstore_schemas.__file__).parent / "v1"
    for name, schema in published_schemas().items():
        path = folder / (name.replace("_", "-") + ".schema.json")
        assert json.loads(path.read_text(encoding="utf-8")) == schema


def test_problems_themselves_hold_no_unknown_name_and_no_value() -> None:
    canary = "CANARY3c8d"
    value = {canary: canary, "assessment": {canary: canary}, "update": canary,
             "next": {"kind": canary, canary: canary}}  # fmt: skip
    found = list(schema_problems(V14.schema, value))
    assert len(found) > 4
    assert canary not in repr(found)
