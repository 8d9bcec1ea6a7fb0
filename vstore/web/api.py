"""The API for bots: the operations of the page, for automated tests, as JSON.

A bot shows a token and never a cookie. It sees all tests and may do those that are meant for
an automaton. What it writes goes the way of a person's answer: claim, draft, uploads, preview,
confirmation of exactly what was previewed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from starlette.concurrency import run_in_threadpool

from vstore.errors import NotFoundError, VStoreError
from vstore.objects.document import MAX_INTEGER
from vstore.web.api_documents import (
    AccountInfo,
    ClaimInfo,
    ConfirmBody,
    DeclineBody,
    DeclineInfo,
    DraftBody,
    DraftInfo,
    FenceBody,
    PreviewBody,
    PreviewInfo,
    ReceiptInfo,
    ReleaseBody,
    RequestInfo,
    RequestList,
    UploadInfo,
    UploadList,
)
from vstore.web.api_frame import Call, Operation, Parameter
from vstore.web.api_views import (
    claim_info,
    decline_info,
    draft_info,
    policy_info,
    preview_info,
    receipt_info,
    request_info,
    request_row,
    unreadable_info,
    upload_info,
)
from vstore.web.rates import UPLOAD_RATE, upload_key
from vstore.web.upload_writer import UploadWriter

__all__ = ["OPERATIONS"]

_ONE: Final = "/requests/{case_id}/{package_id}/{request_id}"
#: Bytes that are gathered before a thread is asked to write them.
_PIECE: Final = 1 << 18

_FENCE: Final = Parameter(
    name="fence",
    description="The fencing token of your claim.",
    schema={"type": "integer", "minimum": 1, "maximum": MAX_INTEGER},
    required=True,
)
_LIST_PARAMETERS: Final = (
    Parameter(
        name="status",
        description="Only open or answered tests: open, answered or all.",
        schema={"type": "string", "enum": ["open", "answered", "all"]},
        default="open",
    ),
    Parameter(
        name="executor",
        description="Only tests for such a tester: automated, human or all.",
        schema={"type": "string", "enum": ["automated", "human", "all"]},
        default="automated",
    ),
    Parameter(
        name="held",
        description="Only tests held by you, by nobody, or all: mine, free or all.",
        schema={"type": "string", "enum": ["mine", "free", "all"]},
        default="all",
    ),
    Parameter(
        name="limit",
        description="At most how many, 1 to 1000.",
        schema={"type": "integer", "minimum": 1, "maximum": 1000},
        default=100,
    ),
    Parameter(
        name="offset",
        description="How many to leave out at the beginning.",
        schema={"type": "integer", "minimum": 0, "maximum": MAX_INTEGER},
        default=0,
    ),
)


def _who(call: Call) -> AccountInfo:
    return AccountInfo(name=call.account.name, role=call.account.role)


def _list(call: Call) -> RequestList:
    desk, query = call.desk, call.query
    view, holders = desk.board.look(), desk.claims.holders()
    rows = [
        request_row(entry, holders.get(entry.key), call.account)
        for entry in view.entries
        if query["status"] in ("all", entry.status)
        and query["executor"] in ("all", entry.request.executor)
    ]
    if query["held"] == "mine":
        rows = [row for row in rows if row.claim is not None and row.claim.mine]
    elif query["held"] == "free":
        rows = [row for row in rows if row.claim is None or not row.claim.live]
    offset, limit = query["offset"], query["limit"]
    return RequestList(
        total=len(rows),
        offset=offset,
        requests=rows[offset : offset + limit],
        unreadable=[unreadable_info(one) for one in view.unreadable],
    )


def _show(call: Call) -> RequestInfo:
    desk, key = call.desk, call.key
    return request_info(
        desk.board.entry(key), desk.claims.holder(key), desk.claims.declines(key), call.account
    )


def _claim(call: Call) -> ClaimInfo:
    claim = call.desk.claims.claim(call.key, call.account, executor="automated")
    return claim_info(claim, call.account)


def _renew(call: Call) -> ClaimInfo:
    call.automated()
    claim = call.desk.claims.renew(call.key, call.account, call.body.fence)
    return claim_info(claim, call.account)


def _release(call: Call) -> None:
    call.automated()
    call.desk.claims.release(call.key, call.account, call.body.fence, call.body.reason or None)


def _decline(call: Call) -> DeclineInfo:
    call.automated()
    body = call.body
    return decline_info(call.desk.claims.decline(call.key, call.account, body.fence, body.reason))


def _load(call: Call) -> DraftInfo:
    return draft_info(call.desk.drafts.load(call.key, call.account))


def _save(call: Call) -> DraftInfo:
    call.automated()
    body, drafts = call.body, call.desk.drafts
    where = (call.key, call.account, body.fence, body.base_revision, body.content)
    if body.resolves:
        return draft_info(drafts.resolve_conflict(*where, conflict_ids=body.resolves))
    return draft_info(drafts.save(*where))


def _uploads(call: Call) -> UploadList:
    call.desk.board.entry(call.key)
    uploads = call.desk.uploads
    return UploadList(
        uploads=[upload_info(one) for one in uploads.list(call.key, call.account)],
        policy=policy_info(uploads.policy),
    )


async def _upload(call: Call) -> UploadInfo:
    """Takes the body as it comes; what refuses the file leaves nothing of it."""
    declared = call.request.headers.get("content-length")

    def begin() -> UploadWriter:
        call.automated()
        desk, query = call.desk, call.query
        desk.rates.hit(upload_key(call.account.account_id), *UPLOAD_RATE)
        size = None if declared is None else int(declared)
        return desk.uploads.begin(call.key, call.account, query["fence"], query["name"], size)

    writer: UploadWriter | None = None
    held = bytearray()
    stream = call.request.stream()
    try:
        writer = await run_in_threadpool(begin)
        async for part in stream:
            held += part
            if len(held) >= _PIECE:
                await run_in_threadpool(writer.write, bytes(held))
                held.clear()
        if held:
            await run_in_threadpool(writer.write, bytes(held))
        return upload_info(await run_in_threadpool(writer.finish))
    except VStoreError:
        # Few clients read an answer before they have sent everything.
        left = call.desk.uploads.policy.max_file_bytes
        async for part in stream:
            left -= len(part)
            if left < 0:
                break
        raise
    finally:
        if writer is not None:
            await run_in_threadpool(writer.abort)


def _remove(call: Call) -> None:
    call.automated()
    upload_id = call.request.path_params["upload_id"]
    call.desk.uploads.remove(call.key, call.account, call.query["fence"], upload_id)


def _preview(call: Call) -> PreviewInfo:
    call.automated()
    body = call.body
    return preview_info(
        call.desk.confirming.preview(call.key, call.account, body.fence, body.revision)
    )


def _confirm(call: Call) -> ReceiptInfo:
    call.automated()
    body = call.body
    return receipt_info(
        call.desk.confirming.confirm(
            call.key, call.account, body.fence, body.revision, body.draft_digest
        )
    )


def _receipt(call: Call) -> ReceiptInfo:
    call.desk.board.entry(call.key)
    with suppress(VStoreError):
        # One that a failure left half done is looked at first; where that fails, there is none.
        call.desk.confirming.catch_up(call.key)
    receipt = call.desk.confirming.receipt(call.key)
    if receipt is None:
        raise NotFoundError("no answer was confirmed here", kind="no_receipt")
    return receipt_info(receipt)


OPERATIONS: Final = (
    Operation(method="GET", path="/account", name="account", handler=_who, gives=AccountInfo,
              summary="Who the token stands for."),
    Operation(method="GET", path="/requests", name="listRequests", handler=_list,
              gives=RequestList, parameters=_LIST_PARAMETERS,
              summary="List the tests, by deadline."),
    Operation(method="GET", path=_ONE, name="showRequest", handler=_show, gives=RequestInfo,
              refusals=(404,), summary="Show one test."),
    Operation(method="POST", path=f"{_ONE}/claim", name="claim", handler=_claim, gives=ClaimInfo,
              refusals=(404, 409), summary="Take a test; again renews the lease.",
              description="A live claim of somebody else is a problem of the kind claimed, with"
              " holder and lease_until in its details."),
    Operation(method="POST", path=f"{_ONE}/renew", name="renew", handler=_renew, takes=FenceBody,
              gives=ClaimInfo, refusals=(404, 409),
              summary="Give a sign of life; every write does that too."),
    Operation(method="POST", path=f"{_ONE}/release", name="release", handler=_release,
              takes=ReleaseBody, status=204, refusals=(404, 409),
              summary="Give a test back; the draft stays yours."),
    Operation(method="POST", path=f"{_ONE}/decline", name="decline", handler=_decline,
              takes=DeclineBody, gives=DeclineInfo, refusals=(404, 409),
              summary="Say that you won't do a test, and why."),
    Operation(method="GET", path=f"{_ONE}/draft", name="loadDraft", handler=_load,
              gives=DraftInfo, refusals=(404,), summary="Your draft, or the empty form."),
    Operation(method="PUT", path=f"{_ONE}/draft", name="saveDraft", handler=_save,
              takes=DraftBody, gives=DraftInfo, refusals=(404, 409, 413),
              summary="Save your draft.",
              description="Where another revision was saved since, the answer is a problem of"
              " the kind stale_draft; the refused text is kept among the draft's conflicts. A"
              " test that can't be done has the outcome unable_to_test and a reason in remarks."),
    Operation(method="GET", path=f"{_ONE}/uploads", name="listUploads", handler=_uploads,
              gives=UploadList, refusals=(404,),
              summary="Your uploads for a test, and what may be uploaded."),
    Operation(method="POST", path=f"{_ONE}/uploads", name="upload", streamer=_upload,
              gives=UploadInfo, status=201, refusals=(404, 409, 413),
              parameters=(_FENCE, Parameter(
                  name="name", description="What the file is called: 1 to 200 characters.",
                  schema={"type": "string", "minLength": 1, "maxLength": 200}, required=True)),
              summary="Upload a file: its bytes are the body.",
              description="The same file again is the same upload."),
    Operation(method="DELETE", path=f"{_ONE}/uploads/{{upload_id}}", name="removeUpload",
              handler=_remove, status=204, parameters=(_FENCE,), refusals=(404, 409),
              summary="Remove an upload."),
    Operation(method="POST", path=f"{_ONE}/preview", name="preview", handler=_preview,
              takes=PreviewBody, gives=PreviewInfo, refusals=(404, 409, 413),
              summary="What confirming your draft would store, or what it lacks."),
    Operation(method="POST", path=f"{_ONE}/confirm", name="confirm", handler=_confirm,
              takes=ConfirmBody, gives=ReceiptInfo, refusals=(404, 409, 413),
              summary="Confirm what a preview showed.",
              description="The answer is durable in the package when this returns, and the case"
              " goes on. The same again returns the same receipt."),
    Operation(method="GET", path=f"{_ONE}/receipt", name="receipt", handler=_receipt,
              gives=ReceiptInfo, refusals=(404,),
              summary="The receipt of a test that was confirmed here."),
)  # fmt: skip
