"""Writing an answer: the form, saving it, and comparing two texts where another window saved.

One form has everything that is typed, and each of its buttons saves it first, so that without
script too nothing is lost on the way to a file or to the preview.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vstore.errors import StateError, VStoreError
from vstore.web.board import BoardEntry
from vstore.web.draft_content import Answer, DraftContent
from vstore.web.draft_store import Draft, StaleDraft
from vstore.web.error_pages import status_of
from vstore.web.forms import (
    ShownFault,
    content_of,
    number_of,
    shown_faults,
    typed_texts,
    without_upload,
)
from vstore.web.handlers import Form
from vstore.web.raster import RASTER_TYPES
from vstore.web.refusals import refused
from vstore.web.rendering import redirect, render, wants_json, words_for
from vstore.web.request_views import ShownFile, desk_of, entry_for_person, key_of, path_of, row_of
from vstore.web.uploads import Upload

__all__ = ["save", "show", "uploaded_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A requested observation in the form.

    Attributes:
        id: Its id.
        asked: What is asked.
        kind: What kind of answer.
        text: What was written so far.
        files: The upload ids of its files.
        fault: What is wrong with it, or None.
    """

    id: str
    asked: str
    kind: str
    text: str
    files: tuple[str, ...]
    fault: str | None


def show(request: Request) -> Response:
    """The form for whoever holds the test; their old draft, to be read, for whoever doesn't."""
    desk, key, account = desk_of(request), key_of(request), request.state.account
    entry = desk.board.entry(key)
    draft = desk.drafts.load(key, account)
    row = row_of(request, entry)
    if not row.mine:
        if draft.revision == 0:
            return redirect(request, row.href)
        return render(
            request,
            "draft_kept.html",
            row=row,
            saved_at=draft.saved_at,
            texts=typed_texts(draft.content, entry.request, words_for(request)),
            files=uploaded_files(row.href, desk.uploads.list(key, account)),
        )
    faults: list[ShownFault] = []
    if "check" in request.query_params:
        faults = _faults(request, entry, draft.content)
    return _form(request, entry, draft, faults)


def _faults(request: Request, entry: BoardEntry, content: DraftContent) -> list[ShownFault]:
    desk, account = desk_of(request), request.state.account
    uploads = {one.upload_id: one for one in desk.uploads.list(entry.key, account)}
    return shown_faults(content.faults(entry.request, uploads), entry.request, words_for(request))


def _form(request: Request, entry: BoardEntry, draft: Draft, faults: list[ShownFault]) -> Response:
    desk, key, account = desk_of(request), entry.key, request.state.account
    content = draft.content
    row = row_of(request, entry)
    wrong = {one.observation: one.short for one in reversed(faults) if one.observation}
    questions = [
        Question(
            id=one.id,
            asked=one.text,
            kind=one.kind,
            text=content.answers.get(one.id, Answer()).text,
            files=content.answers.get(one.id, Answer()).uploads,
            fault=wrong.get(one.id),
        )
        for one in entry.request.observations
    ]
    return render(
        request,
        "draft.html",
        row=row,
        request_=entry.request,
        revision=draft.revision,
        saved_at=draft.saved_at,
        conflicts=len(draft.conflicts),
        content=content,
        questions=questions,
        # One empty place more than there are texts, to write on without script.
        additional=[*content.additional, Answer()],
        environment=[*content.environment, ("", "")],
        files=uploaded_files(row.href, desk.uploads.list(key, account)),
        rules=desk.uploads.policy,
        faults=faults,
        # Often enough that two signs of life may get lost.
        renew_seconds=max(10, desk.claims.lease_seconds // 4),
    )


def save(request: Request, form: Form) -> Response:
    """Keep what was typed, then go where its button leads."""
    desk, key, account = desk_of(request), key_of(request), request.state.account
    entry = entry_for_person(request)
    content = content_of(form, entry.request)
    base, fence = number_of(form.get("revision")), number_of(form.get("fence"))
    then, _, which = form.get("then").partition(":")
    kept = without_upload(content, which) if then == "remove" else content
    try:
        draft = desk.drafts.save(
            key, account, fence, base, kept, automatic=form.get("automatic") == "1"
        )
        if then == "remove":
            desk.uploads.remove(key, account, fence, which)
        elif then == "release":
            desk.claims.release(key, account, fence)
    except StaleDraft as error:
        return _stale(request, path_of(key), error)
    except VStoreError as error:
        return refused(request, entry, error, content)
    if entry.status == "answered":
        # Kept first: it is the last that this page takes.
        answered = StateError("this test is answered already", kind="answered")
        return refused(request, entry, answered)
    if wants_json(request):
        return JSONResponse({"revision": draft.revision, "saved_at": draft.saved_at})
    return _then(request, path_of(key), then, which)


def _stale(request: Request, href: str, error: StaleDraft) -> Response:
    if not wants_json(request):
        return redirect(request, f"{href}/conflict")
    value = {"kind": error.kind, "message": error.message, "hint": error.hint}
    return JSONResponse(
        {"error": {**value, "details": {"location": f"{href}/conflict"}}},
        status_code=status_of(error),
    )


def _then(request: Request, href: str, then: str, which: str) -> Response:
    """Where a button of the form leads after it saved."""
    if then == "preview":
        return redirect(request, f"{href}/preview")
    if then == "files":
        # An observation's id and "more.N" need no quoting.
        place = (
            f"?for={which}"
            if which.replace(".", "").replace("-", "").replace("_", "").isalnum()
            else ""
        )
        return redirect(request, f"{href}/uploads{place}")
    if then == "release":
        return redirect(request, href, notice="released")
    if then == "remove":
        return redirect(request, f"{href}/draft#files", notice="file_removed")
    anchors = {"more": "#more", "environment": "#f-environment"}
    if then in anchors:
        return redirect(request, f"{href}/draft{anchors[then]}")
    return redirect(request, f"{href}/draft", notice="draft_saved")


def uploaded_files(href: str, uploads: list[Upload]) -> list[ShownFile]:
    """A tester's uploads, as a page shows them."""
    return [
        ShownFile(
            upload_id=one.upload_id,
            name=one.name,
            media_type=one.media_type,
            size=one.size,
            object=str(one.object),
            href=f"{href}/uploads/{one.upload_id}",
            picture=(
                f"{href}/uploads/{one.upload_id}/picture"
                if one.media_type in RASTER_TYPES
                else None
            ),
        )
        for one in uploads
    ]
