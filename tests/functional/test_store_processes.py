"""Real processes on one package: killed at any operation, and many at once."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from vstore.errors import StaleGeneration
from vstore.objects.canonical import encode
from vstore.objects.frame import FrameSummary
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.reader import ObjectReader
from vstore.objects.refs import GENERATION
from vstore.objects.tree import Tree, TreeEntry
from vstore.objects.writer import ObjectWriter
from vstore.package.repack import repack_store
from vstore.testing.faults import CountingIO, KillingIO
from vstore.testing.store import StoreHistory, check_store, continue_store

HISTORY = StoreHistory()
FORK = multiprocessing.get_context("fork")


def publish_some(root: Path, io: CountingIO, acknowledged: int) -> None:
    writer = ObjectWriter.create(root, io=io, segment_bytes=1200)
    for number in (1, 2, 3):
        HISTORY.publish(writer, number)
        os.write(acknowledged, b".")
    os._exit(0)


@pytest.mark.parametrize("written", [0, 40])
def test_killed_at_any_operation(tmp_path: Path, written: int) -> None:
    for kill_at in range(written and 1, 200, 3):
        root = tmp_path / str(kill_at)
        read, write = os.pipe()
        child = FORK.Process(
            target=publish_some, args=(root, KillingIO(kill_at, written=written), write)
        )
        child.start()
        os.close(write)
        child.join()
        acknowledged = len(os.read(read, 100))
        os.close(read)
        if child.exitcode == 0:
            assert kill_at > 30
            return
        assert child.exitcode == -signal.SIGKILL
        if not (root / "VSTORE").exists():
            assert acknowledged == 0
            ObjectWriter.create(root).close()
        number = check_store(root, HISTORY, acknowledged, acknowledged + 1)
        continue_store(root, HISTORY, number)
        check_store(root, HISTORY, number + 2, number + 2)
    raise AssertionError("the workload never ended")


def work(root: Path, name: str, count: int, out: int) -> None:
    """Publish ``count`` objects of one's own, on top of whatever is there."""
    writer = ObjectWriter.open(root, segment_bytes=4000)
    done = 0
    while done < count:
        writer.reader.refresh()
        parent = writer.reader.generation
        refs = {} if parent is None else {"latest": latest(writer.reader, parent)}
        blob = f"{name} {done} ".encode() * 20
        entry = TreeEntry(
            name="blob", kind="file", object=object_id(blob), size=len(blob), executable=False
        )
        link = TreeEntry(
            name="parent",
            kind="file",
            object=parent or object_id(b""),
            size=0,
            executable=False,
        )
        with writer.transaction() as transaction:
            transaction.put(blob)
            try:
                transaction.publish(
                    parent=parent,
                    generation=Tree(entries=[entry, link]),
                    refs={"latest": object_id(blob)},
                    previous_refs=refs,
                    earlier=earlier(writer.reader, parent),
                )
            except StaleGeneration:
                continue
        os.write(out, f"{name} {done}\n".encode())
        done += 1
    os._exit(0)


def latest(reader: ObjectReader, head: ObjectId) -> ObjectId:
    return reader.document(head, Tree).entries[0].object


def earlier(reader: ObjectReader, head: ObjectId | None):
    while head is not None and head in reader:
        tree = reader.document(head, Tree)
        head = tree.entries[1].object
        if head in reader and head != object_id(b""):
            yield {GENERATION: head, "latest": latest(reader, head)}


def test_many_writers_and_a_reader(tmp_path: Path) -> None:
    root = tmp_path / "package"
    ObjectWriter.create(root).close()
    read, write = os.pipe()
    children = [
        FORK.Process(target=work, args=(root, name, 12, write)) for name in ("ann", "bob", "cid")
    ]
    for child in children:
        child.start()
    os.close(write)
    reader = ObjectReader(root)
    seen = 0
    while any(child.is_alive() for child in children):
        reader.refresh()
        assert reader.sequence >= seen
        assert not reader.damage
        seen = reader.sequence
    for child in children:
        child.join()
        assert child.exitcode == 0
    acknowledged = os.read(read, 100_000).decode().splitlines()
    os.close(read)
    check_linear(root, acknowledged)
    assert len(acknowledged) == 36


