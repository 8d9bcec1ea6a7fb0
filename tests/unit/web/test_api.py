"""The API: a bot from its token to a receipt, and everybody who may not. Real packages throughout.

Each answer is held against the description by :class:`vstore.testing.bot.Bot`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from vstore.package.reader import PackageReader
from vstore.testing.bot import API, REQUEST, Bot
from vstore.testing.investigation import CASE, PACKAGE
from vstore.testing.testers_page import KEY, PASSWORD, Site, ask
from vstore.verify import verify_package
from vstore.web.upload_policy import UploadPolicy

LOG = b"ZeroDivisionError: division by zero\n"


@pytest.fixture(scope="session")
def for_bots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose case waits for an automated test; to be copied, not touched."""
    folder = tmp_path_factory.mktemp("for-bots")
    ask(folder, executor="automated")
    return folder


@pytest.fixture
def bench(for_bots: Path, tmp_path: Path, make_site: Callable[..., Site]) -> Site:
    return make_site(Site.copied(for_bots, tmp_path / "bench"))


@pytest.fixture
def bot(bench: Site) -> Bot:
    return Bot(bench)


def answered(bot: Bot, fence: int, upload_id: str, base: int = 0) -> int:
    """Save a draft that answers everything; its revision."""
    content = bot.ask("GET", f"{REQUEST}/draft").value["content"]
    content["answers"] = {
        "fails": {"text": "yes", "uploads": []},
        "log": {"text": "It divides by zero.", "uploads": [upload_id]},
        "seconds": {"text": "0.5", "uploads": []},
    }
    saved = bot.ask(
        "PUT",
        f"{REQUEST}/draft",
        json={"fence": fence, "base_revision": base, "content": content},
    )
    assert saved.status == 200
    return saved.value["revision"]


def claimed(bot: Bot) -> int:
    reply = bot.ask("POST", f"{REQUEST}/claim")
    assert reply.status == 200, reply.value
    return reply.value["fence"]


def uploaded(bot: Bot, fence: int, content: bytes = LOG, name: str = "app.log") -> str:
    reply = bot.ask(
        "POST", f"{REQUEST}/uploads", params={"name": name, "fence": fence}, content=content
    )
    assert reply.status == 201, reply.value
    return reply.value["upload_id"]


def previewed(bot: Bot, fence: int, revision: int) -> str:
    reply = bot.ask("POST", f"{REQUEST}/preview", json={"fence": fence, "revision": revision})
    assert reply.value["faults"] == []
    return reply.value["draft_digest"]


def test_from_the_token_to_the_receipt(bench: Site, bot: Bot) -> None:
    assert bot.ask("GET", "/account").value == {"name": "bench", "role": "tester"}
    listed = bot.ask("GET", "/requests").value
    assert (listed["total"], listed["offset"], listed["unreadable"]) == (1, 0, [])
    (row,) = listed["requests"]
    assert (row["case_id"], row["package_id"], row["request_id"]) == KEY
    assert (row["status"], row["executor"], row["claim"], row["overdue"]) == (
        "open", "automated", None, False,
    )  # fmt: skip
    shown = bot.ask("GET", REQUEST).value
    assert shown["request"]["steps"] == ["Delete all orders.", "Open the page of totals."]
    fence = claimed(bot)
    assert bot.ask("GET", REQUEST).value["claim"]["mine"] is True
    upload = bot.ask(
        "POST", f"{REQUEST}/uploads", params={"name": "app.log", "fence": fence}, content=LOG
    ).value
    assert (upload["size"], upload["media_type"]) == (len(LOG), "text/plain")
    assert upload["object"] == "b3:" + blake3(LOG).hexdigest()
    revision = answered(bot, fence, upload["upload_id"])
    sent = {"fence": fence, "revision": revision}
    preview = bot.ask("POST", f"{REQUEST}/preview", json=sent).value
    assert preview["faults"] == []
    assert preview["feedback"]["tester_id"] == preview["feedback"]["confirmed_by"] == "bench"
    assert [one["text"] for one in preview["feedback"]["observations"]] == [
        "yes", "It divides by zero.", "0.5",
    ]  # fmt: skip
    sent["draft_digest"] = preview["draft_digest"]
    receipt = bot.ask("POST", f"{REQUEST}/confirm", json=sent).value
    assert (receipt["repeated"], receipt["confirmed_by"]) == (False, "bench")
    # Durable in the package, and the case goes on.
    with PackageReader.open(bench.folder / "work" / CASE) as reader:
        package = reader.pinned()
        assert package.state == "INVESTIGATING_HYPOTHESES"
        assert str(package.generation_id) == receipt["generation_id"]
        assert package.number == receipt["generation"]
    again = bot.ask("POST", f"{REQUEST}/confirm", json=sent).value
    assert again | {"repeated": False} == receipt
    assert bot.ask("GET", f"{REQUEST}/receipt").value | {"repeated": False} == receipt
    done = bot.ask("GET", REQUEST).value
    assert (done["status"], done["outcome"], done["feedback"]) == (
        "answered", "completed", receipt["feedback"],
    )  # fmt: skip
    assert bot.ask("GET", "/requests").value["total"] == 0
    assert bot.ask("GET", "/requests?status=answered").value["total"] == 1
    assert bot.ask("POST", f"{REQUEST}/claim").kind == "answered"
    assert verify_package(bench.folder / "work" / CASE).exit_code == 0


