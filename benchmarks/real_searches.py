"""Real searches over a large pinned source, stored and then recomputed by the verifier."""

from __future__ import annotations

import sysconfig
import time
from pathlib import Path
from typing import Final

from package_history import CASE, HYPOTHESIS, PACKAGE, BenchmarkCase
from workload import _corpus
from workload_adapter import WorkloadAdapter

from vstore.controller import EvidenceStore
from vstore.objects.memory import ObjectSink
from vstore.package.documents import SnapshotDescriptor
from vstore.tools.capture_source import capture_source
from vstore.tools.request import SourceSearch
from vstore.tools.router import Router
from vstore.verify import verify_package

__all__ = ["recompute_seconds"]

_SIZE: Final = 30_000_000
_BATCH: Final = 50


def recompute_seconds(root: Path, count: int) -> tuple[float, int]:
    """Store searches in batches; the seconds that verifying and recomputing them takes.

    Args:
        root: A folder that doesn't exist yet.
        count: Searches, each of another identifier while there are enough.

    Returns:
        Seconds, and the bytes of the source.
    """
    source = root / "source"
    size = _make_source(source)
    adapter = WorkloadAdapter([])
    adapter.files["empty.py"] = b""
    case = BenchmarkCase(root / "package", adapter)
    (root / "scratch").mkdir()
    case.begin(root / "scratch", lambda sink: _capture(source, sink))
    router = Router.default()
    store = EvidenceStore(case.workspace, router=router)
    terms = _corpus().terms
    for first in range(0, count, _BATCH):
        numbers = range(first, min(first + _BATCH, count))
        case.budget.reserve_all(
            CASE, PACKAGE, [(HYPOTHESIS, f"search-{n}", "source.search") for n in numbers]
        )
        package = case.budget.snapshot(CASE, PACKAGE).package
        request = router.request(
            package,
            [
                (
                    HYPOTHESIS,
                    f"search-{n}",
                    SourceSearch(source="large", pattern=terms[n * 7919 % len(terms)], limit=20),
                )
                for n in numbers
            ],
        )
        reply = router.query(package, request)
        store.store_tool_results(CASE, PACKAGE, f"searches-{first}", request, reply)
    case.close()
    before = time.perf_counter()
    report = verify_package(root / "package")
    seconds = time.perf_counter() - before
    if report.exit_code:
        raise SystemExit(f"the searches don't verify: {report.findings[:3]}")
    return seconds, size


def _make_source(folder: Path) -> int:
    """Files of the standard library, again and again with another first line."""
    library = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    size = copy = 0
    while size < _SIZE:
        for path in files:
            content = b"# copy %d\n" % copy + path.read_bytes()
            target = folder / str(copy) / path.relative_to(library)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            size += len(content)
            if size >= _SIZE:
                break
        copy += 1
    return size


def _capture(source: Path, sink: ObjectSink) -> SnapshotDescriptor:
    return capture_source(source, sink, name="large", label="copies of the library")
