from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.objects.ids import ObjectId
from vstore.verify import verify_package
from vstore.verify.many import Options, verify_many
from vstore.verify.report import Report

ABSENT = ObjectId.parse("b3:" + "0" * 64)


@pytest.fixture
def packages(original: Path, tmp_path: Path) -> list[str]:
    """A good package, a faulty one, an absent one, another good one."""
    paths = [tmp_path / name for name in ("good", "faulty", "absent", "last")]
    for path in (paths[0], paths[1], paths[3]):
        shutil.copytree(original, path)
    (paths[1] / "refs" / "generation").write_text(f"{ABSENT}\n")
    return [str(path) for path in paths]


def codes(reports: list[Report]) -> list[tuple[str, int]]:
    return [(Path(one.path).name, one.exit_code) for one in reports]


@pytest.mark.parametrize("jobs", [1, 3])
def test_reports_come_in_order_and_are_the_same(packages: list[str], jobs: int) -> None:
    reports = list(verify_many(packages, Options(), jobs=jobs))
    assert codes(reports) == [("good", 0), ("faulty", 1), ("absent", 3), ("last", 0)]
    for path, report in zip(packages, reports, strict=True):
        alone = verify_package(path)
        assert report.findings == alone.findings
        assert (report.head, report.counts) == (alone.head, alone.counts)


@pytest.mark.parametrize("jobs", [1, 2])
def test_failing_fast_begins_nothing_after_an_error(packages: list[str], jobs: int) -> None:
    reports = list(verify_many(packages, Options(fail_fast=True), jobs=jobs))
    assert codes(reports) == [("good", 0), ("faulty", 1)]
    assert [one.severity for one in reports[1].findings].count("error") == 1
    assert reports[1].findings[-1].severity == "error"
    assert reports[1].not_checked[-1] == "everything after the first error, as asked"


def test_options_reach_every_package(packages: list[str]) -> None:
    options = Options(recompute=False, expect=ABSENT, extends=ABSENT)
    for report in verify_many([packages[0], packages[3]], options):
        errors = {one.code for one in report.findings if one.severity == "error"}
        assert errors == {"VS-HIS-016", "VS-HIS-017"}
        assert report.counts.recomputed == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_names_every_package(packages: list[str], jobs: int) -> None:
    told: list[tuple[str, int, int]] = []
    list(verify_many(packages[:2], Options(), jobs=jobs, progress=lambda *one: told.append(one)))
    assert [one for one in told if one[1] == 0] == [(path, 0, 0) for path in packages[:2]]
    if jobs == 1:
        sizes = [size for path, objects, size in told if path == packages[0] and objects]
        assert len(sizes) > 10
        assert sizes == sorted(sizes)


def test_a_fault_of_vstore_hides_no_other_package(
    packages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: str, **options: object) -> Report:
        if path.endswith("faulty"):
            raise ZeroDivisionError("text of the package")
        return verify_package(path)

    monkeypatch.setattr("vstore.verify.replay.verify_package", broken)
    faults: list[BaseException] = []
    reports = list(verify_many(packages, Options(), on_fault=faults.append))
    assert codes(reports) == [("good", 0), ("faulty", 4), ("absent", 3), ("last", 0)]
    (finding,) = reports[1].findings
    assert finding.code == "VS-VER-004"
    assert "ZeroDivisionError in vstore.verify.many:" in finding.message
    assert "text of the package" not in finding.message
    assert reports[1].verdict == "not verified"
    assert [type(one) for one in faults] == [ZeroDivisionError]


class _Unpicklable:
    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return os._exit, (9,)  # type: ignore[return-value]


def test_a_process_that_ends_is_no_verdict(packages: list[str]) -> None:
    """As if the system had ended it for lack of memory: never verified, and no hang."""
    options = Options(extends=_Unpicklable())  # type: ignore[arg-type]
    reports = list(verify_many(packages * 2, options, jobs=2))
    assert [one.exit_code for one in reports] == [3] * 8
    for report in reports:
        (finding,) = report.findings
        assert finding.code == "VS-VER-004"
        assert "was ended" in finding.message


def test_a_fault_in_another_process_is_told(packages: list[str]) -> None:
    options = Options(recompute=lambda: True)  # type: ignore[arg-type]
    faults: list[BaseException] = []
    reports = list(verify_many(packages[:2], options, jobs=2, on_fault=faults.append))
    assert codes(reports) == [("good", 4), ("faulty", 4)]
    assert len(faults) == 2


def test_stopping_early_ends_the_processes(packages: list[str]) -> None:
    reports = verify_many(packages, Options(), jobs=2)
    next(reports)
    reports.close()
    with pytest.raises(StopIteration):
        next(reports)
