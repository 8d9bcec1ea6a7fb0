"""VS-HND: tests that were handed out, their answers, their attachments."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from vstore.controller.test_attachments import Upload
from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.objects.ids import object_id
from vstore.objects.plain_json import encode_value
from vstore.package.workspace import Workspace
from vstore.testing.bad.change import BadPackage, Make, consistent, forged, put
from vstore.testing.editor import PackageEditor, StoredObject
from vstore.testing.investigation import CASE, INSTANT, PACKAGE

__all__ = ["PACKAGES"]

_BASE: Final = "tests"
_GENERATION: Final = "package-generation-v1"
_REQUEST: Final = "async-test-request-v1"
_FEEDBACK: Final = "async-test-feedback-v1"


def _edited(schema: str, position: int, change: Callable[[Any], None]) -> Make:
    return forged(lambda editor: editor.edit(editor.find(schema, position), change), base=_BASE)


def _rename(editor: PackageEditor) -> None:
    """Give the second request, and the event that hands it out, the id of the first."""
    editor.edit(editor.find(_REQUEST, -1), put("/request_id", "test-1"))
    editor.edit(editor.find(_GENERATION, -1), put("/events/0/operation_id", "test-1"))


def _pin_and_submit(editor: PackageEditor) -> None:
    """Pin a snapshot once more, under another name, where a test is handed out."""
    value = editor.find("snapshot-descriptor-v1").value | {"name": "again"}
    content = encode_value(value)
    again = StoredObject(object_id(content), 1, content)
    pinned = editor.find(_GENERATION, 1).value["events"]
    assert [one["kind"] for one in pinned] == ["source.add"]

    def change(document: Any) -> None:
        document["events"] = pinned + document["events"]
        document["snapshots"]["again"] = str(again.oid)
        document["declared"]["snapshots"] = [str(again.oid)]

    editor.edit(editor.find(_GENERATION, -1), change)
    editor.frames[-1].objects.insert(0, again)


def _attachments(editor: PackageEditor, position: int) -> StoredObject:
    """The tree of attachments of the generation at a place among those that have one."""
    trees = [one.value["attachments"] for one in editor.objects(_GENERATION)]
    oid = [one for one in trees if one is not None][position]
    return next(one for one in editor.objects() if one.oid == oid)


def _add_entry(editor: PackageEditor, name: str) -> None:
    """Add the first folder of attachments once more under another name."""

    def change(tree: Any) -> None:
        tree["entries"].append(tree["entries"][0] | {"name": name})
        tree["entries"].sort(key=lambda one: one["name"])

    editor.edit(_attachments(editor, 0), change)


def _add_request(editor: PackageEditor) -> None:
    _add_entry(editor, "7" * 64)


def _add_nonsense(editor: PackageEditor) -> None:
    _add_entry(editor, "elsewhere")


def _moved_ledger(good: Path, target: Path) -> None:
    """A file attached to the test that waits, with a reservation that nobody may make now."""
    with tempfile.TemporaryDirectory() as scratch:
        waiting = Path(scratch) / _BASE
        shutil.copytree(good / _BASE, waiting)
        with Workspace.of_package(waiting, actor="tester", clock=lambda: INSTANT) as workspace:
            uploads = [Upload("second.log", io.BytesIO(b"ZeroDivisionError\n"))]
            AsyncTestCoordinator(workspace).attach(CASE, PACKAGE, uploads)
        consistent("VS-HND-008", _reserve_more, base=_BASE)(Path(scratch), target)


def _reserve_more(editor: PackageEditor) -> None:
    last = editor.find("budget-ledger-v1", -1)
    value = last.value | {"parent": str(last.oid), "sequence": last.value["sequence"] + 1}
    value["event"]["action_id"] = "smuggled"
    content = encode_value(value)
    entry = StoredObject(object_id(content), 1, content)

    def change(document: Any) -> None:
        document["artifacts"]["budget_ledger"] = str(entry.oid)
        document["declared"]["budget_ledger"] = [str(entry.oid)]

    editor.edit(editor.find(_GENERATION, -1), change)
    editor.frames[-1].objects.insert(0, entry)


def _agreed(code: str, pointer: str, value: object) -> Make:
    """The answer changed, and the evidence that was made from it."""
    return consistent(
        code,
        lambda editor: editor.edit(editor.find(_FEEDBACK, 0), put(pointer, value)),
        base=_BASE,
    )


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-HND-001",
        change="a test request names another case",
        make=_edited(_REQUEST, -1, put("/case_id", "CASE-2")),
    ),
    BadPackage(
        code="VS-HND-002",
        change="a test request asks for two observations of one name",
        make=_edited(_REQUEST, -1, put("/observations/1/id", "fails")),
    ),
    BadPackage(
        code="VS-HND-003",
        change="a test request names an action that nobody reserved",
        make=_edited(_REQUEST, -1, put("/action_id", "t9")),
    ),
    BadPackage(
        code="VS-HND-004",
        change="the second test request has the id of the first",
        make=forged(_rename, base=_BASE),
    ),
    BadPackage(
        code="VS-HND-005",
        change="a case waits until another time than its request says",
        make=_edited(_GENERATION, -1, put("/blocked/retry_not_before", "2026-02-01T00:00:00Z")),
    ),
    BadPackage(
        code="VS-HND-006",
        change="the event that hands out a test bears the id of another request",
        make=_edited(_GENERATION, -1, put("/events/0/operation_id", "test-9")),
    ),
    BadPackage(
        code="VS-HND-007",
        change="a source was pinned in the generation that hands out a test",
        make=forged(_pin_and_submit, base=_BASE),
    ),
    BadPackage(
        code="VS-HND-008",
        change="the generation that attaches a file to a test also moves the ledger",
        make=_moved_ledger,
    ),
    BadPackage(
        code="VS-HND-009",
        change="an answer names another request than the one that was handed out",
        make=_agreed("VS-HND-009", "/request_id", "test-9"),
    ),
    BadPackage(
        code="VS-HND-010",
        change="an answer was confirmed on the 30th of February",
        make=_agreed("VS-HND-010", "/confirmed_at", "2026-02-30T00:00:00Z"),
    ),
    BadPackage(
        code="VS-HND-011",
        change="an answer lists an attachment with another name than it has",
        make=_agreed("VS-HND-011", "/attachments/0/name", "other.log"),
    ),
    BadPackage(
        code="VS-HND-012",
        change="a folder of attachments is there once more under a name that is none",
        make=forged(_add_nonsense, base=_BASE),
    ),
    BadPackage(
        code="VS-HND-013",
        change="attachments were added to a request that isn't outstanding",
        make=forged(_add_request, base=_BASE),
    ),
)
