"""Forms as they come, and what is no form."""

from __future__ import annotations

from typing import Any

import pytest

from vstore.testing.testers_page import Site
from vstore.web.handlers import FORM_FIELDS, Form

FORM = "application/x-www-form-urlencoded"


def test_a_form_has_its_fields_in_order_with_one_kind_of_line_ends() -> None:
    form = Form([("b", "1\r\n2\r3\n4"), ("a", ""), ("b", "x")])
    assert list(form) == [("b", "1\n2\n3\n4"), ("a", ""), ("b", "x")]
    assert (form.get("b"), form.get("a", "z"), form.get("c"), form.get("c", "z")) == (
        "1\n2\n3\n4",
        "",
        "",
        "z",
    )
    assert form.all("b") == ["1\n2\n3\n4", "x"]
    assert "a" in form
    assert "c" not in form


@pytest.mark.parametrize(
    ("body", "kind", "status", "error"),
    [
        (b"name=p%C3%A4t&password=x", FORM, 422, None),
        (b"name=pat", f"{FORM}; charset=utf-8", 422, None),
        (b"", "", 422, None),
        (b"name=%ff", FORM, 400, "form"),
        (b"name=\xc3\xa4", FORM, 400, "form"),
        (b'{"name": "pat"}', "application/json", 400, "form"),
        (b"name=pat", "text/plain", 400, "form"),
        (b"name=pat", "", 400, "form"),
        (b"&" * FORM_FIELDS, FORM, 413, "form_too_large"),
        (b"a=" + b"x" * (4 * 1024 * 1024), FORM, 413, "form_too_large"),
    ],
    ids=["good", "charset", "empty", "not-utf-8", "raw", "json", "plain", "none", "many", "large"],
)
def test_what_is_no_form_is_refused(
    site: Site, body: bytes, kind: str, status: int, error: str | None
) -> None:
    def ask(accept: str) -> Any:
        headers = {"sec-fetch-site": "same-origin", "accept": accept, "content-type": kind}
        return site.visitor().client.post("/login", content=body, headers=headers)

    assert ask("text/html").status_code == status
    if error is not None:
        assert ask("application/json").json()["error"]["kind"] == error


def test_a_hostile_name_comes_back_as_text(site: Site) -> None:
    name = '"><script>alert(1)</script>'
    page = site.visitor().post("/login", [("name", name), ("password", "x" * 12)])
    assert page.form("/login").values("name") == [name]
    assert [found for tag, found in page.tags if tag == "script" and "src" not in found] == []
