"""What the coordinator refuses and repeats, beyond the sentences of the source contract."""

from __future__ import annotations

import io
import random
import shutil
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from vstore.controller.test_attachments import Upload
from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.errors import (
    IntegrityError,
    InvalidError,
    LimitExceeded,
    MissingReservation,
    NotFoundError,
    OperationConflict,
    StateError,
    VStoreError,
)
from vstore.evidence.documents import EvidenceContent, EvidenceRecord, FeedbackOrigin
from vstore.evidence.limits import EvidenceLimits
from vstore.handoff.attachments import attachments_of, check_digest
from vstore.handoff.documents import AsyncTestFeedback
from vstore.handoff.limits import HandoffLimits
from vstore.objects.canonical import encode, to_value
from vstore.objects.ids import ObjectId, object_id
from vstore.testing.folders import package_bytes
from vstore.testing.handoff import HandoffCase, answer_to, handed_out
from vstore.testing.investigation import CASE, PACKAGE
from vstore.tools.request import SourceSearch
from vstore.verify import verify_package

Waiting = tuple[HandoffCase, AsyncTestFeedback]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, AsyncTestFeedback]:
    folder = tmp_path_factory.mktemp("prepared")
    case, feedback = handed_out(folder / "package", folder)
    case.close()
    return folder, feedback


@pytest.fixture
def waiting(prepared: tuple[Path, AsyncTestFeedback], tmp_path: Path) -> Iterator[Waiting]:
    shutil.copytree(prepared[0] / "package", tmp_path / "package")
    case = HandoffCase(tmp_path / "package", prepared[0])
    yield case, prepared[1]
    case.close()
    assert verify_package(tmp_path / "package").exit_code == 0


def kind_of(case: HandoffCase, error: type[VStoreError], action: Any) -> str:
    before = package_bytes(case.root)
    with pytest.raises(error) as caught:
        action()
    assert package_bytes(case.root) == before
    assert list((case.root / "tmp").glob("*")) == []
    return caught.value.kind


# ---- handing out


def test_an_action_is_handed_out_once(waiting: Waiting) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    first = case.tests.snapshot(CASE, PACKAGE).handoffs[0]
    again = replace(first.request, request_id="again")
    assert kind_of(case, MissingReservation, lambda: case.tests.submit(again)) == "action_submitted"


def test_an_action_with_a_record_is_not_handed_out(waiting: Waiting) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    case.ask("b", [("H2", "q", SourceSearch(source="code", pattern="BUG"))])
    request = case.request("r2", "t2", hypothesis="H2")
    recorded = replace(request, action_id="q")
    assert kind_of(case, MissingReservation, lambda: case.tests.submit(recorded))


def test_a_request_is_taken_as_json_in_any_layout(waiting: Waiting) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    request = case.request("r2", "t2", hypothesis="H2")
    import json

    raw = json.dumps(to_value(request), indent=3).encode()
    done = case.tests.submit(raw)
    assert done.request_ref == object_id(encode(request))
    assert case.tests.submit(raw).repeated


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"schema":"tree-v1","entries":[]}'])
def test_what_is_no_request_is_refused(waiting: Waiting, raw: bytes) -> None:
    case, _ = waiting
    assert kind_of(case, InvalidError, lambda: case.tests.submit(raw))
    assert kind_of(case, InvalidError, lambda: case.tests.confirm_feedback(raw))


def test_a_request_of_another_revision_or_with_a_bad_deadline_is_refused(
    waiting: Waiting,
) -> None:
    case, feedback = waiting
    case.confirm(feedback)
    request = case.request("r2", "t2", hypothesis="H2")
    for change, kind in (
        ({"analysis_revision": 2}, "identity_mismatch"),
        ({"deadline": "2026-02-30T00:00:00Z"}, "bad_instant"),
        ({"environment": request.environment * 2}, "repeated"),
    ):
        wrong = replace(request, **change)  # type: ignore[arg-type]
        assert kind_of(case, InvalidError, lambda wrong=wrong: case.tests.submit(wrong)) == kind


# ---- attaching


def test_names_that_can_not_be_shown_are_refused(waiting: Waiting) -> None:
    case, _ = waiting
    for name in ("", "a/b", "..", "\x1b[2J", "a\u202egnp", "x" * 201):
        assert kind_of(case, InvalidError, lambda name=name: case.attach((name, b"x"))) == (
            "invalid_name"
        )
    assert kind_of(case, InvalidError, lambda: case.attach()) == "empty_batch"


