"""VS-INV: calls, frozen schemas, replies, briefs and audits."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_DISTRUST: Final = (
    "No vstore writes this: find out what did, and get the package from somebody who verified it."
)
_EVIDENCE: Final = "Evidence and budget: no reply of a model reaches them."
_EARLIER: Final = "The calls before it, evidence and budget."

RULES: Final = (
    Rule(
        code="VS-INV-001",
        slug="wrong-lineage",
        severity="error",
        summary="an entry of the investigation log does not continue the one before it",
        hint=Hint("The chain of calls is broken, skips one or goes back.", _EARLIER, _DISTRUST),
    ),
    Rule(
        code="VS-INV-002",
        slug="wrong-sequence",
        severity="error",
        summary="an entry of the investigation log has the wrong number",
        hint=Hint("Entries are numbered 1, 2, 3 without a gap.", _EARLIER, _DISTRUST),
    ),
    Rule(
        code="VS-INV-003",
        slug="wrong-identity",
        severity="error",
        summary="a call, a step or a brief names another case, package, revision or hypothesis",
        hint=Hint(
            "A step belongs to one hypothesis of one revision, and so does a brief.",
            _EARLIER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-004",
        slug="refused-entry",
        severity="error",
        summary="the investigation log records what the rules refuse",
        hint=Hint(
            "A call id used twice, a reply to a call that does not wait for one, a hypothesis "
            "that the case lacks, or a new call under an old contract.",
            _EARLIER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-005",
        slug="wrong-frozen-schema",
        severity="error",
        summary="the frozen reply schema is not that of the contract",
        hint=Hint(
            "A reply is judged by the schema that was frozen when its call was opened.",
            _EVIDENCE,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-006",
        slug="wrong-binding",
        severity="error",
        summary="a step or an attempt is bound to another call or request",
        hint=Hint(
            "A reply answers one request of one call, and must never pass as another's.",
            _EARLIER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-007",
        slug="wrong-request",
        severity="error",
        summary="a request names another brief, result or generation than was there",
        hint=Hint(
            "What a model is asked follows from the package: the brief so far, and the result "
            "that no step assessed yet.",
            _EARLIER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-008",
        slug="wrong-previous-rejection",
        severity="error",
        summary="a request repeats hints that the last refusal did not give",
        hint=Hint(
            "Hints come from the refusal of the reply before, and hold nothing else.",
            _EARLIER,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-009",
        slug="wrong-judgement",
        severity="error",
        summary="a reply was accepted or refused against the rules",
        hint=Hint(
            "Judged again by its contract, the original reply comes out the other way.",
            _EVIDENCE,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-010",
        slug="wrong-update",
        severity="error",
        summary="a normalised reply differs from what the original reply yields",
        hint=Hint(
            "Reference sets, review effect, reason and note follow from the findings.",
            "The original reply, evidence and budget.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-011",
        slug="wrong-brief",
        severity="error",
        summary="a brief differs from what the original reply yields",
        hint=Hint(
            "A brief holds the findings as the model stated them, and follows the one before.",
            "The original reply, evidence and budget.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-012",
        slug="wrong-audit",
        severity="error",
        summary="a change audit differs from what comparing the two briefs yields",
        hint=Hint(
            "The history of the findings is told wrongly.",
            "Both briefs, the original reply, evidence and budget.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-013",
        slug="wrong-attempt",
        severity="error",
        summary="a refused reply has another code, size, digest or hints than it yields",
        hint=Hint(
            "An attempt keeps why a reply was refused; of a reply that fails its schema only "
            "code, size and digest.",
            _EVIDENCE,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-014",
        slug="wrong-brief-map",
        severity="error",
        summary="the map of working briefs is not the one that the steps yield",
        hint=Hint(
            "For each hypothesis it names the brief of its last accepted step.",
            "The briefs themselves, evidence and budget.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INV-015",
        slug="wrong-hypotheses",
        severity="error",
        summary="the hypotheses differ from what the accepted reply makes of them",
        hint=Hint(
            "A step changes the confidence and open questions of its hypothesis, and no more.",
            "The original reply, evidence and budget.",
            _DISTRUST,
        ),
    ),
)
