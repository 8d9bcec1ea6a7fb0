"""How the page is reached, and what a request may be."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from vstore.errors import InvalidError

__all__ = ["LOOPBACK", "Settings", "is_loopback"]

LOOPBACK: Final = "127.0.0.1"
_MIB: Final = 1024 * 1024
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Settings:
    """How the page is reached, and what a request may be; make it with :meth:`listening`.

    Attributes:
        origin: Where browsers reach the page, such as ``https://tests.example.org``.
        behind_proxy: Somebody else terminates TLS and passes requests on from loopback.
        loopback: The service itself listens on a loopback address only.
        form_bytes: The largest form without files, in bytes.
        body_bytes: The largest body of any request, in bytes; uploads have limits of their own.
        silence_seconds: How long the next piece of a body may take, above 0. A file may take
            hours over a slow line, as long as something comes.
    """

    origin: str
    behind_proxy: bool
    loopback: bool
    form_bytes: int = 4 * _MIB
    body_bytes: int = 1024 * _MIB
    silence_seconds: float = 60.0

    @classmethod
    def listening(cls, host: str, port: int, public_url: str | None = None) -> Settings:
        """Settings for a service that listens on an address.

        Args:
            host: The address that it listens on.
            port: Its port, 1 to 65535.
            public_url: What people type, where a proxy stands in front.

        Raises:
            InvalidError: The public URL is none (``public_url``), or passwords would cross a
                network without TLS (``public_url_needed``).
        """
        loopback = is_loopback(host)
        if public_url is None:
            if not loopback:
                raise InvalidError(
                    "without TLS the page is served on a loopback address only",
                    kind="public_url_needed",
                    hint="put a reverse proxy with TLS in front, and name it with --public-url",
                )
            shown = f"[{host}]" if ":" in host else host
            return cls(origin=_origin(f"http://{shown}:{port}"), behind_proxy=False, loopback=True)
        origin = _origin(public_url)
        if not origin.startswith("https://") and not (loopback and _names_loopback(origin)):
            raise InvalidError(
                "the public URL has to start with https://",
                kind="public_url_needed",
                hint="passwords and evidence must not cross a network unencrypted",
            )
        return cls(origin=origin, behind_proxy=True, loopback=loopback)

    @property
    def secure(self) -> bool:
        """Whether browsers reach the page over TLS."""
        return self.origin.startswith("https://")

    def own_origins(self, host: str) -> frozenset[str]:
        """The origins that a request with this Host header may come from; empty: no host of ours.

        A loopback name counts with any port, so that a forwarded port works. A stranger's name
        that resolves to loopback doesn't.
        """
        named = _normal("https", host)
        ours = urlsplit(self.origin)
        if named is not None and ours.hostname == named[0]:
            port = ours.port or _DEFAULT_PORTS[ours.scheme]
            given = _normal(ours.scheme, host)
            if given is not None and given[1] == port:
                return frozenset({self.origin})
        if self.loopback and named is not None and is_loopback(named[0]):
            # Over such a name a proxy may also pass on what came to the public one.
            return frozenset({self.origin, f"http://{host.lower()}"})
        return frozenset()


def is_loopback(host: str) -> bool:
    """Whether an address, or ``localhost``, is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names_loopback(origin: str) -> bool:
    return is_loopback(urlsplit(origin).hostname or "")


def _normal(scheme: str, host: str) -> tuple[str, int] | None:
    """The name and port of a Host header, or None where it is none."""
    try:
        parts = urlsplit(f"{scheme}://{host}")
        port = parts.port
    except ValueError:
        return None
    if parts.netloc != host or parts.username is not None or not parts.hostname:
        return None
    return parts.hostname, port or _DEFAULT_PORTS[scheme]


def _origin(url: str) -> str:
    """Scheme, name and port of a URL that has nothing else, in lower case."""
    refused = InvalidError(
        "the public URL has a scheme, a name, perhaps a port, and no path",
        kind="public_url",
        hint="such as https://tests.example.org",
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise refused from None
    rest = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or rest or not url.isascii():
        raise refused
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    own = port is None or port == _DEFAULT_PORTS[parts.scheme]
    return f"{parts.scheme}://{name}" + ("" if own else f":{port}")
