"""What a writer of packages can be told, in one place for repositories and workspaces."""

from __future__ import annotations

from typing import TypedDict

import msgspec

from vstore.objects.durable import REAL, DurableIO
from vstore.objects.locks import LOCK_TIMEOUT
from vstore.package.clock import Clock, utc_now
from vstore.package.limits import PackageLimits

__all__ = ["StoreOptions", "WriterOptions", "WriterSettings"]


class WriterOptions(TypedDict, total=False):
    """Keyword arguments of everything that writes packages; all may be left out.

    ``actor``: who acts, for events that name nobody else (``vstore``); 1 to 200 characters.
    ``clock``: gives the instants of events (the machine's clock).
    ``limits``: bounds on raw input and snapshots.
    ``lock_timeout``: seconds to wait for a lock that somebody else holds, 0 or more.
    ``command``: what to tell others who wait for this writer.
    ``io``: does the durable I/O.
    """

    actor: str
    clock: Clock
    limits: PackageLimits
    lock_timeout: float
    command: str
    io: DurableIO


class StoreOptions(TypedDict):
    """Those of them that the object store takes."""

    clock: Clock
    lock_timeout: float
    command: str
    io: DurableIO


class WriterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Options with their defaults filled in; see :class:`WriterOptions`."""

    actor: str = "vstore"
    clock: Clock = utc_now
    limits: PackageLimits = msgspec.field(default_factory=PackageLimits)
    lock_timeout: float = LOCK_TIMEOUT
    command: str = "vstore"
    io: DurableIO = REAL

    def for_store(self) -> StoreOptions:
        """The keyword arguments of the object store."""
        return {
            "clock": self.clock,
            "lock_timeout": self.lock_timeout,
            "command": self.command,
            "io": self.io,
        }
