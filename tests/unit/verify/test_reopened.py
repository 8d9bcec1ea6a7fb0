"""Histories with blocks and reopenings: good ones verify, forged ones are told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vstore.testing.editor import PackageEditor
from vstore.testing.reopened import reopened_investigation
from vstore.verify import verify_package
from vstore.verify.report import Report

GENERATION = "package-generation-v1"
ENTRY = "budget-ledger-v1"


@pytest.fixture(scope="module")
def reopened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reopened")
    reopened_investigation(folder / "package", folder).close()
    return folder / "package"


def faults(report: Report) -> set[str]:
    return {one.code for one in report.findings if one.severity != "note"}


def event(editor: PackageEditor, kind: str, position: int = 0) -> Any:
    return [one for one in editor.objects(GENERATION) if one.value["events"][0]["kind"] == kind][
        position
    ]


def entry(editor: PackageEditor, kind: str, position: int = 0) -> Any:
    return [one for one in editor.objects(ENTRY) if one.value["event"]["command"] == kind][position]


def test_it_verifies(reopened: Path) -> None:
    report = verify_package(reopened)
    assert (report.exit_code, faults(report)) == (0, set())
    assert (report.counts.records, report.counts.entries) == (8, 29)


def forged(reopened: Path, tmp_path: Path, change: Any) -> Report:
    editor = PackageEditor(reopened)
    change(editor)
    editor.rechain()
    return verify_package(editor.save(tmp_path / "forged"))


def _edit(target: Any, change: Any) -> Any:
    def apply(editor: PackageEditor) -> None:
        editor.edit(target(editor), change)

    return apply


def _put(*way: Any) -> Any:
    *parts, last, value = way

    def change(document: Any) -> None:
        for part in parts:
            document = document[part]
        document[last] = value

    return change


CASES = {
    "resumes elsewhere": (
        _edit(lambda e: event(e, "resume"), _put("state", "GENERATING_HYPOTHESES")),
        "VS-HIS-004",
    ),
    "left another state": (
        _edit(lambda e: event(e, "block"), _put("blocked", "resume_state", "INTERPRETING")),
        "VS-HIS-006",
    ),
    "blocked for a test without one": (
        _edit(lambda e: event(e, "block"), _put("blocked", "reason", "AWAITING_TEST_FEEDBACK")),
        "VS-HIS-004",
    ),
    "resumed without having been blocked": (
        _edit(lambda e: event(e, "resume"), _put("events", 0, "kind", "advance")),
        "VS-HIS-004",
    ),
    "a reopening without a new revision": (
        _edit(lambda e: event(e, "reopen.review"), _put("analysis_revision", 1)),
        "VS-HIS-005",
    ),
    "a revision too many": (
        _edit(lambda e: event(e, "reopen.new_input"), _put("analysis_revision", 4)),
        "VS-HIS-005",
    ),
    "reopened from a working state by a review": (
        _edit(lambda e: event(e, "reopen.new_input"), _put("events", 0, "kind", "reopen.review")),
        "VS-HIS-004",
    ),
    "a forfeit refunded": (
        _edit(lambda e: entry(e, "reopen"), _put("event", "actions", 0, "outcome", "voided")),
        "VS-LED-005",
    ),
    "a refund forfeited": (
        _edit(lambda e: entry(e, "reopen"), _put("event", "actions", -1, "outcome", "forfeited")),
        "VS-LED-005",
    ),
    "an open action forgotten": (
        _edit(lambda e: entry(e, "reopen", 1), _put("event", "actions", [])),
        "VS-LED-005",
    ),
    "a balance that doesn't expire": (
        _edit(lambda e: entry(e, "reopen"), _put("accounts", 0, "balance", 1)),
        "VS-LED-006",
    ),
    "grants past the cap": (
        _edit(lambda e: entry(e, "initialise", 1), _put("event", "grants", 0, "credits", 900)),
        "VS-LED-005",
    ),
    "an entry of the wrong revision": (
        _edit(lambda e: entry(e, "reopen"), _put("analysis_revision", 2)),
        "VS-LED-003",
    ),
    "hypotheses of the revision before": (
        _edit(lambda e: e.find("hypotheses-v1", 1), _put("analysis_revision", 1)),
        "VS-HIS-018",
    ),
}


@pytest.mark.parametrize(("change", "code"), CASES.values(), ids=CASES.keys())
def test_forged_histories(reopened: Path, tmp_path: Path, change: Any, code: str) -> None:
    report = forged(reopened, tmp_path, change)
    assert report.exit_code == 1
    assert code in faults(report)


def test_a_reopening_that_ends_no_account(reopened: Path, tmp_path: Path) -> None:
    def forget(editor: PackageEditor) -> None:
        # The last reopening, without its ledger entry; nothing of the ledger follows it.
        at, frame = next(
            (number, frame)
            for number, frame in enumerate(editor.frames)
            for one in frame.objects
            if one.schema == GENERATION and one.value["events"][0]["kind"] == "reopen.new_input"
        )
        (lost,) = [one for one in frame.objects if one.schema == ENTRY]
        before = lost.value["parent"]
        frame.objects.remove(lost)
        for later in editor.frames[at:]:
            for one in later.objects:
                if one.schema == GENERATION:
                    editor.edit(one, _put("artifacts", "budget_ledger", before))
        generation = next(one for one in frame.objects if one.schema == GENERATION)
        editor.edit(generation, lambda value: value["declared"].pop("budget_ledger"))
        for later in editor.frames[at:]:
            for one in later.objects:
                one.edited = False

    report = forged(reopened, tmp_path, forget)
    assert faults(report) == {"VS-HIS-009"}
    (found,) = [one for one in report.findings if one.severity == "error"]
    assert found.pointer == "/artifacts/budget_ledger"


def test_accounts_opened_for_the_hypotheses_of_the_revision_before(
    reopened: Path, tmp_path: Path
) -> None:
    def skip(editor: PackageEditor) -> None:
        for frame in editor.frames:
            stated = [one for one in frame.objects if one.schema == "hypotheses-v1"]
            if stated and stated[0].value["analysis_revision"] == 2:
                editor.edit(stated[0], _put("analysis_revision", 1))

    report = forged(reopened, tmp_path, skip)
    assert {"VS-HIS-018", "VS-LED-011"} <= faults(report)
