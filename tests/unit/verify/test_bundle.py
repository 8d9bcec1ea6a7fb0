"""Bundles that are damaged, cut, added to, or made by somebody with other intentions."""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vstore.objects.segment import SEGMENT_HEADER_BYTES
from vstore.package.bundle_names import order_key
from vstore.testing.bundles import edit_archive, make_bundle, write_archive
from vstore.testing.editor import PackageEditor
from vstore.verify import verify_package
from vstore.verify.report import Report

LOG = "objects/log/00000001.vlog"
Members = list[tuple[str, bytes]]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_bundle(tmp_path_factory.mktemp("bundle"))
    assert made.stat().st_size <= 64 * 1024
    return made


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(bundle, tmp_path / "copy.zip"))


def _quick(path: Path) -> int:
    return verify_package(path, fail_fast=True).exit_code


def _edited(bundle: Path, tmp_path: Path, change: Callable[[Members], None]) -> Report:
    return verify_package(edit_archive(bundle, tmp_path / "edited.zip", change))


def _replace(name: str, change: Callable[[bytes], bytes]) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        at = [one for one, _ in members].index(name)
        members[at] = (name, change(members[at][1]))

    return apply


def test_a_good_one(bundle: Path) -> None:
    report = verify_package(bundle)
    assert (report.exit_code, report.bundle) == (0, True)
    assert report.counts == verify_package(bundle.with_name("package")).counts
    # With a base that isn't needed, too.
    assert verify_package(bundle, base=bundle).exit_code == 0
    assert verify_package(bundle, expect=report.head, extends=report.head).exit_code == 0


# ---- every bit, every length


def _flips(path: Path, bits: Iterator[tuple[int, int]]) -> int:
    raw = path.read_bytes()
    count = 0
    with path.open("r+b", buffering=0) as file:
        for at, bit in bits:
            os.pwrite(file.fileno(), bytes([raw[at] ^ 1 << bit]), at)
            code = _quick(path)
            os.pwrite(file.fileno(), raw[at : at + 1], at)
            assert code in (1, 3), (at, bit, code)
            count += 1
    assert path.read_bytes() == raw
    assert _quick(path) == 0
    return count


def test_flipped_bits(copy: Path) -> None:
    size = copy.stat().st_size
    chosen = random.Random(4)
    places = [*range(60), *range(size - 100, size, 3), *chosen.sample(range(size), 250)]
    assert _flips(copy, ((at, chosen.randrange(8)) for at in places)) > 300


@pytest.mark.deep
def test_every_bit_flipped(copy: Path) -> None:
    size = copy.stat().st_size
    assert _flips(copy, ((at, bit) for at in range(size) for bit in range(8))) == size * 8


def _cuts(copy: Path, lengths: list[int]) -> None:
    for length in sorted(lengths, reverse=True):
        os.truncate(copy, length)
        assert _quick(copy) in (1, 3), length


def test_cut(copy: Path) -> None:
    size = copy.stat().st_size
    _cuts(copy, [*range(60), *range(size - 60, size), *random.Random(5).sample(range(size), 150)])


@pytest.mark.deep
def test_cut_at_every_length(copy: Path) -> None:
    _cuts(copy, list(range(copy.stat().st_size)))


@pytest.mark.parametrize("added", [b"\0", b"x", b"PK\x05\x06" + bytes(18), bytes(70_000)])
def test_bytes_in_front_and_behind(bundle: Path, copy: Path, added: bytes) -> None:
    raw = bundle.read_bytes()
    for content in (raw + added, added + raw, raw + raw):
        copy.write_bytes(content)
        assert _quick(copy) == 1


@pytest.mark.parametrize(
    "name",
    [
        "evil.sh",
        "/etc/cron.d/x",
        "../x",
        "refs/../../x",
        "cache/objects.index",
        "locks/evidence",
        "tmp/x",
        "REFS/GENERATION",
        "vstore",
        "refs/",
        "BUNDLE.txt",
        "objects/large/ab/" + "0" * 62 + ".bak",
    ],
)
def test_a_foreign_member(bundle: Path, tmp_path: Path, name: str) -> None:
    for at in (0, 3, 7):
        report = _edited(bundle, tmp_path, lambda members, at=at: members.insert(at, (name, b"")))  # type: ignore[misc]
        assert (report.exit_code, report.codes() - {"VS-LED-012"}) == (1, {"VS-CON-018"})


