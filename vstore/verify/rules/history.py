"""VS-HIS: the chain of generations, states, declared objects, refs."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_DISTRUST: Final = (
    "No vstore writes this: find out what did, and get the package from somebody who verified it."
)
_REPAIR: Final = (
    "Compare the log's head with a head that you remember; then `vstore repair`, told to accept "
    "the log's head, writes the refs again."
)

RULES: Final = (
    Rule(
        code="VS-HIS-001",
        slug="wrong-parent",
        severity="error",
        summary="a generation does not name the one before it as its parent",
        hint=Hint(
            "The chain of generations is broken or was put together from two histories.",
            "Generations before this one.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-002",
        slug="wrong-number",
        severity="error",
        summary="a generation has the wrong number",
        hint=Hint(
            "Generations are numbered 1, 2, 3 without a gap.",
            "What the generation names is checked on its own.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-003",
        slug="identity-changed",
        severity="error",
        summary="a document names another case or package",
        hint=Hint(
            "A package belongs to one case for its whole life; this document was made for another.",
            "Whatever doesn't build on the document.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-004",
        slug="illegal-transition",
        severity="error",
        summary="the state does not follow from the one before",
        hint=Hint(
            "The lifecycle table has no such transition, so no command can have made it.",
            "Evidence and ledger are checked on their own.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-005",
        slug="wrong-revision",
        severity="error",
        summary="the analysis revision does not follow from the one before",
        hint=Hint(
            "Only reopening a case begins a new analysis revision, the next number.",
            "Whatever doesn't depend on the revision.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-006",
        slug="wrong-block",
        severity="error",
        summary="the reason of a wait does not fit the state",
        hint=Hint(
            "A blocked case says why it waits and where it resumes; any other case says nothing.",
            "Evidence and ledger are checked on their own.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-007",
        slug="history-tree",
        severity="error",
        summary="the tree over the earlier generations has another size or root",
        hint=Hint(
            "A generation commits to all before it; this commitment is false, so proofs made from "
            "it would be too.",
            "The chain of parents is checked on its own.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-008",
        slug="declared-objects",
        severity="error",
        summary="a generation declares other objects than it adds",
        hint=Hint(
            "What a generation says it adds differs from what its members add.",
            "The members themselves are checked on their own.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-009",
        slug="wrong-events",
        severity="error",
        summary="what a generation says happened is not what changed",
        hint=Hint(
            "Its list of events names something that left no trace, or leaves out something that "
            "did.",
            "The changes themselves are checked on their own.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-010",
        slug="artifact-removed",
        severity="error",
        summary="something that an earlier generation had is gone",
        hint=Hint(
            "Artifacts, snapshots and attachments are only ever added or moved forward.",
            "The earlier generation still names it.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-011",
        slug="unknown-artifact",
        severity="warning",
        incomplete=True,
        summary="an artifact has a name that this version doesn't know",
        hint=Hint(
            "A later version of vstore wrote it. It is kept, its meaning can't be judged.",
            "Everything that doesn't build on it.",
            "Verify the package with a newer vstore.",
        ),
    ),
    Rule(
        code="VS-HIS-012",
        slug="ref-lagging",
        severity="warning",
        bundle="error",
        summary="a ref has the value of an earlier publication",
        hint=Hint(
            "A writer was interrupted after its publication was durable, or the ref was rewound.",
            "Everything: readers take the head from the log, so nothing is reset.",
            "The next writer moves it forward; `vstore repair` does it now.",
        ),
    ),
    Rule(
        code="VS-HIS-013",
        slug="ref-missing",
        severity="error",
        summary="a ref is missing",
        hint=Hint(
            "A ref file was deleted.",
            "The log and everything in it.",
            _REPAIR,
        ),
    ),
    Rule(
        code="VS-HIS-014",
        slug="ref-foreign",
        severity="error",
        summary="a ref names something that it never named in this package",
        hint=Hint(
            "A ref file was changed, or comes from another package.",
            "The log and everything in it.",
            _REPAIR,
        ),
    ),
    Rule(
        code="VS-HIS-015",
        slug="head-lost",
        severity="error",
        summary="refs/generation names a generation that the log lacks",
        hint=Hint(
            "The log lost publications that were acknowledged, or the ref was changed.",
            "Generations that are in the log.",
            "Keep this copy as it is, and look for one whose log has that generation; only if "
            "there is none, `vstore repair` can be told to accept the log's head.",
        ),
    ),
    Rule(
        code="VS-HIS-016",
        slug="unexpected-head",
        severity="error",
        summary="the head is not the expected one",
        hint=Hint(
            "The package is another one, an older or a newer one than you expected, or it was "
            "rewritten as a whole.",
            "The package is consistent in itself as far as nothing else was found.",
            "Ask where it came from which head it should have; --extends accepts a longer history.",
        ),
    ),
    Rule(
        code="VS-HIS-017",
        slug="not-extending",
        severity="error",
        summary="the history does not contain the generation that it should extend",
        hint=Hint(
            "The package was rewound or rewritten, or it is another package.",
            "The package is consistent in itself as far as nothing else was found.",
            "Don't build on it; ask where it came from.",
        ),
    ),
    Rule(
        code="VS-HIS-018",
        slug="hypotheses",
        severity="error",
        summary="the hypotheses don't fit the case",
        hint=Hint(
            "They were made for another revision, name a hypothesis twice, or changed in a way "
            "that a revision doesn't allow.",
            "Evidence is checked on its own.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-019",
        slug="frame-generation",
        severity="error",
        summary="a frame names another generation than it holds",
        hint=Hint(
            "A frame says which generation it publishes and which it continues; the document "
            "disagrees, or is no generation.",
            "Generations before this one.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-020",
        slug="reserved-name",
        severity="error",
        summary="an artifact bears a name that is reserved",
        hint=Hint(
            "Names such as generation or inputs mean something of their own, so the artifact "
            "would be taken for it.",
            "What other names lead to.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-HIS-021",
        slug="checkpoint-differs",
        severity="error",
        summary="the history does not go on from the checkpoint that it should extend",
        hint=Hint(
            "A checkpoint commits to the number of generations and to all of them. The package was "
            "rewound below that number, or some generation up to it was rewritten.",
            "The package is consistent in itself as far as nothing else was found.",
            "Don't build on it; ask where it came from, and compare it with a copy that extends "
            "the checkpoint.",
        ),
    ),
    Rule(
        code="VS-HIS-022",
        slug="checkpoint-of-another-package",
        severity="error",
        summary="the checkpoint that the history should extend is another package's",
        hint=Hint(
            "The first line of a checkpoint says whose it is. This one says nothing about the "
            "package at hand, whose history was not compared with it.",
            "The package is consistent in itself as far as nothing else was found.",
            "Look up which package and which checkpoint belong together; if they should, the "
            "package took the place of another one.",
        ),
    ),
)
