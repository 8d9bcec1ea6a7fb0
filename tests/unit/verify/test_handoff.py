"""Forged tests, answers, attachments and waits: each is found by its own code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vstore.objects.ids import object_id
from vstore.objects.plain_json import encode_value
from vstore.testing.editor import PackageEditor, StoredObject
from vstore.testing.handoff import handoff_story
from vstore.verify import verify_package
from vstore.verify.report import Report

GENERATION = "package-generation-v1"
REQUEST = "async-test-request-v1"
FEEDBACK = "async-test-feedback-v1"
CONTENT = "evidence-content-v1"
RECORD = "evidence-record-v1"
ABSENT = "b3:" + "7" * 64

Change = Callable[[Any], None]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good package with three tests."""
    folder = tmp_path_factory.mktemp("story")
    handoff_story(folder / "package", folder).close()
    return folder / "package"


def put(pointer: str, value: object) -> Change:
    """Set the member at a pointer."""

    def change(document: Any) -> None:
        *way, last = pointer.split("/")[1:]
        for part in way:
            document = document[int(part) if isinstance(document, list) else part]
        document[int(last) if isinstance(document, list) else last] = value

    return change


def generation_of(editor: PackageEditor, event: str, nth: int = 0) -> StoredObject:
    """The nth generation with this event."""
    found = [
        one
        for one in editor.objects(GENERATION)
        if any(happened["kind"] == event for happened in one.value["events"])
    ]
    return found[nth]


def faults(report: Report) -> set[str]:
    return {one.code for one in report.findings if one.severity != "note"}


def forged(story: Path, target: Path, change: Callable[[PackageEditor], None]) -> Report:
    editor = PackageEditor(story)
    change(editor)
    editor.rechain()
    return verify_package(editor.save(target / "forged"))


def test_the_story_is_good(story: Path) -> None:
    report = verify_package(story)
    assert (report.exit_code, report.findings, report.not_checked) == (0, (), ())


EDITS = [
    (REQUEST, -1, put("/case_id", "CASE-2"), "VS-HND-001"),
    (REQUEST, -1, put("/package_id", "OTHER"), "VS-HND-001"),
    (REQUEST, -1, put("/analysis_revision", 2), "VS-HND-001 VS-HND-003"),
    (REQUEST, -1, put("/deadline", "2026-02-30T00:00:00Z"), "VS-HND-002 VS-HND-005"),
    (REQUEST, -1, put("/observations/1/id", "fails"), "VS-HND-002"),
    (REQUEST, -1, put("/hypothesis_id", "H1"), "VS-HND-003"),
    (REQUEST, -1, put("/action_id", "t9"), "VS-HND-003"),
    (REQUEST, -1, put("/executor", "automated"), "VS-HND-003"),
    (REQUEST, -1, put("/reservation", ABSENT), "VS-HND-003 VS-OBJ-005"),
    (REQUEST, -1, put("/request_id", "test-1"), "VS-HND-004 VS-HND-006"),
    (REQUEST, -1, put("/action_id", "t1"), "VS-HND-004"),
    (REQUEST, -1, put("/deadline", "2027-01-01T00:00:00Z"), "VS-HND-005"),
    (REQUEST, 0, put("/question", "Something else?"), ""),
    (FEEDBACK, 0, put("/request_id", "test-2"), "VS-HND-009"),
    (FEEDBACK, 0, put("/executor", "automated"), "VS-HND-009 VS-EVD-020 VS-EVD-026 VS-LED-009"),
    (FEEDBACK, 0, put("/observations/0/id", "log"), "VS-HND-009 VS-EVD-026"),
    (FEEDBACK, 0, put("/observations/0/text", "perhaps"), "VS-HND-009 VS-EVD-026"),
    (FEEDBACK, 0, put("/observations/0/text", "no"), "VS-EVD-026"),
    (FEEDBACK, 0, put("/tester_id", "somebody else"), ""),
    (FEEDBACK, 1, put("/remarks", None), "VS-HND-010"),
    (FEEDBACK, 0, put("/confirmed_at", "2026-04-31T00:00:00Z"), "VS-HND-010"),
    (FEEDBACK, 0, put("/attachments/0/name", "other.log"), "VS-HND-011"),
    (FEEDBACK, 0, put("/attachments/0/size", 1), "VS-HND-011"),
    (CONTENT, 0, put("/observations/0/observed", "It works."), "VS-EVD-026"),
    (CONTENT, 0, put("/tested/environment/0/value", "Debian 13"), "VS-EVD-026"),
    (CONTENT, 0, put("/tested/executor", "automated"), "VS-EVD-026"),
    (CONTENT, 1, put("/sought/question", "Why?"), "VS-EVD-026"),
    (CONTENT, 0, put("/tested", None), "VS-EVD-016 VS-EVD-026"),
    (RECORD, 0, put("/origin/feedback", ABSENT), "VS-OBJ-005"),
    (RECORD, 0, put("/hypothesis_id", "H2"), "VS-EVD-012"),
    (RECORD, 1, put("/novelty_score", 50), "VS-EVD-019"),
]


