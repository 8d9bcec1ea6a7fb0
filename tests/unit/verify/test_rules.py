from __future__ import annotations

import re

import pytest

from vstore.verify.findings import Finding, Rule
from vstore.verify.rules import RULES

AREAS = {"CON", "OBJ", "HIS", "INP", "EVD", "LED", "HND", "INV", "VER"}


def test_codes_are_of_one_form_and_numbered_without_gaps() -> None:
    for code, rule in RULES.items():
        assert code == rule.code
        assert re.fullmatch(r"VS-[A-Z]{3}-[0-9]{3}", code)
    for area in AREAS:
        numbers = [int(code[-3:]) for code in RULES if code[3:6] == area]
        assert numbers == list(range(1, len(numbers) + 1)), area
    assert {code[3:6] for code in RULES} == AREAS


def test_no_code_is_defined_twice() -> None:
    from vstore.verify.rules import (
        container,
        evidence,
        handoff,
        history,
        inputs,
        investigation,
        ledger,
        objects,
        verifier,
    )

    modules = (
        container,
        objects,
        history,
        inputs,
        evidence,
        ledger,
        handoff,
        investigation,
        verifier,
    )
    assert sum(len(module.RULES) for module in modules) == len(RULES)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_every_rule_says_what_it_means_what_holds_and_what_to_do(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.slug)
    assert rule.summary
    assert not rule.summary.endswith(".")
    for text in (rule.hint.means, rule.hint.holds, rule.hint.do):
        assert text.endswith("."), text
        assert text[0].isupper() or text.startswith("VSTORE"), text
    # A hint never sends anybody to destroy what may be evidence.
    assert not re.search(r"\b(delete|remove|erase|rm|unlink)\b", rule.hint.do, re.IGNORECASE)
    # Something that could not be judged is no fault of the package.
    assert not (rule.incomplete and rule.severity == "error")


def test_a_bundle_is_judged_no_milder_than_a_directory() -> None:
    grades = {"note": 0, "warning": 1, "error": 2}
    for rule in RULES.values():
        if rule.bundle is not None:
            assert grades[rule.bundle] > grades[rule.severity]


def test_a_fingerprint_names_place_and_values_and_not_the_words() -> None:
    rule = RULES["VS-EVD-019"]
    one = Finding(rule, "error", "a", pointer="/x", expected="1", actual="2")
    assert (
        one.fingerprint
        == Finding(
            rule, "error", "other words", pointer="/x", expected="1", actual="2", affects=("y",)
        ).fingerprint
    )
    assert re.fullmatch(r"[0-9a-f]{32}", one.fingerprint)
    others = [
        Finding(RULES["VS-EVD-018"], "error", "a", pointer="/x", expected="1", actual="2"),
        Finding(rule, "error", "a", pointer="/y", expected="1", actual="2"),
        Finding(rule, "error", "a", pointer="/x", expected="12", actual=""),
        Finding(rule, "error", "a", pointer="/x", expected="1", actual="2", offset=0),
        Finding(rule, "error", "a", file="/x", expected="1", actual="2"),
    ]
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == len(others) + 1


def test_a_fingerprint_takes_names_that_are_no_text() -> None:
    Finding(RULES["VS-CON-003"], "warning", "a", file="\udcff").fingerprint  # noqa: B018
