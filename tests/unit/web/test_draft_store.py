"""Drafts: nothing that was typed is lost, and a stale text never replaces a newer one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from vstore.errors import ConflictError, InvalidError, LimitExceeded, NotFoundError, StorageError
from vstore.testing.desk import KEY, DeskCase
from vstore.testing.investigation import CASE, PACKAGE
from vstore.web import draft_store
from vstore.web.board import RequestKey
from vstore.web.draft_content import DraftContent
from vstore.web.draft_store import KEPT_REVISIONS, StaleDraft


def text(words: str) -> DraftContent:
    return DraftContent(remarks=words)


def test_a_draft_survives_a_restart(case: DeskCase) -> None:
    empty = case.desk.drafts.load(KEY, case.pat)
    assert (empty.revision, empty.saved_at, empty.conflicts) == (0, None, ())
    assert empty.content.environment == (("release", "1.0"),)
    claim = case.claim()
    saved = case.save(claim, 0, text("half a sent"))
    case.close()
    case.open()
    assert case.desk.drafts.load(KEY, case.pat) == saved
    assert (saved.revision, saved.saved_at) == (1, "2026-01-01T00:00:00Z")
    # Another tester's is another one.
    assert case.desk.drafts.load(KEY, case.kim).revision == 0


def test_the_same_text_again_is_no_new_revision(case: DeskCase) -> None:
    claim = case.claim()
    first = case.save(claim, 0, text("a"))
    case.clock.tick(5)
    assert case.save(claim, 1, text("a")) == first
    # A second click, whose answer never came, isn't stale either.
    assert case.save(claim, 0, text("a")) == first
    drafts = case.desk.drafts
    second = drafts.save(KEY, case.pat, claim.fence, 1, text("ab"), automatic=True)
    assert (second.revision, second.automatic) == (2, True)


def test_a_stale_text_is_refused_and_kept(case: DeskCase) -> None:
    claim = case.claim()
    case.save(claim, 0, text("a"))
    case.save(claim, 1, text("written here"))
    case.clock.tick(60)
    with pytest.raises(StaleDraft) as error:
        case.save(claim, 1, text("written\r\nthere"))
    stale = error.value
    assert stale.kind == "stale_draft"
    assert stale.current.content == text("written here")
    assert stale.refused == text("written\nthere")
    loaded = case.desk.drafts.load(KEY, case.pat)
    assert loaded == stale.current
    (copy,) = loaded.conflicts
    assert (copy.content, copy.base_revision) == (text("written\nthere"), 1)
    assert copy.refused_at == "2026-01-01T00:01:00Z"
    # Sent twice, it is one text.
    with pytest.raises(StaleDraft):
        case.save(claim, 1, text("written\nthere"))
    assert len(case.desk.drafts.load(KEY, case.pat).conflicts) == 1
    case.close()
    case.open()
    assert case.desk.drafts.load(KEY, case.pat) == loaded


def test_a_conflict_is_dealt_with_once(case: DeskCase) -> None:
    claim = case.claim()
    case.save(claim, 0, text("a"))
    case.save(claim, 1, text("b"))
    with pytest.raises(StaleDraft):
        case.save(claim, 1, text("c"))
    with pytest.raises(StaleDraft):
        case.save(claim, 1, text("d"))
    drafts = case.desk.drafts
    first, second = (one.conflict_id for one in drafts.load(KEY, case.pat).conflicts)
    fence = claim.fence
    for ids in ([first + 100], [first, 0]):
        with pytest.raises(NotFoundError) as error:
            drafts.resolve_conflict(KEY, case.pat, fence, 2, text("x"), conflict_ids=ids)
        assert error.value.kind == "unknown_conflict"
    # Stale itself: the choice is kept as one more text.
    with pytest.raises(StaleDraft):
        drafts.resolve_conflict(KEY, case.pat, fence, 1, text("old"), conflict_ids=[first])
    assert len(drafts.load(KEY, case.pat).conflicts) == 3
    merged = drafts.resolve_conflict(KEY, case.pat, fence, 2, text("bc"), conflict_ids=[first])
    assert (merged.revision, merged.content) == (3, text("bc"))
    assert [one.content for one in merged.conflicts] == [text("d"), text("old")]
    # To keep what is saved resolves too.
    kept = drafts.resolve_conflict(KEY, case.pat, fence, 3, text("bc"), conflict_ids=[second])
    assert (kept.revision, [one.content for one in kept.conflicts]) == (3, [text("old")])
    with pytest.raises(NotFoundError):
        drafts.resolve_conflict(KEY, case.pat, fence, 3, text("bc"), conflict_ids=[second])
    # None of the texts is gone for good.
    with case.desk.database.reading() as db:
        rows = db.execute("SELECT content FROM draft_conflicts ORDER BY conflict_id").fetchall()
    assert [DraftContent.decode(row["content"]).remarks for row in rows] == ["c", "d", "old"]


def test_the_last_revisions_are_kept(case: DeskCase) -> None:
    claim = case.claim()
    for number in range(KEPT_REVISIONS + 5):
        case.save(claim, number, text(f"text {number}"))
    kept = case.desk.drafts.revisions(KEY, case.pat)
    assert [one.revision for one in kept] == list(range(KEPT_REVISIONS + 5, 5, -1))
    assert kept[0].content == text(f"text {KEPT_REVISIONS + 4}")
    assert case.desk.drafts.revisions(KEY, case.kim) == []


def test_only_the_holder_writes(case: DeskCase) -> None:
    claim = case.claim()
    for account, fence in ((case.kim, claim.fence), (case.pat, claim.fence + 1), (case.pat, 0)):
        with pytest.raises(ConflictError) as error:
            case.desk.drafts.save(KEY, account, fence, 0, text("x"))
        assert error.value.kind == "not_claimed"
    with pytest.raises(NotFoundError):
        case.desk.drafts.save(RequestKey(CASE, PACKAGE, "other"), case.pat, 1, 0, text("x"))
    assert case.desk.drafts.load(KEY, case.kim).revision == 0


def test_revisions_that_can_not_be(case: DeskCase) -> None:
    claim = case.claim()
    for base in (-1, 1 << 63):
        with pytest.raises(InvalidError) as error:
            case.save(claim, base, text("x"))
        assert error.value.kind == "invalid_revision"
    # The service's data was restored from before the draft: there is nothing to lose.
    assert case.save(claim, 7, text("x")).revision == 1


def test_refused_texts_are_bounded(case: DeskCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_store, "_MAX_CONFLICTS", 3)
    claim = case.claim()
    case.save(claim, 0, text("a"))
    for number in range(3):
        with pytest.raises(StaleDraft):
            case.save(claim, 0, text(f"other {number}"))
    with pytest.raises(LimitExceeded) as error:
        case.save(claim, 0, text("one more"))
    assert error.value.kind == "too_many_conflicts"
    assert len(case.desk.drafts.load(KEY, case.pat).conflicts) == 3


def test_two_windows_that_save_at_the_same_time(case: DeskCase) -> None:
    """Whatever comes first is the draft; every other text is kept beside it."""
    claim = case.claim()
    case.save(claim, 0, text("begun"))
    start = threading.Barrier(8)

    def save(number: int) -> bool:
        start.wait(30)
        try:
            case.save(claim, 1, text(f"window {number}"))
        except StaleDraft:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(save, range(8)))
    assert outcomes.count(True) == 1
    draft = case.desk.drafts.load(KEY, case.pat)
    texts = [draft.content.remarks, *(one.content.remarks for one in draft.conflicts)]
    assert sorted(texts) == [f"window {number}" for number in range(8)]
    assert draft.content == replace(draft.content, remarks=f"window {outcomes.index(True)}")


def test_a_full_disk_leaves_the_draft_as_it_was(case: DeskCase) -> None:
    claim = case.claim()
    saved = case.save(claim, 0, text("a"))
    with case.desk.database.transaction() as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        # SQLite itself says that there is no more room.
        db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError) as error:
        case.save(claim, 1, text("x" * 500_000))
    assert error.value.kind == "disk_full"
    assert case.desk.drafts.load(KEY, case.pat) == saved
    with case.desk.database.transaction() as db:
        db.execute("PRAGMA max_page_count = 1000000")
    assert case.save(claim, 1, text("x" * 500_000)).revision == 2
