"""German, keyboard alone, without script, on a phone, overdue: the same page for everybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import PAST, Service, Visit
from .visitor import QUESTION

pytestmark = pytest.mark.deep


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app.log"
    path.write_bytes(b"ZeroDivisionError\n")
    return path


def test_in_german(service: Service, visit: Visit) -> None:
    """The page is German; what the investigator wrote stays as it is."""
    pat = visit("Pat", locale="de-DE")
    pat.page.goto("/")
    expect(pat.page.locator("html")).to_have_attribute("lang", "de")
    expect(pat.page.locator("header")).to_contain_text("Abmelden")
    expect(pat.page.get_by_role("link", name=QUESTION)).to_be_visible()
    # The deadline, 12:00 UTC, as it is in the reader's zone, and in UTC.
    deadline = pat.page.locator(".card time").first.inner_text()
    assert "13:00" in deadline
    assert "12:00" in deadline
    assert "UTC" in deadline


def test_the_reader_chooses_another_language(visit: Visit) -> None:
    pat = visit("Pat")
    pat.page.goto("/")
    pat.click("Deutsch")
    expect(pat.page.locator("html")).to_have_attribute("lang", "de")
    pat.page.reload()
    expect(pat.page.locator("html")).to_have_attribute("lang", "de")


def test_with_the_keyboard_alone(service: Service, visit: Visit) -> None:
    """From the list to the receipt with Tab, Space, Enter, arrows and typing."""
    pat = visit("Pat")
    page = pat.page
    page.goto("/")

    def focus(what: str) -> None:
        """Press Tab until the focus is on something; it must be visible there."""
        for _ in range(120):
            page.keyboard.press("Tab")
            found = page.evaluate(
                """() => { const one = document.activeElement;
                    const label = one.labels?.[0]?.innerText ?? "";
                    const box = one.getBoundingClientRect();
                    return [`${one.innerText ?? ""} ${label} ${one.id}`,
                            box.width > 0 && box.height > 0]; }"""
            )
            if what in found[0]:
                return
        raise AssertionError(f"Tab never reached {what}")

    def follow(to: str) -> None:
        """Press Enter, which leads to another page."""
        page.keyboard.press("Enter")
        expect(page.locator(to)).to_be_visible()
        page.wait_for_load_state()

    focus("Skip to the content")
    page.keyboard.press("Enter")
    focus(QUESTION)
    follow("form[action$='/claim']")
    focus("Take this test")
    follow("form[data-draft]")
    focus("outcome-completed")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#outcome-unable")).to_be_checked()
    focus("remarks")
    page.keyboard.type("There is no such machine here.")
    focus("Check the answer")
    follow("form[action$='/confirm']")
    focus("Confirm the answer")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. Your answer is stored.")
    assert service.snapshot().outstanding is None


def test_without_script(service: Service, visit: Visit, log: Path) -> None:
    pat = visit("Pat", java_script_enabled=False)
    pat.take()
    pat.choose("Does it fail?", "Yes")
    pat.write("What does the log say?", "It divides by zero.")
    pat.write("How long did it take?", "0.5")
    pat.group("What does the log say?").get_by_role("button", name="Save and add files").click()
    pat.page.locator("#file").set_input_files(str(log))
    pat.click("Send")
    group = pat.group("What does the log say?")
    expect(group.get_by_role("checkbox")).to_be_checked()
    expect(group.locator("textarea")).to_have_value("It divides by zero.")
    pat.confirm()
    assert service.snapshot().outstanding is None
    assert "verified" in service.verify()


def test_on_a_phone(service: Service, visit: Visit, log: Path) -> None:
    """Nothing is cut off, nothing scrolls sideways, and what is touched is large enough."""
    pat = visit("Pat", viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)

    def fits() -> None:
        wide = pat.page.evaluate("document.scrollingElement.scrollWidth")
        assert wide <= 320, pat.page.url
        small = pat.page.evaluate(
            """() => [...document.querySelectorAll("button, input, a.button, summary, textarea")]
                .map((one) => [one, (one.closest("label") ?? one).getBoundingClientRect()])
                .filter(([one, box]) => box.width > 1 && box.height > 1 && box.height < 24
                    && getComputedStyle(one).visibility === "visible")
                .map(([one]) => one.outerHTML)"""
        )
        assert small == []

    pat.page.goto("/")
    fits()
    pat.open()
    pat.at("/test-1")
    fits()
    pat.click("Take this test")
    pat.at("/draft")
    pat.answer(log)
    pat.saved()
    fits()
    pat.click("Check the answer")
    pat.at("/preview")
    fits()
    pat.click("Confirm the answer")
    pat.at("/receipt")
    fits()
    assert service.snapshot().outstanding is None


def test_a_deadline_that_has_passed_is_only_shown(
    tmp_path: Path, service: Service, visit: Visit
) -> None:
    """Overdue is a mark: the test can be taken and answered as any other."""
    late = Service(tmp_path / "late")
    late.hand_out(deadline=PAST)
    service.stop()
    late.start()
    service.url, service.workspace = late.url, late.workspace
    try:
        pat = visit("Pat")
        pat.page.goto("/?show=overdue")
        expect(pat.page.locator(".card")).to_contain_text("Overdue")
        pat.take()
        pat.page.locator("#outcome-unable").check()
        pat.page.locator("#remarks").fill("No machine.")
        pat.confirm()
        assert late.snapshot().package.state == "INVESTIGATING_HYPOTHESES"
    finally:
        late.stop()
