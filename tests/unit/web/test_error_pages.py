"""Every error as a page in the reader's language, or as JSON for a program."""

from __future__ import annotations

import errno
import logging
from typing import Any

import pytest
from starlette.testclient import TestClient

from vstore import errors
from vstore.testing.testers_page import ADDRESS, Site
from vstore.web.error_pages import status_of
from vstore.web.problems import NotAllowed, NotLoggedIn, TooMany


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotLoggedIn("x"), 401),
        (NotAllowed("x"), 403),
        (TooMany("x"), 429),
        (errors.LimitExceeded("x"), 413),
        (errors.NotFoundError("x"), 404),
        (errors.ConflictError("x"), 409),
        (errors.StaleGeneration("x"), 409),
        (errors.StateError("x"), 409),
        (errors.InvalidError("x"), 400),
        (errors.InvalidError("x", kind="host"), 421),
        (errors.StorageError("x"), 503),
        (errors.UnsupportedError("x"), 501),
        (errors.IntegrityError("x"), 500),
        (errors.BudgetError("x"), 500),
    ],
    ids=lambda one: one.kind if isinstance(one, errors.VStoreError) else str(one),
)
def test_the_class_decides_the_status(error: errors.VStoreError, status: int) -> None:
    assert status_of(error) == status


def failing(site: Site, monkeypatch: pytest.MonkeyPatch, error: Exception) -> TestClient:
    """Somebody who is logged in, at a page whose list of tests fails."""
    client = site.tester("pat").client

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(site.desk.board, "look", fail)
    other = TestClient(site.app, base_url=ADDRESS, raise_server_exceptions=False)
    other.cookies = client.cookies
    return other


@pytest.mark.parametrize(("language", "title"), [
    ("en", "The page can't store anything right now"),
    ("de", "Die Seite kann gerade nichts speichern"),
])  # fmt: skip
def test_a_page_has_words_of_its_own_for_an_error(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    language: str,
    title: str,
) -> None:
    error = errors.StorageError("/secret/path is full", kind="disk_full", errno=errno.ENOSPC)
    client = failing(site, monkeypatch, error)
    with caplog.at_level(logging.ERROR):
        response = client.get("/", headers={"accept-language": language})
    assert response.status_code == 503
    assert title in response.text.replace("&#39;", "'")
    assert "/secret/path" not in response.text
    assert "disk_full" in response.text
    # Whoever runs the service reads it in the log.
    assert "disk_full" in caplog.text


def test_a_fault_of_the_page_shows_nothing_of_its_inside(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = failing(site, monkeypatch, RuntimeError("the inside"))
    response = client.get("/")
    assert response.status_code == 500
    assert "Something went wrong here" in response.text
    assert "the inside" not in response.text
    assert "Traceback" not in response.text
    response = client.get("/", headers={"accept": "application/json"})
    assert response.status_code == 500
    assert response.json()["error"] == {
        "kind": "fault",
        "message": "this is a fault of the service itself",
        "hint": None,
        "details": {},
    }


def test_an_error_while_it_is_looked_who_asks(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    visitor = site.tester("pat")

    def fail(_: str) -> None:
        raise errors.StorageError("busy", kind="database_busy")

    monkeypatch.setattr(site.desk.sessions, "find", fail)
    with caplog.at_level(logging.ERROR):
        page = visitor.get("/")
    assert page.status == 503
    assert "The page can't store anything right now" in page.text


def test_a_program_gets_the_details_that_json_can_hold(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = TooMany("slow down", hint="later", retry_after=7, path=b"\xff", limit=3)
    client = failing(site, monkeypatch, error)
    response = client.get("/", headers={"accept": "application/json, */*"})
    assert response.status_code == 429
    assert response.headers["retry-after"] == "7"
    assert response.json() == {
        "error": {
            "kind": "too_many",
            "message": "slow down",
            "hint": "later",
            "details": {"retry_after": 7, "limit": 3},
        }
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "title"),
    [
        ("GET", "/nothing/here", 404, "There is nothing here"),
        ("GET", "/r/a/b/c/d/e", 404, "There is nothing here"),
        ("GET", "/static/../app.py", 404, "There is nothing here"),
        ("GET", "/static/..%2fapp.py", 404, "There is nothing here"),
        ("GET", "/static/nothing.css", 404, "There is nothing here"),
        ("GET", "/logout", 405, "This page works in another way"),
        ("PUT", "/login", 405, "This page works in another way"),
    ],
)
def test_what_is_not_there(site: Site, method: str, path: str, status: int, title: str) -> None:
    client = site.visitor().client
    response = client.request(method, path, headers={"sec-fetch-site": "same-origin"})
    assert response.status_code == status
    assert title in response.text
    if status == 405:
        assert response.headers["allow"]


def test_a_form_from_elsewhere_and_a_name_that_is_not_ours(site: Site) -> None:
    client = site.visitor().client
    response = client.post(
        "/login", data={"name": "pat"}, headers={"origin": "https://evil.example"}
    )
    assert response.status_code == 403
    assert "This came from another page" in response.text
    response = client.get("/", headers={"host": "evil.example"})
    assert response.status_code == 421
    assert "The page has another address" in response.text


def test_a_static_file_may_be_kept_as_long_as_it_is_the_same(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.get("/login")
    (style,) = [one["href"] for tag, one in page.tags if one.get("rel") == "stylesheet"]
    assert visitor.get(style).headers["cache-control"] == "public, max-age=31536000, immutable"
    assert visitor.get("/static/style.css").headers["cache-control"] == "no-cache"
    assert visitor.get("/static/style.css?v=0").headers["cache-control"] == "no-cache"
    assert visitor.get("/static/icon.svg").headers["content-type"] == "image/svg+xml"
