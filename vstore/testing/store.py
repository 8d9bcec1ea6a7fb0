"""A small history over an object store, and the checks that every recovered one must pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vstore.objects.canonical import encode
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.frame import FrameSummary
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.log import Damage
from vstore.objects.reader import ObjectReader
from vstore.objects.refs import GENERATION, classify
from vstore.objects.tree import Tree, TreeEntry
from vstore.objects.writer import ObjectWriter

__all__ = ["NOBODY", "StoreHistory", "check_store", "continue_store"]

#: Stands for the parent of the first generation.
NOBODY: Final = object_id(b"")


class StoreHistory:
    """Generations that are a function of their number, so that any of them can be checked.

    The documents are trees, which stand for generations here: each names its parent and
    what it adds. The history is linear, and refs appear one after another.
    """

    def __init__(self, *, large_every: int = 0, large_bytes: int = 0) -> None:
        self.large_every = large_every
        self.large_bytes = large_bytes
        self._generations: dict[int, Tree] = {}
        self._payloads: dict[int, list[bytes]] = {}
        self._heads: dict[int, ObjectId] = {}

    def payload(self, number: int) -> list[bytes]:
        """The objects that generation ``number`` (from 1) adds."""
        known = self._payloads.get(number)
        if known is not None:
            return known
        objects = [f"object {number}.{one} ".encode() * (7 + one) for one in range(3)]
        if self.large_every and number % self.large_every == 0:
            pattern = f"large {number} ".encode()
            objects.append((pattern * (self.large_bytes // len(pattern) + 1))[: self.large_bytes])
        self._payloads[number] = objects
        return objects

    def generation(self, number: int) -> Tree:
        """Generation ``number``, from 1."""
        known = self._generations.get(number)
        if known is None:
            parent = self.head(number - 1) or NOBODY
            entries = [_entry(f"o{one}", blob) for one, blob in enumerate(self.payload(number))]
            last = TreeEntry(
                name="parent", kind="file", object=parent, size=number, executable=False
            )
            known = self._generations[number] = Tree(entries=[*entries, last])
        return known

    def head(self, number: int) -> ObjectId | None:
        """The id of generation ``number``; None for 0."""
        if number == 0:
            return None
        known = self._heads.get(number)
        if known is None:
            known = self._heads[number] = object_id(encode(self.generation(number)))
        return known

    def refs(self, number: int) -> dict[str, ObjectId]:
        """All refs of generation ``number``; ``first`` changes always, ``second`` from 3 on."""
        head = self.head(number)
        if head is None:
            return {}
        refs = {"first": object_id(self.payload(number)[0]), GENERATION: head}
        if number >= 3:
            refs["second"] = object_id(self.payload(number - number % 2)[1])
        return refs

    def earlier(self, number: int) -> Iterator[dict[str, ObjectId]]:
        """All refs of the generations before ``number``, newest first."""
        return (self.refs(one) for one in range(number - 1, 0, -1))

    def number_of(self, head: ObjectId | None, at_most: int = 50) -> int:
        """Which generation this is.

        Raises:
            AssertionError: None of the first ``at_most``.
        """
        for number in range(at_most + 1):
            if self.head(number) == head:
                return number
        raise AssertionError(f"{head} was never made")

    def publish(self, writer: ObjectWriter, number: int) -> ObjectId:
        """Publish generation ``number`` on top of the one before."""
        with writer.transaction() as transaction:
            for blob in self.payload(number):
                transaction.put(blob)
            return transaction.publish(
                parent=self.head(number - 1),
                generation=self.generation(number),
                refs={name: oid for name, oid in self.refs(number).items() if name != GENERATION},
                previous_refs=self.refs(number - 1),
                earlier=self.earlier(number - 1),
            )


def _entry(name: str, blob: bytes) -> TreeEntry:
    return TreeEntry(
        name=name, kind="file", object=object_id(blob), size=len(blob), executable=False
    )


def check_store(root: Path, history: StoreHistory, at_least: int, at_most: int) -> int:
    """Check that a store holds exactly a prefix of a history; returns its length.

    Args:
        root: The package's folder.
        history: What was published.
        at_least: How many generations were acknowledged.
        at_most: How many were begun.

    Raises:
        AssertionError: Something acknowledged is lost, something was made up, or a ref says
            what a crash can't explain.
    """
    reader = ObjectReader(root)
    try:
        number = history.number_of(reader.generation)
        assert at_least <= number <= at_most, (number, at_least, at_most)
        published = []
        for found in reader.scan():
            assert not isinstance(found, Damage), found
            _check_objects(reader, found)
            if found.generation is not None:
                published.append(found.generation)
        assert published == [history.head(one) for one in range(1, number + 1)]
        for one in range(1, number + 1):
            for blob in history.payload(one):
                assert reader.get(object_id(blob)) == blob
            generation = history.generation(one)
            assert reader.document(object_id(encode(generation)), Tree) == generation
        states = classify(reader.refs(), history.refs(number), history.earlier(number))
        assert set(states.values()) <= {"current", "lagging"}, states
        return number
    finally:
        reader.close()


def _check_objects(reader: ObjectReader, frame: FrameSummary) -> None:
    for entry, content in reader.frame_objects(frame):
        assert content is not None
        assert object_id(content) == entry.oid


def continue_store(root: Path, history: StoreHistory, number: int, io: DurableIO = REAL) -> None:
    """Publish the next two generations after a crash, as the next process would."""
    writer = ObjectWriter.open(root, io=io)
    try:
        history.publish(writer, number + 1)
        history.publish(writer, number + 2)
    finally:
        writer.close()
