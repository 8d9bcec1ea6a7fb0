"""Packages with several segments, bulk frames and large objects, and frames made to deceive."""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from blake3 import blake3

from vstore.objects.frame import NO_GENERATION, encode_frame
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.segment import SegmentHeader, encode_segment_header
from vstore.objects.writer import ObjectWriter
from vstore.package.case import Case
from vstore.package.inputs import InputFile
from vstore.package.repository import Repository
from vstore.testing.bad.change import write_segments
from vstore.testing.editor import PackageEditor
from vstore.tools.capture_source import capture_source
from vstore.verify import verify_package
from vstore.verify.report import Report

LOG = "objects/log"


def faults(report: Report) -> list[str]:
    return [one.code for one in report.findings if one.severity != "note"]


@pytest.fixture(scope="session")
def big_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large files, a bulk import, segments of 100 kB."""
    folder = tmp_path_factory.mktemp("big")
    noise = random.Random(1)
    (folder / "large.bin").write_bytes(noise.randbytes(1_300_000))
    source = folder / "source"
    for number in range(60):
        path = source / f"package{number % 7}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(noise.randbytes(80_000))
    writer = ObjectWriter.create(folder / "package", segment_bytes=100_000)
    with Repository(writer, clock=lambda: "2026-01-02T03:04:05Z") as repository:
        case = Case(repository)
        case.init("CASE-1", "PACKAGE-1", [InputFile(folder / "large.bin", b"large.bin")])
        case.add_snapshot("code", "source", lambda sink: capture_source(source, sink, name="code"))
        case.advance()
        case.advance()
    writer.close()
    return folder / "package"


@pytest.fixture
def big(big_original: Path, tmp_path: Path) -> Path:
    """A copy; files are shared until they are written anew."""
    for path in sorted(big_original.rglob("*")):
        target = tmp_path / "package" / path.relative_to(big_original)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(path, target)
    return tmp_path / "package"


def rewrite(path: Path, content: bytes) -> None:
    """Give a file other bytes, without touching what shares its old ones."""
    path.unlink()
    path.write_bytes(content)


def large_file(package: Path) -> Path:
    (path,) = (one for one in (package / "objects/large").rglob("*") if one.is_file())
    return path


def test_bulk_frames_large_objects_and_several_segments(big_original: Path) -> None:
    assert len(list((big_original / LOG).iterdir())) > 2
    report = verify_package(big_original)
    assert (report.exit_code, report.findings) == (0, ())
    assert report.counts.generations == 4
    assert report.counts.bytes > 6_000_000


def test_a_large_object_named_twice(big_original: Path, tmp_path: Path) -> None:
    editor = PackageEditor(big_original)
    (entry,) = [one for frame in editor.frames for one in frame.large]
    editor.frames[-1].large.append(entry)
    report = verify_package(editor.save(tmp_path / "twice"))
    assert [one.code for one in report.findings] == ["VS-OBJ-010"]


def test_a_large_object_without_its_file(big: Path) -> None:
    large_file(big).unlink()
    report = verify_package(big)
    assert (report.exit_code, faults(report)) == (1, ["VS-CON-011"])


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:700] + bytes([content[700] ^ 1]) + content[701:],
        lambda content: b"",
        lambda content: b"\x28\xb5\x2f\xfd" + content[4:100],
    ],
)
def test_a_large_object_with_a_damaged_file(big: Path, change: Callable[[bytes], bytes]) -> None:
    path = large_file(big)
    rewrite(path, change(path.read_bytes()))
    report = verify_package(big)
    assert (report.exit_code, faults(report)) == (1, ["VS-CON-012"])


def test_a_large_object_stored_in_another_way_is_found(big: Path) -> None:
    """The same bytes compressed anew: the frame records what was stored, byte for byte."""
    path = large_file(big)
    raw = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    rewrite(path, zstandard.ZstdCompressor(level=1, write_checksum=True).compress(raw))
    assert faults(verify_package(big)) == ["VS-CON-012"]


def test_a_large_object_that_is_another_one(big_original: Path, tmp_path: Path) -> None:
    """File and record agree with each other, and not with the id."""
    from vstore.testing.editor import PackageEditor

    editor = PackageEditor(big_original)
    (frame,) = [one for one in editor.frames if one.large]
    ((raw, kind, length, _, _),) = frame.large
    stored = zstandard.compress(bytes(length))
    frame.large = [(raw, kind, length, len(stored), blake3(stored).digest())]
    package = editor.save(tmp_path / "package")
    rewrite(large_file(package), stored)
    assert faults(verify_package(package)) == ["VS-OBJ-001"]
    for lie, code in (
        ((raw, kind, length + 1, len(stored), blake3(stored).digest()), "VS-CON-012"),
        ((raw, kind, 1 << 31, len(stored), blake3(stored).digest()), "VS-CON-012"),
        ((raw, kind, length, 1 << 31, blake3(stored).digest()), "VS-CON-012"),
        # A size that nobody wants to read is not believed either.
        ((raw, kind, 1 << 40, len(stored), blake3(stored).digest()), "VS-OBJ-009"),
        ((raw, kind, length, 1 << 40, blake3(stored).digest()), "VS-OBJ-009"),
    ):
        frame.large = [lie]
        package = editor.save(tmp_path / f"{lie[2]}-{lie[3]}")
        rewrite(large_file(package), stored)
        assert faults(verify_package(package)) == [code]


def test_a_large_object_that_is_no_file(big: Path) -> None:
    path = large_file(big)
    path.unlink()
    path.mkdir()
    report = verify_package(big)
    assert report.exit_code in (1, 3)
    assert {"VS-CON-015", "VS-CON-003"} <= report.codes()


def test_a_missing_segment_in_the_middle(big: Path) -> None:
    (big / LOG / "00000002.vlog").unlink()
    report = verify_package(big)
    assert report.exit_code == 1
    assert "VS-CON-008" in faults(report)


def test_a_torn_end_that_was_recorded_and_changed_since(tmp_path: Path) -> None:
    writer = ObjectWriter.create(tmp_path / "package")
    with Repository(writer, clock=lambda: "2026-01-02T03:04:05Z") as repository:
        Case(repository).init("CASE-1", "PACKAGE-1")
    writer.close()
    first = tmp_path / "package" / LOG / "00000001.vlog"
    with first.open("ab") as log:
        log.write(b"torn bytes of a crash")
    with Repository.open(tmp_path / "package", clock=lambda: "2026-01-02T03:04:05Z") as repository:
        Case(repository).advance()
    report = verify_package(tmp_path / "package")
    assert (report.exit_code, faults(report)) == (0, [])
    assert report.counts.generations == 2
    rewrite(first, first.read_bytes()[:-1] + b"H")
    report = verify_package(tmp_path / "package")
    assert (report.exit_code, faults(report)) == (1, ["VS-CON-007"])
    # The bytes hold no publication: all of them were checked.
    assert report.counts.generations == 2


# ---- frames made to deceive: digests agree, contents don't


def frame_package(folder: Path, frame: bytes) -> Path:
    """A package whose log is this frame alone."""
    ObjectWriter.create(folder).close()
    header = encode_segment_header(SegmentHeader(1, bytes(16), 1))
    (folder / LOG / "00000001.vlog").write_bytes(header + frame)
    return folder


def reseal(
    frame: bytes, change: Callable[[bytearray], None], payload: bytes | None = None
) -> bytes:
    """A frame with another header or payload, its digests set right."""
    header_length = struct.unpack_from("<I", frame, 8)[0]
    header = bytearray(frame[: header_length - 32])
    old = frame[header_length:-40]
    payload = old if payload is None else payload
    struct.pack_into("<I", header, 120, len(payload))
    change(header)
    body = bytes(header) + blake3(header).digest() + payload
    return body + blake3(body).digest() + struct.pack("<I4s", len(body) + 40, b"VSFe")


def sample_frame() -> bytes:
    content = b"a blob" * 50
    header = encode_segment_header(SegmentHeader(1, bytes(16), 1))
    return encode_frame(
        salt=bytes(16),
        offset=len(header),
        sequence=1,
        parent=NO_GENERATION,
        generation=NO_GENERATION,
        objects=[(object_id(content).to_bytes(), 0, content)],
    )


def test_the_frame_that_is_changed_below_is_good(tmp_path: Path) -> None:
    frame = sample_frame()
    assert reseal(frame, lambda header: None) == frame
    report = verify_package(frame_package(tmp_path / "package", frame))
    assert (report.exit_code, faults(report)) == (3, ["VS-VER-002"])


@pytest.mark.parametrize(
    ("change", "payload", "code"),
    [
        (lambda h: struct.pack_into("<I", h, 124, 299), None, "VS-CON-010"),
        (lambda h: struct.pack_into("<I", h, 124, 1 << 24), None, "VS-CON-010"),
        (lambda h: None, b"no zstd frame at all", "VS-CON-010"),
        (lambda h: None, zstandard.compress(bytes(1 << 23)), "VS-CON-010"),
        (lambda h: None, b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip", "VS-CON-010"),
        (lambda h: struct.pack_into("<B", h, 128 + 32, 9), None, "VS-CON-010"),
        (lambda h: struct.pack_into("<I", h, 128 + 34, 7), None, "VS-CON-010"),
        (lambda h: struct.pack_into("<I", h, 12, 1), None, "VS-CON-002"),
        (lambda h: struct.pack_into("<I", h, 124, 1 << 31), None, "VS-CON-006"),
    ],
)
def test_frames_that_lie(
    tmp_path: Path, change: Callable[[bytearray], None], payload: bytes | None, code: str
) -> None:
    frame = reseal(sample_frame(), change, payload)
    report = verify_package(frame_package(tmp_path / "package", frame))
    assert code in faults(report)
    assert report.exit_code in (1, 3)
    assert "VS-VER-001" not in report.codes()


def test_a_withheld_object_is_not_verified(tmp_path: Path) -> None:
    content = b"a blob" * 50

    def withhold(header: bytearray) -> None:
        struct.pack_into("<B", header, 128 + 33, 1)
        struct.pack_into("<II", header, 120, 0, 0)

    frame = reseal(sample_frame(), withhold, b"")
    report = verify_package(frame_package(tmp_path / "package", frame))
    assert report.exit_code == 3
    assert "VS-OBJ-008" in faults(report)
    (finding,) = [one for one in report.findings if one.code == "VS-OBJ-008"]
    assert finding.object == object_id(content)


def test_a_frame_that_publishes_what_is_no_generation(tmp_path: Path) -> None:
    content = b"a blob" * 50
    header = encode_segment_header(SegmentHeader(1, bytes(16), 1))
    for generation in (object_id(content), ObjectId.parse("77" * 32)):
        frame = encode_frame(
            salt=bytes(16),
            offset=len(header),
            sequence=1,
            parent=NO_GENERATION,
            generation=generation.to_bytes(),
            objects=[(object_id(content).to_bytes(), 0, content)],
        )
        report = verify_package(frame_package(tmp_path / generation.hex[:4], frame))
        assert report.exit_code == 1
        assert {"VS-HIS-019", "VS-OBJ-007"} & set(faults(report))


def test_an_unreadable_file_is_not_verified(big: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root every file is readable, so the system's refusal is made."""
    real = os.open

    def refuse(path: object, *args: int, **more: int) -> int:
        if str(path).endswith("00000002.vlog"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    report = verify_package(big)
    assert report.exit_code in (1, 3)


def test_an_earlier_segment_that_cannot_be_read_is_not_verified(
    package: Path, tmp_path: Path
) -> None:
    frames = PackageEditor(package).frames
    write_segments(package, [frames[:4], frames[4:8], frames[8:]])
    assert verify_package(package).exit_code == 0
    folder = Path(shutil.copytree(package, tmp_path / "folder"))
    (folder / LOG / "00000001.vlog").unlink()
    (folder / LOG / "00000001.vlog").mkdir()
    report = verify_package(folder)
    assert (report.exit_code, faults(report)) == (3, ["VS-CON-015", "VS-CON-003"])
    assert any("the rest of the log can't be read" in one for one in report.not_checked)
    # And one with a feature of a later version.
    path = package / LOG / "00000001.vlog"
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, 12, 1)
    content[128:160] = blake3(content[:128]).digest()
    path.write_bytes(content)
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (3, ["VS-CON-002"])


@pytest.mark.parametrize("name", ["UPPER", "generation~", ".generation.swp"])
def test_a_file_beside_the_refs_that_is_none(package: Path, name: str) -> None:
    (package / "refs" / name).write_bytes(b"what somebody left here\n")
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (0, ["VS-CON-003"])


def test_a_header_that_claims_the_rest_of_the_log(package: Path) -> None:
    """The frames behind it are still there, so what can't be read is damage, not a torn end."""
    path = package / LOG / "00000001.vlog"
    content = bytearray(path.read_bytes())
    length, stored = (struct.unpack_from("<I", content, 160 + at)[0] for at in (8, 120))
    struct.pack_into("<I", content, 160 + 120, stored + len(content))
    header = bytes(content[160 : 160 + length - 32])
    content[160 + length - 32 : 160 + length] = blake3(header).digest()
    path.write_bytes(content)
    report = verify_package(package)
    assert report.exit_code == 1
    assert faults(report) == ["VS-CON-005"]
