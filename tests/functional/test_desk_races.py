"""Fifty testers claim one test at once, from threads and from processes: one of them has it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vstore.testing.desk import KEY, DeskCase, waiting_workspace

#: Forks processes, lets all of them go at once, and prints what each thread was told.
_CLAIM = """
import json, os, sys, threading
from pathlib import Path
from vstore.errors import ConflictError
from vstore.package.workspace import Workspace
from vstore.testing.clock import FrozenClock
from vstore.testing.desk import KEY
from vstore.web.accounts import Accounts
from vstore.web.audit import Audit
from vstore.web.board import Board
from vstore.web.claims import Claims
from vstore.web.database import Database

root, processes, threads = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
ready, told_ready = os.pipe()
start, go = os.pipe()
answers, answer = os.pipe()
for process in range(processes):
    if os.fork():
        continue
    os.close(go)
    clock = FrozenClock()
    database = Database(root / "state" / "testers.sqlite3", clock=clock)
    board = Board(Workspace.open(root / "workspace", clock=clock), clock=clock)
    claims = Claims(database, board, Audit(database))
    accounts = [
        Accounts(database).get(f"tester {process * threads + one}") for one in range(threads)
    ]
    board.entries()
    barrier = threading.Barrier(threads)

    def claim(account):
        barrier.wait()
        try:
            found = ["won", claims.claim(KEY, account).name]
        except ConflictError as error:
            found = [error.kind, error.details.get("holder")]
        os.write(answer, (json.dumps(found) + "\\n").encode())

    workers = [threading.Thread(target=claim, args=(one,)) for one in accounts]
    os.write(told_ready, b"x")
    os.read(start, 1)  # ends for all when the parent closes its end
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    os._exit(0)
os.close(answer)
for _ in range(processes):
    os.read(ready, 1)
os.close(go)
with os.fdopen(answers, "rb") as stream:
    sys.stdout.write(stream.read().decode())
for _ in range(processes):
    os.wait()
"""


@pytest.mark.parametrize(("processes", "threads"), [(50, 1), (10, 5)])
def test_fifty_claims_at_once(tmp_path: Path, processes: int, threads: int) -> None:
    folder = tmp_path / "waiting"
    folder.mkdir()
    case = DeskCase(tmp_path, waiting_workspace(folder))
    for number in range(50):
        case.desk.accounts.add(f"tester {number}", by="ada")
    case.close()
    done = subprocess.run(
        [sys.executable, "-c", _CLAIM, str(tmp_path), str(processes), str(threads)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(told) == 50
    (winner,) = [name for kind, name in told if kind == "won"]
    assert [one for one in told if one[0] != "won"] == [("claimed", winner)] * 49
    case.open()
    held = case.desk.claims.holder(KEY)
    assert held is not None
    assert (held.name, held.fence) == (winner, 1)
    noted = [one.actor for one in case.desk.audit.recent(100) if one.action == "test.claim"]
    assert noted == [winner]
    case.close()
