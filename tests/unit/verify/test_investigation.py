"""Consistent forgeries of calls: each is found by the code that is about it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vstore.testing.calls import small_calls
from vstore.testing.editor import PackageEditor
from vstore.verify import verify_package
from vstore.verify.report import Report

LOG = "investigation-log-v1"
REQUEST = "investigation-request-v1"
STEP = "investigation-step-v1"
ATTEMPT = "investigation-attempt-v1"
UPDATE = "investigation-update-v1"
BRIEF = "working-brief-v1"
BRIEFS = "working-briefs-v1"
AUDIT = "change-audit-v1"
GENERATION = "package-generation-v1"
ZEROS = "0" * 64
ABSENT = "b3:" + "7" * 64

Change = Callable[[Any], Any]


@pytest.fixture(scope="session")
def called(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good package with calls, that nobody writes to."""
    folder = tmp_path_factory.mktemp("calls")
    small_calls(folder / "package", folder).close()
    for name in ("locks", "cache"):
        shutil.rmtree(folder / "package" / name, ignore_errors=True)
    return folder / "package"


def put(pointer: str, value: object) -> Change:
    def change(document: Any) -> None:
        *way, last = pointer.split("/")[1:]
        for part in way:
            document = document[int(part) if isinstance(document, list) else part]
        document[int(last) if isinstance(document, list) else last] = value

    return change


def faults(report: Report) -> set[str]:
    return {one.code for one in report.findings if one.severity != "note"}


def forged(original: Path, target: Path, schema: str, position: int, change: Change) -> Report:
    editor = PackageEditor(original)
    editor.edit(editor.find(schema, position), change)
    editor.rechain()
    return verify_package(editor.save(target / "forged"))


def test_the_good_package(called: Path) -> None:
    report = verify_package(called)
    assert (report.exit_code, faults(report)) == (0, set())


ONLY: list[tuple[str, int, Change, str]] = [
    (LOG, 3, put("/parent", None), "VS-INV-001"),
    (LOG, 3, put("/sequence", 9), "VS-INV-002"),
    (LOG, 3, put("/case_id", "CASE-2"), "VS-INV-003"),
    (LOG, 3, put("/analysis_revision", 2), "VS-INV-003"),
    (LOG, 3, put("/rules", "investigation/2"), "VS-VER-003"),
    (LOG, 3, put("/event/call_id", "call-1"), "VS-INV-004"),
    (LOG, 2, put("/event/call_id", "call-1"), "VS-INV-004"),
    (REQUEST, 1, put("/package_id", "OTHER"), "VS-INV-003"),
    (REQUEST, 1, put("/call_id", "call-9"), "VS-INV-006"),
    (REQUEST, -1, put("/brief", None), "VS-INV-007"),
    (REQUEST, -1, put("/result", "E000003"), "VS-INV-007"),
    (REQUEST, 2, put("/previous_rejection", []), "VS-INV-008"),
    (REQUEST, 2, put("/previous_rejection/0/details/ids", ["E000078"]), "VS-INV-008"),
    (REQUEST, 3, put("/previous_rejection/0/rejection", "INVESTIGATION_OTHER"), "VS-INV-008"),
    (STEP, 0, put("/case_id", "CASE-2"), "VS-INV-003"),
    (STEP, 0, put("/hypothesis_id", "H2"), "VS-INV-003"),
    (STEP, 0, put("/call_id", "call-2"), "VS-INV-006"),
    (STEP, 0, put("/contract", "investigation_project_v13"), "VS-INV-006"),
    (STEP, 0, put("/rules", "investigation/2"), "VS-VER-003"),
    (STEP, 0, put("/change_audit", None), "VS-INV-012 VS-INV-011"),
    (UPDATE, 0, put("/evidence_refs", []), "VS-INV-010"),
    (UPDATE, 0, put("/causal_review/effect", "supports"), "VS-INV-010"),
    (UPDATE, 0, put("/causal_review/reason", "other"), "VS-INV-010"),
    (UPDATE, 0, put("/note", "other"), "VS-INV-010"),
    (UPDATE, 0, put("/assessment/semantic_score", 99), "VS-INV-010"),
    (UPDATE, 0, put("/assessment/result", "E000002"), "VS-INV-010"),
    (UPDATE, 0, put("/confidence", "confirmed"), "VS-INV-010"),
    (UPDATE, 0, put("/next/reason", "other"), "VS-INV-010"),
    (BRIEF, 1, put("/findings/0/text", "other"), "VS-INV-011"),
    (BRIEF, 1, put("/parent", None), "VS-INV-011"),
    (BRIEF, 1, put("/changes", []), "VS-INV-011"),
    (BRIEF, 0, put("/hypothesis_id", "H2"), "VS-INV-011"),
    (BRIEF, 0, put("/next_question", "other"), "VS-INV-011"),
    (AUDIT, 1, put("/added", []), "VS-INV-012"),
    (AUDIT, 1, put("/removed/0/reason", "other"), "VS-INV-012"),
    (AUDIT, 1, put("/changed/0/fields", ["text"]), "VS-INV-012"),
    (AUDIT, 1, put("/changed/0/reason", None), "VS-INV-012"),
    (AUDIT, 1, put("/reordered", value=True), "VS-INV-012"),
    (ATTEMPT, 0, put("/code", "INVESTIGATION_CONFIDENCE"), "VS-INV-013"),
    (ATTEMPT, 0, put("/size", 9), "VS-INV-013"),
    (ATTEMPT, 0, put("/digest", ZEROS), "VS-INV-013"),
    (ATTEMPT, 0, put("/call_id", "call-9"), "VS-INV-006"),
    (ATTEMPT, 0, put("/rules", "investigation/2"), "VS-VER-003"),
    (ATTEMPT, 1, put("/hypothesis_id", "H2"), "VS-INV-003"),
    (BRIEFS, 0, put("/briefs/0/hypothesis_id", "H2"), "VS-INV-014"),
    (BRIEFS, -1, put("/case_id", "CASE-2"), "VS-INV-014"),
    ("hypotheses-v1", 1, put("/hypotheses/0/confidence", "confirmed"), "VS-INV-015"),
    ("hypotheses-v1", 1, put("/hypotheses/0/open_questions", []), "VS-INV-015"),
    ("hypotheses-v1", 1, put("/hypotheses/1/statement", "other"), "VS-INV-015"),
]


