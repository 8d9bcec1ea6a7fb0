"""The tree of errors: what callers and logs may rely on."""

from __future__ import annotations

import pytest

from vstore import errors
from vstore.errors import VStoreError

#: Released kinds never change: callers, logs and bots compare them.
KINDS = {
    "VStoreError": ("error", "Exception"),
    "InvalidError": ("invalid", "VStoreError"),
    "NotFoundError": ("not_found", "VStoreError"),
    "ConflictError": ("conflict", "VStoreError"),
    "StaleGeneration": ("stale_generation", "ConflictError"),
    "OperationConflict": ("operation_conflict", "ConflictError"),
    "IntegrityError": ("integrity", "VStoreError"),
    "ForgedReply": ("forged_reply", "IntegrityError"),
    "LimitExceeded": ("limit_exceeded", "VStoreError"),
    "StateError": ("state", "VStoreError"),
    "BudgetError": ("budget", "VStoreError"),
    "MissingReservation": ("missing_reservation", "BudgetError"),
    "StorageError": ("storage", "VStoreError"),
    "UnsupportedError": ("unsupported", "VStoreError"),
}


def test_the_tree_is_as_released() -> None:
    assert sorted(errors.__all__) == sorted(KINDS)
    for name, (kind, base) in KINDS.items():
        error = getattr(errors, name)
        assert error.kind == kind
        assert [one.__name__ for one in error.__bases__] == [base]
        assert error.__doc__


def test_an_error_says_what_and_what_to_do() -> None:
    error = errors.StaleGeneration(
        "the package moved on", hint="ask again", kind="stale_head", generation=7
    )
    assert str(error) == error.message == "the package moved on"
    assert error.hint == "ask again"
    assert error.details == {"generation": 7}
    assert error.kind == "stale_head"
    assert errors.StaleGeneration.kind == "stale_generation"


def test_defaults() -> None:
    error = errors.InvalidError("no")
    assert (error.kind, error.hint, error.details) == ("invalid", None, {})
    with pytest.raises(VStoreError):
        raise error
