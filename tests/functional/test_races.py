"""Two processes on one package: one wins, the other learns so, nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.verify import verify_package

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
            out, _ = child.communicate(timeout=60)
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
    printed = _race(_RESERVE, one.root, tmp_path, 3)
    answers = [line for lines in printed for line in lines]
    # 200 credits, 10 each, 60 attempts.
    assert answers.count("reserved") == 20
    assert answers.count("insufficient_credits") == 40
    account = one.budget.snapshot(CASE, PACKAGE).account("H1")
    assert (account.balance, account.reserved) == (0, 200)
    one.close()
    report = verify_package(one.root)
    assert report.exit_code == 0, report.findings
