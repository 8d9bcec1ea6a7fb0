"""VS-INP: trees, raw input, snapshots."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_DISTRUST: Final = (
    "No vstore writes this: find out what did, and get the package from somebody who verified it."
)

RULES: Final = (
    Rule(
        code="VS-INP-001",
        slug="malformed-tree",
        severity="error",
        summary="a folder has names that are out of order, repeated or no file names",
        hint=Hint(
            "The same files would have two different ids, or could not be written to a disk.",
            "Whatever isn't read from this folder.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INP-002",
        slug="wrong-size",
        severity="error",
        summary="a folder gives a wrong size of a file or folder",
        hint=Hint(
            "The size that is shown for a file is not the size of its bytes.",
            "The bytes themselves are named by their digest.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INP-003",
        slug="snapshot-descriptor",
        severity="error",
        summary="a snapshot's descriptor does not fit",
        hint=Hint(
            "It bears another name than the package gives it, or its content is of another kind.",
            "Other snapshots, and what was asked of them.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INP-004",
        slug="malformed-database",
        severity="error",
        summary="a database snapshot is not what capturing gives",
        hint=Hint(
            "Its chunks, the order of its rows or its values break the rules of the format, so "
            "the same database would have two different ids.",
            "Other snapshots, and what was asked of them.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INP-005",
        slug="inputs-changed",
        severity="error",
        summary="the raw input or the snapshots changed where they must not",
        hint=Hint(
            "In this state of the case no command changes them.",
            "What was asked before the change.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-INP-006",
        slug="snapshot-replaced",
        severity="error",
        summary="a snapshot's name leads to something else than before",
        hint=Hint(
            "Snapshots are pinned: a name is given once and never moved.",
            "What was asked before the change names the snapshot's content by its id.",
            _DISTRUST,
        ),
    ),
)
