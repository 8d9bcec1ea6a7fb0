"""Reading requests and replies for the swift pass: valid, canonical, and for each other.

As for contents, a narrow type stands for the real one: members that are compared with what
is known to be valid anyway are plain texts, all others are the real ones. What the narrow
one, written again, gives is the canonical form of a valid document.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from vstore.objects.canonical import encode
from vstore.objects.document import Count
from vstore.objects.ids import Digest, digest_of
from vstore.package.documents import Event
from vstore.tools.reply import Failure, Page, Truncation
from vstore.tools.request import Arguments, QueryLimits

__all__ = ["Query", "Reply", "Request", "Result", "payload_of", "read_events", "read_pair"]


class _Narrow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    pass


class Query(_Narrow):
    """A query of a request; hypothesis and action are compared with a reservation."""

    action_id: str
    arguments: Arguments
    contract: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,63}/[0-9]{1,4}\Z")]
    hypothesis_id: str
    limits: QueryLimits


class Request(_Narrow):
    """A request; what it is bound to is compared with the state."""

    analysis_revision: int
    case_id: str
    generation: str
    package_id: str
    queries: Annotated[list[Query], msgspec.Meta(min_length=1, max_length=100)]
    schema: Literal["tool-request-v1"]


class Result(_Narrow):
    """A result; the rest is compared with its query and its content."""

    action_id: str
    content: str | None
    error: Failure | None
    operation: str
    order: list[Count] | None
    page: Page | None
    provider: str
    status: Literal["ok", "error"]
    truncated: Truncation | None


class Reply(_Narrow):
    """A reply; what it is to is compared with the request."""

    generation: str
    request: str
    results: list[Result]
    schema: Literal["tool-reply-v1"]


class _Payload(_Narrow):
    analysis_revision: int
    case_id: str
    package_id: str
    queries: list[Query]
    results: list[Result]
    schema: Literal["evidence-payload-v1"]


class _Stated(msgspec.Struct, gc=False):
    """What a generation states and nothing else determines; the rest of it is passed over."""

    events: list[Event]


_request: Final = msgspec.json.Decoder(Request).decode
_reply: Final = msgspec.json.Decoder(Reply).decode
_stated: Final = msgspec.json.Decoder(_Stated).decode


def read_pair(request: bytes, reply: bytes) -> tuple[Request, Reply] | None:
    """A request and the reply to it, as far as they are canonical; else None.

    Raises:
        msgspec.DecodeError, UnicodeError: They are something else.
    """
    asked, answered = _request(request), _reply(reply)
    if encode(asked) != request or encode(answered) != reply:
        return None
    return asked, answered


def read_events(generation: bytes) -> list[Event]:
    """The events of a generation, each valid; whether it is one is not looked at.

    Raises:
        msgspec.DecodeError, UnicodeError: It has none, or they are not valid.
    """
    return _stated(generation).events


def payload_of(request: Request, reply: Reply) -> Digest:
    """As :func:`vstore.evidence.payload.tool_payload`."""
    return digest_of(
        encode(
            _Payload(
                request.analysis_revision,
                request.case_id,
                request.package_id,
                request.queries,
                reply.results,
                "evidence-payload-v1",
            )
        )
    )
