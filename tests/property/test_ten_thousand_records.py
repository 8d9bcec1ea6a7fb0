"""Ten thousand records of the shared workload at the default limits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vstore.errors import LimitExceeded
from vstore.evidence.documents import EvidenceIndex
from vstore.verify import verify_package

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RECORDS = 10_000


@pytest.mark.deep
def test_ten_thousand_records_fit_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from package_history import CASE, PACKAGE, BenchmarkCase
    from workload import publications
    from workload_adapter import WorkloadAdapter

    adapter = WorkloadAdapter(publications(RECORDS + 1))
    case = BenchmarkCase(tmp_path / "package", adapter)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    case.begin(scratch)
    case.reserve(1, RECORDS + 1)
    for number in range(1, RECORDS + 1):
        case.store(number)

    before = case.evidence.snapshot(CASE, PACKAGE)
    assert len(before.records) == RECORDS
    assert before.index_ref is not None
    index = before.package.objects.document(before.index_ref, EvidenceIndex)
    assert index.retained_bytes <= 64 << 20
    assert index.distinct_atoms == 94_308 or sys.version_info[:2] != (3, 11)

    log = max((tmp_path / "package" / "objects" / "log").iterdir())
    size = log.stat().st_size
    with pytest.raises(LimitExceeded) as refused:
        case.store(RECORDS + 1)
    assert refused.value.details == {
        "limit": "max_records",
        "value": RECORDS,
        "asked": RECORDS + 1,
        "what": "records",
    }
    assert log.stat().st_size == size
    after = case.evidence.snapshot(CASE, PACKAGE)
    assert (after.index_ref, after.records) == (before.index_ref, before.records)
    assert after.package.generation_id == before.package.generation_id
    case.close()

    # The same in a fresh process's view, which has caches to continue from.
    again = BenchmarkCase(tmp_path / "package", adapter)
    with pytest.raises(LimitExceeded):
        again.store(RECORDS + 1)
    assert again.evidence.snapshot(CASE, PACKAGE).records == before.records
    again.close()
    report = verify_package(tmp_path / "package", recompute=False)
    assert report.exit_code == 0, report.findings[:3]
    assert report.counts.records == RECORDS
