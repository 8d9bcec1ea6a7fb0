"""Readers, writers and transactions of one store, on a real disk."""

from __future__ import annotations

import errno
import io
import os
import shutil
import struct
from contextlib import closing
from pathlib import Path

import pytest
from blake3 import blake3

from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    StaleGeneration,
    StorageError,
    UnsupportedError,
    VStoreError,
)
from vstore.objects.frame import TRAILER_BYTES, encode_frame
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.index_cache import encode_index, index_path, load_index
from vstore.objects.large import LARGE_BYTES
from vstore.objects.layout import large_path
from vstore.objects.log import Damage, LogReader
from vstore.objects.reader import ObjectReader
from vstore.objects.refs import GENERATION, BadRef, read_refs
from vstore.objects.sorted_tables import encode_tables
from vstore.objects.table_stack import TableFile, open_files, table_path
from vstore.objects.transaction import BULK_BYTES
from vstore.objects.tree import Tree
from vstore.objects.writer import ObjectWriter
from vstore.testing.faults import FaultyIO, RecordingIO
from vstore.testing.store import StoreHistory, check_store, continue_store

HISTORY = StoreHistory()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "package"


def make(root: Path, count: int, **options: object) -> None:
    writer = ObjectWriter.create(root, **options)  # type: ignore[arg-type]
    for number in range(1, count + 1):
        HISTORY.publish(writer, number)
    writer.close()


def log(root: Path, number: int = 1) -> Path:
    return root / f"objects/log/{number:08d}.vlog"


# ---- creating and opening


def test_an_empty_package(root: Path) -> None:
    make(root, 0)
    reader = ObjectReader(root)
    assert reader.generation is None
    assert reader.sequence == 0
    assert reader.refs() == {"generation": BadRef("empty")}
    assert list(reader.frames()) == list(reader.frames_backwards()) == []
    assert object_id(b"x") not in reader
    assert "x" not in reader
    assert not reader.published(object_id(b"x"))
    assert not reader.refresh()
    with pytest.raises(NotFoundError) as caught:
        reader.get(object_id(b"x"))
    assert caught.value.kind == "no_object"
    assert (root / "VSTORE").read_bytes() == (
        b'{"digest":"blake3","format":1,"optional":[],"required":[]}\n'
    )


def test_creating_twice(root: Path) -> None:
    make(root, 1)
    with pytest.raises(ConflictError):
        ObjectWriter.create(root)
    (root / "VSTORE").unlink()
    with pytest.raises(ConflictError):
        ObjectWriter.create(root)


def test_creating_in_a_folder_with_files(root: Path) -> None:
    root.mkdir()
    (root / "notes.txt").write_text("mine")
    make(root, 1)
    assert check_store(root, HISTORY, 1, 1) == 1
    assert (root / "notes.txt").read_text() == "mine"


def test_a_file_where_a_folder_should_be(root: Path) -> None:
    root.mkdir()
    (root / "objects").write_text("no folder")
    with pytest.raises(StorageError):
        ObjectWriter.create(root)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, NotFoundError),
        (b"", IntegrityError),
        (b"{}\n", IntegrityError),
        (b'{"digest":"blake3","format":1,"optional":[],"required":[]}', IntegrityError),
        (b'{"digest":"blake3","format":1,"optional":[],"required":[] }\n', IntegrityError),
        (b'{"digest":"blake3","format":true,"optional":[],"required":[]}\n', IntegrityError),
        (b'{"format":2,"shape":"unheard of"}\n', UnsupportedError),
        (b'{"digest":"sha3","format":1,"optional":[],"required":[]}\n', UnsupportedError),
        (b'{"digest":"blake3","format":1,"optional":[],"required":["sparse"]}\n', UnsupportedError),
        (b'{"digest":"blake3","format":1,"optional":["hint"],"required":[]}\n', None),
        (b"[" * 5000, IntegrityError),
    ],
)
def test_the_format_file(root: Path, content: bytes | None, error: type | None) -> None:
    make(root, 1)
    (root / "VSTORE").unlink()
    if content is not None:
        (root / "VSTORE").write_bytes(content)
    if error is None:
        ObjectReader(root).close()
        return
    with pytest.raises(error):
        ObjectReader(root)


