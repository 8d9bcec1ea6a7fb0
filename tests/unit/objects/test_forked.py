"""Rows through a pipe from a process that nobody waits for."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys

import pytest

from vstore.objects.forked import Rows, write_row

#: Forks in a process of one thread, and says what came and what is left.
SCRIPT = """
import os, sys, time
from vstore.objects.forked import Rows, write_row

def send(pipe):
    with os.fdopen(pipe, "wb", buffering=0) as stream:
        write_row(stream, [1, b"two"])
        write_row(stream, {"three": None})
        if sys.argv[1] == "fails":
            raise RuntimeError("not to be seen")
        if sys.argv[1] == "stays":
            time.sleep(600)

rows, found = Rows.forked(send), []
while len(found) < 2:
    found += [row for _, row in rows.arrived()]
rows.close()
rows.close()
print(found, rows.closed)
try:
    os.wait()
except ChildProcessError:
    print("no process is left")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no fork elsewhere")
@pytest.mark.parametrize("how", ["ends", "fails", "stays"])
def test_a_forked_process_sends_rows_and_is_ended(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[[1, b'two'], {'three': None}] True\nno process is left\n"
    assert done.stderr == ""


def _rows(data: bytes) -> Rows:
    end, write = os.pipe()
    os.write(write, data)
    os.close(write)
    return Rows(end, None)


def test_a_row_arrives_when_all_of_it_is_there() -> None:
    first, second = marshal.dumps([1]), marshal.dumps("zwei")
    data = len(first).to_bytes(8, "little") + first + len(second).to_bytes(8, "little") + second
    for cut in range(len(data) + 1):
        rows = _rows(data[:cut])
        whole = [[1]] * (cut >= 8 + len(first)) + ["zwei"] * (cut == len(data))
        assert [row for _, row in rows.arrived()] == whole
        taken = sum(size for size, _ in zip((8 + len(first), 8 + len(second)), whole, strict=False))
        assert rows.waiting == cut - taken
        rows.close()


def test_nothing_is_waited_for() -> None:
    end, write = os.pipe()
    rows = Rows(end, None)
    assert list(rows.arrived()) == []
    with os.fdopen(write, "wb", buffering=0) as stream:
        write_row(stream, (1, 2))
        assert [row for _, row in rows.arrived()] == [(1, 2)]
        rows.close()
        with pytest.raises(BrokenPipeError):
            write_row(stream, 3)
    assert rows.closed


def test_what_is_no_row_is_an_error() -> None:
    rows = _rows(b"\x01" + bytes(7) + b"\xff")
    with pytest.raises(ValueError, match="bad marshal data"):
        list(rows.arrived())
    rows.close()