def test_a_test_that_cannot_be_done(bench: Site, bot: Bot) -> None:
    fence = claimed(bot)
    content = {"outcome": "unable_to_test", "remarks": ""}
    sent = {"fence": fence, "base_revision": 0, "content": content}
    assert bot.ask("PUT", f"{REQUEST}/draft", json=sent).value["revision"] == 1
    preview = bot.ask("POST", f"{REQUEST}/preview", json={"fence": fence, "revision": 1}).value
    assert preview == {
        "revision": 1,
        "faults": [{"field": "remarks", "kind": "reason", "limit": None}],
        "draft_digest": None,
        "feedback": None,
    }
    sent = {"fence": fence, "revision": 1, "draft_digest": "x"}
    refused = bot.ask("POST", f"{REQUEST}/confirm", json=sent)
    assert (refused.status, refused.kind) == (400, "incomplete")
    assert refused.value["details"]["faults"][0]["field"] == "remarks"
    content["remarks"] = "The bench has no such machine."
    saved = bot.ask(
        "PUT", f"{REQUEST}/draft", json={"fence": fence, "base_revision": 1, "content": content}
    ).value
    digest = previewed(bot, fence, saved["revision"])
    sent = {"fence": fence, "revision": saved["revision"], "draft_digest": digest}
    assert bot.ask("POST", f"{REQUEST}/confirm", json=sent).status == 200
    assert bot.ask("GET", REQUEST).value["outcome"] == "unable_to_test"


# ---- who may


def every(bot: Bot) -> list[tuple[str, str]]:
    """Each operation with the path of the one test."""
    found = []
    for template, operations in bot.description["paths"].items():
        path = template.replace("{case_id}", CASE).replace("{package_id}", PACKAGE)
        path = path.replace("{request_id}", "test-1").replace("{upload_id}", "0" * 32)
        found += [(method.upper(), path) for method in operations]
    return found


def test_without_a_token_nothing_is_told(bench: Site, bot: Bot) -> None:
    revoked = Bot(bench)
    bench.desk.tokens.revoke(bench.desk.tokens.list("bench")[-1].token_id, by="tests")
    disabled = Bot(bench, "other")
    bench.desk.accounts.disable("other", by="tests")
    shown: dict[str, dict[str, str]] = {
        "no_token": {},
        "basic": {"authorization": "Basic YTpi"},
        "empty": {"authorization": "Bearer "},
        "made up": {"authorization": "Bearer vst_" + "x" * 43},
        "revoked": {"authorization": f"Bearer {revoked.token}"},
        "disabled": {"authorization": f"Bearer {disabled.token}"},
        "two": {"authorization": f"Bearer {bot.token}, Bearer {bot.token}"},
    }
    stranger = Bot(bench, token="")
    for method, path in every(bot):
        for name, headers in shown.items():
            reply = stranger.ask(method, path, headers=headers)
            # Without a bearer's token a write looks like one of another site's page.
            browser = name in ("no_token", "basic") and method != "GET"
            assert reply.status == (403 if browser else 401), (method, path, name)
            assert "orders" not in json.dumps(reply.value)
            if reply.status == 401:
                assert reply.headers["www-authenticate"].startswith("Bearer")
                assert reply.kind in ("no_token", "invalid_token")


