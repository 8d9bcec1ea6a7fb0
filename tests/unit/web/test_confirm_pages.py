"""The preview, the confirmation and the receipt: what was shown, that and once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.handoff.documents import AsyncTestFeedback
from vstore.handoff.drafts import draft_digest
from vstore.handoff.limits import HandoffLimits
from vstore.objects.ids import ObjectId
from vstore.package.workspace import Workspace
from vstore.testing.investigation import CASE, PACKAGE
from vstore.testing.testers_page import KEY, TEST, Page, PageForm, Site, Visitor
from vstore.verify import verify_package

DRAFT = f"{TEST}/draft"
PREVIEW = f"{TEST}/preview"
CONFIRM = f"{TEST}/confirm"
RECEIPT = f"{TEST}/receipt"
LOG = b"ZeroDivisionError: division by zero\n"
HOSTILE = "<script>alert(1)</script>\"'&\u202e"


def complete(pat: Visitor, *, remarks: str = "on the night build") -> PageForm:
    """A whole answer, filled in and not yet sent."""
    pat.claim()
    pat.upload("app.log", LOG, int(pat.get(DRAFT).form(DRAFT).values("fence")[0]))
    form = pat.get(DRAFT).form(DRAFT)
    form.fill("answer.fails", "yes").fill("answer.log", "It divides by zero.")
    form.fill("answer.seconds", "0.5").fill("files.log", *form.options["files.log"])
    return form.fill("remarks", remarks).fill("more.0", "With one order it works.")


def previewed(pat: Visitor, **answer: str) -> Page:
    """The preview of a whole answer."""
    page = pat.press(complete(pat, **answer), "preview")
    assert page.location == PREVIEW
    return page


def confirmed(pat: Visitor, page: Page) -> Page:
    """What comes of pressing the button."""
    return pat.press(page.form(CONFIRM), "Confirm the answer")


def stored(site: Site) -> AsyncTestFeedback:
    """The answer as the package has it, read by another reader than the page's."""
    with Workspace.open(site.folder / "work") as workspace:
        (handoff,) = AsyncTestCoordinator(workspace).snapshot(CASE, PACKAGE).handoffs
        assert handoff.feedback_ref is not None
        package = workspace.repository(CASE).reader.pinned()
        return package.objects.document(handoff.feedback_ref, AsyncTestFeedback)


def is_open(site: Site) -> bool:
    """Whether the case still waits."""
    return site.desk.board.entry(KEY).status == "open"


def test_from_login_to_the_resumed_case(site: Site) -> None:
    site.account("pat")
    pat = site.visitor()
    pat.log_in("pat")
    assert TEST in pat.get("/").links
    page = confirmed(pat, previewed(pat))
    assert page.location == RECEIPT
    with Workspace.open(site.folder / "work") as workspace:
        head = workspace.repository(CASE).reader.pinned()
        assert (head.state, head.number) == ("INVESTIGATING_HYPOTHESES", head.number)
        snapshot = AsyncTestCoordinator(workspace).snapshot(CASE, PACKAGE)
        assert snapshot.outstanding is None
        assert str(snapshot.handoffs[0].feedback_ref) in page.text
        assert snapshot.handoffs[0].confirmed_in == head.number
        assert str(head.generation_id) in page.text
    answer = stored(site)
    assert (answer.tester_id, answer.confirmed_by) == ("pat", "pat")
    assert answer.request == site.desk.board.entry(KEY).request_ref
    assert [(one.id, one.text) for one in answer.observations] == [
        ("fails", "yes"),
        ("log", "It divides by zero."),
        ("seconds", "0.5"),
        (None, "With one order it works."),
    ]
    assert [one.name for one in answer.attachments] == ["app.log"]
    assert answer.observations[1].attachments == [answer.attachments[0].object]
    assert TEST in pat.get("/?show=done").links
    site.close()
    report = verify_package(site.folder / "work" / CASE)
    assert [one.code for one in report.findings] == []


def test_the_preview_shows_everything_that_would_be_stored(site: Site) -> None:
    pat = site.tester(zone="Europe/Berlin")
    page = previewed(pat, remarks=HOSTILE)
    for text in ("The test was done", "Does it fail?", "It divides by zero.", "0.5",
                 "With one order it works.", "app.log", "release", HOSTILE):  # fmt: skip
        assert text in page.text
    assert b"<script>alert" not in page.content
    (digest,) = page.form(CONFIRM).values("digest")
    confirmed(pat, page)
    answer = stored(site)
    # The digest that stood there is that of what is stored, and the file's its own.
    assert digest == draft_digest(answer)
    assert str(answer.attachments[0].object) in page.text
    assert answer.remarks == HOSTILE


