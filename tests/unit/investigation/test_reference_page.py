"""The reference page: its codes are the codes, and the tests that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

from vstore.investigation.derivation import ADMITTED, ELLIPSIS, REASON_LENGTH, SEPARATOR
from vstore.investigation.rejection import CODES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/investigation.md").read_text(encoding="utf-8")
FILES = {
    "R": "tests/unit/investigation/test_rules_v14.py",
    "O": "tests/unit/investigation/test_rules_v13.py",
    "S": "tests/unit/investigation/test_schema_check.py",
    "J": "tests/unit/investigation/test_rejection.py",
    "D": "tests/unit/investigation/test_derivation.py",
    "A": "tests/unit/investigation/test_audit.py",
    "M": "tests/unit/investigation/test_measure.py",
    "P": "tests/unit/investigation/test_projection.py",
    "C": "tests/unit/controller/test_investigation_steps.py",
    "V": "tests/unit/verify/test_investigation.py",
    "X": "tests/property/test_investigation_replies.py",
}


def test_the_codes_on_the_page_are_the_codes() -> None:
    table = re.findall(r"^\| `(INVESTIGATION_[A-Z_]+)` \|", PAGE, re.MULTILINE)
    assert sorted(table) == sorted(CODES)


def test_every_test_that_the_page_names_exists_where_it_says() -> None:
    rows = PAGE.split("| rule | test |\n")[1].splitlines()[1:]
    named = 0
    for row in rows:
        text = row.split("|")[2]
        where = ""
        for letter, name in re.findall(r"\b([A-Z])\b|`(test_\w+)`", text):
            where = letter or where
            if name:
                named += 1
                assert f"def {name}(" in (ROOT / FILES[where]).read_text(encoding="utf-8"), name
    assert named > 60


def test_the_constants_of_the_page() -> None:
    assert f"joined by `{SEPARATOR}`, cut to {REASON_LENGTH} characters with `{ELLIPSIS}`" in PAGE
    for effect, confidences in ADMITTED.items():
        assert re.search(rf"{effect}\s+(admits )?{', '.join(confidences)}", PAGE), effect
