"""Chunk boundaries: sizes, sharing, and one literal vector."""

from __future__ import annotations

from blake3 import blake3

from vstore.objects.canonical import encode
from vstore.tools.chunker import MAX_BYTES, MEAN_BYTES, MIN_BYTES, chunk_rows, ends_chunk, key_of
from vstore.tools.database_content import StoredRow


def sized(rows: list[StoredRow]) -> list[tuple[StoredRow, int]]:
    return [(row, len(encode(row))) for row in rows]


def numbered(count: int, text: str = "x" * 100) -> list[StoredRow]:
    return [StoredRow(number, [number, text]) for number in range(1, count + 1)]


def test_keys() -> None:
    row = StoredRow(7, ["a", None, "b"])
    assert key_of(row, "rowid", []) == b"[7,[]]"
    assert key_of(StoredRow(None, ["a", None, "b"]), "key", [2, 0]) == b'[null,["b","a"]]'
    assert key_of(StoredRow(None, ["a"]), "scan", []) == b'[null,["a"]]'


def test_the_rule_by_its_own_words() -> None:
    key = b"[7,[]]"
    draw = int.from_bytes(blake3(key).digest()[:8], "big")
    assert not ends_chunk(MIN_BYTES - 1, MIN_BYTES - 1, key)
    assert ends_chunk(MAX_BYTES, 1, b"whatever")
    # The smallest row size that draws this key.
    size = draw * MEAN_BYTES // 2**64 + 1
    assert ends_chunk(MIN_BYTES, size, key)
    assert not ends_chunk(MIN_BYTES, size - 1, key)


def test_rows_are_kept_in_order_and_sizes_hold() -> None:
    rows = numbered(20_000)
    chunks = list(chunk_rows(sized(rows), "rowid", []))
    assert [row for chunk in chunks for row in chunk.rows] == rows
    largest = max(size for _, size in sized(rows))
    for chunk in chunks[:-1]:
        assert MIN_BYTES <= chunk.size < MAX_BYTES + largest
    mean = sum(chunk.size for chunk in chunks) / len(chunks)
    assert MIN_BYTES < mean < 2 * (MIN_BYTES + MEAN_BYTES)


def test_an_insertion_changes_few_chunks() -> None:
    rows = numbered(20_000)
    before = {encode(chunk.rows[0]) for chunk in chunk_rows(sized(rows), "rowid", [])}
    changed = [*rows[:9_000], StoredRow(9_000_000, [0, "new" * 2_000]), *rows[9_000:]]
    after = {encode(chunk.rows[0]) for chunk in chunk_rows(sized(changed), "rowid", [])}
    assert len(before) > 30
    assert len(after - before) <= 4


def test_rows_larger_than_a_chunk_stand_alone() -> None:
    rows = [StoredRow(number, ["x" * MAX_BYTES]) for number in range(3)]
    assert [len(chunk.rows) for chunk in chunk_rows(sized(rows), "rowid", [])] == [1, 1, 1]


def test_no_rows_no_chunks() -> None:
    assert list(chunk_rows([], "rowid", [])) == []
