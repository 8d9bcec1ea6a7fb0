"""Uploads: streamed, bounded, of types that are taken; a half one is nobody's."""

from __future__ import annotations

import errno
import os
import stat
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from blake3 import blake3

from vstore.errors import (
    ConflictError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    StorageError,
    VStoreError,
)
from vstore.testing.desk import KEY, LOG, DeskCase
from vstore.testing.faults import FaultyIO
from vstore.testing.investigation import CASE, PACKAGE
from vstore.web.board import RequestKey
from vstore.web.claims import Claim
from vstore.web.problems import TooMany
from vstore.web.upload_policy import UploadPolicy
from vstore.web.uploads import KEPT_SECONDS, Uploads

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def files(case: DeskCase) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in (case.root / "state" / "uploads").iterdir()}


def refused(error: type[VStoreError], action: Callable[[], Any]) -> VStoreError:
    with pytest.raises(error) as caught:
        action()
    return caught.value


def with_policy(case: DeskCase, **limits: Any) -> Uploads:
    """The same uploads under other limits."""
    desk = case.desk
    desk.uploads = Uploads(
        desk.folder, desk.database, desk.claims, desk.audit, policy=UploadPolicy(**limits)
    )
    return desk.uploads


def test_a_file_arrives(case: DeskCase) -> None:
    claim = case.claim()
    writer = case.desk.uploads.begin(KEY, case.pat, claim.fence, "app.log")
    for start in range(0, len(LOG), 7):
        writer.write(LOG[start : start + 7])
    assert case.desk.uploads.list(KEY, case.pat) == []
    upload = writer.finish()
    assert (upload.name, upload.size, upload.media_type) == ("app.log", len(LOG), "text/plain")
    assert upload.object == "b3:" + blake3(LOG).hexdigest()
    assert files(case) == {upload.upload_id: LOG}
    path = case.root / "state" / "uploads" / upload.upload_id
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert case.desk.uploads.list(KEY, case.pat) == [upload]
    assert case.desk.uploads.list(KEY, case.kim) == []
    noted = case.desk.audit.recent(1)[0]
    assert (noted.actor, noted.action, noted.facts["name"]) == ("pat", "upload.store", "app.log")
    assert refused(ConflictError, lambda: writer.write(b"more")).kind == "upload_ended"
    assert refused(ConflictError, writer.finish).kind == "upload_ended"
    writer.abort()
    assert files(case) == {upload.upload_id: LOG}


def test_only_its_tester_and_administrators_see_it(case: DeskCase) -> None:
    upload = case.upload(case.claim())
    uploads = case.desk.uploads
    for account in (case.pat, case.ada):
        found, stream = uploads.open(upload.upload_id, account)
        with stream:
            assert (found, stream.read()) == (upload, LOG)
    for upload_id, account in (
        (upload.upload_id, case.kim),
        ("0" * 32, case.ada),
        ("../testers.sqlite3", case.ada),
        (f"{upload.upload_id}.part", case.ada),
        ("\ud800", case.ada),
    ):
        error = refused(NotFoundError, lambda u=upload_id, a=account: uploads.open(u, a))
        assert error.kind == "unknown_upload"


def test_the_same_file_again_is_no_second_one(case: DeskCase) -> None:
    claim = case.claim()
    first = case.upload(claim)
    assert case.upload(claim) == first
    other = case.upload(claim, "other name.log")
    assert other.object == first.object
    assert set(files(case)) == {first.upload_id, other.upload_id}


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "/etc/passwd",
        "x" * 201,
        "é" * 128,
        "a\nb",
        "a\0",
        "\u202egnp.exe",
        "\ud800",
    ],
    ids=["empty", "dot", "dots", "slash", "path", "long", "bytes", "line", "nul", "bidi", "half"],
)
def test_names_that_no_attachment_has(case: DeskCase, name: str) -> None:
    claim = case.claim()
    uploads = case.desk.uploads
    error = refused(InvalidError, lambda: uploads.begin(KEY, case.pat, claim.fence, name))
    assert error.kind == "invalid_name"
    assert files(case) == {}


