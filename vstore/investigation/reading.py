"""From the bytes of a reply to a JSON value, or to the reason why there is none."""

from __future__ import annotations

from typing import Any

from vstore.errors import InvalidError, LimitExceeded
from vstore.investigation.rejection import NOT_JSON, TRUNCATED, Problem
from vstore.investigation.vocabulary import MAX_REPLY_BYTES
from vstore.objects.plain_json import decode_value

__all__ = ["read_reply"]


def read_reply(raw: bytes, *, cut_off: bool) -> tuple[Any, Problem | None]:
    """The JSON value of a reply.

    Member order and white space are free; duplicate members, fractions and numbers past
    2^53 - 1 are refused, and so is anything around the one document.

    Args:
        raw: The bytes, as the provider gave them.
        cut_off: The provider said that it stopped early: then they are not looked at.

    Returns:
        The value and None, or None and the problem.
    """
    if cut_off:
        return None, Problem(code=TRUNCATED, path=(), requirement="complete_reply")
    try:
        return decode_value(raw, max_bytes=MAX_REPLY_BYTES, canonical=False), None
    except LimitExceeded:
        requirement = f"at_most {MAX_REPLY_BYTES} bytes"
    except InvalidError:
        requirement = "one_json_document_of_the_accepted_subset"
    return None, Problem(code=NOT_JSON, path=(), requirement=requirement)
