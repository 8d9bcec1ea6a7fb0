"""A session that ends while somebody types: what was typed is sent after the next login."""

from __future__ import annotations

import pytest

from vstore.testing.clock import FrozenClock
from vstore.testing.testers_page import KEY, PASSWORD, TEST, Page, Site, Visitor

WRITTEN = 'First line.\n\n  <b>Third</b> & "last" ü\u202e'


def expired(site: Site) -> tuple[Visitor, Page]:
    """Somebody whose session ended while a draft was typed, and what they see."""
    visitor = site.tester("pat")
    draft = visitor.claim().form(f"{TEST}/draft")
    draft.fill("remarks", WRITTEN)
    assert isinstance(site.clock, FrozenClock)
    site.clock.tick(13 * 3600)
    button = draft.buttons[0][1] or draft.buttons[0][2].strip()
    return visitor, visitor.press(draft, button)


def remarks(site: Site) -> str:
    """What the service has of the draft."""
    account = site.desk.accounts.get("pat")
    return site.desk.drafts.load(KEY, account).content.remarks or ""


@pytest.mark.parametrize("tries", [0, 2])
def test_nothing_that_was_typed_is_lost(site: Site, tries: int) -> None:
    visitor, page = expired(site)
    assert page.status == 401
    assert "What you typed is kept in this page." in page.text
    assert remarks(site) == ""
    for _ in range(tries):
        form = page.form("/login").fill("name", "pat").fill("password", "wrong password")
        page = visitor.press(form, "Log in")
        assert page.status == 422
    form = page.form("/login").fill("name", "pat").fill("password", PASSWORD)
    page = visitor.press(form, "Log in")
    assert "You are logged in again" in page.text
    assert WRITTEN in page.text
    page = visitor.press(page.form(f"{TEST}/draft"), "Send it now")
    assert page.status == 200
    assert remarks(site) == WRITTEN


def test_somebody_else_who_logs_in_there_changes_nothing(site: Site) -> None:
    visitor, page = expired(site)
    site.account("sam")
    form = page.form("/login").fill("name", "sam").fill("password", PASSWORD)
    page = visitor.press(form, "Log in")
    page = visitor.press(page.form(f"{TEST}/draft"), "Send it now")
    assert page.status == 409
    assert remarks(site) == ""


def test_a_script_is_told_and_keeps_what_it_has(site: Site) -> None:
    visitor = site.tester()
    visitor.claim()
    assert isinstance(site.clock, FrozenClock)
    site.clock.tick(13 * 3600)
    page = visitor.script(f"{TEST}/draft", [("remarks", WRITTEN)])
    assert page.status == 401
    assert page.json()["error"]["kind"] == "not_logged_in"
    page = visitor.get(f"{TEST}/draft", accept="application/json")
    assert (page.status, page.json()["error"]["kind"]) == (401, "not_logged_in")


def test_passwords_are_never_sent_back(site: Site) -> None:
    fields = [("password_now", PASSWORD), ("password", "another one"), ("zone", "UTC")]
    page = site.visitor().post("/account/password", fields)
    assert page.status == 401
    assert PASSWORD.encode() not in page.content
    assert b"another one" not in page.content
    names = [name for name, _ in page.form("/login").fields]
    assert "again.zone" in names
    assert "again.password" not in names


@pytest.mark.parametrize(
    "again", ["//evil.example/", "javascript:alert(1)", "https://evil.example"]
)
def test_what_is_sent_again_goes_to_our_own_page(site: Site, again: str) -> None:
    site.account("pat")
    fields = [("name", "pat"), ("password", PASSWORD), ("again", again), ("again.a", "b")]
    page = site.visitor().post("/login", fields)
    assert page.offers("/")
    assert b"evil.example" not in page.content
    assert b"javascript" not in page.content


def test_a_page_on_the_way_offers_no_form_that_would_lose_it(site: Site) -> None:
    _, page = expired(site)
    assert [form.action for form in page.forms] == ["/login"]