@pytest.mark.parametrize("name", ["<b>&\"'.log", "..\\..\\x", "con", "-rf", "%2e%2e", "x.part"])
def test_names_that_are_only_strange_stay_texts(case: DeskCase, name: str) -> None:
    upload = case.upload(case.claim(), name)
    assert upload.name == name
    assert set(files(case)) == {upload.upload_id}


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        ({"max_file_bytes": 99}, "max_file_bytes"),
        ({"max_request_bytes": 149}, "max_request_bytes"),
        ({"max_tester_bytes": 149}, "max_tester_bytes"),
    ],
    ids=["file", "request", "tester"],
)
@pytest.mark.parametrize("declared", [True, False], ids=["announced", "streamed"])
def test_limits_in_bytes(
    case: DeskCase, limits: dict[str, int], limit: str, declared: bool
) -> None:
    claim = case.claim()
    kept = case.upload(claim, "first.log", b"x" * 50)
    uploads = with_policy(case, **limits)

    def send(size: int) -> None:
        writer = uploads.begin(KEY, case.pat, claim.fence, "more.log", size if declared else None)
        for _ in range(size):
            writer.write(b"y")
        writer.finish()

    error = refused(LimitExceeded, lambda: send(100))
    assert (error.kind, error.details["limit"]) == ("upload_limit", limit)
    assert set(files(case)) == {kept.upload_id}
    send(99)  # and not a byte less than the limit


def test_the_limit_on_their_number(case: DeskCase) -> None:
    claim = case.claim()
    uploads = with_policy(case, max_request_files=2)
    first = case.upload(claim, "1.log")
    case.upload(claim, "2.log")
    error = refused(LimitExceeded, lambda: case.upload(claim, "3.log"))
    assert error.details["limit"] == "max_request_files"
    uploads.remove(KEY, case.pat, claim.fence, first.upload_id)
    case.upload(claim, "3.log")


def test_no_more_than_a_few_at_the_same_time(case: DeskCase) -> None:
    claim = case.claim()
    uploads = with_policy(case, max_receiving=2)
    writers = [uploads.begin(KEY, case.pat, claim.fence, f"{n}.log") for n in range(2)]
    error = refused(TooMany, lambda: uploads.begin(KEY, case.pat, claim.fence, "2.log"))
    assert (error.kind, error.details["retry_after"]) == ("too_many_uploads", 5)
    writers[0].abort()
    writers[0].abort()
    assert len(files(case)) == 1
    uploads.begin(KEY, case.pat, claim.fence, "2.log").abort()


def test_what_came_at_the_same_time_counts_at_the_end(case: DeskCase) -> None:
    """Two that announce nothing and only together are too much: the second one is refused."""
    claim = case.claim()
    uploads = with_policy(case, max_request_bytes=100)
    one = uploads.begin(KEY, case.pat, claim.fence, "1.log")
    two = uploads.begin(KEY, case.pat, claim.fence, "2.log")
    one.write(b"x" * 60)
    two.write(b"y" * 60)
    kept = one.finish()
    assert refused(LimitExceeded, two.finish).details["limit"] == "max_request_bytes"
    assert set(files(case)) == {kept.upload_id}


@pytest.mark.parametrize("sent", [b"", b"12", b"1234"], ids=len)
def test_a_file_has_the_size_that_was_announced(case: DeskCase, sent: bytes) -> None:
    claim = case.claim()
    writer = case.desk.uploads.begin(KEY, case.pat, claim.fence, "app.log", 3)

    def send() -> None:
        writer.write(sent)
        writer.finish()

    assert refused(InvalidError, send).kind == "upload_size"
    assert files(case) == {}
    with pytest.raises(InvalidError):
        case.desk.uploads.begin(KEY, case.pat, claim.fence, "app.log", -1)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x7fELF" + bytes(10), "application/octet-stream"),
        (b"MZ\x90\0" + bytes(10), "application/octet-stream"),
        (b"\xff" * 5000, "application/octet-stream"),
        (PNG, "image/png"),
    ],
    ids=["elf", "exe", "noise", "png"],
)
def test_types_that_are_not_taken(case: DeskCase, content: bytes, kind: str) -> None:
    claim = case.claim()
    with_policy(case, types=("text/plain",))
    error = refused(InvalidError, lambda: case.upload(claim, "innocent.txt", content))
    assert (error.kind, error.details["media_type"]) == ("upload_type", kind)
    assert files(case) == {}


