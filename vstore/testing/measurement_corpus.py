"""The shipped corpus of v13 replies, and packages made of it: what the measurement runs on.

The replies are synthetic: written for this purpose, in own words, after two public bugs, in
English and German. ``python -m vstore.testing.measurement_corpus FOLDER`` makes the packages;
``vstore contract measure FOLDER/*`` measures them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.controller import BudgetManager, EvidenceStore
from vstore.controller.investigation_steps import InvestigationSteps
from vstore.package.inputs import InputFile
from vstore.package.workspace import Workspace
from vstore.tools.request import Arguments
from vstore.tools.router import Router

__all__ = ["build_packages", "corpus", "main", "reply_bytes"]

_NAMES: Final = ("django-29182", "sqlite-utils-592")
_INSTANT: Final = "2026-01-02T03:04:05Z"
_POLICY: Final = BudgetPolicy(
    costs={"source.read": 1, "source.search": 1},
    initial_credits=100,
    new_evidence_score=60,
    max_reward_percent=0,
    low_information=LowInformation(threshold=1, streak=100),
    case_credit_cap=1000,
    max_revisions=1,
)


def corpus() -> dict[str, Any]:
    """The data files by case: raw input, hypotheses, and the calls in their order."""
    folder = files("vstore.testing").joinpath("corpus")
    found = {}
    for name in _NAMES:
        text = folder.joinpath(f"{name}.json").read_text(encoding="utf-8")
        found[name] = json.loads(text)
    return found


def reply_bytes(call: dict[str, Any]) -> bytes:
    """The bytes of a call's reply, as a provider would have sent them."""
    if "raw" in call:
        raw: str = call["raw"]
        return raw.encode()
    return json.dumps(call["reply"], ensure_ascii=False, indent=2).encode()


def build_packages(folder: Path) -> list[Path]:
    """Make one package for each case of the corpus, by importing its calls.

    Args:
        folder: Where; the packages' folders must not exist yet.

    Returns:
        The packages, by case.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        return [
            _build(value, folder / name, Path(scratch) / name) for name, value in corpus().items()
        ]


def _build(case: dict[str, Any], root: Path, scratch: Path) -> Path:
    case_id, package_id = case["case_id"], case["package_id"]
    inputs = []
    for name, text in case["files"].items():
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        inputs.append(InputFile(path, name.encode()))
    with Workspace.of_package(root, actor="corpus", clock=lambda: _INSTANT) as workspace:
        workspace.init(case_id, package_id, inputs)
        moves = workspace.case(case_id)
        moves.advance()
        moves.advance()
        moves.set_hypotheses(case["hypotheses"])
        BudgetManager(workspace).initialise(case_id, package_id, _POLICY)
        moves.advance()
        steps = InvestigationSteps(workspace)
        for call in case["calls"]:
            _look(workspace, case_id, package_id, call)
            steps.import_step(
                case_id,
                package_id,
                call["hypothesis"],
                call["call_id"],
                reply_bytes(call),
                cut_off=call.get("cut_off", False),
            )
    return root


def _look(workspace: Workspace, case_id: str, package_id: str, call: dict[str, Any]) -> None:
    """Store the evidence that a call is about, one batch."""
    if not call["look"]:
        return
    router = Router.default()
    budget = BudgetManager(workspace)
    queries = []
    for number, one in enumerate(call["look"], 1):
        arguments = {"operation": one["operation"], **one["arguments"]}
        queries.append(
            (
                one["hypothesis"],
                f"{call['call_id']}-{number}",
                msgspec.convert(arguments, Arguments),
            )
        )
    budget.reserve_all(
        case_id,
        package_id,
        [(name, action, one.__struct_config__.tag) for name, action, one in queries],
    )
    package = budget.snapshot(case_id, package_id).package
    request = router.request(package, queries)
    EvidenceStore(workspace, router=router).store_tool_results(
        case_id, package_id, call["call_id"], request, router.query(package, request)
    )


def main(arguments: list[str]) -> int:
    """Make the packages in the folder that the command line names."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m vstore.testing.measurement_corpus FOLDER\n")
        return 2
    for path in build_packages(Path(arguments[0])):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
