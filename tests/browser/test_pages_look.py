"""Every page and state: no fault that axe finds, and a picture of it for whoever wants one.

``pytest -m deep tests/browser/test_pages_look.py --pictures FOLDER`` keeps the pictures. The one
that the README shows is ``tour.png``: docs/images/testers-page.png.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from .conftest import Service, Visit
from .visitor import Visitor

pytestmark = pytest.mark.deep

LOOKS = {
    "desk": {"viewport": {"width": 1100, "height": 800}},
    "dark": {"viewport": {"width": 1100, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "german": {"viewport": {"width": 1100, "height": 800}, "locale": "de-DE"},
}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Album:
    """Looks at pages, and keeps a picture where somebody wants one."""

    def __init__(self, folder: Path | None, look: str) -> None:
        self._folder = folder
        self._look = look
        self._axe = Axe()

    def tour(self, page: Page) -> None:
        """The picture of the README: what fits a window, as it comes up."""
        if self._folder is not None and self._look == "desk":
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=self._folder / "tour.png")

    def look(self, page: Page, name: str) -> None:
        """The page as it is now, by the rules of WCAG 2.2 AA as far as a program can tell."""
        page.wait_for_load_state("networkidle")
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=self._folder / f"{name}-{self._look}.png", full_page=True)
        found = self._axe.run(page, options={"runOnly": {"type": "tag", "values": WCAG}})
        faults = [
            (one["id"], one["impact"], [node["html"] for node in one["nodes"]])
            for one in found.response["violations"]
            if one["impact"] in ("serious", "critical", "moderate")
        ]
        assert faults == [], f"{name}, {self._look}"


@pytest.fixture(params=sorted(LOOKS))
def look(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def album(look: str, request: pytest.FixtureRequest) -> Album:
    folder = request.config.getoption("--pictures")
    return Album(None if folder is None else Path(folder), look)


def _send(pat: Visitor, path: Path) -> None:
    expect(pat.page.locator("#files [data-with-script]").first).to_be_visible()
    pat.page.locator("#files input[type=file]").set_input_files(str(path))
    expect(pat.page.locator("#files .file-name").first).to_be_visible()


def test_of_a_tester(
    service: Service, visit: Visit, album: Album, look: str, tmp_path: Path
) -> None:
    shot = tmp_path / "screen.png"
    pat = visit("Pat", **LOOKS[look])
    kim = visit("Kim", **LOOKS[look])
    pat.page.screenshot(path=shot)
    pat.page.goto("/")
    album.look(pat.page, "list")
    for show in ("mine", "overdue", "done"):
        pat.page.goto(f"/?show={show}")
        album.look(pat.page, f"empty-{show}")
    pat.page.goto("/")
    pat.page.locator(".card-title a").click()
    pat.at("/test-1")
    album.look(pat.page, "request")
    test = pat.page.url
    pat.page.locator("form[action$='/claim'] button").click()
    expect(pat.page.locator("form[data-draft]")).to_be_visible()
    album.look(pat.page, "draft-empty")
    pat.page.locator("[name='answer.fails'][value=yes]").check()
    pat.page.locator("[name='answer.log']").fill("It divides by zero.")
    _send(pat, shot)
    pat.saved()
    album.look(pat.page, "draft")
    pat.page.reload()
    album.tour(pat.page)
    kim.page.goto(test)
    album.look(kim.page, "request-held")
    # Something is missing.
    pat.page.locator("button[name=then][value=preview]").locator("visible=true").first.click()
    pat.at("/preview")
    album.look(pat.page, "faults")
    pat.page.goto(f"{test}/draft")
    pat.page.locator("[name='answer.seconds']").fill("0.5")
    for box in pat.page.locator("[name='files.log']").all():
        box.check()
    pat.saved()
    # A second window, and two texts.
    other = pat.context.new_page()
    other.goto(f"{test}/draft")
    pat.page.locator("[name='answer.log']").fill("It divides by zero, twice.")
    pat.saved()
    other.locator("[name='answer.log']").fill("It divides by one.")
    expect(other.locator("[data-notice] a")).to_be_visible()
    album.look(other, "draft-stale")
    other.locator("[data-notice] a").click()
    expect(other).to_have_url(re.compile("/conflict$"))
    album.look(other, "conflict")
    other.locator("button[name=then][value=chosen]").click()
    expect(other).to_have_url(re.compile("/draft$"))
    other.close()
    pat.page.goto(f"{test}/uploads")
    album.look(pat.page, "uploads")
    pat.page.goto(f"{test}/draft")
    pat.page.locator("button[name=then][value=preview]").locator("visible=true").first.click()
    expect(pat.page.locator("form.confirm")).to_be_visible()
    album.look(pat.page, "preview")
    pat.page.locator("form.confirm button").click()
    pat.at("/receipt")
    album.look(pat.page, "receipt")
    kim.page.goto(test)
    album.look(kim.page, "request-answered")
    kim.page.goto("/?show=done")
    album.look(kim.page, "list-done")


def test_of_somebody_who_was_superseded(
    service: Service, visit: Visit, album: Album, look: str
) -> None:
    pat, kim = visit("Pat", **LOOKS[look]), visit("Kim", **LOOKS[look])
    pat.page.goto("/")
    pat.page.locator(".card-title a").click()
    pat.at("/test-1")
    test = pat.page.url
    pat.page.locator("form[action$='/claim'] button").click()
    pat.page.locator("[name='answer.log']").fill("Mine.")
    pat.saved()
    service.end_leases()
    kim.page.goto(test)
    album.look(kim.page, "request-lapsed")
    kim.page.locator("form[action$='/claim'] button").click()
    expect(kim.page.locator("form[data-draft]")).to_be_visible()
    pat.page.locator("[name='answer.log']").fill("Mine, still.")
    expect(pat.page.locator("[data-notice] a")).to_be_visible()
    album.look(pat.page, "draft-superseded")
    pat.page.goto(f"{test}/draft")
    album.look(pat.page, "draft-kept")
    service.age_sessions()
    kim.page.goto("/")
    album.look(kim.page, "login")


def test_of_an_administrator(service: Service, visit: Visit, album: Album, look: str) -> None:
    boss = visit("Boss", admin=True, **LOOKS[look])
    for place, name in (
        ("/admin/testers", "testers"),
        ("/admin/audit", "activity"),
        ("/account", "account"),
        ("/nowhere", "error-404"),
        ("/enrol", "enrol"),
    ):
        boss.page.goto(place)
        album.look(boss.page, name)
    boss.page.goto("/admin/testers")
    boss.page.locator("main form [name=name]").fill("Kim")
    boss.page.locator("main form button.primary").first.click()
    expect(boss.page.locator("h1 bdi")).to_have_text("Kim")
    album.look(boss.page, "code")
