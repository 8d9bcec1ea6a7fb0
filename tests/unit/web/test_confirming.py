"""What was previewed is what is confirmed, once; what can't be confirmed is still a draft."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as changed
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from blake3 import blake3
from msgspec.structs import replace

from vstore.errors import (
    ConflictError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    OperationConflict,
    StorageError,
    VStoreError,
)
from vstore.handoff.limits import HandoffLimits
from vstore.objects.canonical import to_value
from vstore.testing.desk import KEY, LOG, DeskCase
from vstore.testing.faults import FaultyIO
from vstore.testing.folders import package_bytes
from vstore.testing.investigation import CASE, PACKAGE
from vstore.verify import verify_package
from vstore.web.board import RequestKey
from vstore.web.draft_content import Answer
from vstore.web.upload_policy import UploadPolicy
from vstore.web.uploads import Upload


def refused(error: type[VStoreError], action: Callable[[], Any]) -> VStoreError:
    with pytest.raises(error) as caught:
        action()
    return caught.value


def verified(case: DeskCase) -> None:
    report = verify_package(case.workspace / CASE)
    assert report.exit_code == 0, report.findings
    assert [one.code for one in report.findings] == []


def test_a_preview_stores_nothing_and_shows_all(case: DeskCase) -> None:
    before = package_bytes(case.workspace / CASE)
    claim, draft, preview = case.ready()
    assert package_bytes(case.workspace / CASE) == before
    assert preview.draft_digest == blake3(preview.canonical).hexdigest()
    assert preview.feedback is not None
    assert preview.feedback.request == case.desk.board.entry(KEY).request_ref
    assert [one.object for one in preview.uploads] == ["b3:" + blake3(LOG).hexdigest()]
    assert (preview.revision, preview.faults) == (draft.revision, ())
    # Another minute is no other answer.
    case.clock.tick(60)
    again = case.desk.confirming.preview(KEY, case.pat, claim.fence, draft.revision)
    assert again.draft_digest == preview.draft_digest
    assert again.feedback is not None
    assert again.feedback.confirmed_at == "2026-01-01T00:01:00Z"


def test_what_is_confirmed_is_what_was_shown(case: DeskCase) -> None:
    claim, draft, preview = case.ready()
    case.clock.tick(30)
    receipt = case.confirm(claim, draft, preview)
    assert (receipt.confirmed_by, receipt.confirmed_at) == ("pat", "2026-01-01T00:00:30Z")
    assert not receipt.repeated
    feedback = case.desk.board.feedback(KEY)
    assert preview.feedback is not None
    assert feedback == replace(preview.feedback, confirmed_at="2026-01-01T00:00:30Z")
    entry = case.desk.board.entry(KEY)
    assert (entry.status, entry.feedback_ref) == ("answered", receipt.feedback_ref)
    assert entry.confirmed_in == receipt.generation_number
    outside = case.outside()
    snapshot = outside.tests.snapshot(CASE, PACKAGE)
    assert snapshot.package.state == "INVESTIGATING_HYPOTHESES"
    assert snapshot.package.generation_id == receipt.generation_id
    assert snapshot.outstanding is None
    outside.close()
    verified(case)
    noted = case.desk.audit.recent(1)[0]
    assert (noted.actor, noted.action) == ("pat", "test.confirm")
    assert noted.facts["feedback"] == receipt.feedback_ref
    # The draft is still there to be read; the desk is clear of everything else.
    assert case.desk.drafts.load(KEY, case.pat) == draft
    assert case.desk.claims.holder(KEY) is None
    assert case.desk.uploads.list(KEY, case.pat) == []
    assert list((case.root / "state" / "uploads").iterdir()) == []


def test_the_same_again_is_the_same_receipt(case: DeskCase) -> None:
    ready = case.ready()
    receipt = case.confirm(*ready)
    files = package_bytes(case.workspace / CASE)
    for _ in range(2):
        assert case.confirm(*ready) == changed(receipt, repeated=True)
        case.close()
        case.open()
    assert case.desk.confirming.receipt(KEY) == changed(receipt, repeated=True)
    assert package_bytes(case.workspace / CASE) == files


def test_two_clicks_at_once_confirm_once(case: DeskCase) -> None:
    ready = case.ready()
    start = threading.Barrier(8)

    def click(_: int) -> Any:
        start.wait(30)
        return case.confirm(*ready)

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(click, range(8)))
    assert len({changed(one, repeated=True) for one in receipts}) == 1
    assert [one.repeated for one in receipts].count(False) == 1
    outside = case.outside()
    history = list(outside.workspace.repository(CASE).reader.history())
    kinds = [event.kind for _, one in history for event in one.events]
    assert (kinds.count("test.attach"), kinds.count("test.confirm")) == (1, 1)
    outside.close()


def test_nothing_that_changed_after_the_preview_is_confirmed(case: DeskCase) -> None:
    claim, draft, preview = case.ready()
    confirming, fence = case.desk.confirming, claim.fence
    digest = preview.draft_digest or ""
    # Another digest, another revision, a text that was saved since.
    wrong = refused(
        ConflictError, lambda: confirming.confirm(KEY, case.pat, fence, draft.revision, "0" * 64)
    )
    assert wrong.kind == "changed_since_preview"
    for revision in (0, 2, -1):
        error = refused(
            ConflictError, lambda r=revision: confirming.confirm(KEY, case.pat, fence, r, digest)
        )
        assert error.kind == "changed_since_preview"
    later = case.save(claim, draft.revision, replace(draft.content, remarks="one more thing"))
    error = refused(
        ConflictError, lambda: confirming.confirm(KEY, case.pat, fence, draft.revision, digest)
    )
    assert error.kind == "changed_since_preview"
    error = refused(
        ConflictError, lambda: confirming.confirm(KEY, case.pat, fence, later.revision, digest)
    )
    assert error.kind == "changed_since_preview"
    assert case.desk.board.entry(KEY).status == "open"
    assert confirming.last(KEY, case.pat) is None
    refused(ConflictError, lambda: confirming.preview(KEY, case.pat, fence, draft.revision))


def test_a_file_that_was_removed_after_the_preview(case: DeskCase) -> None:
    claim, draft, preview = case.ready()
    case.desk.uploads.remove(KEY, case.pat, claim.fence, preview.uploads[0].upload_id)
    error = refused(InvalidError, lambda: case.confirm(claim, draft, preview))
    assert error.kind == "incomplete"
    assert error.details["faults"] == [
        {"field": "answers.log.uploads", "kind": "unknown_upload", "limit": None}
    ]
    shown = case.desk.confirming.preview(KEY, case.pat, claim.fence, draft.revision)
    assert (shown.feedback, shown.draft_digest) == (None, None)
    assert [one.kind for one in shown.faults] == ["unknown_upload"]


def test_others_can_not_confirm_it(case: DeskCase) -> None:
    claim, draft, preview = case.ready()
    digest = preview.draft_digest or ""
    confirm = case.desk.confirming.confirm
    for account, fence in ((case.kim, claim.fence), (case.ada, claim.fence), (case.pat, 7)):
        error = refused(
            ConflictError,
            lambda a=account, f=fence: confirm(KEY, a, f, draft.revision, digest),
        )
        assert error.kind == "not_claimed"
    unknown = RequestKey(CASE, PACKAGE, "test-2")
    refused(NotFoundError, lambda: confirm(unknown, case.pat, claim.fence, 1, digest))
    case.confirm(claim, draft, preview)
    # Nor is the receipt theirs to confirm again.
    error = refused(
        OperationConflict, lambda: confirm(KEY, case.kim, claim.fence, draft.revision, digest)
    )
    assert error.kind == "answered"


def test_who_was_unable_confirms_the_reason(case: DeskCase) -> None:
    claim = case.claim()
    content = replace(
        case.desk.drafts.load(KEY, case.pat).content,
        outcome="unable_to_test",
        remarks="no such machine",
    )
    draft = case.save(claim, 0, content)
    preview = case.desk.confirming.preview(KEY, case.pat, claim.fence, draft.revision)
    case.confirm(claim, draft, preview)
    assert case.desk.board.entry(KEY).outcome == "unable_to_test"
    assert case.desk.board.feedback(KEY).observations == []
    verified(case)


def test_an_answer_from_elsewhere_came_first(case: DeskCase) -> None:
    claim, draft, preview = case.ready()
    outside = case.outside()
    value = to_value(preview.feedback)
    value["remarks"] = "another answer"
    attached = outside.attach(("app.log", LOG))
    assert attached.attachments
    outside.tests.confirm_draft(CASE, PACKAGE, value, confirmed_by="lee")
    outside.close()
    error = refused(OperationConflict, lambda: case.confirm(claim, draft, preview))
    assert error.kind == "answered"
    assert case.desk.drafts.load(KEY, case.pat) == draft
    assert case.desk.board.entry(KEY).confirmed_by == "lee"
    assert case.desk.confirming.receipt(KEY) is None
    verified(case)


def test_another_answer_comes_in_the_middle_of_a_confirmation(
    case: DeskCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, draft, preview = case.ready()
    stream = case.desk.uploads.stream

    def lee_is_faster(upload: Upload) -> BinaryIO:
        """When it is written down that pat confirms, and the package doesn't know yet."""
        outside = case.outside()
        value = {**to_value(preview.feedback), "remarks": "another answer"}
        outside.attach(("app.log", LOG))
        outside.tests.confirm_draft(CASE, PACKAGE, value, confirmed_by="lee")
        outside.close()
        return stream(upload)

    monkeypatch.setattr(case.desk.uploads, "stream", lee_is_faster)
    error = refused(OperationConflict, lambda: case.confirm(claim, draft, preview))
    assert error.kind == "answered"
    last = case.desk.confirming.last(KEY, case.pat)
    assert last is not None
    assert (last.state, last.reason, last.receipt) == ("lost", "answered", None)
    assert case.desk.claims.holder(KEY) is None
    assert case.desk.drafts.load(KEY, case.pat) == draft
    assert [one.name for one in case.desk.uploads.list(KEY, case.pat)] == ["app.log"]
    assert case.desk.board.feedback(KEY).remarks == "another answer"
    verified(case)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
