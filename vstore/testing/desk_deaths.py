"""A process that forks others, each of which works at a desk and is killed at a chosen step.

Steps are the SQL statements of the service's database and the durable operations of packages
and uploads, counted together from the moment that the work begins. Nothing is simulated: the
process sends itself SIGKILL before the step, or in the middle of a write. Run as::

    python -m vstore.testing.desk_deaths

It reads lines ``WORK FOLDER STEP PERCENT`` (the folder of a :class:`DeskCase`, the step that is
not done any more, how much of a write arrives before) and answers each with how the process
ended: ``killed at WHAT``, ``done``, or ``failed WHY``.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from vstore.testing.desk import KEY, DeskCase
from vstore.testing.faults import CountingIO, Operation

__all__ = ["WORKS", "Deaths", "confirm_ready", "open_again", "upload_more"]


class _Steps:
    """Counts steps once it is armed, and dies at one."""

    def __init__(self, die_at: int, percent: int, report: int) -> None:
        self.count = 0
        self.armed = False
        self._die_at = die_at
        self._percent = percent
        self._report = report

    def step(self, what: str, operation: Operation | None = None, fd: int = -1) -> None:
        if not self.armed:
            return
        if self.count == self._die_at:
            if operation is not None and operation.name == "write" and fd >= 0:
                os.write(fd, operation.content[: len(operation.content) * self._percent // 100])
            os.write(self._report, what.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


class _DyingIO(CountingIO):
    def __init__(self, steps: _Steps) -> None:
        super().__init__()
        self._steps = steps

    def before(self, operation: Operation, fd: int = -1) -> None:
        self._steps.step(operation.name, operation, fd)


Work = Callable[[DeskCase], None]


def confirm_ready(case: DeskCase) -> None:
    """Confirm what pat has written, if that hasn't come to pass."""
    if case.desk.confirming.receipt(KEY) is not None:
        return
    claim, draft = case.claim(), case.desk.drafts.load(KEY, case.pat)
    preview = case.desk.confirming.preview(KEY, case.pat, claim.fence, draft.revision)
    case.confirm(claim, draft, preview)


def upload_more(case: DeskCase) -> None:
    """Upload another file, in two pieces."""
    writer = case.desk.uploads.begin(KEY, case.pat, case.claim().fence, "more.log")
    writer.write(b"one\n")
    writer.write(b"two\n")
    writer.finish()


def open_again(case: DeskCase) -> None:
    """Nothing more: opening is what settles."""


WORKS: Final[dict[str, Work]] = {
    "confirm": confirm_ready,
    "upload": upload_more,
    "open": open_again,
}


class Deaths:
    """Drives such a process; a context manager."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "vstore.testing.desk_deaths"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def die(self, work: str, folder: Path, step: int, *, percent: int = 0) -> str | None:
        """Have a process work and die.

        Args:
            work: One of :data:`WORKS`.
            folder: Of a desk case that is closed.
            step: Number of the step that is not done any more.
            percent: How much of a write arrives before.

        Returns:
            What it died at, or None where the work ended before.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{work} {step} {percent} {folder}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer == "done":
            return None
        if not answer.startswith("killed at "):
            raise RuntimeError(f"the process {answer or 'ended'}")
        return answer.removeprefix("killed at ")


def _work(work: str, folder: Path, steps: _Steps) -> None:
    connect = sqlite3.connect

    def traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(lambda statement: steps.step(f"SQL {statement[:60]}"))
        return connection

    sqlite3.connect = traced  # type: ignore[assignment]
    steps.armed = work == "open"
    case = DeskCase(folder, io=_DyingIO(steps))
    steps.armed = True
    WORKS[work](case)
    steps.armed = False
    case.close()


def _main() -> None:
    for line in sys.stdin:
        work, step, percent, folder = line.rstrip("\n").split(" ", 3)
        reading, report = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.close(reading)
                _work(work, Path(folder), _Steps(int(step), int(percent), report))
                code = 0
            except BaseException:  # noqa: BLE001 - a process of its own ends here
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(report)
        with os.fdopen(reading, "rb") as stream:
            what = stream.read().decode().replace("\n", " ")
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            answer = f"killed at {what}"
        else:
            answer = "done" if status == 0 else "failed"
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
