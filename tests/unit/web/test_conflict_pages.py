"""Two texts of one draft: told apart part by part, chosen from, and none of them deleted."""

from __future__ import annotations

import pytest

from vstore.handoff.documents import AsyncTestRequest
from vstore.testing.testers_page import KEY, TEST, Page, PageForm, Site, Visitor
from vstore.web.conflict_pages import chosen, differences
from vstore.web.draft_content import Answer, DraftContent
from vstore.web.handlers import Form
from vstore.web.words import words_of

DRAFT = f"{TEST}/draft"
CONFLICT = f"{TEST}/conflict"
FILE, OTHER = "a" * 32, "b" * 32

SAVED = DraftContent(
    outcome="completed",
    remarks="first remark",
    environment=(("os", "Debian"),),
    answers={
        "fails": Answer(text="yes"),
        "log": Answer(text="one", uploads=(FILE,)),
        "seconds": Answer(text="1"),
    },
    additional=(Answer(text="loud"), Answer(text="warm")),
    uploads=(FILE,),
)
REFUSED = DraftContent(
    outcome="unable_to_test",
    remarks="second remark",
    environment=(("os", "Fedora"),),
    answers={
        "fails": Answer(text="no"),
        "log": Answer(text="two", uploads=(FILE, OTHER)),
        "seconds": Answer(text="1"),
    },
    additional=(Answer(text="loud"), Answer(text="dark")),
    uploads=(OTHER,),
)
EVERY = ("outcome", "answer.fails", "answer.log", "additional", "remarks", "environment", "uploads")


@pytest.fixture
def request_(site: Site) -> AsyncTestRequest:
    return site.desk.board.entry(KEY).request


def test_each_part_that_differs_is_shown_and_no_other(request_: AsyncTestRequest) -> None:
    names = {FILE: "app.log", OTHER: "screen.png"}
    found = differences(SAVED, REFUSED, request_, names, words_of("en"))
    assert [(one.field, one.saved, one.refused) for one in found] == [
        ("outcome", "Yes, I did the test", "No, it wasn't possible"),
        ("answer.fails", "Yes", "No"),
        ("answer.log", "one\napp.log", "two\napp.log\nscreen.png"),
        ("additional", "loud\n\nwarm", "loud\n\ndark"),
        ("remarks", "first remark", "second remark"),
        ("environment", "os: Debian", "os: Fedora"),
        ("uploads", "app.log", "screen.png"),
    ]
    # A yes and a no, or two numbers, don't go one after the other.
    assert [one.field for one in found if one.joinable] == [
        "answer.log", "additional", "remarks", "uploads",
    ]  # fmt: skip
    assert differences(SAVED, SAVED, request_, names, words_of("en")) == []


def test_what_is_not_chosen_stays_as_saved() -> None:
    assert chosen(SAVED, REFUSED, Form([])) == SAVED
    assert chosen(SAVED, REFUSED, Form([("then", "saved"), ("take.remarks", "refused")])) == SAVED
    assert chosen(SAVED, REFUSED, Form([("then", "refused")])) == REFUSED


def test_every_part_can_be_taken_from_the_other_text() -> None:
    form = Form([(f"take.{one}", "refused") for one in EVERY])
    assert chosen(SAVED, REFUSED, form) == REFUSED


@pytest.mark.parametrize("part", EVERY)
def test_one_part_is_taken_and_the_others_stay(part: str) -> None:
    got = chosen(SAVED, REFUSED, Form([(f"take.{part}", "refused")]))
    back = chosen(got, SAVED, Form([(f"take.{part}", "refused")]))
    assert got != SAVED
    assert back == SAVED


def test_both_texts_stand_one_after_the_other_and_nothing_twice() -> None:
    got = chosen(SAVED, REFUSED, Form([(f"take.{one}", "both") for one in EVERY]))
    assert got.remarks == "first remark\n\nsecond remark"
    assert got.answers["log"] == Answer(text="one\n\ntwo", uploads=(FILE, OTHER))
    assert got.additional == (Answer(text="loud"), Answer(text="warm"), Answer(text="dark"))
    assert got.uploads == (FILE, OTHER)
    # The rest can only be one of the two.
    assert (got.outcome, got.environment) == (SAVED.outcome, SAVED.environment)
    alike = chosen(SAVED, SAVED, Form([("take.remarks", "both")]))
    assert alike.remarks == "first remark"