def test_nothing_is_stored_by_looking(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    for _ in range(2):
        pat.get(PREVIEW)
    assert is_open(site)
    assert pat.get(RECEIPT).location == TEST
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_missing_is_said_where_it_is_put_right(site: Site, language: str) -> None:
    pat = site.tester(language=language)
    page = pat.press(pat.claim().form(DRAFT), "preview")
    anchors = [one.partition("#")[2] for one in page.links if "#a-" in one]
    assert anchors == ["a-fails", "a-log", "a-seconds"]
    assert not page.offers(CONFIRM)
    ids = {found.get("id") for _, found in pat.get(f"{DRAFT}?check=1").tags}
    assert set(anchors) <= ids


def test_a_test_that_could_not_be_done_needs_a_reason_and_no_more(site: Site) -> None:
    pat = site.tester()
    form = pat.claim().form(DRAFT).fill("outcome", "unable_to_test").fill("answer.log", "half")
    page = pat.press(form, "preview")
    assert f"{DRAFT}?check=1#remarks" in page.links
    assert not page.offers(CONFIRM)
    form = pat.get(DRAFT).form(DRAFT).fill("remarks", "no such machine")
    page = pat.press(form, "preview")
    assert "The test couldn't be done" in page.text
    assert "half" not in page.text
    assert confirmed(pat, page).location == RECEIPT
    answer = stored(site)
    assert (answer.outcome, answer.remarks, answer.observations) == (
        "unable_to_test", "no such machine", [],
    )  # fmt: skip


def test_a_second_click_shows_the_same_receipt(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    first, second = confirmed(pat, page), confirmed(pat, page)
    assert (first.location, second.location) == (RECEIPT, RECEIPT)
    assert first.content == second.content
    head = site.desk.board.entry(KEY).confirmed_in
    assert second.text.count("Generation") == 1
    site.clock.tick(3600)  # type: ignore[attr-defined]
    assert confirmed(pat, page).content == first.content
    assert site.desk.board.entry(KEY).confirmed_in == head


def test_the_receipt_is_there_after_a_restart_and_for_its_owner_only(site: Site) -> None:
    pat = site.tester()
    shown = confirmed(pat, previewed(pat))
    site.restart()
    again, kim = site.visitor(), site.tester("Kim")
    again.log_in("pat")
    assert again.get(RECEIPT).text == shown.text
    assert RECEIPT in again.get(TEST).links
    assert again.get(PREVIEW).location == RECEIPT
    assert kim.get(RECEIPT).location == TEST
    assert RECEIPT not in kim.get(TEST).links


def test_the_receipt_is_shown_in_the_readers_zone_and_language(site: Site) -> None:
    pat = site.tester(zone="Europe/Berlin", language="de")
    page = pat.press(complete(pat), "preview")
    page = pat.press(page.form(CONFIRM), "Antwort bestätigen")
    assert "Ihre Antwort ist gespeichert" in page.text
    assert "13:00 Uhr CET" in page.text
    assert "12:00 Uhr UTC" in page.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("digest", "0" * 64),
        ("digest", ""),
        ("digest", HOSTILE),
        ("revision", "2"),
        ("revision", ""),
        ("revision", "x"),
    ],
)
def test_something_else_than_was_shown_is_not_confirmed(site: Site, field: str, value: str) -> None:
    pat = site.tester()
    page = previewed(pat)
    page.form(CONFIRM).fill(field, value)
    refused = confirmed(pat, page)
    assert refused.status == 409
    assert "has changed since you looked at it" in refused.text
    assert is_open(site)
    # The page that says so shows the answer as it is now, and can be confirmed.
    assert confirmed(pat, refused).location == RECEIPT


