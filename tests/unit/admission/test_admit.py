"""Admitting real bundles: install, fast-forward, repeat, refuse; nothing is overwritten."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vstore.admission import NotVerified, Unverifiable, admit
from vstore.admission.quarantine import Quarantine
from vstore.controller import BudgetManager, CaseLifecycle
from vstore.controller.bundles import create_bundle
from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    UnsupportedError,
    VStoreError,
)
from vstore.objects.ids import ObjectId
from vstore.objects.locks import LockTimeout
from vstore.package.inputs import InputFile
from vstore.package.reader import PackageReader
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace
from vstore.testing.folders import package_bytes
from vstore.testing.investigation import CASE, INSTANT, PACKAGE, Investigation
from vstore.tools.request import SourceSearch
from vstore.verify import verify_package


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("origin")
    one = Investigation(folder / "package", folder)
    one.begin()
    one.ask("b1", [("H1", "q1", SourceSearch(source="code", pattern="BUG"))])
    one.close()
    return folder


class Site:
    """One service: a workspace, and a copy of the case to work on elsewhere."""

    def __init__(self, folder: Path, original: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.workspace = Workspace.create(
            folder / "workspace", actor="site", clock=lambda: INSTANT, lock_timeout=1
        )
        shutil.copytree(original / "package", folder / "package")
        self.one = Investigation(folder / "package", folder)
        self.made = 0

    def bundle(self, since: ObjectId | None = None) -> Path:
        self.made += 1
        target = self.folder / f"{self.made}.zip"
        create_bundle(self.one.root, target, since=since)
        return target

    def work(self, name: str, pattern: str = "def") -> None:
        self.one.ask(name, [("H1", name, SourceSearch(source="code", pattern=pattern))])

    @property
    def there(self) -> Any:
        return self.workspace.case(CASE).package

    @property
    def head(self) -> ObjectId:
        return self.one.workspace.case(CASE).package.generation_id


@pytest.fixture
def site(tmp_path: Path, original: Path) -> Iterator[Site]:
    found = Site(tmp_path / "site", original)
    yield found
    found.one.close()
    found.workspace.close()
    quarantine = Quarantine(found.workspace)
    assert not quarantine.folder.is_dir() or not list(quarantine.folder.iterdir())
    if (found.workspace.root / CASE / "VSTORE").exists():
        report = verify_package(found.workspace.root / CASE)
        assert report.exit_code == 0, report.findings


def refused(site: Site, kind: type[VStoreError], call: Callable[[], Any]) -> Any:
    path = site.workspace.root / CASE
    before = package_bytes(path) if path.is_dir() else None
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert (package_bytes(path) if path.is_dir() else None) == before
    return caught.value


def test_a_case_that_is_new_is_installed(site: Site) -> None:
    done = admit(site.workspace, site.bundle())
    assert done.outcome == "installed"
    assert done.package.generation_id == site.head
    assert done.generations == done.package.number == site.there.number
    assert done.report.exit_code == 0
    assert site.workspace.cases() == [CASE]
    # What was installed can be worked on.
    BudgetManager(site.workspace).reserve(CASE, PACKAGE, "H1", "q9", operation="source.list")


def test_what_a_crash_left_of_an_installation_goes(site: Site) -> None:
    root = site.workspace.root
    for name in (f".{CASE}.77.tmp", f".{CASE}.x.tmp", f".{CASE}2.77.tmp"):
        (root / name / "refs").mkdir(parents=True)
    admit(site.workspace, site.bundle())
    names = sorted(one.name for one in root.iterdir())
    assert names == sorted([".admission", CASE, f".{CASE}.x.tmp", f".{CASE}2.77.tmp"])
    assert site.workspace.cases() == [CASE]


def test_admitting_again_changes_nothing(site: Site) -> None:
    bundle = site.bundle()
    admit(site.workspace, bundle)
    before = package_bytes(site.workspace.root / CASE)
    for _ in range(2):
        done = admit(site.workspace, bundle)
        assert (done.outcome, done.generations) == ("unchanged", 0)
        assert done.package.generation_id == site.head
    assert package_bytes(site.workspace.root / CASE) == before


@pytest.mark.parametrize("incremental", [False, True])
def test_a_package_that_went_on_is_moved_forward(site: Site, incremental: bool) -> None:
    admit(site.workspace, site.bundle())
    since = site.head
    site.work("q2")
    site.work("q3", "import")
    CaseLifecycle(site.one.workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
    done = admit(site.workspace, site.bundle(since if incremental else None))
    assert (done.outcome, done.generations) == ("fast_forwarded", 5)
    assert site.there.generation_id == site.head
    assert site.there.state == "BLOCKED"
    with PackageReader.open(site.workspace.root / CASE) as here:
        assert {one.state for one in here.ref_report()} == {"current"}
        with PackageReader.open(site.one.root) as there:
            assert [oid for oid, _ in here.history()] == [oid for oid, _ in there.history()]
    # A fresh process goes on from there.
    site.workspace.close()
    with Workspace.open(site.workspace.root, clock=lambda: INSTANT) as again:
        CaseLifecycle(again).resume(CASE, PACKAGE)
        BudgetManager(again).reserve(CASE, PACKAGE, "H1", "q9", operation="source.list")


def test_an_older_bundle_takes_nothing_away(site: Site) -> None:
    old = site.bundle()
    since = site.head
    site.work("q2")
    partial = site.bundle(since)
    admit(site.workspace, site.bundle())
    for bundle in (old, partial):
        done = admit(site.workspace, bundle)
        assert (done.outcome, done.package.generation_id) == ("unchanged", site.head)


def test_an_incremental_bundle_from_further_back(site: Site) -> None:
    # It begins before the head that is here, and goes on after it.
    since = site.head
    site.work("q2")
    admit(site.workspace, site.bundle())
    site.work("q3", "import")
    done = admit(site.workspace, site.bundle(since))
    assert (done.outcome, done.package.generation_id) == ("fast_forwarded", site.head)


def test_an_incremental_bundle_without_its_base(site: Site) -> None:
    old = site.bundle()
    site.work("q2")
    since = site.head
    site.work("q3", "import")
    partial = site.bundle(since)
    error = refused(site, Unverifiable, lambda: admit(site.workspace, partial))
    assert error.kind == "missing_base"
    assert since in error.hint
    assert error.report.exit_code == 3
    admit(site.workspace, old)
    error = refused(site, Unverifiable, lambda: admit(site.workspace, partial))
    assert since in error.hint


def test_a_base_that_is_damaged_is_not_the_bundles_fault(site: Site) -> None:
    admit(site.workspace, site.bundle())
    before = site.head
    site.work("q2")
    bundle = site.bundle(since=before)
    site.workspace.close()
    log = site.workspace.root / CASE / "objects" / "log" / "00000001.vlog"
    good = log.read_bytes()
    content = bytearray(good)
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    error = refused(site, IntegrityError, lambda: admit(site.workspace, bundle))
    assert error.kind == "local_package"
    log.write_bytes(good)
    assert admit(site.workspace, bundle).outcome == "fast_forwarded"


def test_a_package_that_was_only_begun_is_not_the_bundles_fault(site: Site) -> None:
    Repository.create(site.workspace.root / CASE).close()
    error = refused(site, IntegrityError, lambda: admit(site.workspace, site.bundle()))
    assert error.kind == "local_package"
    shutil.rmtree(site.workspace.root / CASE)
    assert admit(site.workspace, site.bundle()).outcome == "installed"


def test_a_package_that_was_moved_away_is_not_taken_for_the_new_one(site: Site) -> None:
    place = site.workspace.root / CASE
    old = admit(site.workspace, site.bundle()).package
    site.work("q2")
    place.rename(site.folder / "away")
    done = admit(site.workspace, site.bundle())
    assert done.outcome == "installed"
    assert done.package.generation_id == site.head != old.generation_id
    CaseLifecycle(site.workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
    with PackageReader.open(place) as reader:
        assert reader.pinned().state == "BLOCKED"


def test_a_package_folder_is_admitted_too(site: Site) -> None:
    assert admit(site.workspace, site.one.root).outcome == "installed"
    site.work("q2")
    assert admit(site.workspace, site.one.root).outcome == "fast_forwarded"
    assert admit(site.workspace, str(site.one.root)).outcome == "unchanged"


def test_to_and_fro_is_one_linear_history(tmp_path: Path, original: Path) -> None:
    here, there = Site(tmp_path / "a", original), Site(tmp_path / "b", original)
    admit(here.workspace, here.bundle())
    for number in range(3):
        for source, target in ((here, there), (there, here)):
            path = source.workspace.root / CASE
            admit(target.workspace, path)
            CaseLifecycle(target.workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
            CaseLifecycle(target.workspace).resume(CASE, PACKAGE)
            BudgetManager(target.workspace).reserve(
                CASE,
                PACKAGE,
                "H1",
                f"r{number}-{target.folder.name}",
                operation="source.list",
            )
    admit(there.workspace, here.workspace.root / CASE)
    assert here.there.generation_id == there.there.generation_id
    histories = []
    for site in (here, there):
        with PackageReader.open(site.workspace.root / CASE) as reader:
            histories.append([oid for oid, _ in reader.history()])
        assert verify_package(site.workspace.root / CASE).exit_code == 0
        site.one.close()
        site.workspace.close()
    assert histories[0] == histories[1]
    numbers = len(histories[0])
    assert numbers == len(set(histories[0]))


def test_a_fork_is_refused_on_both_sides(tmp_path: Path, original: Path) -> None:
    sites = [Site(tmp_path / "a", original), Site(tmp_path / "b", original)]
    for site in sites:
        admit(site.workspace, site.bundle())
    fork = sites[0].there
    for number, site in enumerate(sites):
        # Equal generations would be the same one, wherever they were made.
        for _ in range(number + 1):
            CaseLifecycle(site.workspace).block(CASE, PACKAGE, "OPERATOR_HOLD", note=f"{number}")
            CaseLifecycle(site.workspace).resume(CASE, PACKAGE)
    for one, other in (sites, sites[::-1]):
        for path in (other.workspace.root / CASE, bundle_of(other)):
            error = refused(
                one, ConflictError, lambda one=one, path=path: admit(one.workspace, path)
            )
            assert error.kind == "diverged"
            assert error.details["common"] == fork.generation_id
            assert error.details["common_generation"] == fork.number
            assert f"the last common generation is {fork.number}, " in error.message
            assert error.details["here"] == one.there.generation_id
            assert error.details["incoming"] == other.there.generation_id
    # An incremental bundle from the fork on says the same.
    target = tmp_path / "partial.zip"
    create_bundle(sites[1].workspace.root / CASE, target, since=fork.generation_id)
    error = refused(sites[0], ConflictError, lambda: admit(sites[0].workspace, target))
    assert error.details["common_generation"] == fork.number
    for site in sites:
        site.one.close()
        site.workspace.close()


def bundle_of(site: Site) -> Path:
    target = site.folder / "forked.zip"
    create_bundle(site.workspace.root / CASE, target, replace=True)
    return target


def test_another_package_of_the_case(site: Site, tmp_path: Path) -> None:
    site.workspace.init(CASE, "ANOTHER")
    error = refused(site, ConflictError, lambda: admit(site.workspace, site.bundle()))
    assert error.kind == "other_package"


def test_the_same_ids_and_nothing_in_common(site: Site) -> None:
    site.workspace.init(CASE, PACKAGE)
    error = refused(site, ConflictError, lambda: admit(site.workspace, site.bundle()))
    assert error.kind == "diverged"
    assert error.details["common"] is None
    assert "no generation in common" in error.message


def test_something_else_in_its_place(site: Site) -> None:
    place = site.workspace.root / CASE
    place.mkdir()
    (place / "file").write_bytes(b"mine")
    error = refused(site, ConflictError, lambda: admit(site.workspace, site.bundle()))
    assert (error.kind, error.details["case_id"]) == ("exists", CASE)
    assert "no package" in error.message


def test_a_bundle_with_one_bit_turned(site: Site) -> None:
    bundle = site.bundle()
    content = bytearray(bundle.read_bytes())
    content[len(content) // 2] ^= 1
    bundle.write_bytes(content)
    error = refused(site, NotVerified, lambda: admit(site.workspace, bundle))
    assert error.kind == "not_verified"
    assert error.report.exit_code == 1
    assert error.report.findings
    assert site.workspace.cases() == []


def test_a_package_that_lies_is_not_installed(site: Site, tmp_path: Path) -> None:
    from vstore.testing.editor import PackageEditor

    editor = PackageEditor(site.one.root)
    record = editor.find("evidence-record-v1", 0)
    editor.edit(record, lambda value: value.update(novelty_score=0))
    editor.rechain()
    forged = editor.save(tmp_path / "forged")
    error = refused(site, NotVerified, lambda: admit(site.workspace, forged))
    assert "VS-EVD-019" in {one.code for one in error.report.findings}
    # Nor does it move a package forward that is here.
    admit(site.workspace, site.bundle())
    refused(site, NotVerified, lambda: admit(site.workspace, forged))


def test_what_is_no_bundle(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content in (b"", b"PK", b"PK\x03\x04" + bytes(100), b"no archive at all" * 10):
        file.write_bytes(content)
        with pytest.raises((NotVerified, Unverifiable)):
            admit(site.workspace, file)
    with pytest.raises(NotFoundError):
        admit(site.workspace, tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidError) as caught:
        admit(site.workspace, tmp_path / "pipe")
    assert caught.value.kind == "not_a_file"
    with pytest.raises(NotFoundError):
        admit(site.workspace, tmp_path)  # a folder that is no package
    bundle = site.bundle()
    size = bundle.stat().st_size
    with pytest.raises(LimitExceeded):
        admit(site.workspace, bundle, max_bytes=size - 1)
    assert admit(site.workspace, bundle, max_bytes=size).outcome == "installed"


def test_a_package_that_is_here_and_damaged(site: Site) -> None:
    admit(site.workspace, site.bundle())
    site.workspace.close()
    site.work("q2")
    ref = site.workspace.root / CASE / "refs" / "generation"
    good = ref.read_bytes()
    ref.write_bytes(b"b3:" + b"7" * 64 + b"\n")
    error = refused(site, IntegrityError, lambda: admit(site.workspace, site.bundle()))
    assert error.kind == "local_package"
    ref.write_bytes(good)
    assert admit(site.workspace, site.bundle()).outcome == "fast_forwarded"


def test_refs_that_lag_are_moved(site: Site) -> None:
    admit(site.workspace, site.bundle())
    site.workspace.close()
    path = site.workspace.root / CASE
    stale = (path / "refs" / "generation").read_bytes()
    bundle = site.bundle()
    site.work("q2")
    admit(site.workspace, site.bundle())
    (path / "refs" / "generation").write_bytes(stale)
    assert admit(site.workspace, bundle).outcome == "unchanged"
    with PackageReader.open(path) as reader:
        assert {one.state for one in reader.ref_report()} == {"current"}


def test_large_objects_travel(site: Site, tmp_path: Path) -> None:
    admit(site.workspace, site.bundle())
    big = tmp_path / "big.log"
    big.write_bytes(os.urandom(3 << 20))
    CaseLifecycle(site.one.workspace).reopen(
        CASE, PACKAGE, "new_input", reason="x", files=[InputFile(big, b"big.log")]
    )
    done = admit(site.workspace, site.bundle())
    assert done.outcome == "fast_forwarded"
    with PackageReader.open(site.workspace.root / CASE) as reader:
        assert reader.objects.get(_oid(reader)) == big.read_bytes()


def _oid(reader: PackageReader) -> ObjectId:
    from vstore.objects.tree import walk

    package = reader.pinned()
    return next(
        one.entry.object
        for one in walk(package.objects, package.raw_input)
        if one.path == b"big.log"
    )


def test_a_waiting_lock_says_who(site: Site) -> None:
    admit(site.workspace, site.bundle())
    site.work("q2")
    with (
        Workspace.open(site.workspace.root, clock=lambda: INSTANT) as other,
        other.repository(CASE).locked(),
        pytest.raises(LockTimeout) as caught,
    ):
        admit(site.workspace, site.bundle())
    assert caught.value.details["holder"] == str(os.getpid())


def test_a_workspace_that_is_one_package(site: Site, tmp_path: Path) -> None:
    with pytest.raises(InvalidError):
        admit(Workspace.of_package(tmp_path / "absent"), site.bundle())
    shutil.copytree(site.one.root, tmp_path / "copy")
    site.work("q2")
    with Workspace.open(tmp_path / "copy", clock=lambda: INSTANT) as single:
        assert admit(single, site.bundle()).outcome == "fast_forwarded"
    with PackageReader.open(tmp_path / "copy") as reader:
        assert reader.unclaimed() == []
        assert reader.head_id() == site.head


def test_a_format_of_the_future(site: Site, tmp_path: Path) -> None:
    from vstore.testing.editor import PackageEditor

    editor = PackageEditor(site.one.root)
    last = editor.find("package-generation-v1", -1)
    editor.edit(last, lambda value: value["events"][0].update(kind="later.thing"))
    editor.rechain()
    later = editor.save(tmp_path / "later")
    with pytest.raises((Unverifiable, UnsupportedError)):
        admit(site.workspace, later)
    assert site.workspace.cases() == []


def test_the_same_work_on_both_sides_is_no_fork(tmp_path: Path, original: Path) -> None:
    sites = [Site(tmp_path / "a", original), Site(tmp_path / "b", original)]
    for site in sites:
        admit(site.workspace, site.bundle())
        CaseLifecycle(site.workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
    assert admit(sites[0].workspace, sites[1].workspace.root / CASE).outcome == "unchanged"
    for site in sites:
        site.one.close()
        site.workspace.close()
