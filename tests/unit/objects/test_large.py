"""Large objects: sizes that lie, streams that break, files of several frames."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
import zstandard

from vstore.errors import IntegrityError, LimitExceeded, StorageError
from vstore.objects.durable import REAL
from vstore.objects.ids import object_id
from vstore.objects.large import measure, open_large, read_chunks
from vstore.objects.large_writer import write_large

CONTENT = b"some text " * 5000 + bytes(range(256)) * 50


def compress(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


def store(path: Path, content: bytes) -> tuple[int, int]:
    fd = REAL.create(path)
    try:
        stored = write_large(io.BytesIO(content), fd, REAL, max_bytes=len(content))
    finally:
        REAL.close(fd)
    assert stored.oid == object_id(content)
    assert stored.length == len(content)
    assert stored.stored_length == path.stat().st_size
    assert measure(path) == stored
    return stored.length, stored.stored_length


@pytest.mark.parametrize("content", [b"", b"x", CONTENT, bytes(1 << 20), os.urandom(600_000)])
def test_round_trip(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "large"
    length, stored_length = store(path, content)
    with open_large(path, object_id(content), length=length, stored_length=stored_length) as file:
        assert file.read() == content
    # Another implementation of zstd's frames reads it too.
    assert zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()) == content


def test_another_object_s_file(tmp_path: Path) -> None:
    path = tmp_path / "large"
    length, stored_length = store(path, CONTENT)
    file = open_large(path, object_id(b"other"), length=length, stored_length=stored_length)
    with pytest.raises(IntegrityError):
        file.read()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not zstd at all",
        compress(CONTENT)[:-1],
        compress(CONTENT) + b"x",
        compress(CONTENT) * 2,
        compress(CONTENT + b"x"),
        compress(CONTENT[:-1]),
        compress(bytes(1 << 30)),
        b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + compress(CONTENT),
    ],
    ids=["empty", "noise", "cut", "trailing", "twice", "longer", "shorter", "bomb", "skippable"],
)
def test_files_that_are_not_the_object(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "large"
    path.write_bytes(raw)
    produced = 0
    with pytest.raises(IntegrityError):
        for chunk in read_chunks(path, length=len(CONTENT), stored_length=len(raw)):
            produced += len(chunk)
    assert produced <= len(CONTENT)
    good = compress(CONTENT)
    path.write_bytes(good)
    assert b"".join(read_chunks(path, length=None, stored_length=None)) == CONTENT
    for wrong in (len(good) - 1, len(good) + 1, 0):
        with pytest.raises(IntegrityError):
            list(read_chunks(path, length=None, stored_length=wrong))


def test_a_window_that_would_take_too_much_memory(tmp_path: Path) -> None:
    path = tmp_path / "large"
    parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=3)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path.write_bytes(compressor.compress(CONTENT) + compressor.flush())
    with pytest.raises(IntegrityError):
        list(read_chunks(path, length=None, stored_length=None))
    assert measure(path) is None


def test_absent_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError) as caught:
        list(read_chunks(tmp_path / "absent", length=1, stored_length=1))
    assert caught.value.kind == "missing_large_object"
    assert measure(tmp_path / "absent") is None
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(StorageError):
        list(read_chunks(tmp_path / "link", length=1, stored_length=1))
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError):
        list(read_chunks(tmp_path / "folder", length=1, stored_length=1))


def test_limits_and_broken_streams(tmp_path: Path) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            raise OSError(5, "broken")

    fd = REAL.create(tmp_path / "large")
    try:
        with pytest.raises(LimitExceeded):
            write_large(io.BytesIO(CONTENT), fd, REAL, max_bytes=len(CONTENT) - 1)
        with pytest.raises(StorageError):
            write_large(Broken(), fd, REAL, max_bytes=10)  # type: ignore[arg-type]
    finally:
        REAL.close(fd)