def test_a_session_is_no_token(bench: Site, bot: Bot) -> None:
    visitor = bench.tester("pat")
    for method, path in every(bot):
        response = visitor.client.request(method, path, headers={"sec-fetch-site": "same-origin"})
        assert response.status_code == 401, (method, path)
    assert PASSWORD  # the same visitor is let in on the page
    assert visitor.get("/").status == 200


def test_a_token_opens_no_page(bench: Site, bot: Bot) -> None:
    for path in ("/", "/admin", "/r/" + "/".join(KEY)):
        assert bot.client.get(path, follow_redirects=False).status_code == 303


def test_tests_for_people_are_seen_and_not_done(site: Site) -> None:
    bot = Bot(site)
    assert bot.ask("GET", "/requests").value["total"] == 0
    (row,) = bot.ask("GET", "/requests?executor=all").value["requests"]
    assert row["executor"] == "human"
    assert bot.ask("GET", REQUEST).status == 200
    # Also where the same account holds the test on the page.
    account = site.desk.accounts.get("bench")
    fence = site.desk.claims.claim(KEY, account, executor="human").fence
    content = bot.ask("GET", f"{REQUEST}/draft").value["content"]
    for method, path, body in (
        ("POST", "claim", None),
        ("POST", "renew", {"fence": fence}),
        ("POST", "release", {"fence": fence}),
        ("POST", "decline", {"reason": "no"}),
        ("PUT", "draft", {"fence": fence, "base_revision": 0, "content": content}),
        ("POST", "preview", {"fence": fence, "revision": 1}),
        ("POST", "confirm", {"fence": fence, "revision": 1, "draft_digest": "x"}),
        ("POST", f"uploads?name=a.txt&fence={fence}", None),
        ("DELETE", f"uploads/{'0' * 32}?fence={fence}", None),
    ):
        reply = bot.ask(method, f"{REQUEST}/{path}", json=body)
        assert (reply.status, reply.kind) == (409, "wrong_executor"), path
    assert site.desk.uploads.list(KEY, account) == []


# ---- claims


def test_one_bot_at_a_time(bench: Site, bot: Bot) -> None:
    others = [Bot(bench, f"bot {number}") for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda one: one.ask("POST", f"{REQUEST}/claim"), others))
    assert sorted(one.status for one in replies) == [200] + [409] * 5
    winner = next(at for at, one in enumerate(replies) if one.status == 200)
    refused = next(one for one in replies if one.status == 409)
    assert refused.kind == "claimed"
    assert refused.value["details"]["holder"] == f"bot {winner}"
    assert refused.value["details"]["lease_until"] == "2026-01-02T12:15:00Z"
    held = bot.ask("GET", REQUEST).value["claim"]
    assert (held["holder"], held["mine"], held["fence"]) == (f"bot {winner}", False, None)
    for held, total in (("mine", 0), ("free", 0), ("all", 1)):
        assert bot.ask("GET", f"/requests?held={held}").value["total"] == total
    assert others[winner].ask("GET", "/requests?held=mine").value["total"] == 1


def test_a_superseded_bot_can_neither_save_nor_confirm(bench: Site, bot: Bot) -> None:
    fence = claimed(bot)
    revision = answered(bot, fence, uploaded(bot, fence))
    digest = previewed(bot, fence, revision)
    bench.clock.tick(901)  # type: ignore[attr-defined]
    other = Bot(bench, "other")
    newer = claimed(other)
    assert newer > fence
    content = bot.ask("GET", f"{REQUEST}/draft").value["content"]
    for method, path, body in (
        ("POST", "renew", {"fence": fence}),
        ("POST", "release", {"fence": fence}),
        ("PUT", "draft", {"fence": fence, "base_revision": revision, "content": content}),
        ("POST", "preview", {"fence": fence, "revision": revision}),
        ("POST", "confirm", {"fence": fence, "revision": revision, "draft_digest": digest}),
        ("POST", f"uploads?name=b.txt&fence={fence}", None),
    ):
        reply = bot.ask(method, f"{REQUEST}/{path}", json=body)
        assert (reply.status, reply.kind) == (409, "superseded"), path
    assert bot.ask("GET", REQUEST).value["status"] == "open"


