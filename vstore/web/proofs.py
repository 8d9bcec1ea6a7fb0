"""Secrets that stand for a person or a bot: made at random, kept only as hashes.

They are long enough that nobody finds one by trying, so a quick hash is enough, and looking
one up by its hash tells nothing by the time it takes.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

__all__ = ["TOKEN_PREFIX", "code_digest", "digest", "new_code", "new_secret", "new_token"]

#: So that scanners for leaked secrets recognise a bot's token.
TOKEN_PREFIX: Final = "vst_"  # noqa: S105

#: Crockford's base 32, without letters that are taken for digits.
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_GROUPS: Final = 4
_GROUP: Final = 5
_MISREAD: Final = str.maketrans("OIL", "011")


def new_secret() -> str:
    """A session's secret: 256 random bits in 43 characters."""
    return secrets.token_urlsafe(32)


def new_token() -> str:
    """A bot's token: ``vst_`` and 256 random bits."""
    return TOKEN_PREFIX + new_secret()


def new_code() -> str:
    """A code that a person types in once: 100 random bits, such as ``7K2QF-…`` in four groups."""
    return "-".join(
        "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP)) for _ in range(_GROUPS)
    )


def digest(secret: str) -> bytes:
    """What is stored of a secret, 32 bytes."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def code_digest(code: str) -> bytes:
    """What is stored of a code; forgives case, spaces, hyphens and O, I, L for digits."""
    return digest(re.sub(r"[\s-]", "", code[:200]).upper().translate(_MISREAD))
