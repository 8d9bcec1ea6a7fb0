"""Files of sorted tables for derived caches: written once, read a page at a time.

A file has some tables; a table's entries are 32-byte keys with values of one size, sorted.
Entries lie in pages of at most 4 KiB, and the header holds the first key and a checksum of
every page, so that a lookup reads and checks one page, however large the table is. Whoever
names a file keeps the digest of its header; whatever doesn't fit makes the file doubtful.

Little-endian: magic 8 | header length u32 | table count u32 | per table: value size u32,
entry count u64, page count u64, then per page its first key 32 and BLAKE3-128 of its bytes
16. Pages follow in the order of the header.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from blake3 import blake3

from vstore.errors import IntegrityError

__all__ = ["KEY_BYTES", "DoubtfulCache", "SortedTables", "encode_tables"]

KEY_BYTES: Final = 32
_MAGIC: Final = b"VStable\x01"
_HEAD: Final = struct.Struct("<8sII")
_TABLE: Final = struct.Struct("<IQQ")
_PAGE_HEAD: Final = KEY_BYTES + 16
_PAGE_BYTES: Final = 4096
_MAX_HEADER: Final = 1 << 26


class DoubtfulCache(IntegrityError):
    """A derived cache is not what it should be: nothing is wrong with the package.

    Whoever asked the cache forgets it and goes on without.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what, kind="doubtful_cache")


def encode_tables(tables: Sequence[tuple[int, Sequence[bytes]]]) -> tuple[bytes, bytes]:
    """The bytes of a file.

    Args:
        tables: Per table the size of its values in bytes, 0 to 1,024, and its entries, key
            and value together, sorted, no key twice.

    Returns:
        The bytes, and the digest of the header that whoever names the file must keep.
    """
    heads: list[bytes] = []
    pages: list[bytes] = []
    for value_bytes, entries in tables:
        step = _per_page(value_bytes)
        starts = range(0, len(entries), step)
        heads.append(_TABLE.pack(value_bytes, len(entries), len(starts)))
        for start in starts:
            page = b"".join(entries[start : start + step])
            heads.append(page[:KEY_BYTES] + blake3(page).digest(16))
            pages.append(page)
    body = b"".join(heads)
    header = _HEAD.pack(_MAGIC, _HEAD.size + len(body), len(tables)) + body
    return b"".join((header, *pages)), blake3(header).digest()


class _Table(NamedTuple):
    value_bytes: int
    entries: int
    #: First key of each page, and the checksum of each.
    keys: list[bytes]
    checksums: list[bytes]
    #: Where the first page begins.
    offset: int


class SortedTables:
    """One file, open for lookups.

    Args:
        path: The file.
        digest: What the header must have, 32 bytes.
        values: The sizes of the tables' values that are expected.

    Raises:
        DoubtfulCache: There is no such file, or another one than meant.
    """

    def __init__(self, path: Path, digest: bytes, values: Sequence[int]) -> None:
        self._fd = -1
        self._pages: dict[tuple[int, int], bytes] = {}
        #: Bytes that were read so far, header included.
        self.bytes_read = 0
        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(path, flags)
            self._tables = self._read_header(digest, values)
        except OSError as error:
            self.close()
            raise DoubtfulCache("a cached table can't be read") from error
        except DoubtfulCache:
            self.close()
            raise

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def count(self, table: int) -> int:
        """How many entries a table has."""
        return self._tables[table].entries

    def find(self, table: int, key: bytes) -> bytes | None:
        """The value of a key, None where the table lacks it.

        Raises:
            DoubtfulCache: The page that should have it is damaged.
        """
        found = self._tables[table]
        number = bisect_right(found.keys, key) - 1
        if number < 0:
            return None
        page = self._page(table, number)
        size = KEY_BYTES + found.value_bytes
        low, high = 0, len(page) // size
        while low < high:
            middle = (low + high) // 2
            at = middle * size
            here = page[at : at + KEY_BYTES]
            if here < key:
                low = middle + 1
            elif here > key:
                high = middle
            else:
                return page[at + KEY_BYTES : at + size]
        return None

    def entries(self, table: int) -> Iterator[bytes]:
        """All entries of a table, key and value together, sorted.

        Raises:
            DoubtfulCache: A page is damaged.
        """
        found = self._tables[table]
        size = KEY_BYTES + found.value_bytes
        for number in range(len(found.keys)):
            page = self._page(table, number)
            yield from [page[at : at + size] for at in range(0, len(page), size)]

    def _page(self, table: int, number: int) -> bytes:
        page = self._pages.get((table, number))
        if page is not None:
            return page
        found = self._tables[table]
        size = KEY_BYTES + found.value_bytes
        step = _per_page(found.value_bytes)
        length = min(step, found.entries - number * step) * size
        try:
            page = os.pread(self._fd, length, found.offset + number * step * size)
        except OSError as error:
            raise DoubtfulCache("a cached table can't be read") from error
        self.bytes_read += len(page)
        if len(page) != length or blake3(page).digest(16) != found.checksums[number]:
            raise DoubtfulCache("a page of a cached table is damaged")
        # Kept: a key that was looked up once can always be looked up again.
        self._pages[table, number] = page
        return page

    def _read_header(self, digest: bytes, values: Sequence[int]) -> list[_Table]:
        first = os.pread(self._fd, _HEAD.size, 0)
        if len(first) != _HEAD.size:
            raise DoubtfulCache("a cached table is cut short")
        magic, length, count = _HEAD.unpack(first)
        if magic != _MAGIC or not _HEAD.size <= length <= _MAX_HEADER or count != len(values):
            raise DoubtfulCache("a cached table is something else")
        header = os.pread(self._fd, length, 0)
        self.bytes_read += len(header)
        if len(header) != length or blake3(header).digest() != digest:
            raise DoubtfulCache("a cached table is damaged")
        # From here on the header is what was written, so its numbers can be relied on.
        tables: list[_Table] = []
        at, offset = _HEAD.size, length
        for expected in values:
            value_bytes, entries, pages = _TABLE.unpack_from(header, at)
            at += _TABLE.size
            if value_bytes != expected:
                raise DoubtfulCache("a cached table has other values")
            ends = range(at, at + pages * _PAGE_HEAD, _PAGE_HEAD)
            keys = [header[one : one + KEY_BYTES] for one in ends]
            checksums = [header[one + KEY_BYTES : one + _PAGE_HEAD] for one in ends]
            tables.append(_Table(value_bytes, entries, keys, checksums, offset))
            at += pages * _PAGE_HEAD
            offset += entries * (KEY_BYTES + value_bytes)
        return tables


def _per_page(value_bytes: int) -> int:
    return max(1, _PAGE_BYTES // (KEY_BYTES + value_bytes))
