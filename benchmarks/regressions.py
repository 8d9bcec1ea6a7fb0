"""What may not get worse, measured without a clock that depends on the machine.

    python benchmarks/regressions.py [--update]

Builds the history of 1,000 publications and compares with ``baseline.json``: processor time
of the last tenth against the first, stored bytes against the documents' own, and the modules
that ``vstore log`` loads. ``--update`` writes the baseline anew, for a change that is meant.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from imports import imports_of
from measure import disk_bytes
from package_history import BenchmarkCase
from workload import publications
from workload_adapter import WorkloadAdapter

BASELINE: Final = Path(__file__).with_name("baseline.json")
COUNT: Final = 1_000
#: The last tenth may cost so much of the first one.
GROWTH: Final = 1.25
#: Histories built; what counts is the one in the middle, neither the best nor the worst.
ATTEMPTS: Final = 3
#: Stored bytes may be so much of what they were.
LARGER: Final = 1.05


def measure(root: Path) -> dict[str, object]:
    """Build the history, and say what it came to."""
    adapter = WorkloadAdapter(publications(COUNT + 1))
    case = BenchmarkCase(root / "package", adapter)
    scratch = root / "scratch"
    scratch.mkdir()
    case.begin(scratch)
    case.reserve(1, COUNT + 1)
    case.store(COUNT + 1)  # whatever a process does once is not the first tenth's cost
    before = disk_bytes(root / "package" / "objects")
    documents = 0
    seconds: list[float] = []
    for number in range(1, COUNT + 1):
        start = time.thread_time()
        case.store(number)
        seconds.append(time.thread_time() - start)
        documents += sum(map(len, case.stored(number, 1).documents.values()))
    case.close()
    tenth = COUNT // 10
    return {
        "growth": _undisturbed(seconds[-tenth:]) / _undisturbed(seconds[:tenth]),
        "stored_share": (disk_bytes(root / "package" / "objects") - before) / documents,
        "log_imports": imports_of(root / "package", ["log", "-n", "20"]),
    }


def _undisturbed(seconds: list[float]) -> float:
    """The lower quartile."""
    return statistics.quantiles(seconds, n=4)[0]


def measured() -> dict[str, object]:
    """The attempt whose growth is the median of all."""
    attempts: list[dict[str, object]] = []
    for _ in range(ATTEMPTS):
        with TemporaryDirectory(prefix="vstore-regressions-") as folder:
            attempts.append(measure(Path(folder)))
    return sorted(attempts, key=lambda one: float(str(one["growth"])))[ATTEMPTS // 2]


def main() -> int:
    """See the module; the exit code is 1 for a regression."""
    found = measured()
    print(json.dumps({name: found[name] for name in ("growth", "stored_share")}))
    if "--update" in sys.argv[1:]:
        kept = {name: found[name] for name in ("stored_share", "log_imports")}
        BASELINE.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
        return 0
    baseline = json.loads(BASELINE.read_text(encoding="utf-8"))
    wrong: list[str] = []
    growth, share = found["growth"], found["stored_share"]
    assert isinstance(growth, float)
    assert isinstance(share, float)
    if growth > GROWTH:
        wrong.append(f"the last tenth costs {growth:.2f} of the first one; at most {GROWTH}")
    if share > LARGER * baseline["stored_share"]:
        wrong.append(
            f"stored bytes are {share:.3f} of the documents; they were "
            f"{baseline['stored_share']:.3f}"
        )
    if found["log_imports"] != baseline["log_imports"]:
        changed = set(baseline["log_imports"]) ^ set(map(str, found["log_imports"]))  # type: ignore[call-overload]
        wrong.append(f"vstore log loads other modules: {', '.join(sorted(changed))}")
    for one in wrong:
        print(f"regression: {one}", file=sys.stderr)
    if wrong:
        print("python benchmarks/regressions.py --update takes this as meant", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
