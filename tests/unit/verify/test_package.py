"""The verifier on real packages: good ones, damaged ones, rewound ones."""

from __future__ import annotations

import os
import shutil
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.evidence.limits import EvidenceLimits
from vstore.objects.ids import ObjectId
from vstore.objects.refs import encode_ref
from vstore.package.documents import Generation
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import PackageReader
from vstore.tools.database_adapter import DatabaseAdapter
from vstore.tools.reply import ToolResult
from vstore.tools.request import QueryLimits, ToolQuery
from vstore.tools.router import Router
from vstore.tools.source_adapter import SourceAdapter
from vstore.verify import verify_package
from vstore.verify.report import Report

SEGMENT = "objects/log/00000001.vlog"


def faults(report: Report) -> list[str]:
    """Codes of all but notes."""
    return [one.code for one in report.findings if one.severity != "note"]


def history(package: Path) -> list[tuple[ObjectId, Generation]]:
    with PackageReader.open(package) as reader:
        return list(reader.history())


def test_a_good_package_verifies(original: Path) -> None:
    report = verify_package(original)
    assert report.exit_code == 0
    # The one remark is that a result without evidence was rewarded, as the spec asks.
    assert [one.code for one in report.findings] == ["VS-LED-012"]
    assert report.not_checked == ()
    assert report.head == history(original)[0][0]
    assert (report.case_id, report.package_id) == ("CASE-1", "PACKAGE-1")
    assert report.counts.generations == history(original)[0][1].package_generation
    assert (report.counts.records, report.counts.entries) == (7, 21)
    assert report.counts.recomputed == 3
    assert report.counts.objects > 60
    assert report.counts.bytes > 20_000


def test_nothing_is_written_and_no_lock_is_taken(original: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(original, tmp_path / "copy"))
    for path in (*copy.rglob("*"), copy):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted((str(path), path.stat().st_mtime_ns) for path in copy.rglob("*"))
    assert verify_package(copy).exit_code == 0
    assert sorted((str(path), path.stat().st_mtime_ns) for path in copy.rglob("*")) == before
    for path in (*copy.rglob("*"), copy):
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_without_recomputing_it_says_so(original: Path) -> None:
    report = verify_package(original, recompute=False)
    assert report.exit_code == 0
    assert report.counts.recomputed == 0
    assert any("not recomputed" in one for one in report.not_checked)


def test_seconds_come_from_the_given_clock(original: Path) -> None:
    ticks: Iterator[float] = iter([10.0, 12.5])
    assert verify_package(original, clock=lambda: next(ticks)).seconds == 2.5


def test_a_contract_that_the_router_lacks_is_not_verified(original: Path) -> None:
    report = verify_package(original, router=Router([]))
    assert report.exit_code == 3
    assert set(faults(report)) == {"VS-VER-003"}


def test_the_expected_head(original: Path) -> None:
    (head, _), (parent, _), *_ = history(original)
    assert verify_package(original, expect=head, extends=parent).exit_code == 0
    assert faults(verify_package(original, expect=parent)) == ["VS-HIS-016"]
    assert faults(verify_package(original, extends=ObjectId.parse("00" * 32))) == ["VS-HIS-017"]
    assert verify_package(original, extends=head).exit_code == 0


# ---- nothing there