def test_renew_release_and_decline(bench: Site, bot: Bot) -> None:
    fence = claimed(bot)
    bench.clock.tick(60)  # type: ignore[attr-defined]
    renewed = bot.ask("POST", f"{REQUEST}/renew", json={"fence": fence}).value
    assert (renewed["lease_until"], renewed["fence"]) == ("2026-01-02T12:16:00Z", fence)
    reply = bot.ask("POST", f"{REQUEST}/release", json={"fence": fence, "reason": "busy"})
    assert (reply.status, reply.value) == (204, None)
    assert bot.ask("GET", REQUEST).value["claim"] is None
    assert bot.ask("POST", f"{REQUEST}/renew", json={"fence": fence}).kind == "not_claimed"
    declined = bot.ask("POST", f"{REQUEST}/decline", json={"reason": "no such bench"}).value
    assert (declined["name"], declined["reason"]) == ("bench", "no such bench")
    assert bot.ask("GET", REQUEST).value["declines"] == [declined]
    assert bot.ask("POST", f"{REQUEST}/decline", json={"reason": "  "}).kind == "invalid_reason"
    audit = [(one.actor, one.action) for one in bench.desk.audit.recent(3)]
    assert audit == [
        ("bench", "test.decline"), ("bench", "test.release"), ("bench", "test.claim"),
    ]  # fmt: skip


# ---- drafts


def test_a_stale_save_keeps_both_texts(bot: Bot) -> None:
    fence = claimed(bot)
    empty = bot.ask("GET", f"{REQUEST}/draft").value
    assert (empty["revision"], empty["saved_at"], empty["conflicts"]) == (0, None, [])

    def save(base: int, remarks: str, **more: Any) -> Any:
        content = empty["content"] | {"remarks": remarks}
        sent = {"fence": fence, "base_revision": base, "content": content, **more}
        return bot.ask("PUT", f"{REQUEST}/draft", json=sent)

    assert save(0, "first").value["revision"] == 1
    assert save(1, "second").value["revision"] == 2
    stale = save(1, "late")
    assert (stale.status, stale.kind) == (409, "stale_draft")
    assert stale.value["details"] == {"revision": 2}
    draft = bot.ask("GET", f"{REQUEST}/draft").value
    assert draft["content"]["remarks"] == "second"
    (conflict,) = draft["conflicts"]
    assert (conflict["content"]["remarks"], conflict["base_revision"]) == ("late", 1)
    resolved = save(2, "second, late", resolves=[conflict["conflict_id"]]).value
    assert (resolved["revision"], resolved["conflicts"]) == (3, [])
    unknown = save(3, "more", resolves=[99])
    assert (unknown.status, unknown.kind) == (404, "unknown_conflict")


def test_a_confirmation_names_what_was_previewed(bot: Bot) -> None:
    fence = claimed(bot)
    revision = answered(bot, fence, uploaded(bot, fence))
    digest = previewed(bot, fence, revision)
    content = bot.ask("GET", f"{REQUEST}/draft").value["content"] | {"remarks": "changed"}
    sent = {"fence": fence, "base_revision": revision, "content": content}
    newer = bot.ask("PUT", f"{REQUEST}/draft", json=sent).value["revision"]
    for one in (revision, newer):
        sent = {"fence": fence, "revision": one, "draft_digest": digest}
        reply = bot.ask("POST", f"{REQUEST}/confirm", json=sent)
        assert (reply.status, reply.kind) == (409, "changed_since_preview")
    assert bot.ask("GET", f"{REQUEST}/receipt").kind == "no_receipt"


# ---- uploads


