"""Kill -9 at every step of a confirmation: confirmed and resumed, or still a draft. Once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from blake3 import blake3

from vstore.handoff.documents import AsyncTestFeedback
from vstore.objects.canonical import to_value
from vstore.objects.plain_json import encode_value
from vstore.testing.desk import KEY, LOG, DeskCase, waiting_workspace
from vstore.testing.desk_deaths import Deaths
from vstore.testing.investigation import CASE, PACKAGE
from vstore.verify import verify_package

#: Too large for a frame: it is staged and moved to a place of its own.
LARGE = b"a long log, line after line\n" * 50_000


@pytest.fixture(scope="module")
def deaths() -> Iterator[Deaths]:
    with Deaths() as one:
        yield one


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pat has written everything and uploaded two files; what is left is to confirm."""
    folder = tmp_path_factory.mktemp("ready")
    case = DeskCase(folder, waiting_workspace(tmp_path_factory.mktemp("waiting")))
    claim = case.claim()
    case.write(claim, case.upload(claim), case.upload(claim, "large.log", LARGE))
    case.close()
    return folder


def restarted(root: Path) -> bool:
    """What a start after the death finds: whether the answer is confirmed, and all that follows."""
    case = DeskCase(root)
    desk = case.desk
    draft, held = desk.drafts.load(KEY, case.pat), desk.claims.holder(KEY)
    assert desk.recovered.undecided == 0
    assert (draft.revision, draft.conflicts) == (1, ())
    assert draft.content.answers["log"].text == "It divides by zero."
    receipt, entry = desk.confirming.receipt(KEY), desk.board.entry(KEY)
    confirmed = receipt is not None
    assert confirmed == (entry.status == "answered")
    if receipt is None:
        # Still a draft, with its files, held by whoever wrote it: they go on.
        assert held is not None
        assert (held.name, held.fence, held.live) == ("pat", 1, True)
        assert [one.name for one in desk.uploads.list(KEY, case.pat)] == ["app.log", "large.log"]
        last = desk.confirming.last(KEY, case.pat)
        assert last is None or (last.state, last.reason) == ("withdrawn", "service_ended")
        preview = desk.confirming.preview(KEY, case.pat, held.fence, draft.revision)
        receipt = case.confirm(held, draft, preview)
        assert not receipt.repeated
    again = desk.confirming.confirm(KEY, case.pat, 1, draft.revision, receipt.draft_digest)
    assert (again.feedback_ref, again.generation_id) == (
        receipt.feedback_ref,
        receipt.generation_id,
    )
    assert again.repeated
    assert desk.claims.holder(KEY) is None
    assert desk.uploads.list(KEY, case.pat) == []
    assert list((root / "state" / "uploads").iterdir()) == []
    done = [one for one in desk.audit.recent(1000) if one.action == "test.confirm"]
    assert [one.actor for one in done] == ["pat"]
    case.close()
    check_package(root, receipt.feedback_ref, receipt.draft_digest, receipt.generation_number)
    return confirmed


def check_package(root: Path, feedback_ref: str, digest: str, generation: int) -> None:
    """The package says what pat confirmed, saw, and bound; it was confirmed once."""
    report = verify_package(root / "workspace" / CASE)
    assert report.exit_code == 0, report.findings
    assert [one.code for one in report.findings if one.severity != "note"] == []
    outside = DeskCase.outside_of(root)
    snapshot = outside.tests.snapshot(CASE, PACKAGE)
    (handoff,) = snapshot.handoffs
    assert snapshot.package.state == "INVESTIGATING_HYPOTHESES"
    assert (handoff.feedback_ref, handoff.confirmed_in) == (feedback_ref, generation)
    history = list(outside.workspace.repository(CASE).reader.history())
    kinds = [event.kind for _, one in history for event in one.events]
    assert (kinds.count("test.attach"), kinds.count("test.confirm")) == (1, 1)
    assert [event.actor for _, one in history[:2] for event in one.events] == ["pat", "pat"]
    feedback = snapshot.package.objects.document(handoff.feedback_ref, AsyncTestFeedback)
    assert feedback.request == handoff.request_ref
    assert (feedback.tester_id, feedback.confirmed_by) == ("pat", "pat")
    value = to_value(feedback)
    del value["confirmed_by"], value["confirmed_at"]
    assert blake3(encode_value(value)).hexdigest() == digest
    stored = {one.name: one.object for one in feedback.attachments}
    assert stored == {
        "app.log": "b3:" + blake3(LOG).hexdigest(),
        "large.log": "b3:" + blake3(LARGE).hexdigest(),
    }
    for name, content in (("app.log", LOG), ("large.log", LARGE)):
        assert snapshot.package.objects.get(stored[name]) == content
    outside.close()


