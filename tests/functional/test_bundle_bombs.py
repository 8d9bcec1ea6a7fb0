"""What would eat memory or time is refused within 2 seconds and 64 MiB."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from vstore.objects.frame import FRAME_MAGIC, NO_GENERATION, assemble_frame
from vstore.objects.frame_table import LARGE_ENTRY, OBJECT_ENTRY
from vstore.objects.ids import object_id
from vstore.objects.layout import large_name
from vstore.objects.segment import SegmentHeader, encode_segment_header
from vstore.package.bundle_log import segment_salt
from vstore.testing.bundles import make_bundle, members_of, write_archive
from vstore.testing.investigation import small_investigation

MIB = 1 << 20
HEAD = object_id(b"head").to_bytes()
_MEASURE = """
import json, sys, time
from vstore.verify import verify_package

def kib(member):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(member))

verify_package(sys.argv[1])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
before = kib("VmRSS:")
start = time.monotonic()
report = verify_package(sys.argv[2])
seconds = time.monotonic() - start
print(json.dumps({
    "code": report.exit_code,
    "codes": sorted(report.codes()),
    "seconds": seconds,
    "kib": kib("VmHWM:") - before,
}))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="measures memory in /proc")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("good"))


def _zeros(size: int) -> bytes:
    return zstandard.ZstdCompressor().compress(bytes(size))


def _with_frames(good: Path, target: Path, *frames: dict[str, object], **large: bytes) -> Path:
    """A bundle with a log of these frames, in order to the last checksum but for what they are."""
    salt = segment_salt(1, HEAD)
    log = bytearray(encode_segment_header(SegmentHeader(1, salt, 1)))
    for sequence, frame in enumerate(frames, 1):
        log += assemble_frame(
            salt=salt,
            offset=len(log),
            sequence=sequence,
            parent=NO_GENERATION,
            generation=HEAD if sequence == len(frames) else NO_GENERATION,
            **frame,  # type: ignore[arg-type]
        )
    assert log.count(FRAME_MAGIC) == len(frames)
    members = [one for one in members_of(good) if not one[0].startswith("objects/")]
    members.append(("objects/log/00000001.vlog", bytes(log)))
    members += list(large.items())
    return write_archive(target, members)


def _frame(payload: bytes, claimed: int) -> dict[str, object]:
    return {
        "counts": (1, 0),
        "table": OBJECT_ENTRY.pack(object_id(b"x").to_bytes(), 0, 0, 0, claimed),
        "payload": payload,
        "raw_length": claimed,
    }


def _large(length: int, stored: bytes) -> dict[str, object]:
    from blake3 import blake3

    entry = LARGE_ENTRY.pack(
        object_id(b"x").to_bytes(), 0, 0, length, len(stored), blake3(stored).digest()
    )
    return {"counts": (0, 1), "table": entry, "payload": b"", "raw_length": 0}


def _zip_bomb(good: Path, target: Path) -> Path:
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("VSTORE", "w") as member,
    ):
        for _ in range(256):
            member.write(bytes(MIB))
    return target


def _many_entries(count: int) -> Callable[[Path, Path], Path]:
    def make(good: Path, target: Path) -> Path:
        entry = good.read_bytes()
        at = entry.index(b"PK\x01\x02")
        entry = entry[at : at + 52]
        number, offset = 1_000_000, 1000
        wide = struct.pack(
            "<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, number * 52, offset
        ) + struct.pack("<4sIQI", b"PK\x06\x07", 0, offset + number * 52, 1)
        short = min(count, 0xFFFF)
        end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, short, short, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        with target.open("wb") as file:
            file.write(b"PK\x03\x04" + bytes(offset - 4))
            file.write(entry * number)
            file.write(wide + end)
        return target

    return make


def _huge_member(good: Path, target: Path) -> Path:
    raw = good.read_bytes()
    start = struct.unpack_from("<I", raw, len(raw) - 6)[0]
    entry = bytearray(raw[start : start + 52])
    entry[20:28] = b"\xff" * 8
    entry[30:32] = struct.pack("<H", 20)
    extra = struct.pack("<HHQQ", 1, 16, 1 << 40, 1 << 40)
    rest = raw[start + 52 : -22]
    end = bytearray(raw[-22:])
    end[12:16] = struct.pack("<I", len(entry) + 20 + len(rest))
    target.write_bytes(raw[:start] + entry + extra + rest + end)
    return target


def _huge_frame(good: Path, target: Path) -> Path:
    """A frame whose header claims more than any frame has, its digest right."""
    path = _with_frames(good, target, _frame(_zeros(1000), 1000))
    members = members_of(path)
    name, log = members[-1]
    at = log.index(FRAME_MAGIC)
    changed = bytearray(log)
    struct.pack_into("<I", changed, at + 8 + 4 + 4 + 16 + 8 + 8 + 32 + 32 + 8 + 4, 0xFFFFFFFF)
    members[-1] = (name, bytes(changed))
    return write_archive(target, members)


BOMBS: dict[str, Callable[[Path, Path], Path]] = {
    "a deflated member": _zip_bomb,
    "a million entries": _many_entries(1_000_000),
    "a million entries, said to be seven": _many_entries(7),
    "a member of a tebibyte": _huge_member,
    "a frame of 4 GiB": _huge_frame,
    "200 MB in a frame that claims little": lambda good, target: _with_frames(
        good, target, _frame(_zeros(200 * MIB), 1000)
    ),
    "200 MB in a frame that claims the most": lambda good, target: _with_frames(
        good, target, _frame(_zeros(200 * MIB), 16 * MIB)
    ),
    "2 GiB in a hundred honest frames": lambda good, target: _with_frames(
        good, target, *[_frame(_zeros(16 * MIB), 16 * MIB)] * 128
    ),
    "200 MB in a large object that claims little": lambda good, target: _with_frames(
        good,
        target,
        _large(2 * MIB, _zeros(200 * MIB)),
        **{large_name(object_id(b"x")): _zeros(200 * MIB)},
    ),
    "a large object of a tebibyte": lambda good, target: _with_frames(
        good,
        target,
        _large(1 << 40, _zeros(200 * MIB)),
        **{large_name(object_id(b"x")): _zeros(200 * MIB)},
    ),
    "a large object past every limit": lambda good, target: _with_frames(
        good, target, _large(1 << 63, b"x"), **{large_name(object_id(b"x")): b"x"}
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_refused_at_once(good: Path, tmp_path: Path, name: str) -> None:
    _refused(good, BOMBS[name](good, tmp_path / "bomb.zip"))


@pytest.mark.deep
@pytest.mark.parametrize("folder", ["objects/large/ab", "cache", "refs", "objects/log"])
def test_a_folder_of_many_files(good: Path, tmp_path: Path, folder: str) -> None:
    """A package that is a folder, with far more files than any has."""
    package = tmp_path / "package"
    small_investigation(package, tmp_path).close()
    (package / folder).mkdir(parents=True, exist_ok=True)
    for number in range(300_000):
        name = f"{number + 2:08}.vlog" if folder == "objects/log" else f"r{number:060}"
        os.close(os.open(package / folder / name, os.O_CREAT))
    found = _refused(good, package)
    assert {"VS-CON-023", "VS-CON-024"} & set(found["codes"])


def _refused(good: Path, bomb: Path) -> dict[str, Any]:
    """Demand that it is refused in time and in bounds; what was found."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, good, bomb], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["code"] in (1, 3), found
    assert found["seconds"] < 2, found
    assert found["kib"] < 64 * 1024, found
    assert found["codes"]
    return found
