"""Documents as people and automata write them: white space free, what is known left out.

A draft is an answer that nobody has confirmed. Whatever a draft says about who confirmed it
and when is dropped: the command that confirms fills both in. A confirmation is recognised
again by its draft, so that a second try at another second is no conflict (spec: handoff).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from vstore.errors import InvalidError
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest, Attachment
from vstore.handoff.matching import IDENTITIES
from vstore.objects.canonical import decode, to_value
from vstore.objects.document import Document, schema_name
from vstore.objects.ids import Digest, ObjectId, digest_of
from vstore.objects.plain_json import decode_value, encode_value

__all__ = [
    "CONFIRMATION",
    "draft_digest",
    "draft_template",
    "read_draft",
    "read_object",
    "read_request",
]

D = TypeVar("D", bound=Document)

#: The members that only a confirmation fills in.
CONFIRMATION: Final = ("confirmed_by", "confirmed_at")


def read_object(data: bytes, *, max_bytes: int) -> dict[str, Any]:
    """The JSON object of a file that a person or an automaton wrote.

    Args:
        data: JSON in any layout.
        max_bytes: Refuse more than this, 1 or more.

    Raises:
        LimitExceeded: It has more.
        InvalidError: Not JSON, or no object.
    """
    value = decode_value(data, max_bytes=max_bytes, canonical=False)
    if type(value) is not dict:
        raise InvalidError("not a JSON object", kind="invalid_document")
    return value


def read_request(value: Mapping[str, Any], known: Mapping[str, object]) -> AsyncTestRequest:
    """A request from what its author wrote and what the case knows.

    Args:
        value: The author's members.
        known: Members that are filled in where the author left them out.

    Raises:
        InvalidError: Not a request, or a member that no request has.
    """
    defaults = {"prerequisites": [], "environment": [], **known}
    return _complete({**defaults, **value}, AsyncTestRequest)


def read_draft(
    value: Mapping[str, Any],
    request: AsyncTestRequest,
    stored: Iterable[Attachment],
    *,
    confirmed_by: str,
    confirmed_at: str,
) -> AsyncTestFeedback:
    """The answer that a confirmation of a draft would store.

    The draft says which request its author saw, and who tested; identities and the sizes
    and types of attachments may be left out.

    Args:
        value: The draft. Its own claims to be confirmed count for nothing.
        request: The request that it is compared with.
        stored: The attachments of that request.
        confirmed_by: Who confirms.
        confirmed_at: When.

    Raises:
        InvalidError: Not an answer, or a member that no answer has.
    """
    members: dict[str, Any] = {
        "environment": [],
        "remarks": None,
        "observations": [],
        "attachments": [],
        **{name: getattr(request, name) for name in IDENTITIES},
        **value,
        "confirmed_by": confirmed_by,
        "confirmed_at": confirmed_at,
    }
    if type(members["attachments"]) is list:
        found = {(str(one.object), one.name): one for one in stored}
        members["attachments"] = [_attachment(one, found) for one in members["attachments"]]
    if type(members["observations"]) is list:
        members["observations"] = [
            {"id": None, "attachments": [], **one} if type(one) is dict else one
            for one in members["observations"]
        ]
    return _complete(members, AsyncTestFeedback)


def _attachment(value: Any, stored: Mapping[tuple[str, str], Attachment]) -> Any:
    if type(value) is not dict:
        return value
    oid, name = value.get("object"), value.get("name")
    if not isinstance(oid, str) or not isinstance(name, str):
        return value
    known = stored.get((oid, name))
    return value if known is None else {**to_value(known), **value}


def draft_template(
    request: AsyncTestRequest, request_ref: ObjectId, stored: Iterable[Attachment]
) -> dict[str, Any]:
    """A draft to be filled in: who tested, and what was observed, are left empty.

    Args:
        request: What is to be answered.
        request_ref: Its object id.
        stored: The attachments of that request.
    """
    return {
        "schema": schema_name(AsyncTestFeedback),
        "request": str(request_ref),
        **{name: getattr(request, name) for name in IDENTITIES},
        "tester_id": "",
        "environment": to_value(request.environment),
        "outcome": "completed",
        "remarks": None,
        "observations": [
            {"id": one.id, "text": "", "attachments": []} for one in request.observations
        ],
        "attachments": [to_value(one) for one in stored],
    }


def draft_digest(feedback: AsyncTestFeedback) -> Digest:
    """What a repeated confirmation is recognised by: the answer without who and when.

    The BLAKE3 digest of the canonical answer without its ``confirmed_by`` and
    ``confirmed_at``.
    """
    value = to_value(feedback)
    for name in CONFIRMATION:
        del value[name]
    return digest_of(encode_value(value))


def _complete(value: Mapping[str, Any], kind: type[D]) -> D:
    return decode(encode_value({"schema": schema_name(kind), **value}), kind)