def test_another_test_than_the_outstanding_one_takes_no_attachment(waiting: Waiting) -> None:
    case, feedback = waiting
    upload = ("late.log", b"x")
    assert (
        kind_of(case, NotFoundError, lambda: case.attach(upload, request_id="nobody's"))
        == "unknown_request"
    )
    case.confirm(feedback)
    assert kind_of(case, StateError, lambda: case.attach(upload)) == "state"
    case.submit("test-2", "t2", hypothesis="H2")
    assert (
        kind_of(case, StateError, lambda: case.attach(upload, request_id="test-1"))
        == "not_outstanding"
    )
    assert not case.attach(upload, request_id="test-2").repeated


@pytest.mark.parametrize("size", [101, (1 << 20) + 1])
def test_the_limit_on_an_attachment_leaves_nothing_behind(waiting: Waiting, size: int) -> None:
    case, _ = waiting
    tests = AsyncTestCoordinator(case.workspace, limits=HandoffLimits(max_attachment_bytes=100))
    uploads = [Upload("small", io.BytesIO(b"x")), Upload("large", io.BytesIO(b"x" * size))]

    def attach() -> None:
        for one in uploads:
            one.stream.seek(0)
        tests.attach(CASE, PACKAGE, uploads)

    before = package_bytes(case.root)
    with pytest.raises(LimitExceeded) as caught:
        attach()
    assert caught.value.details["limit"] == "max_attachment_bytes"
    assert package_bytes(case.root) == before
    # A large one that is given up in the middle.
    wide = AsyncTestCoordinator(
        case.workspace, limits=HandoffLimits(max_attachment_bytes=(1 << 20) + 100)
    )
    huge = Upload("huge", io.BytesIO(b"x" * (3 << 20)))
    assert kind_of(case, LimitExceeded, lambda: wide.attach(CASE, PACKAGE, [huge]))


def test_the_limit_on_their_number(waiting: Waiting) -> None:
    case, _ = waiting
    tests = AsyncTestCoordinator(case.workspace, limits=HandoffLimits(max_attachments=2))
    tests.attach(CASE, PACKAGE, [Upload("second", io.BytesIO(b"2"))])
    with pytest.raises(LimitExceeded) as caught:
        tests.attach(CASE, PACKAGE, [Upload("third", io.BytesIO(b"3"))])
    assert caught.value.details == {"limit": "max_attachments", "value": 2, "asked": 3}


def test_too_many_files_at_once_leave_no_bytes_behind(waiting: Waiting) -> None:
    case, _ = waiting
    tests = AsyncTestCoordinator(case.workspace, limits=HandoffLimits(max_attachments=2))
    chance = random.Random(2)
    # Together more than a transaction keeps in memory.
    uploads = [Upload(f"file-{n}", io.BytesIO(chance.randbytes(900_000))) for n in range(8)]
    before = package_bytes(case.root)
    with pytest.raises(LimitExceeded) as caught:
        tests.attach(CASE, PACKAGE, uploads)
    assert caught.value.details == {"limit": "max_attachments", "value": 2, "asked": 8}
    assert package_bytes(case.root) == before


