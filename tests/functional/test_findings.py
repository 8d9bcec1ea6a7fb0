"""Codes, their page and a package for each keep in step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vstore.testing.bad import BAD_PACKAGES, UNMADE, BadPackage
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


def test_every_code_has_a_package_or_a_reason_why_not() -> None:
    made = [one.code for one in BAD_PACKAGES]
    unmade = [one.code for one in UNMADE]
    assert len(set(made)) == len(made)
    assert set(made).isdisjoint(unmade)
    assert sorted([*made, *unmade]) == sorted(RULES)


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


def test_all_are_written(made: Path) -> None:
    names = {path.name for kind in ("bad", "warn") for path in (made / kind).iterdir()}
    assert names == {one.name for one in BAD_PACKAGES}
