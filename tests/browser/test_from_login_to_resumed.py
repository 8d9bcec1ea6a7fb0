"""From the login to the resumed case, in a real browser (spec: handoff)."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from vstore.handoff.documents import AsyncTestFeedback
from vstore.objects.ids import digest_of

from .conftest import Service, Visit
from .visitor import QUESTION

LOG = b"ZeroDivisionError: division by zero\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "app.log"
    path.write_bytes(LOG)
    return path


def _stored(service: Service) -> AsyncTestFeedback:
    """The answer that the package has; there is exactly one."""
    (handoff,) = service.snapshot().handoffs
    assert handoff.feedback_ref is not None
    return service.snapshot().package.objects.document(handoff.feedback_ref, AsyncTestFeedback)


def test_an_answer_ends_the_wait(service: Service, visit: Visit, log: Path) -> None:
    pat = visit("Pat")
    assert service.snapshot().package.state == "BLOCKED"
    pat.take()
    pat.answer(log)
    pat.saved()
    # Nothing is in the package before the confirmation.
    assert service.snapshot().package.generation.attachments is None
    pat.confirm()
    receipt = pat.receipt()

    snapshot = service.snapshot()
    assert snapshot.outstanding is None
    assert snapshot.package.state == "INVESTIGATING_HYPOTHESES"
    (handoff,) = snapshot.handoffs
    answer = _stored(service)
    assert str(handoff.feedback_ref) in receipt
    assert str(snapshot.package.generation_id) in receipt
    assert (answer.confirmed_by, answer.tester_id, answer.outcome) == ("Pat", "Pat", "completed")
    assert answer.request == handoff.request_ref
    assert {one.id: one.text for one in answer.observations} == {
        "fails": "yes",
        "log": "It divides by zero.",
        "seconds": "0.5",
    }
    (attached,) = answer.attachments
    assert (attached.name, attached.object) == ("app.log", f"b3:{digest_of(LOG)}")
    assert "verified" in service.verify()
    shown = service.command("-C", str(service.package), "test", "show")
    assert "It divides by zero." in shown
    assert "app.log" in shown
    assert str(attached.object)[:20] in shown or attached.object in shown


@pytest.mark.deep
def test_confirming_twice_is_one_answer(service: Service, visit: Visit, log: Path) -> None:
    pat = visit("Pat")
    pat.take()
    pat.answer(log)
    pat.click("Check the answer")
    other = pat.context.new_page()
    other.goto(pat.page.url)
    expect(other.get_by_role("button", name="Confirm the answer")).to_be_visible()
    pat.click("Confirm the answer")
    receipt = pat.receipt()
    head = service.snapshot().package.generation_id
    other.get_by_role("button", name="Confirm the answer").click()
    other.wait_for_load_state()
    assert other.locator("main dl").first.inner_text() == receipt
    assert service.snapshot().package.generation_id == head


def test_two_race_for_a_test_and_one_has_it(service: Service, visit: Visit) -> None:
    pat, kim = visit("Pat"), visit("Kim")
    pat.open()
    kim.open()
    pat.click("Take this test")
    expect(pat.page.locator("form[data-draft]")).to_be_visible()
    kim.click("Take this test")
    expect(kim.page.get_by_role("heading", level=1)).to_have_text("Somebody else was quicker")
    expect(kim.page.locator("main")).to_contain_text("Pat is doing this test")
    kim.page.goto("/")
    expect(kim.page.locator(".card")).to_contain_text("Pat is on it")
    # Given back, it is free.
    pat.click("Give it back")
    kim.take()
    assert service.snapshot().outstanding is not None


@pytest.mark.deep
def test_who_was_superseded_can_neither_save_nor_confirm(
    service: Service, visit: Visit, log: Path
) -> None:
    pat, kim = visit("Pat"), visit("Kim")
    pat.take()
    pat.answer(log)
    pat.saved()
    service.end_leases()
    kim.take()
    # Pat's window doesn't know yet.
    pat.write("What does the log say?", "Too late.")
    expect(pat.page.locator("[data-notice]")).to_contain_text("You don't hold this test any more")
    assert pat.group("What does the log say?").locator("textarea").input_value() == "Too late."
    pat.page.goto(pat.page.url.replace("/draft", "/preview"))
    expect(pat.page.get_by_role("button", name="Confirm the answer")).to_have_count(0)
    pat.open()
    pat.click("Read your draft")
    assert "It divides by zero." in [
        one.input_value() for one in pat.page.locator("textarea").all()
    ]
    kim.choose("Does it fail?", "No")
    kim.saved()
    assert service.snapshot().outstanding is not None


@pytest.mark.deep
def test_unable_to_test_needs_a_reason(service: Service, visit: Visit) -> None:
    pat = visit("Pat")
    pat.take()
    pat.page.get_by_label("I could not do it").or_(
        pat.page.locator("#outcome-unable")
    ).first.check()
    pat.click("Check the answer")
    expect(pat.page.get_by_role("button", name="Confirm the answer")).to_have_count(0)
    pat.page.goto(pat.page.url.split("?")[0].replace("/preview", "/draft"))
    pat.page.locator("#remarks").fill("The machine is away for repair.")
    pat.confirm()
    answer = _stored(service)
    assert (answer.outcome, answer.remarks) == ("unable_to_test", "The machine is away for repair.")
    assert answer.observations == []


@pytest.mark.deep
def test_declining_leaves_it_to_others(service: Service, visit: Visit) -> None:
    pat, kim = visit("Pat"), visit("Kim")
    pat.open()
    pat.page.get_by_text("I can't take this test").click()
    pat.page.get_by_label("Why not?").fill("I have no such machine.")
    pat.click("Decline")
    kim.open()
    expect(kim.page.locator("main")).to_contain_text("I have no such machine.")
    kim.click("Take this test")
    expect(kim.page.locator("form[data-draft]")).to_be_visible()


@pytest.mark.deep
def test_an_administrator_sees_who_did_what(service: Service, visit: Visit) -> None:
    pat, boss = visit("Pat"), visit("Boss", admin=True)
    pat.take()
    boss.click("Activity")
    expect(boss.page.locator("main")).to_contain_text("took a test")
    boss.click("Testers")
    boss.click("Pat")
    boss.click("Lock out")
    # At once, also in the middle of something.
    pat.page.goto("/")
    expect(pat.page).to_have_url(f"{service.url}/login")
    pat.log_in()
    expect(pat.page.locator("#errors")).to_be_visible()
    assert pat.page.goto("/admin/testers") is not None
    assert QUESTION not in pat.page.content()
