from __future__ import annotations

from msgspec.structs import replace

from vstore.evidence.atoms import atoms
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import SoughtTest, TestFact, TestObservation
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest, Observation
from vstore.handoff.observations import content_of
from vstore.objects.canonical import decode, encode
from vstore.objects.ids import ObjectId, object_id

Pair = tuple[AsyncTestRequest, ObjectId, AsyncTestFeedback]


def test_items_are_what_was_asked_and_what_was_observed(pair: Pair) -> None:
    request, _, feedback = pair
    log = feedback.attachments[0].object
    content = content_of(request, feedback)
    assert content.observations == [
        TestObservation(asked="", observed="With one order it works.", attachments=[]),
        TestObservation(asked="Does it fail?", observed="yes", attachments=[]),
        TestObservation(asked="How long did it take?", observed="0.5", attachments=[]),
        TestObservation(
            asked="What does the log say?", observed="It divides by zero.", attachments=[log]
        ),
    ]
    assert content.tested is not None
    assert content.tested.executor == "human"
    # Sorted by name, whatever the answer's order.
    assert content.tested.environment == [
        TestFact(name="os", value="Debian 12"),
        TestFact(name="release", value="1.0"),
    ]
    assert content.sought is content.scope is content.coverage is content.truncated is None
    check_content(content)
    assert decode(encode(content), type(content)) == content


def test_who_asked_whom_and_when_is_outside(pair: Pair) -> None:
    request, _, feedback = pair
    other = content_of(
        replace(
            request,
            request_id="r2",
            action_id="a2",
            hypothesis_id="H2",
            deadline="2030-01-01T00:00:00Z",
            analysis_revision=3,
        ),
        replace(
            feedback,
            request_id="r2",
            request=object_id(b""),
            action_id="a2",
            hypothesis_id="H2",
            analysis_revision=3,
            tester_id="sam",
            remarks="nice weather",
            confirmed_by="sam",
            confirmed_at="2030-01-01T00:00:00Z",
            environment=feedback.environment[::-1],
            observations=feedback.observations[::-1],
        ),
    )
    assert other == content_of(request, feedback)


def test_repeated_additional_observations_are_one_item(pair: Pair) -> None:
    request, _, feedback = pair
    more = Observation(id=None, text="With one order it works.", attachments=[])
    twice = replace(feedback, observations=[*feedback.observations, more])
    assert content_of(request, twice) == content_of(request, feedback)


def test_another_environment_makes_every_atom_new(pair: Pair) -> None:
    request, _, feedback = pair
    here = atoms(content_of(request, feedback))
    there = atoms(content_of(request, replace(feedback, environment=feedback.environment[:1])))
    assert len({*here, *there}) == 8


def test_unable_to_test_has_no_items_and_says_what_was_asked(pair: Pair) -> None:
    request, _, feedback = pair
    unable = replace(feedback, outcome="unable_to_test", observations=[], remarks="no machine")
    content = content_of(request, unable)
    assert content.observations == []
    assert atoms(content) == []
    assert content.sought == SoughtTest(
        question="Does the application fail without orders?",
        steps=["Delete all orders.", "Open the page of totals."],
        observations=["Does it fail?", "How long did it take?", "What does the log say?"],
    )
    check_content(content)
    # Its remarks stay in the answer: other reasons, the same content.
    assert content_of(request, replace(unable, remarks="no time")) == content
    # Another question is another content.
    assert content_of(replace(request, question="Why?"), unable) != content