def test_a_type_is_refused_before_all_has_come(case: DeskCase) -> None:
    writer = case.desk.uploads.begin(KEY, case.pat, case.claim().fence, "a.bin", 1 << 20)
    writer.write(b"\0" * 4096)
    assert refused(InvalidError, lambda: writer.write(b"\0")).kind == "upload_type"
    assert files(case) == {}


def test_what_a_browser_would_run_is_text_to_us(case: DeskCase) -> None:
    claim = case.claim()
    for name, content in (
        ("a.html", b"<!doctype html><script>alert(1)</script>"),
        ("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
    ):
        assert case.upload(claim, name, content).media_type == "text/plain"
    assert case.upload(claim, "empty.log", b"").size == 0


def test_removing(case: DeskCase) -> None:
    claim = case.claim()
    upload = case.upload(claim)
    uploads = case.desk.uploads
    other = RequestKey(CASE, PACKAGE, "other")
    for key, upload_id, error in (
        (KEY, "0" * 32, NotFoundError),
        (other, upload.upload_id, ConflictError),
    ):
        with pytest.raises(error):
            uploads.remove(key, case.pat, claim.fence, upload_id)
    uploads.remove(KEY, case.pat, claim.fence, upload.upload_id)
    assert files(case) == {}
    with pytest.raises(NotFoundError):
        uploads.get(upload.upload_id, case.pat)


def test_removing_what_one_uploaded_for_a_test_that_was_given_back(case: DeskCase) -> None:
    claim = case.claim()
    upload = case.upload(claim)
    uploads = case.desk.uploads
    without = lambda: uploads.remove(KEY, case.pat, None, upload.upload_id)  # noqa: E731
    assert refused(ConflictError, without).kind == "claimed"
    case.desk.claims.release(KEY, case.pat, claim.fence)
    error = refused(NotFoundError, lambda: uploads.remove(KEY, case.kim, None, upload.upload_id))
    assert error.kind == "unknown_upload"
    case.claim(case.kim)
    without()
    assert files(case) == {}


def test_uploads_for_a_test_that_somebody_else_answered_go_after_a_month(case: DeskCase) -> None:
    claim = case.claim()
    case.upload(claim)
    case.desk.claims.release(KEY, case.pat, claim.fence)
    kept = files(case)
    claim = case.claim(case.kim)
    draft = case.write(claim, case.upload(claim, by=case.kim), by=case.kim)
    preview = case.desk.confirming.preview(KEY, case.kim, claim.fence, draft.revision)
    digest = preview.draft_digest or ""
    # Open, and however old: it stays.
    case.clock.tick(KEPT_SECONDS + 1)
    case.close()
    case.open()
    assert case.desk.recovered.files == 0
    case.desk.confirming.confirm(KEY, case.kim, claim.fence, draft.revision, digest)
    assert files(case) == kept
    case.clock.tick(-2)
    case.close()
    case.open()
    assert files(case) == kept
    case.clock.tick(2)
    case.close()
    case.open()
    assert (case.desk.recovered.files, files(case)) == (1, {})
    assert case.desk.uploads.list(KEY, case.pat) == []


def test_what_a_dead_service_left_is_cleaned_at_the_next_start(case: DeskCase) -> None:
    claim = case.claim()
    kept = case.upload(claim)
    half = case.desk.uploads.begin(KEY, case.pat, claim.fence, "half.log", 100)
    half.write(b"x" * 50)
    folder = case.root / "state" / "uploads"
    (folder / ("a" * 32)).write_bytes(b"renamed, but never called stored")
    (folder / "NOTES").write_text("somebody's")
    case.close()
    case.open()
    assert case.desk.recovered.files == 2
    assert files(case) == {kept.upload_id: LOG, "NOTES": b"somebody's"}
    assert case.desk.uploads.list(KEY, case.pat) == [kept]
    # Nothing of it counts any more.
    with_policy(case, max_request_bytes=len(LOG) + 10, max_receiving=1)
    case.upload(claim, "more.log", b"x" * 10)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, "disk_full"), (errno.EIO, "storage")],
    ids=["full", "broken"],
)
def test_a_disk_that_fails(case: DeskCase, number: int, kind: str) -> None:
    claim, desk = case.claim(), case.desk
    told = []
    for fail_at in range(5):
        io = FaultyIO(fail_at, number, written=50)
        desk.uploads = Uploads(desk.folder, desk.database, desk.claims, desk.audit, io=io)
        error = refused(StorageError, lambda: case.upload(claim))
        assert io.failed is not None
        told.append((io.failed.name, error.kind))
        assert desk.uploads.list(KEY, case.pat) == []
        assert files(case) == {}
    assert told == [
        ("create", kind),
        ("write", kind),
        ("sync", "outcome_unknown"),
        ("replace", kind),
        ("sync_folder", "outcome_unknown"),
    ]
    desk.uploads = Uploads(desk.folder, desk.database, desk.claims, desk.audit)
    assert case.upload(claim).size == len(LOG)


