"""What is said of packages that crashed, lag, lock, or are damaged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from vstore.objects.log import LogReader
from vstore.package.health import PackageHealth, examine
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace
from vstore.testing.clock import FrozenClock
from vstore.testing.folders import package_bytes


@pytest.fixture
def package(tmp_path: Path) -> Path:
    with Workspace.of_package(tmp_path / "package", clock=FrozenClock(step=1)) as workspace:
        workspace.init("C")
        workspace.case("C").advance()
    return tmp_path / "package"


def kinds(health: PackageHealth) -> dict[str, str]:
    return {one.kind: one.severity for one in health.ailments}


def segment(package: Path) -> Path:
    return max((package / "objects" / "log").iterdir())


def test_a_healthy_package(package: Path) -> None:
    before = package_bytes(package)
    health = examine(package)
    assert (health.ailments, health.worst) == ((), None)
    assert health.generation == 2
    assert health.head is not None
    assert health.space["log"] == segment(package).stat().st_size
    assert health.space["large"] == 0
    assert package_bytes(package) == before


def test_refs(package: Path) -> None:
    ref = package / "refs" / "generation"
    good = ref.read_bytes()
    first = next(oid for oid in _generations(package) if f"{oid}\n".encode() != good)
    ref.write_text(f"{first}\n")
    health = examine(package)
    assert kinds(health) == {"ref_lagging": "warning"}
    assert health.worst == "warning"
    ref.write_bytes(b"b3:" + b"7" * 64 + b"\n")
    assert kinds(examine(package)) == {"log_lost_head": "error"}
    ref.unlink()
    assert kinds(examine(package)) == {"ref_missing": "error"}
    ref.write_bytes(good)
    (package / "refs" / "stranger").write_bytes(good)
    assert kinds(examine(package)) == {"ref_foreign": "error"}


def _generations(package: Path) -> list[str]:
    from vstore.package.reader import PackageReader

    with PackageReader.open(package) as reader:
        return [str(oid) for oid, _ in reader.history()]


def test_a_torn_tail_and_a_segment_that_was_begun(package: Path) -> None:
    log = segment(package)
    with log.open("ab") as stream:
        stream.write(b"torn")
    (log.parent / "00000002.vlog").write_bytes(bytes(100))
    health = examine(package)
    assert kinds(health) == {"torn_tail": "note", "unfinished_segment": "note"}
    assert health.worst == "note"
    assert "4 bytes" in health.ailments[0].message


def test_damage(package: Path) -> None:
    log = segment(package)
    content = bytearray(log.read_bytes())
    reader = LogReader(log.parent)
    first = next(iter(reader.scan()))
    reader.close()
    content[first.offset + 50] ^= 1  # type: ignore[union-attr]
    log.write_bytes(content)
    assert examine(package).worst in ("error", None)  # the end alone was looked at
    log.write_bytes(b"nothing" * 100)
    health = examine(package)
    assert health.worst == "error"
    assert (health.head, health.generation) == (None, 0)
    (package / "VSTORE").write_bytes(b"{}\n")
    assert kinds(examine(package)) == {"bad_format_file": "error"}


def test_a_creation_that_was_cut_short(tmp_path: Path) -> None:
    Repository.create(tmp_path / "package").close()
    assert kinds(examine(tmp_path / "package")) == {"no_generation": "warning"}


def test_residue_and_caches(package: Path) -> None:
    (package / "tmp").mkdir(exist_ok=True)
    (package / "tmp" / "segment-1-2").write_bytes(b"x" * 10)
    (package / "tmp" / "folder").mkdir()
    (package / "tmp" / "folder" / "b").write_bytes(b"y")
    (package / "cache").mkdir(exist_ok=True)
    from vstore.objects.index_cache import index_path

    index_path(package).write_bytes(b"stale")
    health = examine(package)
    assert kinds(health) == {"residue": "note", "stale_cache": "note"}
    assert [path.name for path in health.residue] == ["segment-1-2"]
    assert health.space["tmp"] == 11
    with Repository.open(package) as repository:
        before = package_bytes(package)
        assert repository.repair() == []
        wanted = ["remove tmp/segment-1-2, which a crash left"]
        assert repository.repair(residue=True, dry_run=True) == wanted
        assert package_bytes(package) == before
        assert repository.repair(residue=True) == wanted
        assert repository.repair(residue=True) == []
    assert (package / "tmp" / "folder" / "b").exists()


def test_who_holds_a_lock(package: Path) -> None:
    clock = FrozenClock()
    with (
        Repository.open(package, clock=clock) as repository,
        repository.evidence_lock(),
        repository.locked(),
    ):
        health = examine(package)
        assert [(one.lock, one.process) for one in health.holders] == [
            ("evidence", str(os.getpid())),
            ("publication", str(os.getpid())),
        ]
        assert health.holders[0].since == clock()
        assert list(kinds(health)) == ["locked"]
        (package / "locks" / "evidence.holder").write_bytes(b"pid \x1b\nsince \xff\n")
        (package / "locks" / "publication.holder").unlink()
        assert {(one.process, one.since) for one in examine(package).holders} == {
            ("unknown", "unknown"),
            ("unknown", ""),
        }
    assert examine(package).holders == ()
    shutil.rmtree(package / "locks")
    assert examine(package).holders == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only(package: Path) -> None:
    package.chmod(0o555)
    try:
        assert kinds(examine(package)) == {"read_only": "note"}
    finally:
        package.chmod(0o755)
