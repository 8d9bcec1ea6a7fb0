"""For administrators: who may use the page, and who did what when."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import ConflictError, InvalidError, NotFoundError, StateError
from vstore.web.accounts import Account, Role
from vstore.web.desk import Desk
from vstore.web.form_errors import FieldError
from vstore.web.forms import number_of
from vstore.web.handlers import Form
from vstore.web.rendering import redirect, render

__all__ = [
    "add",
    "add_token",
    "audit",
    "disable",
    "enable",
    "reset",
    "revoke_token",
    "start",
    "tester",
    "testers",
]

PAGE: Final = 50


def start(request: Request) -> Response:
    """There is no page of its own."""
    return redirect(request, "/admin/testers")


def testers(request: Request) -> Response:
    """All accounts, and the form for another."""
    return _testers(request)


def add(request: Request, form: Form) -> Response:
    """Make an account and show its one-time code."""
    desk = _desk(request)
    name = form.get("name").strip()
    role: Role = "admin" if form.get("role") == "admin" else "tester"
    by = request.state.account.name
    try:
        account = desk.accounts.add(name, role=role, by=by)
    except (InvalidError, ConflictError) as error:
        key = "admin.name_taken" if isinstance(error, ConflictError) else "admin.name_invalid"
        return _testers(request, name=name, role=role, errors=[FieldError("name", key)])
    return _code(request, account, _desk(request).enrolment.new_code(account.name, by=by))


def tester(request: Request) -> Response:
    """One account."""
    return _tester(request, _account(request))


def disable(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Lock somebody out, at once."""
    account = _account(request)
    try:
        _desk(request).accounts.disable(account.name, by=request.state.account.name)
    except StateError:
        return _tester(request, account, [FieldError("disable", "admin.last_admin")])
    return redirect(request, f"/admin/testers/{account.account_id}", notice="disabled")


def enable(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Let somebody in again."""
    account = _account(request)
    _desk(request).accounts.enable(account.name, by=request.state.account.name)
    return redirect(request, f"/admin/testers/{account.account_id}", notice="enabled")


def reset(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Void somebody's password and show a new one-time code."""
    account = _account(request)
    code = _desk(request).enrolment.reset(account.name, by=request.state.account.name)
    return _code(request, account, code)


def add_token(request: Request, form: Form) -> Response:
    """Make a bot's token and show it once."""
    account = _account(request)
    label = form.get("label").strip()
    try:
        token = _desk(request).tokens.create(account.name, label, by=request.state.account.name)
    except InvalidError:
        return _tester(request, account, [FieldError("label", "admin.label_invalid")], label=label)
    return render(request, "token.html", tester=account, token=token, label=label)


def revoke_token(request: Request, form: Form) -> Response:  # noqa: ARG001
    """Void a bot's token."""
    account = _account(request)
    token_id = number_of(request.path_params["token"])
    if all(token_id != one.token_id for one in _desk(request).tokens.list(account.name)):
        raise NotFoundError("there is no such token", kind="unknown_token")
    _desk(request).tokens.revoke(token_id, by=request.state.account.name)
    return redirect(request, f"/admin/testers/{account.account_id}", notice="revoked")


def audit(request: Request) -> Response:
    """Who did what when, newest first."""
    before = request.query_params.get("before", "")
    start_at = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
    entries = _desk(request).audit.recent(PAGE + 1, before=start_at)
    return render(
        request,
        "audit.html",
        entries=entries[:PAGE],
        older=entries[PAGE - 1].entry_id if len(entries) > PAGE else None,
        newest=start_at is None,
    )


def _testers(
    request: Request,
    *,
    name: str = "",
    role: str = "tester",
    errors: list[FieldError] | None = None,
) -> Response:
    return render(
        request,
        "testers.html",
        status=422 if errors else 200,
        testers=_desk(request).accounts.list(),
        name=name[:200],
        role=role,
        errors=errors or [],
    )


def _tester(
    request: Request, account: Account, errors: list[FieldError] | None = None, label: str = ""
) -> Response:
    return render(
        request,
        "tester.html",
        status=422 if errors else 200,
        tester=account,
        tokens=_desk(request).tokens.list(account.name),
        errors=errors or [],
        label=label[:200],
    )


def _code(request: Request, account: Account, code: str) -> Response:
    origin = request.app.state.settings.origin
    return render(request, "code.html", tester=account, code_once=code, enrol_url=f"{origin}/enrol")


def _account(request: Request) -> Account:
    return _desk(request).accounts.by_id(number_of(request.path_params["tester"]))


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk
