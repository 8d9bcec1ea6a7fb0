"""VS-LED: events, figures, policies, bindings."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from vstore.controller import BudgetManager
from vstore.objects.ids import object_id
from vstore.objects.plain_json import encode_value
from vstore.package.workspace import Workspace
from vstore.testing.bad.change import BadPackage, edited, forged, put
from vstore.testing.editor import PackageEditor, StoredObject
from vstore.testing.investigation import CASE, INSTANT, PACKAGE

__all__ = ["PACKAGES"]

_ENTRY: Final = "budget-ledger-v1"
_GENERATION: Final = "package-generation-v1"


def _other_policy(editor: PackageEditor) -> None:
    """Store a second policy, and give it the place of the one that the ledger names."""
    policy = editor.find("budget-policy-v1")
    value = policy.value
    put("/costs/source.search", 11)(value)
    content = encode_value(value)
    other = StoredObject(object_id(content), 1, content)
    (frame,) = [one for one in editor.frames if policy in one.objects]
    frame.objects.insert(0, other)
    for one in editor.objects(_GENERATION):
        document = one.value
        for members in (document["artifacts"], document["declared"]):
            if "budget_policy" in members:
                kept = members["budget_policy"]
                members["budget_policy"] = other.oid if isinstance(kept, str) else [other.oid]
        one.content = encode_value(document)


def _reward_without_evidence(good: Path, target: Path) -> None:
    """Go on with the case: record a result by hand, and settle it."""
    shutil.copytree(good / "investigation", target)
    workspace = Workspace.of_package(target, actor="tester", clock=lambda: INSTANT)
    with workspace:
        budget = BudgetManager(workspace)
        budget.reserve(CASE, PACKAGE, "H2", "q10", operation="source.list")
        budget.record_result(
            CASE, PACKAGE, "H2", "q10", result="looked by hand", novel_refs=["note-1"]
        )
        budget.settle(CASE, PACKAGE, "H2", "q10", semantic_score=50, reason="simulated")
    for residue in ("locks", "cache", "tmp"):
        shutil.rmtree(target / residue, ignore_errors=True)


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-LED-001",
        change="an entry names no entry before it",
        make=edited(_ENTRY, 4, put("/parent", None)),
    ),
    BadPackage(
        code="VS-LED-002",
        change="an entry has the number 9",
        make=edited(_ENTRY, 4, put("/sequence", 9)),
    ),
    BadPackage(
        code="VS-LED-003",
        change="an entry names another case",
        make=edited(_ENTRY, 4, put("/case_id", "CASE-2")),
    ),
    BadPackage(
        code="VS-LED-004",
        change="an entry reserves for an action that was reserved before",
        make=edited(_ENTRY, 2, put("/event/action_id", "q1")),
    ),
    BadPackage(
        code="VS-LED-005",
        change="a reservation costs 9 credits more than the policy says",
        make=edited(_ENTRY, 1, put("/event/cost", 19)),
    ),
    BadPackage(
        code="VS-LED-006",
        change="an account has the balance 1 after an event",
        make=edited(_ENTRY, 1, put("/accounts/0/balance", 1)),
    ),
    BadPackage(
        code="VS-LED-007",
        change="all generations name another policy than the accounts were opened with",
        make=forged(_other_policy),
    ),
    BadPackage(
        code="VS-LED-008",
        change="the policy has no costs",
        make=edited("budget-policy-v1", 0, put("/costs", {})),
    ),
    BadPackage(
        code="VS-LED-009",
        change="an entry records a result under the id of another record",
        make=edited(_ENTRY, 4, put("/event/record_id", "E000003")),
    ),
    BadPackage(
        code="VS-LED-010",
        change="an entry has the novelty cap 99",
        make=edited(_ENTRY, 4, put("/event/novelty_cap", 99)),
    ),
    BadPackage(
        code="VS-LED-011",
        change="the second hypothesis has another id than the account that was opened for it",
        make=edited("hypotheses-v1", 0, put("/hypotheses/1/id", "H3")),
    ),
    BadPackage(
        code="VS-LED-012",
        change="the case went on: a result without evidence was rewarded",
        make=_reward_without_evidence,
    ),
)
