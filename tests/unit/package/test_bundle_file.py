from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.errors import IntegrityError, NotFoundError, StorageError, UnsupportedError
from vstore.package import bundle_file
from vstore.package.bundle_file import BundleFile, is_bundle
from vstore.testing.bundles import archive_info, members_of, write_archive

MEMBERS = [
    ("VSTORE", b"format\n"),
    ("refs/generation", b"b3:" + b"0" * 64 + b"\n"),
    ("objects/log/00000001.vlog", b"frames" * 100),
]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write_archive(tmp_path / "a.zip", MEMBERS)


def _kinds(path: Path) -> list[str]:
    bundle = BundleFile(path)
    try:
        assert bundle.readable == (not {one.kind for one in bundle.faults} - {"member"})
        return [one.kind for one in bundle.faults]
    finally:
        bundle.close()


def test_finds_the_members(archive: Path) -> None:
    bundle = BundleFile(archive)
    bundle.check()
    assert bundle.readable
    assert bundle.names == [name for name, _ in MEMBERS]
    for name, content in MEMBERS:
        assert bundle.read(name, 10_000) == content
        assert b"".join(bundle.pieces(name, 7)) == content
        window = bundle.window(name)
        assert window is not None
        assert archive.read_bytes()[window.start : window.start + window.size] == content
    assert bundle.read("refs/other", 10) is None
    assert bundle.window("refs/other") is None
    assert list(bundle.pieces("refs/other")) == []
    assert bundle.read(MEMBERS[2][0], 5) == b"frames"
    assert list(bundle.check_contents()) == []
    bundle.close()
    bundle.close()
    assert is_bundle(archive)


def test_a_content_with_another_checksum(archive: Path) -> None:
    raw = bytearray(archive.read_bytes())
    at = raw.index(b"frames")
    raw[at] ^= 1
    archive.write_bytes(raw)
    bundle = BundleFile(archive)
    bundle.check()
    [fault] = bundle.check_contents()
    assert (fault.kind, fault.offset, fault.name) == ("bytes", at, MEMBERS[2][0])
    assert bundle.read(MEMBERS[0][0], 100) == MEMBERS[0][1]
    with pytest.raises(IntegrityError) as caught:
        bundle.read(MEMBERS[2][0], 1000)
    assert caught.value.kind == "bad_bundle"
    with pytest.raises(IntegrityError):
        bundle.check_content(MEMBERS[2][0], 600, 0)
    bundle.close()


@pytest.mark.parametrize("content", [b"", b"hello", bytes(22), b"%PDF-1.4" + bytes(4000)])
def test_another_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert not is_bundle(path)
    bundle = BundleFile(path)
    assert [one.kind for one in bundle.faults] == ["no_bundle"]
    with pytest.raises(NotFoundError) as caught:
        bundle.check()
    assert caught.value.kind == "not_a_package"
    bundle.close()


def test_an_archive_without_members(tmp_path: Path) -> None:
    assert _kinds(write_archive(tmp_path / "empty.zip", [])) == ["no_bundle"]


def test_what_cant_be_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, kind in (("absent", "no_file"), ("pipe", "not_a_file"), (".", "not_a_file")):
        assert not is_bundle(tmp_path / name)
        with pytest.raises(StorageError) as caught:
            BundleFile(tmp_path / name)
        assert caught.value.kind == kind
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError) as caught:
        BundleFile(tmp_path / "file/below")
    assert caught.value.kind == "unreadable"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda raw: raw + b"x", "bytes"),
        (lambda raw: raw + raw, "bytes"),
        (lambda raw: b"x" + raw, "bytes"),
        (lambda raw: b"#!/bin/sh\n" + raw, "bytes"),
        (lambda raw: raw[:-1], "bytes"),
        (lambda raw: raw[:100], "bytes"),
        (lambda raw: raw[:-2] + b"\x01\x00" + b"c", "bytes"),
        (lambda raw: raw.replace(b"PK\x01\x02", b"x" + b"PK\x01\x02", 1), "bytes"),
        (lambda raw: raw.replace(b"PK\x05\x06", b"x" + b"PK\x05\x06", 1), "bytes"),
        (lambda raw: raw.replace(b"PK\x01\x02", b"PK\x01\x03", 1), "bytes"),
        (lambda raw: raw.replace(b"VSTORE", b"VSTORF", 1), "bytes"),
    ],
)
def test_bytes_that_no_member_asks_for(
    archive: Path, change: Callable[[bytes], bytes], kind: str
) -> None:
    archive.write_bytes(change(archive.read_bytes()))
    assert set(_kinds(archive)) == {kind}


def _with(tmp_path: Path, change: Callable[[zipfile.ZipInfo], None]) -> Path:
    path = tmp_path / "b.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, content in MEMBERS:
            info = archive_info(name)
            change(info)
            made.writestr(info, content)
    return path


