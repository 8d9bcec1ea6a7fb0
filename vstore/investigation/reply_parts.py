"""What replies of both contracts are made of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from vstore.investigation.vocabulary import (
    Direction,
    EvidenceRefs,
    FindingId,
    Reason,
    Scope,
    Statement,
)
from vstore.objects.document import Part

__all__ = ["Finding", "Finish", "Next", "Query", "RetiredFinding", "Test"]


class Finding(Part, frozen=True, kw_only=True):
    """One judgement with its evidence, stated once."""

    id: FindingId
    direction: Direction
    text: Statement
    #: What the judgement is about, and what it is not about.
    scope: Scope
    evidence_refs: EvidenceRefs


class RetiredFinding(Part, frozen=True, kw_only=True):
    """A finding of the last brief that is gone, and why."""

    id: FindingId
    reason: Reason


class _Move(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    pass


class Query(_Move, tag="query", frozen=True, kw_only=True):
    """Ask a tool."""

    operation: Literal[
        "source.list", "source.search", "source.read", "database.schema", "database.rows"
    ]
    #: The operation's own arguments; members with a default may be left out.
    arguments: dict[str, Any]
    reason: Reason


class Test(_Move, tag="test", frozen=True, kw_only=True):
    """Ask a tester."""

    __test__ = False

    question: Statement
    steps: Annotated[list[Statement], msgspec.Meta(min_length=1, max_length=20)]
    observations: Annotated[list[Statement], msgspec.Meta(min_length=1, max_length=20)]
    reason: Reason


class Finish(_Move, tag="finish", frozen=True, kw_only=True):
    """End the investigation of this hypothesis."""

    reason: Reason


Next = Query | Test | Finish
