"""A draft holds anything; what is missing is told field by field; no fault means no refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from vstore.errors import InvalidError, LimitExceeded, VStoreError
from vstore.handoff.documents import AsyncTestRequest, EnvironmentFact, RequestedObservation
from vstore.handoff.drafts import read_draft
from vstore.handoff.matching import feedback_faults, match_faults
from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId, object_id
from vstore.web.draft_content import Answer, DraftContent, FieldFault

REQUEST = AsyncTestRequest(
    request_id="test-1",
    case_id="CASE-1",
    package_id="PACKAGE-1",
    analysis_revision=1,
    hypothesis_id="H1",
    action_id="t1",
    executor="human",
    question="Does it fail?",
    prerequisites=[],
    steps=["Try."],
    observations=[
        RequestedObservation(id="fails", text="Does it?", kind="yes_no"),
        RequestedObservation(id="log", text="The log?", kind="attachment"),
        RequestedObservation(id="seconds", text="How long?", kind="number"),
        RequestedObservation(id="what", text="What do you see?", kind="text"),
    ],
    environment=[EnvironmentFact(name="release", value="1.0")],
    deadline="2026-01-03T12:00:00Z",
    reservation=object_id(b"entry"),
)
REF = object_id(encode(REQUEST))


@dataclass(frozen=True)
class File:
    name: str
    size: int
    object: ObjectId
    media_type: str = "text/plain"


FILES = {
    "u1": File("app.log", 3, object_id(b"one")),
    "u2": File("app.log", 3, object_id(b"two")),
    "u3": File("copy.log", 3, object_id(b"one")),
    "u4": File("app.log", 3, object_id(b"one")),  # the very same again
}
GOOD = DraftContent(
    environment=(("release", "1.0"),),
    answers={
        "fails": Answer(text=" yes\n"),
        "log": Answer(uploads=("u1", "u2")),
        "seconds": Answer(text="1.5e3"),
        "what": Answer(text="An error.\r\nThen nothing."),
    },
)


def accepted(content: DraftContent) -> Any:
    """The answer, held against the very rules that the coordinator and the verifier ask."""
    value = content.to_feedback_value(REQUEST, REF, FILES, "pat")
    feedback = read_draft(
        value, REQUEST, (), confirmed_by="pat", confirmed_at="2026-01-01T00:00:00Z"
    )
    refused = [*match_faults(feedback, REQUEST, REF), *feedback_faults(feedback)]
    assert refused == []
    return feedback


def test_the_answer_of_a_complete_draft() -> None:
    assert GOOD.faults(REQUEST, FILES) == []
    feedback = accepted(replace(GOOD, uploads=("u3",), additional=(Answer(text="Slow."),)))
    assert [(one.id, one.text) for one in feedback.observations] == [
        ("fails", "yes"),
        ("log", "app.log"),  # a file says what it says; its name is all the text there is
        ("seconds", "1.5e3"),
        ("what", "An error.\r\nThen nothing."),
        (None, "Slow."),
    ]
    assert feedback.observations[1].attachments == [object_id(b"one"), object_id(b"two")]
    # First those of the answer as a whole, then by observation.
    assert [(one.name, one.object) for one in feedback.attachments] == [
        ("copy.log", object_id(b"one")),
        ("app.log", object_id(b"one")),
        ("app.log", object_id(b"two")),
    ]
    assert (feedback.tester_id, feedback.request, feedback.remarks) == ("pat", REF, None)


def test_the_same_file_twice_is_listed_once() -> None:
    content = replace(GOOD, uploads=("u4", "u1", "u1"))
    feedback = accepted(content)
    assert content.used_uploads(REQUEST) == ["u4", "u1", "u2"]
    assert [one.object for one in feedback.attachments] == [object_id(b"one"), object_id(b"two")]


def test_who_was_unable_observed_nothing_whatever_stands_in_the_form() -> None:
    content = replace(
        GOOD,
        outcome="unable_to_test",
        remarks=" no machine ",
        uploads=("u2",),
        additional=(Answer(text="x"),),
    )
    assert content.faults(REQUEST, FILES) == []
    feedback = accepted(content)
    assert (feedback.observations, feedback.remarks) == ([], "no machine")
    assert [one.object for one in feedback.attachments] == [object_id(b"two")]
    assert content.used_uploads(REQUEST) == ["u2"]
    assert replace(content, remarks=" ").faults(REQUEST, FILES) == [FieldFault("remarks", "reason")]


LONG = "x" * 20_001


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"answers": {}}, ("answers.fails.text", "missing")),
        ({"fails": Answer(text="perhaps")}, ("answers.fails.text", "yes_no")),
        ({"fails": Answer(text="")}, ("answers.fails.text", "missing")),
        ({"log": Answer(text="see below")}, ("answers.log.uploads", "attachment")),
        ({"log": Answer(uploads=("gone",))}, ("answers.log.uploads", "unknown_upload")),
        ({"seconds": Answer(text="1,5")}, ("answers.seconds.text", "number")),
        ({"seconds": Answer(text="")}, ("answers.seconds.text", "missing")),
        ({"what": Answer(text=" \n")}, ("answers.what.text", "missing")),
        ({"what": Answer(text=LONG)}, ("answers.what.text", "too_long", 20_000)),
        ({"other": Answer(text="x")}, ("answers.other.text", "unknown_observation")),
        ({"remarks": LONG}, ("remarks", "too_long", 20_000)),
        ({"uploads": ("gone",)}, ("uploads", "unknown_upload")),
        ({"additional": (Answer(uploads=("gone",)),)}, ("additional.0.uploads", "unknown_upload")),
        ({"additional": (Answer(text=LONG),)}, ("additional.0.text", "too_long", 20_000)),
        ({"environment": (("", "x"),)}, ("environment.0.name", "missing")),
        ({"environment": (("a", ""), (" a ", "x"))}, ("environment.1.name", "repeated")),
        ({"environment": (("a" * 201, ""),)}, ("environment.0.name", "too_long", 200)),
        ({"environment": (("a", "b" * 2001),)}, ("environment.0.value", "too_long", 2000)),
    ],
    ids=lambda value: None if isinstance(value, dict) else "-".join(map(str, value[:2])),
)
def test_what_is_missing_is_told_at_its_field(change: dict[str, Any], fault: tuple[Any]) -> None:
    members = {name: value for name, value in change.items() if hasattr(GOOD, name)}
    answers = {name: value for name, value in change.items() if name not in members}
    content = replace(GOOD, **members)
    if answers:
        content = replace(content, answers={**GOOD.answers, **answers})
    assert content.faults(REQUEST, FILES)[0] == FieldFault(*fault)


def test_a_text_may_be_a_file_alone_and_blank_rows_are_nothing() -> None:
    content = replace(
        GOOD,
        answers={**GOOD.answers, "what": Answer(uploads=("u1",)), "old": Answer()},
        environment=((" ", ""), ("release", "1.0")),
        additional=(Answer(), Answer(text=" ")),
    )
    assert content.faults(REQUEST, FILES) == []
    feedback = accepted(content)
    assert [one.text for one in feedback.observations] == ["yes", "app.log", "1.5e3", "app.log"]
    assert [one.name for one in feedback.environment] == ["release"]


def test_many_long_names_are_no_longer_than_a_text() -> None:
    files = {str(n): File(f"{n:03}" + "x" * 197, 1, object_id(b"%d" % n)) for n in range(150)}
    content = replace(GOOD, answers={**GOOD.answers, "log": Answer(uploads=tuple(files))})
    assert content.faults(REQUEST, files) == []
    value = content.to_feedback_value(REQUEST, REF, files, "pat")
    read_draft(value, REQUEST, (), confirmed_by="pat", confirmed_at="2026-01-01T00:00:00Z")
    assert len(value["observations"][1]["text"]) == 20_000


TEXTS = st.one_of(
    st.sampled_from(["", " ", "yes", "no", " yes ", "1", "-2.5e7", "1,5", "x" * 200, LONG]),
    st.text(max_size=8),
)
IDS = st.lists(st.sampled_from(["u1", "u2", "u3", "u4", "gone"]), max_size=3).map(tuple)
ANSWERS = st.builds(lambda text, uploads: Answer(text=text, uploads=uploads), TEXTS, IDS)


@given(
    st.builds(
        DraftContent,
        outcome=st.sampled_from(["completed", "unable_to_test"]),
        remarks=TEXTS,
        environment=st.lists(st.tuples(TEXTS, TEXTS), max_size=3).map(tuple),
        answers=st.fixed_dictionaries(
            {
                "fails": st.sampled_from([Answer(text="yes"), Answer(text="no "), Answer()]),
                "log": ANSWERS,
                "seconds": st.sampled_from([Answer(text="1"), Answer(text=" 2.5"), Answer()]),
                "what": ANSWERS,
            },
            optional={"other": ANSWERS},
        ),
        additional=st.lists(ANSWERS, max_size=2).map(tuple),
        uploads=IDS,
    )
)
def test_without_a_fault_the_coordinator_takes_it(content: DraftContent) -> None:
    """And with one it would have been refused, or something typed would have been left out."""
    if not content.faults(REQUEST, FILES):
        feedback = accepted(content)
        said = [one.text for one in feedback.observations] + [feedback.remarks]
        if content.outcome == "completed":
            typed = [one.text.strip() for one in (*content.answers.values(), *content.additional)]
            assert {text for text in typed if text} <= set(said)
            assert {one.object for one in feedback.attachments} == {
                FILES[one].object
                for one in (
                    *content.uploads,
                    *(file for one in content.answers.values() for file in one.uploads),
                    *(file for one in content.additional for file in one.uploads),
                )
            }
    else:
        try:
            accepted(content)
        except (VStoreError, AssertionError):
            return
        # What would have been taken all the same lacks something that was typed.
        kinds = {one.kind for one in content.faults(REQUEST, FILES)}
        assert kinds <= {"missing", "unknown_upload", "unknown_observation", "repeated", "too_long"}


@given(
    st.builds(
        DraftContent,
        remarks=st.text(st.characters(exclude_categories=["Cs"])),
        answers=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), ANSWERS),
        additional=st.lists(ANSWERS).map(tuple),
    )
)
def test_a_draft_is_stored_as_it_was_but_for_its_ends_of_lines(content: DraftContent) -> None:
    stored = DraftContent.decode(content.encode())
    assert stored == content.tidy()
    assert stored.encode() == content.encode()
    assert "\r" not in stored.remarks


def test_what_a_form_sends_and_what_a_script_sends_is_one_draft() -> None:
    typed = "one\ntwo\n\nthree"
    sent = typed.replace("\n", "\r\n")
    assert replace(GOOD, remarks=sent).encode() == replace(GOOD, remarks=typed).encode()


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({"remarks": "x" * (1 << 20)}, "max_draft_bytes"),
        ({"environment": (("a", "b"),) * 1001}, "max_draft_facts"),
        ({"answers": {str(n): Answer() for n in range(1001)}}, "max_draft_answers"),
        ({"additional": (Answer(),) * 1001}, "max_draft_additional"),
        ({"uploads": ("u",) * 1001}, "max_draft_uploads"),
    ],
    ids=["bytes", "facts", "answers", "additional", "uploads"],
)
def test_a_draft_is_bounded(change: dict[str, Any], limit: str) -> None:
    with pytest.raises(LimitExceeded) as error:
        replace(GOOD, **change).encode()
    assert (error.value.kind, error.value.details["limit"]) == ("draft_too_large", limit)


def test_texts_that_are_none_are_refused_and_damage_is_told() -> None:
    with pytest.raises(InvalidError) as error:
        replace(GOOD, remarks="\ud800").encode()
    assert error.value.kind == "invalid_draft"
    for stored in (b"", b"[]", b'{"outcome":"fine"}', b'{"remarks":1}', b'{"more":1}'):
        with pytest.raises(VStoreError) as damage:
            DraftContent.decode(stored)
        assert damage.value.kind == "damaged_draft"


def test_an_empty_form_has_the_environment_that_was_asked_for() -> None:
    template = DraftContent.template(REQUEST)
    assert template.environment == (("release", "1.0"),)
    assert list(template.answers) == ["fails", "log", "seconds", "what"]
    assert [one.kind for one in template.faults(REQUEST, {})] == [
        "missing",
        "attachment",
        "missing",
        "missing",
    ]
