"""What administrators may, what others may not, and that it holds at once."""

from __future__ import annotations

import re

import pytest

from vstore.testing.testers_page import PASSWORD, TEST, Page, Site, Visitor

CODE = re.compile(r"[0-9A-HJKMNP-TV-Z]{5}(?:-[0-9A-HJKMNP-TV-Z]{5}){3}")
HOSTILE = '<img src=x onerror="alert(1)">'


def admin(site: Site) -> Visitor:
    return site.tester("ada", role="admin")


def address(site: Site, name: str) -> str:
    """The page of an account."""
    return f"/admin/testers/{site.desk.accounts.get(name).account_id}"


def shown(page: Page, field: str) -> str:
    """What stands in a field to be copied."""
    (value,) = [found["value"] for _, found in page.tags if found.get("id") == field]
    return value


def test_an_administrator_adds_a_tester_who_then_logs_in(site: Site) -> None:
    visitor = admin(site)
    form = visitor.get("/admin").form("/admin/testers").fill("name", "Grünwald")
    page = visitor.press(form, "Add, and show the code")
    code = shown(page, "code")
    assert CODE.fullmatch(code)
    assert shown(page, "address") == "http://127.0.0.1:8484/enrol"
    assert page.headers["cache-control"] == "no-store"
    # It stands nowhere else.
    for path in ("/admin/testers", address(site, "Grünwald"), "/admin/audit"):
        assert code.encode() not in visitor.get(path).content
    newcomer = site.visitor()
    form = newcomer.get("/enrol").form("/enrol").fill("code", code).fill("password", PASSWORD)
    page = newcomer.press(form.fill("password_again", PASSWORD), "Set password and log in")
    assert page.location == "/"
    assert not [link for link in page.links if link.startswith("/admin")]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "A name has 1 to 64 printable characters"),
        ("x" * 65, "A name has 1 to 64 printable characters"),
        ("a\u202eb", "A name has 1 to 64 printable characters"),
        ("operator:me", "A name has 1 to 64 printable characters"),
        ("ADA", "There is somebody of that name already."),
    ],
)
def test_a_name_is_checked(site: Site, name: str, says: str) -> None:
    visitor = admin(site)
    form = visitor.get("/admin/testers").form("/admin/testers").fill("name", name)
    page = visitor.press(form.fill("role", "admin"), "Add, and show the code")
    assert page.status == 422
    assert says in page.text
    again = page.form("/admin/testers")
    assert (again.values("name"), again.values("role")) == ([name], ["admin"])
    assert len(site.desk.accounts.list()) == 1


def test_who_is_locked_out_is_out_at_once(site: Site) -> None:
    visitor, tester = admin(site), site.tester("pat")
    tester.claim()
    token = site.desk.tokens.create("pat", "bot", by="tests")
    page = visitor.press(visitor.get(address(site, "pat")).form(f"{address(site, 'pat')}/disable"),
                         "Lock out")  # fmt: skip
    assert "Locked out" in page.text
    assert tester.get("/").location == "/login"
    assert tester.post(f"{TEST}/draft", [("remarks", "late")]).status == 401
    assert tester.script(f"{TEST}/draft", [("remarks", "late")]).status == 401
    assert site.desk.tokens.find(token) is None
    assert site.visitor().log_in("pat").status == 422
    page = visitor.press(page.form(f"{address(site, 'pat')}/enable"), "Let in again")
    assert "May log in again." in page.text
    assert site.visitor().log_in("pat").location == "/"


def test_a_reset_ends_the_password_and_the_sessions(site: Site) -> None:
    visitor, tester = admin(site), site.tester("pat")
    form = visitor.get(address(site, "pat")).form(f"{address(site, 'pat')}/reset")
    code = shown(visitor.press(form, "Make a one-time code"), "code")
    assert tester.get("/").location == "/login"
    assert site.visitor().log_in("pat").status == 422
    assert site.desk.enrolment.redeem(code, PASSWORD).name == "pat"


def test_somebody_stays_administrator(site: Site) -> None:
    visitor = admin(site)
    page = visitor.press(visitor.get(address(site, "ada")).form(f"{address(site, 'ada')}/disable"),
                         "Lock out")  # fmt: skip
    assert page.status == 422
    assert "#disable" in page.links
    assert "this is the last one" in page.text
    assert visitor.get("/admin/testers").status == 200