def test_a_read_only_package_is_read_without_writing(root: Path) -> None:
    make(root, 3)
    for name in ("tmp", "cache", "locks"):
        shutil.rmtree(root / name)
    before = sorted(path.name for path in root.rglob("*"))
    assert check_store(root, HISTORY, 3, 3) == 3
    assert sorted(path.name for path in root.rglob("*")) == before
    # A writer makes what is derived again.
    continue_store(root, HISTORY, 3)


# ---- publishing


def test_publishing_and_reading(root: Path) -> None:
    make(root, 5)
    reader = ObjectReader(root)
    assert reader.generation == HISTORY.head(5)
    assert reader.sequence == 5
    assert reader.refs() == HISTORY.refs(5)
    assert [frame.sequence for frame in reader.frames()] == [1, 2, 3, 4, 5]
    assert [frame.sequence for frame in reader.frames_backwards()] == [5, 4, 3, 2, 1]
    for number in range(1, 6):
        head = HISTORY.head(number)
        assert head is not None
        assert reader.published(head)
        assert reader.document(head, Tree) == HISTORY.generation(number)
        blob = HISTORY.payload(number)[0]
        oid = object_id(blob)
        assert not reader.published(oid)
        assert oid in reader
        assert reader.get(oid) == blob
        assert reader.open(oid).read() == blob
        assert reader.size(oid) == len(blob)
        assert reader.state(oid) == "present"
    assert reader.state(object_id(b"?")) is None
    assert not reader.damage


def test_one_sync_for_each_publication(root: Path) -> None:
    make(root, 3)
    recorder = RecordingIO()
    writer = ObjectWriter.open(root, io=recorder)
    traces = []
    for number in range(4, 7):
        recorder.operations.clear()
        HISTORY.publish(writer, number)
        assert recorder.operations[-1].target == root / "refs/generation"
        traces.append([operation.name for operation in recorder.operations])
    # A ref's file is always a new one: nothing is written over what another write left.
    ref = ["create", "write", "replace"]
    assert traces[0] == ["open", "sync", "write", "sync", *ref, *ref, *ref]
    assert traces[1] == ["write", "sync", *ref, *ref]
    assert traces[2] == ["write", "sync", *ref, *ref, *ref]
    writer.close()
    assert list((root / "tmp").iterdir()) == []


def test_files_of_refs_are_never_written_under_a_second_name(root: Path) -> None:
    make(root, 3)
    for number in range(4, 9):
        copies = [path for path in (root / "refs").iterdir() if path.name != "second"]
        for path in copies:
            os.link(path, root.parent / f"{number}-{path.name}")
        texts = {path: path.read_text() for path in copies}
        writer = ObjectWriter.open(root)
        HISTORY.publish(writer, number)
        writer.close()
        for path, text in texts.items():
            assert (root.parent / f"{number}-{path.name}").read_text() == text != path.read_text()
        for old in range(4, number):
            assert (
                root.parent / f"{old}-first"
            ).read_text() == f"{HISTORY.refs(old - 1)['first']}\n"


def test_refs_are_replaced_after_temporary_files_were_removed(root: Path) -> None:
    history = StoreHistory()
    with closing(ObjectWriter.create(root)) as writer:
        for number in range(1, 6):
            history.publish(writer, number)
            assert read_refs(root) == history.refs(number)
            shutil.rmtree(root / "tmp")


def test_a_ref_that_could_not_be_written_is_written_under_another_name(root: Path) -> None:
    history = StoreHistory()
    faulty = FaultyIO(-1, errno.EIO, only=("replace", "unlink"))
    with closing(ObjectWriter.create(root, io=faulty)) as writer:
        for number in (1, 2):
            history.publish(writer, number)
        # The name in tmp/ that the ref before had stays taken.
        faulty.fail_at, faulty.lasting = 0, True
        history.publish(writer, 3)
        assert len(list((root / "tmp").iterdir())) == 1
        assert read_refs(root) == history.refs(2)
        faulty.lasting = False
        history.publish(writer, 4)
        assert len(list((root / "tmp").iterdir())) == 1
    assert read_refs(root) == history.refs(4)


def test_a_first_process_syncs_what_another_one_wrote(root: Path) -> None:
    make(root, 3)
    recorder = RecordingIO()
    writer = ObjectWriter.open(root, io=recorder)
    writer.ensure_synced()
    writer.ensure_synced()
    assert [operation.name for operation in recorder.operations] == ["open", "sync"]
    writer.close()


