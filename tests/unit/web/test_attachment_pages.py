"""Files on their way out: always a download, never a page, a picture only where harmless."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import pytest

from vstore.testing.testers_page import KEY, TEST, Page, Site, Visitor
from vstore.web.attachment_pages import content_disposition

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0"
HUGE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x40\0\0\0\x40\0\x08\x02\0\0\0"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!doctype html><script>alert(document.cookie)</script>"
#: Each would be a page to a browser that guesses.
POLYGLOTS = [
    pytest.param(b"GIF89a/*" + b"\0" * 8 + b"*/=1;alert(1)//<script>alert(1)</script>", id="gif"),
    pytest.param(b"%PDF-1.7\n<script>alert(1)</script>", id="pdf"),
    pytest.param(PNG + HTML, id="png"),
    pytest.param(b"PK\x03\x04" + HTML, id="zip"),
    pytest.param(SVG, id="svg"),
    pytest.param(HTML, id="html"),
    pytest.param(b"\xef\xbb\xbf" + HTML, id="html-with-a-mark"),
    pytest.param(b"<?xml version='1.0'?>" + SVG, id="xml"),
]


def sent(pat: Visitor, content: bytes, name: str = "file") -> str:
    """The address of a file that was just sent."""
    pat.claim()
    return f"{TEST}/uploads/{pat.upload(name, content, 1).json()['upload_id']}"


def check_download(page: Page, content: bytes) -> None:
    """A file that no browser runs, shows or guesses at."""
    assert page.status == 200
    assert page.content == content
    assert page.headers["content-type"] == "application/octet-stream"
    assert page.headers["content-disposition"].startswith("attachment;")
    check_harmless(page)


def check_harmless(page: Page) -> None:
    """What every file is sent with."""
    assert page.headers["x-content-type-options"] == "nosniff"
    policy = [one.strip() for one in page.headers["content-security-policy"].split(";")]
    assert "sandbox" in policy
    assert "default-src 'none'" in policy
    assert page.headers["cross-origin-resource-policy"] == "same-origin"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("content", POLYGLOTS)
def test_whatever_a_file_is_it_is_a_download(site: Site, content: bytes) -> None:
    pat = site.tester()
    check_download(pat.get(sent(pat, content)), content)


@pytest.mark.parametrize("content", [one for one in POLYGLOTS if one.id not in ("gif", "png")])
def test_what_is_no_picture_is_not_shown_as_one(site: Site, content: bytes) -> None:
    pat = site.tester()
    href = sent(pat, content)
    page = pat.get(f"{href}/picture")
    assert page.status == 404
    assert content not in page.content
    assert f"{href}/picture" not in [found.get("src") for _, found in pat.get(f"{TEST}/draft").tags]


def test_a_picture_is_shown_and_still_a_download_on_its_own(site: Site) -> None:
    pat = site.tester()
    href = sent(pat, PNG + HTML, "screen.png")
    page = pat.get(f"{href}/picture")
    assert page.status == 200
    assert page.headers["content-type"] == "image/png"
    assert page.headers["content-disposition"].startswith("attachment;")
    check_harmless(page)
    draft = pat.get(f"{TEST}/draft")
    assert f"{href}/picture" in [found.get("src") for tag, found in draft.tags if tag == "img"]


def test_a_picture_of_too_many_pixels_is_only_a_download(site: Site) -> None:
    pat = site.tester()
    href = sent(pat, HUGE, "huge.png")
    assert pat.get(f"{href}/picture").status == 404
    check_download(pat.get(href), HUGE)


def test_a_picture_of_too_many_bytes_is_only_a_download(site: Site) -> None:
    pat = site.tester()
    content = PNG + b"\0" * (32 << 20)
    href = sent(pat, content, "large.png")
    assert pat.get(f"{href}/picture").status == 404


def test_what_somebody_sent_is_theirs_until_it_is_confirmed(site: Site) -> None:
    pat, kim, ada = site.tester("pat"), site.tester("Kim"), site.tester("ada", role="admin")
    href = sent(pat, b"text")
    for path in (href, f"{href}/picture"):
        assert kim.get(path).status == 404
        assert site.visitor().get(path).location.startswith("/login")
    check_download(ada.get(href), b"text")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("/r/CASE-1/PACKAGE-1/test-2", id="request"),
        pytest.param("/r/CASE-2/PACKAGE-1/test-1", id="case"),
    ],
)
def test_a_file_is_found_only_at_its_own_test(site: Site, other: str) -> None:
    pat = site.tester()
    href = sent(pat, b"text")
    assert pat.get(href.replace(TEST, other)).status == 404


@pytest.mark.parametrize("name", ["..", "%2e%2e", "x", "0" * 32, "%00", "..%2f..%2fetc%2fpasswd"])
def test_an_upload_that_is_not_there_is_a_page_that_says_so(site: Site, name: str) -> None:
    pat = site.tester()
    pat.claim()
    assert pat.client.get(f"{TEST}/uploads/{name}x").status_code == 404


NAMES = [
    "app.log",
    "größe.txt",
    'a";b=\\c%41.log',
    "\u65e5\u672c\u8a9e.png",
    "<img src=x onerror=alert(1)>.svg",
    "a, b; c='d'.txt",
    "\U0001f4be" * 40,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_name_in_the_page_and_in_the_header(site: Site, name: str) -> None:
    pat = site.tester()
    href = sent(pat, b"text", name)
    header = pat.get(href).headers["content-disposition"]
    # RFC 6266: two parameters, the plain one quoted, the exact one in the form of RFC 8187.
    found = re.fullmatch(r'attachment; filename="([^"\\%]*)"; filename\*=UTF-8\'\'(\S+)', header)
    assert found is not None
    assert unquote(found[2], errors="strict") == name
    draft = pat.get(f"{TEST}/draft")
    assert name in draft.text
    assert b"<img src=x" not in draft.content


def test_no_name_adds_a_line_to_the_header() -> None:
    header = content_disposition('a\r\nSet-Cookie: x="1"\0\x7f\ud800')
    assert "\r" not in header
    assert "\n" not in header
    assert header.isprintable()
    assert header.count('"') == 2


def confirmed(site: Site) -> Visitor:
    """Somebody who answered the test with two files."""
    pat = site.tester()
    pat.claim()
    pat.upload("screen.png", PNG, 1)
    pat.upload("app <b>.log", HTML, 1)
    form = pat.get(f"{TEST}/draft").form(f"{TEST}/draft")
    form.fill("answer.fails", "no").fill("answer.seconds", "1").fill("answer.log", "see there")
    form.fill("files.log", form.values("upload")[0])
    preview = pat.press(form, "preview")
    assert pat.press(preview.form(f"{TEST}/confirm"), "Confirm the answer").status == 200
    return pat


def test_files_of_an_answer_are_there_for_every_tester(site: Site) -> None:
    confirmed(site)
    kim = site.tester("Kim")
    page = kim.get(TEST)
    files = [one for one in page.links if one.startswith(f"{TEST}/files/")]
    contents = {kim.get(one).content for one in files}
    assert contents == {PNG, HTML}
    for one in files:
        check_download(kim.get(one), kim.get(one).content)
    pictures = [found["src"] for tag, found in page.tags if tag == "img"]
    assert len(pictures) == 1
    assert kim.get(pictures[0]).headers["content-type"] == "image/png"
    check_harmless(kim.get(pictures[0]))
    assert site.visitor().get(files[0]).location.startswith("/login")


def test_only_what_the_answer_lists_is_given_out(site: Site) -> None:
    pat = confirmed(site)
    files = [one for one in pat.get(TEST).links if one.startswith(f"{TEST}/files/")]
    oid, _, name = files[0].removeprefix(f"{TEST}/files/").partition("/")
    other = site.desk.board.entry(KEY).request_ref
    for place in (f"{oid}/other.log", f"{other}/{name}", f"{quote(str(other))}/x", "b3:/x", "x/y"):
        for kind in ("files", "pictures"):
            assert pat.get(f"{TEST}/{kind}/{place}").status == 404, place
    # The one that is HTML is no picture.
    html = [one for one in files if pat.get(one).content == HTML]
    assert pat.get(html[0].replace("/files/", "/pictures/")).status == 404


def test_before_an_answer_there_are_no_files_of_it(site: Site) -> None:
    pat = site.tester()
    assert pat.get(f"{TEST}/files/b3:{'0' * 64}/app.log").status == 404
