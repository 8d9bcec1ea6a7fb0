"""Objects in memory."""

from __future__ import annotations

import io
from typing import Annotated, Any

import msgspec
import pytest

from vstore.errors import InvalidError, LimitExceeded, NotFoundError, UnsupportedError
from vstore.objects.document import Document
from vstore.objects.ids import object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import Tree


class Small(Document, tag="test-small-v1", frozen=True, kw_only=True):
    number: Annotated[int, msgspec.Meta(ge=0, le=9)]


class Drip(io.RawIOBase):
    """A stream that gives a byte at a time, as a pipe may."""

    def __init__(self, left: int) -> None:
        self.left = left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if not self.left or not view:
            return 0
        self.left -= 1
        view[:1] = b"x"
        return 1


def test_blobs() -> None:
    objects = MemoryObjects()
    raw = bytearray(b"abc")
    oid = objects.put(raw)
    raw[0] = 0
    assert oid == object_id(b"abc") == objects.put(b"abc")
    assert objects.get(oid) == b"abc"
    assert objects.size(oid) == 3
    assert objects.open(oid).read() == b"abc"
    assert oid in objects
    assert object_id(b"") not in objects
    assert list(objects) == [oid]
    assert len(objects) == 1


def test_what_is_absent() -> None:
    objects = MemoryObjects()
    oid = object_id(b"")
    for call in (objects.get, objects.size, objects.open):
        with pytest.raises(NotFoundError) as caught:
            call(oid)
        assert caught.value.kind == "no_object"
    with pytest.raises(NotFoundError):
        objects.document(oid, Tree)


def test_documents_are_checked_before_they_are_kept() -> None:
    objects = MemoryObjects()
    oid = objects.put_document(Small(number=7))
    assert objects.get(oid) == b'{"number":7,"schema":"test-small-v1"}'
    assert objects.document(oid, Small) == Small(number=7)
    with pytest.raises(InvalidError) as caught:
        objects.put_document(Small(number=10))
    assert caught.value.kind == "invalid_document"
    assert caught.value.details == {"pointer": "$.number"}
    with pytest.raises(InvalidError):
        objects.document(objects.put(b"{}"), Small)
    with pytest.raises(UnsupportedError):  # a reader of trees knows no such schema
        objects.document(oid, Tree)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_streams(size: int) -> None:
    objects = MemoryObjects()
    assert objects.put_stream(io.BytesIO(b"x" * size), max_bytes=5) == (
        object_id(b"x" * size),
        size,
    )
    assert objects.put_stream(io.BufferedReader(Drip(size), 1), max_bytes=5)[1] == size
    assert objects.put_stream(Drip(size), max_bytes=5)[1] == size  # type: ignore[arg-type]


def test_a_stream_past_the_limit() -> None:
    objects = MemoryObjects()
    for stream in (io.BytesIO(b"x" * 6), Drip(6), Drip(10**9)):
        with pytest.raises(LimitExceeded) as caught:
            objects.put_stream(stream, max_bytes=5)  # type: ignore[arg-type]
        assert caught.value.details == {"limit": "max_bytes", "value": 5, "asked": 6}
    assert len(objects) == 0
