"""A second process that reads from the end: bundles and errors are those of one alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from vstore.controller import bundles
from vstore.objects.forked import Rows
from vstore.objects.reader import ObjectReader
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.package import survey_ahead
from vstore.package.reachable import References
from vstore.package.repack import repack
from vstore.package.survey import survey_frame
from vstore.package.survey_ahead import SurveyAhead, can_survey_ahead, send

FIXTURES = Path(__file__).parents[2] / "fixtures" / "good"

#: Makes bundles of a package in a process of one thread, with and without another process.
SCRIPT = """
import os, sys
from pathlib import Path
from vstore.controller.bundles import create_bundle
from vstore.errors import VStoreError
from vstore.package import bundle_plan, survey_ahead

path, target, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if how == "dies at once":
    survey_ahead.send = lambda *_, **__: None
elif how == "dies in the middle":
    survey_ahead.write_row = lambda stream, rows: stream.write(b"\\xff" * 9)
start = survey_ahead.SurveyAhead.start.__func__
take = survey_ahead.SurveyAhead.take
taken = []

def finished(cls, *given, **options):
    found = start(cls, *given, **options)
    os.waitid(os.P_PID, found._arriving._pid, os.WEXITED | os.WNOWAIT)
    return found

def noted(self, frame):
    taken.append(take(self, frame))
    return taken[-1]

survey_ahead.SurveyAhead.take = noted
if how != "is slow":
    # What it reads of these small packages fits into the pipe.
    survey_ahead.SurveyAhead.start = classmethod(finished)
else:
    survey_ahead.send = lambda *_, **__: os.read(os.pipe()[0], 1)

def outcome(ahead):
    bundle_plan.can_survey_ahead = lambda objects: ahead
    try:
        create_bundle(path, target, replace=True)
    except VStoreError as error:
        return error.kind, str(error)
    return target.read_bytes()

assert outcome(False) == outcome(True)
print(sum(one is not None for one in taken) > 0)
try:
    os.wait()
except ChildProcessError:
    print("none left")
"""


@pytest.fixture(params=["investigation", "calls", "packed"])
def package(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param != "packed":
        return FIXTURES / str(request.param)
    root = Path(shutil.copytree(FIXTURES / "investigation", tmp_path / "package"))
    repack(root)
    return root


@pytest.fixture
def objects(package: Path) -> Iterator[ObjectReader]:
    bundles._know_documents()
    found = ObjectReader(package)
    yield found
    found.close()


def sent(package: Path, *, packed: bool = True) -> SurveyAhead:
    # A file: a pipe may be too small for all of it, and here nobody reads meanwhile.
    with NamedTemporaryFile() as file:
        there = ObjectReader(package)
        send(there, ReferenceDecoder(), os.dup(file.fileno()), packed=packed)
        there.close()
        return SurveyAhead(Rows(os.open(file.name, os.O_RDONLY), None))


@pytest.mark.parametrize("together", [1, 7, 1000])
def test_what_arrives_is_what_would_be_read_here(
    together: int, package: Path, objects: ObjectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_ahead, "TOGETHER", together)
    arrived = sent(package)
    arrived._receive()
    decoder = ReferenceDecoder()
    for frame in list(objects.frames()):
        found = arrived.take(frame)
        assert found is not None
        references = References(decoder, objects.get)
        survey_frame(objects, frame, objects.log.payload(frame), references, {})
        assert found[0] == references.facts
        place = (frame.segment, frame.offset)
        assert found[1] == (objects.log.read(*place)[1] if frame.derived else None)
        assert arrived.take(frame) is None
    arrived.close()


def test_frames_with_large_objects_are_left_to_this_process() -> None:
    bundles._know_documents()
    objects = ObjectReader(FIXTURES / "large")
    arrived = sent(FIXTURES / "large")
    frames = list(objects.frames())
    assert any(frame.counts[1] for frame in frames)
    assert [arrived.take(one) is None for one in frames] == [one.counts[1] > 0 for one in frames]
    arrived.close()
    objects.close()


def test_another_frame_is_not_taken_for_it(package: Path, objects: ObjectReader) -> None:
    frames = [frame for frame in objects.frames() if not frame.counts[1]]
    arrived = sent(package, packed=False)
    frames[0].sequence = frames[1].sequence
    assert arrived.take(frames[0]) is None
    found = arrived.take(frames[2])
    assert found is not None
    assert found[1] is None
    arrived.close()


@pytest.mark.parametrize("data", [b"", b"\x05", b"\x05" + bytes(7) + b"ab", b"\x01" + bytes(8)])
def test_a_pipe_that_breaks_off_says_nothing(data: bytes, objects: ObjectReader) -> None:
    end, write = os.pipe()
    os.write(write, data)
    os.close(write)
    arrived = SurveyAhead(Rows(end, None))
    assert arrived.take(next(objects.frames())) is None
    arrived.close()


def test_no_more_is_taken_than_fits(
    package: Path, objects: ObjectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_ahead, "_MAX_BYTES", 10)
    arrived = sent(package)
    assert [arrived.take(frame) for frame in objects.frames()] == [None] * objects.sequence


def test_small_packages_are_read_alone(
    objects: ObjectReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not can_survey_ahead(objects)
    monkeypatch.setattr(survey_ahead, "MIN_BYTES", 100)
    assert can_survey_ahead(objects)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert not can_survey_ahead(objects)
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not can_survey_ahead(objects)


def _run(package: Path, target: Path, how: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(package), str(target), how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("how", "ahead"),
    [("works", True), ("dies at once", False), ("dies in the middle", False), ("is slow", False)],
)
def test_another_process_changes_no_byte(
    how: str, ahead: bool, package: Path, tmp_path: Path
) -> None:
    assert _run(package, tmp_path / "b.zip", how) == [str(ahead), "none left"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_another_process_changes_no_error(part: float, tmp_path: Path) -> None:
    package = Path(shutil.copytree(FIXTURES / "investigation", tmp_path / "package"))
    log = package / "objects/log/00000001.vlog"
    raw = bytearray(log.read_bytes())
    raw[int(len(raw) * part)] ^= 1
    log.write_bytes(raw)
    assert _run(package, tmp_path / "b.zip", "works")[1] == "none left"
