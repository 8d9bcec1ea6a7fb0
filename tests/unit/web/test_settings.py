"""Under which names the page is served, and where it refuses to be."""

from __future__ import annotations

import pytest

from vstore.errors import InvalidError
from vstore.web.settings import Settings, is_loopback


@pytest.mark.parametrize(
    ("host", "port", "origin"),
    [
        ("127.0.0.1", 8484, "http://127.0.0.1:8484"),
        ("localhost", 8484, "http://localhost:8484"),
        ("::1", 8484, "http://[::1]:8484"),
        ("127.0.0.2", 80, "http://127.0.0.2"),
    ],
)
def test_on_loopback_it_is_served_without_tls(host: str, port: int, origin: str) -> None:
    settings = Settings.listening(host, port)
    assert settings.origin == origin
    assert not settings.secure
    assert not settings.behind_proxy


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "tests.example.org", ""])
def test_others_are_not_served_without_tls(host: str) -> None:
    with pytest.raises(InvalidError) as refused:
        Settings.listening(host, 8484)
    assert refused.value.kind == "public_url_needed"
    with pytest.raises(InvalidError):
        Settings.listening(host, 8484, "http://tests.example.org")
    with pytest.raises(InvalidError):
        Settings.listening(host, 8484, "http://127.0.0.1:8484")
    assert Settings.listening(host, 8484, "https://tests.example.org").secure


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://tests.example.org", "https://tests.example.org"),
        ("https://Tests.Example.Org/", "https://tests.example.org"),
        ("https://tests.example.org:443", "https://tests.example.org"),
        ("https://tests.example.org:8443", "https://tests.example.org:8443"),
        ("https://[2001:db8::1]", "https://[2001:db8::1]"),
        ("http://localhost:9000", "http://localhost:9000"),
    ],
)
def test_a_proxy_gives_it_another_name(url: str, origin: str) -> None:
    settings = Settings.listening("127.0.0.1", 8484, url)
    assert settings.origin == origin
    assert settings.behind_proxy


@pytest.mark.parametrize(
    "url",
    [
        "",
        "tests.example.org",
        "ftp://tests.example.org",
        "https://",
        "https://tests.example.org/path",
        "https://tests.example.org/?a=b",
        "https://tests.example.org/#part",
        "https://me@tests.example.org",
        "https://tests.example.org:port",
        "https://[::1",
        "https://täst.example.org",
        "http://tests.example.org",
    ],
)
def test_a_public_url_is_a_name_and_nothing_else(url: str) -> None:
    with pytest.raises(InvalidError) as refused:
        Settings.listening("127.0.0.1", 8484, url)
    assert refused.value.hint


PUBLIC = "https://tests.example.org"


@pytest.mark.parametrize(
    ("public", "host", "origins"),
    [
        (None, "127.0.0.1:8484", {"http://127.0.0.1:8484"}),
        (None, "localhost:8484", {"http://127.0.0.1:8484", "http://localhost:8484"}),
        # A port that is forwarded has another number at the other end.
        (None, "LOCALHOST:9999", {"http://127.0.0.1:8484", "http://localhost:9999"}),
        (None, "[::1]:8484", {"http://127.0.0.1:8484", "http://[::1]:8484"}),
        # A stranger's name that resolves to loopback (DNS rebinding).
        (None, "evil.example:8484", set()),
        (None, "127.0.0.1.evil.example", set()),
        (None, "evil.example@127.0.0.1:8484", set()),
        (None, "127.0.0.1:8484/", set()),
        (None, "127.0.0.1:x", set()),
        (None, "", set()),
        (PUBLIC, "tests.example.org", {PUBLIC}),
        (PUBLIC, "TESTS.example.org:443", {PUBLIC}),
        (PUBLIC, "tests.example.org:8443", set()),
        (PUBLIC, "other.example.org", set()),
        (PUBLIC, "127.0.0.1:8484", {PUBLIC, "http://127.0.0.1:8484"}),
    ],
)
def test_whose_forms_are_taken_depends_on_the_name(
    public: str | None, host: str, origins: set[str]
) -> None:
    assert Settings.listening("127.0.0.1", 8484, public).own_origins(host) == origins


def test_away_from_loopback_only_the_public_name_counts() -> None:
    settings = Settings.listening("0.0.0.0", 8484, PUBLIC)
    assert settings.own_origins("tests.example.org") == {PUBLIC}
    assert settings.own_origins("127.0.0.1:8484") == frozenset()


def test_what_is_loopback() -> None:
    assert [is_loopback(one) for one in ("localhost", "127.9.9.9", "::1")] == [True] * 3
    assert not any(is_loopback(one) for one in ("localhost.", "10.0.0.1", "example.org", ""))
