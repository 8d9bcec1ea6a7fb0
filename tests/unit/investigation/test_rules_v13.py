"""What v13 admits and refuses: the repeated members must agree."""

from __future__ import annotations

from typing import Any

import pytest

from vstore.testing.replies import changed, finding, reply_v13

CHANGES = "update.working_brief.changes"


def test_a_v13_reply_is_kept_as_the_model_repeated_it(bench13: Any) -> None:
    bench13.with_past(result="E000002")
    reply = reply_v13(
        [finding(references=["E000002", "E000001"])],
        confidence="strengthened",
        score=70,
        assessed=["E000002"],
        changes=[("B0001", "added")],
    )
    found = bench13.accept(reply)
    update = found.update.document
    assert update.contract == "investigation_project_v13"
    assert update.note == "an administrative note"
    assert update.causal_review.reason == "as the findings say"
    assert update.evidence_refs == ["E000001", "E000002"]
    assert update.assessment.evidence_refs == ["E000002"]
    brief = found.brief.document
    assert [(one.id, one.change, one.reason) for one in brief.changes] == [
        ("B0001", "added", "why B0001 was added")
    ]
    assert (brief.format_version, brief.change_audit, found.audit) == (1, None, None)


@pytest.mark.parametrize(
    "way",
    [
        ("update", "evidence_refs"),
        ("update", "causal_review"),
        ("update", "note"),
        ("update", "causal_review", "effect"),
        ("update", "working_brief", "changes"),
    ],
)
def test_the_repeated_members_are_required(bench13: Any, way: tuple[str, ...]) -> None:
    reply = reply_v13()
    part: Any = reply
    for name in way[:-1]:
        part = part[name]
    del part[way[-1]]
    hint = bench13.refuse(reply).hints[0]
    assert hint.details.field == "".join(f"/{name}" for name in way[:-1])
    assert hint.details.members == [way[-1]]


@pytest.mark.parametrize("way", [("update", "evidence_refs"), ("update", "causal_review")])
def test_at_most_eight_references_in_each_set(bench13: Any, way: tuple[str, ...]) -> None:
    nine = [f"E{number:06d}" for number in range(1, 10)]

    def grow(value: Any) -> None:
        if way[-1] == "causal_review":
            value["update"]["causal_review"]["evidence_refs"] = nine
        else:
            value["update"]["evidence_refs"] = nine

    assert bench13.hints(changed(reply_v13(), grow))[0][2] == "at_most 8 items"


def test_the_update_has_every_reference_of_the_findings(bench13: Any) -> None:
    reply = reply_v13(
        [finding(references=["E000001", "E000002"])],
        changes=[("B0001", "added")],
        references=["E000001"],
    )
    assert bench13.hint(reply) == (
        "INVESTIGATION_REFERENCE_SETS",
        "update.evidence_refs",
        "every_reference_of_the_findings",
        ("E000002",),
    )


def test_so_more_than_eight_in_all_can_not_be_said_under_v13(bench13: Any, bench: Any) -> None:
    nine = [f"E{number:06d}" for number in range(1, 10)]
    findings = [finding("B0001", references=nine[:8]), finding("B0002", references=nine[8:])]
    changes = [("B0001", "added"), ("B0002", "added")]
    assert bench13.hint(reply_v13(findings, changes=changes, references=nine[:8]))[0] == (
        "INVESTIGATION_REFERENCE_SETS"
    )
    assert bench13.hints(reply_v13(findings, changes=changes, references=nine))[0][0] == (
        "INVESTIGATION_REPLY_SCHEMA"
    )


def test_the_review_refers_to_what_the_update_refers_to(bench13: Any) -> None:
    def stray(value: Any) -> None:
        value["update"]["causal_review"]["evidence_refs"] = ["E000005"]

    reply = changed(reply_v13([finding()], changes=[("B0001", "added")]), stray)
    assert bench13.hint(reply) == (
        "INVESTIGATION_REFERENCE_SETS",
        "update.causal_review.evidence_refs",
        "references_of_the_update",
        ("E000005",),
    )


def test_the_assessment_refers_to_the_result(bench13: Any) -> None:
    bench13.with_past(result="E000005")
    assert bench13.hint(reply_v13(score=1, assessed=["E000004"])) == (
        "INVESTIGATION_REFERENCE_SETS",
        "assessment.evidence_refs",
        "the_previous_result",
        ("E000005",),
    )


def test_unknown_evidence_in_any_set(bench13: Any) -> None:
    bench13.with_past(known=2, result="E000001")
    reply = reply_v13(
        [finding(references=["E000008"])],
        changes=[("B0001", "added")],
        score=1,
        assessed=["E000001", "E000009"],
    )
    assert {(one[0], one[1], one[3]) for one in bench13.hints(reply)} == {
        ("INVESTIGATION_BRIEF_REFERENCE", "assessment.evidence_refs", ("E000009",)),
        ("INVESTIGATION_BRIEF_REFERENCE", "update.evidence_refs", ("E000008",)),
        ("INVESTIGATION_BRIEF_REFERENCE", "update.causal_review.evidence_refs", ("E000008",)),
        ("INVESTIGATION_BRIEF_REFERENCE", "update.working_brief.findings", ("E000008",)),
    }


@pytest.mark.parametrize(
    ("after", "changes", "requirement"),
    [
        ([finding(text="other words")], [], "one_entry_for_each_change"),
        ([finding()], [("B0001", "changed")], "ids_of_findings_that_changed"),
        ([finding(text="x")], [("B0001", "added")], "the_change_that_was_made"),
        ([finding(text="x")], [("B0001", "changed")] * 2, "distinct_ids"),
        ([], [], "one_entry_for_each_change"),
        ([finding(), finding("B0002")], [], "one_entry_for_each_change"),
    ],
)
def test_the_change_log_says_what_changed(
    bench13: Any, after: list[Any], changes: list[tuple[str, str]], requirement: str
) -> None:
    bench13.accept(reply_v13([finding()], changes=[("B0001", "added")]))
    code, field, told, _ = bench13.hint(reply_v13(after, changes=changes))
    assert (code, field, told) == ("INVESTIGATION_BRIEF_CHANGES", CHANGES, requirement)


def test_a_right_change_log(bench13: Any) -> None:
    bench13.accept(
        reply_v13([finding(), finding("B0002")], changes=[("B0001", "added"), ("B0002", "added")])
    )
    bench13.accept(
        reply_v13(
            [finding(text="better"), finding("B0003")],
            changes=[("B0001", "changed"), ("B0002", "removed"), ("B0003", "added")],
        )
    )


def test_the_calibration_holds_for_the_stated_effect(bench13: Any) -> None:
    reply = reply_v13(
        [finding()], changes=[("B0001", "added")], confidence="refuted", effect="supports"
    )
    assert bench13.hint(reply)[:2] == ("INVESTIGATION_CONFIDENCE", "update.confidence")
    bench13.accept(
        reply_v13([finding()], changes=[("B0001", "added")], confidence="refuted",
                  effect="contradicts")
    )  # fmt: skip


def test_a_v14_reply_is_none_under_v13(bench13: Any) -> None:
    from vstore.testing.replies import reply_v14

    assert bench13.hints(reply_v14())[0][0] == "INVESTIGATION_REPLY_SCHEMA"
