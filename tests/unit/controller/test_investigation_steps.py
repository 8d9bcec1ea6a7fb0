"""Calls on a real package: bound, judged, stored; refused without any other effect."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vstore.controller.investigation_steps import InvestigationSteps, OpenCall, Outcome
from vstore.errors import (
    IntegrityError,
    InvalidError,
    NotFoundError,
    OperationConflict,
    StateError,
    UnsupportedError,
    VStoreError,
)
from vstore.investigation.documents import (
    ChangeAudit,
    InvestigationUpdate,
    WorkingBrief,
    WorkingBriefs,
)
from vstore.objects.ids import object_id
from vstore.package.documents import Hypotheses
from vstore.package.pinned import PinnedPackage
from vstore.package.workspace import Workspace
from vstore.testing.calls import Calls, small_calls
from vstore.testing.editor import PackageEditor
from vstore.testing.investigation import CASE, PACKAGE
from vstore.testing.replies import encoded, finding, reply_v13, reply_v14
from vstore.verify import verify_package


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    """A case at work with one record of H1."""
    one = Calls(tmp_path / "package", tmp_path)
    one.begin()
    one.look(0)
    yield one
    one.close()


@pytest.fixture(scope="module")
def _small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calls")
    small_calls(folder / "package", folder).close()
    return folder / "package"


@pytest.fixture
def small(_small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(_small, tmp_path / "small"))


def head(calls: Calls) -> PinnedPackage:
    return calls.workspace.repository(CASE).pinned()


def settled(calls: Calls) -> Any:
    snapshot = calls.budget.snapshot(CASE, PACKAGE)
    return (snapshot.ledger_ref, snapshot.accounts, snapshot.open_actions)


FIRST = reply_v14([finding()], score=60, confidence="strengthened", add_questions=["why?"])


# --- opening --------------------------------------------------------------------------------


def test_new_steps_are_v14_with_a_frozen_schema(calls: Calls) -> None:
    opened = calls.open("call-1")
    assert opened.request.contract == "investigation_project_v14"
    frozen = head(calls).objects.get(opened.request.reply_schema)
    assert json.loads(frozen)["title"] == "investigation_project_v14"
    assert object_id(frozen) == opened.request.reply_schema
    assert opened.request.result == "E000001"
    assert opened.request.brief is None


def test_opening_again_opens_nothing(calls: Calls) -> None:
    first = calls.open("call-1")
    before = head(calls)
    again = calls.open("call-1")
    assert (again.request_id, again.repeated, first.repeated) == (first.request_id, True, False)
    assert head(calls) == before
    with pytest.raises(OperationConflict):
        calls.open("call-1", "H2")


def test_the_context_has_all_evidence_in_full(calls: Calls) -> None:
    for number in range(1, 6):
        calls.look(number, "H2" if number % 2 else "H1")
    context = calls.open("call-1").context
    assert [one["id"] for one in context["evidence"]] == [f"E{one:06d}" for one in range(1, 7)]
    found = {one["id"]: one for one in context["evidence"]}
    whole = found["E000002"]["content"]["lines"][0]["lines"]
    text = (calls.scratch / "source/app/orders.py").read_text()
    assert [line for _, line in whole] == text.splitlines()
    assert len(found["E000003"]["content"]["rows"][0]["rows"]) == 3
    assert found["E000002"]["question"]["operation"] == "source.read"
    assert context["previous_result"] == "E000005"


def test_the_context_has_no_change_history_and_no_list_of_references(calls: Calls) -> None:
    calls.answer("call-1", FIRST)
    opened = calls.open("call-2")
    context = opened.context
    assert set(context["brief"]) == {"findings", "next_question", "uncertainties"}
    assert set(context["hypothesis"]) == {"id", "statement", "confidence", "open_questions"}
    assert set(context["brief"]["findings"][0]) == {
        "id", "direction", "text", "scope", "evidence_refs",
    }  # fmt: skip
    assert "change_audit" not in json.dumps(context)
    assert json.loads(opened.messages[1]["content"]) == context


def test_opening_is_for_hypotheses_that_are_investigated(calls: Calls) -> None:
    with pytest.raises(NotFoundError) as caught:
        calls.open("call-1", "H9")
    assert caught.value.kind == "unknown_hypothesis"
    with pytest.raises(InvalidError):
        calls.open("a call")
    calls.workspace.case(CASE).advance()
    for act in (
        lambda: calls.open("call-1"),
        lambda: calls.bring("old-1", reply_v13()),
    ):
        with pytest.raises(StateError):
            act()


def test_a_result_is_assessed_once(calls: Calls) -> None:
    calls.answer("call-1", FIRST)
    assert calls.open("call-2").request.result is None
    calls.submit("call-2", reply_v14([finding()]))
    calls.look(1)
    calls.look(2)
    assert calls.open("call-3").request.result == "E000003"
    # A refused assessment leaves the result to be assessed.
    assert not calls.submit("call-3", b"no").accepted
    assert calls.open("call-4").request.result == "E000003"
    # A result of another hypothesis is its own.
    assert calls.open("call-5", "H2").request.result is None


# --- accepted -------------------------------------------------------------------------------


def test_an_accepted_step_binds_everything(calls: Calls) -> None:
    opened = calls.open("call-1")
    raw = json.dumps(FIRST, indent=3).encode() + b"\n"
    outcome = calls.submit("call-1", raw, request=opened.request_id)
    assert outcome.accepted
    assert not outcome.repeated
    assert outcome.step is not None
    step, objects = outcome.step, head(calls).objects
    assert objects.get(step.reply) == raw
    assert (step.call_id, step.request) == ("call-1", opened.request_id)
    assert step.contract == "investigation_project_v14"
    assert step.reply_schema == opened.request.reply_schema
    assert objects.document(step.update, InvestigationUpdate) == outcome.update
    assert objects.document(step.brief, WorkingBrief) == outcome.brief
    assert step.change_audit is not None
    assert objects.document(step.change_audit, ChangeAudit).added == ["B0001"]
    briefs = objects.document(head(calls).generation.artifacts["working_brief"], WorkingBriefs)
    assert [(one.hypothesis_id, one.brief) for one in briefs.briefs] == [("H1", step.brief)]
    assert calls.steps.current_brief(CASE, PACKAGE, "H1") == step.brief
    assert calls.steps.current_brief(CASE, PACKAGE, "H2") is None


def test_a_step_changes_its_hypothesis_and_no_other(calls: Calls) -> None:
    calls.answer("call-1", FIRST)
    stated = head(calls).hypotheses()
    assert stated is not None
    assert [(one.id, one.confidence, one.open_questions) for one in stated.hypotheses] == [
        ("H1", "strengthened", ["why?"]),
        ("H2", "open", []),
    ]
    calls.answer("call-2", reply_v14([finding()], resolve_questions=["why?"]))
    stated = head(calls).hypotheses()
    assert stated is not None
    assert (stated.hypotheses[0].confidence, stated.hypotheses[0].open_questions) == (
        "strengthened",
        [],
    )


def test_a_brief_belongs_to_one_hypothesis(calls: Calls) -> None:
    calls.answer("call-1", FIRST)
    other = calls.answer("call-2", reply_v14([finding(text="of H2")]), "H2")
    assert other.accepted
    assert other.brief is not None
    assert other.brief.parent is None
    briefs = head(calls).objects.document(
        head(calls).generation.artifacts["working_brief"], WorkingBriefs
    )
    assert [one.hypothesis_id for one in briefs.briefs] == ["H1", "H2"]


def test_submitting_settles_nothing(calls: Calls) -> None:
    before = settled(calls)
    opened = calls.open("call-1")
    outcome = calls.submit("call-1", FIRST)
    assert settled(calls) == before
    # Settling follows, with the assessment.
    assert outcome.update is not None
    assert outcome.update.assessment is not None
    assert outcome.update.assessment.result == opened.request.result
    record = calls.evidence.snapshot(CASE, PACKAGE).records[0].object
    calls.budget.record_evidence(CASE, PACKAGE, "H1", "look-0", record)
    calls.budget.settle(
        CASE, PACKAGE, "H1", "look-0",
        semantic_score=outcome.update.assessment.semantic_score,
        reason=outcome.update.assessment.reason,
    )  # fmt: skip
    assert calls.budget.snapshot(CASE, PACKAGE).open_actions == ()


# --- refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "cut_off", "kept"),
    [
        (reply_v14([finding(references=["E000099"])], score=1), False, True),
        ({"assessment": None}, False, False),
        (b"{", False, False),
        (reply_v14([finding()], score=1), True, False),
    ],
)
def test_a_refused_reply_has_no_other_effect(
    calls: Calls, reply: object, cut_off: bool, kept: bool
) -> None:
    calls.answer("call-0", FIRST)
    before, ledger = head(calls).generation, settled(calls)
    calls.look(1)
    ledger = settled(calls)
    calls.open("call-1")
    raw = reply if isinstance(reply, bytes) else encoded(reply)
    outcome = calls.submit("call-1", raw, cut_off=cut_off)
    assert not outcome.accepted
    assert outcome.rejection["previous_rejection"].startswith("INVESTIGATION_")
    after = head(calls).generation
    changed = {
        name for name in after.artifacts if before.artifacts.get(name) != after.artifacts[name]
    }
    assert changed == {"investigation_log", "evidence_index", "budget_ledger"}
    assert settled(calls) == ledger
    attempt = outcome.attempt
    assert attempt is not None
    assert (attempt.size, "b3:" + attempt.digest) == (len(raw), object_id(raw))
    # What fails the schema is not kept, nor are hints that follow from it.
    assert (object_id(raw) in head(calls).objects) == kept
    assert (attempt.reply is not None) == kept
    assert bool(attempt.hints) == kept


def test_the_next_call_carries_the_hints(calls: Calls) -> None:
    refused = calls.answer("call-1", reply_v14([finding(references=["E000099"])], score=1))
    opened = calls.open("call-2")
    assert {name: opened.context[name] for name in refused.rejection} == refused.rejection
    assert opened.request.previous_rejection == list(refused.hints)
    # A later step makes it good.
    assert calls.submit("call-2", FIRST).accepted
    assert "previous_rejection" not in calls.open("call-3").context
    assert "previous_rejection" not in calls.open("call-4", "H2").context


def test_of_a_reply_that_failed_its_schema_only_the_code_is_remembered(calls: Calls) -> None:
    refused = calls.answer("call-1", {"assessment": None})
    assert refused.hints[0].details.members == ["update", "next"]
    context = calls.open("call-2").context
    assert context["previous_rejection"] == "INVESTIGATION_REPLY_SCHEMA"
    assert context["previous_rejection_details"]["field"] == ""


def test_the_caller_may_hand_the_hints_on(calls: Calls) -> None:
    refused = calls.answer("call-1", {"assessment": None})
    opened = calls.open("call-2", previous_rejection=refused.hints)
    assert {name: opened.context[name] for name in refused.rejection} == refused.rejection
    calls.submit("call-2", reply_v14([finding(references=["E000099"])], score=1))
    with pytest.raises(InvalidError) as caught:
        calls.open("call-3", previous_rejection=refused.hints)
    assert caught.value.kind == "foreign_hints"
    with pytest.raises(InvalidError):
        calls.open("call-3", "H2", previous_rejection=refused.hints)


def test_hints_are_no_evidence(calls: Calls) -> None:
    calls.answer("call-1", reply_v14([finding(references=["E000099"])], score=1))
    context = calls.open("call-2").context
    assert [one["id"] for one in context["evidence"]] == ["E000001"]


def test_canaries_reach_no_error_and_no_stored_hint(calls: Calls) -> None:
    canary = "CANARY9c1e"
    reply = reply_v14([finding(references=["E000099"], text=canary)], score=1)
    outcome = calls.answer("call-1", reply)
    assert outcome.attempt is not None
    assert canary not in repr(outcome.attempt)
    assert canary not in json.dumps(calls.open("call-2").context)
    broken = {canary: canary, "next": {"kind": canary}}
    outcome = calls.submit("call-2", broken)
    assert canary not in repr(outcome)
    stored = b"".join(path.read_bytes() for path in calls.root.rglob("*") if path.is_file())
    assert canary.encode() not in stored
    with pytest.raises(VStoreError) as caught:
        calls.submit("call-2", {"other": canary})
    assert canary not in str(caught.value) + repr(caught.value.details)


# --- the same again -------------------------------------------------------------------------


def test_a_repeat_returns_what_is_stored(calls: Calls) -> None:
    calls.open("call-1")
    first = calls.submit("call-1", FIRST)
    before = head(calls)
    again = calls.submit("call-1", FIRST)
    assert (again.step_id, again.repeated) == (first.step_id, True)
    assert head(calls) == before
    # The same value in other bytes is another reply.
    with pytest.raises(OperationConflict):
        calls.submit("call-1", json.dumps(FIRST, indent=1).encode())
    with pytest.raises(OperationConflict):
        calls.submit("call-1", FIRST, cut_off=True)


def test_a_repeated_refusal_returns_what_is_stored(calls: Calls) -> None:
    for call_id, reply, cut_off in (
        ("call-1", encoded(reply_v14([finding(references=["E000099"])], score=1)), False),
        ("call-2", b"{}", False),
        ("call-3", b"{}", True),
    ):
        calls.open(call_id)
        first = calls.submit(call_id, reply, cut_off=cut_off)
        before = head(calls)
        again = calls.submit(call_id, reply, cut_off=cut_off)
        assert again.attempt == first.attempt
        assert again.repeated
        assert again.hints[0].rejection == first.hints[0].rejection
        assert head(calls) == before
        with pytest.raises(OperationConflict):
            calls.submit(call_id, reply, cut_off=not cut_off)
        with pytest.raises(OperationConflict):
            calls.submit(call_id, b"[]")


def test_a_reply_is_bound_to_its_call_and_request(calls: Calls) -> None:
    first = calls.open("call-1")
    with pytest.raises(NotFoundError) as caught:
        calls.submit("call-9", FIRST)
    assert caught.value.kind == "unknown_call"
    second = calls.open("call-2", "H2")
    with pytest.raises(InvalidError) as other:
        calls.submit("call-2", FIRST, request=first.request_id)
    assert other.value.kind == "reply_binding"
    assert calls.submit("call-1", FIRST, request=first.request_id).accepted
    assert second.request_id != first.request_id


def test_a_later_call_makes_an_open_one_void(calls: Calls) -> None:
    calls.open("call-1")
    calls.open("call-2")
    with pytest.raises(StateError) as caught:
        calls.submit("call-1", FIRST)
    assert caught.value.kind == "call_superseded"
    assert calls.submit("call-2", FIRST).accepted


def test_evidence_that_came_after_the_call_is_unknown_to_its_reply(calls: Calls) -> None:
    calls.open("call-1")
    calls.look(1)
    late = reply_v14([finding(references=["E000002"])], score=1)
    assert calls.submit("call-1", late).rejection["previous_rejection_details"]["ids"] == [
        "E000002"
    ]
    assert calls.answer("call-2", late).accepted


def test_another_case_has_other_evidence(calls: Calls, tmp_path: Path) -> None:
    """E000002 of one case is no evidence of another, whatever its id."""
    calls.look(1)
    folder = tmp_path / "other"
    folder.mkdir()
    other = Calls(folder / "package", folder)
    other.begin()
    other.look(0)
    reply = reply_v14([finding(references=["E000002"])], score=1)
    assert calls.answer("call-1", reply).accepted
    assert not other.answer("call-1", reply).accepted
    other.close()


# --- restart and transport ------------------------------------------------------------------


def carried(small: Path, tmp_path: Path) -> InvestigationSteps:
    """The package in another workspace, opened anew."""
    workspace = Workspace.create(tmp_path / "elsewhere")
    shutil.copytree(small, tmp_path / "elsewhere" / CASE, ignore=shutil.ignore_patterns("cache"))
    return InvestigationSteps(workspace)


def test_steps_resume_under_their_own_contract_after_transport(small: Path, tmp_path: Path) -> None:
    steps = carried(small, tmp_path)
    old = steps.resume(CASE, PACKAGE, "old-1")
    assert isinstance(old, Outcome)
    assert old.step is not None
    assert old.update is not None
    assert (old.step.contract, old.update.contract) == ("investigation_project_v13",) * 2
    assert old.update.note == "an administrative note"
    new = steps.resume(CASE, PACKAGE, "call-5")
    assert isinstance(new, Outcome)
    assert new.step is not None
    assert new.step.contract == "investigation_project_v14"
    refused = steps.resume(CASE, PACKAGE, "old-2")
    assert isinstance(refused, Outcome)
    assert refused.hints[0].rejection == "INVESTIGATION_BRIEF_CHANGES"
    for call_id in ("call-3", "call-4"):
        gone = steps.resume(CASE, PACKAGE, call_id)
        assert isinstance(gone, Outcome)
        assert not gone.accepted


def test_an_open_call_resumes_with_the_same_messages(small: Path, tmp_path: Path) -> None:
    with Workspace.of_package(small) as workspace:
        first = InvestigationSteps(workspace).resume(CASE, PACKAGE, "call-6")
        assert isinstance(first, OpenCall)
    steps = carried(small, tmp_path)
    again = steps.resume(CASE, PACKAGE, "call-6")
    assert isinstance(again, OpenCall)
    assert again.messages == first.messages
    assert again.request_id == first.request_id
    outcome = steps.submit_reply(
        CASE, PACKAGE, "call-6", encoded(reply_v14([finding(references=["E000003"])]))
    )
    assert outcome.accepted
    assert outcome.brief is not None
    with pytest.raises(NotFoundError):
        steps.resume(CASE, PACKAGE, "call-99")


def test_original_bytes_survive_transport(small: Path, tmp_path: Path) -> None:
    steps = carried(small, tmp_path)
    outcome = steps.resume(CASE, PACKAGE, "call-1")
    assert isinstance(outcome, Outcome)
    assert outcome.step is not None
    raw = outcome.package.objects.get(outcome.step.reply)
    assert raw == encoded(json.loads(raw))
    assert b'": ' in raw  # with its blanks, so not in canonical form


def edited(small: Path, tmp_path: Path, schema: str, position: int, change: Any) -> Path:
    editor = PackageEditor(small)
    editor.edit(editor.find(schema, position), change)
    editor.rechain()
    return editor.save(tmp_path / "edited")


@pytest.mark.parametrize(
    ("schema", "position", "change", "kind"),
    [
        (
            "investigation-step-v1", 0,
            lambda step: step.update(call_id="call-2"), "reply_binding",
        ),
        (
            "investigation-step-v1", 0,
            lambda step: step.update(contract="investigation_project_v13"), "reply_binding",
        ),
        (
            "investigation-update-v1", 0,
            lambda update: update.update(confidence="confirmed"), "reply_not_reproduced",
        ),
        (
            "working-brief-v1", 0,
            lambda brief: brief["findings"][0].update(text="other"), "reply_not_reproduced",
        ),
    ],
)  # fmt: skip
def test_what_was_tampered_with_is_not_resumed(
    small: Path, tmp_path: Path, schema: str, position: int, change: Any, kind: str
) -> None:
    path = edited(small, tmp_path, schema, position, change)
    with Workspace.of_package(path) as workspace, pytest.raises(IntegrityError) as caught:
        InvestigationSteps(workspace).resume(CASE, PACKAGE, "call-1")
    assert caught.value.kind == kind


def test_another_frozen_schema_is_not_resumed(small: Path, tmp_path: Path) -> None:
    def swap(request: Any) -> None:
        with Workspace.of_package(small) as workspace:
            old = InvestigationSteps(workspace).resume(CASE, PACKAGE, "old-1")
            assert isinstance(old, Outcome)
            assert old.step is not None
            request["reply_schema"] = str(old.step.reply_schema)

    path = edited(small, tmp_path, "investigation-request-v1", 0, swap)
    with Workspace.of_package(path) as workspace:
        steps = InvestigationSteps(workspace)
        with pytest.raises(IntegrityError) as caught:
            steps.resume(CASE, PACKAGE, "call-1")
        assert caught.value.kind == "frozen_schema"


def test_a_log_that_was_cut_is_not_continued(small: Path, tmp_path: Path) -> None:
    path = edited(small, tmp_path, "investigation-log-v1", 2, lambda log: log.update(sequence=9))
    with Workspace.of_package(path) as workspace, pytest.raises(IntegrityError) as caught:
        InvestigationSteps(workspace).resume(CASE, PACKAGE, "call-1")
    assert caught.value.kind == "bad_investigation_log"


def test_two_processes_see_each_others_calls(calls: Calls) -> None:
    calls.open("call-1")
    with Workspace.of_package(calls.root) as workspace:
        other = InvestigationSteps(workspace)
        assert other.submit_reply(CASE, PACKAGE, "call-1", encoded(FIRST)).accepted
    assert calls.submit("call-1", FIRST).repeated


# --- imports --------------------------------------------------------------------------------


def test_an_import_is_judged_by_its_own_contract(calls: Calls) -> None:
    outcome = calls.bring(
        "old-1",
        reply_v13([finding()], score=1, assessed=["E000001"], changes=[("B0001", "added")]),
    )
    assert outcome.accepted
    assert outcome.step is not None
    assert outcome.step.contract == "investigation_project_v13"
    assert not calls.bring("old-2", reply_v14([finding()])).accepted
    assert calls.bring(
        "old-3", reply_v14([finding()]), contract="investigation_project_v14"
    ).accepted
    with pytest.raises(UnsupportedError):
        calls.bring("old-4", reply_v13(), contract="investigation_project_v12")
    calls.close()
    assert verify_package(calls.root).exit_code == 0


def test_an_import_is_repeated_by_its_call_id(calls: Calls) -> None:
    reply = reply_v13(score=1, assessed=["E000001"])
    first = calls.bring("old-1", reply)
    before = head(calls)
    assert calls.bring("old-1", reply).repeated
    assert head(calls) == before
    assert first.accepted
    for act in (
        lambda: calls.bring("old-1", reply_v13(score=2, assessed=["E000001"])),
        lambda: calls.bring("old-1", reply, "H2"),
        lambda: calls.bring("old-1", reply, contract="investigation_project_v14"),
        lambda: calls.open("old-1"),
    ):
        with pytest.raises(OperationConflict):
            act()
    calls.open("call-1")
    with pytest.raises(OperationConflict):
        calls.bring("call-1", reply)


def test_a_v14_step_follows_a_v13_brief(calls: Calls) -> None:
    calls.bring(
        "old-1",
        reply_v13([finding()], score=1, assessed=["E000001"], changes=[("B0001", "added")]),
    )
    opened = calls.open("call-1")
    assert opened.request.brief is not None
    assert not calls.submit("call-1", reply_v14([])).accepted
    outcome = calls.answer("call-2", reply_v14([], retired=[("B0001", "moot")]))
    assert outcome.accepted
    assert outcome.brief is not None
    assert outcome.brief.parent == opened.request.brief


def test_the_package_verifies(small: Path) -> None:
    report = verify_package(small)
    assert [one.code for one in report.findings] == []
    assert report.exit_code == 0


def test_hypotheses_that_were_restated_meanwhile_are_kept(calls: Calls) -> None:
    calls.open("call-1")
    stated = head(calls).hypotheses()
    assert stated is not None
    case = calls.workspace.case(CASE)
    case.set_hypotheses(
        [{"id": one.id, "statement": one.statement + ", they say"} for one in stated.hypotheses]
    )
    assert calls.submit("call-1", FIRST).accepted
    found = head(calls).objects.document(head(calls).generation.artifacts["hypotheses"], Hypotheses)
    assert found.hypotheses[0].statement.endswith("they say")
    assert found.hypotheses[0].confidence == "strengthened"
    calls.close()
    assert verify_package(calls.root).exit_code == 0


# --- in a bundle ----------------------------------------------------------------------------


def test_a_bundle_carries_steps_and_they_resume_under_their_contract(
    small: Path, tmp_path: Path
) -> None:
    from vstore.admission.admit import admit
    from vstore.controller.bundles import create_bundle

    bundle = tmp_path / "case.vstore.zip"
    create_bundle(small, bundle)
    report = verify_package(bundle)
    assert (report.exit_code, [one.code for one in report.findings]) == (0, [])
    with Workspace.create(tmp_path / "service") as workspace:
        admit(workspace, bundle)
    # A restart: nothing of the process that admitted it is left.
    with Workspace.open(tmp_path / "service") as workspace:
        steps = InvestigationSteps(workspace)
        old = steps.resume(CASE, PACKAGE, "old-1")
        assert isinstance(old, Outcome)
        assert old.step is not None
        assert old.step.contract == "investigation_project_v13"
        waiting = steps.resume(CASE, PACKAGE, "call-6")
        assert isinstance(waiting, OpenCall)
        assert steps.submit_reply(
            CASE, PACKAGE, "call-6", encoded(reply_v14([finding(references=["E000003"])]))
        ).accepted


def test_a_new_revision_starts_without_briefs_and_open_calls(calls: Calls) -> None:
    from vstore.controller.case_lifecycle import CaseLifecycle
    from vstore.testing.investigation import POLICY

    calls.answer("call-1", FIRST)
    calls.look(1)
    calls.open("call-2")
    case = calls.workspace.case(CASE)
    case.advance()
    CaseLifecycle(calls.workspace).reopen(CASE, PACKAGE, "review", reason="another look")
    with pytest.raises(StateError):
        calls.open("call-1")
    with pytest.raises(NotFoundError):
        calls.submit("call-2", FIRST)
    case.advance()
    case.set_hypotheses([{"id": "H1", "statement": "another one"}])
    calls.budget.initialise(CASE, PACKAGE, POLICY)
    case.advance()
    opened = calls.open("call-1")
    # The evidence goes on, the findings start anew; nothing of this revision is to be assessed.
    assert (opened.request.brief, opened.request.result) == (None, None)
    assert [one["id"] for one in opened.context["evidence"]] == ["E000001", "E000002"]
    outcome = calls.submit("call-1", reply_v14([finding(references=["E000002"])]))
    assert outcome.accepted
    assert outcome.brief is not None
    assert outcome.brief.parent is None
    briefs = head(calls).objects.document(
        head(calls).generation.artifacts["working_brief"], WorkingBriefs
    )
    assert (briefs.analysis_revision, len(briefs.briefs)) == (2, 1)
    calls.close()
    report = verify_package(calls.root)
    assert (report.exit_code, [one.code for one in report.findings]) == (0, [])


def test_nothing_is_submitted_while_a_case_waits(calls: Calls) -> None:
    from vstore.controller.case_lifecycle import CaseLifecycle

    calls.open("call-1")
    lifecycle = CaseLifecycle(calls.workspace)
    lifecycle.block(CASE, PACKAGE, "OPERATOR_HOLD")
    with pytest.raises(StateError):
        calls.submit("call-1", FIRST)
    lifecycle.resume(CASE, PACKAGE)
    assert calls.submit("call-1", FIRST).accepted


def test_documents_are_stored_as_documents_and_replies_as_blobs(small: Path) -> None:
    blobs = []
    for one in PackageEditor(small).objects():
        if one.kind == 0 and one.content.startswith(b"{"):
            blobs.append(json.loads(one.content))
        if one.schema is not None and one.kind == 0:
            raise AssertionError(one.schema)
    # Both frozen schemas; the replies to call-1, call-2, call-5, old-1, old-2.
    assert sorted(one.get("title", "reply") for one in blobs) == [
        "investigation_project_v13",
        "investigation_project_v14",
        *["reply"] * 5,
    ]


def test_the_same_reply_in_other_bytes_keeps_them_and_yields_the_same(
    calls: Calls, tmp_path: Path
) -> None:
    folder = tmp_path / "twin"
    folder.mkdir()
    twin = Calls(folder / "package", folder)
    twin.begin()
    twin.look(0)
    names = list(FIRST)[::-1]
    other = json.dumps({name: FIRST[name] for name in names}, indent=4).encode()
    one = calls.answer("call-1", FIRST)
    two = twin.answer("call-1", other)
    assert one.step is not None
    assert two.step is not None
    assert head(twin).objects.get(two.step.reply) == other != encoded(FIRST)
    assert (one.step.update, one.step.brief, one.step.change_audit) == (
        two.step.update,
        two.step.brief,
        two.step.change_audit,
    )
    twin.close()


def test_threads_submit_one_reply_once(calls: Calls) -> None:
    from concurrent.futures import ThreadPoolExecutor

    calls.open("call-1")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: calls.submit("call-1", FIRST), range(8)))
    assert {one.step_id for one in found} == {found[0].step_id}
    assert sorted(one.repeated for one in found) == [False] + [True] * 7
