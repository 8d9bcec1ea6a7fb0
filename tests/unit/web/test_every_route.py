"""A walk over every address with every method, as everybody: headers, roles, origins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.routing import Route

from vstore.testing.testers_page import KEY, TEST, Site, Visitor
from vstore.web.routes import all_routes

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
#: What may be asked without a login.
OPEN = {"/login", "/logout", "/enrol", "/language", "/static/{name}"}
#: What stands for a parameter, so that the page is really there.
VALUES = {
    "case": KEY.case_id,
    "package": KEY.package_id,
    "request": KEY.request_id,
    "name": "style.css",
    "tester": "1",
    "token": "1",
    "upload": "1",
    "object": "b3:" + "0" * 64,
}


def routes() -> list[Route]:
    found = [one for one in all_routes() if isinstance(one, Route)]
    assert len(found) == len(all_routes())
    return found


def filled(template: str) -> str:
    """An address with its parameters."""
    return re.sub(r"\{([a-z_]+)(?::[a-z]+)?\}", lambda one: VALUES.get(one[1], "x"), template)


def everything() -> Iterator[tuple[str, str]]:
    """Every address with every method, and some that are none."""
    for template in sorted({one.path for one in routes()}):
        for method in METHODS:
            yield method, filled(template)
    for method in METHODS:
        yield from (
            (method, path) for path in ("/nothing", "/api/", "/api/v1/nothing", "//", "/%00")
        )


def policy(text: str) -> dict[str, str]:
    return dict(part.strip().partition(" ")[::2] for part in text.split(";"))


def checked(response: Any, what: str) -> None:
    """Demand the stated headers of an answer."""
    headers = response.headers
    assert response.status_code < 500, what
    assert ALWAYS.items() <= dict(headers).items(), what
    assert "geolocation=()" in headers["permissions-policy"], what
    found = policy(headers["content-security-policy"])
    if "sandbox" in found:
        # A file of a tester: nothing runs, and nothing is allowed.
        assert found["sandbox"] == "", what
        assert found["default-src"] == "'none'", what
        assert not any("'self'" in one or "*" in one for one in found.values()), what
    else:
        assert found == POLICY, what
    kept = headers["cache-control"]
    assert kept == "no-store" or "/static/" in what or "sandbox" in found, what
    assert "server" not in headers, what
    assert "access-control-allow-origin" not in headers, what
    kind = headers.get("content-type", "text/html; charset=utf-8")
    if "sandbox" in found:
        assert kind == "application/octet-stream", what
        return
    known = ("text/html; charset=utf-8", "text/css", "text/plain", "application/json")
    assert kind.startswith((*known, "application/problem+json")), what


def send(visitor: Visitor, method: str, path: str, **headers: str) -> Any:
    return visitor.client.request(method, path, headers=headers, follow_redirects=False)


@pytest.fixture
def people(site: Site) -> dict[str, Visitor]:
    """Nobody, a tester, an administrator."""
    admin = site.tester("ada", role="admin")
    return {"nobody": site.visitor(), "tester": site.tester("pat"), "admin": admin}


@pytest.mark.parametrize("who", ["nobody", "tester", "admin"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_every_answer_has_the_stated_headers(
    people: dict[str, Visitor], who: str, accept: str
) -> None:
    for method, path in everything():
        if who == "admin" and method == "POST" and path.endswith(("/reset", "/disable")):
            continue  # these end this very visitor's session
        answer = send(people[who], method, path, **{"sec-fetch-site": "same-origin"}, accept=accept)
        checked(answer, f"{who} {method} {path} {accept}")


def test_no_route_takes_what_another_site_sends(people: dict[str, Visitor]) -> None:
    # test_security has all combinations; here every route meets the three kinds.
    origins: list[dict[str, str]] = [
        {},
        {"sec-fetch-site": "cross-site"},
        {"authorization": "Bearer vst_0", "origin": "https://evil.example"},
    ]
    for method, path in everything():
        if method in ("GET", "HEAD", "OPTIONS"):
            continue
        for headers in origins:
            answer = send(people["admin"], method, path, **headers)
            what = f"{method} {path} {headers}"
            if path.startswith("/api/") and "authorization" in headers:
                assert answer.status_code in (401, 404, 405), what
            else:
                assert answer.status_code == 403, what
            checked(answer, what)


def test_without_a_login_only_the_open_pages_answer(people: dict[str, Visitor]) -> None:
    seen = 0
    for route in routes():
        if route.path in OPEN or route.path.startswith("/api/"):
            continue
        for method in sorted((route.methods or set()) & {"GET", "POST", "PUT", "DELETE"}):
            for forged in ("", "vstore=forged", "__Host-vstore=forged"):
                headers = {
                    "sec-fetch-site": "same-origin",
                    **({"cookie": forged} if forged else {}),
                }
                answer = send(people["nobody"], method, filled(route.path), **headers)
                what = f"{method} {route.path} {forged}"
                if method == "GET":
                    assert answer.status_code == 303, what
                    assert answer.headers["location"].startswith("/login"), what
                else:
                    assert answer.status_code == 401, what
            seen += 1
    assert seen > 25


def test_administration_is_for_administrators(people: dict[str, Visitor]) -> None:
    seen = 0
    for route in routes():
        if not route.path.startswith("/admin"):
            continue
        for method in sorted((route.methods or set()) & {"GET", "POST"}):
            headers = {"sec-fetch-site": "same-origin"}
            answer = send(people["tester"], method, filled(route.path), **headers)
            assert answer.status_code == 403, f"{method} {route.path}"
            seen += 1
    assert seen >= 10
    assert people["admin"].get("/admin/testers").status == 200


def test_a_file_of_a_tester_comes_in_a_sandbox(site: Site) -> None:
    visitor = site.tester("pat")
    (fence,) = visitor.claim().form(f"{TEST}/draft").values("fence")
    page = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    taken = visitor.upload("evil.svg", page.encode(), int(fence))
    assert taken.status in (200, 201), taken.content
    (upload,) = site.desk.uploads.list(KEY, site.desk.accounts.get("pat"))
    answer = send(visitor, "GET", f"{TEST}/uploads/{upload.upload_id}")
    assert answer.status_code == 200
    checked(answer, "a file")
    assert policy(answer.headers["content-security-policy"])["sandbox"] == ""
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "svg" not in answer.headers["content-type"]
    picture = send(visitor, "GET", f"{TEST}/uploads/{upload.upload_id}/picture")
    assert picture.status_code in (403, 404)
    # Somebody else's file is none.
    assert send(site.tester("sam"), "GET", f"{TEST}/uploads/{upload.upload_id}").status_code == 404
