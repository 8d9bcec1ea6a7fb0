"""Logging in and out, and turning a one-time code into a password."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import InvalidError, VStoreError
from vstore.web import cookies
from vstore.web.desk import Desk
from vstore.web.form_errors import FieldError, password_errors
from vstore.web.handlers import Form
from vstore.web.login_again import AGAIN, carried, safe_path
from vstore.web.problems import NotLoggedIn, TooMany
from vstore.web.rates import network
from vstore.web.rendering import redirect, render

__all__ = ["address_of", "enrol", "log_in", "log_out", "show_enrol", "show_login"]

#: Codes are long; the limit keeps a guesser from keeping the service busy.
ENROL_TRIES: Final = 20
ENROL_WINDOW: Final = 900
#: Characters from which on a field is more than a choice or a number.
WRITTEN: Final = 12


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the proxy in front says it."""
    return "unknown" if request.client is None else request.client.host


def show_login(request: Request) -> Response:
    """The login page."""
    target = safe_path(request.query_params.get("next", "/"))
    if request.state.account is not None:
        return redirect(request, target)
    return _login(request, target=target)


def log_in(request: Request, form: Form) -> Response:
    """Log in, then go on: to the page that was wanted, or with the form that came too late."""
    desk: Desk = request.app.state.desk
    name, password = form.get("name").strip(), form.get("password")
    target, again = safe_path(form.get("next", "/")), safe_path(form.get(AGAIN, "/"))
    fields = carried(list(form)) if AGAIN in form else []
    errors = []
    if not name:
        errors.append(FieldError("name", "login.name_missing"))
    if not password:
        errors.append(FieldError("password", "login.password_missing"))
    secret = None
    status = 422
    if not errors:
        try:
            secret = desk.sessions.log_in(
                name,
                password,
                address=address_of(request),
                replacing=request.state.session_secret,
            )
        except TooMany as error:
            errors.append(FieldError("name", "login.too_many", _minutes(error)))
            status = 429
        except (NotLoggedIn, InvalidError):
            # One answer for an unknown name, a wrong password, a disabled account.
            errors.append(FieldError("name", "login.refused"))
    if secret is None:
        return _login(
            request, target=target, again=again if AGAIN in form else None, fields=fields,
            name=name, errors=errors, status=status,
        )  # fmt: skip
    response: Response
    if AGAIN in form:
        session = desk.sessions.find(secret)
        request.state.account = None if session is None else session.account
        written = [value for _, value in fields if len(value) >= WRITTEN]
        response = render(request, "again.html", again=again, carried=fields, written=written)
    else:
        response = redirect(request, target)
    cookies.keep_session(request, response, secret)
    return response


def log_out(request: Request, form: Form) -> Response:  # noqa: ARG001
    """End the session."""
    if request.state.session_secret is not None:
        request.app.state.desk.sessions.log_out(request.state.session_secret)
    response = redirect(request, "/login", notice="logged_out")
    cookies.drop_session(request, response)
    return response


def show_enrol(request: Request) -> Response:
    """The page where a newcomer, or somebody who forgot a password, enters a one-time code."""
    return _enrol(request)


def enrol(request: Request, form: Form) -> Response:
    """Take a code and a new password, and log in."""
    desk: Desk = request.app.state.desk
    code, password = form.get("code").strip(), form.get("password")
    address = address_of(request)
    errors = []
    if not code:
        errors.append(FieldError("code", "enrol.code_missing"))
    errors += password_errors(password, form.get("password_again"))
    if errors:
        return _enrol(request, code=code, errors=errors)
    place = f"enrol:{network(address)}"
    try:
        desk.rates.hit(place, ENROL_TRIES, ENROL_WINDOW)
        account = desk.enrolment.redeem(code, password)
        # A right code is no guess: a whole office may enrol from one address.
        desk.rates.give_back(place)
    except TooMany as error:
        errors.append(FieldError("code", "login.too_many", _minutes(error)))
        return _enrol(request, code=code, errors=errors, status=429)
    except VStoreError as error:
        errors.append(FieldError(*_code_error(error)))
        return _enrol(request, code=code, errors=errors)
    secret = desk.sessions.log_in(
        account.name,
        password,
        address=address,
        replacing=request.state.session_secret,
        counted=False,
    )
    response = redirect(request, "/", notice="welcome")
    cookies.keep_session(request, response, secret)
    return response


def _login(
    request: Request,
    *,
    target: str,
    again: str | None = None,
    fields: list[tuple[str, str]] | None = None,
    name: str = "",
    errors: list[FieldError] | None = None,
    status: int = 200,
) -> Response:
    return render(
        request,
        "login.html",
        status=status,
        errors=errors or [],
        name=name[:64],
        next=target,
        again=again,
        carried=fields or [],
    )


def _enrol(
    request: Request,
    *,
    code: str = "",
    errors: list[FieldError] | None = None,
    status: int | None = None,
) -> Response:
    status = status or (422 if errors else 200)
    return render(request, "enrol.html", status=status, errors=errors or [], code=code[:200])


def _code_error(error: VStoreError) -> tuple[str, str]:
    if error.kind == "weak_password":
        return "password", "password.refused"
    return "code", "enrol.refused"


def _minutes(error: TooMany) -> dict[str, int]:
    seconds = error.details.get("retry_after")
    return {"minutes": max(1, -(-seconds // 60)) if isinstance(seconds, int) else 1}
