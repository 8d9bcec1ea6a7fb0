"""Codes, their page and a package for each keep in step."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vstore.testing.bad import BAD_PACKAGES, BadPackage
from vstore.testing.bad.make import write_all
from vstore.testing.bad.page import render
from vstore.testing.golden import BUNDLE, GOOD, make_good
from vstore.verify import verify_package
from vstore.verify.formats import Run
from vstore.verify.formats import render as render_report
from vstore.verify.rules import RULES

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "good"
PAGE = ROOT / "docs" / "reference" / "findings.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All packages, made from the committed good ones."""
    folder = tmp_path_factory.mktemp("packages") / "all"
    write_all(folder, FIXTURES)
    return folder


def test_every_code_has_one_package() -> None:
    assert [one.code for one in sorted(BAD_PACKAGES, key=lambda one: one.code)] == sorted(RULES)


@pytest.mark.parametrize("name", [*GOOD, BUNDLE])
def test_committed_good_packages_stay_good(name: str) -> None:
    report = verify_package(FIXTURES / name)
    assert (report.findings, report.exit_code, report.not_checked) == ((), 0, ())


def test_good_packages_made_anew_are_good(tmp_path: Path) -> None:
    make_good(tmp_path / "good")
    for name in (*GOOD, BUNDLE):
        report = verify_package(tmp_path / "good" / name)
        assert (report.findings, report.exit_code) == ((), 0)


def test_good_packages_are_complete_and_small() -> None:
    assert sorted(path.name for path in FIXTURES.iterdir()) == sorted([*GOOD, BUNDLE])
    size = sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file())
    assert size < 1_000_000


@pytest.mark.parametrize("bad", BAD_PACKAGES, ids=lambda one: one.name)
def test_a_bad_package_has_the_same_report_without_short_cuts(bad: BadPackage, made: Path) -> None:
    swift, careful = (
        bad.verify(FIXTURES, made / bad.kind / bad.name, shortcuts=shortcuts)
        for shortcuts in (True, False)
    )
    assert replace(swift, seconds=0.0) == replace(careful, seconds=0.0)


@pytest.mark.parametrize("bad", BAD_PACKAGES, ids=lambda one: one.name)
def test_a_bad_package_yields_exactly_its_code(bad: BadPackage, made: Path) -> None:
    report = bad.verify(FIXTURES, made / bad.kind / bad.name)
    assert report.codes() == {bad.code}
    rule = RULES[bad.code]
    expected = 1 if rule.severity == "error" else 3 if rule.incomplete else 0
    assert report.exit_code == expected
    assert bad.kind == ("warn" if expected == 0 else "bad")
    # A stranger is told what is wrong, what still holds, and what to do.
    text = render_report("text", Run((report,))).decode()
    assert f"{rule.severity} {bad.code} {rule.slug}: " in text
    shown = " ".join(text.split())
    for sentence in (
        rule.hint.means,
        f"What still holds: {rule.hint.holds}",
        f"What to do: {rule.hint.do}",
    ):
        assert sentence in shown


def test_the_page_is_what_the_rules_say(made: Path) -> None:
    assert PAGE.read_text(encoding="utf-8") == render(made), (
        "run: python -m vstore.testing.bad.page docs/reference/findings.md"
    )


def test_the_page_has_every_code_once() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line.startswith("### ")]
    assert heads == [f"### {rule.code} {rule.slug}" for rule in RULES.values()]
    assert max(map(len, lines)) <= 120


def test_the_command_writes_all_of_them(made: Path, tmp_path: Path) -> None:
    """``good``, ``warn`` and ``bad``, by code and slug, and always the same bytes."""
    command = [sys.executable, "-m", "vstore.testing.bad.make", tmp_path / "all", FIXTURES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["bad", "good", "warn"]
    assert _names(tmp_path / "all" / "good") == sorted([*GOOD, BUNDLE])
    for kind, passes in (("warn", True), ("bad", False)):
        names = _names(tmp_path / "all" / kind)
        assert names == [
            f"{code}_{rule.slug}"
            for code, rule in sorted(RULES.items())
            if passes == (rule.severity != "error" and not rule.incomplete)
        ]
        for name in names:
            one, other = tmp_path / "all" / kind / name, made / kind / name
            assert _content(one) == _content(other), name


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _content(package: Path) -> dict[str, bytes]:
    """Its ordinary files; deeper ones than the system opens are left out."""
    if package.is_file():
        return {"": package.read_bytes()}
    return {
        path.relative_to(package).as_posix(): path.read_bytes()
        for folder in (package, package / "refs", package / "objects" / "log")
        if folder.is_dir()
        for path in folder.iterdir()
        if path.is_file()
    }
