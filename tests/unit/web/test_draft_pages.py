"""Writing an answer without script: saved, never lost, refused where somebody else's turn it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from vstore.handoff.documents import RequestedObservation
from vstore.testing.testers_page import KEY, TEST, Page, PageForm, Site, Visitor, ask
from vstore.web import database
from vstore.web.draft_content import Answer

DRAFT = f"{TEST}/draft"
HOSTILE = "</textarea><script>alert(1)</script>\"'&\u202e"


def written(page: Page) -> PageForm:
    """The form of a draft with a whole answer but its file."""
    form = page.form(DRAFT).fill("answer.fails", "yes").fill("answer.seconds", "0.5")
    return form.fill("answer.log", "It divides by zero.").fill("remarks", "on the night build")


def test_the_form_asks_what_the_request_asks_and_knows_the_environment(site: Site) -> None:
    page = site.tester().claim()
    form = page.form(DRAFT)
    assert form.options["answer.fails"] == ["yes", "no"]
    assert form.values("answer.fails") == []
    assert form.values("outcome") == ["completed"]
    assert form.values("env.name") == ["release", ""]
    assert form.values("env.value") == ["1.0", ""]
    assert form.values("revision") == ["0"]
    assert "Delete all orders." in page.text
    # Limits and types stand there before anybody sends a file.
    assert "up to 250.0\N{NO-BREAK SPACE}MB" in page.text
    assert "100 files" in page.text
    assert "PNG, JPEG, GIF, WebP" in page.text


def test_what_was_written_is_there_after_a_reload_a_restart_and_in_another_browser(
    site: Site,
) -> None:
    pat = site.tester()
    saved = pat.press(written(pat.claim()), "save")
    assert saved.location == DRAFT
    assert "Saved." in saved.text
    site.restart()
    again = site.visitor()
    again.log_in("pat")
    for page in (saved, again.get(DRAFT)):
        form = page.form(DRAFT)
        assert form.values("answer.fails") == ["yes"]
        assert form.values("answer.log") == ["It divides by zero."]
        assert form.values("remarks") == ["on the night build"]
        assert form.values("revision") == ["1"]


def test_texts_come_back_as_they_were_typed(site: Site) -> None:
    text = f"\n  two\n\nlines, \N{SNOWMAN} {HOSTILE}\n"
    pat = site.tester()
    page = pat.press(pat.claim().form(DRAFT).fill("answer.log", text), "save")
    assert page.form(DRAFT).values("answer.log") == [text]
    assert b"<script>alert" not in page.content


def test_there_is_always_one_empty_place_more(site: Site) -> None:
    pat = site.tester()
    form = pat.claim().form(DRAFT).fill("more.0", "The fan is loud.")
    page = pat.press(form, "more")
    assert page.location == f"{DRAFT}#more"
    form = page.form(DRAFT)
    assert (form.values("more.0"), form.values("more.1")) == (["The fan is loud."], [""])
    form.fields.append(("env.name", "os"))
    form.fields.append(("env.value", "Debian"))
    page = pat.press(form, "environment")
    assert page.form(DRAFT).values("env.name") == ["release", "os", ""]
    # An emptied text is gone, and the one after it stays.
    form = page.form(DRAFT).fill("more.0", "").fill("more.1", "The light is off.")
    form = pat.press(form, "save").form(DRAFT)
    assert (form.values("more.0"), form.values("more.1")) == (["The light is off."], [""])


@pytest.mark.parametrize("button", ["save", "preview", "files", "files:log", "more", "environment"])
def test_each_button_saves_first(site: Site, button: str) -> None:
    pat = site.tester()
    pat.press(written(pat.claim()), button)
    assert site.desk.drafts.load(KEY, _account(site)).content.remarks == "on the night build"


def _account(site: Site, name: str = "pat"):  # type: ignore[no-untyped-def]
    return site.desk.accounts.get(name)


def test_enter_in_a_line_saves_and_nothing_else(site: Site) -> None:
    form = site.tester().claim().form(DRAFT)
    # A browser presses the first button of a form for it.
    assert form.buttons[0][:2] == ("then", "save")


def test_the_script_saves_as_one_types_and_learns_the_revision(site: Site) -> None:
    pat = site.tester()
    form = written(pat.claim())
    answer = pat.script(DRAFT, [*form.fields, ("automatic", "1")])
    assert answer.json() == {"revision": 1, "saved_at": "2026-01-02T12:00:00Z"}
    # The same text again is no revision of its own, and a text that rests on it is no conflict.
    assert pat.script(DRAFT, form.fields).json()["revision"] == 1
    form.fill("revision", "1").fill("remarks", "more")
    assert pat.script(DRAFT, form.fields).json()["revision"] == 2
    newest, first = site.desk.drafts.revisions(KEY, _account(site))
    assert (newest.automatic, first.automatic) == (False, True)


def test_a_double_click_on_save_is_one_save(site: Site) -> None:
    pat = site.tester()
    form = written(pat.claim())
    pages = [pat.press(form, "save") for _ in range(2)]
    assert [one.location for one in pages] == [DRAFT, DRAFT]
    assert pages[1].form(DRAFT).values("revision") == ["1"]


def test_a_stale_save_goes_to_both_texts(site: Site) -> None:
    pat = site.tester()
    one, other = written(pat.claim()), written(pat.get(DRAFT))
    pat.press(one.fill("remarks", "from the first window"), "save")
    page = pat.press(other.fill("remarks", "from the second window"), "preview")
    assert page.location == f"{TEST}/conflict"
    assert "from the first window" in page.text
    assert "from the second window" in page.text
    # Also for whoever only comes back later, and nothing is confirmed over it.
    assert f"{TEST}/conflict" in pat.get(DRAFT).links
    assert pat.get(f"{TEST}/preview").location == f"{TEST}/conflict"


def test_the_script_of_a_second_window_is_told_where_both_texts_are(site: Site) -> None:
    pat = site.tester()
    form = written(pat.claim())
    pat.script(DRAFT, form.fields)
    refused = pat.script(DRAFT, form.fill("remarks", "other").fields)
    assert refused.status == 409
    error = refused.json()["error"]
    assert error["kind"] == "stale_draft"
    assert error["details"] == {"location": f"{TEST}/conflict"}


def superseded(site: Site) -> tuple[Visitor, PageForm]:
    """Somebody who wrote for so long that another one has the test."""
    pat, kim = site.tester("pat"), site.tester("Kim")
    form = pat.press(written(pat.claim()), "save").form(DRAFT)
    site.clock.tick(901)  # type: ignore[attr-defined]
    kim.claim()
    return pat, form.fill("remarks", HOSTILE)


@pytest.mark.parametrize("button", ["save", "preview", "release", "files"])
def test_who_was_superseded_saves_nothing_and_still_has_what_they_typed(
    site: Site, button: str
) -> None:
    pat, form = superseded(site)
    page = pat.press(form, button)
    assert page.status == 409
    assert "Somebody else has taken this test" in page.text
    assert "Kim is doing this test" in page.text
    assert HOSTILE in page.text
    assert b"<script>alert" not in page.content
    saved = site.desk.drafts.load(KEY, _account(site))
    assert (saved.revision, saved.content.remarks) == (1, "on the night build")
    assert site.desk.claims.holder(KEY).name == "Kim"  # type: ignore[union-attr]


def test_the_script_of_somebody_superseded_is_told(site: Site) -> None:
    pat, form = superseded(site)
    refused = pat.script(DRAFT, form.fields)
    assert (refused.status, refused.json()["error"]["kind"]) == (409, "superseded")


def test_the_draft_of_who_was_superseded_can_still_be_read(site: Site) -> None:
    pat, _ = superseded(site)
    page = pat.get(DRAFT)
    assert "on the night build" in page.text
    assert not page.offers(DRAFT)
    assert "You have a draft" in pat.get("/?show=mine").text


def test_who_gave_the_test_back_in_another_window_is_told(site: Site) -> None:
    pat = site.tester()
    form = written(pat.claim())
    pat.press(pat.get(TEST).form(f"{TEST}/release"), "Give it back")
    page = pat.press(form, "save")
    assert page.status == 409
    assert "You don't hold this test" in page.text
    assert "on the night build" in page.text


def test_nobody_writes_into_the_draft_of_another_one(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    form = written(pat.claim())
    refused = kim.press(form, "save")
    assert refused.status == 409
    assert site.desk.drafts.load(KEY, _account(site)).revision == 0
    assert site.desk.drafts.load(KEY, _account(site, "Kim")).revision == 0


def test_what_a_draft_may_hold_is_bounded_and_the_text_is_not_lost(site: Site) -> None:
    pat = site.tester()
    form = pat.claim().form(DRAFT).fill("answer.log", "x" * (1 << 20))
    page = pat.press(form, "save")
    assert page.status == 413
    assert "That is too much text" in page.text
    assert "x" * (1 << 20) in page.text


def test_fields_that_no_form_has_change_nothing(site: Site) -> None:
    pat = site.tester()
    form = pat.claim().form(DRAFT)
    extra = [
        ("answer.other", "x"),
        ("more.x", "x"),
        ("more.99999", "x"),
        ("outcome.x", "x"),
        ("", ""),
    ]
    page = pat.post(DRAFT, [*form.fields, *extra, ("then", "nonsense:x")])
    assert page.location == DRAFT
    content = site.desk.drafts.load(KEY, _account(site)).content
    assert content.additional == ()
    assert set(content.answers) == {"fails", "log", "seconds"}


def test_an_outcome_that_is_none_is_a_test_that_was_done(site: Site) -> None:
    pat = site.tester()
    fields = [one for one in pat.claim().form(DRAFT).fields if one[0] != "outcome"]
    page = pat.post(DRAFT, [*fields, ("outcome", "confirmed")])
    assert page.form(DRAFT).values("outcome") == ["completed"]


@pytest.mark.parametrize("revision", ["", "x", "-1", "1.0"])
def test_a_revision_that_is_none_is_refused_with_the_text(site: Site, revision: str) -> None:
    pat = site.tester()
    form = written(pat.claim()).fill("revision", revision)
    page = pat.press(form, "save")
    assert page.status == 400
    assert "on the night build" in page.text
    assert site.desk.drafts.load(KEY, _account(site)).revision == 0


def test_an_answer_of_the_wrong_kind_is_kept_and_marked(site: Site) -> None:
    pat = site.tester()
    form = written(pat.claim()).fill("answer.seconds", "half a second")
    page = pat.press(form, "preview")
    assert page.location == f"{TEST}/preview"
    assert f"{DRAFT}?check=1#a-seconds" in page.links
    assert not page.offers(f"{TEST}/confirm")
    form_page = pat.get(f"{DRAFT}?check=1")
    assert form_page.form(DRAFT).values("answer.seconds") == ["half a second"]
    marked = [found for _, found in form_page.tags if "aria-invalid" in found]
    assert {found["id"] for found in marked} == {"a-seconds", "a-log"}
    ids = {found.get("id") for _, found in form_page.tags}
    anchors = {one.partition("#")[2] for one in form_page.links if one.startswith("#a-")}
    assert anchors == {"a-seconds", "a-log"}
    assert anchors <= ids


def test_a_session_that_ended_in_mid_draft_loses_nothing(site: Site) -> None:
    pat = site.tester()
    form = written(pat.claim()).fill("remarks", HOSTILE)
    site.desk.sessions.end_all(_account(site).account_id)
    refused = pat.script(DRAFT, form.fields)
    assert (refused.status, refused.json()["error"]["kind"]) == (401, "not_logged_in")
    asks = pat.press(form, "save")
    assert asks.status == 401
    login = asks.form("/login").fill("name", "pat").fill("password", "correct horse battery staple")
    again = pat.press(login, login.buttons[-1][2].strip())
    saved = pat.press(again.form(DRAFT), again.form(DRAFT).buttons[0][2].strip())
    assert saved.form(DRAFT).values("remarks") == [HOSTILE]
    assert saved.form(DRAFT).values("answer.fails") == ["yes"]


def test_ids_with_dots_and_any_text_are_asked_and_answered(
    tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    folder = tmp_path / "dots"
    asked = [
        RequestedObservation(id="a.text", text="Which text?", kind="text"),
        RequestedObservation(id="a.text.uploads", text=HOSTILE * 30, kind="text"),
        RequestedObservation(id="more.0", text="More?", kind="text"),
    ]
    ask(folder, observations=asked, environment=[])
    site = make_site(folder)
    pat = site.tester()
    form = pat.claim().form(DRAFT).fill("answer.a.text", "one").fill("answer.more.0", "two")
    page = pat.press(form, "preview")
    assert f"{DRAFT}?check=1#a-a.text.uploads" in page.links
    content = site.desk.drafts.load(KEY, _account(site)).content
    assert content.answers["a.text"] == Answer(text="one")
    assert content.answers["more.0"] == Answer(text="two")
    assert content.additional == ()


def test_the_form_is_written_in_the_readers_language(site: Site) -> None:
    page = site.tester(language="de").claim()
    assert "Was haben Sie gesehen?" in page.text
    assert "Antwort prüfen" in page.text
    # What was asked stays in the words of whoever asked.
    assert "How long did it take?" in page.text


def test_a_service_that_cannot_write_gives_the_text_back(
    make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE", 0.05)
    site = make_site()
    pat = site.tester()
    form = written(pat.claim())
    with closing(sqlite3.connect(site.folder / "state" / "testers.sqlite3")) as other:
        other.execute("BEGIN IMMEDIATE")
        page = pat.press(form, "save")
        other.execute("ROLLBACK")
    assert page.status == 503
    assert "That didn't work" in page.text
    assert "on the night build" in page.text
    # The page can be gone back from, and then saves.
    assert pat.press(form, "save").location == DRAFT
