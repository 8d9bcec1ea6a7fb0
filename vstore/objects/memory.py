"""What rules and queries need of an object store, and one that lives in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, Protocol, TypeVar

from vstore.errors import LimitExceeded, NotFoundError
from vstore.objects.canonical import decode, encode
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId, object_id

__all__ = ["MemoryObjects", "ObjectSink", "ObjectSource"]

D = TypeVar("D", bound=Document)


class ObjectSource(Protocol):
    """Reading objects by id."""

    def get(self, oid: ObjectId) -> bytes:
        """The bytes of an object.

        Raises:
            NotFoundError: No such object.
            IntegrityError: The stored bytes have another digest.
        """
        ...

    def document(self, oid: ObjectId, kind: type[D]) -> D:
        """A document of this type, read strictly.

        Raises:
            NotFoundError, IntegrityError: As :meth:`get`.
            InvalidError: Not a canonical document of this type.
        """
        ...

    def size(self, oid: ObjectId) -> int:
        """The size of an object in bytes, without reading it."""
        ...

    def open(self, oid: ObjectId) -> BinaryIO:
        """A binary stream over an object, for large ones; the caller closes it."""
        ...

    def __contains__(self, oid: object) -> bool: ...


class ObjectSink(Protocol):
    """Adding objects."""

    def put(self, data: bytes) -> ObjectId:
        """Add a blob; adding what exists is free."""
        ...

    def put_document(self, document: Document) -> ObjectId:
        """Add a document, after checking it against its own schema.

        Raises:
            InvalidError: Its members aren't what its schema says.
        """
        ...

    def put_stream(self, stream: BinaryIO, *, max_bytes: int) -> tuple[ObjectId, int]:
        """Add a blob of any size without holding it in memory; returns id and size.

        Raises:
            LimitExceeded: The stream has more than ``max_bytes``.
        """
        ...


class MemoryObjects:
    """An object source and sink in memory: for staging, and for tests."""

    def __init__(self) -> None:
        self._objects: dict[ObjectId, bytes] = {}

    def get(self, oid: ObjectId) -> bytes:
        """See :meth:`ObjectSource.get`."""
        try:
            return self._objects[oid]
        except KeyError:
            raise NotFoundError(f"no object {oid}", kind="no_object") from None

    def document(self, oid: ObjectId, kind: type[D]) -> D:
        """See :meth:`ObjectSource.document`."""
        return decode(self.get(oid), kind)

    def size(self, oid: ObjectId) -> int:
        """See :meth:`ObjectSource.size`."""
        return len(self.get(oid))

    def open(self, oid: ObjectId) -> BinaryIO:
        """See :meth:`ObjectSource.open`."""
        return io.BytesIO(self.get(oid))

    def put(self, data: bytes) -> ObjectId:
        """See :meth:`ObjectSink.put`."""
        oid = object_id(data)
        self._objects[oid] = bytes(data)
        return oid

    def put_document(self, document: Document) -> ObjectId:
        """See :meth:`ObjectSink.put_document`."""
        encoded = encode(document)
        decode(encoded, type(document))
        return self.put(encoded)

    def put_stream(self, stream: BinaryIO, *, max_bytes: int) -> tuple[ObjectId, int]:
        """See :meth:`ObjectSink.put_stream`."""
        data = bytearray()
        while chunk := stream.read(max_bytes + 1 - len(data)):
            data += chunk
            if len(data) > max_bytes:
                raise LimitExceeded(
                    f"more than {max_bytes} bytes",
                    limit="max_bytes",
                    value=max_bytes,
                    asked=len(data),
                )
        return self.put(bytes(data)), len(data)

    def __contains__(self, oid: object) -> bool:
        return oid in self._objects

    def __iter__(self) -> Iterator[ObjectId]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)
