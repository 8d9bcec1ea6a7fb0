"""What testers type and upload does nothing in another's browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Service, Visit

pytestmark = pytest.mark.deep

MARK = "document.documentElement.dataset.owned = '1'"
HTML = f"<!doctype html><title>x</title><script>{MARK}</script><h1 onclick=1>page</h1>"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{MARK}"><script>{MARK}</script></svg>'
#: A GIF by its first bytes, a script by the rest.
POLYGLOT = b"GIF89a/*\x01\x00\x01\x00*/=1;" + MARK.encode() + b";\x3b"
TEXT = f'"><script>{MARK}</script><img src=x onerror="{MARK}">{{{{7*7}}}} \u202etxt.exe'


def _nothing_ran(page: Page) -> None:
    page.wait_for_load_state("load")
    assert page.evaluate("document.documentElement.dataset.owned ?? null") is None
    assert "49" not in page.locator("main").inner_text().split()


def test_hostile_texts_are_shown_as_they_are(service: Service, visit: Visit) -> None:
    pat, kim = visit("Pat"), visit("<b onclick=1>Kim</b> & 'Co'", admin=True)
    pat.take()
    pat.page.locator("#outcome-unable").check()
    pat.page.locator("#remarks").fill(TEXT)
    pat.saved()
    pat.page.reload()
    _nothing_ran(pat.page)
    expect(pat.page.locator("#remarks")).to_have_value(TEXT)
    pat.click("Check the answer")
    pat.at("/preview")
    _nothing_ran(pat.page)
    expect(pat.page.locator("main")).to_contain_text("onerror=")
    pat.click("Confirm the answer")
    pat.at("/receipt")
    _nothing_ran(pat.page)
    for place in ("/?show=done", "/admin/audit", "/admin/testers", "/account"):
        kim.page.goto(place)
        _nothing_ran(kim.page)
        expect(kim.page.locator("header .who")).to_contain_text("<b onclick=1>Kim</b>")
    assert "verified" in service.verify()


@pytest.mark.parametrize(
    ("name", "content"),
    [("page.html", HTML.encode()), ("picture.svg", SVG.encode()), ("both.gif", POLYGLOT)],
    ids=["html", "svg", "polyglot"],
)
def test_hostile_files_do_nothing(
    service: Service, visit: Visit, tmp_path: Path, name: str, content: bytes
) -> None:
    pat = visit("Pat")
    pat.take()
    path = tmp_path / name
    path.write_bytes(content)
    pat.give("What does the log say?", path)
    _nothing_ran(pat.page)
    link = pat.page.locator(".files .file-name").first
    address = link.get_attribute("href")
    assert address is not None
    # Followed as a link it is saved, never shown.
    with pat.page.expect_download() as downloading:
        link.click()
    assert Path(downloading.value.path()).read_bytes() == content
    assert downloading.value.suggested_filename == name
    # As a page, a script, a picture of a page, a frame: nothing runs.
    answer = pat.context.request.get(address)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "html" not in answer.headers["content-type"]
    assert "svg" not in answer.headers["content-type"]
    pat.page.evaluate(
        """async (address) => {
            for (const [tag, member] of [["script", "src"], ["iframe", "src"], ["object", "data"],
                                         ["embed", "src"], ["img", "src"]]) {
                const one = document.createElement(tag);
                one[member] = address;
                const ended = new Promise((done) => { one.onload = one.onerror = done; });
                document.body.append(one);
                await Promise.race([ended, new Promise((done) => setTimeout(done, 300))]);
            }
        }""",
        address,
    )
    assert pat.page.evaluate("document.documentElement.dataset.owned ?? null") is None
    for frame in pat.page.frames:
        assert frame.evaluate("document.documentElement.dataset.owned ?? null") is None
    # The browser says what it was kept from: that is what this test is about.
    refused = ("Content Security Policy", "Refused to execute script")
    pat.wrong[:] = [one for one in pat.wrong if not any(words in one for words in refused)]


def test_hostile_names_of_files(visit: Visit, tmp_path: Path) -> None:
    pat = visit("Pat")
    pat.take()
    name = "'><img src=x onerror=alert(1)>.txt"
    path = tmp_path / name
    path.write_bytes(b"x\n")
    pat.give("What does the log say?", path)
    _nothing_ran(pat.page)
    expect(pat.page.locator(".files .file-name").first).to_have_text(name)


def test_another_site_can_do_nothing(visit: Visit) -> None:
    """A form on a page of another origin, sent with the tester's own cookies."""
    pat = visit("Pat")
    pat.open()
    address = f"{pat.page.url}/claim"
    pat.page.route(
        "http://127.0.0.2/**",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<form method="post" action="{address}"><button>Win</button></form>',
        ),
    )
    pat.places.append("http://127.0.0.2/")
    pat.page.goto("http://127.0.0.2/")
    pat.page.get_by_role("button", name="Win").click()
    expect(pat.page.get_by_role("heading", level=1)).to_have_text("This came from another page")
    pat.page.goto("/")
    expect(pat.page.locator(".card")).to_contain_text("Free")