@pytest.mark.parametrize(("schema", "position", "change", "codes"), EDITS)
def test_an_edited_document(
    story: Path, tmp_path: Path, schema: str, position: int, change: Change, codes: str
) -> None:
    """All its codes are of what was edited, but for what falls with it in the ledger."""

    def edit(editor: PackageEditor) -> None:
        editor.edit(editor.find(schema, position), change)

    report = forged(story, tmp_path, edit)
    found = faults(report)
    # Scores that follow from contents fall with them.
    consequences = {
        "VS-EVD-009", "VS-EVD-012", "VS-EVD-018", "VS-EVD-019", "VS-LED-004", "VS-LED-005",
        "VS-LED-010",
    }  # fmt: skip
    assert set(codes.split()) <= found, report.findings
    assert found - set(codes.split()) <= consequences, report.findings
    assert report.exit_code == (1 if found else 0)


def test_asserted_texts_are_found_only_by_their_digests(story: Path, tmp_path: Path) -> None:
    """Consistently reworded, nobody can tell: only a remembered head or a signature can."""

    def edit(editor: PackageEditor) -> None:
        editor.edit(editor.find(FEEDBACK, 0), put("/remarks", "nice weather"))

    report = forged(story, tmp_path, edit)
    assert faults(report) <= {"VS-EVD-009"}


GENERATIONS: list[tuple[str, int, Change, str]] = [
    ("test.submit", 0, put("/blocked/automatic_retry", value=True), "VS-HND-005"),
    ("test.submit", 2, put("/blocked/retry_not_before", None), "VS-HND-005"),
    ("test.submit", 0, put("/events/0/operation_id", "test-9"), "VS-HND-006"),
    ("test.attach", 0, put("/events/0/operation_id", None), "VS-HND-006"),
    ("test.confirm", 1, put("/events/0/operation_id", "test-1"), "VS-HND-006"),
    (
        "test.confirm",
        0,
        lambda d: d["events"].append({**d["events"][0], "kind": "hypotheses"}),
        "VS-HND-007 VS-HIS-009",
    ),
    ("evidence.feedback", 0, put("/events/0/kind", "evidence.tool_results"), "VS-HIS-009"),
    ("test.confirm", 0, put("/artifacts/async_test_feedback", ABSENT),
     "VS-OBJ-005 VS-HIS-008"),
    ("test.submit", 0, put("/state", "INVESTIGATING_HYPOTHESES"), "VS-HIS-004"),
    ("test.confirm", 0, put("/events/0/kind", "resume"), "VS-HIS-004 VS-HIS-009"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "nth", "change", "codes"), GENERATIONS)
def test_an_edited_generation(
    story: Path, tmp_path: Path, event: str, nth: int, change: Change, codes: str
) -> None:
    def edit(editor: PackageEditor) -> None:
        editor.edit(generation_of(editor, event, nth), change)

    report = forged(story, tmp_path, edit)
    assert set(codes.split()) <= faults(report), report.findings
    assert report.exit_code in (1, 3)


def move_the_ledger(editor: PackageEditor, *kinds: str) -> None:
    """Let the last generation, which attached, go on from an entry that it appends.

    Args:
        editor: The package.
        kinds: Of the generation's events; as they are by default.
    """
    head = list(editor.objects(GENERATION))[-1]
    entry = editor.find("budget-ledger-v1", -1)
    value = entry.value
    value["parent"], value["sequence"] = entry.oid, value["sequence"] + 1
    value["event"]["action_id"] = "smuggled"
    content = encode_value(value)
    oid = object_id(content)
    editor.frames[-1].objects.insert(0, StoredObject(oid, 1, content))

    def moved(document: Any) -> None:
        document["artifacts"]["budget_ledger"] = oid
        document["declared"]["budget_ledger"] = [oid]
        if kinds:
            (event,) = document["events"]
            document["events"] = [event | {"kind": kind} for kind in kinds]

    editor.edit(head, moved)


@pytest.mark.parametrize(
    ("kinds", "more"),
    [
        (["budget.reserve"], {"VS-HIS-004", "VS-HIS-009"}),
        (["test.attach", "budget.reserve"], {"VS-HIS-004", "VS-HND-007"}),
        # Nothing is known of what a later version's event may do, but that it may not do this.
        (["later.event"], {"VS-VER-003"}),
        (["later.event", "budget.reserve"], {"VS-VER-003"}),
    ],
    ids=["reserve", "attach and reserve", "unknown", "unknown and reserve"],
)
def test_no_event_lets_the_ledger_move_while_the_case_waits(
    story: Path, tmp_path: Path, kinds: list[str], more: set[str]
) -> None:
    report = forged(story, tmp_path, lambda editor: move_the_ledger(editor, *kinds))
    assert faults(report) == {"VS-HND-008", "VS-LED-006", *more}
    assert report.exit_code == 1


