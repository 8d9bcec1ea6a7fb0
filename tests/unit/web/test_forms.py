"""What a form's fields come to, and where a fault is put right."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from vstore.handoff.documents import AsyncTestRequest, EnvironmentFact
from vstore.testing.testers_page import KEY, Site
from vstore.web.draft_content import Answer, DraftContent, FieldFault
from vstore.web.forms import (
    ShownFault,
    Typed,
    content_of,
    headline,
    number_of,
    shown_faults,
    typed_texts,
    without_upload,
)
from vstore.web.handlers import Form
from vstore.web.words import words_of


@pytest.fixture
def request_(site: Site) -> AsyncTestRequest:
    return site.desk.board.entry(KEY).request


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Why?", "Why?"),
        ("  Why?\nBecause.", "Why?"),
        ("word " * 32, ("word " * 32).strip()),
        ("word " * 33, "word " * 31 + "word…"),
        ("x" * 200, "x" * 160 + "…"),
        ("", ""),
    ],
)
def test_a_headline_is_a_first_line_cut_at_a_word(text: str, first: str) -> None:
    assert headline(text) == first


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("42", 42),
        ("9" * 15, 999_999_999_999_999),
        *((one, -1) for one in ("", "-1", "+1", " 1", "1.0", "x", "9" * 16, "\u0661", "\u00b2")),
    ],
)
def test_only_plain_digits_are_a_number(text: str, number: int) -> None:
    assert number_of(text) == number


def test_an_empty_form_is_an_empty_draft(request_: AsyncTestRequest) -> None:
    blank = {"fails": Answer(), "log": Answer(), "seconds": Answer()}
    assert content_of(Form([]), request_) == DraftContent(answers=blank)


def test_each_field_goes_to_its_place(request_: AsyncTestRequest) -> None:
    form = Form(
        [
            ("outcome", "unable_to_test"),
            ("remarks", "a\r\nb"),
            ("env.name", "os"), ("env.value", "Debian"),
            ("env.name", " "), ("env.value", ""),
            ("env.name", ""), ("env.value", "only a value"),
            ("env.name", "without a value"),
            ("answer.fails", "yes"), ("answer.fails", "no"),
            ("files.fails", "1"), ("files.fails", "2"), ("files.fails", "1"),
            ("answer.unknown", "x"),
            ("more.10", "last"), ("more.2", "first"), ("more.3", " "), ("files.more.4", "3"),
            ("more.12345", "too far"), ("more.x", "no number"), ("more.", "no number"),
            ("upload", "1"), ("upload", "3"), ("upload", "1"),
        ]
    )  # fmt: skip
    assert content_of(form, request_) == DraftContent(
        outcome="unable_to_test",
        remarks="a\nb",
        environment=(("os", "Debian"), ("", "only a value")),
        answers={
            "fails": Answer(text="yes", uploads=("1", "2")),
            "log": Answer(),
            "seconds": Answer(),
        },
        # A place that has only files is one that has a text field too: not this one.
        additional=(Answer(text="first"), Answer(text="last")),
        uploads=("1", "3"),
    )


def test_a_file_is_taken_out_wherever_it_stood() -> None:
    content = DraftContent(
        answers={"log": Answer(text="t", uploads=("1", "2"))},
        additional=(Answer(text="a", uploads=("1",)),),
        uploads=("2", "1"),
    )
    assert without_upload(content, "1") == DraftContent(
        answers={"log": Answer(text="t", uploads=("2",))},
        additional=(Answer(text="a"),),
        uploads=("2",),
    )
    assert without_upload(content, "3") == content


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        (
            FieldFault("answers.seconds.text", "number"),
            ShownFault(
                "a-seconds",
                "A number is needed: How long did it take?",
                "A number is needed here, such as 12 or 0.5.",
                "seconds",
            ),
        ),
        (
            FieldFault("answers.a.b.uploads", "attachment"),
            ShownFault("a-a.b", "Add a file: a.b", "Add a file here.", "a.b"),
        ),
        (
            FieldFault("remarks", "reason"),
            ShownFault(
                "remarks", "Say why the test couldn't be done", "Something is wrong here.", None
            ),
        ),
        (
            FieldFault("environment.3.name", "repeated"),
            ShownFault(
                "env-name-3",
                "Where did you test: each line needs a name of its own",
                "Something is wrong here.",
                None,
            ),
        ),
        (
            FieldFault("additional.2.text", "too_long", 20_000),
            ShownFault(
                "more-2",
                "Too long, 20,000 characters at the most: Did you notice anything else?",
                "This is too long: 20,000 characters at the most.",
                None,
            ),
        ),
        (
            FieldFault("uploads", "unknown_upload"),
            ShownFault("files", "Something is wrong with: Files", "Something is wrong here.", None),
        ),
        (
            FieldFault("of_a_later_day", "of_a_later_day"),
            ShownFault(
                "outcome-completed",
                "Something is wrong with: the whole answer",
                "Something is wrong here.",
                None,
            ),
        ),
    ],
)
def test_a_fault_leads_to_the_field_where_it_is_put_right(
    request_: AsyncTestRequest, fault: FieldFault, shown: ShownFault
) -> None:
    assert shown_faults([fault], request_, words_of("en")) == [shown]


def test_what_somebody_typed_is_listed_and_what_the_request_said_is_not(
    request_: AsyncTestRequest,
) -> None:
    given = replace(request_, environment=[EnvironmentFact(name="release", value="1.0")])
    content = DraftContent(
        remarks="a remark",
        environment=(("release", "1.0"), ("os", "Debian"), ("", "nameless"), ("empty", " ")),
        answers={"log": Answer(text="it divides"), "seconds": Answer(text=" ")},
        additional=(Answer(text="loud"),),
    )
    assert typed_texts(content, given, words_of("en")) == [
        Typed("What does the log say?", "it divides"),
        Typed("Further observation 1", "loud"),
        Typed("Remarks", "a remark"),
        Typed("os", "Debian"),
        Typed("What", "nameless"),
    ]
