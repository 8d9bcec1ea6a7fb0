"""What people set for themselves."""

from __future__ import annotations

import pytest

from vstore.testing.testers_page import PASSWORD, TEST, Site

NEW = "four other words here"


def test_the_language_is_the_browsers_until_one_is_chosen(site: Site) -> None:
    visitor = site.visitor(language="de-CH,de;q=0.9,en;q=0.1")
    page = visitor.get("/login")
    assert page.headers["content-language"] == "de"
    assert ("html", {"lang": "de"}) in page.tags
    assert "Anmelden" in page.text
    page = visitor.press(page.form("/language"), "en")
    assert page.location == "/login"
    assert page.headers["content-language"] == "en"
    # In an account the choice holds in every browser.
    site.account("pat")
    page = visitor.log_in("pat")
    visitor.press(page.form("/language"), "de")
    other = site.visitor(language="fr")
    assert "Tests" in other.log_in("pat").text
    assert other.get("/account").headers["content-language"] == "de"
    assert ("select", {"id": "language", "name": "language"}) in other.get("/account").tags
    page = other.post("/account", [("language", ""), ("zone", "")])
    assert page.headers["content-language"] == "en"
    assert "Saved." in page.text


@pytest.mark.parametrize("language", ["", "xx", "en\r\nset-cookie: a=b", "../de"])
def test_an_unknown_language_changes_nothing(site: Site, language: str) -> None:
    visitor = site.visitor()
    page = visitor.post("/language", [("language", language), ("next", "//evil.example")])
    assert page.location == "/login"
    assert not visitor.client.cookies


def test_the_zone_is_the_browsers_until_one_is_chosen(site: Site) -> None:
    visitor = site.tester("pat", zone="Asia/Kathmandu")
    assert "3 Jan 2026, 17:45 +0545 (12:00 UTC)" in visitor.get(TEST).text
    form = visitor.get("/account").form("/account").fill("zone", "Europe/Berlin")
    page = visitor.press(form, "Save")
    assert "Times are those of Europe/Berlin, and UTC." in page.text
    assert page.form("/account").values("zone") == ["Europe/Berlin"]
    assert "3 Jan 2026, 13:00 CET (12:00 UTC)" in visitor.get(TEST).text
    visitor.press(page.form("/account").fill("zone", ""), "Save")
    assert "17:45 +0545" in visitor.get(TEST).text


@pytest.mark.parametrize("zone", ["../../etc/passwd", "Nowhere/At_All", "a" * 5000, "<b>"])
def test_a_zone_that_is_none_is_said(site: Site, zone: str) -> None:
    visitor = site.tester()
    form = visitor.get("/account").form("/account").fill("zone", zone)
    page = visitor.press(form, "Save")
    assert page.status == 422
    assert "There is no time zone of that name." in page.text
    assert page.form("/account").values("zone") == [zone]
    assert site.desk.accounts.get("pat").zone is None
    # Nor does a cookie of that name do anything.
    page = site.visitor(zone=zone).get("/login")
    assert "Times are UTC." in page.text


def test_a_new_password_ends_all_other_sessions(site: Site) -> None:
    site.account("pat")
    here, there = site.visitor(), site.visitor()
    here.log_in("pat")
    there.log_in("pat")
    before = here.client.cookies["vstore"]
    form = here.get("/account").form("/account/password")
    form.fill("password_now", PASSWORD).fill("password", NEW).fill("password_again", NEW)
    page = here.press(form, "Change password")
    assert page.location == "/account"
    assert "Your password is changed." in page.text
    assert here.client.cookies["vstore"] != before
    assert there.get("/").location == "/login"
    assert site.visitor().log_in("pat").status == 422
    assert site.visitor().log_in("pat", NEW).location == "/"


@pytest.mark.parametrize(
    ("now", "new", "again", "field", "says"),
    [
        ("wrong password", NEW, NEW, "password_now", "This isn't your password."),
        ("", NEW, NEW, "password_now", "Type your password as it is now."),
        (PASSWORD, "short", "short", "password", "at least 12 characters"),
        (PASSWORD, NEW, NEW + "x", "password_again", "The two passwords differ."),
    ],
)
def test_a_password_is_not_changed_by_mistake(
    site: Site, now: str, new: str, again: str, field: str, says: str
) -> None:
    visitor = site.tester()
    form = visitor.get("/account").form("/account/password")
    form.fill("password_now", now).fill("password", new).fill("password_again", again)
    page = visitor.press(form, "Change password")
    assert page.status == 422
    assert says in page.text
    assert f"#{field}" in page.links
    assert site.visitor().log_in("pat").location == "/"


def test_guessing_the_password_of_an_open_session_ends_soon(site: Site) -> None:
    visitor = site.tester()
    fields = [("password_now", "wrong password"), ("password", NEW), ("password_again", NEW)]
    said = [visitor.post("/account/password", fields).status for _ in range(11)]
    assert said == [422] * 10 + [429]
    assert visitor.post("/account/password", fields).headers["retry-after"] == "900"