@pytest.mark.parametrize(
    ("member", "value", "kind"),
    [
        ("date_time", (2026, 1, 1, 0, 0, 0), "bytes"),
        ("external_attr", 0o120777 << 16, "bytes"),
        ("external_attr", 0o020666 << 16, "bytes"),
        ("external_attr", 0o100755 << 16, "bytes"),
        ("external_attr", 0o100644 << 16 | 0x10, "bytes"),
        ("internal_attr", 1, "bytes"),
        ("create_system", 0, "bytes"),
        ("create_version", 20, "bytes"),
        ("extract_version", 20, "bytes"),
        ("comment", b"hidden", "bytes"),
        ("extra", b"\x55\x54\x05\x00\x01abcd", "bytes"),
        ("compress_type", zipfile.ZIP_DEFLATED, "unsupported"),
        ("compress_type", zipfile.ZIP_BZIP2, "unsupported"),
        ("compress_type", zipfile.ZIP_LZMA, "unsupported"),
    ],
)
def test_headers_of_another_form(tmp_path: Path, member: str, value: object, kind: str) -> None:
    path = _with(tmp_path, lambda info: setattr(info, member, value))
    assert set(_kinds(path)) == {kind}
    bundle = BundleFile(path)
    with pytest.raises(IntegrityError if kind == "bytes" else UnsupportedError):
        bundle.check()
    bundle.close()


def test_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "c.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, content in MEMBERS:
            made.writestr(archive_info(name), content)
        made.comment = b"PK\x05\x06" + bytes(18)
    assert set(_kinds(path)) == {"bytes"}


def test_encrypted(archive: Path) -> None:
    raw = bytearray(archive.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(raw)
    assert _kinds(archive) == ["unsupported"]


def test_members_that_no_bundle_has(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "refs/generation", "VSTORE", "evil.sh", "refs/generation"]
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = write_archive(tmp_path / "m.zip", [(name, name.encode()) for name in names])
    bundle = BundleFile(path)
    assert bundle.readable
    assert [one.kind for one in bundle.faults] == ["member"] * 4
    assert bundle.faults[0].name == "../../etc/passwd"
    assert bundle.names == ["refs/generation", "VSTORE"]
    bundle.close()


def _directory_of(raw: bytes) -> int:
    return int(struct.unpack_from("<I", raw, len(raw) - 6)[0])


def test_a_member_that_claims_a_tebibyte(archive: Path) -> None:
    raw = archive.read_bytes()
    at = _directory_of(raw)
    entry = bytearray(raw[at : at + 52])
    entry[20:28] = b"\xff" * 8
    entry[30:32] = struct.pack("<H", 20)
    extra = struct.pack("<HHQQ", 1, 16, 1 << 40, 1 << 40)
    rest = raw[at + 52 : -22]
    end = bytearray(raw[-22:])
    end[12:16] = struct.pack("<I", len(entry) + 20 + len(rest))
    archive.write_bytes(raw[:at] + entry + extra + rest + end)
    assert _kinds(archive) == ["bytes"]


@pytest.mark.parametrize("count", [0, 1, 2, 4, 200, 65_534])
def test_a_wrong_number_of_members(archive: Path, count: int) -> None:
    raw = archive.read_bytes()
    end = bytearray(raw[-22:])
    end[8:12] = struct.pack("<HH", count, count)
    archive.write_bytes(raw[:-22] + end)
    assert set(_kinds(archive)) == {"bytes"}


def test_more_than_a_reader_takes_on(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = archive.read_bytes()
    end = bytearray(raw[-22:])
    end[8:12] = b"\xff" * 4
    archive.write_bytes(raw[:-22] + end)
    assert _kinds(archive) == ["limit"]
    archive.write_bytes(raw)
    monkeypatch.setattr(bundle_file, "MAX_CENTRAL_BYTES", 100)
    assert _kinds(archive) == ["limit"]


def test_at_most_100_faults(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "many.zip", [(f"evil{one}", b"") for one in range(300)])
    assert len(_kinds(path)) == 100


def test_every_bit_outside_of_the_contents_counts(archive: Path) -> None:
    raw = archive.read_bytes()
    inside: set[int] = set()
    for name, content in members_of(archive):
        start = raw.index(name.encode()) + len(name)
        inside |= set(range(start, start + len(content)))
    with archive.open("r+b", buffering=0) as file:
        for at in set(range(len(raw))) - inside:
            for bit in (at % 8, (at + 3) % 8):
                os.pwrite(file.fileno(), bytes([raw[at] ^ 1 << bit]), at)
                bundle = BundleFile(archive)
                assert bundle.faults or list(bundle.check_contents()), (at, bit)
                bundle.close()
            os.pwrite(file.fileno(), raw[at : at + 1], at)
