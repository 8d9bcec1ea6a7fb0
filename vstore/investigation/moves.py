"""Whether the next query's arguments are those of its operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from vstore.investigation.readable import Readable
from vstore.investigation.rejection import NEXT_ARGUMENTS, Problem
from vstore.investigation.reply_parts import Finish, Query, Test
from vstore.tools.request import Arguments

__all__ = ["arguments_of", "move_problems"]


def arguments_of(query: Query) -> Arguments:
    """The arguments of a query as a tool takes them, defaults filled in.

    Raises:
        ValueError: They aren't those of the operation.
    """
    if "operation" in query.arguments:
        raise ValueError("the operation stands beside its arguments")
    value: dict[str, Any] = {**query.arguments, "operation": query.operation}
    found: Arguments = msgspec.convert(value, Arguments)
    return found


def move_problems(reply: Readable) -> Iterator[Problem]:
    """The arguments of the next query must be those of its operation."""
    move = reply.get(("next",), Query | Test | Finish)  # type: ignore[arg-type]
    if not isinstance(move, Query):
        return
    try:
        arguments_of(move)
    except (TypeError, ValueError, RecursionError):
        yield Problem(
            code=NEXT_ARGUMENTS,
            path=("next", "arguments"),
            requirement=f"arguments_of {move.operation}",
        )
