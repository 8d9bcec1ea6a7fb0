"""Reading a database snapshot from its documents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

from vstore.errors import IntegrityError
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.text import Text
from vstore.tools.database_content import (
    DatabaseContent,
    DatabaseRowChunk,
    DatabaseSchemaDocument,
    StoredRow,
    TableContent,
)
from vstore.tools.items import TableSchema

__all__ = ["ChunkCache", "DatabaseSnapshot", "ReadChunk"]

#: Bytes of encoded chunks that stay decoded; in memory they take some six times as much.
_CACHE_BYTES: Final = 8 << 20


class ReadChunk(NamedTuple):
    """A decoded chunk."""

    rows: list[StoredRow]
    #: Bytes of the encoded chunk.
    size: int


class ChunkCache:
    """The chunks that were decoded last; keyed by object id, so it can't be wrong."""

    def __init__(self, max_bytes: int = _CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._chunks: OrderedDict[ObjectId, ReadChunk] = OrderedDict()

    def read(self, objects: ObjectSource, oid: ObjectId) -> ReadChunk:
        """A chunk's rows.

        Raises:
            NotFoundError, IntegrityError, InvalidError: The chunk is absent or damaged.
        """
        found = self._chunks.get(oid)
        if found is not None:
            self._chunks.move_to_end(oid)
            return found
        found = ReadChunk(objects.document(oid, DatabaseRowChunk).rows, objects.size(oid))
        self._chunks[oid] = found
        self._bytes += found.size
        while self._bytes > self._max_bytes and len(self._chunks) > 1:
            _, dropped = self._chunks.popitem(last=False)
            self._bytes -= dropped.size
        return found


class DatabaseSnapshot:
    """One snapshot, opened for queries.

    Args:
        objects: Where its documents are.
        content: The id of its ``database-content-v1``.
        cache: Decoded chunks, shared between snapshots if wanted.

    Raises:
        NotFoundError, IntegrityError, InvalidError: The content is absent or damaged.
    """

    def __init__(
        self, objects: ObjectSource, content: ObjectId, cache: ChunkCache | None = None
    ) -> None:
        self.objects = objects
        self.content = objects.document(content, DatabaseContent)
        self._cache = ChunkCache() if cache is None else cache
        self._tables = {table.name: table for table in self.content.tables}

    def schema(self) -> list[TableSchema]:
        """Tables, views and triggers, sorted.

        Raises:
            NotFoundError, IntegrityError, InvalidError: The schema is absent or damaged.
        """
        return self.objects.document(self.content.tables_schema, DatabaseSchemaDocument).entries

    def table(self, name: Text) -> TableContent | None:
        """The table of exactly this name, or None."""
        return self._tables.get(name)

    def chunks(self, table: TableContent, *, start: int = 0) -> Iterator[tuple[int, ReadChunk]]:
        """The table's chunks with the position of their first row.

        Args:
            table: A table of this snapshot.
            start: Leave out the chunks that end before this row, 0 or more.

        Raises:
            NotFoundError, IntegrityError, InvalidError: A chunk is absent or damaged.
        """
        position = 0
        width = len(table.columns)
        for chunk in table.chunks:
            if position + chunk.rows > start:
                found = self._cache.read(self.objects, chunk.object)
                if len(found.rows) != chunk.rows or any(
                    len(row.values) != width for row in found.rows
                ):
                    raise IntegrityError(
                        f"rows of {chunk.object} don't fit their table", kind="damaged_snapshot"
                    )
                yield position, found
            position += chunk.rows