def test_a_storm_of_kills(tmp_path: Path) -> None:
    root = tmp_path / "package"
    ObjectWriter.create(root).close()
    read, write = os.pipe()
    for number in range(8):
        child = FORK.Process(target=work, args=(root, f"worker{number}", 1000, write))
        child.start()
        time.sleep(0.02 + 0.013 * number)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
    os.close(write)
    lines = b""
    while chunk := os.read(read, 65_536):
        lines += chunk
    os.close(read)
    check_linear(root, lines.decode().splitlines())


def repack_again_and_again(root: Path, io: CountingIO, packed: int) -> None:
    while True:
        writer = ObjectWriter.open(root, io=io)
        done = repack_store(writer)
        writer.close()
        os.write(packed, b"." * done.packs)


def test_writers_and_readers_while_packs_are_made(tmp_path: Path) -> None:
    root = tmp_path / "package"
    ObjectWriter.create(root).close()
    read, write = os.pipe()
    packed, pack = os.pipe()
    packer = FORK.Process(target=repack_again_and_again, args=(root, CountingIO(), pack))
    packer.start()
    children = [FORK.Process(target=work, args=(root, name, 12, write)) for name in ("ann", "bob")]
    for child in children:
        child.start()
    os.close(write)
    reader = ObjectReader(root)
    heads: list[ObjectId] = []
    while any(child.is_alive() for child in children):
        reader.refresh()
        assert not reader.damage
        if reader.generation is not None and reader.generation not in heads[-1:]:
            heads.append(reader.generation)
        for head in heads:
            assert object_id(encode(reader.document(head, Tree))) == head
        fresh = ObjectReader(root)
        assert not fresh.damage
        assert fresh.sequence >= reader.sequence
        for found in fresh.scan():
            assert isinstance(found, FrameSummary), found
        fresh.close()
    for child in children:
        child.join()
        assert child.exitcode == 0
    os.read(packed, 1)
    os.kill(packer.pid or 0, signal.SIGKILL)
    packer.join()
    acknowledged = os.read(read, 100_000).decode().splitlines()
    os.close(read)
    check_linear(root, acknowledged)
    assert len(acknowledged) == 24
    assert list((root / "objects/pack").iterdir())


def test_a_repack_that_is_killed(tmp_path: Path) -> None:
    original = tmp_path / "original"
    writer = ObjectWriter.create(original, segment_bytes=1200)
    for number in range(1, 5):
        HISTORY.publish(writer, number)
    writer.close()
    for kill_at in range(200):
        root = shutil.copytree(original, tmp_path / str(kill_at))
        child = FORK.Process(target=repack_once, args=(root, KillingIO(kill_at, written=40)))
        child.start()
        child.join()
        assert check_store(root, HISTORY, 4, 4) == 4
        continue_store(root, HISTORY, 4)
        repack_once(root, CountingIO())
        assert check_store(root, HISTORY, 6, 6) == 6
        assert len(list((root / "objects/log").iterdir())) == 1
        assert list((root / "tmp").glob("pack-*")) == []
        if child.exitcode == 0:
            assert kill_at > 15
            return
        assert child.exitcode == -signal.SIGKILL
    raise AssertionError("the repack never ended")


def repack_once(root: Path, io: CountingIO) -> None:
    writer = ObjectWriter.open(root, io=io)
    repack_store(writer)
    writer.close()


def check_linear(root: Path, acknowledged: list[str]) -> None:
    """Every acknowledged publication is there, and each stands on the one before."""
    reader = ObjectReader(root)
    assert not reader.damage
    previous: ObjectId | None = None
    for frame in reader.frames():
        assert frame.parent == previous
        previous = frame.generation
        assert previous is not None
        tree = reader.document(previous, Tree)
        assert object_id(encode(tree)) == previous
        assert tree.entries[1].object == (frame.parent or object_id(b""))
    assert reader.generation == previous
    for line in acknowledged:
        assert object_id(f"{line} ".encode() * 20) in reader
    reader.close()
