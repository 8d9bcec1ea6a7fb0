"""Files on their way in: by a form without script, by the script, and all that may go wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from blake3 import blake3

from vstore.testing.testers_page import ADDRESS, KEY, TEST, Page, Site, Visitor
from vstore.web import upload_pages
from vstore.web.draft_content import Answer, DraftContent
from vstore.web.rates import UPLOAD_RATE
from vstore.web.upload_pages import with_files
from vstore.web.upload_policy import UploadPolicy

DRAFT = f"{TEST}/draft"
UPLOADS = f"{TEST}/uploads"
LOG = b"ZeroDivisionError: division by zero\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0"


def object_id(content: bytes) -> str:
    """What the digest of a file must be."""
    return f"b3:{blake3(content).hexdigest()}"


def names(site: Site, account: str = "pat") -> list[str]:
    """The files that somebody has sent for the test."""
    return [one.name for one in site.desk.uploads.list(KEY, site.desk.accounts.get(account))]


def left(site: Site) -> int:
    """Files in the folder of uploads, half ones too."""
    return sum(1 for _ in (site.folder / "state" / "uploads").iterdir())


def files_page(pat: Visitor, place: str = "") -> Page:
    """The way to the page that sends files: saving the draft first."""
    button = f"files:{place}" if place else "files"
    return pat.press(pat.claim().form(DRAFT).fill("remarks", "typed before"), button)


def test_without_script_files_are_sent_from_a_page_of_their_own(site: Site) -> None:
    pat = site.tester()
    page = files_page(pat, "log")
    assert page.location == f"{UPLOADS}?for=log"
    assert "What does the log say?" in page.text
    assert "up to 250.0\N{NO-BREAK SPACE}MB" in page.text
    assert "text and logs, PNG" in page.text
    form = page.form(UPLOADS)
    assert form.encoding == "multipart/form-data"
    after = pat.press(form, "Send", files=[("app.log", LOG), ("screen.png", PNG)])
    assert after.location == f"{DRAFT}#f-log"
    assert object_id(LOG) in after.text
    assert object_id(PNG) in after.text
    draft = after.form(DRAFT)
    assert draft.values("remarks") == ["typed before"]
    ids = [one.upload_id for one in site.desk.uploads.list(KEY, site.desk.accounts.get("pat"))]
    assert sorted(draft.values("files.log")) == sorted(ids)
    assert sorted(draft.values("upload")) == sorted(ids)
    assert draft.values("files.fails") == []


def test_files_for_the_whole_answer_belong_to_no_single_one(site: Site) -> None:
    pat = site.tester()
    after = pat.press(files_page(pat).form(UPLOADS), "Send", files=[("app.log", LOG)])
    assert after.location == f"{DRAFT}#files"
    draft = after.form(DRAFT)
    assert len(draft.values("upload")) == 1
    assert draft.values("files.log") == []


def test_the_script_sends_one_file_and_gets_the_pages_own_pieces(site: Site) -> None:
    pat = site.tester()
    pat.claim()
    answer = pat.upload("app.log", LOG, 1)
    assert answer.status == 201
    value = answer.json()
    assert (value["name"], value["size"]) == ("app.log", len(LOG))
    assert (value["object"], value["media_type"]) == (object_id(LOG), "text/plain")
    assert set(value["markup"]) == {"card", "choice:fails", "choice:log", "choice:seconds"}
    page = pat.get(DRAFT)
    for piece in value["markup"].values():
        # What the script puts in is what a reload shows.
        assert "".join(piece.split()) in "".join(page.content.decode().split())


def test_the_same_file_again_is_one_file(site: Site) -> None:
    pat = site.tester()
    pat.claim()
    first, second = pat.upload("app.log", LOG, 1), pat.upload("app.log", LOG, 1)
    assert first.json()["upload_id"] == second.json()["upload_id"]
    assert (names(site), left(site)) == (["app.log"], 1)


def test_an_empty_file_is_a_file(site: Site) -> None:
    pat = site.tester()
    pat.claim()
    assert pat.upload("empty.txt", b"", 1).json()["object"] == object_id(b"")


def test_a_file_is_removed_from_the_draft_and_what_is_typed_stays(site: Site) -> None:
    pat = site.tester()
    page = pat.press(files_page(pat, "log").form(UPLOADS), "Send", files=[("app.log", LOG)])
    form = page.form(DRAFT)
    (upload,) = form.values("upload")
    after = pat.press(form.fill("remarks", "typed since"), f"remove:{upload}")
    assert after.location == f"{DRAFT}#files"
    assert after.form(DRAFT).values("remarks") == ["typed since"]
    assert after.form(DRAFT).values("upload") == []
    assert (names(site), left(site)) == ([], 0)
    # Once more, from a page of before: there is nothing to remove, and nothing typed is lost.
    again = pat.press(
        form.fill("revision", *after.form(DRAFT).values("revision")), f"remove:{upload}"
    )
    assert again.status == 404


@pytest.fixture
def small(make_site: Callable[..., Site]) -> Site:
    """A page that takes little."""
    return make_site(
        upload_policy=UploadPolicy(
            max_file_bytes=5000,
            max_request_bytes=8000,
            max_request_files=3,
            max_tester_bytes=9000,
            types=("text/plain", "image/png"),
        )
    )


REFUSED = [
    pytest.param("large.log", b"x" * 5001, "one file may have 5.0", 413, id="large"),
    pytest.param("tool.exe", b"\x7fELF" + b"\0" * 99, "of unknown kind are not", 400, id="type"),
    pytest.param("a\u202eb.log", b"x", "this name can't be used", 400, id="name"),
    pytest.param("x" * 201, b"x", "this name can't be used", 400, id="long-name"),
    pytest.param("a/b.log", b"x", "this name can't be used", 400, id="slash"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "why", "status"), REFUSED)
def test_the_script_is_told_why_a_file_is_not_taken(
    small: Site, name: str, content: bytes, why: str, status: int
) -> None:
    pat = small.tester()
    pat.claim()
    answer = pat.upload(name, content, 1)
    assert answer.status == status
    assert why in answer.json()["error"]["message"]
    assert (names(small), left(small)) == ([], 0)


@pytest.mark.parametrize(("name", "content", "why", "status"), REFUSED[:4])
def test_without_script_the_page_says_which_file_was_not_taken_and_keeps_the_others(
    small: Site, name: str, content: bytes, why: str, status: int
) -> None:
    pat = small.tester()
    form = files_page(pat, "log").form(UPLOADS)
    page = pat.press(form, "Send", files=[("one.log", LOG), (name, content), ("two.png", PNG)])
    assert page.status == status
    assert name in page.text
    assert why in page.text
    assert "2 files were taken." in page.text
    assert sorted(names(small)) == ["one.log", "two.png"]
    draft = pat.get(DRAFT).form(DRAFT)
    assert draft.values("remarks") == ["typed before"]
    assert len(draft.values("files.log")) == 2
    # The page can be used to send another one.
    assert page.offers(UPLOADS)


def test_the_limits_of_a_test_and_of_a_tester_are_told(small: Site) -> None:
    pat = small.tester()
    pat.claim()
    assert pat.upload("1.log", b"1" * 5000, 1).status == 201
    full = pat.upload("2.log", b"2" * 3001, 1)
    assert full.status == 413
    assert "together" in full.json()["error"]["message"]
    assert pat.upload("2.log", b"2", 1).status == 201
    assert pat.upload("3.log", b"3", 1).status == 201
    many = pat.upload("4.log", b"4", 1)
    assert (many.status, many.json()["error"]["message"]) == (413, "a test may have 3 files")


def test_a_body_without_a_length_is_measured_as_it_comes(small: Site) -> None:
    pat = small.tester()
    pat.claim()

    def endless(size: int):  # type: ignore[no-untyped-def]
        for _ in range(size):
            yield b"x" * 1000

    headers = {"sec-fetch-site": "same-origin", "accept": "application/json"}
    query = {"name": "endless.log", "fence": "1"}
    for size, status in ((4, 201), (100, 413)):
        answer = pat.client.post(
            f"{ADDRESS}{UPLOADS}", params=query, content=endless(size), headers=headers
        )
        assert answer.status_code == status
    assert (names(small), left(small)) == (["endless.log"], 1)


@pytest.mark.parametrize("fence", [-1, 0, 2])
def test_only_who_holds_the_test_sends_files(site: Site, fence: int) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    pat.claim()
    for visitor, number in ((pat, fence), (kim, 1)):
        assert visitor.upload("app.log", LOG, number).status == 409
    assert left(site) == 0
    assert kim.get(UPLOADS).location == TEST


def test_a_superseded_form_stores_nothing(site: Site) -> None:
    pat, kim = site.tester("pat"), site.tester("Kim")
    form = files_page(pat).form(UPLOADS)
    site.clock.tick(901)  # type: ignore[attr-defined]
    kim.claim()
    page = pat.press(form, "Send", files=[("app.log", LOG)])
    assert page.location == TEST
    assert left(site) == 0


def test_a_form_where_no_file_was_chosen_says_so(site: Site) -> None:
    pat = site.tester()
    page = pat.press(files_page(pat).form(UPLOADS), "Send", files=[("", b"")])
    assert page.status == 400
    assert page.offers(UPLOADS)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param("multipart/form-data", b"", id="no-boundary"),
        pytest.param("multipart/form-data; boundary=x", b"no form", id="no-form"),
        pytest.param(
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="fence"\r\n\r\n1\r\n'
            b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.log"\r\n\r\nhalf',
            id="cut",
        ),
    ],
)
def test_a_broken_form_is_refused_and_leaves_nothing(site: Site, kind: str, body: bytes) -> None:
    pat = site.tester()
    pat.claim()
    headers = {"sec-fetch-site": "same-origin", "content-type": kind}
    answer = pat.client.post(f"{ADDRESS}{UPLOADS}", content=body, headers=headers)
    assert answer.status_code == 400
    assert left(site) == 0


def test_files_from_another_site_are_not_taken(site: Site) -> None:
    pat = site.tester()
    pat.claim()
    for headers in ({}, {"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        answer = pat.client.post(
            f"{ADDRESS}{UPLOADS}", params={"name": "a", "fence": "1"}, content=LOG, headers=headers
        )
        assert answer.status_code == 403
    assert left(site) == 0


def test_how_often_somebody_sends_files_is_limited(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = UPLOAD_RATE[1]
    monkeypatch.setattr(upload_pages, "UPLOAD_RATE", (2, seconds))
    pat, kim = site.tester("pat"), site.tester("Kim")
    form = files_page(pat).form(UPLOADS)
    page = pat.press(form, "Send", files=[("1.log", b"1"), ("2.log", b"2"), ("3.log", b"3")])
    assert page.status == 429
    assert names(site) == ["1.log", "2.log"]
    refused = pat.upload("4.log", b"4", 1)
    assert refused.status == 429
    assert "try again in a moment" in refused.json()["error"]["message"]
    # What others send doesn't count.
    assert kim.upload("5.log", b"5", 1).status == 409
    site.clock.tick(seconds + 1)  # type: ignore[attr-defined]
    assert pat.upload("4.log", b"4", 1).status == 201


def test_a_draft_names_files_where_they_were_sent_for() -> None:
    content = DraftContent(answers={"log": Answer(text="t")}, additional=(Answer(text="a"),))
    assert with_files(content, "log", ["1"]) == DraftContent(
        answers={"log": Answer(text="t", uploads=("1",))},
        additional=(Answer(text="a"),),
        uploads=("1",),
    )
    assert with_files(content, "more.0", ["1"]).additional == (Answer(text="a", uploads=("1",)),)
    for place in ("", "other", "more.1", "more.x", "more.", "more.-1"):
        got = with_files(content, place, ["1", "2"])
        assert (got.answers, got.additional) == (content.answers, content.additional)
        assert got.uploads == ("1", "2")
