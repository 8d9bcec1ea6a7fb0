"""A second process that reads ahead: what it sends is what would have been read here."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.objects.forked import Rows
from vstore.objects.frame import FrameSummary
from vstore.objects.log import Damage
from vstore.testing.golden import BUNDLE
from vstore.verify import ahead
from vstore.verify.ahead import ReadAhead, can_read_ahead, pack, send, unpack
from vstore.verify.bundle import open_source
from vstore.verify.source import LogSource
from vstore.verify.swift_read import Publication, PublicationReader

FIXTURES = Path(__file__).parents[2] / "fixtures" / "good"
PACKAGE = FIXTURES / "investigation"

#: Verifies a package in a process of one thread, with and without another process.
SCRIPT = """
import os, sys
from dataclasses import replace
from pathlib import Path
from vstore.verify import ahead, replay, verify_package
from vstore.verify.bundle import open_source

path, how = Path(sys.argv[1]), sys.argv[2]
replay.can_read_ahead = lambda source: True
if how == "dies at once":
    ahead.send = lambda log, pipe: None
elif how == "dies in the middle":
    ahead.write_row = lambda stream, chunk: stream.write(b"\\xff" * 9)
start = ahead.ReadAhead.start.__func__

def finished(cls, source):
    found = start(cls, source)
    os.waitid(os.P_PID, found._arriving._pid, os.WEXITED | os.WNOWAIT)
    return found

if how != "is slow":
    # What it reads of these small packages fits into the pipe.
    ahead.ReadAhead.start = classmethod(finished)
else:
    ahead.send = lambda log, pipe: os.read(os.pipe()[0], 1)
alone = verify_package(path, recompute=False)
both = verify_package(path, recompute=False, processes=2)
assert replace(both, seconds=0.0) == replace(alone, seconds=0.0), both
one = replay.Replay(open_source(path, None), None, expect=None, extends=None, processes=2)
one.run()
print(one.read_ahead, one.swift.proved)
try:
    os.wait()
except ChildProcessError:
    print("none left")
"""


@pytest.fixture
def log() -> Iterator[LogSource]:
    source = open_source(PACKAGE, None)
    found = source.log()
    yield found
    found.close()
    source.close()


def frames(log: LogSource) -> list[tuple[FrameSummary, Publication | None]]:
    reader = PublicationReader()
    found = []
    for one in log.frames():
        assert not isinstance(one, Damage)
        found.append((one, reader.read(one, log.payload(one))))
    return found


def test_a_publication_survives_the_way(log: LogSource) -> None:
    publications = [(frame, one) for frame, one in frames(log) if one is not None]
    assert len(publications) == 3
    for frame, one in publications:
        assert unpack(pack(one), frame) == one


def sent(log: LogSource) -> ReadAhead:
    end, write = os.pipe()
    thread = threading.Thread(target=send, args=(log, write))
    thread.start()
    thread.join()
    return ReadAhead(Rows(end, None))


@pytest.mark.parametrize("together", [1, 7, 1000])
def test_what_arrives_is_what_would_be_read_here(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "TOGETHER", together)
    source = open_source(PACKAGE, None)
    here, there = source.log(), source.log()
    arrived = sent(there)
    expected = frames(here)
    assert [arrived.publication(n, frame) for n, (frame, _) in enumerate(expected)] == [
        one for _, one in expected
    ]
    assert arrived.publication(len(expected), expected[0][0]) is None
    arrived.close()
    here.close()
    there.close()


def test_frames_may_be_passed_over_and_others_are_not_taken_for_them(log: LogSource) -> None:
    source = open_source(PACKAGE, None)
    there = source.log()
    arrived = sent(there)
    expected = frames(log)
    first, last = [n for n, (_, one) in enumerate(expected) if one is not None][::2]
    assert arrived.publication(first, expected[last][0]) is None
    assert arrived.publication(last, expected[last][0]) == expected[last][1]
    arrived.close()
    there.close()


@pytest.mark.parametrize("data", [b"", b"\x05", b"\x05" + bytes(7) + b"ab"])
def test_a_pipe_that_breaks_off_says_nothing(data: bytes, log: LogSource) -> None:
    end, write = os.pipe()
    os.write(write, data)
    os.close(write)
    arrived = ReadAhead(Rows(end, None))
    assert arrived.publication(0, frames(log)[0][0]) is None
    arrived.close()


def test_small_packages_are_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_source(PACKAGE, None)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not can_read_ahead(source)
    monkeypatch.setattr(ahead, "MIN_BYTES", 100)
    assert can_read_ahead(source)
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not can_read_ahead(source)
    source.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("name", ["investigation", BUNDLE])
@pytest.mark.parametrize(
    ("how", "ahead"),
    [("works", 3), ("dies at once", 0), ("dies in the middle", 0), ("is slow", 0)],
)
def test_another_process_changes_no_report(name: str, how: str, ahead: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(FIXTURES / name), how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{ahead} 3", "none left"]
