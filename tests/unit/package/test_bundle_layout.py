"""The archive's bytes, against the standard library's reader and writer of ZIP files."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import pytest

from vstore.package.bundle_layout import (
    END_BYTES,
    END_WITH_64_BYTES,
    ArchiveEnd,
    Member,
    central_directory,
    central_entry,
    end_records,
    local_header,
    next_entry,
    offsets,
    parse_end,
)
from vstore.testing.bundles import write_archive

CONTENTS = [("VSTORE", b"{}\n"), ("refs/generation", b"x" * 68), ("objects/log/00000001.vlog", b"")]
GIB = 1 << 30


def _archive(contents: list[tuple[str, bytes]]) -> bytes:
    members = [Member(name.encode(), len(raw), zlib.crc32(raw)) for name, raw in contents]
    parts = [local_header(member) + raw for member, (_, raw) in zip(members, contents, strict=True)]
    directory = central_directory(members)
    return b"".join((*parts, directory, end_records(3, len(directory), offsets(members)[-1])))


def test_equals_what_the_standard_library_writes(tmp_path: Path) -> None:
    expected = write_archive(tmp_path / "a.zip", CONTENTS).read_bytes()
    assert _archive(CONTENTS) == expected


def test_is_read_back() -> None:
    raw = _archive(CONTENTS)
    end = parse_end(raw[-END_WITH_64_BYTES:])
    assert end is not None
    assert end.members == 3
    assert end.length == END_BYTES
    assert end.directory_offset + end.directory_size + END_BYTES == len(raw)
    at = 0
    directory = raw[end.directory_offset : -END_BYTES]
    for (name, content), place in zip(CONTENTS, (0, 39, 152), strict=True):
        entry = next_entry(directory, at)
        assert entry is not None
        assert entry.member == Member(name.encode(), len(content), zlib.crc32(content))
        assert (entry.offset, entry.flags, entry.method, entry.mode) == (place, 0, 0, 0o100644)
        assert raw[place : place + 4] == b"PK\x03\x04"
        at += entry.length
    assert at == len(directory)
    assert next_entry(directory, at) is None


@pytest.mark.parametrize("raw", [b"", b"PK\x05\x06", bytes(22), b"PK\x05\x06" + bytes(17)])
def test_no_end(raw: bytes) -> None:
    assert parse_end(raw) is None


def test_an_end_that_is_all_there_is() -> None:
    assert parse_end(b"PK\x05\x06" + bytes(18)) == ArchiveEnd(0, 0, 0, 22)


def test_entries_that_dont_fit() -> None:
    entry = central_entry(Member(b"VSTORE", 3, 7), 0)
    assert next_entry(entry, 0) is not None
    for length in range(len(entry)):
        assert next_entry(entry[:length], 0) is None
    assert next_entry(b"PK\x01\x03" + entry[4:], 0) is None


@pytest.mark.parametrize("size", [4 * GIB - 2, 4 * GIB - 1, 4 * GIB, 5 * GIB])
def test_members_past_4_gib_are_read_by_the_standard_library(tmp_path: Path, size: int) -> None:
    # A file with holes: nothing of this size is written.
    members = [Member(b"a", size, 0x12345678), Member(b"b", 3, zlib.crc32(b"end"))]
    places = offsets(members)
    path = tmp_path / "large.zip"
    with path.open("wb") as file:
        file.write(local_header(members[0]))
        file.seek(places[1])
        file.write(local_header(members[1]) + b"end")
        directory = central_directory(members)
        assert file.tell() == places[2]
        file.write(directory + end_records(2, len(directory), places[2]))
    with zipfile.ZipFile(path) as archive:
        assert [(one.filename, one.file_size) for one in archive.infolist()] == [
            ("a", size),
            ("b", 3),
        ]
        assert [one.header_offset for one in archive.infolist()] == places[:2]
        assert archive.read("b") == b"end"
    raw = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, raw - END_WITH_64_BYTES))
        end = parse_end(file.read())
    assert end is not None
    assert end[:3] == (2, len(directory), places[2])
    assert end.length == (END_WITH_64_BYTES if places[2] >= 4 * GIB - 1 else END_BYTES)
    second = next_entry(directory, next_entry(directory, 0).length)  # type: ignore[union-attr]
    assert second is not None
    assert second.offset == places[1]
    assert second.member == members[1]
