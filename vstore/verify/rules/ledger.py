"""VS-LED: events, figures, policies, bindings."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_DISTRUST: Final = (
    "No vstore writes this: find out what did, and get the package from somebody who verified it."
)
_OTHERS: Final = "The entries before it, and the evidence."

RULES: Final = (
    Rule(
        code="VS-LED-001",
        slug="wrong-lineage",
        severity="error",
        summary=("a ledger entry does not continue the one before it"),
        hint=Hint(
            ("The chain of entries is broken, skips one or goes back."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-002",
        slug="wrong-sequence",
        severity="error",
        summary=("a ledger entry has the wrong number"),
        hint=Hint(
            ("Entries are numbered 1, 2, 3 without a gap."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-003",
        slug="wrong-identity",
        severity="error",
        summary=("a ledger entry names another case, package or analysis revision"),
        hint=Hint(
            ("An entry belongs to the revision whose accounts it moves."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-004",
        slug="refused-event",
        severity="error",
        summary=("a ledger entry records what the rules refuse"),
        hint=Hint(
            (
                "No credits, a stopped account, a closed action, a key used before: "
                "the command can't have been accepted."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-005",
        slug="wrong-event-figures",
        severity="error",
        summary=("an event's derived figures are wrong"),
        hint=Hint(
            ("Cost, grant, scores or reward are not what the policy and the events before yield."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-006",
        slug="wrong-account-figures",
        severity="error",
        summary=("an account's figures after an event are wrong"),
        hint=Hint(
            (
                "Balance, reservations, debits, rewards, streak or status are not "
                "what the fold of all events yields."
            ),
            ("The events themselves are checked on their own."),
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-007",
        slug="policy-binding",
        severity="error",
        summary=("the policy is not the one that the revision was opened with"),
        hint=Hint(
            ("A revision's policy is frozen when its accounts are opened."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-008",
        slug="invalid-policy",
        severity="error",
        summary=("a budget policy is out of its bounds"),
        hint=Hint(
            ("Its costs, percentages or caps can't have been accepted."),
            ("Evidence is checked on its own."),
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-009",
        slug="record-binding",
        severity="error",
        summary=("a ledger entry refers to a record that does not fit"),
        hint=Hint(
            (
                "The record is not in the index, or belongs to another revision, "
                "hypothesis or action."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-010",
        slug="wrong-novelty-cap",
        severity="error",
        summary=("a ledger entry has another novelty cap than its record's score"),
        hint=Hint(
            ("What an action can earn is capped by the novelty of its record."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-011",
        slug="hypotheses-binding",
        severity="error",
        summary=("accounts were opened for other hypotheses than the case has"),
        hint=Hint(
            ("Opening the accounts fixes the hypotheses of a revision, one account each."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-LED-012",
        slug="uncapped-reward",
        severity="note",
        summary=("a reward was given without a novelty cap"),
        hint=Hint(
            (
                "The result was recorded without evidence, so only its references "
                "limit what it earns."
            ),
            ("Everything."),
            ("Nothing need be done; judge the result by its own reasons."),
        ),
    ),
)