@pytest.mark.parametrize(
    ("schema", "position", "change", "codes"),
    ONLY,
    ids=[f"{schema}-{position}-{codes}" for schema, position, _, codes in ONLY],
)
def test_exactly_these_codes(
    called: Path, tmp_path: Path, schema: str, position: int, change: Change, codes: str
) -> None:
    report = forged(called, tmp_path, schema, position, change)
    # What later documents say of an edited one may fall with it, by its own code.
    assert faults(report) == set(codes.split()), [
        (one.code, one.message, one.pointer) for one in report.findings
    ]
    assert report.exit_code == (3 if codes == "VS-VER-003" else 1)


def test_a_frozen_schema_of_another_contract(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    other = editor.find(REQUEST, -2).value["reply_schema"]
    assert other != editor.find(REQUEST, 0).value["reply_schema"]

    def swap(document: Any) -> None:
        document["reply_schema"] = other

    editor.edit(editor.find(REQUEST, 0), swap)
    editor.edit(editor.find(STEP, 0), swap)
    # The schema must be there before it is named.
    blob = next(one for one in editor.objects() if one.oid == other)
    editor.frames[-1].objects = [one for one in editor.frames[-1].objects if one.oid != other]
    for frame in editor.frames:
        frame.objects = [one for one in frame.objects if one.oid != other]
    first = next(
        frame for frame in editor.frames if any(one.schema == REQUEST for one in frame.objects)
    )
    first.objects.append(blob)
    editor.rechain()
    report = verify_package(editor.save(tmp_path / "forged"))
    assert faults(report) == {"VS-INV-005"}


def replace_reply(called: Path, target: Path, step: int, change: Change) -> Report:
    """Another original reply in the place of a step's, everything else left as it is."""
    import json

    editor = PackageEditor(called)
    oid = editor.find(STEP, step).value["reply"]
    blob = next(one for one in editor.objects() if one.oid == oid)
    value = json.loads(blob.content)
    change(value)
    blob.content = json.dumps(value).encode()
    blob.edited = True
    editor.rechain()
    return verify_package(editor.save(target / "forged"))


def test_an_original_reply_that_was_replaced(called: Path, tmp_path: Path) -> None:
    report = replace_reply(
        called, tmp_path, 0, put("/update/working_brief/findings/0/text", "other")
    )
    assert faults(report) == {"VS-INV-010", "VS-INV-011"}


def test_a_reply_that_should_have_been_refused(called: Path, tmp_path: Path) -> None:
    report = replace_reply(
        called, tmp_path, 0, put("/update/working_brief/findings/0/evidence_refs", ["E000099"])
    )
    assert faults(report) == {"VS-INV-009"}


def test_a_reply_that_should_have_been_accepted(called: Path, tmp_path: Path) -> None:
    import json

    editor = PackageEditor(called)
    oid = editor.find(ATTEMPT, 0).value["reply"]
    blob = next(one for one in editor.objects() if one.oid == oid)
    value = json.loads(blob.content)
    brief = value["update"]["working_brief"]
    brief["findings"][0]["evidence_refs"] = ["E000001"]
    brief["retired"] = [{"id": "B0002", "reason": "moot"}]
    blob.content = json.dumps(value).encode()
    blob.edited = True
    editor.rechain()
    assert "VS-INV-009" in faults(verify_package(editor.save(tmp_path / "forged")))


def test_a_map_that_no_step_made(called: Path, tmp_path: Path) -> None:
    def drop(generation: Any) -> None:
        del generation["artifacts"]["working_brief"]

    report = forged(called, tmp_path, GENERATION, -1, drop)
    assert {"VS-HIS-010", "VS-INV-014"} <= faults(report)


def test_an_event_that_says_something_else(called: Path, tmp_path: Path) -> None:
    report = forged(
        called, tmp_path, GENERATION, -1, put("/events/0/kind", "investigation.rejected")
    )
    assert faults(report) == {"VS-HIS-009"}


def test_a_lost_reply_suspends_nothing_else(called: Path, tmp_path: Path) -> None:
    report = forged(called, tmp_path, STEP, 0, put("/reply", ABSENT))
    assert "VS-OBJ-005" in faults(report)
    assert report.exit_code == 1


def test_an_old_contract_needs_an_import(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    for position in (-3, -2):
        editor.edit(editor.find(LOG, position), put("/imported", value=False))
    editor.rechain()
    report = verify_package(editor.save(tmp_path / "forged"))
    assert {"VS-INV-004", "VS-HIS-009"} <= faults(report)


def test_a_call_about_no_hypothesis(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    editor.edit(editor.find(LOG, -1), put("/event/hypothesis_id", "H9"))
    editor.edit(editor.find(REQUEST, -1), put("/hypothesis_id", "H9"))
    editor.rechain()
    assert "VS-INV-004" in faults(verify_package(editor.save(tmp_path / "forged")))


@pytest.mark.parametrize(
    ("schema", "position", "pointer"),
    [
        (LOG, 1, "/parent"),
        (LOG, 2, "/event/request"),
        (LOG, 1, "/event/step"),
        (LOG, 3, "/event/attempt"),
        (REQUEST, 1, "/brief"),
        (REQUEST, 0, "/reply_schema"),
        (STEP, 0, "/update"),
        (ATTEMPT, 0, "/reply"),
        (BRIEF, 0, "/change_audit"),
        (GENERATION, -1, "/artifacts/investigation_log"),
    ],
)
def test_what_is_missing_ends_no_run(
    called: Path, tmp_path: Path, schema: str, position: int, pointer: str
) -> None:
    report = forged(called, tmp_path, schema, position, put(pointer, ABSENT))
    assert "VS-OBJ-005" in faults(report)
    assert "VS-VER-001" not in faults(report)
    assert report.exit_code == 1


def test_a_code_of_nobody(called: Path, tmp_path: Path) -> None:
    report = forged(called, tmp_path, ATTEMPT, 1, put("/code", "INVESTIGATION_BECAUSE"))
    assert "VS-INV-013" in faults(report)


def test_hints_of_a_reply_that_is_not_kept(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    hints = editor.find(ATTEMPT, 0).value["hints"]
    report = forged(called, tmp_path, ATTEMPT, 1, put("/hints", hints))
    assert "VS-INV-013" in faults(report)


def test_a_call_that_ends_otherwise_than_it_began(called: Path, tmp_path: Path) -> None:
    report = forged(called, tmp_path, LOG, -2, put("/imported", value=False))
    assert {"VS-INV-004", "VS-HIS-009"} <= faults(report)


def test_a_reply_larger_than_any(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    oid = editor.find(STEP, 0).value["reply"]
    blob = next(one for one in editor.objects() if one.oid == oid)
    blob.content += b" " * (1 << 20)
    blob.edited = True
    editor.rechain()
    assert faults(verify_package(editor.save(tmp_path / "forged"))) == {"VS-INV-009"}


def test_without_evidence_to_follow_nobody_is_accused(called: Path, tmp_path: Path) -> None:
    report = forged(called, tmp_path, "evidence-index-v1", 1, put("/records/0/object", ABSENT))
    assert not any(code.startswith("VS-INV") for code in faults(report))
    assert any("evidence" in one for one in report.not_checked)


def test_an_entry_that_leads_behind_what_is_known(called: Path, tmp_path: Path) -> None:
    editor = PackageEditor(called)
    first = editor.find(LOG, 0).oid
    editor.edit(editor.find(GENERATION, -1), put("/artifacts/investigation_log", str(first)))
    editor.rechain()
    assert "VS-INV-001" in faults(verify_package(editor.save(tmp_path / "forged")))


def test_every_code_is_reached() -> None:
    from vstore.verify.rules.investigation import RULES

    named = {code for *_, codes in ONLY for code in codes.split()} | {"VS-INV-005", "VS-INV-009"}
    assert {rule.code for rule in RULES} <= named


# --- every member of every document of the investigation ------------------------------------

#: Members that nothing else of the package is held against, by schema.
ASSERTED = {
    # Of a reply that failed its schema only these are kept, so nothing contradicts them.
    (ATTEMPT, "code"),
    (ATTEMPT, "size"),
    (ATTEMPT, "digest"),
}
SCHEMAS = {LOG, REQUEST, STEP, ATTEMPT, UPDATE, BRIEF, BRIEFS, AUDIT}


def ways(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at and at[-1] not in ("schema", "kind", "operation") else []
    items: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value)
    for key, one in items:
        found += ways(one, (*at, key))
    return found


def others(value: Any) -> list[Any]:
    """Other values of the same type."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, str):
        if value.startswith("b3:"):
            return ["b3:" + "7" * 64]
        return [("1" if value[:1] != "1" else "2") + value[1:], value + "x"]
    if isinstance(value, list) and value:
        return [value[:-1], [*value, value[-1]]]
    return [1, "x"]


def rewrites(called: Path) -> list[tuple[int, int, str, tuple[Any, ...], Any]]:
    found = []
    for number, frame in enumerate(PackageEditor(called).frames):
        for place, one in enumerate(frame.objects):
            if one.schema in SCHEMAS:
                for way in ways(one.value):
                    value = one.value
                    for part in way:
                        value = value[part]
                    found += [
                        (number, place, one.schema, way, new)
                        for new in others(value)
                        if new != value
                    ]
    return found


def sweep(called: Path, folder: Path, *, every: int) -> int:
    tried = 0
    for position, (number, place, schema, way, new) in enumerate(rewrites(called)):
        if position % every:
            continue
        tried += 1
        editor = PackageEditor(called)
        one = editor.frames[number].objects[place]
        unkept = one.value.get("reply", "") is None

        def change(document: Any, way: Any = way, new: Any = new) -> None:
            for part in way[:-1]:
                document = document[part]
            document[way[-1]] = new

        editor.edit(one, change)
        editor.rechain()
        target = folder / str(position)
        report = verify_package(editor.save(target))
        shutil.rmtree(target)
        member = "/".join(str(part) for part in way)
        fine = schema == ATTEMPT and unkept and (schema, member) in ASSERTED
        # The details of hints that were handed on after a reply that isn't kept.
        fine |= schema == REQUEST and "previous_rejection" in way
        assert report.exit_code in (1, 3) or fine, (schema, way, new)
        assert "VS-VER-001" not in report.codes(), (schema, way, new)
    return tried


def test_sampled_rewrites_of_calls_are_found(called: Path, tmp_path: Path) -> None:
    assert sweep(called, tmp_path, every=47) > 10


@pytest.mark.deep
def test_all_rewrites_of_calls_are_found(called: Path, tmp_path: Path) -> None:
    assert sweep(called, tmp_path, every=1) > 400