def test_a_ledger_that_moves_while_nothing_is_outstanding_is_the_historys(
    story: Path, tmp_path: Path
) -> None:
    """The same in a generation before any test was handed out."""

    def edit(editor: PackageEditor) -> None:
        first = generation_of(editor, "budget.reserve")
        editor.edit(first, put("/events/0/kind", "hypotheses"))

    found = faults(forged(story, tmp_path, edit))
    assert "VS-HIS-009" in found
    assert "VS-HND-008" not in found


def test_a_ledger_that_moves_while_the_case_waits(story: Path, tmp_path: Path) -> None:
    report = forged(story, tmp_path, move_the_ledger)
    # One finding for one fault: that no event may do this is what the handoff's says.
    assert faults(report) == {"VS-HND-008", "VS-LED-006"}
    assert report.exit_code == 1


def test_a_record_of_an_answer_that_nobody_confirmed(story: Path, tmp_path: Path) -> None:
    """Another answer, stored beside the confirmed one and named by the record."""

    def edit(editor: PackageEditor) -> None:
        record, answer = editor.find(RECORD, 0), editor.find(FEEDBACK, 0)
        value = answer.value
        value["tester_id"] = "a bird"
        content = encode_value(value)
        frame = next(one for one in editor.frames if record in one.objects)
        frame.objects.insert(0, StoredObject(object_id(content), 1, content))
        editor.edit(record, put("/origin/feedback", object_id(content)))

    assert "VS-EVD-025" in faults(forged(story, tmp_path, edit))


def trees(editor: PackageEditor, event_nth: int) -> list[StoredObject]:
    """The trees that a generation with attachments stores."""
    generation = generation_of(editor, "test.attach", event_nth)
    frame = next(one for one in editor.frames if generation in one.objects)
    return [one for one in frame.objects if one.schema == "tree-v1"]


def root_of(editor: PackageEditor, event_nth: int) -> StoredObject:
    generation = generation_of(editor, "test.attach", event_nth).value
    return next(one for one in trees(editor, event_nth) if one.oid == generation["attachments"])


TREES: list[tuple[int, Callable[[PackageEditor], StoredObject], Change, str]] = [
    # A name that is no digest.
    (0, lambda e: root_of(e, 0), put("/entries/0/name", "elsewhere"), "VS-HND-012"),
    # Below a request that was never outstanding then.
    (0, lambda e: root_of(e, 0), put("/entries/0/name", "0" * 64), "VS-HND-013"),
    # The attachments of the first test are gone with the third one's.
    (2, lambda e: root_of(e, 2), lambda d: d["entries"].pop(), "VS-HND-013"),
]


@pytest.mark.parametrize(("nth", "find", "change", "code"), TREES)
def test_an_edited_tree_of_attachments(
    story: Path,
    tmp_path: Path,
    nth: int,
    find: Callable[[PackageEditor], StoredObject],
    change: Change,
    code: str,
) -> None:
    report = forged(story, tmp_path, lambda editor: editor.edit(find(editor), change))
    assert code in faults(report), report.findings


def test_attachments_of_the_last_generation_with_another_shape(story: Path, tmp_path: Path) -> None:
    """Files, links and programs where none may be: the tree that was stored last."""
    for number, change in enumerate(
        (
            put("/entries/0/executable", value=True),
            put("/entries/0/kind", "link"),
            put("/entries/0/name", "a\nb"),
            put("/entries/0/name", {"hex": "ff", "type": "bytes"}),
            put("/entries/0/object", object_id(b"")),
            put("/entries", []),
        )
    ):

        def edit(editor: PackageEditor, change: Change = change) -> None:
            files = [one for one in trees(editor, 2) if one.value["entries"][0]["kind"] == "file"]
            editor.edit(files[0], change)

        (tmp_path / str(number)).mkdir()
        report = forged(story, tmp_path / str(number), edit)
        assert "VS-HND-012" in faults(report), (number, report.findings)


def test_an_attachment_whose_bytes_are_a_document_is_content(tmp_path: Path) -> None:
    """It names an object that isn't there, and leads nowhere: what its use is, decides."""
    from vstore.controller.bundles import create_bundle
    from vstore.testing.handoff import HandoffCase, answer_to
    from vstore.verify import verify_package as verify

    case = HandoffCase(tmp_path / "package", tmp_path)
    case.begin()
    submitted = case.submit()
    tree = encode_value(
        {
            "entries": [
                {"executable": False, "kind": "file", "name": "x", "object": ABSENT, "size": 1}
            ],
            "schema": "tree-v1",
        }
    )
    attached = case.attach(("tree.json", tree), ("later.json", b'{"schema":"later-v9"}'))
    case.confirm(answer_to(submitted, attached.attachments))
    case.close()
    report = verify(tmp_path / "package")
    assert (report.exit_code, report.findings) == (0, ())
    create_bundle(tmp_path / "package", tmp_path / "bundle.zip")
    assert verify(tmp_path / "bundle.zip").exit_code == 0