def test_a_disk_that_fails_at_any_operation(waiting: Path, tmp_path: Path, number: int) -> None:
    """Whatever fails: confirmed, or still a draft that is confirmed once the disk is well."""
    outcomes = []
    for fail_at in range(200):
        root = tmp_path / f"{fail_at}"
        root.mkdir()
        case = DeskCase(root, waiting)
        ready = case.ready()
        case.close()
        io = FaultyIO(fail_at, number, written=50)
        case.open(io=io)
        try:
            case.confirm(*ready)
        except StorageError as error:
            outcomes.append(error.kind)
            attempt = case.desk.confirming.last(KEY, case.pat)
            assert attempt is not None
            assert attempt.state in ("withdrawn", "begun")
            case.desk.confirming.catch_up(KEY)
            answered = case.desk.board.entry(KEY).status == "answered"
            assert (case.desk.confirming.receipt(KEY) is not None) == answered
            assert not case.confirm(*ready).repeated or answered
        else:
            outcomes.append("confirmed")
        receipt = case.desk.confirming.receipt(KEY)
        assert receipt is not None
        assert case.desk.claims.holder(KEY) is None
        case.close()
        report = verify_package(case.workspace / CASE)
        assert report.exit_code == 0, report.findings
        if io.failed is None:
            break
    assert "confirmed" in outcomes
    assert len([one for one in outcomes if one != "confirmed"]) >= 5


