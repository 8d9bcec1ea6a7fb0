"""Unpacking forward: exact ends, damage, bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable

import pytest

from vstore.errors import InvalidError, LimitExceeded, StorageError
from vstore.package.limits import PackageLimits
from vstore.tools.archive_members import ArchiveLimits
from vstore.tools.archive_stream import UnpackedStream, compression_of

CONTENT = b"".join(b"%d %d\n" % (number, number * number) for number in range(8_000))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def unpacked(packed: bytes, chunk: int = 100_000, limits: ArchiveLimits | None = None) -> bytes:
    stream = UnpackedStream(
        io.BytesIO(packed), compression_of(packed), len(packed), limits or ArchiveLimits()
    )
    found = []
    while piece := stream.read(chunk):
        found.append(piece)
    return b"".join(found)


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("chunk", [7919, 100_000, 10**9])
def test_round_trip(name: str, chunk: int) -> None:
    packed = PACKERS[name](CONTENT)
    assert compression_of(packed) == name
    assert unpacked(packed, chunk) == CONTENT


def test_plain_bytes_pass() -> None:
    assert compression_of(b"plain") is None
    assert unpacked(b"plain bytes", 3) == b"plain bytes"


@pytest.mark.parametrize("name", PACKERS)
def test_several_streams_and_zero_padding(name: str) -> None:
    pack = PACKERS[name]
    assert unpacked(pack(b"one ") + pack(b"") + pack(b"two") + bytes(70_000)) == b"one two"
    assert unpacked(pack(b"")) == b""


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("tail", [b"tail", bytes(9) + b"x", bytes(150_000) + b"x"])
def test_something_behind_the_end_is_refused(name: str, tail: bytes) -> None:
    with pytest.raises(InvalidError) as caught:
        unpacked(PACKERS[name](CONTENT) + tail)
    assert caught.value.kind == "trailing_bytes"


@pytest.mark.parametrize("name", PACKERS)
def test_every_cut_is_noticed(name: str) -> None:
    packed = PACKERS[name](b"some content that is packed")
    for length in range(6, len(packed)):
        with pytest.raises(InvalidError) as caught:
            unpacked(packed[:length])
        assert caught.value.kind in ("truncated_archive", "damaged_archive")


@pytest.mark.parametrize("name", PACKERS)
def test_no_flipped_byte_changes_what_is_unpacked(name: str) -> None:
    packed = PACKERS[name](b"some content that is packed" * 3)
    noticed = 0
    for position in range(len(packed)):
        flipped = bytearray(packed)
        flipped[position] ^= 0x10
        try:
            # Flags and times of a gzip header may change without changing the content.
            assert unpacked(bytes(flipped)) in (b"some content that is packed" * 3, bytes(flipped))
        except InvalidError:
            noticed += 1
    assert noticed > len(packed) // 2


def test_another_compression_behind_is_damage() -> None:
    with pytest.raises(InvalidError) as caught:
        unpacked(gzip.compress(b"a") + bz2.compress(b"b"))
    assert caught.value.kind == "damaged_archive"


def test_output_that_is_still_pending_when_the_input_is_used_up() -> None:
    # All input is taken by the first call, whose output is cut at one byte.
    packed = gzip.compress(bytes(5000))
    assert unpacked(packed, 1) == bytes(5000)


def test_a_bomb_stops_at_the_ratio() -> None:
    bomb = gzip.compress(bytes(20 << 20))
    limits = ArchiveLimits(ratio_from_bytes=1 << 20)
    stream = UnpackedStream(io.BytesIO(bomb), "gzip", len(bomb), limits)
    with pytest.raises(LimitExceeded) as caught:
        stream.read(1 << 30)
    assert caught.value.details["limit"] == "max_ratio"
    assert unpacked(bomb, limits=ArchiveLimits(max_ratio=2000)) == bytes(20 << 20)


def test_a_total_has_a_bound() -> None:
    limits = ArchiveLimits(package=PackageLimits(max_input_bytes=1000, max_input_files=1))
    with pytest.raises(LimitExceeded) as caught:
        unpacked(gzip.compress(CONTENT), limits=limits)
    assert caught.value.details["limit"] == "max_input_bytes"


def test_xz_may_not_ask_for_any_memory() -> None:
    # Preset 9 asks for 64 MiB to unpack; a filter with a dictionary of 1.5 GiB is refused.
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1536 << 20, "mode": lzma.MODE_FAST}]
    packed = bytearray(lzma.compress(b"x", filters=[{**filters[0], "dict_size": 1 << 20}]))
    # The block header holds the dictionary size in one byte; 38 stands for 2 GiB.
    at = packed.index(b"\x21\x01", 12) + 2
    packed[at] = 38
    header_size = (packed[12] + 1) * 4
    crc = zlib.crc32(bytes(packed[12 : 12 + header_size - 4]))
    packed[12 + header_size - 4 : 12 + header_size] = crc.to_bytes(4, "little")
    with pytest.raises(InvalidError) as caught:
        unpacked(bytes(packed))
    assert caught.value.kind == "damaged_archive"
    assert "limit" in str(caught.value.__cause__)


def test_a_failing_disk_is_no_damage() -> None:
    class Failing(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            raise OSError(5, "I/O error")

    for compression in ("bzip2", None):
        with pytest.raises(StorageError):
            UnpackedStream(Failing(), compression, 10, ArchiveLimits()).read(1)


def test_other_faults_are_not_hidden() -> None:
    class Broken(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            raise KeyError

    with pytest.raises(KeyError):
        UnpackedStream(Broken(), "gzip", 10, ArchiveLimits()).read(1)
