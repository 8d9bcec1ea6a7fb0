"""Consistent forgeries: documents rewritten, everything that names them given its new id.

Each must be found by the code that is about what was rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vstore.testing.editor import PackageEditor
from vstore.verify import verify_package
from vstore.verify.report import Report

GENERATION = "package-generation-v1"
INDEX = "evidence-index-v1"
RECORD = "evidence-record-v1"
CONTENT = "evidence-content-v1"
REQUEST = "tool-request-v1"
REPLY = "tool-reply-v1"
ENTRY = "budget-ledger-v1"
ZEROS = "0" * 64
ABSENT = "b3:" + "7" * 64

Change = Callable[[Any], None]


def put(pointer: str, value: object) -> Change:
    """Set the member at a pointer."""

    def change(document: Any) -> None:
        *way, last = pointer.split("/")[1:]
        for part in way:
            document = document[int(part) if isinstance(document, list) else part]
        document[int(last) if isinstance(document, list) else last] = value

    return change


def faults(report: Report) -> set[str]:
    return {one.code for one in report.findings if one.severity != "note"}


def forged(original: Path, target: Path, schema: str, position: int, change: Change) -> Path:
    editor = PackageEditor(original)
    editor.edit(editor.find(schema, position), change)
    editor.rechain()
    return editor.save(target / "forged")


def test_the_editor_alone_changes_nothing(original: Path, tmp_path: Path) -> None:
    editor = PackageEditor(original)
    before = [one.oid for one in editor.objects()]
    editor.rechain()
    assert [one.oid for one in editor.objects()] == before
    report = verify_package(editor.save(tmp_path / "copy"))
    assert (report.exit_code, faults(report)) == (0, set())


ONLY = [
    (GENERATION, -1, put("/package_generation", 99), "VS-HIS-002"),
    (GENERATION, -1, put("/parent", ABSENT), "VS-HIS-001 VS-OBJ-005"),
    (GENERATION, -1, put("/case_id", "CASE-2"), "VS-HIS-003"),
    (GENERATION, 7, put("/package_id", "OTHER"), "VS-HIS-003"),
    (GENERATION, -1, put("/state", "CLOSED"), "VS-HIS-004"),
    (GENERATION, -1, put("/history/root", ZEROS), "VS-HIS-007"),
    (GENERATION, 9, put("/history/size", 3), "VS-HIS-007"),
    (GENERATION, -1, put("/declared/extra", []), "VS-HIS-008"),
    (GENERATION, -1, put("/declared", {}), "VS-HIS-008"),
    (GENERATION, 9, put("/events/0/kind", "budget.settle"), "VS-HIS-009"),
    (GENERATION, -1, put("/events/0/kind", "later.thing"), "VS-VER-003"),
    (GENERATION, 9, lambda d: d["events"].append(d["events"][0]), "VS-HIS-009"),
    (GENERATION, -1, lambda d: d["artifacts"].pop("hypotheses"), "VS-HIS-010"),
    (GENERATION, -1, lambda d: d["snapshots"].pop("code"), "VS-INP-006"),
    (GENERATION, 1, put("/events/0/kind", "database.add"), "VS-HIS-009"),
    (INDEX, 1, put("/parent", None), "VS-EVD-001"),
    (INDEX, 1, put("/sequence", 9), "VS-EVD-002"),
    (INDEX, 1, put("/records/1/id", "E000009"), "VS-EVD-003"),
    (INDEX, 1, put("/next_id", "E000009"), "VS-EVD-004"),
    (INDEX, 1, put("/count", 9), "VS-EVD-005"),
    (INDEX, 1, put("/distinct_atoms", 9), "VS-EVD-006"),
    (INDEX, 1, put("/retained_bytes", 9), "VS-EVD-007"),
    (INDEX, 1, put("/tree/root", ZEROS), "VS-EVD-008"),
    (INDEX, 1, put("/tree/size", 1), "VS-EVD-008"),
    (INDEX, 1, put("/payload", ZEROS), "VS-EVD-009"),
    (INDEX, 1, put("/operation_id", "batch-1"), "VS-EVD-010 VS-EVD-011"),
    (INDEX, 1, put("/analysis_revision", 2), "VS-EVD-011"),
    (INDEX, 1, put("/rules", "evidence/2"), "VS-VER-003"),
    (RECORD, 1, put("/id", "E000009"), "VS-EVD-003"),
    (RECORD, 1, put("/case_id", "CASE-2"), "VS-EVD-011"),
    (RECORD, 1, put("/operation_id", "batch-9"), "VS-EVD-011"),
    (RECORD, 1, put("/hypothesis_id", "H2"), "VS-EVD-012"),
    (RECORD, 1, put("/action_id", "q9"), "VS-EVD-012"),
    (RECORD, 1, put("/origin/position", 0), "VS-EVD-012"),
    (RECORD, -2, put("/duplicate_of", "E000002"), "VS-EVD-017"),
    (RECORD, 0, put("/novel_atoms", []), "VS-EVD-018"),
    (RECORD, 1, put("/novelty_score", 99), "VS-EVD-019"),
    (ENTRY, 4, put("/sequence", 9), "VS-LED-002"),
    (ENTRY, 4, put("/analysis_revision", 2), "VS-LED-003"),
    (ENTRY, 4, put("/case_id", "CASE-2"), "VS-LED-003"),
    (ENTRY, 1, put("/event/cost", 9), "VS-LED-005"),
    (ENTRY, 5, put("/event/reward", 4), "VS-LED-005"),
    (ENTRY, 0, put("/event/grants/0/credits", 100), "VS-LED-005"),
    (ENTRY, 1, put("/accounts/0/balance", 1), "VS-LED-006"),
    (ENTRY, 5, put("/accounts/0/streak", 3), "VS-LED-006"),
    (ENTRY, 4, put("/event/record_id", "E000003"), "VS-LED-009"),
    (ENTRY, 4, put("/event/novelty_cap", 99), "VS-LED-010"),
    (ENTRY, 4, put("/rules", "budget/2"), "VS-VER-003"),
    ("hypotheses-v1", 0, put("/case_id", "CASE-2"), "VS-HIS-018"),
]


@pytest.mark.parametrize(
    ("schema", "position", "change", "codes"),
    ONLY,
    ids=lambda one: one if isinstance(one, str) else None,
)
def test_exactly_these_codes(
    original: Path, tmp_path: Path, schema: str, position: int, change: Change, codes: str
) -> None:
    report = verify_package(forged(original, tmp_path, schema, position, change))
    assert faults(report) == set(codes.split())
    assert report.exit_code == (3 if codes == "VS-VER-003" else 1)


@pytest.mark.parametrize(
    ("schema", "position", "change", "code"),
    [
        (GENERATION, -1, put("/analysis_revision", 2), "VS-HIS-005"),
        (GENERATION, 9, put("/events/0/kind", "advance"), "VS-HIS-009"),
        (GENERATION, -1, lambda d: d["artifacts"].pop("evidence_index"), "VS-EVD-001"),
        (GENERATION, -1, lambda d: d["artifacts"].pop("budget_ledger"), "VS-LED-001"),
        (GENERATION, -1, lambda d: d["artifacts"].pop("budget_policy"), "VS-LED-007"),
        (GENERATION, -1, put("/artifacts/generation", ABSENT), "VS-HIS-020"),
        (GENERATION, -1, put("/artifacts/later_thing", ABSENT), "VS-HIS-011"),
        (GENERATION, -1, put("/inputs", ABSENT), "VS-INP-005"),
        (
            GENERATION,
            -1,
            put(
                "/blocked",
                {
                    "automatic_retry": False,
                    "reason": "OPERATOR_HOLD",
                    "resume_state": "INTERPRETING",
                    "retry_not_before": None,
                },
            ),
            "VS-HIS-006",
        ),
        (INDEX, 1, lambda d: d["records"].pop(), "VS-EVD-013"),
        (RECORD, 0, put("/origin", {"feedback": ABSENT, "kind": "feedback"}), "VS-OBJ-005"),
        (RECORD, 1, put("/origin", {"feedback": ABSENT, "kind": "feedback"}), "VS-EVD-012"),
        (RECORD, 0, put("/origin/request", ABSENT), "VS-OBJ-005"),
        (REQUEST, 0, lambda d: d["queries"].pop(), "VS-EVD-015"),
        (REPLY, 0, lambda d: d["results"].pop(), "VS-EVD-015"),
        (CONTENT, 0, put("/scope", None), "VS-EVD-016"),
        (
            CONTENT,
            0,
            put("/truncated", {"limit": None, "skipped_files": 9, "total": None, "value": None}),
            "VS-EVD-015",
        ),
        (REPLY, 1, put("/results/2/order", [0]), "VS-EVD-015"),
        (REPLY, 0, put("/results/1/content", None), "VS-EVD-015"),
        (REQUEST, 0, put("/analysis_revision", 2), "VS-EVD-014"),
        (REQUEST, 0, put("/case_id", "CASE-2"), "VS-EVD-014"),
        (REQUEST, -1, put("/generation", ABSENT), "VS-EVD-014"),
        (REQUEST, -1, put("/queries/0/action_id", "q8"), "VS-EVD-020"),
        (REQUEST, -1, put("/queries/0/hypothesis_id", "H1"), "VS-EVD-020"),
        (REQUEST, 0, put("/queries/1/action_id", "q1"), "VS-EVD-021"),
        (REQUEST, 0, put("/queries/0/arguments/pattern", "sum"), "VS-EVD-022"),
        (REPLY, -1, put("/results/0/action_id", "q8"), "VS-EVD-015"),
        (REPLY, -1, put("/results/0/operation", "source.read"), "VS-EVD-015"),
        (REPLY, -1, put("/results/0/status", "error"), "VS-EVD-015"),
        (REPLY, -1, put("/results/0/order", [0]), "VS-EVD-015"),
        (REPLY, -1, put("/results/0/order", [1, 0]), "VS-EVD-015"),
        (REPLY, -1, put("/results/0/page/returned", 9), "VS-EVD-015"),
        (REPLY, -1, put("/results/0/page/total", 9), "VS-EVD-022"),
        (REPLY, -1, put("/request", ABSENT), "VS-EVD-015"),
        (REPLY, -1, put("/generation", ABSENT), "VS-EVD-015"),
        (REPLY, 1, put("/results/2/error/message", "something else"), "VS-EVD-022"),
        (CONTENT, 0, put("/lines/0/lines/0/1", "invented"), "VS-EVD-022"),
        (CONTENT, 0, put("/lines/0/lines", []), "VS-EVD-016"),
        (CONTENT, 0, put("/scope/name", "other"), "VS-EVD-024"),
        (CONTENT, 0, put("/coverage/kind", "partial"), "VS-EVD-024"),
        (CONTENT, 0, put("/coverage/statement", "all of it"), "VS-EVD-024"),
        (ENTRY, 4, put("/parent", None), "VS-LED-001"),
        (ENTRY, 1, put("/event/action_id", "other"), "VS-LED-004"),
        (ENTRY, 2, put("/event/action_id", "q1"), "VS-LED-004"),
        (ENTRY, 1, put("/event/operation", "source.fly"), "VS-LED-004"),
        (ENTRY, 4, put("/event/record", ABSENT), "VS-LED-009"),
        (ENTRY, 0, lambda d: d["event"]["grants"].pop(), "VS-LED-011"),
        (ENTRY, 0, put("/event/policy", ABSENT), "VS-OBJ-005"),
        ("budget-policy-v1", 0, put("/costs", {}), "VS-LED-008"),
        ("budget-policy-v1", 0, put("/costs/source.search", 11), "VS-LED-005"),
        ("hypotheses-v1", 0, put("/hypotheses/1/id", "H1"), "VS-HIS-018"),
        ("hypotheses-v1", 0, put("/hypotheses/1/id", "H3"), "VS-LED-011"),
        ("tree-v1", 0, put("/entries/0/size", 5), "VS-INP-002"),
        ("tree-v1", 0, put("/entries/0/name", ".."), "VS-INP-001"),
        ("tree-v1", 0, put("/entries/0/object", ABSENT), "VS-OBJ-005"),
        ("snapshot-descriptor-v1", 0, put("/name", "other"), "VS-INP-003"),
        ("snapshot-descriptor-v1", 0, put("/kind", "database"), "VS-OBJ-007"),
        ("database-content-v1", 0, put("/tables/0/rows", 9), "VS-INP-004"),
        ("database-rows-v1", 0, lambda d: d["rows"].reverse(), "VS-INP-004"),
    ],
    ids=lambda one: one if isinstance(one, str) else None,
)
def test_this_code_among_others(
    original: Path, tmp_path: Path, schema: str, position: int, change: Change, code: str
) -> None:
    report = verify_package(forged(original, tmp_path, schema, position, change))
    assert code in faults(report)
    assert report.exit_code in (1, 3)
    assert "VS-VER-001" not in faults(report)


@pytest.mark.parametrize(
    ("schema", "position", "change"),
    [
        (GENERATION, 9, put("/events/0/actor", "somebody else")),
        (GENERATION, 9, put("/events/0/at", "2027-01-01T00:00:00Z")),
        (ENTRY, 5, put("/event/reason", "another reason")),
        ("hypotheses-v1", 0, put("/hypotheses/0/statement", "another idea")),
    ],
)
def test_statements_rewritten_as_a_whole_are_found_with_a_remembered_head_only(
    original: Path, tmp_path: Path, schema: str, position: int, change: Change
) -> None:
    package = forged(original, tmp_path, schema, position, change)
    head = verify_package(original).head
    assert verify_package(package).exit_code == 0
    assert faults(verify_package(package, extends=head)) == {"VS-HIS-017"}
    assert faults(verify_package(package, expect=head)) == {"VS-HIS-016"}


@pytest.mark.parametrize("schema", [GENERATION, INDEX, RECORD, CONTENT, REQUEST, REPLY, ENTRY])
def test_an_edit_without_new_ids_is_found_by_digest(
    original: Path, tmp_path: Path, schema: str
) -> None:
    editor = PackageEditor(original)
    target = editor.find(schema, -1)
    target.content = target.content.replace(b'"', b"'", 1)
    report = verify_package(editor.save(tmp_path / "edited"))
    assert report.exit_code == 1
    assert "VS-OBJ-001" in faults(report)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda content: content.replace(b":", b": ", 1), "VS-OBJ-002"),
        (lambda content: content + b"\n", "VS-OBJ-002"),
        (lambda content: content.replace(b'"count":', b'"count":6,"count":'), "VS-OBJ-002"),
        (lambda content: content.replace(b'"count":', b'"number":'), "VS-OBJ-003"),
        (lambda content: content.replace(b"index-v1", b"index-v9"), "VS-OBJ-004"),
        # No document at all: as a blob that is the reference's fault, else its own.
        (lambda content: b"[" * 100_000, "VS-OBJ-007 VS-OBJ-003"),
        (lambda content: b"\xff" + content, "VS-OBJ-007 VS-OBJ-003"),
        (lambda content: b'{"schema":"tree-v1","entries":[]}', "VS-OBJ-002"),
        (lambda content: b'{"entries":[],"schema":"tree-v1"}', "VS-OBJ-007"),
    ],
)
def test_documents_that_are_not_what_they_should_be(
    original: Path, tmp_path: Path, change: Callable[[bytes], bytes], code: str, kind: int
) -> None:
    editor = PackageEditor(original)
    target = editor.find(INDEX, -1)
    target.content = change(target.content)
    target.edited = True
    target.kind = kind
    editor.rechain()
    report = verify_package(editor.save(tmp_path / "forged"))
    codes = code.split()
    assert codes[kind if len(codes) > 1 else 0] in faults(report)
    assert report.exit_code in (1, 3)
    assert "VS-VER-001" not in faults(report)


def test_a_finding_names_what_falls_with_it(original: Path, tmp_path: Path) -> None:
    package = forged(original, tmp_path, RECORD, 0, put("/novelty_score", 99))
    (finding,) = [one for one in verify_package(package).findings if one.code == "VS-EVD-019"]
    assert finding.affects == ("record E000001", "ledger entry 5", "ledger entry 6")
    assert (finding.expected, finding.actual) == ("100", "99")
    assert finding.pointer == "/novelty_score"


def test_an_object_that_nothing_names_is_a_note(original: Path, tmp_path: Path) -> None:
    from vstore.objects.ids import object_id
    from vstore.testing.editor import StoredObject

    editor = PackageEditor(original)
    editor.frames[3].objects.append(StoredObject(object_id(b"stray"), 0, b"stray"))
    editor.frames[5].objects.append(StoredObject(object_id(b"stray"), 0, b"stray"))
    report = verify_package(editor.save(tmp_path / "package"))
    assert report.exit_code == 0
    assert {"VS-OBJ-006", "VS-OBJ-010"} <= report.codes()


def test_a_chunk_of_rows_that_is_absent_is_reported_once(original: Path, tmp_path: Path) -> None:
    editor = PackageEditor(original)
    for frame in editor.frames:
        frame.objects = [one for one in frame.objects if one.schema != "database-rows-v1"]
    report = verify_package(editor.save(tmp_path / "package"), recompute=False)
    assert faults(report) == {"VS-OBJ-005"}
    # Asked again, the absent rows are no answer either; what is absent stays the finding.
    assert faults(verify_package(tmp_path / "package")) == {"VS-OBJ-005"}


def test_documents_larger_than_any_that_is_read(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = PackageEditor(original)
    for one in editor.objects(INDEX):
        one.kind = 0
    package = editor.save(tmp_path / "package")
    monkeypatch.setattr("vstore.verify.checks.objects.MAX_DOCUMENT_BYTES", 500)
    report = verify_package(package)
    assert report.exit_code == 3
    assert "VS-OBJ-009" in faults(report)


def test_an_absent_object(original: Path, tmp_path: Path) -> None:
    editor = PackageEditor(original)
    (frame,) = [one for one in editor.frames if any(o.schema == CONTENT for o in one.objects)][:1]
    frame.objects = [one for one in frame.objects if one.schema != CONTENT]
    report = verify_package(editor.save(tmp_path / "package"))
    assert "VS-OBJ-005" in faults(report)


def test_an_object_that_is_stored_after_it_was_named(original: Path, tmp_path: Path) -> None:
    editor = PackageEditor(original)
    for number, frame in enumerate(editor.frames[:-1]):
        late = [one for one in frame.objects if one.schema == CONTENT]
        if late:
            frame.objects = [one for one in frame.objects if one not in late]
            editor.frames[number + 1].objects += late
            break
    report = verify_package(editor.save(tmp_path / "package"))
    assert report.exit_code == 1
    assert faults(report) == {"VS-OBJ-005"}


def test_an_object_that_is_both_a_file_and_a_document(original: Path, tmp_path: Path) -> None:
    """Kinds in a frame's table are hints: an equal file may have been stored first."""
    editor = PackageEditor(original)
    for one in editor.objects():
        one.kind = 0
    assert faults(verify_package(editor.save(tmp_path / "blobs"))) == set()
    for one in editor.objects():
        one.kind = int(one.schema is not None)
    assert faults(verify_package(editor.save(tmp_path / "documents"))) == set()


def test_a_dropped_frame_is_found(original: Path, tmp_path: Path) -> None:
    editor = PackageEditor(original)
    del editor.frames[-3]
    report = verify_package(editor.save(tmp_path / "package"))
    assert {"VS-HIS-001", "VS-HIS-019"} & faults(report)
    assert report.exit_code == 1