def test_a_member_twice_or_out_of_order(bundle: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        report = _edited(bundle, tmp_path, lambda members: members.append(members[0]))
    assert "VS-CON-018" in report.codes()
    report = _edited(bundle, tmp_path, lambda members: members.reverse())
    assert report.codes() - {"VS-LED-012"} == {"VS-CON-018"}
    assert report.exit_code == 1


# ---- members that are themselves in order


def test_a_torn_tail_is_an_error(bundle: Path, tmp_path: Path) -> None:
    report = _edited(bundle, tmp_path, _replace(LOG, lambda raw: raw + b"torn"))
    assert (report.exit_code, report.codes() - {"VS-LED-012"}) == (1, {"VS-CON-006"})


def test_an_empty_segment_is_an_error(bundle: Path, tmp_path: Path) -> None:
    report = _edited(
        bundle, tmp_path, lambda members: members.append(("objects/log/00000002.vlog", b""))
    )
    assert (report.exit_code, report.codes() - {"VS-LED-012"}) == (1, {"VS-CON-016"})


def test_a_large_file_that_nobody_names_is_an_error(bundle: Path, tmp_path: Path) -> None:
    name = "objects/large/ab/" + "0" * 62
    report = _edited(bundle, tmp_path, lambda members: members.append((name, b"x")))
    assert (report.exit_code, report.codes() - {"VS-LED-012"}) == (1, {"VS-CON-013"})


def test_a_ref_too_many_or_too_few(bundle: Path, tmp_path: Path) -> None:
    def add(members: Members) -> None:
        members.append(("refs/zebra", dict(members)["refs/generation"]))
        members.sort(key=lambda one: order_key(one[0]))

    assert _edited(bundle, tmp_path, add).exit_code == 1
    assert _edited(bundle, tmp_path, lambda members: members.pop(1) and None).exit_code == 1


def test_no_format_file_or_no_log(bundle: Path, tmp_path: Path) -> None:
    assert _edited(bundle, tmp_path, lambda members: members.pop(0) and None).exit_code == 3
    assert _edited(bundle, tmp_path, lambda members: members.pop() and None).exit_code in (1, 3)
    assert _edited(bundle, tmp_path, _replace("VSTORE", lambda raw: raw + b" ")).exit_code == 1
    report = _edited(
        bundle, tmp_path, _replace("VSTORE", lambda raw: raw.replace(b'"format":1', b'"format":2'))
    )
    assert report.exit_code == 3


def test_a_log_laid_out_by_somebody_else(bundle: Path, tmp_path: Path) -> None:
    # The same frames in a log with a salt of its own: sound, and not what vstore makes of it.
    root = PackageEditor(bundle.with_name("package")).save(tmp_path / "other")
    foreign = (root / LOG).read_bytes()
    report = _edited(bundle, tmp_path, _replace(LOG, lambda raw: foreign))
    assert (report.exit_code, report.codes() - {"VS-LED-012"}) == (1, {"VS-CON-022"})
    [finding] = [one for one in report.findings if one.code == "VS-CON-022"]
    assert (finding.file, finding.offset) == (LOG, 0)


def test_an_unreachable_object_is_an_error(bundle: Path, tmp_path: Path) -> None:
    from vstore.objects.ids import object_id
    from vstore.testing.editor import StoredObject

    editor = PackageEditor(bundle.with_name("package"))
    editor.frames[0].objects.append(StoredObject(object_id(b"hidden"), 0, b"hidden"))
    root = editor.save(tmp_path / "other")
    assert verify_package(root).exit_code == 0
    report = _edited(bundle, tmp_path, _replace(LOG, lambda raw: (root / LOG).read_bytes()))
    assert report.codes() - {"VS-LED-012"} == {"VS-CON-022", "VS-OBJ-006"}


def test_damage_inside_of_a_frame_with_right_checksums(bundle: Path, tmp_path: Path) -> None:
    def flip(raw: bytes) -> bytes:
        at = SEGMENT_HEADER_BYTES + 500
        return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]

    assert _edited(bundle, tmp_path, _replace(LOG, flip)).exit_code == 1
    assert _edited(bundle, tmp_path, _replace(LOG, lambda raw: raw[:2000])).exit_code == 1
    assert _edited(bundle, tmp_path, _replace(LOG, lambda raw: b"")).exit_code in (1, 3)


# ---- incremental ones


@pytest.fixture(scope="module")
def incremental(bundle: Path) -> Path:
    from vstore.controller.bundles import create_bundle
    from vstore.package.reader import PackageReader

    with PackageReader.open(bundle.with_name("package")) as reader:
        target = bundle.with_name("incremental.zip")
        create_bundle(reader, target, since=reader.resolve("g20"))
    return target


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        (b'"case_id":"CASE-1"', b'"case_id":"CASE-2"', {"VS-CON-020"}),
        (b'"package_id":"PACKAGE-1"', b'"package_id":"PACKAGE"', {"VS-CON-020"}),
        (b'"head_generation":26', b'"head_generation":27', {"VS-CON-020"}),
        (b'"since_generation":20', b'"since_generation":19', {"VS-CON-020"}),
        (b'"bundle":1', b'"bundle":2', {"VS-CON-002"}),
        (b'"bundle":1', b'"bundle":"1"', {"VS-CON-020"}),
        (b"\n", b"", {"VS-CON-020"}),
    ],
)
def test_claims_are_compared(
    bundle: Path, incremental: Path, tmp_path: Path, old: bytes, new: bytes, codes: set[str]
) -> None:
    change = _replace("BUNDLE", lambda raw: raw.replace(old, new))
    edited = edit_archive(incremental, tmp_path / "edited.zip", change)
    assert verify_package(edited, base=bundle).codes() - {"VS-LED-012"} == codes
    alone = verify_package(edited).codes()
    assert codes <= alone <= codes | {"VS-CON-021"}