def test_a_token_is_shown_once_and_can_be_made_void(site: Site) -> None:
    visitor = admin(site)
    site.desk.accounts.add("bot", by="tests")
    path = address(site, "bot")
    form = visitor.get(path).form(f"{path}/tokens")
    page = visitor.press(form.fill("label", HOSTILE), "Make a token")
    secret = shown(page, "token")
    found = site.desk.tokens.find(secret)
    assert found is not None
    assert found.name == "bot"
    page = visitor.get(path)
    assert secret.encode() not in page.content
    assert HOSTILE in page.text
    assert not [tag for tag, _ in page.tags if tag == "img"]
    page = visitor.press(page.form(f"{path}/tokens/1/revoke"), f"Make void {HOSTILE}")
    assert "The token is void." in page.text
    assert site.desk.tokens.find(secret) is None
    page = visitor.post(f"{path}/tokens", [("label", "")])
    assert page.status == 422
    assert "Say in 1 to 64 characters what the token is for." in page.text


def test_a_token_is_revoked_at_its_own_account(site: Site) -> None:
    visitor = admin(site)
    secret = site.desk.tokens.create("ada", "mine", by="tests")
    site.desk.accounts.add("bot", by="tests")
    assert visitor.post(f"{address(site, 'bot')}/tokens/1/revoke").status == 404
    assert visitor.post(f"{address(site, 'ada')}/tokens/{2**70}/revoke").status == 404
    assert site.desk.tokens.find(secret) is not None


@pytest.mark.parametrize("number", ["0", "99", str(2**63), str(2**70), "x", "-1"])
def test_an_account_that_is_none(site: Site, number: str) -> None:
    visitor = admin(site)
    assert visitor.get(f"/admin/testers/{number}").status == 404
    assert visitor.post(f"/admin/testers/{number}/disable").status == 404


def test_a_tester_may_nothing_here(site: Site) -> None:
    tester = site.tester("pat")
    site.account("sam")
    sam = address(site, "sam")
    for path in ("/admin", "/admin/testers", sam, "/admin/audit"):
        page = tester.get(path)
        assert page.status == 403, path
        assert "sam" not in page.text
    for path in (
        "/admin/testers",
        f"{sam}/disable",
        f"{sam}/enable",
        f"{sam}/reset",
        f"{sam}/tokens",
        f"{sam}/tokens/1/revoke",
    ):
        assert tester.post(path, [("name", "eve"), ("role", "admin")]).status == 403, path
    assert [one.name for one in site.desk.accounts.list()] == ["pat", "sam"]
    assert site.visitor().log_in("sam").location == "/"


def test_the_activity_says_who_did_what_when(site: Site) -> None:
    visitor, tester = admin(site), site.tester("pat", zone="Europe/Berlin")
    tester.claim()
    page = visitor.get("/admin/audit")
    text = " ".join(page.text.split())
    assert "pat took a test" in text
    assert "2 Jan 2026, 12:00 UTC" in text
    assert "pat logged in" in text
    assert "session.began" not in text
    with site.desk.database.transaction() as db:
        for number in range(60):
            site.desk.audit.note(db, HOSTILE, "unheard.of", reason=HOSTILE, number=number)
    page = visitor.get("/admin/audit")
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert "unheard.of" in page.text
    (older,) = [link for link in page.links if "before=" in link]
    page = visitor.get(older)
    assert "/admin/audit" in page.links
    assert "pat took a test" in " ".join(page.text.split())
    for before in ("x", "-1", "9" * 30, "0", "²"):
        assert visitor.get(f"/admin/audit?before={before}").status == 200
    assert "Nothing has happened yet." in visitor.get("/admin/audit?before=0").text


@pytest.mark.parametrize("number", ["x", "0", "-1", "1e3", "²", "9" * 19, "9" * 5000])
def test_a_number_in_an_address_may_be_anything(site: Site, number: str) -> None:
    admin = site.tester("Ada", role="admin")
    assert admin.get(f"/admin/testers/{number}").status == 404
    assert admin.post(f"/admin/testers/{number}/disable").status == 404
    ada = site.desk.accounts.get("Ada").account_id
    assert admin.post(f"/admin/testers/{ada}/tokens/{number}/revoke").status == 404
    # Nor does it trip over what somebody who isn't logged in asks for.
    assert site.visitor().get(f"/admin/testers/{number}").location.startswith("/login")
