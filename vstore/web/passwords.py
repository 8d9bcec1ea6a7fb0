"""Passwords: argon2id with the library's settings, and the same work for a name that nobody has."""

from __future__ import annotations

import base64
import secrets
import threading
import unicodedata
from functools import cache
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from vstore.errors import InvalidError

__all__ = [
    "MAX_PASSWORD",
    "MIN_PASSWORD",
    "check_password",
    "hash_password",
    "is_outdated",
    "verify_password",
]

#: Characters of a password.
MIN_PASSWORD: Final = 12
MAX_PASSWORD: Final = 1024

_HASHER: Final = PasswordHasher()
#: Each hash takes 64 MiB, so a crowd at the login waits instead of filling the memory.
_AT_ONCE: Final = threading.BoundedSemaphore(4)


def check_password(password: str) -> None:
    """Refuse what is no good password.

    Raises:
        InvalidError: It has not 12 to 1024 characters, or ones that can't be encoded
            (``weak_password``).
    """
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD or not _is_text(password):
        raise InvalidError(
            f"a password has {MIN_PASSWORD} to {MAX_PASSWORD} characters",
            kind="weak_password",
            hint="four or five words that don't belong together are easy to keep in mind",
        )


def hash_password(password: str) -> str:
    """The argon2id hash of a password, with its parameters and salt, as it is stored.

    Raises:
        InvalidError: As :func:`check_password`.
    """
    check_password(password)
    with _AT_ONCE:
        return _HASHER.hash(_normal(password))


def verify_password(stored: str | None, password: str) -> bool:
    """Whether a password belongs to a hash.

    Args:
        stored: The hash; None when there is no account or no password to compare with,
            which takes the same time and is never true.
        password: What was typed, of any length.
    """
    if len(password) > MAX_PASSWORD or not _is_text(password):
        # Nobody has such a password, and how long its hash takes is not for others to choose.
        stored, password = None, ""
    with _AT_ONCE:
        try:
            matches = _HASHER.verify(stored or _nobody(), _normal(password))
        except (VerificationError, InvalidHashError):
            return False
    return matches and stored is not None


def is_outdated(stored: str) -> bool:
    """Whether the library hashes with other parameters by now."""
    return _HASHER.check_needs_rehash(stored)


@cache
def _nobody() -> str:
    """A hash that no password has; made without hashing, so that not even the first costs more."""
    salt, found = (
        base64.b64encode(secrets.token_bytes(length)).decode().rstrip("=")
        for length in (_HASHER.salt_len, _HASHER.hash_len)
    )
    costs = f"m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}"
    return f"$argon2id$v=19${costs}${salt}${found}"


def _normal(password: str) -> str:
    # Keyboards compose characters differently (RFC 8265).
    return unicodedata.normalize("NFC", password)


def _is_text(password: str) -> bool:
    try:
        password.encode()
    except UnicodeEncodeError:
        return False
    return True
