from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from vstore.errors import InvalidError
from vstore.handoff.documents import (
    AsyncTestFeedback,
    AsyncTestRequest,
    EnvironmentFact,
    Observation,
    RequestedObservation,
)
from vstore.handoff.matching import (
    IDENTITIES,
    Fault,
    feedback_faults,
    is_instant,
    match_faults,
    missing_attachments,
    refuse,
    request_faults,
)
from vstore.objects.ids import ObjectId, object_id

Pair = tuple[AsyncTestRequest, ObjectId, AsyncTestFeedback]
OS = EnvironmentFact(name="os", value="Debian")


def kinds(faults: Any) -> list[tuple[str, str]]:
    return [(one.kind, one.pointer) for one in faults]


def test_good_ones_have_no_faults(pair: Pair) -> None:
    request, ref, feedback = pair
    assert kinds(request_faults(request)) == []
    assert kinds(feedback_faults(feedback)) == []
    assert kinds(match_faults(feedback, request, ref)) == []
    refuse([])


@pytest.mark.parametrize(
    "text",
    ["2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "0000-01-01T00:00:00Z",
     "2026-01-01T23:59:60Z", "2025-02-29T00:00:00Z"],
)  # fmt: skip
def test_an_instant_is_on_a_day_of_the_calendar(pair: Pair, text: str) -> None:
    request, _, feedback = pair
    assert not is_instant(text)
    assert kinds(request_faults(replace(request, deadline=text))) == [("bad_instant", "/deadline")]
    assert kinds(feedback_faults(replace(feedback, confirmed_at=text))) == [
        ("bad_instant", "/confirmed_at")
    ]


@pytest.mark.parametrize("text", ["2024-02-29T23:59:59Z", "9999-12-31T00:00:00Z"])
def test_days_that_exist(text: str) -> None:
    assert is_instant(text)


def test_nothing_is_named_twice(pair: Pair) -> None:
    request, _, feedback = pair
    again = RequestedObservation(id="fails", text="Another?", kind="text")
    request = replace(request, observations=[*request.observations, again], environment=[OS, OS])
    assert kinds(request_faults(request)) == [
        ("repeated", "/observations/3"),
        ("repeated", "/environment/1"),
    ]
    twice = feedback.attachments * 2
    feedback = replace(feedback, environment=[OS, OS], attachments=twice)
    assert kinds(feedback_faults(feedback)) == [
        ("repeated", "/environment/1"),
        ("repeated", "/attachments/1"),
    ]


def test_an_observation_refers_to_listed_attachments_once(pair: Pair) -> None:
    *_, feedback = pair
    log = feedback.attachments[0].object
    observations = [
        Observation(id=None, text="a", attachments=[log, log]),
        Observation(id=None, text="b", attachments=[object_id(b"other")]),
    ]
    assert kinds(feedback_faults(replace(feedback, observations=observations))) == [
        ("repeated", "/observations/0/attachments/1"),
        ("attachments", "/observations/1/attachments"),
    ]


@pytest.mark.parametrize("remarks", [None, "", " \n"])
def test_who_was_unable_to_test_says_why_and_observed_nothing(
    pair: Pair, remarks: str | None
) -> None:
    *_, feedback = pair
    unable = replace(feedback, outcome="unable_to_test", remarks=remarks)
    assert kinds(feedback_faults(unable)) == [
        ("answers", "/observations"),
        ("reason", "/remarks"),
    ]
    good = replace(unable, observations=[], remarks="the machine is gone")
    assert kinds(feedback_faults(good)) == []
    request, ref, _ = pair
    assert kinds(match_faults(good, request, ref)) == []


@pytest.mark.parametrize("name", IDENTITIES)
def test_every_identity_agrees(pair: Pair, name: str) -> None:
    request, ref, feedback = pair
    other: Any = 2 if name == "analysis_revision" else "automated" if name == "executor" else "x"
    wrong = replace(feedback, **{name: other})
    assert kinds(match_faults(wrong, request, ref)) == [("identity_mismatch", f"/{name}")]


def test_the_tester_saw_this_very_request(pair: Pair) -> None:
    request, _, feedback = pair
    assert kinds(match_faults(feedback, request, object_id(b"reworded"))) == [
        ("other_request", "/request")
    ]


def answered(feedback: AsyncTestFeedback, *answers: tuple[str | None, str]) -> AsyncTestFeedback:
    log = [one.object for one in feedback.attachments]
    return replace(
        feedback,
        observations=[
            Observation(id=name, text=text, attachments=log if name == "log" else [])
            for name, text in answers
        ],
    )


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([("fails", "yes"), ("log", "x")], [("answers", "/observations")]),
        (
            [("fails", "yes"), ("fails", "no"), ("log", "x"), ("seconds", "1")],
            [("answers", "/observations/1/id")],
        ),
        (
            [("fails", "yes"), ("log", "x"), ("seconds", "1"), ("else", "x")],
            [("answers", "/observations/3/id")],
        ),
        (
            [("fails", "maybe"), ("log", "x"), ("seconds", "1")],
            [("answer_kind", "/observations/0/text")],
        ),
        (
            [("fails", "no "), ("log", "x"), ("seconds", "soon")],
            [("answer_kind", "/observations/2/text")],
        ),
        ([("seconds", "-1.5e3"), (None, "x"), (None, "x"), ("log", "x"), ("fails", "no")], []),
    ],
)
def test_a_completed_test_answers_each_observation_once(
    pair: Pair, answers: list[tuple[str | None, str]], expected: list[tuple[str, str]]
) -> None:
    request, ref, feedback = pair
    assert kinds(match_faults(answered(feedback, *answers), request, ref)) == expected


def test_an_attachment_that_is_asked_for_is_there(pair: Pair) -> None:
    request, ref, feedback = pair
    bare = replace(
        feedback, observations=[replace(one, attachments=[]) for one in feedback.observations]
    )
    assert kinds(match_faults(bare, request, ref)) == [
        ("answer_kind", "/observations/1/attachments")
    ]


@pytest.mark.parametrize("text", ["0", "12", "-3", "+0.25", "1e9", "6.02E+23"])
def test_numbers(pair: Pair, text: str) -> None:
    request, ref, feedback = pair
    good = answered(feedback, ("fails", "no"), ("log", "x"), ("seconds", text))
    assert kinds(match_faults(good, request, ref)) == []


@pytest.mark.parametrize("text", ["", "1,5", ".5", "1.", "NaN", "0x10", "1 s", "٣", "1_000"])
def test_no_numbers(pair: Pair, text: str) -> None:
    request, ref, feedback = pair
    bad = answered(feedback, ("fails", "no"), ("log", "x"), ("seconds", text))
    assert kinds(match_faults(bad, request, ref)) == [("answer_kind", "/observations/2/text")]


def test_missing_attachments_differ_in_object_name_or_size(pair: Pair) -> None:
    *_, feedback = pair
    log = feedback.attachments[0]
    for stored in (
        [],
        [(object_id(b"x"), log.name, log.size)],
        [(log.object, "other", log.size)],
        [(log.object, log.name, log.size + 1)],
    ):
        assert list(missing_attachments(feedback, stored)) == [(0, log)]
    assert list(missing_attachments(feedback, [(log.object, log.name, log.size)])) == []


def test_a_refusal_names_kind_and_place() -> None:
    with pytest.raises(InvalidError) as caught:
        refuse([Fault("repeated", "/x/1", "twice"), Fault("reason", "/y", "none")])
    assert caught.value.kind == "repeated"
    assert caught.value.details["pointer"] == "/x/1"