def test_uploads_are_listed_and_removed(bench: Site, bot: Bot) -> None:
    fence = claimed(bot)
    first, second = uploaded(bot, fence), uploaded(bot, fence, b"x" * 700_000, "big ü.txt")
    assert uploaded(bot, fence) == first
    listed = bot.ask("GET", f"{REQUEST}/uploads").value
    sizes = {one["upload_id"]: (one["name"], one["size"]) for one in listed["uploads"]}
    assert sizes == {first: ("app.log", len(LOG)), second: ("big ü.txt", 700_000)}
    policy = bench.desk.uploads.policy
    assert listed["policy"]["max_file_bytes"] == policy.max_file_bytes
    assert "image/png" in listed["policy"]["types"]
    reply = bot.ask("DELETE", f"{REQUEST}/uploads/{first}", params={"fence": fence})
    assert (reply.status, reply.value) == (204, None)
    reply = bot.ask("DELETE", f"{REQUEST}/uploads/{first}", params={"fence": fence})
    assert (reply.status, reply.kind) == (404, "unknown_upload")
    assert uploaded(bot, fence, b"", "empty.txt")


def test_uploads_that_are_refused(
    for_bots: Path, tmp_path: Path, make_site: Callable[..., Site]
) -> None:
    policy = UploadPolicy(max_file_bytes=1000)
    site = make_site(Site.copied(for_bots, tmp_path / "small"), upload_policy=policy)
    bot = Bot(site)
    fence = claimed(bot)

    def upload(content: Any, name: str = "a.txt", **query: Any) -> tuple[int, str]:
        params = {"name": name, "fence": fence} | query
        reply = bot.ask("POST", f"{REQUEST}/uploads", params=params, content=content)
        return reply.status, reply.kind

    assert upload(b"x" * 1001) == (413, "upload_limit")
    # As it comes, without a size that was announced.
    assert upload(iter([b"x" * 600, b"x" * 600])) == (413, "upload_limit")
    assert upload(b"\x7fELF" + b"\0" * 500) == (400, "upload_type")
    assert upload(b"x", "../../etc/passwd") == (400, "invalid_name")
    assert upload(b"x", fence=fence + 1) == (409, "not_claimed")
    assert upload(b"x", fence="one") == (400, "invalid_parameter")
    assert bot.ask("GET", f"{REQUEST}/uploads").value["uploads"] == []
    assert list(site.desk.folder.uploads.iterdir()) == []


def test_too_many_uploads(bench: Site, bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vstore.web.api.UPLOAD_RATE", (2, 600))
    fence = claimed(bot)
    for number in range(2):
        uploaded(bot, fence, b"%d" % number)
    params = {"name": "a.txt", "fence": fence}
    reply = bot.ask("POST", f"{REQUEST}/uploads", params=params, content=b"x")
    assert (reply.status, reply.kind) == (429, "too_many")
    assert reply.headers["retry-after"] == "600"


# ---- what is no request


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"", 400, "invalid_json"),
        (b"\xff", 400, "invalid_json"),
        (b"{", 400, "invalid_json"),
        (b"[]", 400, "invalid_body"),
        (b'{"fence":1,"fence":2}', 400, "invalid_json"),
        (b'{"fence":1.5}', 400, "invalid_json"),
        (b'{"fence":"1"}', 400, "invalid_body"),
        (b'{"fence":0}', 400, "invalid_body"),
        (b'{"fence":1,"evil<b>":2}', 400, "invalid_body"),
        (b'{"fence":9007199254740992}', 400, "not_representable"),
        (b"[" * 5000, 400, "too_deep"),
        (b'{"fence":1,"reason":"' + b"x" * (8 << 20) + b'"}', 413, "body_too_large"),
        (b'{"fence":1,"reason":"\\ud800"}', 400, "not_representable"),
    ],
    ids=["empty", "bytes", "cut", "array", "twice", "float", "text", "zero", "unknown", "large",
         "deep", "long", "surrogate"],
)  # fmt: skip
def test_bodies_that_are_none(bot: Bot, body: bytes, status: int, kind: str) -> None:
    headers = {"content-type": "application/json"}
    reply = bot.ask("POST", f"{REQUEST}/release", content=body, headers=headers)
    assert (reply.status, reply.kind) == (status, kind)
    assert "evil" not in json.dumps(reply.value)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_bodies_of_another_type(bot: Bot, kind: str) -> None:
    reply = bot.ask(
        "POST", f"{REQUEST}/renew", content=b'{"fence":1}', headers={"content-type": kind}
    )
    assert (reply.status, reply.kind) == (415, "media_type")


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "status=none", "evil=1", "offset=-1",
     "offset=" + "9" * 30],
)  # fmt: skip
def test_parameters_that_are_none(bot: Bot, query: str) -> None:
    reply = bot.ask("GET", f"/requests?{query}")
    assert (reply.status, reply.kind) == (400, "invalid_parameter")
    assert "evil" not in json.dumps(reply.value)


