"""A socket, and a service on it that ends when it is asked to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from vstore.errors import StorageError
from vstore.web.serving import bind, serve
from vstore.web.settings import Settings


async def who(scope: Scope, receive: Receive, send: Send) -> None:
    """Says from where a request came."""
    client = Request(scope).client
    assert client is not None
    await PlainTextResponse(client.host)(scope, receive, send)


@contextmanager
def served(app: ASGIApp, public_url: str | None, **options: object) -> Iterator[int]:
    """The port of a service that runs meanwhile."""
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    settings = Settings.listening("127.0.0.1", port, public_url)
    stop, ready = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=serve,
        args=(app, settings, listener),
        kwargs={"listening": ready.set, "stop": stop, **options},
    )
    thread.start()
    try:
        assert ready.wait(60)
        yield port
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    assert listener.fileno() == -1


def ask(port: int, **headers: str) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/", headers=headers)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("public_url", "proxies", "address"),
    [
        # Nobody's word counts where there is no proxy, nor a stranger's where there is one.
        (None, ["127.0.0.1"], "127.0.0.1"),
        ("https://tests.example.org", ["127.0.0.1"], "203.0.113.9"),
        ("https://tests.example.org", ["192.0.2.1"], "127.0.0.1"),
    ],
)
def test_only_a_proxy_says_where_a_request_came_from(
    public_url: str | None, proxies: list[str], address: str
) -> None:
    with served(who, public_url, proxies=proxies) as port:
        # The one on the left is what the client claims itself.
        assert ask(port, **{"X-Forwarded-For": "198.51.100.1, 203.0.113.9"}) == address


def test_an_address_that_cannot_be_had() -> None:
    with bind("127.0.0.1", 0) as taken:
        for host, port in (("127.0.0.1", taken.getsockname()[1]), ("192.0.2.1", 0)):
            with pytest.raises(StorageError) as refused:
                bind(host, port)
            assert refused.value.kind == "address"
