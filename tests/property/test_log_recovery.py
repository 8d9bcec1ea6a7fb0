"""Whatever happens to the bytes of a log, a reader invents nothing."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from vstore.errors import IntegrityError, VStoreError
from vstore.objects.frame import FrameSummary
from vstore.objects.ids import object_id
from vstore.objects.log import Damage
from vstore.objects.reader import ObjectReader
from vstore.objects.refs import GENERATION, classify
from vstore.objects.writer import ObjectWriter
from vstore.testing.store import StoreHistory, check_store, continue_store

HISTORY = StoreHistory()
COUNT = 6


@pytest.fixture(scope="module", params=[1 << 20, 1500], ids=["one-segment", "segments"])
def original(request: pytest.FixtureRequest) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        salts = itertools.count(1)
        writer = ObjectWriter.create(
            root,
            segment_bytes=request.param,
            salt=lambda: next(salts).to_bytes(16, "big"),
        )
        for number in range(1, COUNT + 1):
            HISTORY.publish(writer, number)
        writer.close()
        yield root


def segments(root: Path) -> list[Path]:
    return sorted((root / "objects/log").iterdir())


def read_prefix(root: Path) -> tuple[int, bool]:
    """How many of the history's generations a forward pass yields, and whether it was stopped.

    Everything that it yields must have been written, in this order, without a gap.
    """
    try:
        reader = ObjectReader(root)
    except VStoreError:
        return 0, True
    number = 0
    try:
        for frame in reader.frames():
            number += 1
            assert frame.generation == HISTORY.head(number)
            assert frame.parent == HISTORY.head(number - 1)
            wanted = {object_id(blob) for blob in HISTORY.payload(number)}
            got = set()
            for entry, content in reader.frame_objects(frame):
                assert content is not None
                assert object_id(content) == entry.oid
                got.add(entry.oid)
            assert got == wanted | {frame.generation}
    except IntegrityError:
        return number, True
    finally:
        reader.close()
    return number, False


def refs_agree(root: Path, number: int) -> bool:
    reader = ObjectReader(root)
    states = classify(reader.refs(), HISTORY.refs(number), HISTORY.earlier(number))
    reader.close()
    return set(states.values()) <= {"current", "lagging"}


def check_damaged(root: Path) -> None:
    """The promise for a package whose bytes were changed."""
    number, stopped = read_prefix(root)
    if not stopped and number < COUNT:
        # The end is gone without a trace in the log: the refs tell, and nothing is written.
        assert not refs_agree(root, number)
        before = [path.read_bytes() for path in segments(root)]
        with pytest.raises(VStoreError):
            continue_store(root, HISTORY, number)
        assert [path.read_bytes() for path in segments(root)] == before
    elif not stopped:
        continue_store(root, HISTORY, COUNT)
        check_store(root, HISTORY, COUNT + 2, COUNT + 2)
    else:
        # Damage is named, and everything outside of it can still be read.
        try:
            reader = ObjectReader(root)
        except VStoreError:
            return
        found = list(reader.scan())
        assert any(isinstance(one, Damage) for one in found)
        for one in found:
            if isinstance(one, FrameSummary):
                assert one.generation in {HISTORY.head(n) for n in range(1, COUNT + 1)}
        reader.close()


RELAXED = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def places(draw: st.DrawFn) -> tuple[float, float]:
    return draw(st.floats(0, 1)), draw(st.floats(0, 1))


@pytest.fixture
def scratch() -> Iterator[Path]:
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def copy(original: Path, scratch: Path) -> Path:
    root = scratch / "package"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(original, root)
    return root


@RELAXED
@given(which=st.integers(0, 9), at=st.floats(0, 1), bit=st.integers(0, 7))
def test_a_flipped_bit(original: Path, scratch: Path, which: int, at: float, bit: int) -> None:
    root = copy(original, scratch)
    path = segments(root)[which % len(segments(root))]
    raw = bytearray(path.read_bytes())
    raw[min(int(at * len(raw)), len(raw) - 1)] ^= 1 << bit
    path.write_bytes(raw)
    number, stopped = read_prefix(root)
    assert stopped or number < COUNT
    check_damaged(root)


@RELAXED
@given(which=st.integers(0, 9), at=st.floats(0, 1))
def test_a_cut(original: Path, scratch: Path, which: int, at: float) -> None:
    root = copy(original, scratch)
    path = segments(root)[which % len(segments(root))]
    raw = path.read_bytes()
    assume(int(at * len(raw)) < len(raw))
    path.write_bytes(raw[: int(at * len(raw))])
    check_damaged(root)


@RELAXED
@given(which=st.integers(0, 9), place=places())
def test_zeros(original: Path, scratch: Path, which: int, place: tuple[float, float]) -> None:
    root = copy(original, scratch)
    path = segments(root)[which % len(segments(root))]
    raw = path.read_bytes()
    start, end = sorted(int(one * len(raw)) for one in place)
    assume(start < end)
    path.write_bytes(raw[:start] + bytes(end - start) + raw[end:])
    check_damaged(root)


@RELAXED
@given(garbage=st.binary(min_size=1, max_size=400), repeat=st.booleans(), lag=st.booleans())
def test_garbage_behind_the_end(
    original: Path, scratch: Path, garbage: bytes, repeat: bool, lag: bool
) -> None:
    """A torn tail: nothing acknowledged is lost, the next publication succeeds."""
    root = copy(original, scratch)
    path = segments(root)[-1]
    raw = path.read_bytes()
    # An old frame of this very segment is no valid frame at another offset.
    path.write_bytes(raw + (raw[160:] if repeat else b"") + garbage)
    if lag:
        (root / "refs" / GENERATION).write_bytes(b"")
    check_store(root, HISTORY, COUNT, COUNT)
    continue_store(root, HISTORY, COUNT)
    check_store(root, HISTORY, COUNT + 2, COUNT + 2)
    assert path.read_bytes().startswith(raw)
    reader = ObjectReader(root)
    last = reader.log.tail.segment
    header = reader.log.header(last)
    assert (header.previous_valid, header.torn_length) == (
        len(raw),
        len(path.read_bytes()) - len(raw),
    )
    reader.close()


@RELAXED
@given(cut=st.integers(1, 2000), zeros=st.booleans())
def test_the_end_of_the_log_lost_before_the_refs_moved(
    original: Path, scratch: Path, cut: int, zeros: bool
) -> None:
    """Power fails while a frame is written: its publication is lost whole, and no other."""
    root = copy(original, scratch)
    reader = ObjectReader(root)
    last = next(iter(reader.frames_backwards()))
    reader.close()
    path = segments(root)[-1]
    raw = path.read_bytes()
    keep = last.offset + min(cut, last.length - 1)
    path.write_bytes(raw[:keep] + (bytes(len(raw) - keep) if zeros else b""))
    for name, oid in HISTORY.refs(COUNT - 1).items():
        (root / "refs" / name).write_text(f"{oid}\n")
    check_store(root, HISTORY, COUNT - 1, COUNT - 1)
    continue_store(root, HISTORY, COUNT - 1)
    check_store(root, HISTORY, COUNT + 1, COUNT + 1)


@pytest.mark.parametrize("which", range(8))
def test_a_missing_segment(original: Path, scratch: Path, which: int) -> None:
    root = copy(original, scratch)
    files = segments(root)
    files[which % len(files)].unlink()
    check_damaged(root)
    number, stopped = read_prefix(root)
    assert stopped or number < COUNT