def test_an_incremental_one_that_names_another_base(
    bundle: Path, incremental: Path, tmp_path: Path
) -> None:
    from vstore.package.bundle_needs import parse_needs
    from vstore.package.reader import PackageReader

    with PackageReader.open(bundle) as reader:
        other = str(reader.resolve("g19")).encode()
        real = str(reader.resolve("g20")).encode()
    edited = edit_archive(
        incremental,
        tmp_path / "edited.zip",
        _replace("BUNDLE", lambda raw: raw.replace(real, other)),
    )
    assert parse_needs(dict_of(edited)["BUNDLE"]).since == other.decode()
    assert verify_package(edited, base=bundle).exit_code == 1
    assert verify_package(edited).exit_code == 1


def dict_of(path: Path) -> dict[str, bytes]:
    from vstore.testing.bundles import members_of

    return dict(members_of(path))


def test_a_full_bundle_that_claims_to_be_incremental(
    bundle: Path, incremental: Path, tmp_path: Path
) -> None:
    needs = dict_of(incremental)["BUNDLE"]
    edited = edit_archive(
        bundle, tmp_path / "edited.zip", lambda members: members.insert(1, ("BUNDLE", needs))
    )
    assert verify_package(edited).exit_code == 1
    assert verify_package(edited, base=bundle).exit_code == 1


def test_an_incremental_one_without_its_claim(incremental: Path, tmp_path: Path) -> None:
    edited = edit_archive(incremental, tmp_path / "e.zip", lambda members: members.pop(1) and None)
    assert verify_package(edited).exit_code == 1


def test_flips_in_an_incremental_one(bundle: Path, incremental: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(incremental, tmp_path / "copy.zip"))
    raw = path.read_bytes()
    for at in random.Random(6).sample(range(len(raw)), 60):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 4]) + raw[at + 1 :])
        assert verify_package(path, base=bundle, fail_fast=True).exit_code in (1, 3)


def test_faults_of_the_base_are_told_apart(bundle: Path, incremental: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(bundle.with_name("package"), tmp_path / "base"))
    raw = bytearray((root / LOG).read_bytes())
    raw[SEGMENT_HEADER_BYTES + 300] ^= 1
    (root / LOG).write_bytes(raw)
    report = verify_package(incremental, base=root)
    assert report.exit_code in (1, 3)
    files = {one.file for one in report.findings if one.code == "VS-CON-005"}
    assert files <= {f"base:{LOG}"}


# ---- nothing there


def test_what_is_no_bundle(tmp_path: Path) -> None:
    for content in (b"", b"text\n", bytes(5000)):
        (tmp_path / "file").write_bytes(content)
        report = verify_package(tmp_path / "file")
        assert (report.exit_code, report.codes()) == (3, {"VS-VER-002"})
    assert verify_package(write_archive(tmp_path / "e.zip", [])).exit_code == 3
    assert verify_package(write_archive(tmp_path / "f.zip", [("x.txt", b"x")])).exit_code == 1
    assert verify_package(tmp_path / "absent.zip").exit_code == 3


def test_unreadable_files(copy: Path) -> None:
    copy.chmod(0)
    closed = copy.parent / "closed"
    closed.mkdir()
    within = Path(shutil.copy(copy, closed / "b.zip"))
    closed.chmod(0)
    as_root = os.geteuid() == 0
    # All that is needed is imported by now: somebody else couldn't do it everywhere.
    verify_package(copy)
    if as_root:
        os.seteuid(65534)
    try:
        reports = [verify_package(one) for one in (copy, within)]
    finally:
        if as_root:
            os.seteuid(0)
        closed.chmod(0o700)
    assert [one.exit_code for one in reports] == [3, 3]


def test_a_file_that_fails_while_it_is_read(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pread

    def failing(fd: int, length: int, offset: int) -> bytes:
        if 1000 < offset < 1_000_000:
            raise OSError(5, "injected")
        return real(fd, length, offset)

    monkeypatch.setattr(os, "pread", failing)
    report = verify_package(bundle)
    assert (report.exit_code, report.codes()) == (3, {"VS-CON-015"})
    monkeypatch.setattr(os, "pread", lambda *_: (_ for _ in ()).throw(OSError(5, "injected")))
    assert verify_package(bundle).exit_code == 3


def test_a_limit_is_never_a_verdict(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vstore.verify.bundle_log.max_raw_bytes", lambda size: 5000)
    report = verify_package(bundle)
    assert (report.exit_code, report.codes()) == (3, {"VS-CON-019"})


def test_too_many_members(copy: Path) -> None:
    raw = copy.read_bytes()
    copy.write_bytes(raw[:-14] + struct.pack("<HH", 65_535, 65_535) + raw[-10:])
    report = verify_package(copy)
    assert (report.exit_code, report.codes()) == (3, {"VS-CON-019"})
