"""Reload, second window, a killed service, an ended session: what was typed is there again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import Service, Visit

pytestmark = pytest.mark.deep


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app.log"
    path.write_bytes(b"ZeroDivisionError\n")
    return path


def test_a_reload_shows_what_was_typed(visit: Visit, log: Path) -> None:
    pat = visit("Pat")
    pat.take()
    pat.answer(log)
    pat.saved()
    pat.page.reload()
    group = pat.group("What does the log say?")
    expect(group.locator("textarea")).to_have_value("It divides by zero.")
    expect(group.get_by_role("checkbox")).to_be_checked()
    expect(pat.group("How long did it take?").locator("input:not([type])")).to_have_value("0.5")


def test_a_killed_service_loses_nothing(service: Service, visit: Visit, log: Path) -> None:
    pat = visit("Pat")
    pat.take()
    pat.answer(log)
    pat.saved()
    service.stop(signal.SIGKILL)
    pat.write("What does the log say?", "Typed while nobody listened.")
    expect(pat.page.locator("[data-save-status]")).to_contain_text("no connection")
    service.start()
    # It is sent again by itself.
    pat.saved()
    pat.page.reload()
    group = pat.group("What does the log say?")
    expect(group.locator("textarea")).to_have_value("Typed while nobody listened.")
    expect(group.get_by_role("checkbox")).to_be_checked()
    pat.confirm()
    assert service.snapshot().outstanding is None
    assert "verified" in service.verify()


def test_an_ended_session_keeps_what_was_typed(service: Service, visit: Visit, log: Path) -> None:
    pat = visit("Pat")
    pat.take()
    pat.answer(log)
    pat.saved()
    service.age_sessions()
    pat.write("What does the log say?", "Typed after the session.")
    expect(pat.page.locator("[data-notice]")).to_contain_text("You are logged out")
    # Logging in in another window is enough.
    other = pat.context.new_page()
    other.goto("/login")
    other.locator("[name=name]").fill("Pat")
    other.locator("[name=password]").fill("correct horse battery")
    other.locator("main form button.primary").click()
    expect(other.locator("header .who")).to_contain_text("Pat")
    pat.saved()
    pat.page.reload()
    expect(pat.group("What does the log say?").locator("textarea")).to_have_value(
        "Typed after the session."
    )
    expect(pat.group("What does the log say?").get_by_role("checkbox")).to_be_checked()


def test_an_ended_session_without_script_keeps_what_was_typed(
    service: Service, visit: Visit
) -> None:
    pat = visit("Pat", java_script_enabled=False)
    pat.take()
    service.age_sessions()
    pat.write("What does the log say?", "Typed after the session.")
    pat.click("Save")
    expect(pat.page.get_by_role("heading", level=1)).to_have_text("Your session has ended")
    pat.log_in()
    pat.click("Send it now")
    expect(pat.group("What does the log say?").locator("textarea")).to_have_value(
        "Typed after the session."
    )


def test_a_second_window_is_refused_with_both_texts_kept(visit: Visit) -> None:
    pat = visit("Pat")
    pat.take()
    other = pat.context.new_page()
    other.goto(pat.page.url)
    expect(other.locator("[data-notice]")).to_contain_text("open in another window")
    pat.write("What does the log say?", "From the first window.")
    pat.saved()
    box = other.get_by_role("group", name="What does the log say?").locator("textarea")
    box.fill("From the second window.")
    expect(other.locator("[data-notice]")).to_contain_text("Both texts are kept")
    other.get_by_role("link", name="Compare the two texts").first.click()
    row = other.get_by_role("group", name="What does the log say?")
    expect(row).to_contain_text("From the first window.")
    expect(row).to_contain_text("From the second window.")
    row.get_by_label("Both, one after the other").check()
    other.get_by_role("button", name="Go on with what is chosen").click()
    kept = other.get_by_role("group", name="What does the log say?").locator("textarea")
    assert kept.input_value().split() == [
        *["From", "the", "first", "window."],
        *["From", "the", "second", "window."],
    ]


def test_a_stale_form_without_script_keeps_both_texts(visit: Visit) -> None:
    pat = visit("Pat", java_script_enabled=False)
    pat.take()
    other = pat.context.new_page()
    other.goto(pat.page.url)
    pat.write("What does the log say?", "From the first window.")
    pat.click("Save")
    other.get_by_role("group", name="What does the log say?").locator("textarea").fill("Second.")
    other.get_by_role("button", name="Save", exact=True).locator("visible=true").first.click()
    expect(other.get_by_role("heading", level=1)).to_have_text("Two versions of your answer")
    expect(other.locator("main")).to_contain_text("From the first window.")
    expect(other.locator("main")).to_contain_text("Second.")