def test_what_is_begun_can_not_be_changed_or_claimed(case: DeskCase) -> None:
    """As a failure leaves it that nobody could settle yet."""
    claim, draft, preview = case.ready()
    desk = case.desk
    attempt = desk.confirming._begin(
        KEY, case.pat, claim.fence, draft.revision, preview.draft_digest or ""
    )
    assert attempt.state == "begun"
    other = replace(draft.content, remarks="later")
    upload = preview.uploads[0].upload_id
    for action in (
        lambda: case.save(claim, draft.revision, other),
        lambda: desk.claims.release(KEY, case.pat, claim.fence),
        lambda: desk.claims.decline(KEY, case.pat, claim.fence, "no"),
        lambda: desk.claims.decline(KEY, case.pat, None, "no"),
        lambda: desk.uploads.remove(KEY, case.pat, claim.fence, upload),
        lambda: desk.uploads.begin(KEY, case.pat, claim.fence, "x"),
        lambda: (case.clock.tick(10_000), case.claim(case.kim)),
    ):
        assert refused(ConflictError, action).kind == "confirming"
    desk.confirming.catch_up(KEY)
    last = desk.confirming.last(KEY, case.pat)
    assert last is not None
    assert (last.state, last.reason) == ("withdrawn", "interrupted")
    desk.confirming.catch_up(KEY)
    assert case.save(claim, draft.revision, other).revision == draft.revision + 1


