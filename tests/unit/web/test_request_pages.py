"""The list of tests and the page of one, as testers meet them: without script, from the forms."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.testing.handoff import handoff_story
from vstore.testing.investigation import CASE
from vstore.testing.testers_page import KEY, TEST, Page, Site, Visitor, ask
from vstore.web.request_pages import _ON_A_PAGE
from vstore.web.request_views import path_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e"


def tabs(page: Page) -> dict[str, str]:
    """How many tests each tab says it has."""
    text = page.text.split("Which tests")[-1]
    return {
        name: text.partition(name)[2].split()[0] for name in ("Open", "Mine", "Overdue", "Done")
    }


def test_somebody_who_is_not_logged_in_sees_no_test(site: Site) -> None:
    stranger = site.visitor()
    for path in ("/", TEST, f"{TEST}/draft", f"{TEST}/preview", f"{TEST}/uploads"):
        page = stranger.get(path)
        assert page.location.startswith("/login"), path
        assert "orders" not in page.text


def test_the_list_says_what_is_to_do_until_when(site: Site) -> None:
    page = site.tester(zone="Europe/Berlin").get("/")
    assert page.status == 200
    assert TEST in page.links
    assert "Does the application fail without orders?" in page.text
    # The deadline is noon in UTC; in January Berlin is an hour ahead.
    assert "3 Jan 2026, 13:00 CET" in page.text
    assert "12:00 UTC" in page.text
    assert tabs(page) == {"Open": "1", "Mine": "0", "Overdue": "0", "Done": "0"}


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("show", ["mine", "overdue", "done"])
def test_an_empty_list_says_what_would_be_there(site: Site, language: str, show: str) -> None:
    page = site.tester(language=language).get(f"/?show={show}")
    assert page.status == 200
    assert any("empty" in found.get("class", "") for _, found in page.tags)
    assert TEST not in page.links


def test_a_workspace_without_a_case_has_nothing_to_test(
    tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    (tmp_path / "none" / "work").mkdir(parents=True)
    page = make_site(tmp_path / "none").tester().get("/")
    assert "Nothing to test right now" in page.text


@pytest.mark.parametrize(
    "query",
    ["show=nonsense", "show=open&page=-1", "show=open&page=0", "page=x", "page=" + "9" * 30],
)
def test_a_query_that_nobody_offers_is_the_first_page(site: Site, query: str) -> None:
    page = site.tester().get(f"/?{query}")
    assert page.status == 200
    assert TEST in page.links


def test_a_page_beyond_the_last_is_empty_and_no_fault(site: Site) -> None:
    page = site.tester().get("/?page=7")
    assert page.status == 200
    assert TEST not in page.links
    assert _ON_A_PAGE == 50


def test_past_its_deadline_a_test_is_marked_and_nothing_else(site: Site) -> None:
    pat = site.tester()
    site.clock.tick(2 * 24 * 3600)  # type: ignore[attr-defined]
    pat.log_in("pat")
    page = pat.get("/")
    assert tabs(page) == {"Open": "1", "Mine": "0", "Overdue": "1", "Done": "0"}
    assert TEST in pat.get("/?show=overdue").links
    page = pat.get(TEST)
    assert "Overdue" in page.text
    assert pat.press(page.form(f"{TEST}/claim"), "Take this test").location == f"{TEST}/draft"


def test_a_case_that_cannot_be_read_is_told_and_hides_no_other(
    asked: Path, tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    folder = Site.copied(asked, tmp_path / "two")
    broken = folder / "work" / "CASE-2"
    shutil.copytree(folder / "work" / CASE, broken)
    log = max(broken.rglob("*"), key=lambda one: one.stat().st_size if one.is_file() else 0)
    log.write_bytes(b"\0" * log.stat().st_size)
    page = make_site(folder).tester().get("/")
    assert page.status == 200
    assert TEST in page.links
    assert "One case can't be read" in page.text


def test_a_test_shows_what_to_do_and_what_will_be_asked(site: Site) -> None:
    page = site.tester().get(TEST)
    for text in (
        "Does the application fail without orders?",
        "the application runs",
        "Delete all orders.",
        "Open the page of totals.",
        "How long did it take?",
        "a number",
        "release",
    ):
        assert text in page.text
    assert page.offers(f"{TEST}/claim")
    assert not page.offers(f"{TEST}/release")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/r/CASE-1/PACKAGE-1/test-9", id="request"),
        pytest.param("/r/CASE-9/PACKAGE-1/test-1", id="case"),
        pytest.param("/r/CASE-1/PACKAGE-9/test-1", id="package"),
        pytest.param("/r/..%2f..%2fetc/x/y", id="path"),
        pytest.param("/r/%2e%2e/PACKAGE-1/test-1", id="dots"),
        pytest.param("/r/%00/%ff/%22", id="bytes"),
        pytest.param(path_of(KEY).lower(), id="case-of-letters"),
    ],
)
def test_a_test_that_is_not_there_is_a_page_that_says_so(site: Site, path: str) -> None:
    pat = site.tester()
    for page in (pat.get(path), pat.get(f"{path}/draft"), pat.post(f"{path}/claim")):
        assert page.status == 404
        assert "/" in page.links


def test_one_person_holds_a_test_and_others_see_who(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    before = kim.get(TEST)
    assert pat.claim().location == f"{TEST}/draft"
    refused = kim.press(before.form(f"{TEST}/claim"), "Take this test")
    assert refused.status == 409
    assert "Somebody else was quicker" in refused.text
    assert "pat is doing this test" in refused.text
    page = kim.get(TEST)
    assert not page.offers(f"{TEST}/claim")
    assert not page.offers(f"{TEST}/decline")
    assert "pat is doing this test" in page.text
    assert kim.get(f"{TEST}/draft").location == TEST
    assert "pat is on it" in kim.get("/").text
    assert "You are on it" in pat.get("/?show=mine").text


def test_a_claim_pressed_twice_is_one_claim(site: Site) -> None:
    pat = site.tester()
    form = pat.get(TEST).form(f"{TEST}/claim")
    first, second = (pat.press(form, "Take this test") for _ in range(2))
    assert first.form(f"{TEST}/draft").values("fence") == ["1"]
    assert second.form(f"{TEST}/draft").values("fence") == ["1"]


def test_a_test_that_is_given_back_is_free_and_its_draft_is_kept(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    form = pat.claim().form(f"{TEST}/draft").fill("remarks", "half of it")
    page = pat.press(form, "release")
    assert page.location == TEST
    assert "given back" in page.text
    assert "Take this test again" in page.text
    assert kim.claim().location == f"{TEST}/draft"
    kept = pat.get(f"{TEST}/draft")
    assert "half of it" in kept.text
    assert not kept.offers(f"{TEST}/draft")


def test_a_test_is_given_back_from_its_page_too(site: Site) -> None:
    pat = site.tester()
    pat.claim()
    page = pat.get(TEST)
    assert f"{TEST}/draft" in page.links
    page = pat.press(page.form(f"{TEST}/release"), "Give it back")
    assert page.offers(f"{TEST}/claim")


def test_after_a_lease_ran_out_its_holder_may_go_on_and_others_may_take_it(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    pat.claim()
    site.clock.tick(901)  # type: ignore[attr-defined]
    assert "has run out" in pat.get(TEST).text
    assert "has run out" in pat.get(f"{TEST}/draft").text
    page = kim.get(TEST)
    assert "pat started this test" in page.text
    kim.press(page.form(f"{TEST}/claim"), "Take this test")
    assert "Kim is doing this test" in pat.get(TEST).text


def test_a_page_that_is_open_renews_its_lease(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    fence = pat.claim().form(f"{TEST}/draft").values("fence")[0]
    site.clock.tick(600)  # type: ignore[attr-defined]
    answer = pat.script(f"{TEST}/renew", [("fence", fence)])
    assert answer.json() == {"lease_until": "2026-01-02T12:25:00Z"}
    site.clock.tick(600)  # type: ignore[attr-defined]
    assert not kim.get(TEST).offers(f"{TEST}/claim")
    refused = kim.script(f"{TEST}/renew", [("fence", fence)])
    assert (refused.status, refused.json()["error"]["kind"]) == (409, "not_claimed")
    assert pat.post(f"{TEST}/renew", [("fence", fence)]).location == f"{TEST}/draft"


@pytest.mark.parametrize("fence", ["", "0", "-1", "2", "x", "1" * 40, "\u0661"])
def test_another_token_than_ones_own_is_refused(site: Site, fence: str) -> None:
    pat = site.tester()
    pat.claim()
    for step in ("renew", "release", "draft"):
        page = pat.post(f"{TEST}/{step}", [("fence", fence), ("revision", "0")])
        assert page.status == 409, step
    assert site.desk.claims.holder(KEY) is not None


def test_who_declines_says_why_and_others_read_it(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    form = pat.get(TEST).form(f"{TEST}/decline")
    empty = pat.press(form.fill("reason", "  "), "Decline")
    assert empty.status == 400
    assert "Say in a few words why" in empty.text
    long = pat.press(empty.form(f"{TEST}/decline").fill("reason", "x" * 2001), "Decline")
    assert long.status == 400
    assert long.form(f"{TEST}/decline").values("reason") == ["x" * 2001]
    page = pat.press(long.form(f"{TEST}/decline").fill("reason", HOSTILE), "Decline")
    assert page.status == 200
    assert "You declined this test." in page.text
    assert not page.offers(f"{TEST}/decline")
    seen = kim.get(TEST)
    assert HOSTILE in seen.text
    assert b"<script>alert" not in seen.content
    assert seen.offers(f"{TEST}/claim")


def test_who_holds_a_test_gives_it_back_by_declining(site: Site) -> None:
    pat = site.tester()
    pat.claim()
    pat.press(pat.get(TEST).form(f"{TEST}/decline").fill("reason", "no machine"), "Decline")
    assert site.desk.claims.holder(KEY) is None


def test_a_test_for_a_bot_is_shown_and_not_offered(
    tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    folder = tmp_path / "bot"
    ask(folder, executor="automated")
    pat = make_site(folder).tester()
    assert "For a bot" in pat.get("/").text
    page = pat.get(TEST)
    assert "A bot does this test" in page.text
    assert not page.offers(f"{TEST}/claim")
    refused = pat.post(f"{TEST}/claim")
    assert refused.status == 409
    assert "A bot does this test" in refused.text


def test_what_a_bot_holds_nobody_goes_on_with_on_the_page(
    tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    folder = tmp_path / "bot"
    ask(folder, executor="automated")
    site = make_site(folder)
    # A bot's token, and somebody who logged in with the same account.
    pat = site.tester("pat")
    account = site.desk.accounts.get("pat")
    fence = site.desk.claims.claim(KEY, account, executor="automated").fence
    before = site.desk.claims.holder(KEY)
    draft = site.desk.drafts.load(KEY, account)
    saved = site.desk.drafts.save(KEY, account, fence, 0, draft.content)
    page = pat.get(TEST)
    assert "A bot does this test" in page.text
    for action in ("release", "decline", "draft"):
        assert not page.offers(f"{TEST}/{action}")
    assert not pat.get(f"{TEST}/draft").offers(f"{TEST}/draft")
    fields = [("fence", str(fence)), ("revision", "1"), ("reason", "no"), ("digest", "x")]
    for action in ("claim", "renew", "release", "decline", "draft", "conflict", "confirm"):
        refused = pat.post(f"{TEST}/{action}", fields)
        assert refused.status == 409, action
        assert "A bot does this test" in refused.text, action
    assert pat.upload("a.txt", b"text", fence).status == 409
    assert site.desk.claims.holder(KEY) == before
    assert site.desk.claims.declines(KEY) == []
    assert site.desk.drafts.load(KEY, account) == saved
    assert site.desk.uploads.list(KEY, account) == []


def test_answered_tests_show_their_answer(tmp_path: Path, make_site: Callable[..., Site]) -> None:
    folder = tmp_path / "story"
    (folder / "work").mkdir(parents=True)
    (folder / "scratch").mkdir()
    handoff_story(folder / "work" / CASE, folder / "scratch").workspace.close()
    pat = make_site(folder).tester("Kim")
    assert tabs(pat.get("/")) == {"Open": "1", "Mine": "0", "Overdue": "0", "Done": "2"}
    done = pat.get("/?show=done")
    assert {TEST, TEST.replace("test-1", "test-2")} <= set(done.links)
    page = pat.get(TEST)
    assert "This test is answered. pat confirmed it on" in page.text
    assert "It divides by zero." in page.text
    assert not page.offers(f"{TEST}/claim")
    refused = pat.post(f"{TEST}/claim")
    assert (refused.status, "answered already" in refused.text) == (409, True)
    unable = pat.get(TEST.replace("test-1", "test-2"))
    assert "The test couldn't be done" in unable.text
    assert "no such machine" in unable.text


def test_what_the_case_says_is_shown_and_never_run(
    tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    folder = tmp_path / "hostile"
    ask(folder, question=HOSTILE, prerequisites=[HOSTILE], steps=[HOSTILE * 50])
    pat: Visitor = make_site(folder).tester()
    for page in (pat.get("/"), pat.get(TEST), pat.claim()):
        assert page.status == 200
        assert HOSTILE in page.text
        assert b"<script>alert" not in page.content
        assert b"<img src=x" not in page.content
        sources = [found["src"] for tag, found in page.tags if tag == "script"]
        assert all(one.startswith("/static/") for one in sources)
        assert not any(name.startswith("on") for _, found in page.tags for name in found)


def test_a_long_question_is_cut_at_a_word_and_told_in_full(
    tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    folder = tmp_path / "long"
    question = "Does it " + "really " * 60 + "fail?\nAnd why?"
    ask(folder, question=question)
    pat = make_site(folder).tester()
    assert "And why?" not in pat.get("/").text
    assert question in pat.get(TEST).text


def test_a_script_that_declines_is_told_what_is_wrong(site: Site) -> None:
    pat = site.tester()
    refused = pat.script(f"{TEST}/decline", [("reason", " ")])
    assert (refused.status, refused.json()["error"]["kind"]) == (400, "invalid_reason")


def test_who_was_superseded_declines_nothing(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    pat.claim()
    form = pat.get(TEST).form(f"{TEST}/decline").fill("reason", "no time")
    site.clock.tick(901)  # type: ignore[attr-defined]
    kim.claim()
    refused = pat.press(form, "Decline")
    assert refused.status == 409
    assert "Somebody else has taken this test" in refused.text
    assert site.desk.claims.declines(KEY) == []
