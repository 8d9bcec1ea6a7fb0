"""Finding a package, its history, names for what is in it, what else lies in its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec
import pytest

from vstore.errors import (
    IntegrityError,
    InvalidError,
    NotFoundError,
    StorageError,
    VStoreError,
)
from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.package import naming, unclaimed
from vstore.package.case import Case
from vstore.package.documents import Generation
from vstore.package.inputs import InputFile
from vstore.package.reader import PackageReader, discover, is_package
from vstore.package.repository import Repository
from vstore.testing.clock import FrozenClock


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    (tmp_path / "report.txt").write_text("bug")
    with Repository.create(tmp_path / "package", clock=FrozenClock()) as made:
        case = Case(made)
        case.init("c", "p", [InputFile(tmp_path / "report.txt", b"report.txt")])
        case.advance()
        case.advance()
        for number in range(4):
            case.set_hypotheses([{"id": "H1", "statement": str(number)}])
        yield made


def test_packages_are_found_upwards(tmp_path: Path, repository: Repository) -> None:
    root = repository.root
    (root / "deep" / "er").mkdir(parents=True)
    assert is_package(root)
    assert not is_package(root / "deep")
    for start in (root, root / "deep" / "er", root / "VSTORE", root / "deep" / "not there"):
        assert discover(start) == root
    with pytest.raises(NotFoundError) as caught:
        discover(tmp_path)
    assert caught.value.kind == "not_a_package"
    with PackageReader.open(root / "deep") as reader:
        assert reader.root == root


def test_a_path_out_of_a_package_does_not_find_it(
    tmp_path: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository.root
    (tmp_path / "other").mkdir()
    (root / "link").symlink_to(tmp_path / "other")
    monkeypatch.chdir(root)
    for text in ("../other", "../none", "..", "link", "link/..", "../package/../other"):
        with pytest.raises(NotFoundError) as caught:
            discover(Path(text))
        assert caught.value.kind == "not_a_package"
        with pytest.raises(NotFoundError):
            PackageReader.open(Path(text))
    assert discover(Path("../package/none/..")) == root
    assert discover(Path("../other/../package")).samefile(root)


def test_history_both_ways(repository: Repository) -> None:
    reader = repository.reader
    back = [generation.package_generation for _, generation in reader.history()]
    assert back == [7, 6, 5, 4, 3, 2, 1]
    forth = [generation.package_generation for _, generation in reader.history(newest_first=False)]
    assert forth == back[::-1]
    third = reader.resolve("g3")
    assert [g.package_generation for _, g in reader.history(start=third)] == [3, 2, 1]
    assert [g.package_generation for _, g in reader.history(start=third, newest_first=False)] == [
        1,
        2,
        3,
    ]


def test_a_generation_by_its_id(repository: Repository) -> None:
    reader = repository.reader
    oid = reader.resolve("HEAD~2")
    assert reader.at(oid).number == 5
    for other in (object_id(b"nothing"), reader.pinned().raw_input):
        with pytest.raises(NotFoundError) as caught:
            reader.at(other)
        assert caught.value.kind == "no_generation"


def test_what_was_published_since_is_seen_after_a_refresh(repository: Repository) -> None:
    with PackageReader.open(repository.root) as reader:
        assert reader.pinned().number == 7
        Case(repository).set_hypotheses([{"id": "H1", "statement": "new"}])
        assert reader.pinned().number == 7
        assert reader.refresh()
        assert reader.pinned().number == 8
        assert not reader.refresh()


# ---- names


def test_names_of_generations(repository: Repository) -> None:
    reader = repository.reader
    by_number = {g.package_generation: oid for oid, g in reader.history()}
    for name, number in {
        "HEAD": 7,
        "@": 7,
        "HEAD~0": 7,
        "HEAD~": 6,
        "HEAD^": 6,
        "HEAD~3": 4,
        "@~1^~2": 3,
        "g1": 1,
        "g5~2": 3,
        "g7": 7,
        f"{by_number[6]}~1": 5,
        f"{by_number[6].hex}^": 5,
        by_number[2]: 2,
    }.items():
        assert reader.resolve(name) == by_number[number], name


def test_other_names(repository: Repository) -> None:
    reader = repository.reader
    head = reader.pinned().generation
    assert reader.resolve("inputs") == head.inputs
    assert reader.resolve("hypotheses") == head.artifacts["hypotheses"]
    some = object_id(b"bug")
    for name in (some, some.hex, some.hex[:20], f"b3:{some.hex[:12]}"):
        assert reader.resolve(name) == some
    # A full id needn't be in the package.
    other = object_id(b"not here")
    assert reader.resolve(other) == other
    with Repository.open(repository.root) as writer, writer.begin() as transaction:
        oid = transaction.put(b"snapshot")
        writer.publish(
            transaction,
            writer.pinned(),
            events=[writer.event("source.add")],
            snapshots={"code": oid},
        )
    reader.refresh()
    assert reader.resolve("code") == oid


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", "bad_name"),
        ("~1", "bad_name"),
        ("HEAD~1x", "bad_name"),
        ("HEAD~9999999999", "bad_name"),
        ("x" * 201, "bad_name"),
        ("abc", "bad_name"),
        ("HEAD~7", "no_generation"),
        ("g8", "no_generation"),
        ("g0", "unknown_name"),
        ("nothing", "unknown_name"),
        ("head", "unknown_name"),
        ("B3:ABCD", "unknown_name"),
        ("E000001", "unknown_record"),
        ("inputs~1", "no_generation"),
        ("0" * 63, "no_object"),
        ("0" * 64 + "~1", "no_generation"),
    ],
)
def test_what_names_nothing(repository: Repository, name: str, kind: str) -> None:
    with pytest.raises(VStoreError) as caught:
        repository.reader.resolve(name)
    assert caught.value.kind == kind


def colliding() -> tuple[bytes, bytes]:
    """Two blobs whose ids begin with the same four digits."""
    seen: dict[str, bytes] = {}
    for number in range(100_000):
        blob = b"%d" % number
        digits = object_id(blob).hex[:4]
        if digits in seen:
            return seen[digits], blob
        seen[digits] = blob
    raise AssertionError


def test_an_abbreviation_must_be_one_ids(repository: Repository) -> None:
    one, other = colliding()
    with repository.begin() as transaction:
        repository.publish(
            transaction,
            repository.pinned(),
            events=[repository.event("source.add")],
            snapshots={"one": transaction.put(one), "other": transaction.put(other)},
        )
    reader = repository.reader
    first, second = object_id(one), object_id(other)
    with pytest.raises(InvalidError) as caught:
        reader.resolve(first.hex[:4])
    assert caught.value.kind == "ambiguous_id"
    candidates = cast("list[ObjectId]", caught.value.details["candidates"])
    assert {first, second} <= set(candidates)
    assert first in (caught.value.hint or "")
    shared = next(n for n in range(64) if first.hex[n] != second.hex[n])
    assert reader.resolve(first.hex[: shared + 1]) == first
    short = naming.abbreviate(reader, first, digits=4)
    assert len(short) > shared
    assert reader.resolve(short) == first
    assert naming.abbreviate(reader, first) == first.hex[:12]


class FakePackage:
    """As much of a reader as finding a record takes."""

    def __init__(self, indices: list[bytes]) -> None:
        self.objects = MemoryObjects()
        self.head: ObjectId | None = None
        for raw in indices:
            parent = "null" if self.head is None else f'"{self.head}"'
            self.head = self.objects.put(raw.replace(b"PARENT", parent.encode()))

    def pinned(self) -> FakePackage:
        return self

    def artifact(self, name: str) -> ObjectId | None:
        assert name == "evidence_index"
        return self.head


def index(*ids: str) -> bytes:
    records = ",".join(f'{{"id":"{one}","object":"{object_id(one.encode())}"}}' for one in ids)
    return f'{{"other":[1],"parent":PARENT,"records":[{records}]}}'.encode()


def find(package: FakePackage, record: str) -> ObjectId:
    return naming.find_record(cast("PackageReader", package), record)


def test_records_by_their_ids() -> None:
    package = FakePackage(
        [index("E000001", "E000002"), index("E000003"), index("E999999", "E1000000")]
    )
    for record in ("E000001", "E000002", "E000003", "E999999", "E1000000"):
        assert find(package, record) == object_id(record.encode())
    for record in ("E000004", "E1000001", "E000000"):
        with pytest.raises(NotFoundError) as caught:
            find(package, record)
        assert caught.value.kind == "unknown_record"


@pytest.mark.parametrize("raw", [b"", b"\xff", b"[]", b'{"parent":PARENT,"records":[{}]}'])
def test_a_damaged_index_is_an_integrity_error(raw: bytes) -> None:
    with pytest.raises(IntegrityError) as caught:
        find(FakePackage([index("E000001"), raw]), "E000001")
    assert caught.value.kind == "not_an_index"


def test_an_index_that_names_no_object_is_an_integrity_error() -> None:
    raw = b'{"parent":PARENT,"records":[{"id":"E000001","object":"b3:xyz"}]}'
    with pytest.raises(IntegrityError):
        find(FakePackage([raw]), "E000001")


# ---- histories that don't fit


def reader_over(*generations: Generation) -> PackageReader:
    """A reader of generations that no writer would have published."""
    objects = MemoryObjects()
    ids = [objects.put(encode(one)) for one in generations]

    class Objects:
        root = Path("/nowhere")
        generation = ids[-1]
        get = staticmethod(objects.get)

    return PackageReader(Objects())  # type: ignore[arg-type]


def test_a_chain_that_does_not_fit_is_an_integrity_error(repository: Repository) -> None:
    first = repository.reader.generation(repository.reader.resolve("g1"))
    second = repository.reader.generation(repository.reader.resolve("g2"))
    assert [g for _, g in reader_over(first, second).history()] == [second, first]
    for broken in (
        msgspec.structs.replace(second, package_generation=3),
        msgspec.structs.replace(second, package_generation=1),
        msgspec.structs.replace(second, parent=None),
    ):
        with pytest.raises(IntegrityError) as caught:
            list(reader_over(first, broken).history())
        assert caught.value.kind == "broken_history"


def test_a_head_that_is_no_generation_is_an_integrity_error() -> None:
    objects = MemoryObjects()

    class Objects:
        root = Path("/nowhere")
        generation = objects.put(b'{"entries":[],"schema":"tree-v1"}')
        get = staticmethod(objects.get)

    with pytest.raises(IntegrityError) as caught:
        PackageReader(Objects()).pinned()  # type: ignore[arg-type]
    assert caught.value.kind == "not_a_generation"


# ---- other files


def test_files_that_nobody_knows(repository: Repository) -> None:
    root = repository.root
    assert repository.reader.unclaimed() == []
    (root / "notes").mkdir()
    (root / "notes" / "empty").mkdir()
    (root / "notes" / "b.txt").write_text("b")
    (root / "tmp" / "residue").write_text("x")
    (root / "cache" / "anything").write_text("x")
    (root / "report.txt").write_text("bug")
    (root / "link").symlink_to("/etc")
    with open(os.fsencode(root) + b"/\xff", "wb"):  # noqa: PTH123
        pass
    expected = ["link", "notes/b.txt", "notes/empty/", "report.txt", os.fsdecode(b"\xff")]
    assert repository.reader.unclaimed() == expected
    # What the raw input has already, with the same bytes, is nothing new.
    expected.remove("report.txt")
    assert repository.reader.unclaimed(taken_in=False) == expected


@pytest.mark.parametrize("change", ["bytes", "size", "executable", "link", "folder", "same"])
def test_a_changed_report_is_new_raw_input(repository: Repository, change: str) -> None:
    path = repository.root / "report.txt"
    path.write_text({"bytes": "BUG", "size": "bug!"}.get(change, "bug"))
    if change == "executable":
        path.chmod(0o755)
    elif change == "link":
        path.unlink()
        path.symlink_to("bug")
    elif change == "folder":
        path.unlink()
        (path / "x").mkdir(parents=True)
    found = repository.reader.unclaimed(taken_in=False)
    assert found == (
        [] if change == "same" else ["report.txt/x/" if change == "folder" else "report.txt"]
    )


def test_links_that_were_taken_in(tmp_path: Path, repository: Repository) -> None:
    (tmp_path / "l").symlink_to("target")
    with Repository.create(tmp_path / "other") as made:
        Case(made).init("c", "p", [InputFile(tmp_path / "l", b"l")])
        (made.root / "l").symlink_to("target")
        assert made.reader.unclaimed(taken_in=False) == []
        (made.root / "l").unlink()
        (made.root / "l").symlink_to("elsewhere")
        assert made.reader.unclaimed(taken_in=False) == ["l"]


def test_a_folder_that_cannot_be_listed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.root / "notes").mkdir()
    (repository.root / "report.txt").write_text("bug")
    real = os.scandir

    def scandir(path: bytes) -> Iterator[os.DirEntry[bytes]]:
        if path.endswith(b"/notes"):
            raise PermissionError(13, "no")
        return real(path)  # type: ignore[return-value]

    with monkeypatch.context() as patch:
        patch.setattr(unclaimed.os, "scandir", scandir)
        with pytest.raises(StorageError, match="notes"):
            repository.reader.unclaimed()

    def refuse(path: bytes, flags: int) -> int:
        raise PermissionError(13, "no")

    # What can't be read can't be shown to be the raw input.
    with monkeypatch.context() as patch:
        patch.setattr(unclaimed.os, "open", refuse)
        assert "report.txt" in repository.reader.unclaimed(taken_in=False)


def test_a_raw_input_that_cannot_be_read_claims_nothing(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository.root / "report.txt").write_text("bug")
    assert repository.reader.unclaimed(taken_in=False) == []

    def damaged(self: PackageReader) -> object:
        raise IntegrityError("damaged")

    monkeypatch.setattr(PackageReader, "pinned", damaged)
    assert repository.reader.unclaimed(taken_in=False) == ["report.txt"]


def test_refs_where_the_history_is_damaged(repository: Repository) -> None:
    """What a ref had before the damage isn't known any more; what it has now is."""
    reader = repository.reader
    lost = reader.resolve("HEAD~2")
    older = reader.resolve("HEAD~4")
    (repository.root / "refs" / "generation").write_text(f"{older}\n")

    class Damaged(PackageReader):
        def generation(self, oid: ObjectId) -> Generation:
            if oid == lost:
                raise IntegrityError("damaged")
            return super().generation(oid)

    assert {one.name: one.state for one in reader.ref_report()}["generation"] == "lagging"
    found = {one.name: one.state for one in Damaged(reader.objects).ref_report()}
    assert found == {"generation": "foreign", "hypotheses": "current"}
