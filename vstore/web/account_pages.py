"""What people set for themselves: language, time zone, password."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import InvalidError
from vstore.web import cookies
from vstore.web.desk import Desk
from vstore.web.form_errors import FieldError, password_errors
from vstore.web.handlers import Form
from vstore.web.local_times import known_zone, zones
from vstore.web.login_again import safe_path
from vstore.web.login_pages import address_of
from vstore.web.problems import NotLoggedIn
from vstore.web.rendering import redirect, render
from vstore.web.words import LANGUAGES

__all__ = ["change_password", "choose_language", "save", "show"]


def show(request: Request) -> Response:
    """One's own settings."""
    return _page(request, [])


def save(request: Request, form: Form) -> Response:
    """Keep the language and the time zone."""
    desk: Desk = request.app.state.desk
    language, zone = form.get("language"), form.get("zone").strip()
    if zone and known_zone(zone) is None:
        return _page(request, [FieldError("zone", "account.zone_unknown")], zone_typed=zone)
    desk.accounts.set_preferences(
        request.state.account.account_id,
        zone=zone or None,
        language=language if language in LANGUAGES else None,
    )
    return redirect(request, "/account", notice="saved")


def change_password(request: Request, form: Form) -> Response:
    """Take a new password from somebody who knows the old one; other sessions end."""
    desk: Desk = request.app.state.desk
    account = request.state.account
    errors = password_errors(form.get("password"), form.get("password_again"))
    if not form.get("password_now"):
        errors.insert(0, FieldError("password_now", "account.password_now_missing"))
    if errors:
        return _page(request, errors)
    try:
        desk.enrolment.change_password(
            account.account_id, form.get("password_now"), form.get("password")
        )
    except NotLoggedIn:
        return _page(request, [FieldError("password_now", "account.password_now_wrong")])
    except InvalidError:
        return _page(request, [FieldError("password", "password.refused")])
    # Every session has ended, also this one; it goes on under a new secret.
    secret = desk.sessions.log_in(
        account.name, form.get("password"), address=address_of(request), counted=False
    )
    response = redirect(request, "/account", notice="password_changed")
    cookies.keep_session(request, response, secret)
    return response


def choose_language(request: Request, form: Form) -> Response:
    """Keep the language that was chosen at the foot of a page."""
    language = form.get("language")
    response = redirect(request, safe_path(form.get("next", "/")))
    if language in LANGUAGES:
        account = request.state.account
        if account is not None:
            request.app.state.desk.accounts.set_preferences(account.account_id, language=language)
        cookies.keep(request, response, cookies.LANGUAGE_COOKIE, language)
    return response


def _page(request: Request, errors: list[FieldError], zone_typed: str | None = None) -> Response:
    return render(
        request,
        "account.html",
        status=422 if errors else 200,
        errors=errors,
        zone_typed=zone_typed,
        zones=zones(),
    )
