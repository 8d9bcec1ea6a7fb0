"""What is wrong with a field of a form, for its page to say beside it and on top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["FieldError", "password_errors"]

PASSWORD_MIN = 12
PASSWORD_MAX = 1024


class FieldError(NamedTuple):
    """One field's fault.

    Attributes:
        field: The ``id`` of the field on its page.
        key: The message, a key of the words.
        values: The message's values.
    """

    field: str
    key: str
    values: Mapping[str, Any] = {}


def password_errors(password: str, again: str) -> list[FieldError]:
    """What is wrong with a new password that was typed twice."""
    if len(password) < PASSWORD_MIN:
        return [FieldError("password", "password.short", {"least": PASSWORD_MIN})]
    if len(password) > PASSWORD_MAX:
        return [FieldError("password", "password.long", {"most": PASSWORD_MAX})]
    if password != again:
        return [FieldError("password_again", "password.differs")]
    return []
