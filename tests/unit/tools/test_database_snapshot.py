"""The cache of decoded chunks."""

from __future__ import annotations

import pytest

from vstore.objects.ids import ObjectId
from vstore.objects.memory import MemoryObjects
from vstore.tools.database_content import DatabaseRowChunk, StoredRow
from vstore.tools.database_snapshot import ChunkCache


class CountingObjects(MemoryObjects):
    def __init__(self) -> None:
        super().__init__()
        self.reads: list[ObjectId] = []

    def get(self, oid: ObjectId) -> bytes:
        self.reads.append(oid)
        return super().get(oid)


@pytest.fixture
def objects() -> CountingObjects:
    return CountingObjects()


def chunks(objects: MemoryObjects, count: int) -> list[ObjectId]:
    return [
        objects.put_document(DatabaseRowChunk(rows=[StoredRow(number, ["x" * 100])]))
        for number in range(10, 10 + count)
    ]


def test_a_chunk_is_decoded_once(objects: CountingObjects) -> None:
    (oid,) = chunks(objects, 1)
    cache = ChunkCache()
    first = cache.read(objects, oid)
    reads = len(objects.reads)
    assert cache.read(objects, oid) is first
    assert len(objects.reads) == reads
    assert first.size == objects.size(oid)


def test_the_least_used_goes_first(objects: CountingObjects) -> None:
    one, two, three = chunks(objects, 3)
    cache = ChunkCache(2 * objects.size(one))
    for oid in (one, two, one, three):
        cache.read(objects, oid)
    objects.reads.clear()
    cache.read(objects, one)
    assert objects.reads == []
    cache.read(objects, two)
    assert two in objects.reads


def test_one_chunk_stays_however_large(objects: CountingObjects) -> None:
    one, two = chunks(objects, 2)
    cache = ChunkCache(1)
    cache.read(objects, one)
    cache.read(objects, two)
    objects.reads.clear()
    cache.read(objects, two)
    assert objects.reads == []
