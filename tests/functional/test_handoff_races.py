"""Confirmations and uploads that race from several processes: one wins, the others learn so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from vstore.objects.canonical import encode
from vstore.testing.folders import package_bytes
from vstore.testing.handoff import HandoffCase, handed_out
from vstore.testing.investigation import CASE, PACKAGE
from vstore.verify import verify_package

_CONFIRM = """
import json, pathlib, sys
from vstore.errors import VStoreError
from vstore.testing.handoff import HandoffCase
case = HandoffCase(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1]).parent)
how, path = sys.argv[2], pathlib.Path(sys.argv[3])
raw = path.read_bytes()
case.tests.snapshot("CASE-1", "PACKAGE-1")
print("ready", flush=True)
sys.stdin.readline()
try:
    if how == "draft":
        done = case.tests.confirm_draft("CASE-1", "PACKAGE-1", raw, confirmed_by=sys.argv[4])
    else:
        done = case.confirm(raw)
    print(json.dumps([done.repeated, done.feedback_ref, done.package.number]))
except VStoreError as error:
    print(json.dumps([error.kind]))
"""

_ATTACH = """
import io, json, pathlib, sys
from vstore.testing.handoff import HandoffCase
case = HandoffCase(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1]).parent)
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    case.attach(("same.log", f"{sys.argv[2]} {number}".encode()))
print(json.dumps("done"))
"""


def race(script: str, arguments: list[list[str]]) -> list[object]:
    """Start processes, let them go at once, and collect what each printed."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, *one],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for one in arguments
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        found = []
        for child in children:
            out, _ = child.communicate(timeout=60)
            assert child.returncode == 0
            found.append(json.loads(out))
        return found
    finally:
        for child in children:
            child.kill()
            child.wait()


@pytest.fixture
def answers(tmp_path: Path) -> tuple[Path, list[Path]]:
    """A package that waits, and two different good answers in files."""
    case, feedback = handed_out(tmp_path / "package", tmp_path)
    case.close()
    paths = []
    for number, one in enumerate((feedback, replace(feedback, remarks="seen by another"))):
        path = tmp_path / f"answer-{number}.json"
        path.write_bytes(encode(one))
        paths.append(path)
    return tmp_path / "package", paths


def confirmations(root: Path) -> int:
    case = HandoffCase(root, root.parent)
    history = list(case.workspace.repository(CASE).reader.history())
    case.close()
    assert verify_package(root).exit_code == 0
    return sum(event.kind == "test.confirm" for _, one in history for event in one.events)


def test_of_two_confirmations_one_wins_and_the_other_learns_so(
    answers: tuple[Path, list[Path]],
) -> None:
    root, paths = answers
    printed = race(_CONFIRM, [[str(root), "document", str(path)] for path in paths])
    assert sorted(len(one) for one in printed) == [1, 3]  # type: ignore[arg-type]
    assert ["operation_conflict"] in printed
    assert confirmations(root) == 1


def test_the_same_document_from_two_processes_succeeds_twice_with_one_effect(
    answers: tuple[Path, list[Path]],
) -> None:
    root, paths = answers
    printed = race(_CONFIRM, [[str(root), "document", str(paths[0])]] * 3)
    assert sorted(one[0] for one in printed) == [False, True, True]  # type: ignore[index]
    assert len({tuple(one[1:]) for one in printed}) == 1  # type: ignore[index]
    assert confirmations(root) == 1


def test_the_same_draft_confirmed_by_two_people_is_one_answer(
    answers: tuple[Path, list[Path]],
) -> None:
    root, paths = answers
    printed = race(_CONFIRM, [[str(root), "draft", str(paths[0]), name] for name in ("a", "b")])
    assert sorted(one[0] for one in printed) == [False, True]  # type: ignore[index]
    assert len({one[1] for one in printed}) == 1  # type: ignore[index]
    assert confirmations(root) == 1


def test_uploads_from_several_processes_lose_none(answers: tuple[Path, list[Path]]) -> None:
    root, _ = answers
    race(_ATTACH, [[str(root), name] for name in ("a", "b", "c")])
    from vstore.handoff.attachments import attachments_of

    case = HandoffCase(root, root.parent)
    snapshot = case.tests.snapshot(CASE, PACKAGE)
    assert snapshot.outstanding is not None
    stored = attachments_of(snapshot.package, snapshot.outstanding.request_ref)
    case.close()
    assert len(stored) == 1 + 15
    assert verify_package(root).exit_code == 0


def test_the_loser_of_a_race_changes_no_byte(answers: tuple[Path, list[Path]]) -> None:
    root, paths = answers
    case = HandoffCase(root, root.parent)
    case.confirm(paths[0].read_bytes())
    case.close()
    before = package_bytes(root)
    race(_CONFIRM, [[str(root), "document", str(path)] for path in paths * 2])
    assert package_bytes(root) == before
