"""Serving the page: a socket first, so that its port is known, then uvicorn on it."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from vstore.errors import StorageError
from vstore.web.settings import Settings

__all__ = ["bind", "serve"]

#: Seconds that requests under way get when the service is asked to stop.
GRACE: Final = 10
_BACKLOG: Final = 128


def bind(host: str, port: int) -> socket.socket:
    """A socket that takes connections.

    Args:
        host: An address or name of this machine.
        port: 1 to 65535, or 0 for one that is free.

    Raises:
        StorageError: The address is taken, or not of this machine (``address``).
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise StorageError(
            f"can't listen on {host} port {port}: {error.strerror or error}",
            kind="address",
            hint="another --port, or 0 for one that is free",
        ) from error


def serve(
    app: ASGIApp,
    settings: Settings,
    listener: socket.socket,
    *,
    proxies: Sequence[str] = ("127.0.0.1", "::1"),
    listening: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or ``stop``; requests under way end first.

    Args:
        app: What answers.
        settings: Whether a proxy stands in front, whose word on addresses counts.
        listener: Of :func:`bind`; closed at the end.
        proxies: The addresses of proxies that are believed.
        listening: Called once requests are answered.
        stop: Ends the service when it is set, for callers that get no signals.
    """
    server = _Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=settings.behind_proxy,
            forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=GRACE,
        ),
        listening,
        stop,
    )
    try:
        with _signals_stop(server):
            server.run(sockets=[listener])
    finally:
        listener.close()


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, listening: Callable[[], None], stop: threading.Event | None
    ) -> None:
        super().__init__(config)
        self._listening = listening
        self._stop = stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening()

    async def on_tick(self, counter: int) -> bool:
        asked = self._stop is not None and self._stop.is_set()
        return await super().on_tick(counter) or asked


@contextmanager
def _signals_stop(server: uvicorn.Server) -> Iterator[None]:
    """Also before uvicorn has its own handlers; it sends on to these what it got, at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
