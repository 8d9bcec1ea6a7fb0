"""VS-EVD: indices, records, contents, novelty, replies."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_DISTRUST: Final = (
    "No vstore writes this: find out what did, and get the package from somebody who verified it."
)
_OTHERS: Final = "The other records, and the originals in the package."

RULES: Final = (
    Rule(
        code="VS-EVD-001",
        slug="wrong-lineage",
        severity="error",
        summary=("an evidence index does not continue the one before it"),
        hint=Hint(
            ("The chain of indices is broken, skips one or goes back."),
            ("Records of the indices before."),
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-002",
        slug="wrong-sequence",
        severity="error",
        summary=("an evidence index has the wrong number"),
        hint=Hint(
            ("Indices are numbered 1, 2, 3 without a gap."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-003",
        slug="wrong-record-id",
        severity="error",
        summary=("a record has the wrong id"),
        hint=Hint(
            ("Record ids are given in order, E000001, E000002, without a gap and case-wide."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-004",
        slug="wrong-next-id",
        severity="error",
        summary=("an evidence index announces the wrong next id"),
        hint=Hint(
            ("The id that the next record would get is not the one after the last."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-005",
        slug="wrong-count",
        severity="error",
        summary=("an evidence index counts its records wrongly"),
        hint=Hint(
            ("The count is not the number of records so far."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-006",
        slug="wrong-distinct-atoms",
        severity="error",
        summary=("an evidence index counts the distinct observations wrongly"),
        hint=Hint(
            ("The sum of what was new in all records is another one."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-007",
        slug="wrong-retained-bytes",
        severity="error",
        summary=("an evidence index gives a wrong sum of retained bytes"),
        hint=Hint(
            ("The distinct documents kept for evidence have another total size."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-008",
        slug="record-tree",
        severity="error",
        summary=("the tree over the records has another size or root"),
        hint=Hint(
            (
                "The index commits to all records so far; this commitment is false, "
                "so proofs made from it would be too."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-009",
        slug="wrong-payload",
        severity="error",
        summary=("the digest that makes a repeat recognisable is wrong"),
        hint=Hint(
            (
                "A repeat of the same operation would not be recognised, or another "
                "one would be taken for it."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-010",
        slug="operation-repeated",
        severity="error",
        summary=("an operation id was used twice in one analysis revision"),
        hint=Hint(
            (
                "One operation stores one batch; a second one under the same id can't "
                "have been accepted."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-011",
        slug="wrong-identity",
        severity="error",
        summary=("a record or an index names another case, package, revision or operation"),
        hint=Hint(
            ("It was made for something else than the batch that stores it."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-012",
        slug="origin-binding",
        severity="error",
        summary=("a record's origin does not yield it"),
        hint=Hint(
            (
                "The request, the reply, the position in it and what the record says "
                "of hypothesis, action and content don't belong together."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-013",
        slug="batch-incomplete",
        severity="error",
        summary=("the records of a batch are not the results of its reply"),
        hint=Hint(
            (
                "Every result of a reply that found or sought something becomes "
                "exactly one record, in the reply's order."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-014",
        slug="request-binding",
        severity="error",
        summary=("a request is not bound to the generation before its evidence"),
        hint=Hint(
            (
                "A reply must have been asked of the package as it stood when the "
                "evidence was stored."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-015",
        slug="reply-inconsistent",
        severity="error",
        summary=("a reply contradicts its own request or contents"),
        hint=Hint(
            (
                "Its results don't answer the queries one by one, or its pages, "
                "orders and contents don't agree."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-016",
        slug="content-not-normal",
        severity="error",
        summary=("a content is not in normal form"),
        hint=Hint(
            (
                "Items are sorted, grouped and without repeats, and only an empty "
                "finding says what was sought; this content differs."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-017",
        slug="wrong-duplicate",
        severity="error",
        summary=("a record's duplicate marker is wrong"),
        hint=Hint(
            ("It does not name the first record with the same content."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-018",
        slug="wrong-novel-atoms",
        severity="error",
        summary=("a record claims other observations as new than were new"),
        hint=Hint(
            ("What was seen in an earlier record of the case is never new again."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-019",
        slug="wrong-novelty-score",
        severity="error",
        summary=("a record has a wrong novelty score"),
        hint=Hint(
            ("The score is the share of its items that were new, in whole percent, rounded down."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-020",
        slug="missing-reservation",
        severity="error",
        summary=("a record has no reserved action"),
        hint=Hint(
            (
                "When it was stored, no open reservation of that hypothesis had this "
                "action and operation."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-021",
        slug="action-repeated",
        severity="error",
        summary=("an action has more than one record"),
        hint=Hint(
            ("An action brings at most one record in its life."),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-022",
        slug="forged-reply",
        severity="error",
        summary=("a reply is not what the pinned inputs yield"),
        hint=Hint(
            ("The same question, asked again of the same snapshots, has another answer."),
            ("Replies to other requests were recomputed on their own."),
            ("Believe the pinned inputs, not this reply; and find out what wrote it."),
        ),
    ),
    Rule(
        code="VS-EVD-023",
        slug="over-default-limits",
        severity="warning",
        summary="the package holds more evidence than a service's limits allow",
        hint=Hint(
            "Limits are settings of a service, not of the format: the default ones, or those "
            "that the verifier was given. Another service may have wider ones.",
            "Everything.",
            "Give your own service wider limits before you continue the case.",
        ),
    ),
    Rule(
        code="VS-EVD-024",
        slug="snapshot-mismatch",
        severity="error",
        summary=("a content's scope or coverage is not the snapshot's"),
        hint=Hint(
            (
                "It says it was observed in a snapshot that the request did not ask, "
                "or claims another coverage."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-025",
        slug="unconfirmed-feedback",
        severity="error",
        summary=("a record comes from a test's answer that was not confirmed"),
        hint=Hint(
            (
                "Only an answer that a generation confirmed becomes evidence, in the "
                "analysis revision of its request."
            ),
            _OTHERS,
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-EVD-026",
        slug="observations-differ",
        severity="error",
        summary=("a content is not what the tester's answer yields"),
        hint=Hint(
            ("The observations, the environment or the question are not those of the answer."),
            ("The answer itself, as it was confirmed."),
            ("Believe the answer, not this content; and find out what wrote it."),
        ),
    ),
    Rule(
        code="VS-EVD-027",
        slug="reply-not-recomputed",
        severity="warning",
        incomplete=True,
        summary="a stored request could not be asked again",
        hint=Hint(
            "Whoever asks gives a router limits of its own, and the request asks for more; or "
            "what it asks can't be read. So the reply was not compared with what the pinned "
            "inputs yield.",
            "Everything that was checked without asking again; other replies were recomputed.",
            "Verify with a router of wider limits, if the machine can bear what the request asks.",
        ),
    ),
)
