"""Tables in files of checked pages, against plain dicts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from blake3 import blake3

from vstore.errors import IntegrityError
from vstore.objects.sorted_tables import DoubtfulCache, SortedTables, encode_tables

VALUES = (0, 8, 200)


def keys(count: int, salt: str) -> list[bytes]:
    return [blake3(f"{salt}{one}".encode()).digest() for one in range(count)]


def write(path: Path, tables: list[dict[bytes, bytes]]) -> bytes:
    content, digest = encode_tables(
        [
            (size, sorted(key + value for key, value in table.items()))
            for size, table in zip(VALUES, tables, strict=True)
        ]
    )
    path.write_bytes(content)
    return digest


@pytest.fixture
def tables() -> list[dict[bytes, bytes]]:
    return [
        dict.fromkeys(keys(1000, "a"), b""),
        {key: number.to_bytes(8, "big") for number, key in enumerate(keys(333, "b"))},
        {key: key * 6 + b"12345678" for key in keys(41, "c")},
    ]


@pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 1000])
def test_every_key_is_found_and_no_other(tmp_path: Path, count: int) -> None:
    table = {key: b"%08d" % number for number, key in enumerate(keys(count, "x"))}
    digest = write(tmp_path / "t", [{}, table, {}])
    with_file = SortedTables(tmp_path / "t", digest, VALUES)
    assert with_file.count(1) == count
    assert all(with_file.find(1, key) == value for key, value in table.items())
    absent = [*keys(50, "y"), bytes(32), b"\xff" * 32]
    assert all(with_file.find(1, key) is None for key in absent)
    assert all(with_file.find(0, key) is None for key in table)
    assert list(with_file.entries(1)) == sorted(key + value for key, value in table.items())


def test_a_lookup_reads_one_page(tmp_path: Path, tables: list[dict[bytes, bytes]]) -> None:
    digest = write(tmp_path / "t", tables)
    file = SortedTables(tmp_path / "t", digest, VALUES)
    before = file.bytes_read
    file.find(0, keys(1, "a")[0])
    assert 0 < file.bytes_read - before <= 4096
    again = file.bytes_read
    file.find(0, keys(1, "a")[0])
    assert file.bytes_read == again
    # The header of a large file is a small part of it.
    assert before < (tmp_path / "t").stat().st_size / 20


def test_any_flipped_byte_is_noticed_or_of_no_consequence(
    tmp_path: Path, tables: list[dict[bytes, bytes]]
) -> None:
    digest = write(tmp_path / "t", tables)
    content = (tmp_path / "t").read_bytes()
    choice = random.Random(7)
    for at in [*range(0, 400, 7), *(choice.randrange(len(content)) for _ in range(60))]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << choice.randrange(8)
        (tmp_path / "t").write_bytes(damaged)
        seen = 0
        with pytest.raises(DoubtfulCache):
            file = SortedTables(tmp_path / "t", digest, VALUES)
            for number, table in enumerate(tables):
                for key, value in table.items():
                    assert file.find(number, key) == value
                    seen += 1
        assert seen < sum(map(len, tables))


@pytest.mark.parametrize("length", [0, 1, 8, 15, 16, 500, 4000, -1])
def test_a_file_that_is_cut_short(
    tmp_path: Path, tables: list[dict[bytes, bytes]], length: int
) -> None:
    digest = write(tmp_path / "t", tables)
    content = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(content[:length])
    with pytest.raises(DoubtfulCache):
        list(SortedTables(tmp_path / "t", digest, VALUES).entries(2))


def test_another_file_than_meant(tmp_path: Path, tables: list[dict[bytes, bytes]]) -> None:
    digest = write(tmp_path / "t", tables)
    for path, wanted, values in (
        ("absent", digest, VALUES),
        ("t", bytes(32), VALUES),
        ("t", digest, (0, 8)),
        ("t", digest, (0, 8, 16)),
        (".", digest, VALUES),
    ):
        with pytest.raises(DoubtfulCache) as raised:
            SortedTables(tmp_path / path, wanted, values)
        assert isinstance(raised.value, IntegrityError)
        assert raised.value.kind == "doubtful_cache"


def test_a_file_that_goes_bad_while_it_is_open(
    tmp_path: Path, tables: list[dict[bytes, bytes]]
) -> None:
    digest = write(tmp_path / "t", tables)
    file = SortedTables(tmp_path / "t", digest, VALUES)
    known = keys(1, "a")[0]
    assert file.find(0, known) == b""
    file.close()
    assert file.find(0, known) == b""  # its page was read
    with pytest.raises(DoubtfulCache):
        list(file.entries(0))
