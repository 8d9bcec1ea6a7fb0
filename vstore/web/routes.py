"""Every address of the page in one table: who may, what answers.

``page`` makes a route of a function that shows a page and one that takes its form; ``stream`` one
of a coroutine that reads the body itself. Functions get the request (and the form) and return a
response; they run in a thread.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from vstore.web import (
    account_pages,
    admin_pages,
    attachment_pages,
    confirm_pages,
    conflict_pages,
    draft_pages,
    login_pages,
    request_pages,
    static_files,
    upload_pages,
)
from vstore.web.api_routes import api_routes
from vstore.web.handlers import Access, Reads, Streams, Writes, reads, streams, writes

__all__ = ["all_routes", "page", "stream"]


def page(
    path: str,
    name: str,
    *,
    get: Reads | None = None,
    post: Writes | None = None,
    access: Access = "tester",
) -> Route:
    """A route for people.

    Args:
        path: Its address, with ``{parameters}``.
        name: Under which :meth:`starlette.requests.Request.url_for` finds it.
        get: Shows it.
        post: Takes the form that is sent to it.
        access: Who may; administrators may all that testers may.
    """
    by_method = {}
    if get is not None:
        by_method["GET"] = by_method["HEAD"] = reads(get, access)
    if post is not None:
        by_method["POST"] = writes(post, access)

    async def endpoint(request: Request) -> Response:
        return await by_method[request.method](request)

    return Route(path, endpoint, methods=list(by_method), name=name)


def stream(
    path: str, name: str, handler: Streams, *, methods: list[str], access: Access = "tester"
) -> Route:
    """A route whose handler reads the body itself, as it comes."""
    return Route(path, streams(handler, access), methods=methods, name=name)


def all_routes() -> list[BaseRoute]:
    """The table."""
    return [
        page("/static/{name}", "static", get=static_files.serve, access="anyone"),
        *_accounts(),
        *_administration(),
        *_tests(),
        *api_routes(),
    ]


def _accounts() -> list[BaseRoute]:
    return [
        page("/login", "login", get=login_pages.show_login, post=login_pages.log_in,
             access="anyone"),
        page("/logout", "logout", post=login_pages.log_out, access="anyone"),
        page("/enrol", "enrol", get=login_pages.show_enrol, post=login_pages.enrol,
             access="anyone"),
        page("/language", "language", post=account_pages.choose_language, access="anyone"),
        page("/account", "account", get=account_pages.show, post=account_pages.save),
        page("/account/password", "password", post=account_pages.change_password),
    ]  # fmt: skip


def _administration() -> list[BaseRoute]:
    return [
        page("/admin", "admin", get=admin_pages.start, access="admin"),
        page("/admin/testers", "testers", get=admin_pages.testers, post=admin_pages.add,
             access="admin"),
        page("/admin/testers/{tester}", "tester", get=admin_pages.tester, access="admin"),
        page("/admin/testers/{tester}/disable", "disable", post=admin_pages.disable,
             access="admin"),
        page("/admin/testers/{tester}/enable", "enable", post=admin_pages.enable,
             access="admin"),
        page("/admin/testers/{tester}/reset", "reset", post=admin_pages.reset,
             access="admin"),
        page("/admin/testers/{tester}/tokens", "tokens", post=admin_pages.add_token,
             access="admin"),
        page("/admin/testers/{tester}/tokens/{token}/revoke", "revoke",
             post=admin_pages.revoke_token, access="admin"),
        page("/admin/audit", "audit", get=admin_pages.audit, access="admin"),
    ]  # fmt: skip


def _tests() -> list[BaseRoute]:
    test = "/r/{case}/{package}/{request}"
    return [
        page("/", "tests", get=request_pages.list_tests),
        page(test, "test", get=request_pages.show),
        page(f"{test}/claim", "claim", post=request_pages.claim),
        page(f"{test}/renew", "renew", post=request_pages.renew),
        page(f"{test}/release", "release", post=request_pages.release),
        page(f"{test}/decline", "decline", post=request_pages.decline),
        page(f"{test}/draft", "draft", get=draft_pages.show, post=draft_pages.save),
        page(f"{test}/conflict", "conflict", get=conflict_pages.show, post=conflict_pages.resolve),
        page(f"{test}/preview", "preview", get=confirm_pages.preview),
        page(f"{test}/confirm", "confirm", post=confirm_pages.confirm),
        page(f"{test}/receipt", "receipt", get=confirm_pages.receipt),
        page(f"{test}/uploads", "uploads", get=upload_pages.show),
        stream(f"{test}/uploads", "upload", upload_pages.take, methods=["POST"]),
        page(f"{test}/uploads/{{upload}}", "upload_file", get=attachment_pages.upload_file),
        page(f"{test}/uploads/{{upload}}/picture", "upload_picture",
             get=attachment_pages.upload_picture),
        page(f"{test}/files/{{object}}/{{name}}", "answer_file", get=attachment_pages.answer_file),
        page(f"{test}/pictures/{{object}}/{{name}}", "answer_picture",
             get=attachment_pages.answer_picture),
    ]  # fmt: skip