def test_objects_that_exist_are_not_written_again(root: Path) -> None:
    make(root, 1)
    writer = ObjectWriter.open(root)
    size = log(root).stat().st_size
    with writer.transaction() as transaction:
        for blob in HISTORY.payload(1) * 100:
            assert transaction.put(blob) == object_id(blob)
        transaction.publish(
            parent=HISTORY.head(1),
            generation=HISTORY.generation(2),
            refs=HISTORY.refs(1),
            previous_refs=HISTORY.refs(1),
        )
    frame = next(iter(writer.reader.frames_backwards()))
    assert [entry.oid for entry in frame.objects()] == [HISTORY.head(2)]
    assert log(root).stat().st_size < size + 1000
    writer.close()


def test_a_stale_parent(root: Path) -> None:
    make(root, 1)
    one, two = ObjectWriter.open(root), ObjectWriter.open(root)
    HISTORY.publish(one, 2)
    with pytest.raises(StaleGeneration) as caught:
        HISTORY.publish(two, 2)
    assert caught.value.details["head"] == HISTORY.head(2)
    HISTORY.publish(two, 3)
    HISTORY.publish(one, 4)
    one.close()
    two.close()
    assert check_store(root, HISTORY, 4, 4) == 4


def test_a_reader_follows(root: Path) -> None:
    writer = ObjectWriter.create(root, segment_bytes=1500)
    reader = ObjectReader(root)
    assert object_id(HISTORY.payload(1)[0]) not in reader
    for number in range(1, 7):
        HISTORY.publish(writer, number)
        blob = HISTORY.payload(number)[0]
        assert reader.generation == HISTORY.head(number - 1)
        assert reader.refresh()
        assert not reader.refresh()
        assert reader.get(object_id(blob)) == blob
        assert reader.generation == HISTORY.head(number)
    assert log(root, 3).exists()
    assert len(list(reader.frames())) == 6
    writer.close()


def test_refs_come_and_go(root: Path) -> None:
    writer = ObjectWriter.create(root)
    first = object_id(b"1")
    head: ObjectId | None = None
    refs: dict[str, ObjectId] = {}
    for number, wanted in enumerate([{"a": first, "b": first}, {"b": first}, {"c": first}], 1):
        with writer.transaction() as transaction:
            transaction.put(b"1")
            head = transaction.publish(
                parent=head,
                generation=HISTORY.generation(number),
                refs=wanted,
                previous_refs=refs,
            )
        refs = wanted
        assert writer.reader.refs() == {**wanted, GENERATION: head}
    writer.close()


def test_transactions_end(root: Path) -> None:
    writer = ObjectWriter.create(root)
    transaction = writer.transaction()
    transaction.put(b"dropped")
    assert object_id(b"dropped") in transaction
    transaction.abandon()
    assert object_id(b"dropped") not in transaction
    with pytest.raises(InvalidError) as caught:
        transaction.put(b"more")
    assert caught.value.kind == "transaction_ended"
    with pytest.raises(InvalidError):
        transaction.publish(
            parent=None, generation=HISTORY.generation(1), refs={}, previous_refs={}
        )
    assert writer.reader.sequence == 0


def test_bad_ref_names_are_refused_before_anything_is_written(root: Path) -> None:
    writer = ObjectWriter.create(root)
    transaction = writer.transaction()
    with pytest.raises(InvalidError):
        transaction.publish(
            parent=None,
            generation=HISTORY.generation(1),
            refs={"../up": object_id(b"")},
            previous_refs={},
        )
    assert not any((root / "objects/log").iterdir())


# ---- large objects and bulk


def publish_one(writer: ObjectWriter, parent: int, *blobs: bytes) -> list[ObjectId]:
    with writer.transaction() as transaction:
        oids = [transaction.put(blob) for blob in blobs]
        for oid, blob in zip(oids, blobs, strict=True):
            assert oid in transaction
            assert transaction.size(oid) == len(blob)
            assert transaction.get(oid) == blob
            with transaction.open(oid) as stream:
                assert stream.read() == blob
        transaction.publish(
            parent=HISTORY.head(parent),
            generation=HISTORY.generation(parent + 1),
            refs={},
            previous_refs={},
        )
    return oids


