"""Words and bounds that both reply contracts share."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from vstore.objects.document import RecordId

__all__ = [
    "CONTRACTS",
    "MAX_REFERENCES",
    "MAX_REPLY_BYTES",
    "MAX_UNION",
    "RULES",
    "V13",
    "V14",
    "Confidence",
    "ContractName",
    "Direction",
    "Effect",
    "EvidenceRefs",
    "FindingId",
    "Questions",
    "Reason",
    "Scope",
    "Score",
    "Statement",
]

#: Version of everything in this package that derives or judges.
RULES: Final = "investigation/1"

V13: Final = "investigation_project_v13"
V14: Final = "investigation_project_v14"
ContractName = Literal["investigation_project_v13", "investigation_project_v14"]
CONTRACTS: Final[tuple[ContractName, ...]] = (V13, V14)

Confidence = Literal["strengthened", "weakened", "confirmed", "refuted", "unchanged"]
Direction = Literal["for", "against"]
Effect = Literal["supports", "contradicts", "mixed", "neutral"]

#: References that a model may give in one set.
MAX_REFERENCES: Final = 8
#: Distinct references that a derived set may hold.
MAX_UNION: Final = 128
#: A reply is refused before it is parsed where it is larger; far more than the bounds allow.
MAX_REPLY_BYTES: Final = 1024 * 1024

Score = Annotated[int, msgspec.Meta(ge=0, le=100)]
FindingId = Annotated[str, msgspec.Meta(pattern=r"^B[0-9]{4}\Z")]
Statement = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]
Scope = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
Questions = Annotated[
    list[Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]], msgspec.Meta(max_length=20)
]
EvidenceRefs = Annotated[list[RecordId], msgspec.Meta(min_length=1, max_length=MAX_REFERENCES)]
