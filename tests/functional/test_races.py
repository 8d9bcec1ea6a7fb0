"""Processes on one package: who wins, who learns that he didn't, and that nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec

from vstore.testing.investigation import CASE, PACKAGE, POLICY, Investigation
from vstore.verify import verify_package

ROOMY = msgspec.structs.replace(
    POLICY,
    initial_credits=2_000,
    case_credit_cap=4_000,
    low_information=msgspec.structs.replace(POLICY.low_information, streak=1_000),
)
_PUBLISH = """
import sys
from pathlib import Path
from vstore.errors import StaleGeneration
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.tools.request import SourceSearch
root, scratch, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
one = Investigation(root, scratch)
package = one.budget.snapshot(CASE, PACKAGE).package
request = one.router.request(package, [("H1", name, SourceSearch(source="code", pattern="BUG"))])
reply = one.router.query(package, request)
print("ready", flush=True)
sys.stdin.readline()
try:
    saved = one.evidence.store_tool_results(CASE, PACKAGE, name, request, reply)
    print("won", saved.record_ids[0], flush=True)
except StaleGeneration:
    print("stale", flush=True)
"""

_RESERVE = """
import sys
from pathlib import Path
from vstore.errors import BudgetError
from vstore.testing.investigation import CASE, PACKAGE, Investigation
root, scratch, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
one = Investigation(root, scratch)
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    try:
        one.budget.reserve(CASE, PACKAGE, "H1", f"{name}-{number}", operation="source.search")
        print("reserved", flush=True)
    except BudgetError as error:
        print(error.kind, flush=True)
"""


_MIX = """
import sys
from pathlib import Path
from vstore.controller import CaseLifecycle
from vstore.errors import StaleGeneration, StateError
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.tools.request import SourceRead
root, scratch, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
one = Investigation(root, scratch)
life = CaseLifecycle(one.workspace)
print("ready", flush=True)
sys.stdin.readline()
done = 0
while done < 3:
    action = f"{name}-{done}"
    try:
        # A repeat of what is done already costs nothing.
        one.budget.reserve(CASE, PACKAGE, "H1", action, operation="source.read")
        package = one.budget.snapshot(CASE, PACKAGE).package
        arguments = SourceRead(source="code", path="app/orders.py", start=1 + done % 3)
        request = one.router.request(package, [("H1", action, arguments)])
        reply = one.router.query(package, request)
        saved = one.evidence.store_tool_results(CASE, PACKAGE, action, request, reply)
        one.settle(saved, 0, "H1", action, 0)
        done += 1
        print(saved.record_ids[0], flush=True)
        if done == 2:
            life.block(CASE, PACKAGE, "OPERATOR_HOLD", note=name)
            life.resume(CASE, PACKAGE)
    except StaleGeneration:
        continue  # asking again is enough
    except StateError:
        continue  # somebody else blocked the case, and will resume it
"""


def _race(script: str, root: Path, scratch: Path, count: int) -> list[list[str]]:
    """Start processes, let them go at the same moment, and collect what each printed."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(root), str(scratch), f"p{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        printed = []
        for child in children:
            out, _ = child.communicate(timeout=240)
            assert child.returncode == 0
            printed.append(out.splitlines())
        return printed
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_two_publications_of_one_generation(tmp_path: Path) -> None:
    one = Investigation(tmp_path / "package", tmp_path)
    one.begin()
    one.budget.reserve_all(
        CASE, PACKAGE, [("H1", "p0", "source.search"), ("H1", "p1", "source.search")]
    )
    printed = _race(_PUBLISH, one.root, tmp_path, 2)
    assert sorted(lines[0] for lines in printed) == ["stale", "won E000001"]
    assert [record.id for record in one.evidence.snapshot(CASE, PACKAGE).records] == ["E000001"]
    one.close()
    assert verify_package(one.root).exit_code == 0


def test_last_credits_are_spent_once(tmp_path: Path) -> None:
    one = Investigation(tmp_path / "package", tmp_path)
    one.begin()
    printed = _race(_RESERVE, one.root, tmp_path, 8)
    answers = [line for lines in printed for line in lines]
    # 200 credits, 10 each, 160 attempts.
    assert answers.count("reserved") == 20
    assert answers.count("insufficient_credits") == 140
    account = one.budget.snapshot(CASE, PACKAGE).account("H1")
    assert (account.balance, account.reserved) == (0, 200)
    one.close()
    report = verify_package(one.root)
    assert report.exit_code == 0, report.findings


def test_eight_processes_publish_and_no_publication_is_lost(tmp_path: Path) -> None:
    one = Investigation(tmp_path / "package", tmp_path)
    one.begin(policy=ROOMY)
    before = one.workspace.case(CASE).package.number
    printed = _race(_MIX, one.root, tmp_path, 8)
    ids = [line for lines in printed for line in lines]
    # Every record that somebody was told of is there, once, and none beside.
    assert sorted(ids) == [f"E{number:06}" for number in range(1, 25)]
    records = one.evidence.snapshot(CASE, PACKAGE).records
    assert [record.id for record in records] == sorted(ids)
    budget = one.budget.snapshot(CASE, PACKAGE)
    account = budget.account("H1")
    assert (account.debited, account.reserved, account.rewarded) == (24 * 20, 0, 0)
    assert account.balance == account.granted - 24 * 20
    assert budget.open_actions == ()
    package = one.workspace.case(CASE).package
    kinds = Counter(
        generation.events[0].kind
        for _, generation in one.workspace.repository(CASE).reader.history()
    )
    assert kinds["evidence.tool_results"] == kinds["budget.settle"] == 24
    assert kinds["budget.reserve"] == kinds["budget.record_evidence"] == 24
    # Each process held the case once, unless somebody else did just then.
    assert kinds["block"] == kinds["resume"] <= 8
    assert package.number == before + 4 * 24 + 2 * kinds["block"]
    assert package.state == "INVESTIGATING_HYPOTHESES"
    one.close()
    report = verify_package(one.root)
    assert report.exit_code == 0, report.findings