def test_what_another_window_saved_since_is_shown_before_it_is_confirmed(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    pat.press(pat.get(DRAFT).form(DRAFT).fill("remarks", "second thoughts"), "save")
    refused = confirmed(pat, page)
    assert refused.status == 409
    assert "second thoughts" in refused.text
    assert is_open(site)
    confirmed(pat, refused)
    assert stored(site).remarks == "second thoughts"


def test_what_became_incomplete_since_is_not_confirmed(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    form = pat.get(DRAFT).form(DRAFT)
    pat.press(form, f"remove:{form.values('upload')[0]}")
    refused = confirmed(pat, page)
    assert refused.status == 409
    assert not refused.offers(CONFIRM)
    assert "Add a file" in refused.text
    assert is_open(site)


def test_who_was_superseded_confirms_nothing(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    page = previewed(pat)
    site.clock.tick(901)  # type: ignore[attr-defined]
    kim.claim()
    refused = confirmed(pat, page)
    assert refused.status == 409
    assert "Somebody else has taken this test" in refused.text
    assert "on the night build" in refused.text
    assert is_open(site)
    assert pat.get(PREVIEW).location == TEST


def test_after_a_lease_ran_out_who_still_holds_the_test_confirms(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    site.clock.tick(901)  # type: ignore[attr-defined]
    assert confirmed(pat, page).location == RECEIPT


def test_nobody_confirms_what_another_one_wrote(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    page = previewed(pat)
    assert confirmed(kim, page).status == 409
    assert is_open(site)


def elsewhere(site: Site, *, remarks: str = "from elsewhere") -> ObjectId:
    """Another service confirms another answer; what the page has doesn't know of it."""
    with Workspace.open(site.folder / "work", clock=lambda: "2026-01-02T12:00:00Z") as workspace:
        entry = site.desk.board.entry(KEY)
        draft = {
            "request": str(entry.request_ref),
            "tester_id": "bot",
            "outcome": "unable_to_test",
            "remarks": remarks,
        }
        done = AsyncTestCoordinator(workspace).confirm_draft(
            CASE, PACKAGE, draft, confirmed_by="bot"
        )
        return done.feedback_ref


@pytest.mark.parametrize("step", ["save", "preview", "confirm"])
def test_an_answer_from_elsewhere_leaves_the_draft_and_says_so(site: Site, step: str) -> None:
    pat = site.tester()
    page = previewed(pat)
    form = pat.get(DRAFT).form(DRAFT).fill("remarks", "typed since")
    known = elsewhere(site)
    refused = confirmed(pat, page) if step == "confirm" else pat.press(form, step)
    assert refused.status == 409
    assert "This test is answered already" in refused.text
    shown = pat.get(TEST)
    assert "bot confirmed it on" in shown.text
    assert DRAFT in shown.links
    # What was typed until then is saved, and can be read.
    kept = pat.get(DRAFT)
    assert ("on the night build" if step == "confirm" else "typed since") in kept.text
    assert "Another answer was confirmed first" in kept.text
    assert not kept.offers(DRAFT)
    assert site.desk.board.entry(KEY).feedback_ref == known


def test_the_script_is_told_of_an_answer_from_elsewhere_and_its_text_is_saved(site: Site) -> None:
    pat = site.tester()
    previewed(pat)
    form = pat.get(DRAFT).form(DRAFT).fill("remarks", "typed since")
    elsewhere(site)
    refused = pat.script(DRAFT, form.fields)
    assert (refused.status, refused.json()["error"]["kind"]) == (409, "answered")
    assert (
        site.desk.drafts.load(KEY, site.desk.accounts.get("pat")).content.remarks == "typed since"
    )


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param(CONFIRM, {}, id="nothing"),
        pytest.param(CONFIRM, {"sec-fetch-site": "cross-site"}, id="cross-site"),
        pytest.param(CONFIRM, {"origin": "https://evil.example"}, id="origin"),
        pytest.param(f"{TEST}/claim", {"sec-fetch-site": "none"}, id="claim"),
        pytest.param(DRAFT, {"sec-fetch-site": "same-site"}, id="draft"),
    ],
)
def test_a_form_of_another_site_does_nothing(
    site: Site, path: str, headers: dict[str, str]
) -> None:
    pat = site.tester()
    form = previewed(pat).form(CONFIRM)
    answer = pat.client.post(path, data=dict(form.fields), headers=headers)
    assert answer.status_code == 403
    assert is_open(site)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_confirmation_is_posted(site: Site, method: str) -> None:
    pat = site.tester()
    previewed(pat)
    answer = pat.client.request(method, CONFIRM, headers={"sec-fetch-site": "same-origin"})
    assert answer.status_code == 405
    assert is_open(site)


def test_somebody_disabled_confirms_nothing(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    site.desk.accounts.disable("pat", by="tests")
    assert confirmed(pat, page).status == 401
    assert is_open(site)


def test_a_preview_without_a_draft_is_the_form(make_site: Callable[..., Site]) -> None:
    pat = make_site().tester()
    assert pat.get(PREVIEW).location == TEST
    pat.claim()
    assert pat.get(PREVIEW).location == DRAFT


def test_an_answer_larger_than_one_may_be_is_said_and_kept(make_site: Callable[..., Site]) -> None:
    site = make_site(handoff_limits=HandoffLimits(max_json_bytes=2000))
    pat = site.tester()
    page = pat.press(complete(pat, remarks="x" * 1500), "preview")
    assert page.status == 413
    assert "That is too much text" in page.text
    assert "It is saved as your draft." in page.text
    assert is_open(site)


def test_a_file_that_the_disk_lost_is_said_and_nothing_is_confirmed(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    (upload,) = (site.folder / "state" / "uploads").iterdir()
    upload.unlink()
    refused = confirmed(pat, page)
    assert refused.status == 503
    assert "That didn't work" in refused.text
    assert "on the night build" in refused.text
    assert is_open(site)
    # It is a draft again: without that file it can be sent anew.
    assert pat.get(DRAFT).form(DRAFT).values("remarks") == ["on the night build"]


def test_a_damaged_case_takes_no_answer_and_keeps_the_draft(site: Site) -> None:
    pat = site.tester()
    page = previewed(pat)
    case = site.folder / "work" / CASE
    kept = {one: one.read_bytes() for one in case.rglob("*") if one.is_file()}
    for one in kept:
        one.write_bytes(b"\0" * one.stat().st_size)
    refused = pat.press(page.form(CONFIRM), "Confirm the answer")
    assert refused.status >= 400
    assert "Traceback" not in refused.text
    for one, content in kept.items():
        one.write_bytes(content)
    site.restart()
    again = site.visitor()
    again.log_in("pat")
    assert again.get(DRAFT).form(DRAFT).values("remarks") == ["on the night build"]
    assert is_open(site)
