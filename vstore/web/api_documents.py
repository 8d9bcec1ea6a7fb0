"""What bots send and get: one Struct a body, from which the API's description is rendered.

Bodies that are sent may leave out members with a default; those that come back have all.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest, Executor
from vstore.objects.document import MAX_INTEGER, Count, Positive
from vstore.web.draft_content import DraftContent

__all__ = [
    "AccountInfo",
    "ClaimInfo",
    "ConfirmBody",
    "ConflictInfo",
    "DeclineBody",
    "DeclineInfo",
    "DraftBody",
    "DraftInfo",
    "FaultInfo",
    "FenceBody",
    "PolicyInfo",
    "PreviewBody",
    "PreviewInfo",
    "Problem",
    "ReceiptInfo",
    "ReleaseBody",
    "RequestInfo",
    "RequestList",
    "RequestRow",
    "UnreadableInfo",
    "UploadInfo",
    "UploadList",
]

Fence = Annotated[
    int,
    msgspec.Meta(
        ge=1,
        le=MAX_INTEGER,
        description="The fencing token of your claim; a newer claim makes older tokens useless.",
    ),
]
Revision = Annotated[
    int, msgspec.Meta(ge=1, le=MAX_INTEGER, description="The revision of your draft.")
]
Instant = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$")]
Object = Annotated[str, msgspec.Meta(pattern=r"^b3:[0-9a-f]{64}$", description="An object id.")]
Digest = Annotated[
    str,
    msgspec.Meta(
        min_length=1, max_length=100, description="What a preview is bound by, and recognised by."
    ),
]
Reason = Annotated[str, msgspec.Meta(max_length=2_000)]


class _Sent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what is sent: a member that isn't known is a mistake."""


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what comes back, to which later releases may add members."""


# ---- sent by bots


class FenceBody(_Sent, frozen=True, kw_only=True):
    """Shows that the claim is yours."""

    fence: Fence


class ReleaseBody(_Sent, frozen=True, kw_only=True):
    """Gives a test back; the reason goes into the audit trail."""

    fence: Fence
    reason: Reason = ""


class DeclineBody(_Sent, frozen=True, kw_only=True):
    """Says why you won't do a test; with a fence where you hold it."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
    fence: Fence | None = None


class DraftBody(_Sent, frozen=True, kw_only=True):
    """A whole draft, and the revision that it was written on: 0 for none.

    ``resolves`` names refused texts that were looked at; they are dealt with once it is saved.
    """

    fence: Fence
    base_revision: Count
    content: DraftContent
    resolves: Annotated[list[Positive], msgspec.Meta(max_length=200)] = []


class PreviewBody(_Sent, frozen=True, kw_only=True):
    """Asks what confirming this revision would store."""

    fence: Fence
    revision: Revision


class ConfirmBody(_Sent, frozen=True, kw_only=True):
    """Confirms exactly what a preview showed."""

    fence: Fence
    revision: Revision
    draft_digest: Digest


# ---- sent to bots


class AccountInfo(_Given, frozen=True, kw_only=True):
    """Who the token stands for; the name will stand in what is confirmed."""

    name: str
    role: Literal["tester", "admin"]


class ClaimInfo(_Given, frozen=True, kw_only=True):
    """Somebody's hold on a test; ``fence`` only where it is yours."""

    holder: str
    mine: bool
    live: bool
    claimed_at: Instant
    lease_until: Instant
    fence: Fence | None


class DeclineInfo(_Given, frozen=True, kw_only=True):
    """Somebody said that they won't do a test."""

    name: str
    reason: str
    declined_at: Instant


class RequestRow(_Given, frozen=True, kw_only=True):
    """One test of the list."""

    case_id: str
    package_id: str
    request_id: str
    status: Literal["open", "answered"]
    overdue: bool
    executor: Executor
    question: str
    deadline: str
    claim: ClaimInfo | None


class UnreadableInfo(_Given, frozen=True, kw_only=True):
    """A case whose package can't be read, and the kind of the error."""

    case_id: str
    kind: str


class RequestList(_Given, frozen=True, kw_only=True):
    """Tests by deadline; ``total`` counts those that fit the question, on all pages."""

    total: Count
    offset: Count
    requests: list[RequestRow]
    unreadable: list[UnreadableInfo]


class ReceiptInfo(_Given, frozen=True, kw_only=True):
    """The answer is durable in the package; ``repeated`` where it had been confirmed before."""

    feedback: Object
    generation_id: Object
    generation: Positive
    confirmed_by: str
    confirmed_at: Instant
    draft_digest: Digest
    repeated: bool


class RequestInfo(_Given, frozen=True, kw_only=True):
    """One test: what is asked, who holds it, and how it was answered."""

    status: Literal["open", "answered"]
    overdue: bool
    request: AsyncTestRequest
    request_ref: Object
    claim: ClaimInfo | None
    declines: list[DeclineInfo]
    outcome: Literal["completed", "unable_to_test"] | None
    feedback: Object | None
    confirmed_by: str | None
    confirmed_at: str | None


class ConflictInfo(_Given, frozen=True, kw_only=True):
    """A text of yours that was refused, since another one had been saved in between."""

    conflict_id: Positive
    base_revision: Count
    content: DraftContent
    refused_at: Instant


class DraftInfo(_Given, frozen=True, kw_only=True):
    """Your draft; revision 0 is the empty form."""

    revision: Count
    content: DraftContent
    saved_at: Instant | None
    conflicts: list[ConflictInfo]


class UploadInfo(_Given, frozen=True, kw_only=True):
    """A file of yours that arrived; ``object`` is the id that its bytes will have."""

    upload_id: str
    name: str
    size: Count
    object: Object
    media_type: str
    created_at: Instant


class PolicyInfo(_Given, frozen=True, kw_only=True):
    """What may be uploaded."""

    max_file_bytes: Positive
    max_request_bytes: Positive
    max_request_files: Positive
    max_tester_bytes: Positive
    types: list[str]


class UploadList(_Given, frozen=True, kw_only=True):
    """Your uploads for a test, oldest first, and what may be uploaded."""

    uploads: list[UploadInfo]
    policy: PolicyInfo


class FaultInfo(_Given, frozen=True, kw_only=True):
    """Something that must be put right before a draft can be confirmed."""

    field: str
    kind: str
    limit: int | None


class PreviewInfo(_Given, frozen=True, kw_only=True):
    """What a confirmation would store; without faults there are answer and digest."""

    revision: Positive
    faults: list[FaultInfo]
    draft_digest: Digest | None
    feedback: AsyncTestFeedback | None


class Problem(_Given, frozen=True, kw_only=True):
    """Why something was refused (RFC 9457); ``kind`` is stable, ``details`` are its facts."""

    type: Annotated[str, msgspec.Meta(description="``urn:vstore:problem:`` and the kind.")]
    title: str
    status: Annotated[int, msgspec.Meta(ge=400, le=599)]
    detail: str
    kind: str
    hint: str | None
    details: dict[str, Any]
