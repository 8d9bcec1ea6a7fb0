"""Publishing touches what is new, however long the history: counted, never timed.

The same publication is made after a short history and after one many times as long, in a
running process and in a fresh one; system calls and bytes are counted by the one module that
does durable I/O, reads by the functions that read.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.objects.durable import DurableIO
from vstore.objects.reader import ObjectReader

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SHORT, LONG = 40, 400
WARM = 8


class CountingIO(DurableIO):
    """Counts operations and bytes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def write(self, fd: int, chunk: bytes) -> None:
        self.counts["writes"] += 1
        self.counts["bytes written"] += len(chunk)
        super().write(fd, chunk)

    def sync(self, fd: int) -> None:
        self.counts["syncs"] += 1
        super().sync(fd)

    def create(self, path: Path) -> int:
        self.counts["files made"] += 1
        return super().create(path)

    def replace(self, source: Path, target: Path) -> None:
        self.counts["renames"] += 1
        super().replace(source, target)


@pytest.fixture(scope="module")
def history() -> Iterator[object]:
    """The workload's adapter, over contents that need no corpus."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from small_history import small_adapter

        yield small_adapter(LONG + 100)
    finally:
        sys.path.remove(str(BENCHMARKS))


def build(root: Path, adapter: object, count: int, io: CountingIO) -> object:
    from package_history import BenchmarkCase

    case = BenchmarkCase(root, adapter, io=io)
    scratch = root.with_name(f"{root.name}-scratch")
    scratch.mkdir()
    case.begin(scratch)
    case.reserve(1, count + 2 * WARM)
    for number in range(1, count + WARM):
        case.store(number)
    return case


def counted_store(case: object, number: int, io: CountingIO) -> Counter[str]:
    io.counts.clear()
    case.store(number)  # type: ignore[attr-defined]
    return Counter(io.counts)


def test_a_running_process_does_the_same_at_any_length(tmp_path: Path, history: object) -> None:
    found = []
    for count in (SHORT, LONG):
        io = CountingIO()
        case = build(tmp_path / str(count), history, count, io)
        found.append(counted_store(case, count + WARM, io))
        case.close()  # type: ignore[attr-defined]
    short, long = found
    for name in ("writes", "syncs", "renames"):
        assert short[name] == long[name], name
    # One frame and the two refs that change, each of them a new file.
    assert (short["syncs"], short["writes"]) == (1, 3)
    assert (short["renames"], short["files made"]) == (2, 2)
    # Numbers have more digits, and compression varies a little.
    assert abs(long["bytes written"] - short["bytes written"]) < 200


def test_a_fresh_process_reads_no_history(
    tmp_path: Path, history: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from package_history import BenchmarkCase

    frames: Counter[int] = Counter()
    read_bytes: Counter[int] = Counter()
    current = 0
    load = ObjectReader._load
    pread = os.pread

    def counting_load(self: ObjectReader, place: int) -> object:
        frames[current] += 1
        return load(self, place)

    def counting_pread(fd: int, size: int, offset: int) -> bytes:
        content = pread(fd, size, offset)
        read_bytes[current] += len(content)
        return content

    monkeypatch.setattr(ObjectReader, "_load", counting_load)
    for count in (SHORT, LONG):
        io = CountingIO()
        case = build(tmp_path / str(count), history, count, io)
        case.close()  # type: ignore[attr-defined]
        current = count
        with monkeypatch.context() as patch:
            patch.setattr(os, "pread", counting_pread)
            again = BenchmarkCase(tmp_path / str(count), history, io=io)
            again.store(count + WARM)
            again.close()
        current = 0
    # What the head leads to directly, and what was published since caches were written.
    assert frames[LONG] <= frames[SHORT] + 2
    assert frames[LONG] < 40
    # Ten times the history: its caches' headers grow, nothing else.
    assert read_bytes[LONG] < read_bytes[SHORT] + 120_000
