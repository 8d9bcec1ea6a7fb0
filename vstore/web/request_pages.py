"""The list of tests, one test, and who does it: claim, renew, release, decline."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from vstore.errors import InvalidError, VStoreError
from vstore.web.board import BoardEntry
from vstore.web.forms import number_of
from vstore.web.handlers import Form
from vstore.web.refusals import refused
from vstore.web.rendering import redirect, render, wants_json
from vstore.web.request_views import (
    Row,
    answer_view,
    attached_files,
    desk_of,
    entry_for_person,
    key_of,
    path_of,
    row_of,
    rows_of,
)

__all__ = ["claim", "decline", "list_tests", "release", "renew", "show"]

_TABS: Final = ("open", "mine", "overdue", "done")
_ON_A_PAGE: Final = 50
_MAX_REASON: Final = 2_000


def list_tests(request: Request) -> Response:
    """The tests: open, mine, overdue, done; those to be answered first come first."""
    view = desk_of(request).board.look()
    rows = rows_of(request, view.entries)
    tabs = {
        "open": [one for one in rows if not one.answered],
        "mine": [one for one in rows if not one.answered and (one.mine or one.drafted)],
        "overdue": [one for one in rows if one.overdue],
        "done": sorted(
            (one for one in rows if one.answered),
            key=lambda one: one.confirmed_at or "",
            reverse=True,
        ),
    }
    show = request.query_params.get("show", "open")
    if show not in tabs:
        show = "open"
    page = max(1, number_of(request.query_params.get("page", "1")))
    start = (page - 1) * _ON_A_PAGE
    found: list[Row] = tabs[show]
    return render(
        request,
        "request_list.html",
        show=show,
        tabs=[{"name": name, "count": len(tabs[name])} for name in _TABS],
        rows=found[start : start + _ON_A_PAGE],
        page=page,
        more=len(found) > start + _ON_A_PAGE,
        unreadable=view.unreadable,
    )


def show(request: Request) -> Response:
    """One test: what is asked, who does it, or what the answer was."""
    desk, key = desk_of(request), key_of(request)
    with suppress(VStoreError):
        # What a failure left half done may have come to pass by now.
        desk.confirming.catch_up(key)
    return _page(request, desk.board.entry(key))


def _page(
    request: Request, entry: BoardEntry, *, status: int = 200, problem: str = "", reason: str = ""
) -> Response:
    desk = desk_of(request)
    account = request.state.account
    answer = None
    if entry.status == "answered":
        feedback = desk.board.feedback(entry.key)
        confirmed = {(one.object, one.name) for one in feedback.attachments}
        files = [
            one for one in desk.board.attachments(entry.key) if (one.object, one.name) in confirmed
        ]
        answer = answer_view(feedback, entry.request, attached_files(entry.key, files))
    declines = desk.claims.declines(entry.key)
    last = desk.confirming.last(entry.key, account)
    return render(
        request,
        "request.html",
        status=status,
        row=row_of(request, entry),
        request_=entry.request,
        answer=answer,
        has_receipt=last is not None and last.receipt is not None,
        lost=last is not None and last.state == "lost",
        declines=declines,
        declined=any(one.account_id == account.account_id for one in declines),
        lease_minutes=max(1, desk.claims.lease_seconds // 60),
        problem=problem,
        reason=reason,
    )


def claim(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Take a test, and go on to its draft."""
    desk, key = desk_of(request), key_of(request)
    entry = entry_for_person(request)
    try:
        desk.claims.claim(key, request.state.account)
    except VStoreError as error:
        return refused(request, entry, error)
    return redirect(request, f"{path_of(key)}/draft", notice="claimed")


def renew(request: Request, form: Form) -> Response:
    """A sign of life from an open page."""
    desk, key = desk_of(request), key_of(request)
    entry = entry_for_person(request)
    try:
        renewed = desk.claims.renew(key, request.state.account, number_of(form.get("fence")))
    except VStoreError as error:
        return refused(request, entry, error)
    if wants_json(request):
        return JSONResponse({"lease_until": renewed.lease_until})
    return redirect(request, f"{path_of(key)}/draft")


def release(request: Request, form: Form) -> Response:
    """Give a test back."""
    desk, key = desk_of(request), key_of(request)
    entry = entry_for_person(request)
    try:
        desk.claims.release(key, request.state.account, number_of(form.get("fence")))
    except VStoreError as error:
        return refused(request, entry, error)
    return redirect(request, path_of(key), notice="released")


def decline(request: Request, form: Form) -> Response:
    """Say that one won't do a test, and why."""
    desk, key = desk_of(request), key_of(request)
    entry = entry_for_person(request)
    reason = form.get("reason")
    fence = number_of(form.get("fence")) if "fence" in form else None
    try:
        desk.claims.decline(key, request.state.account, fence, reason)
    except InvalidError:
        if wants_json(request):
            raise
        problem = "long_reason" if len(reason.strip()) > _MAX_REASON else "no_reason"
        return _page(request, entry, status=400, problem=problem, reason=reason)
    except VStoreError as error:
        return refused(request, entry, error)
    return redirect(request, path_of(key), notice="declined")