def test_large_objects(root: Path) -> None:
    writer = ObjectWriter.create(root)
    small, big = b"s" * LARGE_BYTES, os.urandom(LARGE_BYTES + 1)
    publish_one(writer, 0, small, big, big)
    assert not large_path(root, object_id(small)).exists()
    assert large_path(root, object_id(big)).exists()
    reader = ObjectReader(root)
    assert reader.get(object_id(big)) == big
    assert reader.size(object_id(big)) == len(big)
    stream = reader.open(object_id(big))
    assert stream.read(10) == big[:10]
    assert stream.read() == big[10:]
    assert list((root / "tmp").iterdir()) == []
    # Adding it again writes nothing but is checked.
    before = large_path(root, object_id(big)).stat()
    publish_one(writer, 1, big)
    after = large_path(root, object_id(big)).stat()
    assert before.st_ino == after.st_ino
    assert [entry.oid for entry in next(iter(writer.reader.frames_backwards())).large()] == []
    writer.close()


def test_residue_of_a_large_object_is_checked_before_it_is_used(root: Path) -> None:
    writer = ObjectWriter.create(root)
    big = os.urandom(LARGE_BYTES + 1)
    path = large_path(root, object_id(big))
    path.parent.mkdir()
    path.write_bytes(b"cut")
    publish_one(writer, 0, big)
    assert writer.reader.get(object_id(big)) == big
    writer.close()


def test_a_damaged_large_object_is_found_and_can_be_put_again(root: Path) -> None:
    writer = ObjectWriter.create(root)
    big = os.urandom(LARGE_BYTES + 1)
    oid = object_id(big)
    publish_one(writer, 0, big)
    path = large_path(root, oid)
    good = path.read_bytes()
    for bad in (good[:-1], good + b"x", good[:500_000] + bytes(10) + good[500_010:], b""):
        path.write_bytes(bad)
        with pytest.raises(IntegrityError):
            ObjectReader(root).get(oid)
    path.unlink()
    with pytest.raises(IntegrityError) as caught:
        ObjectReader(root).get(oid)
    assert caught.value.kind == "missing_large_object"
    path.write_bytes(b"bad")
    publish_one(writer, 1, big)
    assert ObjectReader(root).get(oid) == big
    writer.close()


