"""One batch as a caller handed it in, and what must hold of it before it is planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from vstore.budget.ledger import find_reservation
from vstore.controller.projection import Projection
from vstore.errors import (
    InvalidError,
    MissingReservation,
    StaleGeneration,
    VStoreError,
)
from vstore.evidence.content import envelope
from vstore.evidence.documents import EvidenceContent, ToolOrigin
from vstore.evidence.index import Draft, Publication
from vstore.evidence.payload import tool_payload
from vstore.objects.canonical import decode, encode
from vstore.objects.document import Document
from vstore.objects.ids import Digest, ObjectId, object_id
from vstore.objects.plain_json import encode_value
from vstore.objects.sealed import Sealed, seal
from vstore.package.pinned import PinnedPackage
from vstore.tools.reply import ReplyEnvelope, ToolReply
from vstore.tools.request import ToolRequest, operation_of

__all__ = [
    "Batch",
    "Split",
    "check_generation",
    "check_identity",
    "check_reservations",
    "documents_of",
    "drafts_of",
    "payload_of",
    "read_batch",
    "split_reply",
]


class Batch(msgspec.Struct, frozen=True):
    """A request and the reply to it, as a caller gave them."""

    request: Sealed[ToolRequest]
    #: The reply as it was given, whatever it holds.
    reply: ToolReply | dict[str, Any]
    #: Its canonical bytes; empty where it has none.
    encoded: bytes


class Split(msgspec.Struct, frozen=True):
    """A reply split for storage."""

    envelope: Sealed[ReplyEnvelope]
    #: Per position, None for an error result.
    contents: list[Sealed[EvidenceContent] | None]
    #: What makes a repeat recognisable.
    payload: Digest


def read_batch(request: ToolRequest, reply: ToolReply | dict[str, Any]) -> Batch:
    """Read a request and take the bytes of the reply to it, believing neither.

    Args:
        request: What was asked.
        reply: What was answered, as the router gave it or as plain JSON.

    Raises:
        InvalidError: The request is malformed. A malformed reply is no error here: it differs
            from every true one.
    """
    encoded = encode(request)
    sealed = Sealed(decode(encoded, ToolRequest), encoded, object_id(encoded))
    try:
        bytes_of_reply = encode(reply) if isinstance(reply, ToolReply) else encode_value(reply)
    except InvalidError:
        bytes_of_reply = b""
    return Batch(sealed, reply, bytes_of_reply)


def split_reply(request: ToolRequest, reply: ToolReply) -> Split:
    """Split a reply for storage.

    Raises:
        InvalidError: It isn't well-formed.
    """
    document, contents = envelope(reply.request, reply)
    return Split(seal(document), contents, tool_payload(request, document))


def payload_of(batch: Batch) -> Digest:
    """What a batch would store as, for comparing it with what was stored before.

    Empty where the reply isn't well-formed: equal to no payload that was ever stored.
    """
    try:
        reply = decode(batch.encoded, ToolReply)
        return split_reply(batch.request.document, reply).payload
    except InvalidError:
        return ""


def check_identity(package: PinnedPackage, request: ToolRequest) -> None:
    """Refuse a request about another case, package or analysis revision.

    Raises:
        InvalidError: It is (``identity_mismatch``); ``member`` names what differs.
    """
    for name, expected in (
        ("case_id", package.case_id),
        ("package_id", package.package_id),
        ("analysis_revision", package.revision),
    ):
        if getattr(request, name) != expected:
            raise InvalidError(
                f"the request's {name} is not the package's",
                kind="identity_mismatch",
                hint="make the request from the package that it is about",
                member=name,
            )


def check_generation(
    package: PinnedPackage, generation: object, *, unknown_is_forged: bool
) -> None:
    """Refuse what is bound to another generation than the head.

    Args:
        package: The head.
        generation: What the request or the reply names, whatever it holds.
        unknown_is_forged: Leave a generation that the package never had to the comparison of
            the whole reply, which says where it differs.

    Raises:
        StaleGeneration: It is an earlier one of this package.
        InvalidError: The package never had it (``unknown_generation``).
    """
    if generation == package.generation_id:
        return
    if isinstance(generation, str) and _is_earlier(package, generation):
        raise StaleGeneration(
            f"asked at an earlier generation than {package.number}, the current one",
            hint="asking again is enough",
            current=package.generation_id,
        )
    if not unknown_is_forged:
        raise InvalidError(
            "the request is bound to a generation that this package never had",
            kind="unknown_generation",
            hint="make the request from the package that it is about",
        )


def _is_earlier(package: PinnedPackage, generation: str) -> bool:
    try:
        oid = ObjectId.parse(generation)
        from vstore.package.documents import Generation

        document = package.objects.document(oid, Generation)
    except VStoreError:
        return False
    return document.package_generation < package.number


def check_reservations(projection: Projection, revision: int, request: ToolRequest) -> None:
    """Refuse queries without a reserved action of their own.

    Args:
        projection: The evidence and the ledger as of the head.
        revision: The analysis revision, 1 or more.
        request: The batch.

    Raises:
        MissingReservation: An action isn't reserved for its query, has a record, or stands in
            the batch twice.
    """
    batch: set[str] = set()
    for query in request.queries:
        find_reservation(
            projection.ledger,
            revision,
            query.hypothesis_id,
            query.action_id,
            operation_of(query.arguments),
        )
        if query.action_id in batch or projection.evidence.recorded(revision, query.action_id):
            raise MissingReservation(
                f"action {query.action_id} can have only one record",
                kind="action_recorded",
                hint="reserve another action for another query",
                action_id=query.action_id,
            )
        batch.add(query.action_id)


def drafts_of(batch: Batch, split: Split) -> list[Draft]:
    """What is to become records: one for each result that is no error.

    Args:
        batch: What was asked.
        split: What was answered.
    """
    return [
        Draft(
            hypothesis_id=query.hypothesis_id,
            action_id=query.action_id,
            content=content,
            origin=ToolOrigin(request=batch.request.id, reply=split.envelope.id, position=position),
        )
        for position, (query, content) in enumerate(
            zip(batch.request.document.queries, split.contents, strict=True)
        )
        if content is not None
    ]


def documents_of(batch: Batch, split: Split, planned: Publication) -> Sequence[Sealed[Document]]:
    """Everything that a publication adds, in the order of its making."""
    return [
        batch.request,
        split.envelope,
        *(one for one in split.contents if one is not None),
        *planned.records,
        planned.index,
    ]