def conflicting(site: Site, *, times: int = 1) -> tuple[Visitor, Page]:
    """Somebody with two windows, who saved in both; the page that they get to see."""
    pat = site.tester()
    first = pat.claim().form(DRAFT)
    others = [pat.get(DRAFT).form(DRAFT) for _ in range(times)]
    pat.press(first.fill("remarks", "first").fill("answer.fails", "yes"), "save")
    for number, other in enumerate(others):
        page = pat.press(
            other.fill("remarks", f"other {number} <b>").fill("answer.fails", "no"), "save"
        )
    assert page.location == CONFLICT
    return pat, page


def saved(site: Site) -> DraftContent:
    """What the draft says now."""
    return site.desk.drafts.load(KEY, site.desk.accounts.get("pat")).content


def form_of(page: Page) -> PageForm:
    """The form that chooses."""
    return page.form(CONFLICT)


def test_both_texts_stand_side_by_side_escaped(site: Site) -> None:
    _, page = conflicting(site)
    assert page.status == 200
    assert "first" in page.text
    assert "other 0 <b>" in page.text
    assert b"other 0 <b>" not in page.content
    assert form_of(page).options["take.remarks"] == ["saved", "refused", "both"]
    assert form_of(page).options["take.answer.fails"] == ["saved", "refused"]


@pytest.mark.parametrize(
    ("button", "remarks", "fails"),
    [
        ("chosen", "first\n\nother 0 <b>", "no"),
        ("refused", "other 0 <b>", "no"),
        ("saved", "first", "yes"),
    ],
)
def test_the_choice_is_saved_and_the_comparing_is_over(
    site: Site, button: str, remarks: str, fails: str
) -> None:
    pat, page = conflicting(site)
    form = form_of(page).fill("take.remarks", "both").fill("take.answer.fails", "refused")
    after = pat.press(form, button)
    assert after.location == DRAFT
    assert (saved(site).remarks, saved(site).answers["fails"].text) == (remarks, fails)
    assert pat.get(CONFLICT).location == DRAFT
    # A second click on the button of before changes nothing.
    assert pat.press(form, "refused").location == DRAFT
    assert saved(site).remarks == remarks


def test_several_texts_are_compared_one_after_the_other(site: Site) -> None:
    pat, page = conflicting(site, times=3)
    assert "2 more texts wait" in page.text
    page = pat.press(form_of(page), "refused")
    assert page.location == CONFLICT
    assert "other 1 <b>" in page.text
    page = pat.press(form_of(page), "saved")
    page = pat.press(form_of(page), "refused")
    assert page.location == DRAFT
    assert saved(site).remarks == "other 2 <b>"


def test_a_choice_over_a_text_that_moved_on_is_asked_again(site: Site) -> None:
    pat, page = conflicting(site)
    form = form_of(page).fill("take.remarks", "refused")
    pat.press(pat.get(DRAFT).form(DRAFT).fill("remarks", "third"), "save")
    again = pat.press(form, "chosen")
    assert again.status == 409
    assert "has changed again" in again.text
    assert "third" in again.text
    assert saved(site).remarks == "third"


def test_who_was_superseded_chooses_nothing_and_can_read_the_text(site: Site) -> None:
    pat, page = conflicting(site)
    kim = site.tester("Kim")
    site.clock.tick(901)  # type: ignore[attr-defined]
    kim.claim()
    refused = pat.press(form_of(page), "refused")
    assert refused.status == 409
    assert "other 0 <b>" in refused.text
    assert saved(site).remarks == "first"
    assert pat.get(CONFLICT).location == DRAFT


def test_without_two_texts_there_is_nothing_to_compare(site: Site) -> None:
    pat = site.tester()
    pat.claim()
    assert pat.get(CONFLICT).location == DRAFT
    assert pat.post(CONFLICT, [("conflict", "1"), ("then", "refused")]).location == DRAFT