def test_streams(root: Path) -> None:
    writer = ObjectWriter.create(root)
    transaction = writer.transaction()
    big = os.urandom(3 * LARGE_BYTES)
    assert transaction.put_stream(io.BytesIO(b"tiny"), max_bytes=4) == (object_id(b"tiny"), 4)
    assert transaction.put_stream(io.BytesIO(big), max_bytes=len(big)) == (
        object_id(big),
        len(big),
    )
    for content, limit in ((b"tiny", 3), (big, len(big) - 1), (big, 10)):
        with pytest.raises(LimitExceeded) as caught:
            transaction.put_stream(io.BytesIO(content), max_bytes=limit)
        assert caught.value.details["value"] == limit

    class Failing(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            raise OSError(5, "broken")

    with pytest.raises(StorageError):
        transaction.put_stream(Failing(), max_bytes=10)  # type: ignore[arg-type]
    assert len(list((root / "tmp").iterdir())) == 1
    transaction.abandon()
    assert list((root / "tmp").iterdir()) == []


def test_bulk_frames(root: Path) -> None:
    writer = ObjectWriter.create(root)
    blobs = [os.urandom(1000) + bytes(700_000) for _ in range(14)]
    publish_one(writer, 0, *blobs)
    reader = ObjectReader(root)
    frames = list(reader.frames())
    assert len(frames) == 3
    assert [frame.generation for frame in frames] == [None, None, HISTORY.head(1)]
    assert all(frame.raw_length <= BULK_BYTES + LARGE_BYTES for frame in frames)
    assert reader.generation == HISTORY.head(1)
    for blob in blobs:
        assert reader.get(object_id(blob)) == blob
    publish_one(writer, 1, b"more")
    writer.close()


def test_bulk_frames_of_an_abandoned_import_don_t_move_the_head(root: Path) -> None:
    make(root, 1)
    writer = ObjectWriter.open(root)
    with writer.transaction() as transaction:
        for number in range(6):
            transaction.put(os.urandom(900_000) + bytes([number]))
    assert writer.reader.sequence == 2
    reader = ObjectReader(root)
    assert reader.generation == HISTORY.head(1)
    assert not reader.damage
    HISTORY.publish(writer, 2)
    assert [frame.sequence for frame in ObjectReader(root).frames()] == [1, 2, 3]
    writer.close()


def test_a_generation_that_fits_no_frame(root: Path) -> None:
    writer = ObjectWriter.create(root)
    huge = Tree(
        entries=[
            entry
            for number in range(90_000)
            for entry in [
                HISTORY.generation(1)
                .entries[0]
                .__class__(
                    name=f"{number:09d}",
                    kind="file",
                    object=object_id(b""),
                    size=0,
                    executable=False,
                )
            ]
        ]
    )
    with pytest.raises(LimitExceeded):
        writer.transaction().publish(parent=None, generation=huge, refs={}, previous_refs={})
    writer.close()


# ---- damage


def edit(path: Path, at: int, chunk: bytes) -> None:
    raw = bytearray(path.read_bytes())
    raw[at : at + len(chunk)] = chunk
    path.write_bytes(raw)


def test_a_bad_frame_before_a_good_one_names_what_is_lost(root: Path) -> None:
    make(root, 4)
    frames = list(ObjectReader(root).frames())
    lost = frames[1]
    edit(log(root), lost.offset + lost.length - TRAILER_BYTES - 3, b"\xff\xff\xff")
    reader = ObjectReader(root)
    assert reader.generation == HISTORY.head(4)
    (damage,) = [one for one in reader.scan() if isinstance(one, Damage)]
    assert (damage.kind, damage.segment) == ("bad_frame", 1)
    assert (damage.start, damage.end) == (lost.offset, lost.offset + lost.length)
    assert (damage.first_lost, damage.frames_lost) == (2, 1)
    assert list(damage.objects_lost) == [entry.oid for entry in lost.objects()]
    with pytest.raises(IntegrityError) as caught:
        list(reader.frames())
    assert caught.value.details["start"] == lost.offset
    assert caught.value.details["objects_lost"] == [str(entry.oid) for entry in lost.objects()]
    # Everything else can be read.
    for number in (1, 3, 4):
        blob = HISTORY.payload(number)[1]
        assert reader.get(object_id(blob)) == blob
    with pytest.raises(IntegrityError):
        reader.get(object_id(HISTORY.payload(2)[1]))


def test_a_bad_header_in_the_middle(root: Path) -> None:
    make(root, 4)
    frames = list(ObjectReader(root).frames())
    edit(log(root), frames[1].offset, b"XXXX")
    edit(log(root), frames[2].offset + 20, b"YYYY")
    reader = ObjectReader(root)
    (damage,) = [one for one in reader.scan() if isinstance(one, Damage)]
    assert (damage.start, damage.end) == (frames[1].offset, frames[3].offset)
    assert (damage.frames_lost, damage.objects_lost) == (2, ())
    with pytest.raises(IntegrityError):
        list(reader.frames_backwards())
    for number in (1, 4):
        assert object_id(HISTORY.payload(number)[0]) in reader
    assert object_id(HISTORY.payload(2)[0]) not in reader


def test_damage_and_a_torn_tail_stop_a_writer(root: Path) -> None:
    make(root, 4)
    frames = list(ObjectReader(root).frames())
    edit(log(root), frames[1].offset, b"XXXX")
    with log(root).open("ab") as file:
        file.write(b"torn")
    writer = ObjectWriter.open(root)
    assert [one.kind for one in writer.reader.damage] == ["bad_frame"]
    assert writer.reader.generation == HISTORY.head(4)
    before = log(root).read_bytes()
    with pytest.raises(IntegrityError):
        HISTORY.publish(writer, 5)
    with pytest.raises(IntegrityError):
        writer.ensure_synced()
    assert log(root).read_bytes() == before
    assert not log(root, 2).exists()


def test_an_object_that_looks_like_a_frame_is_not_one(root: Path) -> None:
    """A whole valid frame inside a torn one must not pass for a frame behind a bad one."""
    make(root, 2)
    reader = ObjectReader(root)
    salt, end = reader.log.header(1).salt, reader.log.tail.end
    noise = os.urandom(5000)

    def frame_at(offset: int, content: bytes) -> bytes:
        return encode_frame(
            salt=salt,
            offset=offset,
            sequence=3,
            parent=reader.log.tail.head,
            generation=b"!" * 32,
            objects=[(b"i" * 32, 0, content)],
        )

    # Hardly compressible, so that it stands in the payload of the outer one as it is.
    at = frame_at(end, frame_at(end, noise)).find(b"\x89VSF", 1)
    assert at > 0
    inner = frame_at(end + at, noise)
    outer = frame_at(end, inner)
    assert outer.find(inner) == at
    with log(root).open("ab") as file:
        file.write(outer[: at + len(inner)])
    assert check_store(root, HISTORY, 2, 2) == 2
    continue_store(root, HISTORY, 2)
    check_store(root, HISTORY, 4, 4)


def test_the_log_lost_its_end(root: Path) -> None:
    make(root, 4)
    frames = list(ObjectReader(root).frames())
    log(root).write_bytes(log(root).read_bytes()[: frames[3].offset])
    with pytest.raises(IntegrityError) as caught:
        continue_store(root, HISTORY, 3)
    assert caught.value.kind == "log_lost_head"
    writer = ObjectWriter.open(root)
    with pytest.raises(IntegrityError):
        writer.restore_refs(HISTORY.refs(3), HISTORY.earlier(3))
    assert writer.restore_refs(HISTORY.refs(3), HISTORY.earlier(3), accept=True)
    HISTORY.publish(writer, 4)
    writer.close()
    assert check_store(root, HISTORY, 4, 4) == 4


def test_lagging_refs_are_moved_forward(root: Path) -> None:
    make(root, 4)
    (root / "refs/generation").write_text(f"{HISTORY.head(2)}\n")
    (root / "refs/first").write_bytes(b"")
    (root / "refs/second").unlink()
    reader = ObjectReader(root)
    assert reader.generation == HISTORY.head(4)
    writer = ObjectWriter.open(root)
    with pytest.raises(StaleGeneration):
        writer.restore_refs(HISTORY.refs(3), HISTORY.earlier(3))
    assert writer.restore_refs(HISTORY.refs(4), HISTORY.earlier(4)) == [
        "first",
        "generation",
        "second",
    ]
    assert writer.restore_refs(HISTORY.refs(4), HISTORY.earlier(4)) == []
    assert reader.refs() == HISTORY.refs(4)
    writer.close()


@pytest.mark.parametrize(
    "content", [b"", bytes(160), bytes(5000), b"\x89VSL\r\n\x1a\n" + bytes(90)]
)
def test_a_crash_while_rolling(root: Path, content: bytes) -> None:
    make(root, 2)
    log(root, 2).write_bytes(content)
    assert check_store(root, HISTORY, 2, 2) == 2
    assert ObjectReader(root).log.residue == 2
    writer = ObjectWriter.open(root, segment_bytes=1)
    HISTORY.publish(writer, 3)
    HISTORY.publish(writer, 4)
    writer.close()
    assert check_store(root, HISTORY, 4, 4) == 4


def test_a_long_segment_without_a_header_is_damage(root: Path) -> None:
    make(root, 4, segment_bytes=1)
    edit(log(root, 4), 3, b"X")
    with pytest.raises(IntegrityError) as caught:
        ObjectReader(root)
    assert caught.value.kind == "bad_segment"


def test_gaps_in_segments(root: Path) -> None:
    make(root, 5, segment_bytes=1)
    log(root, 2).unlink()
    reader = ObjectReader(root)
    assert [one.kind for one in reader.damage] == ["missing_segment"]
    found = list(reader.scan())
    assert [one.kind for one in found if isinstance(one, Damage)] == [
        "missing_segment",
        "wrong_sequence",
    ] or any(isinstance(one, Damage) for one in found)
    with pytest.raises(IntegrityError):
        list(reader.frames())
    assert reader.get(object_id(HISTORY.payload(5)[0])) == HISTORY.payload(5)[0]
    with pytest.raises(IntegrityError):
        continue_store(root, HISTORY, 5)


def test_changed_torn_bytes_are_found(root: Path) -> None:
    make(root, 2)
    size = log(root).stat().st_size
    with log(root).open("ab") as file:
        file.write(b"torn bytes")
    continue_store(root, HISTORY, 2)
    assert check_store(root, HISTORY, 4, 4) == 4
    for content in (b"torn", b"TORN BYTES", b"torn bytes and more"):
        log(root).write_bytes(log(root).read_bytes()[:size] + content)
        kinds = [one.kind for one in ObjectReader(root).scan() if isinstance(one, Damage)]
        assert kinds == ["torn_bytes_changed"]


def rewrite(root: Path, number: int, at: int, chunk: bytes) -> None:
    """Edit a frame and make its digests right again."""
    frame = list(ObjectReader(root).frames())[number]
    raw = bytearray(log(root).read_bytes())
    start, end = frame.offset, frame.offset + frame.length
    raw[start + at : start + at + len(chunk)] = chunk
    header_end = start + frame.header_length
    raw[header_end - 32 : header_end] = blake3(raw[start : header_end - 32]).digest()
    raw[end - 40 : end - 8] = blake3(raw[start : end - 40]).digest()
    log(root).write_bytes(raw)


def test_a_frame_with_a_wrong_parent(root: Path) -> None:
    make(root, 4)
    rewrite(root, 2, 48, b"q" * 32)
    reader = ObjectReader(root)
    assert [one.kind for one in reader.scan() if isinstance(one, Damage)] == ["wrong_parent"]
    with pytest.raises(IntegrityError):
        list(reader.frames_backwards())


def test_a_frame_out_of_sequence(root: Path) -> None:
    make(root, 4)
    rewrite(root, 3, 40, struct.pack("<Q", 7))
    reader = ObjectReader(root)
    assert [one.kind for one in reader.scan() if isinstance(one, Damage)] == ["wrong_sequence"]


def test_unknown_features_make_a_package_read_only(root: Path) -> None:
    make(root, 4)
    rewrite(root, 3, 12, struct.pack("<I", 2))
    before = log(root).read_bytes()
    reader = ObjectReader(root)
    assert reader.generation == HISTORY.head(4)
    assert [frame.supported for frame in reader.frames()] == [True, True, True, False]
    assert reader.get(object_id(HISTORY.payload(1)[0])) == HISTORY.payload(1)[0]
    with pytest.raises(UnsupportedError):
        reader.get(object_id(HISTORY.payload(4)[0]))
    with pytest.raises(UnsupportedError):
        continue_store(root, HISTORY, 4)
    assert log(root).read_bytes() == before


def test_unknown_features_of_a_segment(root: Path) -> None:
    make(root, 2)
    raw = bytearray(log(root).read_bytes())
    raw[12:16] = struct.pack("<I", 1)
    raw[128:160] = blake3(raw[:128]).digest()
    log(root).write_bytes(raw)
    with pytest.raises(UnsupportedError):
        ObjectReader(root)


def test_withheld_objects(root: Path) -> None:
    make(root, 2)
    frame = list(ObjectReader(root).frames())[1]
    first = next(iter(frame.objects()))
    # The whole payload but the first object, written again without its bytes.
    reader = ObjectReader(root)
    rest = [(entry, content) for entry, content in reader.frame_objects(frame)][1:]
    shorter = bytearray(
        encode_frame(
            salt=reader.log.header(1).salt,
            offset=frame.offset,
            sequence=2,
            parent=frame.raw_parent,
            generation=frame.raw_generation,
            objects=[
                (entry.oid.to_bytes(), int(entry.kind == "document"), content or b"")
                for entry, content in rest
            ],
        )
    )
    shorter[128:128] = first.oid.to_bytes() + struct.pack("<BBII", 0, 1, 0, first.length)
    header_length = struct.unpack_from("<I", shorter, 8)[0] + 42
    struct.pack_into("<I", shorter, 8, header_length)
    struct.pack_into("<I", shorter, 112, len(rest) + 1)
    shorter[header_length - 32 : header_length] = blake3(shorter[: header_length - 32]).digest()
    shorter[-8:-4] = struct.pack("<I", len(shorter))
    shorter[-40:-8] = blake3(shorter[:-40]).digest()
    log(root).write_bytes(log(root).read_bytes()[: frame.offset] + shorter)
    reader = ObjectReader(root)
    assert reader.generation == HISTORY.head(2)
    assert reader.state(first.oid) == "withheld"
    assert reader.size(first.oid) == first.length
    for ask in (reader.get, reader.open):
        with pytest.raises(NotFoundError) as caught:
            ask(first.oid)
        assert caught.value.kind == "withheld"
    contents = [content for _, content in reader.frame_objects(list(reader.frames())[1])]
    assert contents[0] is None
    assert contents[1:] == [content for _, content in rest]


def test_an_object_with_other_bytes(root: Path) -> None:
    make(root, 2)
    frame = list(ObjectReader(root).frames())[1]
    entry = next(iter(frame.objects()))
    rewrite(root, 1, 128, b"z" * 32)
    reader = ObjectReader(root)
    with pytest.raises(IntegrityError) as caught:
        reader.get(ObjectId.from_bytes(b"z" * 32))
    assert caught.value.kind == "bad_object"
    assert entry.oid not in reader


# ---- the cached index


def test_the_cached_index_is_used_and_never_trusted(root: Path) -> None:
    make(root, 8, index_every=2, segment_bytes=1500)
    path = index_path(root)
    good = path.read_bytes()
    absent = object_id(b"absent")

    def ask(*, covered: bool | None) -> None:
        reader = ObjectReader(root)
        assert absent not in reader
        assert covered is None or (reader.covered > 0) is covered
        for number in range(1, 9):
            head = HISTORY.head(number)
            assert head is not None
            assert reader.published(head)
            for blob in HISTORY.payload(number):
                assert reader.get(object_id(blob)) == blob
                assert not reader.published(object_id(blob))
        reader.close()

    ask(covered=True)
    for at in range(0, len(good), 37):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        ask(covered=False)
    for bad in (b"", good[:-1], good + b"x", bytes(len(good)), good[:100]):
        path.write_bytes(bad)
        ask(covered=False)
    path.write_bytes(good)
    for tables in path.parent.glob("objects-*"):
        whole = tables.read_bytes()
        for at in range(0, len(whole), 53):
            tables.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            ask(covered=None)  # a page is found to be damaged when it is needed
        tables.write_bytes(whole)
    ask(covered=True)
    path.unlink()
    ask(covered=False)


def _entries(root: Path, file: TableFile) -> list[bytes]:
    (tables,) = open_files(root / "cache", "objects", [file], (8,))
    return list(tables.entries(0))


def test_a_cached_index_that_lies_is_found_out(root: Path) -> None:
    make(root, 8, index_every=2)
    absent = object_id(b"absent")
    log = LogReader(root / "objects" / "log")
    index = load_index(root, log)
    assert index is not None
    records = [one for file in index.files for one in _entries(root, file)]
    # Replace one record's id by one that no frame has; every checksum is right.
    victim = ObjectId.from_bytes(records[5][:32])
    records[5] = absent.to_bytes() + records[5][32:]
    content, digest = encode_tables([(8, sorted(records))])
    file = TableFile(digest=digest.hex(), entries=len(records))
    table_path(root / "cache", "objects", file.digest).write_bytes(content)
    index_path(root).write_bytes(encode_index(log.tail, [file]))
    log.close()
    reader = ObjectReader(root)
    assert absent not in reader
    assert reader.covered == 0
    assert victim in reader
    for number in range(1, 9):
        assert all(object_id(blob) in reader for blob in HISTORY.payload(number))


def test_an_index_of_another_package_is_not_used(root: Path, tmp_path: Path) -> None:
    make(root, 8, index_every=2)
    other = tmp_path / "other"
    make(other, 8, index_every=1000)
    shutil.copy(index_path(root), index_path(other))
    reader = ObjectReader(other)
    assert object_id(b"absent") not in reader
    assert reader.covered == 0


def test_a_package_that_was_rewound_does_not_use_a_newer_index(root: Path, tmp_path: Path) -> None:
    make(root, 4, index_every=2)
    shutil.copytree(root, tmp_path / "old")
    writer = ObjectWriter.open(root, index_every=1)
    for number in range(5, 9):
        HISTORY.publish(writer, number)
    writer.close()
    shutil.copy(index_path(root), index_path(tmp_path / "old"))
    reader = ObjectReader(tmp_path / "old")
    assert object_id(HISTORY.payload(8)[0]) not in reader
    assert reader.covered == 0
    assert object_id(HISTORY.payload(1)[0]) in reader


def test_every_error_is_ours(root: Path) -> None:
    """Whatever stands where a file of the store should be, reading raises our own errors."""
    make(root, 2)
    for name in ("VSTORE", "refs/first", "objects/log/00000001.vlog"):
        path = root / name
        content = path.read_bytes()
        path.unlink()
        path.mkdir()
        with pytest.raises(VStoreError):
            reader = ObjectReader(root)
            reader.refs()
        path.rmdir()
        os.mkfifo(path)
        with pytest.raises(VStoreError):
            reader = ObjectReader(root)
            reader.refs()
            assert reader.generation == HISTORY.head(2)
            raise StorageError("an empty FIFO reads as an empty file")
        path.unlink()
        path.write_bytes(content)
