"""Logging in and out, codes, and what a session's cookie is like."""

from __future__ import annotations

import pytest

from vstore.testing.clock import FrozenClock
from vstore.testing.testers_page import ADDRESS, PASSWORD, TEST, Site, Visitor
from vstore.web.app import create_app
from vstore.web.login_again import safe_path
from vstore.web.settings import Settings

HOUR = 3600


def tried(visitor: Visitor, name: str, password: str) -> str:
    """What the login page says to a name and a password that are refused."""
    page = visitor.log_in(name, password)
    assert page.location == "/login"
    assert page.status in (422, 429)
    assert not visitor.client.cookies
    (said, beside) = [line.strip() for line in page.text.splitlines() if "password" in line][:2]
    assert beside == f"Error: {said}"
    return said


def test_whoever_asks_for_a_page_gets_there_after_the_login(site: Site) -> None:
    site.account("pat")
    visitor = site.visitor()
    page = visitor.get(f"{TEST}?a=b%26c")
    assert page.location.startswith("/login?next=")
    form = page.form("/login").fill("name", "PAT").fill("password", PASSWORD)
    page = visitor.press(form, "Log in")
    assert page.location == f"{TEST}?a=b%26c"
    assert "pat" in page.text
    # Who is logged in needs no login page.
    assert visitor.get(f"/login?next={TEST}").location == TEST
    page = visitor.press(page.form("/logout"), "Log out")
    assert page.location == "/login"
    assert "You are logged out." in page.text
    assert visitor.get("/").location == "/login"
    # The notice is said once.
    assert "You are logged out." not in visitor.get("/login").text


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        ("/", "/"),
        ("/r/a/b/c?x=%2F", "/r/a/b/c?x=%2F"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
        ("/a\nb", "/"),
        ("/a\tb", "/"),
        ("/ä", "/"),
        ("/" + "a" * 2000, "/"),
    ],
)
def test_a_login_leads_to_no_other_site(path: str, safe: str) -> None:
    assert safe_path(path) == safe


def test_a_login_that_names_another_site_stays_here(site: Site) -> None:
    site.account("pat")
    visitor = site.visitor()
    fields = [("name", "pat"), ("password", PASSWORD), ("next", "//evil.example/")]
    assert visitor.post("/login", fields).location == "/"


def test_a_refusal_does_not_say_what_was_wrong(site: Site) -> None:
    site.account("pat")
    site.account("gone")
    site.desk.accounts.disable("gone", by="tests")
    site.desk.accounts.add("new", by="tests")
    said = {
        tried(site.visitor(), name, password)
        for name, password in [
            ("pat", "wrong password"),
            ("nobody", PASSWORD),
            ("gone", PASSWORD),
            ("new", PASSWORD),
            ("pat", PASSWORD + "\0"),
        ]
    }
    assert said == {"Name and password don't fit together. Please check both."}


def test_what_is_missing_is_said_beside_its_field(site: Site) -> None:
    page = site.visitor().log_in("", "")
    assert page.status == 422
    fields = {found["id"]: found for tag, found in page.tags if tag == "input" and "id" in found}
    for name in ("name", "password"):
        assert f"#{name}" in page.links
        assert fields[name]["aria-invalid"] == "true"
        assert fields[name]["aria-describedby"] == f"{name}-error"
        assert any(found.get("id") == f"{name}-error" for _, found in page.tags)
    # A password never comes back.
    page = site.visitor().log_in("", "secret words")
    assert b"secret words" not in page.content


def test_too_many_tries_are_refused_also_with_the_right_password(site: Site) -> None:
    site.account("pat")
    visitor = site.visitor()
    for _ in range(10):
        visitor.log_in("pat", "wrong password")
    page = visitor.log_in("pat", PASSWORD)
    assert page.status == 429
    assert "Too many attempts. Try again in 15 min." in page.text
    assert isinstance(site.clock, FrozenClock)
    site.clock.tick(900)
    assert visitor.log_in("pat", PASSWORD).location == "/"


def test_a_login_has_a_session_of_its_own(site: Site) -> None:
    site.account("pat")
    visitor = site.visitor()
    # What somebody planted before is nobody's session, and isn't taken over.
    assert visitor.get("/", cookie="vstore=planted").location == "/login"
    fields = [("name", "pat"), ("password", PASSWORD)]
    visitor.post("/login", fields, cookie="vstore=planted")
    first = visitor.client.cookies["vstore"]
    assert first != "planted"
    visitor.post("/login", fields)
    second = visitor.client.cookies["vstore"]
    assert second != first
    assert visitor.get("/").location == "/"
    old = site.visitor()
    old.client.cookies.set("vstore", first)
    assert old.get("/").location == "/login"


def test_a_forged_session_is_none(site: Site) -> None:
    site.tester("pat")
    for secret in ("x", "", "a" * 43, "\x7f", '"'):
        visitor = site.visitor()
        headers = {"cookie": f"vstore={secret}"}
        assert visitor.get("/", **headers).location == "/login"
        assert visitor.post("/account", [("zone", "")], **headers).status == 401


@pytest.mark.parametrize("seconds", [12 * HOUR, 8 * 24 * HOUR])
def test_a_session_ends_by_itself(site: Site, seconds: int) -> None:
    visitor = site.tester()
    assert isinstance(site.clock, FrozenClock)
    site.clock.tick(seconds)
    assert visitor.get("/").location == "/login"