class Noise(io.RawIOBase):
    """A file of many bytes that don't repeat, and that is nowhere."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._left = size
        self._chance = random.Random(1)

    def read(self, size: int = -1, /) -> bytes:
        piece = self._chance.randbytes(min(self._left, 1 << 16 if size < 0 else size))
        self._left -= len(piece)
        return piece


def test_a_large_attachment_is_streamed_in_and_verified_in_bounded_memory(
    waiting: Waiting,
) -> None:
    case, feedback = waiting
    size = 32 << 20
    tracemalloc.start()
    upload = Upload("core.dump", Noise(size))  # type: ignore[arg-type]
    attached = case.tests.attach(CASE, PACKAGE, [upload]).attachments
    assert (attached[0].size, attached[0].media_type) == (size, "application/octet-stream")
    done = case.confirm(replace(feedback, attachments=[*feedback.attachments, *attached]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert done.package.state == "INVESTIGATING_HYPOTHESES"
    assert peak < 12 << 20


def test_a_damaged_attachment_ends_no_wait(waiting: Waiting) -> None:
    case, feedback = waiting
    large = case.attach(("large.bin", bytes(range(256)) * 8192)).attachments
    (stored,) = (one for one in (case.root / "objects/large").rglob("*") if one.is_file())
    raw = stored.read_bytes()
    stored.chmod(0o600)
    stored.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    answer = replace(feedback, attachments=[*feedback.attachments, *large])
    with pytest.raises(IntegrityError):
        case.confirm(answer)
    assert case.tests.snapshot(CASE, PACKAGE).outstanding is not None
    stored.write_bytes(raw)
    assert case.confirm(answer).package.state == "INVESTIGATING_HYPOTHESES"


def test_a_wrong_size_is_no_attachment(waiting: Waiting) -> None:
    case, feedback = waiting
    package = case.tests.snapshot(CASE, PACKAGE).package
    wrong = replace(feedback.attachments[0], size=3)
    with pytest.raises(IntegrityError) as caught:
        check_digest(package.objects, [wrong])
    assert caught.value.kind == "bad_attachment"


def test_attachments_show_the_type_that_their_bytes_have(waiting: Waiting) -> None:
    case, _ = waiting
    case.attach(("page.html", b"<script>alert(1)</script>"), ("x.txt", b"\x89PNG\r\n\x1a\n"))
    snapshot = case.tests.snapshot(CASE, PACKAGE)
    assert snapshot.outstanding is not None
    found = {
        one.name: one.media_type
        for one in attachments_of(snapshot.package, snapshot.outstanding.request_ref)
    }
    assert found == {"app.log": "text/plain", "page.html": "text/plain", "x.txt": "image/png"}


# ---- confirming


def test_a_draft_names_the_request_that_its_author_saw(waiting: Waiting) -> None:
    case, feedback = waiting
    draft = to_value(feedback)
    for request in (None, "", "b3:" + "0" * 64, 7):
        wrong = draft | {"request": request}
        assert (
            kind_of(
                case,
                InvalidError,
                lambda wrong=wrong: case.tests.confirm_draft(
                    CASE, PACKAGE, wrong, confirmed_by="pat"
                ),
            )
            == "other_request"
        )
    del draft["request"]
    assert kind_of(
        case,
        InvalidError,
        lambda: case.tests.confirm_draft(CASE, PACKAGE, draft, confirmed_by="pat"),
    )


def test_a_repeated_draft_is_recognised_whoever_confirms_it(waiting: Waiting) -> None:
    case, feedback = waiting
    draft = to_value(feedback)
    first = case.tests.confirm_draft(CASE, PACKAGE, draft, confirmed_by="pat")
    again = case.tests.confirm_draft(CASE, PACKAGE, draft, confirmed_by="sam")
    assert (again.repeated, again.feedback) == (True, first.feedback)
    assert again.feedback.confirmed_by == "pat"
    shown = case.tests.preview(CASE, PACKAGE, draft, confirmed_by="chris")
    assert shown == first.feedback
    other = draft | {"remarks": "another answer"}
    assert (
        kind_of(
            case,
            OperationConflict,
            lambda: case.tests.confirm_draft(CASE, PACKAGE, other, confirmed_by="pat"),
        )
        == "operation_conflict"
    )
    # The documents differ: without a draft to compare, another name is another answer.
    assert kind_of(
        case, OperationConflict, lambda: case.confirm(replace(feedback, confirmed_by="sam"))
    )


def test_a_preview_makes_every_check_and_writes_nothing(waiting: Waiting) -> None:
    case, feedback = waiting
    draft = to_value(feedback)
    before = package_bytes(case.root)
    shown = case.tests.preview(CASE, PACKAGE, encode(feedback), confirmed_by="pat")
    assert shown == feedback
    assert package_bytes(case.root) == before
    wrong = draft | {"observations": []}
    assert (
        kind_of(
            case,
            InvalidError,
            lambda: case.tests.preview(CASE, PACKAGE, wrong, confirmed_by="pat"),
        )
        == "answers"
    )


# ---- evidence


def record_of(case: HandoffCase, ref: ObjectId) -> EvidenceRecord:
    package = case.tests.snapshot(CASE, PACKAGE).package
    return package.objects.document(ref, EvidenceRecord)


def test_a_confirmed_answer_becomes_one_record(waiting: Waiting) -> None:
    case, feedback = waiting
    done = case.confirm(feedback)
    saved = case.evidence.store_feedback(CASE, PACKAGE, "op", done.feedback_ref, actor="c")
    assert (saved.record_ids, saved.repeated) == (("E000001",), False)
    assert saved.record_refs[0] is not None
    record = record_of(case, saved.record_refs[0])
    assert (record.hypothesis_id, record.action_id, record.operation_id) == ("H1", "t1", "op")
    assert record.origin == FeedbackOrigin(feedback=done.feedback_ref)
    assert (record.novelty_score, len(record.novel_atoms)) == (100, 4)
    content = saved.package.objects.document(record.content, EvidenceContent)
    assert content.kind == "test_observations"
    (event,) = saved.package.generation.events
    assert (event.kind, event.operation_id, event.actor) == ("evidence.feedback", "op", "c")
    before = package_bytes(case.root)
    again = case.evidence.store_feedback(CASE, PACKAGE, "op", done.feedback_ref)
    assert again.repeated
    assert again.record_refs == saved.record_refs
    assert package_bytes(case.root) == before
    # An action has one record; an operation stores one thing.
    assert (
        kind_of(
            case,
            MissingReservation,
            lambda: case.evidence.store_feedback(CASE, PACKAGE, "op2", done.feedback_ref),
        )
        == "action_recorded"
    )
    assert kind_of(
        case,
        OperationConflict,
        lambda: case.evidence.store_feedback(CASE, PACKAGE, "op", object_id(b"other")),
    )


def test_a_draft_or_an_unconfirmed_answer_is_no_evidence(waiting: Waiting) -> None:
    case, feedback = waiting
    ref = object_id(encode(feedback))
    # While it waits, nothing is stored at all.
    assert (
        kind_of(case, StateError, lambda: case.evidence.store_feedback(CASE, PACKAGE, "op", ref))
        == "state"
    )
    done = case.confirm(feedback)
    request = case.tests.snapshot(CASE, PACKAGE).handoffs[0].request_ref
    for stranger in (object_id(b"nothing"), request, done.package.generation_id):
        assert (
            kind_of(
                case,
                NotFoundError,
                lambda one=stranger: case.evidence.store_feedback(CASE, PACKAGE, "op", one),
            )
            == "unconfirmed_feedback"
        )


def test_evidence_limits_hold_for_answers(waiting: Waiting) -> None:
    from vstore.controller import EvidenceStore

    case, feedback = waiting
    done = case.confirm(feedback)
    for limits in (EvidenceLimits(max_json_bytes=100), EvidenceLimits(max_retained_bytes=100)):
        store = EvidenceStore(case.workspace, router=case.router, limits=limits)
        assert kind_of(
            case,
            LimitExceeded,
            lambda store=store: store.store_feedback(CASE, PACKAGE, "op", done.feedback_ref),
        )


def test_the_same_observations_again_are_not_new(waiting: Waiting) -> None:
    """Whoever is asked, for whatever hypothesis: seen is seen; another environment isn't."""
    case, feedback = waiting
    done = case.confirm(feedback)
    case.evidence.store_feedback(CASE, PACKAGE, "o1", done.feedback_ref)
    scores = []
    for number, environment in ((2, feedback.environment), (3, feedback.environment[:1])):
        submitted = case.submit(f"test-{number}", f"t{number}", hypothesis="H2")
        log = case.attach(("app.log", b"ZeroDivisionError: division by zero\n"))
        answer = answer_to(submitted, log.attachments, environment=environment)
        done = case.confirm(answer)
        saved = case.evidence.store_feedback(CASE, PACKAGE, f"o{number}", done.feedback_ref)
        assert saved.record_refs[0] is not None
        record = record_of(case, saved.record_refs[0])
        scores.append((record.novelty_score, record.duplicate_of))
    assert scores == [(0, "E000001"), (100, None)]


def test_threads_confirming_at_once_confirm_once(waiting: Waiting) -> None:
    import threading

    case, feedback = waiting
    answers = [feedback, replace(feedback, remarks="b"), feedback, replace(feedback, remarks="c")]
    found: list[str] = []

    def confirm(answer: AsyncTestFeedback) -> None:
        try:
            found.append("repeated" if case.confirm(answer).repeated else "confirmed")
        except OperationConflict:
            found.append("conflict")

    threads = [threading.Thread(target=confirm, args=(one,)) for one in answers]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found.count("confirmed") == 1
    assert len(found) == 4
