from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from vstore.errors import InvalidError, LimitExceeded
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest
from vstore.handoff.drafts import (
    draft_digest,
    draft_template,
    read_draft,
    read_object,
    read_request,
)
from vstore.objects.canonical import to_value
from vstore.objects.ids import ObjectId

Pair = tuple[AsyncTestRequest, ObjectId, AsyncTestFeedback]
LATER = "2026-05-05T05:05:05Z"


def read(pair: Pair, value: dict[str, Any]) -> AsyncTestFeedback:
    request, _, feedback = pair
    return read_draft(
        value, request, feedback.attachments, confirmed_by="chris", confirmed_at=LATER
    )


def test_what_the_draft_says_of_its_confirmation_counts_for_nothing(pair: Pair) -> None:
    *_, feedback = pair
    value = to_value(feedback) | {"confirmed_by": "the boss", "confirmed_at": "long ago"}
    assert read(pair, value) == replace(feedback, confirmed_by="chris", confirmed_at=LATER)


def test_identities_sizes_and_types_may_be_left_out(pair: Pair) -> None:
    _, ref, feedback = pair
    log = feedback.attachments[0]
    value = {
        "request": ref,
        "tester_id": "pat",
        "outcome": "completed",
        "environment": to_value(feedback.environment),
        "observations": [
            {"id": "fails", "text": "yes"},
            {"id": "log", "text": "It divides by zero.", "attachments": [log.object]},
            {"id": "seconds", "text": "0.5"},
            {"text": "With one order it works."},
        ],
        "attachments": [{"name": log.name, "object": log.object}],
    }
    assert read(pair, value) == replace(feedback, confirmed_by="chris", confirmed_at=LATER)


@pytest.mark.parametrize(
    "change",
    [
        {"confirmed": True},
        {"notes": "x"},
        {"schema": "async-test-request-v1"},
        {"schema": 7},
        {"attachments": [{"name": "nowhere.log", "object": "b3:" + "0" * 64}]},
        {"attachments": [{"name": ["x"], "object": {}}]},
        {"attachments": [7]},
        {"attachments": "none"},
        {"observations": [7]},
        {"observations": {}},
        {"outcome": "failed"},
        {"executor": "robot"},
        {"tester_id": ""},
        {"request": "b3:1"},
    ],
)
def test_other_members_and_values_are_refused(pair: Pair, change: dict[str, Any]) -> None:
    *_, feedback = pair
    with pytest.raises(InvalidError):
        read(pair, to_value(feedback) | change)


def test_the_template_is_a_draft_once_it_is_filled_in(pair: Pair) -> None:
    request, ref, feedback = pair
    value = draft_template(request, ref, feedback.attachments)
    json.dumps(value)
    with pytest.raises(InvalidError) as caught:
        read(pair, value)
    assert caught.value.details["pointer"] == "$.observations[0].text"
    value["tester_id"] = "pat"
    for one, text in zip(value["observations"], ("no", "nothing", "3"), strict=True):
        one["text"] = text
    value["observations"][1]["attachments"] = [feedback.attachments[0].object]
    answer = read(pair, value)
    assert answer.request == ref
    assert answer.attachments == feedback.attachments
    assert [one.text for one in answer.observations] == ["no", "nothing", "3"]


def test_a_draft_is_known_without_who_and_when(pair: Pair) -> None:
    *_, feedback = pair
    other = replace(feedback, confirmed_by="chris", confirmed_at=LATER)
    assert draft_digest(other) == draft_digest(feedback)
    for change in ({"tester_id": "sam"}, {"remarks": "x"}, {"observations": []}):
        assert draft_digest(replace(feedback, **change)) != draft_digest(feedback)


def test_a_request_takes_what_is_known_where_it_is_left_out(pair: Pair) -> None:
    request, *_ = pair
    value = to_value(request)
    known = {name: value.pop(name) for name in ("case_id", "package_id", "reservation")}
    del value["schema"], value["prerequisites"]
    read_back = read_request(value, known | {"question": "never asked"})
    assert read_back == replace(request, prerequisites=[])
    with pytest.raises(InvalidError):
        read_request(value, {})
    with pytest.raises(InvalidError):
        read_request(value | {"urgent": True}, known)


@pytest.mark.parametrize(
    "deadline", ["2026-12-01T12:00:00", "2026-12-01", "2026-12-01T12:00:00+00:00"]
)
def test_a_deadline_without_its_zone_is_refused(pair: Pair, deadline: str) -> None:
    request, *_ = pair
    with pytest.raises(InvalidError):
        read_request(to_value(request) | {"deadline": deadline}, {})


def test_files_are_json_objects_of_a_limited_size() -> None:
    assert read_object(b' { "a" : [ 1 ] } ', max_bytes=99) == {"a": [1]}
    for bad in (b"[]", b"", b'{"a":1,"a":2}', b'{"a":1.5}', b"\xff"):
        with pytest.raises(InvalidError):
            read_object(bad, max_bytes=99)
    with pytest.raises(LimitExceeded):
        read_object(b"{" + b" " * 99 + b"}", max_bytes=100)
