"""The one tree of errors that vstore raises on purpose.

A caller chooses what to do by class; a log, a bot or a test compares ``kind``, which is
stable across releases. ``str(error)`` says what happened and to what, ``hint`` says what
to do about it. Texts never contain bytes of a hostile document except its ids.
"""

from __future__ import annotations

__all__ = [
    "BudgetError",
    "ConflictError",
    "ForgedReply",
    "IntegrityError",
    "InvalidError",
    "LimitExceeded",
    "MissingReservation",
    "NotFoundError",
    "OperationConflict",
    "StaleGeneration",
    "StateError",
    "StorageError",
    "UnsupportedError",
    "VStoreError",
]


class VStoreError(Exception):
    """Base of every error that vstore raises on purpose.

    Args:
        message: What happened, and to what; one sentence.
        hint: What the reader can do about it, or None.
        kind: A more exact stable kind than the class's own, or None.
        details: Machine-readable facts (names, numbers, ids; never free text of others).
    """

    kind: str = "error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        kind: str | None = None,
        **details: object,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details
        if kind is not None:
            self.kind = kind


class InvalidError(VStoreError):
    """The caller's value, or a document, isn't what its schema or rule asks for."""

    kind = "invalid"


class NotFoundError(VStoreError):
    """A named case, object, snapshot, hypothesis, action or ref does not exist."""

    kind = "not_found"


class ConflictError(VStoreError):
    """Somebody else's work stands where this one wanted to go."""

    kind = "conflict"


class StaleGeneration(ConflictError):
    """The package moved on since the caller read it; asking again is enough."""

    kind = "stale_generation"


class OperationConflict(ConflictError):
    """The same key was used before with another payload."""

    kind = "operation_conflict"


class IntegrityError(VStoreError):
    """Stored bytes contradict a digest, a chain, a ref or a rule."""

    kind = "integrity"


class ForgedReply(IntegrityError):
    """A reply differs from what the pinned inputs yield.

    ``details["pointer"]`` is the JSON pointer (RFC 6901) of the first difference.
    """

    kind = "forged_reply"


class LimitExceeded(VStoreError):
    """An operational limit was reached; ``details`` has ``limit``, ``value`` and ``asked``."""

    kind = "limit_exceeded"


class StateError(VStoreError):
    """The case's state doesn't allow this; the message says what would be legal."""

    kind = "state"


class BudgetError(VStoreError):
    """The ledger doesn't allow this: no credits, a stopped account, a closed action."""

    kind = "budget"


class MissingReservation(BudgetError):
    """No reserved action matches."""

    kind = "missing_reservation"


class StorageError(VStoreError):
    """The disk or the file system failed; the outcome may be unknown, the message says."""

    kind = "storage"


class UnsupportedError(VStoreError):
    """A format, schema, feature or rule version that this release doesn't know."""

    kind = "unsupported"
