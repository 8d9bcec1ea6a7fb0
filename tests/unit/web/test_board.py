"""The tests of all cases, as their packages have them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from blake3 import blake3

from vstore.errors import NotFoundError, VStoreError
from vstore.handoff.attachments import attachments_of
from vstore.testing.desk import KEY, LOG, DeskCase
from vstore.testing.handoff import DEADLINE, answer_to, handoff_story
from vstore.testing.investigation import CASE, PACKAGE
from vstore.web import board as board_module
from vstore.web.board import RequestKey
from vstore.web.desk import Desk
from vstore.web.service_folder import ServiceFolder


def answer_elsewhere(case: DeskCase) -> None:
    """Somebody at the command line attaches a log and confirms an answer."""
    outside = case.outside()
    attached = outside.attach(("app.log", LOG))
    handoff = outside.tests.snapshot(CASE, PACKAGE).handoffs[0]
    from vstore.controller.test_coordinator import Submitted

    submitted = Submitted(
        package=attached.package,
        request_ref=handoff.request_ref,
        request=handoff.request,
        repeated=True,
    )
    outside.confirm(answer_to(submitted, attached.attachments, confirmed_by="lee"))
    outside.close()


def test_an_open_test_is_what_its_case_asks(case: DeskCase) -> None:
    (entry,) = case.desk.board.entries()
    assert entry.key == KEY == (CASE, PACKAGE, "test-1")
    assert entry.request.question == "Does the application fail without orders?"
    assert (entry.status, entry.overdue, entry.feedback_ref) == ("open", False, None)
    outside = case.outside()
    package = outside.tests.snapshot(CASE, PACKAGE).package
    assert entry.request_ref == package.artifact("async_test_request")
    outside.close()
    with pytest.raises(NotFoundError) as error:
        case.desk.board.feedback(KEY)
    assert error.value.kind == "unanswered"
    with pytest.raises(NotFoundError):
        case.desk.board.generation_of(KEY)


def test_a_passed_deadline_is_shown_and_nothing_more(case: DeskCase) -> None:
    assert DEADLINE == "2026-01-03T12:00:00Z"
    two_and_a_half_days = 2 * 86_400 + 43_200
    case.clock.tick(two_and_a_half_days)
    assert not case.desk.board.entry(KEY).overdue
    case.clock.tick(1)
    entry = case.desk.board.entry(KEY)
    assert (entry.overdue, entry.status) == (True, "open")
    case.claim()


def test_an_answer_from_elsewhere_is_seen_at_once(case: DeskCase) -> None:
    assert case.desk.board.entry(KEY).status == "open"
    answer_elsewhere(case)
    (entry,) = case.desk.board.entries()
    assert (entry.status, entry.outcome, entry.confirmed_by) == ("answered", "completed", "lee")
    feedback = case.desk.board.feedback(KEY)
    assert feedback.observations[1].text == "It divides by zero."
    outside = case.outside()
    history = list(outside.workspace.repository(CASE).reader.history())
    assert history[0][1].events[0].kind == "test.confirm"
    assert case.desk.board.generation_of(KEY) == history[0][0]
    assert entry.confirmed_in == history[0][1].package_generation
    # And it stays found when the case has gone on.
    outside.workspace.case(CASE).advance()
    assert case.desk.board.generation_of(KEY) == history[0][0]
    outside.close()


def test_attachments_have_the_type_of_their_bytes(case: DeskCase) -> None:
    outside = case.outside()
    outside.attach(("page.png", b"<html><script>alert(1)</script>"))
    outside.close()
    (one,) = case.desk.board.attachments(KEY)
    assert (one.name, one.media_type) == ("page.png", "text/plain")
    assert one.object == "b3:" + blake3(b"<html><script>alert(1)</script>").hexdigest()
    found, stream = case.desk.board.open_attachment(KEY, one.object, one.name)
    with stream:
        assert (found, stream.read()) == (one, b"<html><script>alert(1)</script>")
    for oid, name in ((one.object, "other"), ("b3:" + "0" * 64, one.name), ("", "")):
        with pytest.raises(NotFoundError) as error:
            case.desk.board.open_attachment(KEY, oid, name)
        assert error.value.kind == "no_attachment"


@pytest.mark.parametrize(
    "key",
    [
        RequestKey(CASE, PACKAGE, "test-2"),
        RequestKey(CASE, "other", "test-1"),
        RequestKey("CASE-2", PACKAGE, "test-1"),
        RequestKey("..", PACKAGE, "test-1"),
        RequestKey("../workspace/CASE-1", PACKAGE, "test-1"),
        RequestKey("", "", ""),
        RequestKey("\0", "\ud800", "x" * 10_000),
    ],
    ids=["request", "package", "case", "dots", "path", "empty", "binary"],
)
def test_what_is_not_there_is_not_found(case: DeskCase, key: RequestKey) -> None:
    for ask in (case.desk.board.entry, case.desk.board.feedback, case.desk.board.attachments):
        with pytest.raises(NotFoundError) as error:
            ask(key)
        assert error.value.kind == "unknown_request"


def test_cases_that_can_not_be_read_are_listed_apart(case: DeskCase, waiting: Path) -> None:
    other = case.workspace / "CASE-9"
    shutil.copytree(waiting / CASE, other)  # a copy under another name is no other case
    broken = case.workspace / "CASE-8"
    broken.mkdir()
    (broken / "VSTORE").write_text("nonsense\n")
    view = case.desk.board.look()
    assert [one.key for one in view.entries] == [KEY]
    assert [one.case_id for one in view.unreadable] == ["CASE-8", "CASE-9"]
    with pytest.raises(VStoreError):
        case.desk.board.entry(RequestKey("CASE-8", PACKAGE, "test-1"))
    with pytest.raises(NotFoundError):
        case.desk.board.entry(RequestKey("CASE-9", PACKAGE, "test-1"))
    shutil.rmtree(broken)
    shutil.rmtree(other)
    assert case.desk.board.look().unreadable == []


def test_a_case_that_is_taken_away_or_replaced(case: DeskCase, waiting: Path) -> None:
    assert len(case.desk.board.entries()) == 1
    answer_elsewhere(case)
    assert case.desk.board.entry(KEY).status == "answered"
    shutil.rmtree(case.workspace / CASE)
    assert case.desk.board.entries() == []
    with pytest.raises(NotFoundError):
        case.desk.board.entry(KEY)
    shutil.copytree(waiting / CASE, case.workspace / CASE)  # restored from a backup
    assert case.desk.board.entry(KEY).status == "open"


def test_an_unchanged_case_is_not_gone_through_again(
    case: DeskCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = case.desk.board.entries()
    calls = []
    follow = board_module.follow_handoffs
    monkeypatch.setattr(
        board_module, "follow_handoffs", lambda *args: (calls.append(args), follow(*args))
    )
    assert case.desk.board.entries() == before
    assert case.desk.board.entry(KEY) == before[0]
    assert calls == []
    answer_elsewhere(case)
    assert case.desk.board.entry(KEY).status == "answered"
    assert len(calls) == 1


def test_one_package_as_a_workspace(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    story = handoff_story(tmp_path / "package", scratch)
    package = story.tests.snapshot(CASE, PACKAGE).package
    refs = [one.request_ref for one in story.tests.snapshot(CASE, PACKAGE).handoffs]
    assert len(attachments_of(package, refs[0])) == 3
    story.close()
    with Desk.open(tmp_path / "package", ServiceFolder.open(tmp_path / "state")) as desk:
        found = {one.key.request_id: one for one in desk.board.entries()}
        assert {name: one.status for name, one in found.items()} == {
            "test-1": "answered",
            "test-2": "answered",
            "test-3": "open",
        }
        assert found["test-2"].outcome == "unable_to_test"
        assert len(desk.board.attachments(found["test-1"].key)) == 3
        # By the real clock, its deadline is long past.
        assert found["test-3"].overdue
        assert not found["test-1"].overdue
        with pytest.raises(NotFoundError):
            desk.board.entry(RequestKey("CASE-2", PACKAGE, "test-1"))
