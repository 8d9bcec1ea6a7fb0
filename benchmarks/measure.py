"""Running things and taking their time."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

__all__ = ["Run", "disk_bytes", "interleaved", "run"]


_STARTER: Final = """
import resource, subprocess, sys, time
before = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
seconds = time.perf_counter() - before
print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)
"""


class Run(NamedTuple):
    """One process."""

    seconds: float
    #: Peak of resident memory in bytes.
    peak: int
    code: int


def run(
    command: Sequence[str], *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> Run:
    """Run a process to its end, output thrown away.

    A small process in between starts it: the peak of one that a large process forks would
    begin with the large one's own. Modules are loaded as they are where a package is
    installed: compiled.
    """
    env = {**(os.environ if env is None else env)}
    if env.pop("PYTHONDONTWRITEBYTECODE", None):
        env["PYTHONPYCACHEPREFIX"] = _compiled().name
    outer = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _STARTER, *command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        check=True,
    )
    seconds, peak, code = outer.stdout.split()
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(float(seconds), int(peak) * unit, int(code))


@cache
def _compiled() -> TemporaryDirectory[str]:
    """Where compiled modules go if not beside their sources; removed at the end."""
    return TemporaryDirectory(prefix="vstore-bench-compiled-")


def interleaved(sides: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """Measure several things in turns; the median seconds of each, after one turn untimed."""
    for side in sides:
        side()
    taken: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, seconds in zip(sides, taken, strict=True):
            seconds.append(side())
    return [statistics.median(seconds) for seconds in taken]


def disk_bytes(*roots: Path) -> int:
    """The sizes of all files below these folders."""
    return sum(path.stat().st_size for root in roots for path in _files(root))


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    else:
        yield from (path for path in root.rglob("*") if path.is_file())
