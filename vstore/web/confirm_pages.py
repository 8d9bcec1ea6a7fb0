"""The last steps: looking at exactly what will be stored, confirming it, and the receipt."""

from __future__ import annotations

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import VStoreError
from vstore.web.board import BoardEntry
from vstore.web.draft_pages import uploaded_files
from vstore.web.forms import number_of, shown_faults
from vstore.web.handlers import Form
from vstore.web.refusals import refused
from vstore.web.rendering import redirect, render, words_for
from vstore.web.request_views import (
    answer_view,
    attached_files,
    desk_of,
    entry_for_person,
    key_of,
    path_of,
    receipt_of,
    row_of,
)

__all__ = ["confirm", "preview", "receipt"]


def preview(request: Request) -> Response:
    """The answer as it would be stored, with its digest; or what is missing."""
    entry = desk_of(request).board.entry(key_of(request))
    return _preview(request, entry)


def _preview(
    request: Request, entry: BoardEntry, *, status: int = 200, changed: bool = False
) -> Response:
    desk, key, account = desk_of(request), entry.key, request.state.account
    with suppress(VStoreError):
        # What a failure left half done may have come to pass by now.
        desk.confirming.catch_up(key)
    if receipt_of(request, key) is not None:
        return redirect(request, f"{path_of(key)}/receipt")
    row = row_of(request, entry)
    draft = desk.drafts.load(key, account)
    if not row.mine:
        return redirect(request, row.href)
    if draft.revision == 0 or draft.conflicts:
        return redirect(request, f"{row.href}/{'conflict' if draft.conflicts else 'draft'}")
    try:
        shown = desk.confirming.preview(key, account, row.fence, draft.revision)
    except VStoreError as error:
        return refused(request, entry, error, draft.content, saved=True)
    answer = None
    if shown.feedback is not None:
        files = uploaded_files(row.href, list(shown.uploads))
        answer = answer_view(shown.feedback, entry.request, files)
    return render(
        request,
        "preview.html",
        status=status,
        row=row,
        changed=changed,
        faults=shown_faults(shown.faults, entry.request, words_for(request)),
        answer=answer,
        revision=draft.revision,
        digest=shown.draft_digest,
        exact=shown.canonical.decode(),
    )


def confirm(request: Request, form: Form) -> Response:
    """Store the answer that was shown, and no other; a second click shows the same receipt."""
    desk, key, account = desk_of(request), key_of(request), request.state.account
    entry = entry_for_person(request)
    try:
        desk.confirming.confirm(
            key,
            account,
            number_of(form.get("fence")),
            number_of(form.get("revision")),
            form.get("digest"),
        )
    except VStoreError as error:
        if error.kind in ("changed_since_preview", "incomplete"):
            return _preview(request, entry, status=409, changed=True)
        return refused(request, entry, error, desk.drafts.load(key, account).content, saved=True)
    return redirect(request, f"{path_of(key)}/receipt")


def receipt(request: Request) -> Response:
    """What was confirmed, by its ids; only once it is durable there is one."""
    desk, key = desk_of(request), key_of(request)
    entry = desk.board.entry(key)
    found = receipt_of(request, key)
    if found is None:
        return redirect(request, path_of(key))
    feedback = desk.board.feedback(key)
    confirmed = {(one.object, one.name) for one in feedback.attachments}
    files = [one for one in desk.board.attachments(key) if (one.object, one.name) in confirmed]
    return render(
        request,
        "receipt.html",
        row=row_of(request, entry),
        receipt=found,
        answer=answer_view(feedback, entry.request, attached_files(key, files)),
    )
