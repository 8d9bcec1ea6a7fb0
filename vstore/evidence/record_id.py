"""Numbers of evidence records: ``E000001``, and past ``E999999`` with more digits."""

from __future__ import annotations

import re
from typing import Final

from vstore.errors import InvalidError

__all__ = ["MAX_NUMBER", "record_id", "record_number"]

MAX_NUMBER: Final = 10**15 - 1
_RECORD_ID: Final = re.compile(r"E([0-9]{6}|[1-9][0-9]{6,14})", re.ASCII)


def record_id(number: int) -> str:
    """The id of record ``number``, 1 to :data:`MAX_NUMBER`.

    Raises:
        InvalidError: Out of that range.
    """
    if type(number) is not int or not 1 <= number <= MAX_NUMBER:
        raise InvalidError("no number of a record", kind="invalid_record_id")
    return f"E{number:06d}"


def record_number(text: str) -> int:
    """The number in a record id, 1 or more.

    Raises:
        InvalidError: Not a record id.
    """
    found = _RECORD_ID.fullmatch(text)
    number = int(found[1]) if found else 0
    if not number:
        raise InvalidError("not a record id", kind="invalid_record_id")
    return number
