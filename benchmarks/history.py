"""Measures every row of the specification's table on histories of the workload.

    python benchmarks/history.py 10000 [--output docs/explanation] [--searches 10000]

The peers (dependency group ``bench``) store the very documents that our package holds, in
turns with us, so that only ratios within one run are told. git, dulwich, disk-objectstore,
SQLite and the naive cumulative index must be there; restic and borg are said to be not
measured where they are not installed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from measure import disk_bytes, interleaved, run
from package_history import HYPOTHESIS, BenchmarkCase, Stored
from peers import PEERS, Git, Naive, Peer
from report import Row, write_report
from workload import publications
from workload_adapter import WorkloadAdapter

from vstore.objects.ids import object_id

_PEER_LIMIT: Final = 1_000
_CHUNK: Final = 50
_ROUNDS: Final = 5


class Bench:
    """One run.

    Args:
        count: Publications.
        root: A folder for everything that is made.
    """

    def __init__(self, count: int, root: Path) -> None:
        self.count = count
        self.root = root
        self.rows: list[Row] = []
        self.facts: dict[str, Any] = {}
        #: Seconds per publication, by side.
        self.series: dict[str, list[float]] = {}
        #: Processor seconds per publication, child processes included, by side.
        self.processor: dict[str, list[float]] = {}
        #: Publications and bytes on disk, by side.
        self.sizes: dict[str, list[tuple[int, int]]] = {}
        say("reading the workload")
        self.adapter = WorkloadAdapter(publications(count))
        # The corpus is this script's own: whoever is measured shouldn't search it for cycles.
        gc.collect()
        gc.freeze()
        self.package = root / "evidence"
        #: A copy of it, repacked.
        self.packed = root / "packed"

    def row(
        self, what: str, peer: str, value: float, reach: float, aim: float, *, more: bool
    ) -> None:
        """Note one row; ``more`` says that a larger ratio is better."""
        self.rows.append(Row(what, peer, value, reach, aim, more))
        say(f"  {what} | {peer} | {value:.2f} (reach {reach}, aim {aim})")

    # ---- histories

    def build(self) -> None:
        """Evidence only, in turns with the peers for the first publications."""
        say(f"evidence only, {self.count} publications; peers for {_PEER_LIMIT} at the most")
        scratch = self.root / "scratch"
        scratch.mkdir()
        case = BenchmarkCase(self.package, self.adapter)
        case.begin(scratch)
        case.reserve(1, self.count)
        peers: list[Peer] = [kind(self.root / kind.__name__.lower()) for kind in PEERS]
        ours = self.series["vstore"] = []
        sizes = self.sizes["vstore"] = []
        held: set[str] = set()
        self._stored: list[Stored] = []
        start = disk_bytes(self.package / "objects")
        for first in range(1, self.count + 1, _CHUNK):
            last = min(first + _CHUNK - 1, self.count)
            chunk: list[Stored] = []
            for number in range(first, last + 1):
                used = processor_seconds()
                ours += case.run(number, number)
                self.processor.setdefault("vstore", []).append(processor_seconds() - used)
                chunk.append(case.stored(number))
            if last % max(1, self.count // 10) < _CHUNK:
                sizes.append((last, disk_bytes(self.package / "objects") - start))
            self._stored += chunk
            if last <= _PEER_LIMIT:
                for one in chunk:
                    held.update(one.ids[name] for name in one.documents)
                for peer in peers:
                    seconds = self.series.setdefault(peer.name, [])
                    for one in chunk:
                        used, before = processor_seconds(), time.perf_counter()
                        peer.publish(one.number, one.ids, one.documents)
                        seconds.append(time.perf_counter() - before)
                        self.processor.setdefault(peer.name, []).append(processor_seconds() - used)
        case.close()
        self.facts["cache_bytes"] = disk_bytes(self.package / "cache")
        self.facts["document_bytes"] = sum(
            len(content) for one in self._stored for content in one.documents.values()
        )
        for peer in peers:
            there = {object_id(content).hex for content in peer.documents()}
            if there != held:
                raise SystemExit(f"{peer.name} holds other documents than the package")
            if isinstance(peer, Naive):
                self.facts["naive_index_bytes"] = peer.index_bytes
            peer.close()
        self.facts["same_documents"] = len(held)

    def publishing(self) -> None:
        """Rows of publishing in process."""
        compared = min(self.count, _PEER_LIMIT)
        ours = statistics.fmean(self.series["vstore"][:compared])
        for name, reach, aim in (
            ("git add+commit", 25, 60),
            ("dulwich", 4, 8),
            ("disk-objectstore", 4, 8),
            ("naive cumulative index", 4, 8),
            ("SQLite WAL FULL", 0.3, 0.8),
        ):
            ratio = statistics.fmean(self.series[name]) / ours
            self.row(f"publish, N={compared}", name, ratio, reach, aim, more=True)
        tenth = max(1, self.count // 10)
        seconds = self.series["vstore"]
        growth = statistics.median(seconds[-tenth:]) / statistics.median(seconds[:tenth])
        self.row(
            f"cost of the last tenth, N={self.count}", "first tenth", growth, 1.25, 1.1, more=False
        )

        used = self.processor["vstore"]
        growth = statistics.median(used[-tenth:]) / statistics.median(used[:tenth])
        what = f"processor time of the last tenth, N={self.count}"
        self.row(what, "first tenth", growth, 1.25, 1.1, more=False)
        self.facts["processor_milliseconds"] = {
            name: round(1e3 * statistics.fmean(one[:compared]), 3)
            for name, one in self.processor.items()
        }

    def loop(self) -> None:
        """The full loop: reserve, publish, record, settle."""
        count = min(self.count, _PEER_LIMIT)
        say(f"full loop, {count} records in {4 * count} publications")
        case = BenchmarkCase(self.root / "loop", self.adapter)
        scratch = self.root / "scratch-loop"
        scratch.mkdir()
        case.begin(scratch)
        seconds = case.run(1, count, "loop")
        case.close()
        tenth = max(1, count // 10)
        self.series["vstore, full loop, per record"] = seconds
        growth = statistics.median(seconds[-tenth:]) / statistics.median(seconds[:tenth])
        self.row(f"full loop, last tenth, N={count}", "first tenth", growth, 1.25, 1.1, more=False)
        git = statistics.fmean(self.series["git add+commit"])
        self.row(
            f"full loop, per publication, N={count}",
            "git add+commit",
            git / (statistics.fmean(seconds) / 4),
            25,
            60,
            more=True,
        )

    # ---- the finished history

    def finished(self) -> None:
        """Rows that need the whole history on both sides, each in fresh processes."""
        say("loading the history into git, packing it")
        git = Git(self.root / "git-whole")
        git.load((one.number, one.ids, one.documents) for one in self._stored)
        there = {object_id(content).hex for content in git.documents()}
        if there != {one.ids[name] for one in self._stored for name in one.documents}:
            raise SystemExit("git holds other documents than the package")
        self._size(git)
        self._verify(git)
        self._fresh(git)
        self._log()
        self._bundle(git)

    def _size(self, git: Git) -> None:
        loose = disk_bytes(self.package / "objects")
        theirs = disk_bytes(git.root / ".git" / "objects")
        shutil.copytree(self.package, self.packed)
        found = run([*VSTORE, "repack"], cwd=self.packed)
        if found.code:
            raise SystemExit(f"vstore repack exits {found.code}")
        ours = disk_bytes(self.packed / "objects")
        self.facts["bytes"] = {"vstore": loose, "vstore after repack": ours, "git": theirs}
        self.facts["repack_seconds"] = found.seconds
        self.row(
            f"size on disk after repack, N={self.count}",
            "git after gc",
            ours / theirs,
            0.6,
            0.3,
            more=False,
        )
        self.sizes["git after gc"] = [(self.count, theirs)]
        self.sizes["naive cumulative index"] = [
            (n, _naive_bytes(self._stored, n))
            for n in range(self.count // 10, self.count + 1, max(1, self.count // 10))
        ]
        self.facts["bytes_per_record"] = self.sizes["vstore"][-1][1] / self.count

    def _verify(self, git: Git) -> None:
        say("verifying")
        peaks: list[int] = []

        def verify(package: Path) -> float:
            found = run([*VSTORE, "verify", "--no-recompute", str(package)])
            if found.code:
                raise SystemExit(f"vstore verify exits {found.code}")
            peaks.append(found.peak)
            return found.seconds

        def theirs() -> float:
            return run(["git", "-C", str(git.root), "fsck", "--full"]).seconds

        sides = [lambda: verify(self.package), lambda: verify(self.packed), theirs]
        mine, packed, peer = interleaved(sides, 3)
        self.facts["verify_seconds"] = {
            "vstore": mine,
            "vstore after repack": packed,
            "git fsck --full": peer,
        }
        self.row(f"verify, N={self.count}", "git fsck --full", peer / mine, 3, 6, more=True)
        self.row("peak memory of that, MiB", "itself", max(peaks) / 2**20, 256, 128, more=False)

    def _fresh(self, git: Git) -> None:
        say("one publication in a fresh process")
        copy = self.root / "fresh"
        shutil.copytree(self.package, copy)
        turn = iter(range(1_000))

        def ours() -> float:
            action = f"fresh-{next(turn)}"
            found = run(
                [*VSTORE, "budget", "reserve", HYPOTHESIS, "source.search", "--action", action],
                cwd=copy,
            )
            if found.code:
                raise SystemExit(f"vstore budget reserve exits {found.code}")
            return found.seconds

        def theirs() -> float:
            number = self.count + next(turn)
            ids = {**self._stored[-1].ids, "request": f"{number:064x}"}
            before = time.perf_counter()
            git.publish(number, ids, {**self._stored[-1].documents, "index": b"%d" % number})
            return time.perf_counter() - before

        mine, peer = interleaved([ours, theirs], _ROUNDS)
        self.row(
            f"one publication, fresh process, N={self.count}",
            "git add+commit",
            peer / mine,
            3,
            7,
            more=True,
        )
        self.facts["fresh_seconds"] = {"vstore": mine, "git": peer}

    def _log(self) -> None:
        mine, nothing = interleaved(
            [
                lambda: run([*VSTORE, "log", "-n", "20"], cwd=self.package).seconds,
                lambda: run([sys.executable, "-I", "-c", "pass"]).seconds,
            ],
            2 * _ROUNDS,
        )
        self.row(
            f"log -n 20, N={self.count}", "python -I -c pass", mine / nothing, 6, 3, more=False
        )

    def _bundle(self, git: Git) -> None:
        turn = iter(range(1_000))

        def ours() -> float:
            target = self.root / f"{next(turn)}.vstore.zip"
            found = run([*VSTORE, "bundle", "create", str(self.package), str(target)])
            if found.code:
                raise SystemExit(f"vstore bundle create exits {found.code}")
            return found.seconds

        def theirs() -> float:
            target = self.root / f"{next(turn)}.bundle"
            return run(
                ["git", "-C", str(git.root), "bundle", "create", str(target), "main"]
            ).seconds

        mine, peer = interleaved([ours, theirs], 3)
        self.row("bundle create", "git bundle create", mine / peer, 1.5, 0.5, more=False)

    def searches(self, count: int) -> None:
        """Real searches over one large source, all recomputed by a verifier."""
        from real_searches import recompute_seconds

        say(f"{count} real searches over a source of 30 MB")
        seconds, size = recompute_seconds(self.root / "searches", count)
        self.facts["searches"] = {"count": count, "source_bytes": size, "seconds": seconds}
        self.row(
            f"recompute {count} replies of a {size / 1e6:.0f} MB source, seconds",
            "itself",
            seconds,
            60 * count / 10_000,
            10 * count / 10_000,
            more=False,
        )


_INSTALLED: Final = Path(sys.executable).with_name("vstore")
#: The command as people run it, or from its sources where it isn't installed.
VSTORE: Final = [str(_INSTALLED)] if _INSTALLED.exists() else [sys.executable, "-m", "vstore_cli"]


def processor_seconds() -> float:
    """Processor time of this process and of the ones it waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _naive_bytes(stored: list[Stored], count: int) -> int:
    """What the naive design has on disk: all documents, and an index for each publication."""
    documents = sum(len(one) for each in stored[:count] for one in each.documents.values())
    return documents + sum(90 + 92 * number for number in range(1, count + 1))


