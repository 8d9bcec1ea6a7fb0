from __future__ import annotations

import errno
import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.controller.bundles import create_bundle
from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    StorageError,
)
from vstore.objects.frame import FrameSummary
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.layout import large_name
from vstore.objects.tree import Tree, TreeEntry
from vstore.package import bundle_log, bundle_plan, bundle_writer
from vstore.package.inputs import input_file
from vstore.package.reader import PackageReader
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace
from vstore.testing.bundles import make_bundle, members_of, write_archive
from vstore.testing.clock import FrozenClock
from vstore.testing.faults import FaultyIO
from vstore.testing.investigation import small_investigation
from vstore.verify import verify_package


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package and its bundle, which nobody changes."""
    folder = tmp_path_factory.mktemp("bundles")
    make_bundle(folder)
    return folder


@pytest.fixture
def package(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "package", tmp_path / "package"))


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Repository]:
    """A package with one small file of raw input."""
    (tmp_path / "report.txt").write_bytes(b"it breaks\n")
    with Workspace.create(tmp_path / "work", clock=FrozenClock(), actor="a") as workspace:
        workspace.init("c", files=[input_file(tmp_path / "report.txt")])
        yield workspace.repository("c")


def _add(case: Repository, name: str, content: bytes) -> ObjectId:
    """Publish a generation with one file more."""
    base = case.pinned()
    with case.begin() as transaction:
        tree = base.objects.document(base.raw_input, Tree)
        oid = transaction.put(content)
        entry = TreeEntry(name=name, kind="file", object=oid, size=len(content), executable=False)
        entries = sorted([*tree.entries, entry], key=lambda one: one.name)
        inputs = transaction.put_document(Tree(entries=entries))
        case.publish(transaction, base, events=[case.event("input.add")], inputs=inputs)
    return oid


def _strand(case: Repository, *contents: bytes) -> None:
    """Leave objects in the log that no generation leads to, as a lost publication does."""
    with case.begin() as transaction:
        for content in contents:
            transaction.put(content)
        transaction._flush()


def _ids(path: Path) -> list[ObjectId]:
    with PackageReader.open(path) as reader:
        return [
            ObjectId.from_bytes(raw) for frame in reader.objects.frames() for raw in frame.raw_ids()
        ]


# ---- what is in it


def test_the_unzipped_tree_is_the_package(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made / "bundle.zip") as archive:
        assert archive.testzip() is None
        assert all(one.compress_type == zipfile.ZIP_STORED for one in archive.infolist())
        archive.extractall(tmp_path / "unzipped")
    report = verify_package(tmp_path / "unzipped")
    assert report.exit_code == 0
    assert {one.code for one in report.findings} == {"VS-LED-012"}
    with (
        PackageReader.open(made / "package") as original,
        PackageReader.open(tmp_path / "unzipped") as unzipped,
    ):
        assert list(original.history()) == list(unzipped.history())
        assert set(_ids(made / "package")) == set(_ids(tmp_path / "unzipped"))
        assert {one.state for one in unzipped.ref_report()} == {"current"}
    again = create_bundle(tmp_path / "unzipped", tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (made / "bundle.zip").read_bytes()
    assert again.size == (tmp_path / "again.zip").stat().st_size


def test_the_unzipped_tree_can_be_written_to(case: Repository, tmp_path: Path) -> None:
    create_bundle(case.root, tmp_path / "b.zip")
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        archive.extractall(tmp_path / "unzipped")
    with Repository.open(tmp_path / "unzipped", clock=FrozenClock(), actor="b") as other:
        added = _add(other, "more.txt", b"more\n")
        assert other.pinned().number == 2
    assert added in _ids(tmp_path / "unzipped")
    assert verify_package(tmp_path / "unzipped").exit_code == 0


@pytest.mark.skipif(shutil.which("unzip") is None, reason="no unzip here")
def test_unzip_of_the_system_makes_the_same_tree(made: Path, tmp_path: Path) -> None:
    subprocess.run(
        ["unzip", "-q", made / "bundle.zip", "-d", tmp_path / "unzipped"],
        check=True,
        capture_output=True,
    )
    subprocess.run(["unzip", "-tq", made / "bundle.zip"], check=True, capture_output=True)
    found = {
        str(path.relative_to(tmp_path / "unzipped")): path.read_bytes()
        for path in (tmp_path / "unzipped").rglob("*")
        if path.is_file()
    }
    assert found == dict(members_of(made / "bundle.zip"))
    assert verify_package(tmp_path / "unzipped").exit_code == 0


def test_has_the_one_form(made: Path, tmp_path: Path) -> None:
    again = write_archive(tmp_path / "again.zip", members_of(made / "bundle.zip"))
    assert again.read_bytes() == (made / "bundle.zip").read_bytes()


def test_the_same_package_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    # The same history made a second time: only the random salts of its log are others.
    small_investigation(tmp_path / "package", tmp_path).close()
    log = "package/objects/log/00000001.vlog"
    assert (tmp_path / log).read_bytes() != (made / log).read_bytes()
    facts = create_bundle(tmp_path / "package", tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == (made / "bundle.zip").read_bytes()
    assert (facts.generations, facts.objects, facts.since) == (26, 83, None)


def test_a_bundle_of_a_bundle(made: Path, tmp_path: Path) -> None:
    create_bundle(made / "bundle.zip", tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == (made / "bundle.zip").read_bytes()


def test_what_belongs_to_nothing_doesnt_travel(package: Path, made: Path, tmp_path: Path) -> None:
    (package / "notes.txt").write_text("unclaimed")
    for folder in ("cache", "locks", "tmp", "objects/large/ab", "refs"):
        (package / folder).mkdir(parents=True, exist_ok=True)
    (package / "cache/objects.index").write_bytes(b"x")
    (package / "locks/evidence").write_bytes(b"x")
    (package / "tmp/ref-1").write_bytes(b"x")
    (package / "objects/large/ab" / ("0" * 62)).write_bytes(b"x")
    (package / "refs/generation").write_bytes(b"")
    with (package / "objects/log/00000001.vlog").open("ab") as file:
        file.write(b"torn")
    (package / "objects/log/00000002.vlog").write_bytes(b"")
    create_bundle(package, tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == (made / "bundle.zip").read_bytes()


def test_objects_that_nothing_leads_to_stay_behind(case: Repository, tmp_path: Path) -> None:
    _add(case, "one", b"one" * 100)
    _strand(case, b"lost", b"two" * 100)
    # A part of what was stranded is used later on: it isn't stored again.
    used = _add(case, "two", b"two" * 100)
    _strand(case, b"lost as well")
    before = _ids(case.root)
    assert {object_id(b"lost"), object_id(b"lost as well"), used} <= set(before)
    create_bundle(case.root, tmp_path / "b.zip")
    after = _ids(tmp_path / "b.zip")
    assert set(before) - set(after) == {object_id(b"lost"), object_id(b"lost as well")}
    assert len(after) == len(set(after))
    assert verify_package(tmp_path / "b.zip").exit_code == 0
    with PackageReader.open(tmp_path / "b.zip") as reader:
        assert reader.objects.get(used) == b"two" * 100
        # Bulk, made anew with less; nothing of the second one is left.
        assert [one.generation is None for one in reader.objects.frames()] == [
            False,
            False,
            True,
            False,
        ]


def test_an_id_in_a_text_leads_nowhere(case: Repository, tmp_path: Path) -> None:
    lost = object_id(b"lost")
    _strand(case, b"lost")
    base = case.pinned()
    with case.begin() as transaction:
        event = case.event("advance", reason=str(lost))
        case.publish(transaction, base, events=[event])
    _add(case, "names it.json", f'{{"object":"{lost}"}}'.encode())
    create_bundle(case.root, tmp_path / "b.zip")
    assert lost in _ids(case.root)
    assert lost not in _ids(tmp_path / "b.zip")


def test_frames_are_taken_over_with_their_compressed_bytes(made: Path) -> None:
    with (
        PackageReader.open(made / "package") as one,
        PackageReader.open(made / "bundle.zip") as other,
    ):
        for left, right in zip(one.objects.frames(), other.objects.frames(), strict=True):
            assert (left.sequence, left.raw_table) == (right.sequence, right.raw_table)
            stored = [
                reader.objects.log.read(frame.segment, frame.offset)[1]
                for reader, frame in ((one, left), (other, right))
            ]
            assert stored[0] == stored[1]


def test_objects_in_files_of_their_own(case: Repository, tmp_path: Path) -> None:
    content = os.urandom(1 << 20) + b"end"
    oid = _add(case, "large", content)
    _strand(case, os.urandom(1 << 20) + b"lost")
    create_bundle(case.root, tmp_path / "b.zip")
    stored = dict(members_of(tmp_path / "b.zip"))
    assert [name for name in stored if name.startswith("objects/large")] == [large_name(oid)]
    assert stored[large_name(oid)] == (case.root / large_name(oid)).read_bytes()
    assert verify_package(tmp_path / "b.zip").exit_code == 0
    with PackageReader.open(tmp_path / "b.zip") as reader:
        assert reader.objects.get(oid) == content
        with reader.objects.open(oid) as stream:
            assert stream.read() == content
    create_bundle(tmp_path / "b.zip", tmp_path / "c.zip")
    assert (tmp_path / "c.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    path = case.root / large_name(oid)
    raw = bytearray(path.read_bytes())
    raw[1000] ^= 1
    path.write_bytes(raw)
    with pytest.raises(IntegrityError) as caught:
        create_bundle(case.root, tmp_path / "d.zip")
    assert caught.value.kind == "bad_large_object"
    path.unlink()
    with pytest.raises(IntegrityError):
        create_bundle(case.root, tmp_path / "d.zip")
    assert not list(tmp_path.glob(".d.zip*"))


def test_segments_end_where_the_layout_says(
    case: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        _add(case, f"f{number}", os.urandom(700))
    create_bundle(case.root, tmp_path / "one.zip")
    monkeypatch.setattr(bundle_plan, "SEGMENT_BYTES", 2500)
    create_bundle(case.root, tmp_path / "b.zip")
    names = [name for name, _ in members_of(tmp_path / "b.zip") if "log" in name]
    assert names == [f"objects/log/{number:08d}.vlog" for number in range(1, len(names) + 1)]
    assert len(names) >= 3
    assert sorted(_ids(tmp_path / "b.zip")) == sorted(_ids(case.root))
    # For a reader with other ideas of where segments end, that is a finding.
    assert verify_package(tmp_path / "b.zip").codes() == {"VS-CON-022"}
    monkeypatch.setattr("vstore.verify.bundle_log.SEGMENT_BYTES", 2500)
    assert verify_package(tmp_path / "b.zip").codes() == set()
    assert verify_package(tmp_path / "one.zip").codes() == {"VS-CON-022"}


# ---- since


def test_what_came_since(case: Repository, tmp_path: Path) -> None:
    _strand(case, b"before", b"lost")
    first = _add(case, "one", b"one")
    since = case.pinned()
    second = _add(case, "two", b"two")
    third = _add(case, "three", b"before")
    head = case.pinned()
    facts = create_bundle(case.root, tmp_path / "b.zip", since=since.generation_id)
    assert (facts.since, facts.head, facts.generations) == (
        since.generation_id,
        head.generation_id,
        2,
    )
    members = dict(members_of(tmp_path / "b.zip"))
    assert list(members)[:2] == ["VSTORE", "BUNDLE"]
    assert f'"since":"{since.generation_id}","since_generation":2'.encode() in members["BUNDLE"]
    report = verify_package(tmp_path / "b.zip")
    assert (report.exit_code, report.codes()) == (3, {"VS-CON-021"})
    whole = verify_package(tmp_path / "b.zip", base=case.root)
    assert (whole.exit_code, whole.codes(), whole.head) == (0, set(), head.generation_id)
    assert whole.counts.generations == 4
    create_bundle(case.root, tmp_path / "full.zip")
    assert verify_package(tmp_path / "b.zip", base=tmp_path / "full.zip").exit_code == 0
    # Objects of the base aren't sent again, but for what it has without knowing it.
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        archive.extractall(tmp_path / "alone")
    sent = {
        ObjectId.from_bytes(raw)
        for frame in bundle_frames(tmp_path / "alone")
        for raw in frame.raw_ids()
    }
    assert {second, third, head.generation_id} <= sent
    assert first not in sent
    assert object_id(b"lost") not in sent
    assert since.generation_id not in sent
    assert verify_package(tmp_path / "alone").exit_code == 1


def bundle_frames(root: Path) -> Iterator[FrameSummary]:
    from vstore.objects.log import LogReader

    log = LogReader(root / "objects/log")
    yield from (one for one in log.scan() if isinstance(one, FrameSummary))
    log.close()


def test_large_objects_of_the_base_and_of_the_bundle(case: Repository, tmp_path: Path) -> None:
    contents = [os.urandom(1 << 20) + bytes([one]) for one in range(2)]
    first = _add(case, "one", contents[0])
    since = case.pinned().generation_id
    second = _add(case, "two", contents[1])
    create_bundle(case.root, tmp_path / "b.zip", since=since)
    names = [name for name, _ in members_of(tmp_path / "b.zip") if "large" in name]
    assert names == [large_name(second)]
    create_bundle(case.root, tmp_path / "full.zip")
    for base in (case.root, tmp_path / "full.zip"):
        assert verify_package(tmp_path / "b.zip", base=base).codes() == set()
    path = case.root / large_name(first)
    path.write_bytes(path.read_bytes()[:-1])
    assert verify_package(tmp_path / "b.zip", base=case.root).codes() == {"VS-CON-012"}
    path.unlink()
    assert verify_package(tmp_path / "b.zip", base=case.root).codes() == {"VS-CON-011"}


def test_a_base_that_lacks_it_or_cant_be_read(case: Repository, tmp_path: Path) -> None:
    early = shutil.copytree(case.root, tmp_path / "early")
    _add(case, "one", b"one")
    since = case.pinned().generation_id
    _add(case, "two", b"two")
    create_bundle(case.root, tmp_path / "b.zip", since=since)
    (tmp_path / "text").write_text("no package")
    damaged = shutil.copytree(case.root, tmp_path / "damaged")
    log = damaged / "objects/log/00000001.vlog"
    raw = bytearray(log.read_bytes())
    raw[400] ^= 1
    log.write_bytes(raw)
    for base in (early, tmp_path / "absent", tmp_path / "text", tmp_path / "b.zip"):
        report = verify_package(tmp_path / "b.zip", base=base)
        assert (report.exit_code, report.codes()) == (3, {"VS-CON-021"}), base
    report = verify_package(tmp_path / "b.zip", base=damaged)
    assert report.exit_code in (1, 3)


def test_since_the_head_or_a_stranger(case: Repository, tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as caught:
        create_bundle(case.root, tmp_path / "b.zip", since=case.pinned().generation_id)
    assert caught.value.kind == "nothing_since"
    with pytest.raises(NotFoundError):
        create_bundle(case.root, tmp_path / "b.zip", since=object_id(b"it breaks\n"))
    assert not (tmp_path / "b.zip").exists()


def test_somebody_publishes_meanwhile(case: Repository, tmp_path: Path) -> None:
    with PackageReader.open(case.root) as reader:
        assert reader.pinned().number == 1
        _add(case, "one", b"one")
        # The refs say more by now than what this reader saw of the log.
        facts = create_bundle(reader, tmp_path / "b.zip")
    assert facts.head == case.pinned().generation_id
    assert verify_package(tmp_path / "b.zip").exit_code == 0


def test_optional_features_travel(package: Path, tmp_path: Path) -> None:
    raw = b'{"digest":"blake3","format":1,"optional":["later"],"required":[]}\n'
    (package / "VSTORE").write_bytes(raw)
    create_bundle(package, tmp_path / "b.zip")
    assert dict(members_of(tmp_path / "b.zip"))["VSTORE"] == raw
    assert verify_package(tmp_path / "b.zip").exit_code == 0


# ---- refusals


def test_an_existing_file_is_kept(made: Path, tmp_path: Path) -> None:
    (tmp_path / "b.zip").write_bytes(b"precious")
    with pytest.raises(ConflictError) as caught:
        create_bundle(made / "package", tmp_path / "b.zip")
    assert caught.value.kind == "file_exists"
    assert (tmp_path / "b.zip").read_bytes() == b"precious"
    create_bundle(made / "package", tmp_path / "b.zip", replace=True)
    assert (tmp_path / "b.zip").read_bytes() == (made / "bundle.zip").read_bytes()


def test_a_damaged_package_is_refused(package: Path, tmp_path: Path) -> None:
    log = package / "objects/log/00000001.vlog"
    raw = bytearray(log.read_bytes())
    raw[3000] ^= 1
    log.write_bytes(raw)
    with pytest.raises(IntegrityError):
        create_bundle(package, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()


def test_refs_that_contradict_the_log_are_refused(package: Path, tmp_path: Path) -> None:
    (package / "refs/generation").write_text(f"{object_id(b'x')}\n")
    with pytest.raises(IntegrityError) as caught:
        create_bundle(package, tmp_path / "b.zip")
    assert caught.value.kind == "log_lost_head"


def test_a_package_without_a_generation(tmp_path: Path) -> None:
    Repository.create(tmp_path / "p").close()
    with pytest.raises(NotFoundError):
        create_bundle(tmp_path / "p", tmp_path / "b.zip")


def test_more_than_readers_take_on(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_writer, "MAX_MEMBERS", 3)
    with pytest.raises(LimitExceeded):
        create_bundle(made / "package", tmp_path / "b.zip")
    monkeypatch.undo()
    monkeypatch.setattr(bundle_log, "_RAW_ALLOWED", 0)
    monkeypatch.setattr(bundle_log, "_RAW_RATIO", 1)
    with pytest.raises(LimitExceeded) as caught:
        create_bundle(made / "package", tmp_path / "b.zip")
    assert caught.value.details["limit"] == "max_raw_bytes"
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fails_leaves_nothing_half(made: Path, tmp_path: Path) -> None:
    whole = (made / "bundle.zip").read_bytes()
    target = tmp_path / "b.zip"
    failed = 0
    for at in range(12):
        try:
            create_bundle(made / "package", target, io=FaultyIO(at, errno.ENOSPC))
        except StorageError:
            failed += 1
        assert not target.exists() or target.read_bytes() == whole
        assert not list(tmp_path.glob(".b.zip*"))
        target.unlink(missing_ok=True)
    # The log's sync; create, write, sync, rename; the folder's sync.
    assert failed == 6
