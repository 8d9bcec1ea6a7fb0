"""Micro-benchmarks: python -m pytest benchmarks --benchmark-only

``--benchmark-disable`` in place of ``--benchmark-only`` runs each once, untimed, as a test.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

sys.path.insert(0, str(Path(__file__).parent))

from package_history import CASE, PACKAGE, BenchmarkCase
from small_history import small_adapter

from vstore.evidence.atoms import atoms
from vstore.evidence.content import normalise
from vstore.evidence.documents import EvidenceContent, EvidenceRecord
from vstore.evidence.novelty import assess
from vstore.objects.canonical import decode, encode
from vstore.objects.frame import FrameSummary, encode_frame, parse_header, read_payload
from vstore.objects.ids import object_id
from vstore.objects.merkle import Frontier
from vstore.objects.sorted_tables import SortedTables, encode_tables
from vstore.verify import verify_package

COUNT = 200


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BenchmarkCase]:
    root = tmp_path_factory.mktemp("micro")
    one = BenchmarkCase(root / "package", small_adapter(10 * COUNT))
    (root / "scratch").mkdir()
    one.begin(root / "scratch")
    one.reserve(1, 10 * COUNT)
    for number in range(1, COUNT + 1):
        one.store(number)
    yield one
    one.close()


@pytest.fixture(scope="module")
def content(case: BenchmarkCase) -> EvidenceContent:
    package = case.budget.snapshot(CASE, PACKAGE).package
    record_id = case.evidence.snapshot(CASE, PACKAGE).records[-1].object
    record = package.objects.document(record_id, EvidenceRecord)
    return package.objects.document(record.content, EvidenceContent)


def test_canonical_encode(benchmark: BenchmarkFixture, content: EvidenceContent) -> None:
    assert benchmark(encode, content).startswith(b'{"coverage"')


def test_canonical_decode(benchmark: BenchmarkFixture, content: EvidenceContent) -> None:
    assert benchmark(decode, encode(content), EvidenceContent) == content


def test_atoms(benchmark: BenchmarkFixture, content: EvidenceContent) -> None:
    assert len(benchmark(atoms, content)) == 10


def test_novelty(benchmark: BenchmarkFixture, content: EvidenceContent) -> None:
    found = atoms(content)
    seen = {f"{number:064x}" for number in range(100_000)} | set(found[:5])
    assert benchmark(assess, found, seen)[1] == 50


def test_normalise(benchmark: BenchmarkFixture, case: BenchmarkCase) -> None:
    package = case.budget.snapshot(CASE, PACKAGE).package
    from workload_adapter import request_for

    query = request_for(package, "H1", 7, case.adapter.arguments[7]).queries[0]
    result = case.adapter.answer(package, query)
    assert benchmark(normalise, result)[1] is None


def test_frame(benchmark: BenchmarkFixture, content: EvidenceContent) -> None:
    encoded = encode(content)
    objects = [(object_id(encoded).to_bytes(), 1, encoded)] * 6
    names = {"salt": bytes(16), "offset": 128, "sequence": 1}
    frame = benchmark(
        lambda: encode_frame(**names, parent=bytes(32), generation=b"g" * 32, objects=objects)
    )
    found = parse_header(frame, 0, segment=1, salt=bytes(16), offset=128)
    assert isinstance(found, FrameSummary)
    assert read_payload(found, frame[found.header_length : -36 - 4]).startswith(encoded)


def test_merkle_append(benchmark: BenchmarkFixture) -> None:
    frontier = Frontier()
    benchmark(lambda: (frontier.append(b"leaf"), frontier.root()))


def test_lookup_in_a_cache_of_a_hundred_thousand(
    benchmark: BenchmarkFixture, tmp_path: Path
) -> None:
    keys = sorted(object_id(b"%d" % number).to_bytes() for number in range(100_000))
    body, digest = encode_tables([(0, keys)])
    (tmp_path / "t").write_bytes(body)

    def look() -> int:
        tables = SortedTables(tmp_path / "t", digest, (0,))
        return sum(tables.find(0, one) is not None for one in keys[::10_000])

    assert benchmark(look) == 10


def test_publish(benchmark: BenchmarkFixture, case: BenchmarkCase) -> None:
    numbers = iter(range(COUNT + 1, 10 * COUNT))
    benchmark.pedantic(lambda: case.store(next(numbers)), rounds=100, warmup_rounds=5)


def test_replay_per_document(benchmark: BenchmarkFixture, case: BenchmarkCase) -> None:
    report = benchmark.pedantic(
        lambda: verify_package(case.root, recompute=False), rounds=3, warmup_rounds=1
    )
    assert report.exit_code == 0
    benchmark.extra_info["objects"] = report.counts.objects
