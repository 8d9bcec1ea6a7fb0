"""Small databases for tests, and a look into what was captured of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from vstore.objects.ids import ObjectId
from vstore.objects.memory import MemoryObjects
from vstore.package.documents import SnapshotDescriptor
from vstore.tools.capture_database import SqliteLimits, capture_sqlite
from vstore.tools.database_content import StoredRow, TableContent
from vstore.tools.database_snapshot import DatabaseSnapshot
from vstore.tools.values import Value

__all__ = ["CapturedDatabase", "captured", "make_database"]


def make_database(path: Path, *statements: str | tuple[str, Sequence[object]]) -> Path:
    """Run SQL statements, the tuples with parameters, on a new or existing database."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            if isinstance(statement, str):
                connection.execute(statement)
            else:
                connection.execute(*statement)
    return path


class CapturedDatabase:
    """A captured database in memory."""

    def __init__(self, objects: MemoryObjects, descriptor: SnapshotDescriptor) -> None:
        self.objects = objects
        self.descriptor = descriptor
        self.snapshot = DatabaseSnapshot(objects, descriptor.content)

    @property
    def content(self) -> ObjectId:
        """The snapshot's identity."""
        return self.descriptor.content

    @property
    def statement(self) -> str:
        """The coverage statement."""
        return self.descriptor.coverage.statement

    def table(self, name: str) -> TableContent:
        """A table that must be there."""
        found = self.snapshot.table(name)
        assert found is not None, name
        return found

    def stored(self, name: str) -> list[StoredRow]:
        """All rows of a table, in order."""
        chunks = self.snapshot.chunks(self.table(name))
        return [row for _, chunk in chunks for row in chunk.rows]

    def values(self, name: str) -> list[list[Value]]:
        """The values of all rows of a table."""
        return [row.values for row in self.stored(name)]

    def rowids(self, name: str) -> list[Value]:
        """The rowids of all rows of a table."""
        return [row.rowid for row in self.stored(name)]


def captured(path: Path, *, limits: SqliteLimits | None = None) -> CapturedDatabase:
    """Capture a database under the name ``db``."""
    objects = MemoryObjects()
    return CapturedDatabase(objects, capture_sqlite(path, objects, name="db", limits=limits))
