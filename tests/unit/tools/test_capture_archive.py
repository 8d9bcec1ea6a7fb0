"""Archives: captured exactly, or refused by kind before anything is written."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from blake3 import blake3

from vstore.errors import InvalidError, LimitExceeded, NotFoundError, StorageError, VStoreError
from vstore.objects.ids import ObjectId
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import walk
from vstore.package.limits import PackageLimits
from vstore.tools.archive_members import ArchiveLimits
from vstore.tools.capture_archive import CapturedArchive, capture_archive

Listing = dict[bytes, tuple[str, bytes, bool]]


def listing(objects: MemoryObjects, root: ObjectId) -> Listing:
    return {
        path: (entry.kind, objects.get(entry.object), entry.executable)
        for path, entry in walk(objects, root)
    }


def capture(
    path: Path,
    exclude: tuple[str, ...] = (),
    *,
    strip_top: bool = True,
    limits: ArchiveLimits | None = None,
) -> tuple[Listing, CapturedArchive]:
    objects = MemoryObjects()
    found = capture_archive(path, objects, exclude=exclude, strip_top=strip_top, limits=limits)
    return listing(objects, found.tree.root), found


def refused(path: Path, limits: ArchiveLimits | None = None) -> VStoreError:
    """The error, after checking that nothing was written unless bytes had to be read first."""
    objects = MemoryObjects()
    with pytest.raises((InvalidError, LimitExceeded)) as caught:
        capture_archive(path, objects, limits=limits)
    return caught.value


def member(
    name: str, kind: bytes = tarfile.REGTYPE, *, mode: int = 0o644, link: str = "", size: int = 0
) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.mode, found.linkname, found.size = kind, mode, link, size
    return found


def make_tar(
    path: Path,
    members: list[tuple[tarfile.TarInfo, bytes]],
    *,
    mode: str = "w",
    format: int = tarfile.PAX_FORMAT,
    pax: dict[str, str] | None = None,
) -> Path:
    with tarfile.open(path, mode, format=format, pax_headers=pax) as archive:  # type: ignore[call-overload]
        for found, content in members:
            if content:
                found.size = len(content)
            archive.addfile(found, io.BytesIO(content))
    return path


def make_zip(path: Path, members: list[tuple[zipfile.ZipInfo, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for found, content in members:
            archive.writestr(found, content)
    return path


def zip_member(
    name: str, mode: int = 0o100644, method: int = zipfile.ZIP_DEFLATED
) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name)
    found.external_attr = mode << 16
    found.create_system = 3
    found.compress_type = method
    return found


COMMON = [
    (member("top", tarfile.DIRTYPE), b""),
    (member("top/a.py"), b"print(1)\r\n"),
    (member("top/run.sh", mode=0o755), b"#!/bin/sh\n"),
    (member("top/empty"), b""),
    (member("top/hollow/", tarfile.DIRTYPE), b""),
    (member("top/link", tarfile.SYMTYPE, link="../../etc/passwd"), b""),
    (member("top/again", tarfile.LNKTYPE, link="top/run.sh"), b""),
    (member("top/link-again", tarfile.LNKTYPE, link="top/link"), b""),
    (member("top/caf\u00e9 \u202e\x1b name"), b"x"),
    (member("top/" + "d" * 120 + "/" + "e" * 200), b"long"),
]
COMMON_LISTING: Listing = {
    b"a.py": ("file", b"print(1)\r\n", False),
    b"run.sh": ("file", b"#!/bin/sh\n", True),
    b"empty": ("file", b"", False),
    b"link": ("link", b"../../etc/passwd", False),
    b"again": ("file", b"#!/bin/sh\n", True),
    b"link-again": ("link", b"../../etc/passwd", False),
    "caf\u00e9 \u202e\x1b name".encode(): ("file", b"x", False),
    b"d" * 120 + b"/" + b"e" * 200: ("file", b"long", False),
}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_tar(tmp_path: Path, mode: str, format: int) -> None:
    path = make_tar(tmp_path / "any.name", COMMON, mode=mode, format=format)
    found, captured = capture(path)
    assert found == COMMON_LISTING
    assert captured.kind == "tar"
    assert captured.stripped
    assert captured.digest == blake3(path.read_bytes()).hexdigest()
    assert (captured.tree.files, captured.tree.links) == (6, 2)
    assert captured.tree.folders == 2  # the hollow one counts


def test_ustar_prefix(tmp_path: Path) -> None:
    name = "t/" + "d" * 90 + "/" + "e" * 90
    path = make_tar(tmp_path / "t.tar", [(member(name), b"x")], format=tarfile.USTAR_FORMAT)
    assert list(capture(path)[0]) == [name[2:].encode()]


def test_paths_as_they_are(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "t.tar", COMMON)
    found, captured = capture(path, strip_top=False)
    assert set(found) == {b"top/" + name for name in COMMON_LISTING}
    assert not captured.stripped


def test_an_sdist_is_told_by_its_metadata(tmp_path: Path) -> None:
    members = [(member("p-1.0/PKG-INFO"), b"Name: p"), (member("p-1.0/p.py"), b"")]
    path = make_tar(tmp_path / "p-1.0.tar.gz", members, mode="w:gz")
    assert capture(path)[1].kind == "sdist"


def test_exclude_is_about_paths_in_the_tree(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "t.tar", COMMON)
    found, captured = capture(path, ("d*/", "run.sh", "hollow"))
    assert set(found) == set(COMMON_LISTING) - {b"run.sh", b"d" * 120 + b"/" + b"e" * 200}
    assert captured.excluded == 3
    # What is left out is not stored, unless a hard link repeats it.
    objects = MemoryObjects()
    capture_archive(path, objects, exclude=["d*/"])
    assert b"long" not in [objects.get(oid) for oid in objects]


def test_names_are_bytes_whatever_they_are(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "t.tar", "w", format=tarfile.GNU_FORMAT, encoding="latin-1") as a:
        a.addfile(member("caf\u00e9"), None)
        a.addfile(member("x" * 100 + "\u00e9"), None)
    found, _ = capture(tmp_path / "t.tar")
    assert set(found) == {b"caf\xe9", b"x" * 100 + b"\xe9"}


def test_a_pax_header_in_another_encoding_gives_its_bytes(tmp_path: Path) -> None:
    def pax(records: bytes, kind: bytes = b"x") -> bytes:
        return tar_block(b"pax", len(records), kind) + records.ljust(512, b"\0")

    record = b"path=caf\xe9.txt\n"
    records = b"%d " % (len(record) + 3) + record
    end = bytes(1024)
    path = tmp_path / "t.tar"
    path.write_bytes(pax(records) + tar_block(b"short", 1) + b"x".ljust(512, b"\0") + end)
    assert capture(path)[0] == {b"caf\xe9.txt": ("file", b"x", False)}


def tar_block(
    name: bytes,
    size: int | bytes,
    kind: bytes = b"0",
    *,
    mode: bytes = b"0000644\0",
    magic: bytes = b"ustar\x0000",
    link: bytes = b"",
) -> bytes:
    digits = size if isinstance(size, bytes) else b"%011o\0" % size
    block = bytearray(512)
    block[0 : len(name)] = name
    block[100:108] = mode
    block[124:136] = digits
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[157 : 157 + len(link)] = link
    block[257 : 257 + len(magic)] = magic
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def pad(content: bytes) -> bytes:
    return content + bytes(-len(content) % 512)


END = bytes(1024)
ONE = tar_block(b"a", 1) + pad(b"x")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (tar_block(b"/etc/x", 0) + END, "absolute_path"),
        (tar_block(b"../x", 0) + END, "path_traversal"),
        (tar_block(b"a/../../x", 0) + END, "path_traversal"),
        (tar_block(b"a//x", 0) + END, "invalid_path"),
        (tar_block(b"", 0) + END, "invalid_path"),
        (tar_block(b".", 0) + END, "invalid_path"),
        (tar_block(b"x/", 1) + pad(b"x") + END, "invalid_path"),
        (tar_block(b"x/", 0, b"2", link=b"t") + END, "invalid_path"),
        (ONE + ONE + END, "path_taken"),
        (ONE + tar_block(b"a/b", 0) + END, "path_taken"),
        (tar_block(b"a/b", 0) + ONE + END, "path_taken"),
        (ONE + tar_block(b"a", 0, b"5") + END, "path_taken"),
        (tar_block(b"l", 0, b"2", link=b"/") + tar_block(b"l/x", 0) + END, "path_taken"),
        (tar_block(b"h", 0, b"1", link=b"a") + END, "broken_hardlink"),
        (tar_block(b"h", 0, b"1", link=b"h") + END, "broken_hardlink"),
        (tar_block(b"h", 0, b"1", link=b"/etc/passwd") + END, "absolute_path"),
        (ONE + tar_block(b"h", 1, b"1", link=b"a") + pad(b"x") + END, "damaged_archive"),
        (tar_block(b"d", 0, b"3") + END, "not_representable"),
        (tar_block(b"d", 0, b"4") + END, "not_representable"),
        (tar_block(b"d", 0, b"6") + END, "not_representable"),
        (tar_block(b"d", 0, b"S") + END, "not_representable"),
        (tar_block(b"d", 0, b"V") + END, "not_representable"),
        (tar_block(b"d", 5, b"5") + pad(b"x") + END, "damaged_archive"),
        (ONE, "truncated_archive"),
        (ONE + bytes(100), "truncated_archive"),
        (ONE + tar_block(b"b", 3000) + bytes(600), "truncated_archive"),
        (ONE[:-1], "truncated_archive"),
        (ONE + b"\1" + bytes(511) + ONE + END, "damaged_archive"),
        (ONE[:100] + b"7" + ONE[101:] + END, "damaged_archive"),
        (ONE + END + b"x", "trailing_bytes"),
        (ONE + bytes(512) + ONE + END, "trailing_bytes"),
        (tar_block(b"a", b"12x45678901\0") + END, "damaged_archive"),
        (tar_block(b"a", b"00000000009\0") + END, "damaged_archive"),
        (tar_block(b"a", b"\x80" + b"\xff" * 11) + END, "damaged_archive"),
        (tar_block(b"a", b"\xff" * 12) + END, "damaged_archive"),
        (tar_block(b"p", (1 << 20) + 1, b"x") + bytes((1 << 20) + 512) + END, "damaged_archive"),
        (tar_block(b"p", 0, b"x") * 9 + ONE + END, "damaged_archive"),
        (tar_block(b"p", 11, b"x") + pad(b"11 path=ab\n") + END, "damaged_archive"),
        (tar_block(b"p", 11, b"x") + pad(b"12 path=ab\n") + ONE + END, "damaged_archive"),
        (tar_block(b"p", 11, b"x") + pad(b"xx path=ab\n") + ONE + END, "damaged_archive"),
        (tar_block(b"p", 11, b"x") + pad(b"11 path.ab\n") + ONE + END, "damaged_archive"),
        (tar_block(b"p", 11, b"x") + pad(b"11 path=abc") + ONE + END, "damaged_archive"),
        (tar_block(b"p", 4, b"x") + pad(b"2 \n\n") + ONE + END, "damaged_archive"),
        (tar_block(b"p", 11, b"x") + pad(b"11 size=-1\n") + ONE + END, "damaged_archive"),
        (tar_block(b"p", 11, b"g") + pad(b"11 path=ab\n") + ONE + END, "damaged_archive"),
        (
            tar_block(b"p", 22, b"x") + pad(b"22 GNU.sparse.major=1\n") + ONE + END,
            "not_representable",
        ),
    ],
)
def test_hostile_tars(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "t.tar"
    path.write_bytes(content)
    objects = MemoryObjects()
    with pytest.raises(InvalidError) as caught:
        capture_archive(path, objects)
    assert caught.value.kind == kind
    assert len(objects) == 0
    packed = tmp_path / "t.tar.gz"
    packed.write_bytes(gzip.compress(content))
    assert refused(packed).kind == kind


def test_odd_but_sound_tars(tmp_path: Path) -> None:
    path = tmp_path / "t.tar"
    path.write_bytes(
        tar_block(b"./", 0, b"5")
        + tar_block(b"g", 14, b"g")
        + pad(b"14 comment=ab\n")
        + tar_block(b"./v7/", 0, b"\0", magic=b"ustar  \0")
        + tar_block(b"./v7/a", b"\x80" + bytes(10) + b"\1", b"7")
        + pad(b"x")
        + tar_block(b"p", 10, b"x")
        + pad(b"10 size=2\n")
        + tar_block(b"b", 0, mode=b"100755 \0")
        + pad(b"yz")
        + tar_block(b"c", bytes(12), b"\0")
        + bytes(512 * 3)
    )
    found, captured = capture(path)
    assert found == {
        b"v7/a": ("file", b"x", False),
        b"b": ("file", b"yz", True),
        b"c": ("file", b"", False),
    }
    assert captured.tree.folders == 1


def test_tars_as_the_standard_library_reads_them(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "t.tar", COMMON)
    with tarfile.open(path) as archive:
        expected = {
            one.name.encode(): archive.extractfile(one).read()  # type: ignore[union-attr]
            for one in archive
            if one.isreg()
        }
    found, _ = capture(path, strip_top=False)
    assert {name: found[name][1] for name in expected} == expected


def zipped(path: Path) -> Path:
    return make_zip(
        path,
        [
            (zip_member("top/", 0o40755), b""),
            (zip_member("top/a.py"), b"print(1)\r\n"),
            (zip_member("top/run.sh", 0o100755, zipfile.ZIP_STORED), b"#!/bin/sh\n"),
            (zip_member("top/b2", method=zipfile.ZIP_BZIP2), b"b" * 100),
            (zip_member("top/xz", method=zipfile.ZIP_LZMA), b"l" * 100),
            (zip_member("top/link", 0o120777), b"../../etc/passwd"),
            (zip_member("top/hollow/", 0o40755), b""),
            (zip_member("top/caf\u00e9"), b"x"),
            (zip_member("top/large"), bytes(range(256)) * 8192),
        ],
    )


ZIP_LISTING: Listing = {
    b"a.py": ("file", b"print(1)\r\n", False),
    b"run.sh": ("file", b"#!/bin/sh\n", True),
    b"b2": ("file", b"b" * 100, False),
    b"xz": ("file", b"l" * 100, False),
    b"link": ("link", b"../../etc/passwd", False),
    "caf\u00e9".encode(): ("file", b"x", False),
    b"large": ("file", bytes(range(256)) * 8192, False),
}


def test_zip(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z.zip")
    found, captured = capture(path)
    assert found == ZIP_LISTING
    assert captured.kind == "zip"
    assert captured.stripped
    assert captured.tree.folders == 1
    assert captured.digest == blake3(path.read_bytes()).hexdigest()
    found, captured = capture(path, ("large", "l*k"))
    assert set(found) == set(ZIP_LISTING) - {b"large", b"link"}
    assert captured.excluded == 2


def test_a_wheel_keeps_its_paths(tmp_path: Path) -> None:
    path = zipped(tmp_path / "z-1.0-py3-none-any.WHL")
    found, captured = capture(path)
    assert set(found) == {b"top/" + name for name in ZIP_LISTING}
    assert captured.kind == "wheel"


def test_an_empty_zip_is_an_empty_tree(tmp_path: Path) -> None:
    assert capture(make_zip(tmp_path / "z.zip", []))[0] == {}


def test_modes_count_only_from_unix(tmp_path: Path) -> None:
    found = zip_member("run", 0o100755)
    found.create_system = 0
    path = make_zip(tmp_path / "z.zip", [(found, b"x")])
    assert capture(path)[0] == {b"run": ("file", b"x", False)}


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf\x82", "caf\u00e9".encode()])
def test_a_zip_name_without_the_utf8_flag_is_its_bytes(tmp_path: Path, name: bytes) -> None:
    placeholder = b"_" * len(name)
    path = make_zip(tmp_path / "z.zip", [(zip_member(placeholder.decode()), b"x")])
    path.write_bytes(path.read_bytes().replace(placeholder, name))
    assert list(capture(path)[0]) == [name]


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ([("/etc/x", 0)], "absolute_path"),
        ([("../x", 0)], "path_traversal"),
        ([("a/../../x", 0)], "path_traversal"),
        ([("a", 0), ("a/b", 0)], "path_taken"),
        ([("l", 0o120777), ("l/x", 0)], "path_taken"),
        ([("d", 0o20644)], "not_representable"),
        ([("d", 0o60644)], "not_representable"),
        ([("p", 0o10644)], "not_representable"),
        ([("s", 0o140644)], "not_representable"),
    ],
)
def test_hostile_zips(tmp_path: Path, members: list[tuple[str, int]], kind: str) -> None:
    path = make_zip(tmp_path / "z.zip", [(zip_member(name, mode), b"x") for name, mode in members])
    objects = MemoryObjects()
    with pytest.raises(InvalidError) as caught:
        capture_archive(path, objects)
    assert caught.value.kind == kind
    assert len(objects) == 0


def edit(path: Path, change: Callable[[bytearray], None]) -> Path:
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    return path


def simple(tmp_path: Path, content: bytes = b"content " * 50, name: str = "a") -> Path:
    return make_zip(tmp_path / "z.zip", [(zip_member(name), content)])


def central(content: bytearray) -> int:
    return content.index(b"PK\x01\x02")


@pytest.mark.parametrize("bit", [0x1, 0x40, 0x2000])
def test_encrypted(tmp_path: Path, bit: int) -> None:
    def change(content: bytearray) -> None:
        for at in (6, central(content) + 8):
            content[at : at + 2] = struct.pack("<H", bit)

    assert refused(edit(simple(tmp_path), change)).kind == "encrypted_archive"


def test_a_wrong_checksum(tmp_path: Path) -> None:
    def change(content: bytearray) -> None:
        content[central(content) + 16] ^= 1

    error = refused(edit(simple(tmp_path), change))
    assert error.kind == "damaged_archive"
    assert error.details["path"] == "a"


def test_a_wrong_checksum_of_a_large_member(tmp_path: Path) -> None:
    def change(content: bytearray) -> None:
        content[central(content) + 16] ^= 1

    path = edit(simple(tmp_path, bytes(range(256)) * 5000), change)
    assert refused(path).kind == "damaged_archive"


@pytest.mark.parametrize("size", [1, 399, 401, 1 << 21])
def test_a_wrong_size(tmp_path: Path, size: int) -> None:
    def change(content: bytearray) -> None:
        at = central(content) + 24
        content[at : at + 4] = struct.pack("<I", size)

    assert refused(edit(simple(tmp_path), change)).kind == "damaged_archive"


def test_two_names_of_one_member(tmp_path: Path) -> None:
    def change(content: bytearray) -> None:
        content[30] = ord("b")  # the local header's name

    assert refused(edit(simple(tmp_path), change)).kind == "damaged_archive"


def test_an_unknown_compression(tmp_path: Path) -> None:
    def change(content: bytearray) -> None:
        content[central(content) + 10] = 97

    assert refused(edit(simple(tmp_path), change)).kind == "unsupported_archive"


def test_a_name_that_is_not_the_utf8_it_claims(tmp_path: Path) -> None:
    path = simple(tmp_path, name="\u00e9")
    path.write_bytes(path.read_bytes().replace("\u00e9".encode(), b"\xe9\xe9"))
    assert refused(path).kind == "damaged_archive"


def test_a_name_with_nul(tmp_path: Path) -> None:
    path = simple(tmp_path, name="good.py_x")
    path.write_bytes(path.read_bytes().replace(b"good.py_x", b"good.py\0x"))
    assert refused(path).kind == "invalid_path"


def test_duplicates(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "z.zip", [(zip_member("a"), b"1"), (zip_member("b"), b"2")])
    path.write_bytes(path.read_bytes().replace(b"b", b"a"))
    assert refused(path).kind == "path_taken"


def test_overlapping_members(tmp_path: Path) -> None:
    path = make_zip(
        tmp_path / "z.zip",
        [(zip_member("a", method=zipfile.ZIP_STORED), bytes(5000)), (zip_member("b"), b"2")],
    )

    def change(content: bytearray) -> None:
        # The second entry of the directory is about the first one's bytes as well.
        first = central(content)
        second = content.index(b"PK\x01\x02", first + 4)
        content[second + 20 : second + 28] = content[first + 20 : first + 28]

    assert refused(edit(path, change)).kind == "overlapping_members"


def test_a_folder_with_bytes(tmp_path: Path) -> None:
    path = simple(tmp_path, name="folder_")
    path.write_bytes(path.read_bytes().replace(b"folder_", b"folder/"))
    assert refused(path).kind == "damaged_archive"


def test_a_link_with_an_impossible_target(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "z.zip", [(zip_member("l", 0o120777), b"x" * 70_000)])
    assert refused(path).kind == "not_representable"


@pytest.mark.parametrize("cut", [1, 10, 22, 40, 60])
def test_a_cut_zip(tmp_path: Path, cut: int) -> None:
    path = simple(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert refused(path).kind == "damaged_archive"


@pytest.mark.parametrize("make", [zipped, lambda path: make_tar(path, COMMON, mode="w:gz")])
def test_no_flipped_byte_escapes_as_a_strange_error(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    path = make(tmp_path / "x")
    content = path.read_bytes()
    step = max(1, len(content) // 100)
    for position in range(0, len(content), step):
        flipped = bytearray(content)
        flipped[position] ^= 0x20
        path.write_bytes(flipped)
        # Any other exception fails the test.
        with contextlib.suppress(VStoreError):
            capture(path)


def bounded(**limits: int) -> ArchiveLimits:
    return ArchiveLimits(package=PackageLimits(**limits))


@pytest.mark.parametrize(
    "make",
    [zipped, lambda path: make_tar(path, [*COMMON, (member("top/large"), b"x" * (2 << 20))])],
)
@pytest.mark.parametrize("name", ["max_input_bytes", "max_input_files", "max_file_bytes"])
def test_limits(tmp_path: Path, make: Callable[[Path], Path], name: str) -> None:
    path = make(tmp_path / "x")
    error = refused(path, bounded(**{name: 5}))
    assert isinstance(error, LimitExceeded)
    assert error.details["limit"] == name
    assert error.details["value"] == 5


def test_folders_have_a_bound_too(tmp_path: Path) -> None:
    folders = [(member(f"d{number}", tarfile.DIRTYPE), b"") for number in range(6)]
    error = refused(make_tar(tmp_path / "t.tar", folders), bounded(max_input_files=5))
    assert error.details["limit"] == "max_input_files"


def test_a_zip_bomb(tmp_path: Path) -> None:
    path = simple(tmp_path, bytes(8 << 20))
    error = refused(path, ArchiveLimits(ratio_from_bytes=1 << 20))
    assert error.details["limit"] == "max_ratio"
    assert capture(path)[1].tree.size == 8 << 20


def test_a_directory_of_members_that_is_too_large(tmp_path: Path) -> None:
    members = [(zip_member("n" * 3000 + str(number)), b"") for number in range(400)]
    path = make_zip(tmp_path / "z.zip", members)
    error = refused(path, bounded(max_input_files=1))
    assert error.details["limit"] == "max_input_files"


@pytest.mark.parametrize(
    "content", [b"", b"text", b"\x1f\x8b", b"PK\x07\x08", bytes(2000), b"SQLite format 3\0"]
)
def test_no_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    assert refused(path).kind in ("unknown_archive", "truncated_archive", "damaged_archive")


def test_a_compressed_file_that_is_no_tar(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"text " * 1000))
    assert refused(path).kind == "damaged_archive"


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        capture_archive(tmp_path / "absent", MemoryObjects())
    with pytest.raises(StorageError):
        capture_archive(tmp_path, MemoryObjects())


def test_an_archive_that_changes_meanwhile(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "t.tar", [(member("a"), b"one"), (member("b"), b"two")])

    class Changing(MemoryObjects):
        def put(self, data: bytes) -> ObjectId:
            content = path.read_bytes().replace(b"two", b"2wo")
            with path.open("r+b") as stream:
                stream.write(content)
                os.fsync(stream.fileno())
            return super().put(data)

    with pytest.raises(InvalidError) as caught:
        capture_archive(path, Changing())
    assert caught.value.kind == "changed_while_reading"


def test_members_that_change_between_the_two_walks(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "t.tar", [(member("a"), b"x" * 70_000), (member("b"), b"two")])

    class Changing(MemoryObjects):
        def put(self, data: bytes) -> ObjectId:
            changed = make_tar(
                tmp_path / "u.tar", [(member("a"), b"x" * 70_000), (member("c"), b"2")]
            )
            with path.open("r+b") as stream:
                stream.write(changed.read_bytes())
            return super().put(data)

    with pytest.raises(InvalidError) as caught:
        capture_archive(path, Changing())
    assert caught.value.kind == "changed_while_reading"
