"""VS-EVD: indices, records, contents, novelty, replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vstore.evidence.limits import EvidenceLimits
from vstore.objects.ids import object_id
from vstore.objects.plain_json import encode_value
from vstore.testing.bad.change import ZEROS, BadPackage, consistent, edited, files, put, remove
from vstore.testing.editor import PackageEditor, StoredObject
from vstore.tools.request import QueryLimits
from vstore.tools.router import Router

__all__ = ["PACKAGES"]

_INDEX: Final = "evidence-index-v1"
_RECORD: Final = "evidence-record-v1"
_CONTENT: Final = "evidence-content-v1"
_REQUEST: Final = "tool-request-v1"
_REPLY: Final = "tool-reply-v1"
_QUIET: Final = {"recompute": False}


def _edit(
    schema: str, position: int, *changes: Callable[[Any], None]
) -> Callable[[PackageEditor], None]:
    def change(editor: PackageEditor) -> None:
        for one in changes:
            editor.edit(editor.find(schema, position), one)

    return change


def _ask_an_older_one(editor: PackageEditor) -> None:
    older = str(editor.find("package-generation-v1", -3).oid)
    editor.edit(editor.find(_REQUEST, -1), put("/generation", older))
    editor.edit(editor.find(_REPLY, -1), put("/generation", older))


def _reverse_lines(editor: PackageEditor) -> None:
    (content,) = [
        one
        for one in editor.objects(_CONTENT)
        if any(len(group["lines"]) > 1 for group in one.value["lines"] or ())
    ]
    editor.edit(content, lambda document: document["lines"][0]["lines"].reverse())


def _unreserved(editor: PackageEditor) -> None:
    editor.edit(editor.find(_REQUEST, -1), put("/queries/0/action_id", "q0"))
    editor.edit(editor.find(_REPLY, -1), put("/results/0/action_id", "q0"))


def _same_action(editor: PackageEditor) -> None:
    editor.edit(editor.find(_REQUEST, 1), put("/queries/3/action_id", "q5"))
    editor.edit(editor.find(_REPLY, 1), put("/results/3/action_id", "q5"))


def _other_answer(editor: PackageEditor) -> None:
    """Store a second answer beside the confirmed one, and make the record from it."""
    confirmed = editor.find("async-test-feedback-v1")
    value = confirmed.value | {"tester_id": "sam"}
    content = encode_value(value)
    other = StoredObject(object_id(content), 1, content)
    (frame,) = [one for one in editor.frames if confirmed in one.objects]
    frame.objects.insert(0, other)
    editor.edit(editor.find(_RECORD), put("/origin/feedback", str(other.oid)))


def _other_observation(editor: PackageEditor) -> None:
    content = editor.find(_CONTENT)
    assert b"It divides by zero." in content.content
    content.content = content.content.replace(b"It divides by zero.", b"It works.")
    content.edited = True


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-EVD-001",
        change="the second index names no index before it",
        make=edited(_INDEX, 1, put("/parent", None)),
    ),
    BadPackage(
        code="VS-EVD-002",
        change="the second index has the number 9",
        make=edited(_INDEX, 1, put("/sequence", 9)),
    ),
    BadPackage(
        code="VS-EVD-003",
        change="the second index lists a record under another id",
        make=edited(_INDEX, 1, put("/records/1/id", "E000009")),
    ),
    BadPackage(
        code="VS-EVD-004",
        change="the second index announces another next id",
        make=edited(_INDEX, 1, put("/next_id", "E000009")),
    ),
    BadPackage(
        code="VS-EVD-005",
        change="the second index counts 9 records",
        make=edited(_INDEX, 1, put("/count", 9)),
    ),
    BadPackage(
        code="VS-EVD-006",
        change="the second index counts 9 distinct observations",
        make=edited(_INDEX, 1, put("/distinct_atoms", 9)),
    ),
    BadPackage(
        code="VS-EVD-007",
        change="the second index sums 9 retained bytes",
        make=edited(_INDEX, 1, put("/retained_bytes", 9)),
    ),
    BadPackage(
        code="VS-EVD-008",
        change="the second index gives another root of the tree over all records",
        make=edited(_INDEX, 1, put("/tree/root", ZEROS)),
    ),
    BadPackage(
        code="VS-EVD-009",
        change="the second index gives another digest of its batch",
        make=edited(_INDEX, 1, put("/payload", ZEROS)),
    ),
    BadPackage(
        code="VS-EVD-010",
        change="the second batch has the operation id of the first",
        make=consistent("VS-EVD-010", _edit(_INDEX, 1, put("/operation_id", "batch-1"))),
    ),
    BadPackage(
        code="VS-EVD-011",
        change="a record names another case",
        make=edited(_RECORD, 1, put("/case_id", "CASE-2")),
    ),
    BadPackage(
        code="VS-EVD-012",
        change="a record says that it comes from another result of its reply",
        make=edited(_RECORD, 1, put("/origin/position", 0)),
    ),
    BadPackage(
        code="VS-EVD-013",
        change="the last index lacks a record of its reply",
        make=edited(_INDEX, 1, remove("/records/2")),
    ),
    BadPackage(
        code="VS-EVD-014",
        change="a batch was asked of an older generation than the one that it continues",
        make=consistent("VS-EVD-014", _ask_an_older_one),
    ),
    BadPackage(
        code="VS-EVD-015",
        change="a result says that its page has 9 items; verified without asking again",
        make=consistent(
            "VS-EVD-015", _edit(_REPLY, -1, put("/results/0/page/returned", 9)), options=_QUIET
        ),
        options=_QUIET,
    ),
    BadPackage(
        code="VS-EVD-016",
        change="the lines of a content stand in reverse order; verified without asking again",
        make=consistent("VS-EVD-016", _reverse_lines, options=_QUIET),
        options=_QUIET,
    ),
    BadPackage(
        code="VS-EVD-017",
        change="a record says that it repeats another one than it does",
        make=edited(_RECORD, -2, put("/duplicate_of", "E000002")),
    ),
    BadPackage(
        code="VS-EVD-018",
        change="a record claims nothing as new",
        make=edited(_RECORD, 0, put("/novel_atoms", [])),
    ),
    BadPackage(
        code="VS-EVD-019",
        change="a record has the novelty score 99",
        make=edited(_RECORD, 1, put("/novelty_score", 99)),
    ),
    BadPackage(
        code="VS-EVD-020",
        change="a batch was asked for an action that nobody reserved",
        make=consistent("VS-EVD-020", _unreserved),
    ),
    BadPackage(
        code="VS-EVD-021",
        change="two queries of a batch have the same action",
        make=consistent("VS-EVD-021", _same_action),
    ),
    BadPackage(
        code="VS-EVD-022",
        change="a line of source in a content was invented",
        make=consistent("VS-EVD-022", _edit(_CONTENT, 0, put("/lines/0/lines/0/1", "invented"))),
    ),
    BadPackage(
        code="VS-EVD-023",
        change="nothing, and the service that is to go on with it keeps one record at the most",
        make=files(lambda _: None),
        options={"limits": EvidenceLimits(max_records=1)},
    ),
    BadPackage(
        code="VS-EVD-024",
        change="a content names a snapshot that wasn't asked; verified without asking again",
        make=consistent(
            "VS-EVD-024", _edit(_CONTENT, 0, put("/scope/name", "other")), options=_QUIET
        ),
        options=_QUIET,
    ),
    BadPackage(
        code="VS-EVD-025",
        change="a record was made from an answer that no generation confirmed",
        make=consistent("VS-EVD-025", _other_answer, base="tests"),
    ),
    BadPackage(
        code="VS-EVD-026",
        change="an answer's observation reads otherwise in the evidence",
        make=consistent("VS-EVD-026", _other_observation, base="tests"),
    ),
    BadPackage(
        code="VS-EVD-027",
        change="nothing, and the router that asks again allows a single row for each query",
        make=files(lambda _: None),
        options={"router": Router.default(limits=QueryLimits(max_rows_scanned=1))},
    ),
)
