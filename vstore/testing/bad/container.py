"""VS-CON: files, frames, segments, large objects."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vstore.objects.layout import FORMAT_FILE, LARGE, LOG, PACKS, REFS, TMP, pack_name, segment_name
from vstore.objects.refs import MAX_REFS
from vstore.objects.writer import ObjectWriter
from vstore.package.repack import repack_store
from vstore.testing.bad.change import SALT, BadPackage, files, reseal, write_segments
from vstore.testing.editor import PackageEditor
from vstore.testing.packs import rewrite_pack

__all__ = ["PACKAGES"]


def _rewrite(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def write(package: Path) -> None:
        path = package / name
        path.write_bytes(change(path.read_bytes()))

    return write


def _create(name: str, content: bytes = b"") -> Callable[[Path], None]:
    def write(package: Path) -> None:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes(content)

    return write


def _flip_in_a_frame(package: Path) -> None:
    path = package / LOG / segment_name(1)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def _torn_and_changed(package: Path) -> None:
    frames = PackageEditor(package).frames
    write_segments(package, [frames[:4], frames[4:]], torn=b"a frame that was never finished")
    first = package / LOG / segment_name(1)
    first.write_bytes(first.read_bytes()[:-1] + b"!")


def _lose_a_segment(package: Path) -> None:
    frames = PackageEditor(package).frames
    write_segments(package, [frames[:4], frames[4:8], frames[8:]])
    (package / LOG / segment_name(2)).unlink()


def _skip_a_number(package: Path) -> None:
    write_segments(package, [PackageEditor(package).frames], skip=1)


def _lie_about_the_length(package: Path) -> None:
    def lie(header: bytearray) -> None:
        (length,) = struct.unpack_from("<I", header, 124)
        struct.pack_into("<I", header, 124, length - 1)

    frames = PackageEditor(package).frames
    write_segments(package, [frames], change={len(frames): reseal(lie)})


def _large_file(package: Path) -> Path:
    (path,) = (one for one in (package / LARGE).rglob("*") if one.is_file())
    return path


def _cut_large_file(package: Path) -> None:
    path = _large_file(package)
    path.write_bytes(path.read_bytes()[:-1])


def _second_large_file(package: Path) -> None:
    path = _large_file(package)
    (path.parent / ("0" * 62)).write_bytes(path.read_bytes())


def _nest_too_deep(package: Path) -> None:
    """Folders in folders, until their path is longer than any call of the system takes."""
    here = os.open(package, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in (TMP, *["one-folder-of-many-" * 12] * 20):
            os.mkdir(name, dir_fd=here)
            deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = deeper
    finally:
        os.close(here)


def _fill_refs(package: Path) -> None:
    for number in range(MAX_REFS):
        (package / REFS / f"filler_{number}").touch()


def _repack(package: Path) -> None:
    writer = ObjectWriter.open(package, salt=lambda: SALT)
    repack_store(writer)
    writer.close()


def _repacked(change: Callable[[Path], None]) -> Callable[[Path], None]:
    """Seal the log in a pack, and then change something."""

    def write(package: Path) -> None:
        _repack(package)
        change(package)

    return write


def _pack(package: Path) -> Path:
    (path,) = (package / PACKS).iterdir()
    return path


def _flip_in_a_pack(package: Path) -> None:
    path = _pack(package)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 1
    path.write_bytes(raw)


def _swap_in_the_index(package: Path) -> None:
    """Give an entry the next digit; every digest is set right."""

    def lie(index: bytes) -> bytes:
        return index[:-5] + bytes((index[-5] ^ 1,)) + index[-4:]

    rewrite_pack(_pack(package), index=lie)


def _keep_a_segment(package: Path) -> None:
    first = package / LOG / segment_name(1)
    raw = first.read_bytes()
    _repack(package)
    first.write_bytes(raw)


def _overlap(package: Path) -> None:
    write_segments(package, [PackageEditor(package).frames[:4], PackageEditor(package).frames[4:]])
    _repack(package)
    path = _pack(package)
    path.with_name(pack_name(2, 3)).write_bytes(path.read_bytes())


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-CON-001",
        change="VSTORE ends in a line more",
        make=files(_rewrite(FORMAT_FILE, lambda raw: raw + b"\n")),
    ),
    BadPackage(
        code="VS-CON-002",
        change="VSTORE says that the format is 2",
        make=files(_rewrite(FORMAT_FILE, lambda raw: raw.replace(b'"format":1', b'"format":2'))),
    ),
    BadPackage(
        code="VS-CON-003",
        change="a file notes.txt lies in the package",
        make=files(_create("notes.txt", b"remember the milk\n")),
    ),
    BadPackage(
        code="VS-CON-004",
        change="a link lies in the package",
        make=files(lambda package: (package / "link").symlink_to("VSTORE")),
    ),
    BadPackage(
        code="VS-CON-005",
        change="one bit in the middle of the log is flipped",
        make=files(_flip_in_a_frame),
    ),
    BadPackage(
        code="VS-CON-006",
        change="the log ends in bytes of an unfinished frame",
        make=files(_rewrite(f"{LOG}/{segment_name(1)}", lambda raw: raw + b"VSF unfinished")),
    ),
    BadPackage(
        code="VS-CON-007",
        change="torn bytes that the next segment recorded were changed",
        make=files(_torn_and_changed),
    ),
    BadPackage(
        code="VS-CON-008",
        change="the second of three segments is missing",
        make=files(_lose_a_segment),
    ),
    BadPackage(
        code="VS-CON-009",
        change="the last frame has the number after the next",
        make=files(_skip_a_number),
    ),
    BadPackage(
        code="VS-CON-010",
        change="the header of the last frame gives a byte less than its payload has",
        make=files(_lie_about_the_length),
    ),
    BadPackage(
        code="VS-CON-011",
        change="the file of a large object is missing",
        make=files(lambda package: _large_file(package).unlink(), base="large"),
    ),
    BadPackage(
        code="VS-CON-012",
        change="the file of a large object lacks its last byte",
        make=files(_cut_large_file, base="large"),
    ),
    BadPackage(
        code="VS-CON-013",
        change="a second large object's file is there, which no frame names",
        make=files(_second_large_file, base="large"),
    ),
    BadPackage(
        code="VS-CON-014",
        change="tmp holds a file of an interrupted writer",
        make=files(_create("tmp/0001.large", b"half")),
    ),
    BadPackage(
        code="VS-CON-015",
        change="tmp holds folders in folders with a path that the system doesn't open",
        make=files(_nest_too_deep),
    ),
    BadPackage(
        code="VS-CON-016",
        change="the log has a second segment without a byte",
        make=files(_create(f"{LOG}/{segment_name(2)}")),
    ),
    BadPackage(
        code="VS-CON-023",
        change="a thousand empty files lie beside the refs",
        make=files(_fill_refs),
    ),
    BadPackage(
        code="VS-CON-024",
        change="nothing, and the verifier looks at three files and folders at the most",
        make=files(lambda _: None),
        options={"max_files": 3},
    ),
    BadPackage(
        code="VS-CON-025",
        change="one bit in a block of a pack is flipped",
        make=files(_repacked(_flip_in_a_pack)),
    ),
    BadPackage(
        code="VS-CON-026",
        change="the index of a pack names an object that isn't there",
        make=files(_repacked(_swap_in_the_index)),
    ),
    BadPackage(
        code="VS-CON-027",
        change="a segment is still there that a pack has replaced",
        make=files(_keep_a_segment),
    ),
    BadPackage(
        code="VS-CON-028",
        change="a pack says that it has the second segment too, which another one has",
        make=files(_overlap),
    ),
)
