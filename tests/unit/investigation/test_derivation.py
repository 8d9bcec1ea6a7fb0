"""What is derived, with values worked out by hand."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from vstore.investigation.derivation import (
    confidence_after,
    questions_after,
    review_effect,
    review_reason,
)
from vstore.testing.replies import finding, reply_v14


class Said:
    def __init__(self, text: str, direction: Any = "for") -> None:
        self.text = text
        self.direction = direction


@pytest.mark.parametrize(
    ("directions", "effect"),
    [
        ([], "neutral"),
        (["for"], "supports"),
        (["for", "for"], "supports"),
        (["against"], "contradicts"),
        (["for", "against"], "mixed"),
        (["against", "for", "for"], "mixed"),
    ],
)
def test_the_review_effect(directions: list[str], effect: str) -> None:
    assert review_effect([Said("x", one) for one in directions]) == effect


def test_the_reason_joins_the_texts_in_their_order() -> None:
    assert review_reason([Said("one"), Said("two")]) == "one | two"
    assert review_reason([Said("one")]) == "one"
    assert review_reason([]) == ""


def test_a_reason_that_is_too_long_is_cut_with_a_mark() -> None:
    assert review_reason([Said("ä" * 600)]) == "ä" * 600
    cut = review_reason([Said("ä" * 400), Said("b" * 300)])
    assert cut == "ä" * 400 + " | " + "b" * 191 + " [...]"
    assert len(cut) == 600


def test_the_full_texts_stay(bench: Any) -> None:
    long = "x" * 4000
    found = bench.accept(reply_v14([finding(text=long)]))
    assert found.update.document.causal_review.reason.endswith(" [...]")
    assert found.brief.document.findings[0].text == long


def test_the_note_is_the_next_question(bench: Any) -> None:
    found = bench.accept(reply_v14(next_question="which release?"))
    assert found.update.document.note == "which release?"
    assert found.brief.document.next_question == "which release?"


def test_the_union_is_sorted_by_number(bench: Any) -> None:
    bench.with_past(known=2_000_000, result="E000004")
    found = bench.accept(
        reply_v14(
            [
                finding("B0001", references=["E1000000", "E000009"]),
                finding("B0002", references=["E000009", "E000002"]),
            ],
            score=1,
        )
    ).update.document
    expected = ["E000002", "E000004", "E000009", "E1000000"]
    assert found.evidence_refs == expected
    assert found.causal_review.evidence_refs == expected
    assert found.assessment.evidence_refs == ["E000004"]


def test_references_of_retired_findings_stay_in_the_update(bench: Any) -> None:
    bench.accept(reply_v14([finding(references=["E000003", "E000004"]), finding("B0002")]))
    found = bench.accept(reply_v14([finding("B0002")], retired=[("B0001", "moot")]))
    assert found.update.document.evidence_refs == ["E000001", "E000003", "E000004"]
    assert found.update.document.causal_review.effect == "supports"
    # Once it is gone, it is gone.
    assert bench.accept(reply_v14([finding("B0002")])).update.document.evidence_refs == ["E000001"]


def test_no_reference_is_made_up(bench: Any) -> None:
    assert bench.accept(reply_v14()).update.document.evidence_refs == []
    assert bench.judge(reply_v14()).update.document.assessment is None


def test_the_confidence_of_a_hypothesis_is_open_or_the_last_but_unchanged() -> None:
    words = ["strengthened", "weakened", "confirmed", "refuted", "unchanged"]
    for sequence in itertools.product(words, repeat=3):
        confidence = "open"
        for one in sequence:
            confidence = confidence_after(confidence, one)  # type: ignore[arg-type]
        others = [one for one in sequence if one != "unchanged"]
        assert confidence == (others[-1] if others else "open")


def test_open_questions_after_an_update() -> None:
    assert questions_after(["a", "b"], ["a"], ["c"]) == ["b", "c"]
    assert questions_after(["a"], ["never asked"], []) == ["a"]
    assert questions_after(["a"], [], ["a", "b", "b"]) == ["a", "b"]
    # What is resolved and asked anew is open.
    assert questions_after(["a"], ["a"], ["a"]) == ["a"]
