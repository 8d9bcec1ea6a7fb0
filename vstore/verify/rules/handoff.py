"""VS-HND: tests that were handed out, their answers, their attachments."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_DISTRUST: Final = (
    "No vstore writes this: find out what did, and get the package from somebody who verified it."
)
_OTHERS: Final = "Evidence and budget, which are checked on their own."
_ANSWER: Final = "The request, and everything that was stored before the answer."

RULES: Final = (
    Rule(
        code="VS-HND-001",
        slug="request-identity",
        severity="error",
        summary="a test request names another case, package or analysis revision",
        hint=Hint(
            "A request belongs to the case and the revision that hand the test out.",
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-002",
        slug="invalid-request",
        severity="error",
        summary="a test request breaks a rule that its schema can't say",
        hint=Hint(
            "Its deadline is on no day of the calendar, or it names something twice.",
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-003",
        slug="no-reservation",
        severity="error",
        summary="a test was handed out without the reservation that it names",
        hint=Hint(
            "Before a test is handed out its cost is set aside, for that hypothesis and that "
            "kind of test, by the ledger entry that the request names.",
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-004",
        slug="request-repeated",
        severity="error",
        summary="a request id, or the action of a test, is used a second time",
        hint=Hint(
            "A request id names one request of the case, and an action pays for one test.",
            "The first request and its answer.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-005",
        slug="wait-differs",
        severity="error",
        summary="a case waits for a test otherwise than its request says",
        hint=Hint(
            "The wait shows the request's deadline, and nothing ends it by itself.",
            "The request and its reservation.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-006",
        slug="event-binding",
        severity="error",
        summary="an event of a test bears the id of another request",
        hint=Hint(
            "The event that hands out, attaches or confirms names the request it is about.",
            "The request and the answer themselves.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-007",
        slug="mixed-events",
        severity="error",
        summary="a step of a test shares its generation with something else",
        hint=Hint(
            "Reserving, handing out, attaching and confirming are separate steps, so that none "
            "of them can move the budget on the way.",
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-008",
        slug="ledger-moved",
        severity="error",
        summary="the ledger moved while the case waited for a test",
        hint=Hint(
            "Waiting costs nothing: no balance, streak or reservation changes from the request "
            "to its answer.",
            "The entries that were there when the test was handed out.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-009",
        slug="unmatched-feedback",
        severity="error",
        summary="an answer does not match the request that it is stored for",
        hint=Hint(
            "Identities, executor, the request that the tester saw, or the requested "
            "observations differ.",
            _ANSWER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-010",
        slug="invalid-feedback",
        severity="error",
        summary="an answer breaks a rule that its schema can't say",
        hint=Hint(
            "It names something twice, lists no attachment that it refers to, or gives no "
            "reason for an unable_to_test.",
            _ANSWER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-011",
        slug="attachment-not-attached",
        severity="error",
        summary="an answer lists an attachment that its request doesn't have",
        hint=Hint(
            "Attachments are in the package before an answer is confirmed, in the folder of "
            "its request, with this name and size.",
            _ANSWER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-012",
        slug="attachment-path",
        severity="error",
        summary="the tree of attachments has something at a path of no attachment",
        hint=Hint(
            "An attachment is at REQUEST/DIGEST/NAME, in plain hex; nothing else stands there.",
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HND-013",
        slug="attachments-replaced",
        severity="error",
        summary="attachments were taken away, or added to a test that is not outstanding",
        hint=Hint(
            "Attachments are appended while their test is outstanding, and never replaced.",
            _OTHERS,
            _DISTRUST,
        ),
    ),
)
