"""The history tree over generations that don't have the history they record."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from vstore.errors import IntegrityError
from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId, object_id
from vstore.package.change import Change, first_generation, next_generation
from vstore.package.documents import Event, Generation, History
from vstore.package.history import HistoryTree

EVENT = Event(kind="init", operation_id=None, actor="a", at="2026-01-01T00:00:00Z", reason=None)


def leaf(generation: Generation) -> bytes:
    return hashlib.sha256(b"\x00" + encode(generation)).digest()


def three() -> list[Generation]:
    """Generations with the right roots, computed here."""
    first = first_generation(
        "c",
        "p",
        Change(events=[EVENT], inputs=object_id(b"i")),
        History(size=0, root=hashlib.sha256(b"").hexdigest()),
    )
    advance = Change(events=[msgspec.structs.replace(EVENT, kind="advance")])
    second = next_generation(
        object_id(encode(first)), first, advance, History(size=1, root=leaf(first).hex())
    )
    root = hashlib.sha256(b"\x01" + leaf(first) + leaf(second)).hexdigest()
    third = next_generation(object_id(encode(second)), second, advance, History(size=2, root=root))
    return [first, second, third]


class Store(dict[ObjectId, Generation]):
    def add(self, generation: Generation) -> ObjectId:
        oid = object_id(encode(generation))
        self[oid] = generation
        return oid

    def read(self, oid: ObjectId) -> tuple[Generation, bytes]:
        return self[oid], encode(self[oid])


def test_the_frontier_through_a_head(tmp_path: Path) -> None:
    store = Store()
    ids = [store.add(one) for one in three()]
    tree = HistoryTree(tmp_path, store.read)
    assert tree.through(None).size == 0
    for position, oid in enumerate(ids):
        frontier = tree.through(oid)
        assert frontier.size == position + 1
    assert tree.through(ids[1]).root() == store[ids[2]].history.root
    # What is handed out is a copy.
    tree.through(ids[1]).append(b"x")
    assert tree.through(ids[1]).root() == store[ids[2]].history.root


def test_nothing_is_saved_before_anything_is_published(tmp_path: Path) -> None:
    store = Store()
    ids = [store.add(one) for one in three()]
    tree = HistoryTree(tmp_path, store.read)
    tree.through(ids[0])
    tree.save()
    assert not (tmp_path / "cache").exists()
    tree.advance(ids[1], encode(store[ids[1]]))
    tree.save()
    # What the head's own commitment can be held against.
    assert (tmp_path / "cache" / "history").read_text() == f"1\n{leaf(store[ids[0]]).hex()}\n"
    again = HistoryTree(tmp_path, store.read)
    assert again.through(ids[2]).size == 3


def test_a_fresh_process_reads_few_generations(tmp_path: Path) -> None:
    store = Store()
    (first, _, _) = three()
    reads: list[ObjectId] = []

    def read(oid: ObjectId) -> tuple[Generation, bytes]:
        reads.append(oid)
        return store.read(oid)

    tree = HistoryTree(tmp_path, read)
    parent = first
    head = store.add(first)
    hypotheses = Change(events=[msgspec.structs.replace(EVENT, kind="source.add")])
    for number in range(200):
        before = tree.through(head)
        reads.clear()
        parent = next_generation(
            head, parent, hypotheses, History(size=before.size, root=before.root())
        )
        head = store.add(parent)
        tree.advance(head, encode(parent))
        if tree.due():
            tree.save()
        if number > 20:
            # A process that starts here without a word of this one.
            fresh = HistoryTree(tmp_path, read)
            assert fresh.through(head) == tree.through(head)
            assert len(reads) <= 20
            reads.clear()


@pytest.mark.parametrize("wrong", ["root", "size", "middle", "number", "first"])
def test_a_history_that_is_not_so_is_refused(tmp_path: Path, wrong: str) -> None:
    first, second, third = three()
    false = History(size=2, root="0" * 64)
    if wrong == "root":
        third = msgspec.structs.replace(third, history=false)
    elif wrong == "size":
        third = msgspec.structs.replace(third, history=History(size=3, root=third.history.root))
    elif wrong == "number":
        second = msgspec.structs.replace(second, package_generation=1)
        third = msgspec.structs.replace(third, parent=object_id(encode(second)))
    elif wrong == "first":
        first = msgspec.structs.replace(first, history=History(size=1, root="0" * 64))
        second = msgspec.structs.replace(second, parent=object_id(encode(first)))
        third = msgspec.structs.replace(third, parent=object_id(encode(second)))
    elif wrong == "middle":
        # Its own commitment is false, so the one behind commits to something else too.
        second = msgspec.structs.replace(second, history=History(size=1, root="0" * 64))
        third = msgspec.structs.replace(third, parent=object_id(encode(second)))
    store = Store()
    for one in (first, second, third):
        store.add(one)
    with pytest.raises(IntegrityError) as caught:
        HistoryTree(tmp_path, store.read).through(object_id(encode(third)))
    assert caught.value.kind == "broken_history"


def test_a_cache_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    store = Store()
    ids = [store.add(one) for one in three()]
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "history").write_text("1\n" * 10_000)
    assert HistoryTree(tmp_path, store.read).through(ids[2]).size == 3
    (tmp_path / "cache" / "history").unlink()
    (tmp_path / "cache" / "history").mkdir()
    assert HistoryTree(tmp_path, store.read).through(ids[2]).size == 3
