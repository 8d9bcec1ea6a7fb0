"""Generations that a forger appends to a good package: changes without a cause are found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vstore.objects.ids import object_id
from vstore.objects.plain_json import encode_value
from vstore.package.workspace import Workspace
from vstore.testing.bad.change import put
from vstore.testing.calls import small_calls
from vstore.testing.editor import EditedFrame, PackageEditor, StoredObject
from vstore.testing.investigation import INSTANT
from vstore.testing.reopened import reopened_investigation
from vstore.verify import Report, verify_package

GENERATION = "package-generation-v1"
HYPOTHESES = "hypotheses-v1"
BRIEFS = "working-briefs-v1"


@pytest.fixture(scope="session")
def called(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good package with calls, that nobody writes to."""
    folder = tmp_path_factory.mktemp("calls")
    small_calls(folder / "package", folder).close()
    shutil.rmtree(folder / "package" / "cache", ignore_errors=True)
    return folder / "package"


def stored(value: Any) -> StoredObject:
    """A document as an object of a frame."""
    content = encode_value(value)
    return StoredObject(object_id(content), 1, content)


def append(
    editor: PackageEditor,
    kinds: list[str],
    change: Callable[[Any], None],
    *documents: StoredObject,
    artifacts: dict[str, StoredObject] | None = None,
) -> None:
    """Publish one more generation, all of its own members consistent."""
    last = editor.find(GENERATION, -1)
    value = last.value
    declared = {}
    for name, one in (artifacts or {}).items():
        value["artifacts"][name] = str(one.oid)
        declared[name] = [str(one.oid)]
    value.update(
        parent=str(last.oid),
        package_generation=value["package_generation"] + 1,
        history={"root": "0" * 64, "size": value["package_generation"]},
        declared=declared,
        events=[{**value["events"][0], "kind": kind, "operation_id": None} for kind in kinds],
    )
    change(value)
    generation = stored(value)
    new = [*(artifacts or {}).values(), *documents]
    there = {one.oid for one in editor.objects()}
    editor.frames.append(
        EditedFrame(generation.oid, [*(one for one in new if one.oid not in there), generation], [])
    )


def verified(editor: PackageEditor, target: Path) -> tuple[int, set[str]]:
    editor.rechain()
    report: Report = verify_package(editor.save(target / "appended"))
    return report.exit_code, {one.code for one in report.findings if one.severity != "note"}


def nothing(value: Any) -> None:
    """Change nothing more."""


@pytest.mark.parametrize("kind", ["investigation.reply", "investigation.import"])
def test_briefs_dropped_without_a_call(called: Path, tmp_path: Path, kind: str) -> None:
    editor = PackageEditor(called)
    briefs = editor.find(BRIEFS, -1).value
    briefs["briefs"] = briefs["briefs"][:-1]
    append(editor, [kind], nothing, artifacts={"working_brief": stored(briefs)})
    assert verified(editor, tmp_path) == (1, {"VS-HIS-009", "VS-INV-014"})


def test_a_hypothesis_confirmed_by_a_reply_that_never_came(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    hypotheses = editor.find(HYPOTHESES, -1).value
    hypotheses["hypotheses"][0]["confidence"] = "confirmed"
    append(editor, ["investigation.reply"], nothing, artifacts={"hypotheses": stored(hypotheses)})
    assert verified(editor, tmp_path) == (1, {"VS-HIS-009"})


def test_a_hypothesis_added_once_accounts_are_open(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    hypotheses = editor.find(HYPOTHESES, -1).value
    hypotheses["hypotheses"].append({**hypotheses["hypotheses"][0], "id": "H99"})
    append(editor, ["hypotheses"], nothing, artifacts={"hypotheses": stored(hypotheses)})
    assert verified(editor, tmp_path) == (1, {"VS-HIS-018"})


def test_the_same_hypotheses_in_other_words_are_fine(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    hypotheses = editor.find(HYPOTHESES, -1).value
    hypotheses["hypotheses"][0]["statement"] = "said otherwise"
    append(editor, ["hypotheses"], nothing, artifacts={"hypotheses": stored(hypotheses)})
    assert verified(editor, tmp_path) == (0, set())


def test_hypotheses_taken_away_at_a_reopening(tmp_path: Path) -> None:
    reopened_investigation(tmp_path / "package", tmp_path).close()
    editor = PackageEditor(tmp_path / "package")
    for one in editor.objects(GENERATION):
        value = one.value
        if value["analysis_revision"] == 2:
            if "hypotheses" in value["declared"]:
                break
            del value["artifacts"]["hypotheses"]
            one.content = encode_value(value)
    assert verified(editor, tmp_path) == (1, {"VS-HIS-010"})


def test_reopened_for_new_input_and_none_came(tmp_path: Path) -> None:
    with Workspace.of_package(tmp_path / "package", clock=lambda: INSTANT) as workspace:
        workspace.init("CASE-1")
        workspace.case("CASE-1").advance()
    editor = PackageEditor(tmp_path / "package")
    append(
        editor,
        ["reopen.new_input"],
        lambda value: value.update(state="REOPENED", analysis_revision=2),
    )
    assert verified(editor, tmp_path) == (1, {"VS-HIS-009"})


REQUEST = "tool-request-v1"


@pytest.mark.parametrize(("action", "code"), [("nobody", "VS-EVD-020"), ("q5", "VS-EVD-021")])
def test_a_query_that_failed_had_an_action_too(
    original: Path, tmp_path: Path, action: str, code: str
) -> None:
    editor = PackageEditor(original)
    for schema, member in ((REQUEST, "queries"), ("tool-reply-v1", "results")):
        target = editor.find(schema, 1)
        assert target.value[member][2]["action_id"] == "q6"
        editor.edit(target, put(f"/{member}/2/action_id", action))
    editor.rechain()
    report = verify_package(editor.save(tmp_path / "first"))
    (payload,) = [one.expected for one in report.findings if one.code == "VS-EVD-009"]
    editor.edit(editor.find("evidence-index-v1", 1), put("/payload", payload))
    editor.rechain()
    report = verify_package(editor.save(tmp_path / "forged"))
    found = [one for one in report.findings if one.severity == "error"]
    assert code in {one.code for one in found}
    assert {one.pointer for one in found} == {"/queries/2/action_id"}


def test_a_call_about_a_hypothesis_of_another_revision(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    for one in editor.objects(HYPOTHESES):
        editor.edit(one, put("/analysis_revision", 2))
    code, found = verified(editor, tmp_path)
    assert code == 1
    assert {"VS-HIS-018", "VS-INV-004"} <= found