def test_a_path_that_does_not_exist_or_is_no_package(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", tmp_path):
        report = verify_package(path)
        assert (report.exit_code, faults(report)) == (3, ["VS-VER-002"])


def test_a_package_without_a_generation(tmp_path: Path) -> None:
    from vstore.objects.writer import ObjectWriter

    ObjectWriter.create(tmp_path / "empty").close()
    report = verify_package(tmp_path / "empty")
    assert (report.exit_code, faults(report)) == (3, ["VS-VER-002"])


def test_a_later_format_is_not_verified(package: Path) -> None:
    path = package / "VSTORE"
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (3, ["VS-CON-002"])


def test_a_file_in_the_place_of_a_package(package: Path) -> None:
    assert verify_package(package / "VSTORE").exit_code == 3


# ---- refs


def test_a_ref_that_was_deleted(package: Path) -> None:
    for name in ("generation", "evidence_index", "hypotheses"):
        path = package / "refs" / name
        content = path.read_bytes()
        path.unlink()
        report = verify_package(package)
        assert (report.exit_code, faults(report)[0]) == (1, "VS-HIS-013"), name
        path.write_bytes(content)


def test_a_foreign_ref(package: Path) -> None:
    (package / "refs/evidence_index").write_bytes(encode_ref(ObjectId.parse("11" * 32)))
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (1, ["VS-HIS-014"])
    assert report.findings[-1].file == "refs/evidence_index"


def test_a_ref_that_is_no_ref(package: Path) -> None:
    (package / "refs/budget_ledger").write_bytes(b"\x1b[31m\n")
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (1, ["VS-HIS-014"])


def test_a_ref_that_no_generation_has(package: Path) -> None:
    (package / "refs/stranger").write_bytes(encode_ref(history(package)[0][0]))
    assert faults(verify_package(package)) == ["VS-HIS-014"]


def test_the_head_ref_names_a_generation_that_the_log_lacks(package: Path) -> None:
    (package / "refs/generation").write_bytes(encode_ref(ObjectId.parse("22" * 32)))
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (1, ["VS-HIS-015"])


def test_a_rewound_ref_is_a_warning(package: Path) -> None:
    (head, _), (parent, old), *_ = history(package)
    for name, oid in {**old.artifacts, "generation": parent}.items():
        (package / "refs" / name).write_bytes(encode_ref(oid))
    report = verify_package(package)
    assert report.exit_code == 0
    assert set(faults(report)) == {"VS-HIS-012"}
    assert report.head == head


def test_an_empty_or_zeroed_ref_is_a_warning(package: Path) -> None:
    (package / "refs/evidence_index").write_bytes(b"")
    (package / "refs/budget_ledger").write_bytes(bytes(68))
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (0, ["VS-HIS-012", "VS-HIS-012"])


def test_a_writer_that_moves_the_refs_meanwhile_is_no_fault(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vstore.objects.refs import read_refs

    (_, _), (parent, old), *_ = history(package)
    reads = [{**old.artifacts, "generation": parent}]
    monkeypatch.setattr(
        "vstore.verify.folder.read_refs", lambda root: reads.pop() if reads else read_refs(root)
    )
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (0, [])


def test_refs_that_cannot_be_read_are_not_verified(package: Path) -> None:
    """Something else is in the place of a file: the finding says so, not that a check failed."""
    ref = package / "refs" / "hypotheses"
    content = ref.read_bytes()
    ref.unlink()
    ref.mkdir()
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (3, ["VS-CON-015", "VS-CON-003"])
    ref.rmdir()
    os.mkfifo(ref)
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (1, ["VS-CON-015", "VS-CON-004"])
    ref.unlink()
    ref.symlink_to(ref.name)
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (1, ["VS-CON-015", "VS-CON-004"])
    ref.unlink()
    ref.write_bytes(content)
    assert verify_package(package).exit_code == 0
    shutil.rmtree(package / "refs")
    (package / "refs").write_bytes(b"")
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (3, ["VS-CON-015", "VS-CON-003"])


def test_more_refs_than_a_package_may_have(package: Path) -> None:
    there = len(list((package / "refs").iterdir()))
    for number in range(1000 - there):
        (package / "refs" / f"n{number}").touch()
    assert set(faults(verify_package(package))) == {"VS-HIS-014"}
    (package / "refs" / "one_more").touch()
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (1, ["VS-CON-023"])


# ---- files


def test_files_that_belong_to_nothing(package: Path) -> None:
    (package / "notes\x1b.txt").write_text("mine")
    (package / "objects/log/readme").write_text("mine")
    (package / "folder").mkdir()
    (package / "objects/large/ab").mkdir(parents=True, exist_ok=True)
    (package / "tmp").mkdir(exist_ok=True)
    (package / "tmp/left").write_text("residue")
    (package / f"objects/large/ab/{'c' * 62}").write_text("residue")
    (package / "cache").mkdir()
    (package / "cache/anything").write_text("derived")
    report = verify_package(package)
    assert report.exit_code == 0
    found = {(one.code, one.file) for one in report.findings if one.file}
    assert found == {
        ("VS-CON-003", "notes\\x1b.txt"),
        ("VS-CON-003", "objects/log/readme"),
        ("VS-CON-003", "folder"),
        ("VS-CON-014", "tmp/left"),
        ("VS-CON-013", f"objects/large/ab/{'c' * 62}"),
    }


def test_links_and_other_special_files_are_faults(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "link").symlink_to("/etc/passwd")
    os.mkfifo(package / "refs/pipe")
    with socket.socket(socket.AF_UNIX) as one:
        monkeypatch.chdir(package)  # the path of a socket is short
        one.bind("socket")
    report = verify_package(package)
    assert report.exit_code == 1
    assert {one.file for one in report.findings if one.code == "VS-CON-004"} == {
        "link",
        "refs/pipe",
        "socket",
    }


def test_a_log_that_is_a_link_is_not_followed(package: Path, tmp_path: Path) -> None:
    shutil.move(package / SEGMENT, tmp_path / "elsewhere")
    (package / SEGMENT).symlink_to(tmp_path / "elsewhere")
    assert verify_package(package).exit_code in (1, 3)


# ---- damage


def test_every_sampled_byte_flip_is_found(package: Path) -> None:
    outcomes = flip(package, step=173)
    assert set(outcomes) <= {1, 3}
    assert sum(outcomes.values()) > 150
    assert verify_package(package).exit_code == 0


@pytest.mark.deep
@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
@pytest.mark.parametrize("part", range(8))
def test_every_byte_flip_is_found(package: Path, part: int, mask: int) -> None:
    outcomes = flip(package, step=8, first=part, mask=mask)
    assert set(outcomes) <= {1, 3}


def flip(package: Path, *, step: int, first: int = 0, mask: int = 0x04) -> Counter[int]:
    outcomes: Counter[int] = Counter()
    for path in sorted(path for path in package.rglob("*") if path.is_file()):
        content = path.read_bytes()
        for at in range(first, len(content), step):
            damaged = bytearray(content)
            damaged[at] ^= mask
            path.write_bytes(damaged)
            report = verify_package(package, recompute=False)
            outcomes[report.exit_code] += 1
            # A flip is always explained, never only given up on.
            assert set(faults(report)) - {"VS-VER-001"}, (path, at)
        path.write_bytes(content)
    return outcomes


def test_a_log_cut_short_anywhere_is_found(package: Path) -> None:
    path = package / SEGMENT
    content = path.read_bytes()
    for length in range(0, len(content), 1237):
        path.write_bytes(content[:length])
        assert verify_package(package, recompute=False).exit_code in (1, 3), length


def test_bytes_after_the_last_frame_are_a_torn_tail(package: Path) -> None:
    with (package / SEGMENT).open("ab") as log:
        log.write(b"torn")
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (0, ["VS-CON-006"])


def test_damage_in_the_middle_stops_what_builds_on_it_and_says_so(package: Path) -> None:
    path = package / SEGMENT
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    report = verify_package(package)
    assert faults(report) == ["VS-CON-005"]
    assert any(
        "history, inputs, evidence, ledger, handoff and investigation after generation" in one
        for one in (report.not_checked)
    )
    assert 0 < report.counts.generations < 26


def test_a_missing_segment(package: Path) -> None:
    (package / SEGMENT).rename(package / "objects/log/00000002.vlog")
    assert verify_package(package).exit_code in (1, 3)
    (package / "objects/log/00000002.vlog").unlink()
    report = verify_package(package)
    assert report.exit_code == 1
    assert "VS-HIS-015" in faults(report)


def test_a_segment_that_was_only_begun_is_a_note(package: Path) -> None:
    (package / "objects/log/00000002.vlog").write_bytes(bytes(500))
    report = verify_package(package)
    assert (report.exit_code, faults(report)) == (0, [])
    assert "VS-CON-016" in report.codes()


def test_all_faults_are_found_in_one_run(package: Path) -> None:
    (package / "VSTORE").write_bytes(b"{}\n")
    (package / "stray").write_text("x")
    (package / "refs/generation").unlink()
    (package / "link").symlink_to("x")
    with (package / SEGMENT).open("ab") as log:
        log.write(b"torn")
    assert {"VS-CON-001", "VS-CON-003", "VS-CON-004", "VS-CON-006", "VS-HIS-013"} <= set(
        faults(verify_package(package))
    )


# ---- whatever happens


@pytest.mark.parametrize(
    ("place", "others"),
    [
        ("vstore.verify.checks.evidence.plan_publication", True),
        ("vstore.verify.checks.ledger.plan", True),
        ("vstore.verify.checks.inputs.check_tree", True),
        ("vstore.verify.checks.history.faults", False),
        ("vstore.verify.replay.check_files", True),
        ("vstore.verify.replay.check_format", False),
        ("vstore.verify.folder.read_refs", True),
        ("vstore.objects.log.read_payload", False),
    ],
)
def test_what_a_check_does_not_expect_is_a_finding_and_never_passes(
    original: Path, monkeypatch: pytest.MonkeyPatch, place: str, others: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("text that nobody should see")

    monkeypatch.setattr(place, fail)
    report = verify_package(original)
    assert report.exit_code == 3
    assert "VS-VER-001" in report.codes()
    assert all("nobody should see" not in one.message for one in report.findings)
    assert (report.counts.generations > 20) == others


def test_more_evidence_than_the_default_limits_allow_is_a_warning(
    original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "vstore.verify.checks.evidence.EvidenceLimits", lambda: EvidenceLimits(max_records=6)
    )
    report = verify_package(original)
    assert (report.exit_code, faults(report)) == (0, ["VS-EVD-023"])


@pytest.mark.parametrize(
    ("limits", "codes"),
    [
        (EvidenceLimits(max_records=7), []),
        (EvidenceLimits(max_records=6), ["VS-EVD-023"]),
        (EvidenceLimits(max_retained_bytes=1), ["VS-EVD-023"]),
        (EvidenceLimits(max_records=1, max_retained_bytes=1), ["VS-EVD-023", "VS-EVD-023"]),
    ],
    ids=["all", "records", "bytes", "both"],
)
def test_the_limits_of_a_service(original: Path, limits: EvidenceLimits, codes: list[str]) -> None:
    report = verify_package(original, limits=limits)
    assert (report.exit_code, faults(report)) == (0, codes)


def test_a_router_with_limits_answers_what_it_can_and_passes_nothing_else(original: Path) -> None:
    wide, narrow = QueryLimits(), QueryLimits(max_matches=999)
    assert verify_package(original, router=Router.default(limits=wide)).exit_code == 0
    report = verify_package(original, router=Router.default(limits=narrow))
    assert (report.exit_code, set(faults(report))) == (3, {"VS-EVD-027"})
    assert report.counts.recomputed == 0
    assert "max_matches" in report.findings[-1].message


def test_an_adapter_that_fails_is_no_verdict(original: Path) -> None:
    class Failing(SourceAdapter):
        def answer(self, package: PinnedPackage, query: ToolQuery) -> ToolResult:
            raise RuntimeError("text that nobody should see")

    report = verify_package(original, router=Router([Failing(), DatabaseAdapter()]))
    assert (report.exit_code, set(faults(report))) == (3, {"VS-VER-001"})


def test_the_package_gives_its_two_names_lazily() -> None:
    import vstore.verify

    assert vstore.verify.Report is Report
    assert vstore.verify.verify_package is verify_package
    with pytest.raises(AttributeError):
        _ = vstore.verify.nothing