def die(deaths: Deaths, prepared: Path, root: Path, step: int, work: str = "confirm") -> str | None:
    shutil.copytree(prepared, root)
    return deaths.die(work, root, step, percent=50)


def died_at_every_step(
    deaths: Deaths, prepared: Path, tmp_path: Path, work: str, first: int, every: int
) -> list[tuple[str, bool]]:
    """What each death interrupted, and whether the answer was confirmed after it."""
    found, step = [], first
    while True:
        root = tmp_path / "killed"
        what = die(deaths, prepared, root, step, work)
        found.append((what or "", restarted(root)))
        shutil.rmtree(root)
        if what is None:
            return found
        step += every


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_step_of_a_confirmation(
    deaths: Deaths, ready: Path, tmp_path: Path, part: int
) -> None:
    found = died_at_every_step(deaths, ready, tmp_path, "confirm", part, PARTS)
    outcomes = [confirmed for _, confirmed in found]
    # At first it is a draft, from the publication on it is confirmed.
    assert outcomes == sorted(outcomes)
    assert outcomes[0] is False
    assert outcomes[-1] is True
    steps = [what.startswith("SQL ") for what, _ in found[:-1]]
    # Some before the package is touched, some while it is, some after it.
    durable = [number for number, is_sql in enumerate(steps) if not is_sql]
    assert len(durable) >= 5
    assert all(steps[: durable[0]])
    assert durable[0] >= 5
    assert len(steps) - 1 - steps[::-1].index(True) > durable[0]


def test_killed_at_every_step_of_the_restart(deaths: Deaths, ready: Path, tmp_path: Path) -> None:
    """Died when the package had the answer and the journal didn't know; then died again."""
    prepared = tmp_path / "prepared"
    for step in range(40, 400):
        what = die(deaths, ready, prepared, step)
        assert what is not None
        if what.startswith("SQL UPDATE confirmations SET state = 'done'"):
            break
        shutil.rmtree(prepared)
    found = died_at_every_step(deaths, prepared, tmp_path, "open", 0, 1)
    assert {confirmed for _, confirmed in found} == {True}
    assert len(found) > 20


def test_killed_at_every_step_of_an_upload(deaths: Deaths, ready: Path, tmp_path: Path) -> None:
    step, outcomes = 0, []
    while True:
        root = tmp_path / "killed"
        what = die(deaths, ready, root, step, "upload")
        case = DeskCase(root)
        kept = case.desk.uploads.list(KEY, case.pat)
        outcomes.append(len(kept))
        # Every file is somebody's, and whole.
        on_disk = {one.name: one.read_bytes() for one in (root / "state" / "uploads").iterdir()}
        assert set(on_disk) == {one.upload_id for one in kept}
        for one in kept:
            assert one.object == "b3:" + blake3(on_disk[one.upload_id]).hexdigest()
        if len(kept) == 3:
            assert (kept[2].name, kept[2].size) == ("more.log", 8)
        case.close()
        shutil.rmtree(root)
        if what is None:
            break
        step += 1
    assert outcomes == sorted(outcomes)
    assert (outcomes[0], outcomes[-1]) == (2, 3)
    assert len(outcomes) > 15


@pytest.mark.parametrize("percent", [0, 99])
def test_two_deaths_in_a_row(deaths: Deaths, ready: Path, tmp_path: Path, percent: int) -> None:
    """After each death the work is tried again, and dies a few steps later than before."""
    root = tmp_path / "killed"
    shutil.copytree(ready, root)
    for step in range(0, 400, 3):
        if deaths.die("confirm", root, step, percent=percent) is None:
            break
    assert restarted(root)