def test_limits_of_the_coordinator_hold_before_anything_happens(
    waiting: Path, tmp_path: Path
) -> None:
    limits = HandoffLimits(max_json_bytes=2_000, max_attachments=2, max_attachment_bytes=1_000)
    policy = UploadPolicy(max_file_bytes=1_000)
    case = DeskCase(tmp_path, waiting, handoff_limits=limits, upload_policy=policy)
    before = package_bytes(case.workspace / CASE)
    claim = case.claim()
    uploads = [case.upload(claim, f"{n}.log") for n in range(3)]
    draft = case.write(claim, *uploads)
    preview = lambda: case.desk.confirming.preview(KEY, case.pat, 1, draft.revision)  # noqa: E731
    assert refused(LimitExceeded, preview).details["limit"] == "max_attachments"
    draft = case.save(
        claim,
        draft.revision,
        replace(draft.content, uploads=(), additional=(Answer(text="x" * 2_000),)),
    )
    assert refused(LimitExceeded, preview).details["limit"] == "max_json_bytes"
    draft = case.save(claim, draft.revision, replace(draft.content, additional=()))
    case.confirm(claim, draft, preview())
    assert package_bytes(case.workspace / CASE) != before
    case.close()


def test_attachments_that_are_there_already_count(waiting: Path, tmp_path: Path) -> None:
    """Only the package knows of them: the confirmation is withdrawn, nothing is lost."""
    case = DeskCase(tmp_path, waiting, handoff_limits=HandoffLimits(max_attachments=1))
    outside = case.outside()
    outside.attach(("other.log", b"x"))
    outside.close()
    claim, draft, preview = case.ready()
    error = refused(LimitExceeded, lambda: case.confirm(claim, draft, preview))
    assert error.details["limit"] == "max_attachments"
    last = case.desk.confirming.last(KEY, case.pat)
    assert last is not None
    assert (last.state, last.reason) == ("withdrawn", "limit_exceeded")
    assert case.save(claim, draft.revision, replace(draft.content, remarks="x")).revision == 2
    assert len(case.desk.uploads.list(KEY, case.pat)) == 1
    case.close()


def test_a_file_that_changed_on_the_disk_is_not_confirmed(case: DeskCase) -> None:
    claim, draft, preview = case.ready()
    path = case.root / "state" / "uploads" / preview.uploads[0].upload_id
    path.write_bytes(LOG.upper())
    error = refused(InvalidError, lambda: case.confirm(claim, draft, preview))
    assert error.kind == "attachments"
    assert case.desk.board.entry(KEY).status == "open"
    path.unlink()
    assert refused(StorageError, lambda: case.confirm(claim, draft, preview)).kind == "unreadable"
    assert case.desk.board.entry(KEY).status == "open"


def test_the_package_goes_away_in_the_middle(case: DeskCase) -> None:
    """The outcome can't be told now: it stays begun, and is settled when the package is back."""
    claim, draft, preview = case.ready()
    path = case.workspace / CASE
    away = case.workspace / "away"
    attempt = case.desk.confirming._begin(
        KEY, case.pat, claim.fence, draft.revision, preview.draft_digest or ""
    )
    case.close()
    path.rename(away)
    case.open()
    assert case.desk.recovered.undecided == 1
    refused(VStoreError, lambda: case.desk.confirming.catch_up(KEY))
    refused(VStoreError, lambda: case.confirm(claim, draft, preview))
    last = case.desk.confirming.last(KEY, case.pat)
    assert last is not None
    assert (last.attempt_id, last.state) == (attempt.attempt_id, "begun")
    away.rename(path)
    assert not case.confirm(claim, draft, preview).repeated
    verified(case)
