"""The sets and maps that grow with a case, over sorted tables that a process finds.

What this process adds is kept in memory; what was there before it is looked up in files of
sorted tables, newest first. Both together are what the rules of evidence and budget ask
(see :mod:`vstore.evidence.membership` and :mod:`vstore.budget.tables`). Where a file turns
out to be damaged, what it covers is folded from the log instead, once, and the answer is
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from blake3 import blake3

from vstore.budget.commands import CommandKey
from vstore.budget.state import Outcome
from vstore.errors import InvalidError, VStoreError
from vstore.evidence.index_documents import EvidenceIndex, IndexedRecord
from vstore.evidence.record_id import record_id, record_number
from vstore.evidence.state import ActionKey, Operation
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.sorted_tables import KEY_BYTES, DoubtfulCache, SortedTables

__all__ = ["VALUES", "CaseTables"]

K = TypeVar("K")
V = TypeVar("V")

#: Numbers of the tables in a file, and the sizes of their values.
_ATOMS, _CONTENTS, _OPERATIONS, _ACTIONS, _OUTCOMES, _REFS, _RECORDS = range(7)
VALUES: Final = (0, 8, 32, 8, 64, 0, 32)


class _Files:
    """The files that cover what was there before; none after one was found damaged."""

    def __init__(
        self, files: Sequence[SortedTables], heal: Callable[[], None] | None = None
    ) -> None:
        self.open = list(files)
        self.heal = heal

    def __bool__(self) -> bool:
        return bool(self.open)

    def find(self, table: int, key: bytes) -> bytes | None:
        """The value of a key; raises DoubtfulCache."""
        for file in self.open:
            value = file.find(table, key)
            if value is not None:
                return value
        return None


class _CachedSet:
    """A set of texts."""

    def __init__(self, files: _Files, table: int) -> None:
        self._files = files
        self._table = table
        self._new: set[str] = set()
        #: What no file has yet.
        self.fresh: list[str] = []

    def __contains__(self, member: object, /) -> bool:
        if member in self._new:
            return True
        if not self._files or not isinstance(member, str):
            return False
        try:
            return self._files.find(self._table, _key(member)) is not None
        except DoubtfulCache:
            self._heal()
            return member in self._new

    def _heal(self) -> None:
        assert self._files.heal is not None
        self._files.heal()

    def put_below(self, other: _CachedSet) -> None:
        """Take over what was there before."""
        self.fresh = [*(one for one in other.fresh if one not in self._new), *self._new]
        self._new |= other._new

    def update(self, members: Iterable[str], /) -> None:
        """Add members; adding one again changes nothing."""
        new, fresh = self._new, self.fresh
        for member in members:
            if member not in new:
                new.add(member)
                fresh.append(member)

    def encoded(self) -> Iterator[bytes]:
        """The entries that no file has yet."""
        return map(_key, self.fresh)


class _CachedTable(Generic[K, V]):
    """A map whose entries are never changed once made."""

    def __init__(
        self,
        files: _Files,
        table: int,
        key: Callable[[K], bytes],
        write: Callable[[V], bytes],
        read: Callable[[bytes], V],
    ) -> None:
        self._files = files
        self._table = table
        self._key = key
        self._write = write
        self._read = read
        self._known: dict[K, V] = {}
        #: What no file has yet.
        self.fresh: dict[K, V] = {}

    def get(self, key: K, /) -> V | None:
        """The value of a key, or None."""
        found = self._known.get(key)
        if found is not None or not self._files:
            return found
        try:
            raw = self._files.find(self._table, self._key(key))
            if raw is None:
                return None
            value = self._known[key] = self._read(raw)
        except (DoubtfulCache, InvalidError):
            assert self._files.heal is not None
            self._files.heal()
            return self._known.get(key)
        return value

    def put_below(self, other: _CachedTable[K, V]) -> None:
        """Take over what was there before."""
        self._known = {**other._known, **self._known}
        self.fresh = dict(self._known)

    def __setitem__(self, key: K, value: V, /) -> None:
        self._known[key] = value
        self.fresh[key] = value

    def encoded(self) -> Iterator[bytes]:
        """The entries that no file has yet."""
        return (self._key(key) + self._write(value) for key, value in self.fresh.items())


class CaseTables:
    """Everything of a case that grows with it.

    Args:
        files: Tables that cover what was there before, newest first; none for a case that
            is folded from its beginning.
        objects: Where the documents are that tables refer to.
        fold: Gives the tables of what the files cover, without any file; what it raises
            passes through a lookup.
    """

    def __init__(
        self,
        files: Sequence[SortedTables],
        objects: ObjectSource,
        fold: Callable[[], CaseTables] | None = None,
    ) -> None:
        self._objects = objects
        self._fold = fold
        own = self._files = _Files(files, self._heal)
        self.seen = _CachedSet(own, _ATOMS)
        self.refs = _CachedSet(own, _REFS)
        self.contents: _CachedTable[ObjectId, str] = _CachedTable(
            own, _CONTENTS, _key, _number_to_bytes, _number_from_bytes
        )
        self.operations: _CachedTable[tuple[int, str], Operation] = _CachedTable(
            own, _OPERATIONS, _key_of, lambda one: one.index.to_bytes(), self._operation
        )
        self.actions: _CachedTable[ActionKey, str] = _CachedTable(
            own, _ACTIONS, _key_of, _number_to_bytes, _number_from_bytes
        )
        self.outcomes: _CachedTable[CommandKey, Outcome] = _CachedTable(
            own,
            _OUTCOMES,
            _key_of,
            lambda one: bytes.fromhex(one.payload) + one.entry.to_bytes(),
            lambda raw: Outcome(raw[:32].hex(), ObjectId.from_bytes(raw[32:])),
        )
        self._stored_records = sum(file.count(_RECORDS) for file in own.open)
        self._new_records: list[IndexedRecord] = []
        self._fresh_records = 0
        self._healed = False

    def extend(self, records: Iterable[IndexedRecord]) -> None:
        """Note records of the next publication, in their order."""
        self._new_records.extend(records)

    def records(self) -> list[IndexedRecord]:
        """All records, in the order of creation."""
        try:
            stored = self._stored()
        except DoubtfulCache:
            self._heal()
            stored = []
        return stored + self._new_records

    def _stored(self) -> list[IndexedRecord]:
        stored: list[IndexedRecord] = []
        for file in reversed(self._files.open):
            for entry in file.entries(_RECORDS):
                number = int.from_bytes(entry[:KEY_BYTES], "big")
                if number != len(stored) + 1:
                    raise DoubtfulCache("a cached table lacks records")
                oid = ObjectId.from_bytes(entry[KEY_BYTES:])
                stored.append(IndexedRecord(id=record_id(number), object=oid))
        return stored

    @property
    def healed(self) -> bool:
        """Whether files were given up, so that everything is fresh."""
        return self._healed

    def _heal(self) -> None:
        assert self._fold is not None
        before = self._fold()
        self._files.open = []
        self._healed = True
        self.seen.put_below(before.seen)
        self.refs.put_below(before.refs)
        self.contents.put_below(before.contents)
        self.operations.put_below(before.operations)
        self.actions.put_below(before.actions)
        self.outcomes.put_below(before.outcomes)
        self._new_records = before.records() + self._new_records
        self._stored_records = self._fresh_records = 0

    @property
    def count(self) -> int:
        """How many records there are."""
        return self._stored_records + len(self._new_records)

    def fresh_entries(self) -> list[list[bytes]]:
        """Per table, the sorted entries that no file has yet."""
        first = self._stored_records + self._fresh_records + 1
        tables: list[list[bytes]] = [[] for _ in VALUES]
        tables[_ATOMS] = sorted(self.seen.encoded())
        tables[_CONTENTS] = sorted(self.contents.encoded())
        tables[_OPERATIONS] = sorted(self.operations.encoded())
        tables[_ACTIONS] = sorted(self.actions.encoded())
        tables[_OUTCOMES] = sorted(self.outcomes.encoded())
        tables[_REFS] = sorted(self.refs.encoded())
        tables[_RECORDS] = [
            number.to_bytes(KEY_BYTES, "big") + one.object.to_bytes()
            for number, one in enumerate(self._new_records[self._fresh_records :], first)
        ]
        return tables

    def saved(self) -> None:
        """Note that a file has all of :meth:`fresh_entries` now."""
        self.seen.fresh = []
        self.refs.fresh = []
        for table in (self.contents, self.operations, self.actions, self.outcomes):
            table.fresh = {}
        self._fresh_records = len(self._new_records)
        self._healed = False

    def _operation(self, raw: bytes) -> Operation:
        oid = ObjectId.from_bytes(raw)
        try:
            index = self._objects.document(oid, EvidenceIndex)
        except VStoreError as error:
            raise DoubtfulCache("a cached operation leads to no index") from error
        return Operation(index.payload, oid, tuple(index.records))


def _key(text: str) -> bytes:
    return blake3(text.encode()).digest()


def _key_of(key: tuple[object, ...]) -> bytes:
    # No member of a key can hold a line end.
    return blake3("\n".join(map(str, key)).encode()).digest()


def _number_to_bytes(text: str) -> bytes:
    return record_number(text).to_bytes(8, "big")


def _number_from_bytes(raw: bytes) -> str:
    return record_id(int.from_bytes(raw, "big"))
