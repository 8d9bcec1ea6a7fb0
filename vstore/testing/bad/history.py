"""VS-HIS: the chain of generations, states, refs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from vstore.objects.ids import ObjectId
from vstore.package.checkpoint import Checkpoint, checkpoint_of, origin_of
from vstore.package.reader import PackageReader
from vstore.testing.bad.change import (
    ABSENT,
    ZEROS,
    BadPackage,
    edited,
    files,
    forged,
    put,
    remove,
)
from vstore.testing.editor import PackageEditor

__all__ = ["PACKAGES"]

_GENERATION: Final = "package-generation-v1"


def _grandparent(editor: PackageEditor) -> None:
    earlier = editor.find(_GENERATION, -3).oid
    editor.edit(editor.find(_GENERATION, -1), put("/parent", earlier))


def _block(document: Any) -> None:
    document["blocked"] = {
        "automatic_retry": False,
        "reason": "OPERATOR_HOLD",
        "resume_state": "INVESTIGATING_HYPOTHESES",
        "retry_not_before": None,
    }


def _repeat_event(document: Any) -> None:
    document["events"].append(document["events"][0])


def _declare(document: Any, name: str, oid: str) -> None:
    document["artifacts"][name] = oid
    document["declared"][name] = [oid]


def _unknown_artifact(editor: PackageEditor) -> None:
    oid = str(editor.find("hypotheses-v1").oid)
    editor.edit(editor.find(_GENERATION, -1), lambda document: _declare(document, "later", oid))


def _reserved_artifact(editor: PackageEditor) -> None:
    oid = str(editor.find("hypotheses-v1").oid)
    editor.edit(editor.find(_GENERATION, -1), lambda document: _declare(document, "inputs", oid))


def _ref(name: str, text: str) -> Any:
    return files(lambda package: _write_ref(package, name, text))


def _write_ref(package: Path, name: str, text: str) -> None:
    (package / "refs" / name).write_text(text + "\n", encoding="ascii")


def _nothing(package: Path) -> None:
    """Leave the package as it is."""


def _lagging(package: Path) -> None:
    _write_ref(package, "generation", PackageEditor(package).find(_GENERATION, -2).oid)


def _no_generation(editor: PackageEditor) -> None:
    editor.frames[-1].generation = ObjectId(ABSENT)


def _checkpoint(package: Path) -> Checkpoint:
    with PackageReader.open(package) as reader:
        return checkpoint_of(reader)


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-HIS-001",
        change="the last generation names the one before its parent as its parent",
        make=forged(_grandparent),
    ),
    BadPackage(
        code="VS-HIS-002",
        change="the last generation has the number 99",
        make=edited(_GENERATION, -1, put("/package_generation", 99)),
    ),
    BadPackage(
        code="VS-HIS-003",
        change="the last generation names another case",
        make=edited(_GENERATION, -1, put("/case_id", "CASE-2")),
    ),
    BadPackage(
        code="VS-HIS-004",
        change="the case is closed in the last generation, and nothing closed it",
        make=edited(_GENERATION, -1, put("/state", "CLOSED")),
    ),
    BadPackage(
        code="VS-HIS-005",
        change="the third generation is of analysis revision 2, and nothing reopened the case",
        make=edited(_GENERATION, 2, put("/analysis_revision", 2)),
    ),
    BadPackage(
        code="VS-HIS-006",
        change="the last generation says why it waits, and the state doesn't wait",
        make=edited(_GENERATION, -1, _block),
    ),
    BadPackage(
        code="VS-HIS-007",
        change="the last generation gives another root of the tree over those before",
        make=edited(_GENERATION, -1, put("/history/root", ZEROS)),
    ),
    BadPackage(
        code="VS-HIS-008",
        change="the last generation declares nothing",
        make=edited(_GENERATION, -1, put("/declared", {})),
    ),
    BadPackage(
        code="VS-HIS-009",
        change="the last generation says twice that the same happened",
        make=edited(_GENERATION, -1, _repeat_event),
    ),
    BadPackage(
        code="VS-HIS-010",
        change="the last generation has no hypotheses any more",
        make=edited(_GENERATION, -1, remove("/artifacts/hypotheses")),
    ),
    BadPackage(
        code="VS-HIS-011",
        change="the last generation has an artifact with a name of a later version",
        make=forged(_unknown_artifact),
    ),
    BadPackage(
        code="VS-HIS-012",
        change="refs/generation names the generation before the last",
        make=files(_lagging),
    ),
    BadPackage(
        code="VS-HIS-013",
        change="refs/hypotheses is missing",
        make=files(lambda package: (package / "refs" / "hypotheses").unlink()),
    ),
    BadPackage(
        code="VS-HIS-014",
        change="refs/hypotheses names an object that it never named",
        make=_ref("hypotheses", ABSENT),
    ),
    BadPackage(
        code="VS-HIS-015",
        change="refs/generation names a generation that is not in the log",
        make=_ref("generation", ABSENT),
    ),
    BadPackage(
        code="VS-HIS-016",
        change="nothing, and another head is expected",
        make=files(_nothing),
        options={"expect": ObjectId(ABSENT)},
    ),
    BadPackage(
        code="VS-HIS-017",
        change="nothing, and it should extend another head",
        make=files(_nothing),
        options={"extends": ObjectId(ABSENT)},
    ),
    BadPackage(
        code="VS-HIS-018",
        change="the hypotheses name another case",
        make=edited("hypotheses-v1", 0, put("/case_id", "CASE-2")),
    ),
    BadPackage(
        code="VS-HIS-019",
        change="the last frame publishes a generation that it doesn't hold",
        make=forged(_no_generation, rechain=False),
    ),
    BadPackage(
        code="VS-HIS-020",
        change="the last generation has an artifact named inputs",
        make=forged(_reserved_artifact),
    ),
    BadPackage(
        code="VS-HIS-021",
        change="the last generation tells of another actor, and it should extend the checkpoint "
        "that was made of the original",
        make=edited(_GENERATION, -1, put("/events/0/actor", "somebody else")),
        needs=lambda good: {"extends": _checkpoint(good / "investigation")},
    ),
    BadPackage(
        code="VS-HIS-022",
        change="nothing, and it should extend the checkpoint of another package",
        make=files(_nothing),
        needs=lambda good: {
            "extends": replace(_checkpoint(good / "investigation"), origin=origin_of("OTHER"))
        },
    ),
)
