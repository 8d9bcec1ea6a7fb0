"""The HTTP status that an error is answered with, on a page and by the API."""

from __future__ import annotations

from typing import Final

from vstore.errors import (
    ConflictError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    StateError,
    StorageError,
    UnsupportedError,
    VStoreError,
)
from vstore.web.problems import NotAllowed, NotLoggedIn, Stalled, TooMany

__all__ = ["status_of"]

_STATUS: Final[tuple[tuple[type[VStoreError], int], ...]] = (
    (NotLoggedIn, 401),
    (NotAllowed, 403),
    (Stalled, 408),
    (TooMany, 429),
    (LimitExceeded, 413),
    (NotFoundError, 404),
    (ConflictError, 409),
    (StateError, 409),
    (InvalidError, 400),
    (StorageError, 503),
    (UnsupportedError, 501),
)
_KINDS: Final = {"host": 421, "media_type": 415}


def status_of(error: VStoreError) -> int:
    """The HTTP status that an error is answered with."""
    by_class = (status for cls, status in _STATUS if isinstance(error, cls))
    return _KINDS.get(error.kind, next(by_class, 500))
