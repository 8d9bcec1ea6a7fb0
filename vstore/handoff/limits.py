"""Operational limits of the test handoff: settings of whoever writes, never of the format."""

from __future__ import annotations

from dataclasses import dataclass, fields

from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.document import MAX_INTEGER

__all__ = ["HandoffLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffLimits:
    """How large requests, answers and attachments may be; each 1 or more.

    Attributes:
        max_json_bytes: Bytes of a request or an answer.
        max_attachment_bytes: Bytes of one attachment.
        max_attachments: Attachments of one request.

    Raises:
        InvalidError: A limit is no integer of that range.
    """

    max_json_bytes: int = 1 << 20
    max_attachment_bytes: int = 2 << 30
    max_attachments: int = 1_000

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if type(value) is not int or not 1 <= value <= MAX_INTEGER:
                raise InvalidError(f"{one.name} is an integer from 1", kind="invalid_limit")

    def check(self, limit: str, asked: int) -> None:
        """Refuse what passes a limit.

        Args:
            limit: The limit's name.
            asked: What was asked for, 0 or more.

        Raises:
            LimitExceeded: It is more.
        """
        value: int = getattr(self, limit)
        if asked > value:
            raise LimitExceeded(
                f"{asked} is more than {limit} = {value}", limit=limit, value=value, asked=asked
            )
