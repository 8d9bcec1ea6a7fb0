"""VS-INV: calls, frozen schemas, replies, briefs, audits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from vstore.testing.bad.change import ZEROS, BadPackage, Make, forged, put
from vstore.testing.editor import PackageEditor

__all__ = ["PACKAGES"]

_LOG: Final = "investigation-log-v1"
_REQUEST: Final = "investigation-request-v1"
_STEP: Final = "investigation-step-v1"
_ATTEMPT: Final = "investigation-attempt-v1"
_UPDATE: Final = "investigation-update-v1"
_BRIEF: Final = "working-brief-v1"
_BRIEFS: Final = "working-briefs-v1"
_AUDIT: Final = "change-audit-v1"
_BASE: Final = "calls"


def _edited(schema: str, position: int, change: Callable[[Any], None]) -> Make:
    return forged(lambda editor: editor.edit(editor.find(schema, position), change), base=_BASE)


def _other_schema(editor: PackageEditor) -> None:
    """Freeze the schema of the other contract for the first call."""
    other = editor.find(_REQUEST, -2).value["reply_schema"]
    for schema in (_REQUEST, _STEP):
        editor.edit(editor.find(schema, 0), put("/reply_schema", other))
    # The schema must be there before it is named.
    blob = next(one for one in editor.objects() if one.oid == other)
    for frame in editor.frames:
        frame.objects = [one for one in frame.objects if one.oid != other]
    first = next(
        frame for frame in editor.frames if any(one.schema == _REQUEST for one in frame.objects)
    )
    first.objects.append(blob)


def _unknown_reference(editor: PackageEditor) -> None:
    """Let an accepted reply name evidence that there is not."""
    oid = editor.find(_STEP, 0).value["reply"]
    blob = next(one for one in editor.objects() if one.oid == oid)
    value = json.loads(blob.content)
    put("/update/working_brief/findings/0/evidence_refs", ["E000099"])(value)
    blob.content = json.dumps(value).encode()
    blob.edited = True


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-INV-001",
        change="an entry of the calls names no entry before it",
        make=_edited(_LOG, 3, put("/parent", None)),
    ),
    BadPackage(
        code="VS-INV-002",
        change="an entry of the calls has the number 9",
        make=_edited(_LOG, 3, put("/sequence", 9)),
    ),
    BadPackage(
        code="VS-INV-003",
        change="an entry of the calls names another case",
        make=_edited(_LOG, 3, put("/case_id", "CASE-2")),
    ),
    BadPackage(
        code="VS-INV-004",
        change="an entry answers a call that was answered before",
        make=_edited(_LOG, 3, put("/event/call_id", "call-1")),
    ),
    BadPackage(
        code="VS-INV-005",
        change="a call froze the schema of another contract",
        make=forged(_other_schema, base=_BASE),
    ),
    BadPackage(
        code="VS-INV-006",
        change="a step names another call than its entry",
        make=_edited(_STEP, 0, put("/call_id", "call-2")),
    ),
    BadPackage(
        code="VS-INV-007",
        change="a request for a call names no brief, and there is one",
        make=_edited(_REQUEST, -1, put("/brief", None)),
    ),
    BadPackage(
        code="VS-INV-008",
        change="a call was not told why the one before was refused",
        make=_edited(_REQUEST, 2, put("/previous_rejection", [])),
    ),
    BadPackage(
        code="VS-INV-009",
        change="a reply was accepted that names evidence which there is not",
        make=forged(_unknown_reference, base=_BASE),
    ),
    BadPackage(
        code="VS-INV-010",
        change="an update says another confidence than its reply",
        make=_edited(_UPDATE, 0, put("/confidence", "confirmed")),
    ),
    BadPackage(
        code="VS-INV-011",
        change="a working brief has another text than its reply",
        make=_edited(_BRIEF, 1, put("/findings/0/text", "other")),
    ),
    BadPackage(
        code="VS-INV-012",
        change="an audit leaves out what was added",
        make=_edited(_AUDIT, 1, put("/added", [])),
    ),
    BadPackage(
        code="VS-INV-013",
        change="a refusal gives another digest of the reply that it refused",
        make=_edited(_ATTEMPT, 0, put("/digest", ZEROS)),
    ),
    BadPackage(
        code="VS-INV-014",
        change="the briefs give one to another hypothesis",
        make=_edited(_BRIEFS, 0, put("/briefs/0/hypothesis_id", "H2")),
    ),
    BadPackage(
        code="VS-INV-015",
        change="a hypothesis is confirmed, and no reply confirmed it",
        make=_edited("hypotheses-v1", 1, put("/hypotheses/0/confidence", "confirmed")),
    ),
)
