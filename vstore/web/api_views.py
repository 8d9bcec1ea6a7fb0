"""The desk's values as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from vstore.web.accounts import Account
from vstore.web.api_documents import (
    ClaimInfo,
    ConflictInfo,
    DeclineInfo,
    DraftInfo,
    FaultInfo,
    PolicyInfo,
    PreviewInfo,
    ReceiptInfo,
    RequestInfo,
    RequestRow,
    UnreadableInfo,
    UploadInfo,
)
from vstore.web.board import BoardEntry, UnreadableCase
from vstore.web.claims import Claim, Decline
from vstore.web.confirming import Preview
from vstore.web.draft_store import Draft
from vstore.web.journal import Receipt
from vstore.web.upload_policy import UploadPolicy
from vstore.web.uploads import Upload

__all__ = [
    "claim_info",
    "decline_info",
    "draft_info",
    "policy_info",
    "preview_info",
    "receipt_info",
    "request_info",
    "request_row",
    "unreadable_info",
    "upload_info",
]


def claim_info(claim: Claim, reader: Account) -> ClaimInfo:
    """A claim; its token only for whoever holds it."""
    mine = claim.account_id == reader.account_id
    return ClaimInfo(
        holder=claim.name,
        mine=mine,
        live=claim.live,
        claimed_at=claim.claimed_at,
        lease_until=claim.lease_until,
        fence=claim.fence if mine else None,
    )


def decline_info(decline: Decline) -> DeclineInfo:
    """Somebody's refusal to do a test."""
    return DeclineInfo(name=decline.name, reason=decline.reason, declined_at=decline.declined_at)


def request_row(entry: BoardEntry, claim: Claim | None, reader: Account) -> RequestRow:
    """A test as a list has it."""
    return RequestRow(
        case_id=entry.key.case_id,
        package_id=entry.key.package_id,
        request_id=entry.key.request_id,
        status=entry.status,
        overdue=entry.overdue,
        executor=entry.request.executor,
        question=entry.request.question,
        deadline=entry.request.deadline,
        claim=None if claim is None else claim_info(claim, reader),
    )


def unreadable_info(case: UnreadableCase) -> UnreadableInfo:
    """A case that can't be read."""
    return UnreadableInfo(case_id=case.case_id, kind=case.kind)


def request_info(
    entry: BoardEntry, claim: Claim | None, declines: Sequence[Decline], reader: Account
) -> RequestInfo:
    """A test with all that there is to know."""
    return RequestInfo(
        status=entry.status,
        overdue=entry.overdue,
        request=entry.request,
        request_ref=str(entry.request_ref),
        claim=None if claim is None else claim_info(claim, reader),
        declines=[decline_info(one) for one in declines],
        outcome=entry.outcome,  # type: ignore[arg-type]
        feedback=None if entry.feedback_ref is None else str(entry.feedback_ref),
        confirmed_by=entry.confirmed_by,
        confirmed_at=entry.confirmed_at,
    )


def draft_info(draft: Draft) -> DraftInfo:
    """A draft with its refused texts."""
    return DraftInfo(
        revision=draft.revision,
        content=draft.content,
        saved_at=draft.saved_at,
        conflicts=[
            ConflictInfo(
                conflict_id=one.conflict_id,
                base_revision=one.base_revision,
                content=one.content,
                refused_at=one.refused_at,
            )
            for one in draft.conflicts
        ],
    )


def upload_info(upload: Upload) -> UploadInfo:
    """An upload."""
    return UploadInfo(
        upload_id=upload.upload_id,
        name=upload.name,
        size=upload.size,
        object=str(upload.object),
        media_type=upload.media_type,
        created_at=upload.created_at,
    )


def policy_info(policy: UploadPolicy) -> PolicyInfo:
    """What may be uploaded."""
    return msgspec.convert(policy.describe(), PolicyInfo)


def preview_info(preview: Preview) -> PreviewInfo:
    """What a confirmation would store."""
    return PreviewInfo(
        revision=preview.revision,
        faults=[
            FaultInfo(field=one.field, kind=one.kind, limit=one.limit) for one in preview.faults
        ],
        draft_digest=preview.draft_digest,
        feedback=preview.feedback,
    )


def receipt_info(receipt: Receipt) -> ReceiptInfo:
    """A receipt."""
    return ReceiptInfo(
        feedback=str(receipt.feedback_ref),
        generation_id=str(receipt.generation_id),
        generation=receipt.generation_number,
        confirmed_by=receipt.confirmed_by,
        confirmed_at=receipt.confirmed_at,
        draft_digest=receipt.draft_digest,
        repeated=receipt.repeated,
    )
