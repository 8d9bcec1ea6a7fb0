from __future__ import annotations

from pathlib import Path

from vstore.package.documents import BLOCK_REASONS, STATES
from vstore.package.lifecycle import RULES
from vstore.package.lifecycle_page import diagram, render

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lifecycle.md"


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), (
        "run: python -m vstore.package.lifecycle_page docs/reference/lifecycle.md"
    )


def test_the_diagram_has_every_transition() -> None:
    lines = diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    for line in (
        "    [*] --> ADMITTED: init",
        "    ADMITTED --> INTERPRETING: advance",
        "    INVESTIGATING_HYPOTHESES --> BLOCKED: test.submit",
        "    BLOCKED --> INVESTIGATING_HYPOTHESES: test.confirm",
        "    CLOSED --> REOPENED: reopen.review",
        "    INTERPRETING --> BLOCKED: block (PROVIDER_UNAVAILABLE, OPERATOR_HOLD)",
    ):
        assert lines.count(line) == 1, line
    assert len(lines) == len(set(lines))
    for state in STATES:
        assert any(f"--> {state}" in line for line in lines)


def test_the_page_names_every_state_reason_and_event() -> None:
    page = render()
    for name in (*STATES, *BLOCK_REASONS, *(rule.event for rule in RULES)):
        assert name in page
    assert "- **REOPENED**: `advance`, `input.add`, `source.add`, `database.add`.\n" in page
    assert max(map(len, page.splitlines())) <= 120