def test_pages_of_the_list(bot: Bot) -> None:
    assert bot.ask("GET", "/requests?limit=1&offset=1").value == {
        "total": 1, "offset": 1, "requests": [], "unreadable": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    "key",
    [("none", PACKAGE, "test-1"), (CASE, "none", "test-1"), (CASE, PACKAGE, "none"),
     ("..", "%2e%2e", "x"), ("%00", "%ff", "%f0%9f%92%a9")],
    ids=["case", "package", "request", "dots", "bytes"],
)  # fmt: skip
def test_tests_that_there_are_not(bot: Bot, key: tuple[str, str, str]) -> None:
    for method, path in every(bot):
        if "test-1" not in path:
            continue
        where = path.replace(f"{CASE}/{PACKAGE}/test-1", "/".join(key))
        body: Any = {"fence": 1}
        if path.endswith("/draft"):
            body |= {"base_revision": 0, "content": {}}
        elif path.endswith(("/preview", "/confirm")):
            body |= {"revision": 1}
            body |= {"draft_digest": "x"} if path.endswith("/confirm") else {}
        elif path.endswith("/decline"):
            body |= {"reason": "no"}
        params = {"fence": 1, "name": "a"} if method == "POST" and "uploads" in path else {}
        params = {"fence": 1} if method == "DELETE" else params
        sent = {"json": body} if method in ("POST", "PUT") else {}
        reply = bot.ask(method, where, params=params, **sent)
        assert reply.status == 404, (method, where, reply.value)


def test_what_is_no_operation(bench: Site, bot: Bot) -> None:
    for method, path, status in (
        ("GET", "/none", 404),
        ("GET", "/requests/", 404),
        ("PATCH", "/requests", 405),
        ("OPTIONS", "/account", 405),
        ("PUT", REQUEST, 405),
    ):
        reply = bot.ask(method, path)
        assert (reply.status, reply.type) == (status, "application/problem+json"), path
    assert bot.client.get("/api/v1/openapi.json", headers={"host": "evil"}).status_code == 421


def test_a_fault_tells_nothing(bench: Site, bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(bench.desk.board, "entry", fail)
    reply = bot.ask("GET", REQUEST)
    assert (reply.status, reply.kind) == (500, "fault")
    assert "secret" not in json.dumps(reply.value)


def test_every_answer_has_the_headers_of_the_page(bot: Bot) -> None:
    for method, path in [*every(bot), ("GET", f"{API}/openapi.json"), ("GET", f"{API}/none")]:
        headers = bot.client.request(method, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "set-cookie" not in headers


def test_a_bot_that_goes_away_leaves_nothing(bench: Site, bot: Bot) -> None:
    """Half a file has come, then the connection ends."""
    fence = claimed(bot)
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": f"{REQUEST}/uploads",
        "raw_path": f"{REQUEST}/uploads".encode(),
        "query_string": f"name=a.txt&fence={fence}".encode(),
        "headers": [
            (b"host", b"127.0.0.1:8484"),
            (b"authorization", f"Bearer {bot.token}".encode()),
            (b"content-length", b"1000000"),
        ],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8484),
    }
    came: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"x" * 500_000, "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return came.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(bench.app(scope, receive, send))
    assert sent[0]["status"] == 499
    assert bot.ask("GET", f"{REQUEST}/uploads").value["uploads"] == []
    assert list(bench.desk.folder.uploads.iterdir()) == []
    assert uploaded(bot, fence)
