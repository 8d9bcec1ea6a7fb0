"""Refusals that only a service makes: who may do what, and how often."""

from __future__ import annotations

from vstore.errors import LimitExceeded, VStoreError

__all__ = ["NotAllowed", "NotLoggedIn", "Stalled", "TooMany"]


class NotLoggedIn(VStoreError):
    """Nobody is logged in, or what was shown as proof is wrong or over."""

    kind = "not_logged_in"


class NotAllowed(VStoreError):
    """Who asks is known, and may not do this."""

    kind = "not_allowed"


class TooMany(LimitExceeded):
    """Something was tried too often; ``details["retry_after"]`` says when again, in seconds."""

    kind = "too_many"


class Stalled(VStoreError):
    """The body of a request began, and then nothing came for too long."""

    kind = "body_stalled"
