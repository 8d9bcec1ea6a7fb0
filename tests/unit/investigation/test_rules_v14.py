"""What v14 admits and refuses beyond its schema, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from vstore.testing.replies import changed, finding, reply_v14

FINDINGS = "update.working_brief.findings"
RETIRED = "update.working_brief.retired"


# --- assessment -----------------------------------------------------------------------------


def test_an_assessment_needs_a_previous_result(bench: Any) -> None:
    assert bench.hint(reply_v14(score=50)) == (
        "INVESTIGATION_ASSESSMENT", "assessment", "null_without_a_result", (),
    )  # fmt: skip
    bench.accept(reply_v14())


def test_a_previous_result_needs_an_assessment(bench: Any) -> None:
    bench.with_past(result="E000007")
    assert bench.hint(reply_v14()) == (
        "INVESTIGATION_ASSESSMENT",
        "assessment",
        "assessment_of_the_previous_result",
        ("E000007",),
    )
    found = bench.accept(reply_v14(score=0)).update.document
    assert found.assessment.result == "E000007"
    assert found.assessment.evidence_refs == ["E000007"]


@pytest.mark.parametrize("score", [0, 50, 100])
@pytest.mark.parametrize("direction", ["for", "against"])
def test_information_value_and_direction_never_constrain_each_other(
    bench: Any, score: int, direction: str
) -> None:
    bench.with_past(result="E000001")
    confidence = "confirmed" if direction == "for" else "refuted"
    bench.accept(reply_v14([finding(direction=direction)], confidence=confidence, score=score))


# --- references -----------------------------------------------------------------------------


def test_unknown_evidence_is_refused_as_the_specification_shows_it(bench: Any) -> None:
    bench.with_past(known=3)
    reply = reply_v14([finding(references=["E000003", "E999999"])])
    assert bench.hint(reply) == (
        "INVESTIGATION_BRIEF_REFERENCE", FINDINGS, "known_evidence_ids", ("E999999",),
    )  # fmt: skip
    bench.accept(reply_v14([finding(references=["E000003"])]))


def test_evidence_of_another_case_is_unknown_evidence(bench: Any) -> None:
    # Ids are a case's own: what another case calls E000009, this one with 8 records lacks.
    bench.with_past(known=8)
    assert bench.hint(reply_v14([finding(references=["E000009"])]))[3] == ("E000009",)
    assert bench.hint(reply_v14([finding(references=["E000000"])]))[3] == ("E000000",)


def test_a_reference_twice_in_a_finding_is_refused(bench: Any) -> None:
    assert bench.hint(reply_v14([finding(references=["E000001", "E000002", "E000001"])])) == (
        "INVESTIGATION_BRIEF_REFERENCE",
        FINDINGS,
        "distinct_evidence_ids_in_a_finding",
        ("E000001",),
    )
    # In two findings it may well stand.
    bench.accept(reply_v14([finding("B0001"), finding("B0002")]))


def refs(first: int, count: int) -> list[str]:
    return [f"E{number:06d}" for number in range(first, first + count)]


def test_nine_references_in_a_finding_are_refused(bench: Any) -> None:
    assert bench.hint(reply_v14([finding(references=refs(1, 9))])) == (
        "INVESTIGATION_REPLY_SCHEMA",
        "/update/working_brief/findings/0/evidence_refs",
        "at_most 8 items",
        (),
    )


def test_no_reference_in_a_finding_is_refused(bench: Any) -> None:
    assert bench.hint(reply_v14([finding(references=[])]))[2] == "at_least 1 items"


def test_eight_findings_with_eight_references_each_are_accepted(bench: Any) -> None:
    many = [finding(f"B{one:04d}", references=refs(1 + 8 * one, 8)) for one in range(8)]
    found = bench.accept(reply_v14(many, confidence="strengthened")).update.document
    assert found.evidence_refs == refs(1, 64)
    assert found.causal_review.evidence_refs == refs(1, 64)


def sixteen() -> list[dict[str, Any]]:
    return [finding(f"B{one:04d}", references=refs(1 + 8 * one, 8)) for one in range(16)]


def test_128_in_the_union_are_accepted_and_129_refused(bench: Any) -> None:
    assert len(bench.judge(reply_v14(sixteen())).update.document.evidence_refs) == 128
    many = [*sixteen(), finding("B0099", references=["E000129"])]
    assert bench.hint(reply_v14(many)) == (
        "INVESTIGATION_BRIEF_REFERENCE",
        FINDINGS,
        "at_most 128 distinct evidence ids in all",
        (),
    )


def test_the_assessed_result_counts_in_the_union(bench: Any) -> None:
    bench.with_past(result="E000129")
    assert bench.hint(reply_v14(sixteen(), score=1))[2].startswith("at_most 128")
    bench.with_past(result="E000128")
    assert len(bench.accept(reply_v14(sixteen(), score=1)).update.document.evidence_refs) == 128


def test_references_of_retired_findings_count_in_the_union(bench: Any) -> None:
    bench.accept(reply_v14([*sixteen()[:15], finding("B0099", references=["E000200"])]))
    assert bench.hint(reply_v14(sixteen(), retired=[("B0099", "moot")]))[2].startswith("at_most")
    # Without the old evidence there is room for 128.
    kept = [*sixteen()[:15], finding("B0099", references=["E000200"]), sixteen()[15]]
    kept[-1]["evidence_refs"] = refs(121, 7)
    bench.accept(reply_v14(kept))


# --- findings -------------------------------------------------------------------------------


def test_two_findings_with_one_id_are_refused(bench: Any) -> None:
    assert bench.hint(reply_v14([finding("B0001"), finding("B0001", text="other")])) == (
        "INVESTIGATION_BRIEF_FINDING", FINDINGS, "distinct_ids", ("B0001",),
    )  # fmt: skip


def test_a_changed_direction_needs_a_revision_reason(bench: Any) -> None:
    bench.accept(reply_v14([finding()]))
    turned = finding(direction="against")
    assert bench.hint(reply_v14([turned])) == (
        "INVESTIGATION_BRIEF_REVISION",
        FINDINGS,
        "revision_reason_for_a_changed_direction_or_removed_references",
        ("B0001",),
    )
    bench.accept(reply_v14([turned | {"revision_reason": "the log says otherwise"}]))


def test_null_is_no_revision_reason(bench: Any) -> None:
    bench.accept(reply_v14([finding()]))
    turned = finding(direction="against", revision_reason=None)
    assert bench.hint(reply_v14([turned]))[0] == "INVESTIGATION_BRIEF_REVISION"


def test_a_removed_reference_needs_a_revision_reason(bench: Any) -> None:
    bench.accept(reply_v14([finding(references=["E000001", "E000002"])]))
    less = finding(references=["E000002", "E000003"])
    assert bench.hint(reply_v14([less]))[0] == "INVESTIGATION_BRIEF_REVISION"
    bench.accept(reply_v14([less | {"revision_reason": "E000001 is about another release"}]))


@pytest.mark.parametrize(
    "after",
    [
        [finding(text="said better"), finding("B0002")],
        [finding(scope="only there"), finding("B0002")],
        [finding("B0002"), finding("B0001")],
        [finding(references=["E000001", "E000009"]), finding("B0002")],
        [finding(), finding("B0002"), finding("B0003")],
    ],
    ids=["text", "scope", "order", "more references", "a new finding"],
)
def test_refinements_need_no_reason(bench: Any, after: list[dict[str, Any]]) -> None:
    bench.accept(reply_v14([finding(), finding("B0002")]))
    bench.accept(reply_v14(after))


def test_another_order_of_references_is_no_change(bench: Any) -> None:
    for references in (["E000001", "E000002"], ["E000002", "E000001"], ["E000001", "E000002"]):
        found = bench.accept(reply_v14([finding(references=references)]))
        assert found.audit.document.changed == []


# --- retired --------------------------------------------------------------------------------


def test_a_finding_that_is_gone_needs_one_retired_entry(bench: Any) -> None:
    bench.accept(reply_v14([finding(), finding("B0002")]))
    assert bench.hint(reply_v14([finding()])) == (
        "INVESTIGATION_BRIEF_RETIRED",
        RETIRED,
        "one_entry_for_each_finding_that_is_gone",
        ("B0002",),
    )
    bench.accept(reply_v14([finding()], retired=[("B0002", "it was about another table")]))


def test_two_retired_entries_for_one_finding_are_refused(bench: Any) -> None:
    bench.accept(reply_v14([finding()]))
    assert bench.hint(reply_v14(retired=[("B0001", "a"), ("B0001", "b")])) == (
        "INVESTIGATION_BRIEF_RETIRED", RETIRED, "distinct_ids", ("B0001",),
    )  # fmt: skip


def test_a_retired_entry_for_no_finding_of_the_last_brief_is_refused(bench: Any) -> None:
    expected = ("INVESTIGATION_BRIEF_RETIRED", RETIRED, "ids_of_the_last_brief", ("B0007",))
    assert bench.hint(reply_v14(retired=[("B0007", "never there")])) == expected
    bench.accept(reply_v14([finding()]))
    reply = reply_v14([finding(), finding("B0007")], retired=[("B0007", "new and gone")])
    assert bench.hint(reply) == expected


def test_a_retired_entry_for_a_finding_that_stays_is_refused(bench: Any) -> None:
    bench.accept(reply_v14([finding()]))
    assert bench.hint(reply_v14([finding()], retired=[("B0001", "still here")])) == (
        "INVESTIGATION_BRIEF_RETIRED",
        RETIRED,
        "ids_that_are_no_finding_any_more",
        ("B0001",),
    )


# --- calibration ----------------------------------------------------------------------------

DIRECTIONS = {
    "supports": ["for"],
    "contradicts": ["against"],
    "mixed": ["for", "against"],
    "neutral": [],
}
#: As the specification says it.
ADMITTED = {
    "supports": {"strengthened", "confirmed", "unchanged"},
    "contradicts": {"weakened", "refuted", "unchanged"},
    "mixed": {"strengthened", "weakened", "unchanged"},
    "neutral": {"unchanged"},
}


@pytest.mark.parametrize("effect", DIRECTIONS)
@pytest.mark.parametrize(
    "confidence", ["strengthened", "weakened", "confirmed", "refuted", "unchanged"]
)
def test_the_calibration(bench: Any, effect: str, confidence: str) -> None:
    findings = [
        finding(f"B{number:04d}", direction)
        for number, direction in enumerate(DIRECTIONS[effect], 1)
    ]
    reply = reply_v14(findings, confidence=confidence)
    if confidence in ADMITTED[effect]:
        update = bench.accept(reply).update.document
        assert (update.causal_review.effect, update.confidence) == (effect, confidence)
    else:
        code, field, requirement, ids = bench.hint(reply)
        assert (code, field, ids) == ("INVESTIGATION_CONFIDENCE", "update.confidence", ())
        assert requirement.endswith(f"where the findings are {effect}")
        for one in ADMITTED[effect]:
            assert one in requirement


# --- the next move --------------------------------------------------------------------------


def query(operation: str = "source.read", **arguments: Any) -> dict[str, Any]:
    return {"kind": "query", "operation": operation, "arguments": arguments, "reason": "to see"}


def test_arguments_must_be_those_of_the_operation(bench: Any) -> None:
    for move in (
        query(source="app"),
        query(source="app", path="a.py", pattern="x"),
        query(source="app", path="a.py", start=0),
        query(operation="database.rows", source="app", path="a.py"),
        changed(
            query(source="app", path="a.py"),
            lambda move: move["arguments"].update(operation="source.read"),
        ),
    ):
        assert bench.hint(reply_v14(next=move)) == (
            "INVESTIGATION_NEXT_ARGUMENTS",
            "next.arguments",
            f"arguments_of {move['operation']}",
            (),
        )


def test_arguments_are_stored_with_their_defaults(bench: Any) -> None:
    from vstore.tools.request import SourceRead

    move = bench.accept(reply_v14(next=query(source="app", path="a.py"))).update.document.next
    assert move.arguments == SourceRead(source="app", path="a.py", start=1, end=None)
    assert move.reason == "to see"


def test_a_test_is_for_people(bench: Any) -> None:
    test = {
        "kind": "test", "question": "Which?", "steps": ["Open it."],
        "observations": ["What is shown?"], "reason": "no tool can see it",
    }  # fmt: skip
    assert bench.accept(reply_v14(next=test)).update.document.next.question == "Which?"


# --- all errors at once ---------------------------------------------------------------------


def test_all_errors_are_told_at_once_ordered_by_path(bench: Any) -> None:
    bench.with_past(known=9, result="E000005")
    bench.accept(reply_v14([finding(), finding("B0002")], score=1))
    reply = reply_v14(
        [
            finding(direction="against"),
            finding("B0003", references=["E000077"]),
            finding("B0003", text=""),
        ],
        confidence="certain",
        next=query(source="app"),
    )
    del reply["update"]["working_brief"]["uncertainties"]
    assert [(one[0], one[1]) for one in bench.hints(reply)] == [
        ("INVESTIGATION_ASSESSMENT", "assessment"),
        ("INVESTIGATION_NEXT_ARGUMENTS", "next.arguments"),
        ("INVESTIGATION_REPLY_SCHEMA", "/update/confidence"),
        ("INVESTIGATION_REPLY_SCHEMA", "/update/working_brief"),
        ("INVESTIGATION_BRIEF_REFERENCE", FINDINGS),
        ("INVESTIGATION_BRIEF_REVISION", FINDINGS),
        ("INVESTIGATION_REPLY_SCHEMA", "/update/working_brief/findings/2/text"),
    ]


def test_positions_are_ordered_as_numbers(bench: Any) -> None:
    many = [finding(f"B{one:04d}") for one in range(12)]
    many[2] = many[2] | {"text": ""}
    many[10] = many[10] | {"text": ""}
    assert [one[1] for one in bench.hints(reply_v14(many))] == [
        "/update/working_brief/findings/2/text",
        "/update/working_brief/findings/10/text",
    ]


def test_what_cant_be_read_makes_no_further_errors(bench: Any) -> None:
    """A finding that fails the schema may be the one that seems to be gone."""
    bench.accept(reply_v14([finding(), finding("B0002")]))
    broken = changed(
        reply_v14([finding(), finding("B0002")], confidence="refuted"),
        lambda value: value["update"]["working_brief"]["findings"][1].pop("scope"),
    )
    assert [one[0] for one in bench.hints(broken)] == ["INVESTIGATION_REPLY_SCHEMA"]