def test_a_session_that_is_used_ends_after_a_week(site: Site) -> None:
    visitor = site.tester()
    assert isinstance(site.clock, FrozenClock)
    for _ in range(7 * 24 // 8):
        assert visitor.get("/").location == "/"
        site.clock.tick(8 * HOUR)
    assert visitor.get("/").location == "/login"


def test_a_code_becomes_a_password_once(site: Site) -> None:
    site.desk.accounts.add("pat", by="tests")
    code = site.desk.enrolment.new_code("pat", by="tests")
    visitor = site.visitor()
    form = visitor.get("/enrol").form("/enrol")
    form.fill("code", f" {code.lower()} ").fill("password", PASSWORD)
    page = visitor.press(form.fill("password_again", PASSWORD), "Set password and log in")
    assert page.location == "/"
    assert "Welcome." in page.text
    again = site.visitor()
    fields = [("code", code), ("password", PASSWORD), ("password_again", PASSWORD)]
    page = again.post("/enrol", fields)
    assert page.status == 422
    assert "This code isn't valid, or not any more." in page.text


@pytest.mark.parametrize(
    ("password", "again", "says"),
    [
        ("short", "short", "The password needs at least 12 characters."),
        ("x" * 1025, "x" * 1025, "The password may have 1024 characters at most."),
        (PASSWORD, PASSWORD + " ", "The two passwords differ."),
    ],
)
def test_a_code_is_not_used_up_by_a_bad_password(
    site: Site, password: str, again: str, says: str
) -> None:
    site.desk.accounts.add("pat", by="tests")
    code = site.desk.enrolment.new_code("pat", by="tests")
    fields = [("code", code), ("password", password), ("password_again", again)]
    page = site.visitor().post("/enrol", fields)
    assert page.status == 422
    assert says in page.text
    assert page.form("/enrol").values("code") == [code]
    assert page.form("/enrol").values("password") == [""]
    assert site.desk.enrolment.redeem(code, PASSWORD).name == "pat"


def test_a_code_begins_a_session_of_its_own(site: Site) -> None:
    browser = site.tester("pat")
    before = browser.client.cookies["vstore"]
    site.desk.accounts.add("kim", by="tests")
    code = site.desk.enrolment.new_code("kim", by="tests")
    fields = [("code", code), ("password", PASSWORD), ("password_again", PASSWORD)]
    assert browser.post("/enrol", fields).location == "/"
    # As with a login, who was logged in here before isn't any more.
    assert site.desk.sessions.find(before) is None


def test_what_others_tried_from_here_does_not_hide_that_a_password_is_set(site: Site) -> None:
    site.desk.accounts.add("kim", by="tests")
    kim = site.visitor()
    for _ in range(10):
        kim.log_in("kim", "wrong password")
    assert kim.log_in("kim", "wrong password").status == 429
    code = site.desk.enrolment.new_code("kim", by="tests")
    fields = [("code", code), ("password", PASSWORD), ("password_again", PASSWORD)]
    page = kim.post("/enrol", fields)
    assert (page.status, page.location) == (200, "/")
    for number in range(60):
        site.visitor().log_in(f"nobody-{number}", "wrong password")
    assert site.visitor().log_in("kim", PASSWORD).status == 429
    other = "other horse battery"
    page = kim.post(
        "/account/password",
        [("password_now", PASSWORD), ("password", other), ("password_again", other)],
    )
    assert (page.status, page.location) == (200, "/account")


def test_an_office_enrols_from_one_address(site: Site) -> None:
    for number in range(21):
        site.desk.accounts.add(f"pat {number}", by="tests")
        code = site.desk.enrolment.new_code(f"pat {number}", by="tests")
        fields = [("code", code), ("password", PASSWORD), ("password_again", PASSWORD)]
        assert site.visitor().post("/enrol", fields).location == "/"


def test_codes_are_guessed_no_longer_from_the_next_address_of_a_household(site: Site) -> None:
    statuses = []
    fields = [("code", "AAAAA-BBBBB"), ("password", PASSWORD), ("password_again", PASSWORD)]
    for number in range(21):
        visitor = site.visitor()
        visitor.client._transport.client = (f"2001:db8::{number:x}", 1)
        statuses.append(visitor.post("/enrol", fields).status)
    assert statuses == [422] * 20 + [429]


def test_guessing_codes_ends_soon(site: Site) -> None:
    visitor = site.visitor()
    fields = [("code", "AAAAA-AAAAA"), ("password", PASSWORD), ("password_again", PASSWORD)]
    assert [visitor.post("/enrol", fields).status for _ in range(20)] == [422] * 20
    assert visitor.post("/enrol", fields).status == 429
    assert "Type the one-time code." in visitor.post("/enrol", [("password", "x")]).text


@pytest.mark.parametrize(
    ("public", "name", "secure"),
    [(None, "vstore", False), ("https://tests.example.org", "__Host-vstore", True)],
)
def test_the_cookie_is_for_this_page_alone(
    site: Site, public: str | None, name: str, secure: bool
) -> None:
    site.account("pat")
    visitor = Visitor(create_app(site.desk, Settings.listening("127.0.0.1", 8484, public)))
    headers = {"host": (public or ADDRESS).partition("//")[2], "sec-fetch-site": "same-origin"}
    response = visitor.client.post(
        "/login",
        data={"name": "pat", "password": PASSWORD},
        headers=headers,
        follow_redirects=False,
    )
    (cookie,) = response.headers.get_list("set-cookie")
    value, *attributes = cookie.split("; ")
    assert value.startswith(f"{name}=")
    expected = {"HttpOnly", "Path=/", "SameSite=lax"} | ({"Secure"} if secure else set())
    assert set(attributes) == expected
