"""Packs: the same objects and history in less space, whoever reads or writes meanwhile."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator
from itertools import count as counter
from pathlib import Path

import pytest

from vstore.errors import IntegrityError, StorageError, UnsupportedError, VStoreError
from vstore.objects.frame import NO_GENERATION, FrameSummary, encode_frame
from vstore.objects.ids import object_id
from vstore.objects.index_cache import load_index
from vstore.objects.layout import read_format
from vstore.objects.locks import REPACK, LockTimeout, PackageLock
from vstore.objects.log import LogReader
from vstore.objects.log_place import holds, place_of
from vstore.objects.reader import ObjectReader
from vstore.objects.segment import SegmentHeader, encode_segment_header
from vstore.objects.writer import ObjectWriter
from vstore.package.repack import RepackFacts, repack, repack_store, try_repack
from vstore.testing.faults import FaultyIO
from vstore.testing.later import set_features
from vstore.testing.store import StoreHistory, check_store, continue_store

HISTORY = StoreHistory()
LARGE = StoreHistory(large_every=2, large_bytes=1024 * 1024 + 5000)
BUSY = 800


def make(root: Path, count: int, history: StoreHistory = HISTORY, **options: object) -> None:
    writer = ObjectWriter.create(root, **{"segment_bytes": BUSY, **options})  # type: ignore[arg-type]
    for number in range(1, count + 1):
        history.publish(writer, number)
    writer.close()


def sealed(root: Path, **options: bool) -> RepackFacts:
    writer = ObjectWriter.open(root)
    try:
        return repack_store(writer, **options)  # type: ignore[arg-type]
    finally:
        writer.close()


def names(root: Path, folder: str) -> list[str]:
    path = root / "objects" / folder
    return sorted(one.name for one in path.iterdir()) if path.is_dir() else []


def frames(log: LogReader) -> list[tuple[object, ...]]:
    return [facts(one) for one in log.scan() if isinstance(one, FrameSummary)]


def facts(frame: FrameSummary) -> tuple[object, ...]:
    return (
        *(frame.segment, frame.offset, frame.length, frame.header_length, frame.stored_length),
        *(frame.sequence, frame.raw_parent, frame.raw_generation, frame.counts),
        *(frame.raw_length, frame.raw_table, frame.raw_ids(), list(frame.objects())),
        *(list(frame.large()), frame.digest[:8]),
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "package"


@pytest.mark.parametrize("history", [HISTORY, LARGE], ids=["small", "large"])
def test_everything_stays_as_it_was(root: Path, history: StoreHistory) -> None:
    make(root, 6, history)
    before = frames(LogReader(root / "objects/log"))
    segments = names(root, "log")
    assert len(segments) > 3
    done = sealed(root)
    assert (done.packs, done.replaced, done.removed) == (1, 0, 0)
    assert done.segments == len(segments)
    assert names(root, "log") == [f"{len(segments) + 1:08d}.vlog"]
    assert names(root, "pack") == [f"00000001-{len(segments):08d}.vpack"]
    assert read_format(root).required == ["packs"]
    log = LogReader(root / "objects/log")
    assert log.damage == []
    assert frames(log) == before
    assert [facts(one) for one in log.backwards()] == before[::-1]
    assert check_store(root, history, 6, 6) == 6
    assert sealed(root) == RepackFacts(0, 0, 0, 0, 0, 0, 0)
    continue_store(root, history, 6)
    assert check_store(root, history, 8, 8) == 8


def test_payloads_are_the_same_by_any_way(root: Path) -> None:
    make(root, 5)
    log = LogReader(root / "objects/log")
    wanted = {(one.segment, one.offset): log.payload(one) for one in log.scan()}  # type: ignore[union-attr, arg-type]
    sealed(root)
    packed = LogReader(root / "objects/log")
    for (segment, offset), payload in wanted.items():
        found, content = packed.read_objects(segment, offset)
        assert content == payload == packed.payload(found)
        again, stored = packed.read(segment, offset)
        assert (again.raw_ids(), len(stored) > 0) == (found.raw_ids(), bool(payload))
        with pytest.raises(IntegrityError):
            packed.read_objects(segment, offset + 1)


def test_packs_grow_together(root: Path) -> None:
    make(root, 1)
    most = 0
    for number in range(1, 30, 2):
        continue_store(root, HISTORY, number)
        sealed(root)
        most = max(most, len(names(root, "pack")))
        assert len(names(root, "log")) == 1
    assert most <= 5
    assert check_store(root, HISTORY, 31, 31) == 31
    assert sealed(root, everything=True).packs == 1
    assert len(names(root, "pack")) == 1
    assert check_store(root, HISTORY, 31, 31) == 31


def test_a_trial_writes_nothing_and_says_what_comes(root: Path) -> None:
    make(root, 6)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    writer = ObjectWriter.open(root)
    tried = try_repack(writer)
    writer.close()
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert sealed(root) == tried
    assert sum(path.stat().st_size for path in (root / "objects/pack").iterdir()) == tried.after


def test_a_dictionary_is_trained_when_there_is_enough(root: Path) -> None:
    make(root, 1)
    writer = ObjectWriter.open(root)
    for one in range(120):
        with writer.transaction() as transaction:
            for other in range(100):
                text = f'{{"name":"function_{one * other}","file":"library/module_{other}.py"}}'
                transaction.put(text.encode() * 2 + str(one).encode())
            transaction._flush()
    writer.close()
    done = sealed(root)
    (path,) = (root / "objects/pack").iterdir()
    assert path.read_bytes()[8:12] == b"\x37\xa4\x30\xec"
    assert done.after < done.before / 2
    reader = ObjectReader(root)
    text = '{"name":"function_99","file":"library/module_33.py"}'
    assert reader.get(object_id(text.encode() * 2 + b"3")) == text.encode() * 2 + b"3"
    assert object_id(b"none") not in reader


# ---- derived caches


def test_places_of_caches_stay_good(root: Path) -> None:
    make(root, 6, index_every=1)
    log = LogReader(root / "objects/log")
    place = place_of(log)
    assert place is not None
    assert load_index(root, log) is not None
    sealed(root)
    packed = LogReader(root / "objects/log")
    assert holds(packed, place)
    assert load_index(root, packed) is not None
    other = place.digest.replace(place.digest[0], "f" if place.digest[0] != "f" else "0")
    for wrong in (
        {"digest": other},
        {"end": place.end - 1},
        {"segment": place.segment - 1},
        {"digest": ""},
    ):
        values = {name: getattr(place, name) for name in ("segment", "end", "sequence", "digest")}
        assert not holds(packed, type(place)(**{**values, **wrong}))


def test_caches_may_be_removed(root: Path) -> None:
    make(root, 6)
    sealed(root)
    shutil.rmtree(root / "cache")
    assert check_store(root, HISTORY, 6, 6) == 6
    continue_store(root, HISTORY, 6)
    reader = ObjectReader(root)
    assert reader.uncovered() is not None
    head = HISTORY.head(3)
    assert head is not None
    assert reader.published(head)
    assert not reader.published(object_id(HISTORY.payload(3)[0]))


# ---- what a crash leaves


def test_replaced_files_are_ignored_and_removed(root: Path) -> None:
    make(root, 6)
    kept = {name: (root / "objects/log" / name).read_bytes() for name in names(root, "log")}
    sealed(root)
    for name, content in kept.items():
        (root / "objects/log" / name).write_bytes(content)
    (root / "objects/log/00000002.vlog").write_bytes(b"nobody reads this")
    reader = ObjectReader(root)
    assert len(reader.log.superseded) == len(kept)
    assert check_store(root, HISTORY, 6, 6) == 6
    continue_store(root, HISTORY, 6)
    done = sealed(root)
    assert done.removed == len(kept)
    assert ObjectReader(root).log.superseded == []
    assert check_store(root, HISTORY, 8, 8) == 8


def test_torn_bytes_are_kept(root: Path) -> None:
    make(root, 2, segment_bytes=1 << 20)
    first = root / "objects/log/00000001.vlog"
    first.write_bytes(first.read_bytes() + b"what a crash left")
    continue_store(root, HISTORY, 2)
    before = frames(LogReader(root / "objects/log"))
    sealed(root)
    (path,) = (root / "objects/pack").iterdir()
    assert b"what a crash left" in path.read_bytes()
    log = LogReader(root / "objects/log")
    assert log.torn_bytes(1) == b"what a crash left"
    assert frames(log) == before
    assert sealed(root, everything=True).packs == 1
    assert LogReader(root / "objects/log").torn_bytes(1) == b"what a crash left"


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
def test_an_error_at_any_operation_loses_nothing(tmp_path: Path, error: int) -> None:
    make(tmp_path / "original", 4)
    for fail_at in counter():
        root = tmp_path / str(fail_at)
        shutil.copytree(tmp_path / "original", root)
        io = FaultyIO(fail_at, error, written=50)
        writer = ObjectWriter.open(root, io=io)
        try:
            repack_store(writer)
        except StorageError:
            pass
        finally:
            writer.close()
        assert check_store(root, HISTORY, 4, 4) == 4
        continue_store(root, HISTORY, 4)
        sealed(root)
        assert check_store(root, HISTORY, 6, 6) == 6
        assert names(root, "log") != []
        if io.failed is None:
            assert fail_at > 15
            return
        shutil.rmtree(root)


# ---- what isn't packed


def test_a_damaged_log_is_left_alone(root: Path) -> None:
    make(root, 6)
    path = root / "objects/log/00000002.vlog"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    before = names(root, "log")
    with pytest.raises(VStoreError):
        sealed(root)
    assert names(root, "pack") == []
    assert set(before) <= set(names(root, "log"))
    assert list((root / "tmp").glob("pack-*")) == []


def test_an_object_that_is_not_what_its_id_says(tmp_path: Path) -> None:
    root = tmp_path / "package"
    ObjectWriter.create(root).close()
    salt = bytes(16)
    header = SegmentHeader(number=1, salt=salt, first_sequence=1)
    frame = encode_frame(
        salt=salt,
        offset=160,
        sequence=1,
        parent=NO_GENERATION,
        generation=NO_GENERATION,
        objects=[(object_id(b"one").to_bytes(), 0, b"another")],
    )
    (root / "objects/log/00000001.vlog").write_bytes(encode_segment_header(header) + frame)
    with pytest.raises(IntegrityError) as caught:
        sealed(root)
    assert caught.value.kind == "bad_object"
    assert names(root, "pack") == []


def test_a_newer_versions_frame_is_never_moved(root: Path) -> None:
    make(root, 2)
    set_features(root, 1)
    before = names(root, "log")
    with pytest.raises(UnsupportedError):
        sealed(root)
    assert names(root, "log") == before


def test_one_at_a_time(root: Path) -> None:
    make(root, 2)
    with PackageLock(root, REPACK), pytest.raises(LockTimeout) as caught:
        repack(root)
    assert "repack lock" in caught.value.message
    assert repack(root).packs == 1


# ---- readers and writers that were there before


def test_a_reader_that_opened_before(root: Path) -> None:
    make(root, 8)
    reader = ObjectReader(root)
    sealed(root)
    for number in range(1, 9):
        for blob in HISTORY.payload(number):
            assert reader.get(object_id(blob)) == blob
    assert not reader.refresh()
    assert reader.generation == HISTORY.head(8)


@pytest.mark.parametrize("after", [0, 1, 4, 7])
@pytest.mark.parametrize(
    "walk", [lambda log: log.scan(), lambda log: log.backwards()], ids=["scan", "backwards"]
)
def test_in_the_middle_of_a_walk(
    root: Path, walk: Callable[[LogReader], Iterator[FrameSummary]], after: int
) -> None:
    make(root, 8)
    wanted = [facts(one) for one in walk(LogReader(root / "objects/log"))]
    log = LogReader(root / "objects/log")
    going = walk(log)
    found = [facts(next(going)) for _ in range(after)]
    sealed(root)
    log.files.close()
    found += [facts(one) for one in going]
    # Backwards no digest is read of a frame in the log.
    assert [one[:-1] for one in found] == [one[:-1] for one in wanted]


def test_refreshing_over_several_repacks(root: Path) -> None:
    make(root, 3)
    reader = ObjectReader(root)
    assert object_id(b"none") not in reader
    writer = ObjectWriter.open(root)
    assert HISTORY.publish(writer, 4)
    for number in (5, 7, 9):
        sealed(root)
        continue_store(root, HISTORY, number - 1)
    sealed(root, everything=True)
    assert reader.refresh()
    assert reader.generation == HISTORY.head(10)
    assert reader.get(object_id(HISTORY.payload(9)[0])) == HISTORY.payload(9)[0]
    assert not reader.refresh()
    # A writer whose last segment has gone goes on behind the others.
    HISTORY.publish(writer, 11)
    writer.close()
    assert reader.refresh()
    assert check_store(root, HISTORY, 11, 11) == 11


def test_another_package_in_its_place_is_noticed(root: Path, tmp_path: Path) -> None:
    make(root, 3)
    reader = ObjectReader(root)
    other = StoreHistory(large_every=1, large_bytes=10)
    make(tmp_path / "other", 9, other)
    sealed(tmp_path / "other")
    shutil.rmtree(root)
    (tmp_path / "other").rename(root)
    with pytest.raises(IntegrityError) as caught:
        reader.refresh()
    assert caught.value.kind == "history_replaced"