def test_a_file_that_was_changed_or_replaced_is_not_read(case: DeskCase) -> None:
    upload = case.upload(case.claim())
    path = case.root / "state" / "uploads" / upload.upload_id
    path.write_bytes(LOG + b"more")
    assert refused(StorageError, lambda: case.desk.uploads.stream(upload)).kind == "unreadable"
    path.unlink()
    assert refused(StorageError, lambda: case.desk.uploads.stream(upload)).kind == "unreadable"
    path.symlink_to(case.root / "state" / "testers.sqlite3")
    assert refused(StorageError, lambda: case.desk.uploads.stream(upload)).kind == "unreadable"


def test_a_long_upload_keeps_its_claim_and_ends_with_it(
    case: DeskCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = case.claim()
    now = [0.0]
    writer = case.desk.uploads.begin(KEY, case.pat, claim.fence, "app.log")
    writer._monotonic = lambda: now[0]
    writer._renewed = 0.0
    for _ in range(10):  # ten times 10 minutes, with a lease of 15
        now[0] += 600
        case.clock.tick(600)
        writer.write(b"x")
    assert case.upload(claim, "other.log").size == len(LOG)
    case.clock.tick(900)
    case.claim(case.kim)
    now[0] += 900
    assert refused(ConflictError, lambda: writer.write(b"x")).kind == "superseded"
    assert len(files(case)) == 1


def test_a_large_upload_needs_little_memory(case: DeskCase) -> None:
    claim = case.claim()
    piece = b"0123456789abcdef" * 4096
    writer = case.desk.uploads.begin(KEY, case.pat, claim.fence, "large.log")
    tracemalloc.start()
    for _ in range(512):
        writer.write(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert writer.finish().size == 512 * len(piece) == 32 << 20
    assert peak < 1 << 20


def test_files_are_private(case: DeskCase) -> None:
    previous = os.umask(0)
    try:
        case.desk.uploads.begin(KEY, case.pat, case.claim().fence, "app.log")
    finally:
        os.umask(previous)
    (part,) = (case.root / "state" / "uploads").iterdir()
    assert part.name.endswith(".part")
    assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_a_claim_is_needed(case: DeskCase) -> None:
    nobody: Claim = case.claim(case.kim)
    with pytest.raises(ConflictError) as error:
        case.desk.uploads.begin(KEY, case.pat, nobody.fence, "app.log")
    assert error.value.kind == "not_claimed"
