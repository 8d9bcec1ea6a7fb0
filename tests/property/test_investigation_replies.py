"""Random series of replies: normalisation is a function of reply and history alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.investigation.contracts import contract_named
from vstore.investigation.judgement import Refusal, judge
from vstore.investigation.normalise import Normalised, Subject
from vstore.investigation.references import Past
from vstore.objects.canonical import decode, encode
from vstore.testing.replies import finding, reply_v14

CONTRACT = contract_named("investigation_project_v14")
SUBJECT = Subject(case_id="C", package_id="P", analysis_revision=1, hypothesis_id="H1")
KNOWN = 12
EFFECTS = {
    frozenset(): "neutral",
    frozenset({"for"}): "supports",
    frozenset({"against"}): "contradicts",
    frozenset({"for", "against"}): "mixed",
}

references = st.lists(
    st.integers(1, KNOWN + 1).map("E{:06d}".format), min_size=1, max_size=4, unique=True
)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
findings = st.lists(
    st.builds(
        lambda number, direction, refs, text, scope, reason: finding(
            f"B{number:04d}", direction, refs, text=text, scope=scope, revision_reason=reason
        ),
        st.integers(1, 4),
        st.sampled_from(["for", "against"]),
        references,
        texts,
        st.sampled_from(["here", "there"]),
        st.none() | texts,
    ),
    max_size=4,
    unique_by=lambda one: one["id"],
)


@st.composite
def replies(draw: st.DrawFn) -> dict[str, Any]:
    return reply_v14(
        draw(findings),
        confidence=draw(st.sampled_from(["unchanged", "strengthened", "weakened"])),
        score=draw(st.none() | st.integers(0, 100)),
        retired=[(f"B{one:04d}", "moot") for one in draw(st.sets(st.integers(1, 4)))],
        uncertainties=draw(st.lists(texts, max_size=2)),
        next_question=draw(texts),
    )


def shuffled(value: Any, data: st.DataObject) -> Any:
    """The same value with members in another order."""
    if isinstance(value, dict):
        names = data.draw(st.permutations(list(value)))
        return {name: shuffled(value[name], data) for name in names}
    if isinstance(value, list):
        return [shuffled(one, data) for one in value]
    return value


def run(raw: bytes, past: Past) -> Normalised | Refusal:
    return judge(CONTRACT, raw, SUBJECT, past)


def follow(past: Past, found: Normalised) -> Past:
    return Past(known=KNOWN, result=None, brief=found.brief.document, brief_id=found.brief.id)


@settings(max_examples=30, deadline=None)
@given(st.lists(replies(), min_size=1, max_size=4), st.data())
def test_member_order_and_spacing_change_nothing_but_the_bytes(
    series: list[dict[str, Any]], data: st.DataObject
) -> None:
    past = Past(known=KNOWN, result=None, brief=None, brief_id=None)
    for reply in series:
        raw = json.dumps(reply).encode()
        indent = data.draw(st.sampled_from([None, 1, 4]))
        ascii_only = data.draw(st.booleans())
        other = json.dumps(shuffled(reply, data), indent=indent, ensure_ascii=ascii_only).encode()
        found, again, twice = run(raw, past), run(other, past), run(raw, past)
        assert found == twice
        assert found == again
        if isinstance(found, Normalised):
            past = follow(past, found)


@settings(max_examples=60, deadline=None)
@given(st.lists(replies(), min_size=1, max_size=5))
def test_against_rules_written_down_again(series: list[dict[str, Any]]) -> None:
    against_rules(series)


def against_rules(series: list[dict[str, Any]]) -> None:
    """Acceptance, effect, union and audit, recomputed from plain JSON by other code."""
    past = Past(known=KNOWN, result=None, brief=None, brief_id=None)
    old: dict[str, dict[str, Any]] = {}
    for reply in series:
        brief = reply["update"]["working_brief"]
        new = {one["id"]: one for one in brief["findings"]}
        gone = [name for name in old if name not in new]
        retired = [one["id"] for one in brief["retired"]]
        effect = EFFECTS[frozenset(one["direction"] for one in new.values())]
        fine = reply["assessment"] is None
        fine &= all(int(ref[1:]) <= KNOWN for one in new.values() for ref in one["evidence_refs"])
        fine &= sorted(retired) == sorted(gone)
        for name in new.keys() & old.keys():
            lost = set(old[name]["evidence_refs"]) - set(new[name]["evidence_refs"])
            turned = old[name]["direction"] != new[name]["direction"]
            fine &= bool(new[name]["revision_reason"]) or not (lost or turned)
        allowed = {
            "neutral": {"unchanged"},
            "supports": {"unchanged", "strengthened"},
            "contradicts": {"unchanged", "weakened"},
            "mixed": {"unchanged", "strengthened", "weakened"},
        }
        fine &= reply["update"]["confidence"] in allowed[effect]
        found = run(json.dumps(reply).encode(), past)
        assert isinstance(found, Normalised) == fine
        if not isinstance(found, Normalised):
            continue
        update = found.update.document
        union = {ref for one in new.values() for ref in one["evidence_refs"]}
        union |= {ref for name in gone for ref in old[name]["evidence_refs"]}
        assert update.evidence_refs == sorted(union)
        assert update.causal_review.effect == effect
        assert found.audit is not None
        audit = found.audit.document
        assert set(audit.added) == new.keys() - old.keys()
        assert {one.id for one in audit.removed} == set(gone)
        assert {one.id: set(one.fields) for one in audit.changed} == {
            name: fields
            for name in new.keys() & old.keys()
            if (
                fields := {
                    member
                    for member in ("direction", "text", "scope", "evidence_refs")
                    if (
                        sorted(old[name][member]) != sorted(new[name][member])
                        if member == "evidence_refs"
                        else old[name][member] != new[name][member]
                    )
                }
            )
        }
        for sealed in (found.update, found.brief, found.audit):
            assert decode(encode(sealed.document), type(sealed.document)) == sealed.document
        past, old = follow(past, found), new


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_judged(raw: bytes) -> None:
    past = Past(known=KNOWN, result="E000001", brief=None, brief_id=None)
    found = run(raw, past)
    assert isinstance(found, Refusal)
    assert found.hints


@pytest.mark.deep
@settings(max_examples=2_000, deadline=None)
@given(st.lists(replies(), min_size=1, max_size=6))
def test_against_rules_written_down_again_for_long(series: list[dict[str, Any]]) -> None:
    against_rules(series)