def _machine() -> dict[str, str]:
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "git": git.split()[2],
        "dulwich": version("dulwich"),
        "disk-objectstore": version("disk-objectstore"),
        **{
            name: "not measured" if shutil.which(name) is None else "installed, not measured"
            for name in ("restic", "borg")
        },
    }


def say(text: str) -> None:
    """Progress, on the standard error stream."""
    print(text, file=sys.stderr, flush=True)


def _load() -> Iterator[Mapping[str, float]]:
    if hasattr(os, "getloadavg"):
        yield {"load": os.getloadavg()[0]}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("count", type=int, nargs="?", default=1_000)
    parser.add_argument("--searches", type=int, default=0, help="real searches to recompute")
    parser.add_argument("--output", type=Path, help="folder for performance.md, .json and .svg")
    arguments = parser.parse_args()
    with TemporaryDirectory(prefix="vstore-bench-") as folder:
        bench = Bench(arguments.count, Path(folder))
        bench.facts["machine"] = _machine()
        bench.facts["load_before"] = [one["load"] for one in _load()]
        bench.build()
        bench.publishing()
        bench.loop()
        bench.finished()
        if arguments.searches:
            bench.searches(arguments.searches)
        bench.facts["load_after"] = [one["load"] for one in _load()]
        # Before the folder is removed, which takes a while: it has many files.
        text = write_report(
            arguments.output, arguments.count, bench.rows, bench.facts, bench.series, bench.sizes
        )
    print(text)
    if not arguments.output:
        print(json.dumps(bench.facts, indent=2))


if __name__ == "__main__":
    main()
