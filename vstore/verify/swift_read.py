"""Reading publications for the swift pass, as far as that needs no other frame.

What can be said of a frame alone is said here: digests, that request, reply and contents are
valid and canonical, that results are those of their queries, which atoms contents have. All
of it is plain tuples, texts and numbers, so that another process may have read it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from blake3 import blake3

from vstore.objects.document import Count
from vstore.objects.frame import FrameSummary
from vstore.objects.ids import ObjectId
from vstore.tools.reply import Failure, Page, Truncation
from vstore.tools.request import (
    Arguments,
    DatabaseRows,
    DatabaseSchema,
    QueryLimits,
    operation_of,
)
from vstore.verify.checks.replies import KIND_OF
from vstore.verify.swift_contents import ContentReader, ReadContent

__all__ = ["REPLY_END", "REQUEST_END", "Answer", "Publication", "PublicationReader"]

REQUEST_END: Final = b',"schema":"tool-request-v1"}'
REPLY_END: Final = b',"schema":"tool-reply-v1"}'
_QUERIES: Final = b'"queries":'
_RESULTS: Final = b'"results":'

_id: Final = str.__new__


class Answer(NamedTuple):
    """A query and the result of it, which fit each other."""

    hypothesis_id: str
    action_id: str
    operation: str
    #: The kind of content that the operation yields.
    content_kind: str
    #: Name of the snapshot that was asked, and ``source`` or ``database``.
    snapshot: str
    snapshot_kind: str
    #: None for an error.
    content: ObjectId | None
    #: What the page says that it returned, or None without one.
    returned: int | None
    order: list[int] | None
    #: Canonical bytes.
    truncated: bytes


class Publication(NamedTuple):
    """A frame with a request, a reply, their contents, and other documents."""

    ids: list[ObjectId]
    sizes: list[int]
    #: The request and the reply up to their queries and results, and those.
    request: bytes
    queries: bytes
    reply: bytes
    results: bytes
    answers: list[Answer]
    #: In the order of the frame.
    contents: list[ReadContent]
    #: The documents behind the contents.
    rest: list[bytes]


class _Narrow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    pass


class _Query(_Narrow):
    # Hypothesis and action are compared with a reservation, whose names are valid.
    action_id: str
    arguments: Arguments
    contract: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,63}/[0-9]{1,4}\Z")]
    hypothesis_id: str
    limits: QueryLimits


class _Result(_Narrow):
    # What is a text here is compared with the query or with the content.
    action_id: str
    content: str | None
    error: Failure | None
    operation: str
    order: list[Count] | None
    page: Page | None
    provider: str
    status: Literal["ok", "error"]
    truncated: Truncation | None


_decode_queries: Final = msgspec.json.Decoder(
    Annotated[list[_Query], msgspec.Meta(min_length=1, max_length=100)]
).decode
_decode_results: Final = msgspec.json.Decoder(list[_Result]).decode
_encode: Final = msgspec.json.Encoder(order="sorted", enc_hook=str.__str__).encode


class PublicationReader:
    """Reads publications; remembers what their contents share."""

    def __init__(self) -> None:
        self.contents = ContentReader()

    def read(self, frame: FrameSummary, payload: bytes) -> Publication | None:
        """A publication of tool results; None where a frame is none that is surely in order.

        Args:
            frame: Its header, already checked.
            payload: The uncompressed objects.
        """
        try:
            return self._read(frame, payload)
        except Exception:  # noqa: BLE001 - whatever it is, the careful checks will say it
            return None

    def _read(self, frame: FrameSummary, payload: bytes) -> Publication | None:
        count, large = frame.counts
        if frame.features or large or count < 5:
            return None
        raws, kinds, states, offsets, sizes = zip(*frame.raw_entries(), strict=True)
        if not payload[: sizes[0]].endswith(REQUEST_END):
            return None
        if kinds != (1,) * count or any(states):
            return None
        documents = [payload[at : at + size] for at, size in zip(offsets, sizes, strict=True)]
        if not frame.derived and [blake3(one).digest() for one in documents] != list(raws):
            return None
        if len(set(raws)) != count or not documents[1].endswith(REPLY_END):
            return None
        ids = [_id(ObjectId, "b3:" + raw.hex()) for raw in raws]
        at, to = documents[0].index(_QUERIES) + len(_QUERIES), documents[1].index(_RESULTS)
        to += len(_RESULTS)
        queries, results = documents[0][at : -len(REQUEST_END)], documents[1][to : -len(REPLY_END)]
        answers = _answers(queries, results)
        new = _new_contents(ids, answers)
        return Publication(
            ids,
            list(sizes),
            documents[0][:at],
            queries,
            documents[1][:to],
            results,
            answers,
            [self.contents.read(one) for one in documents[2 : 2 + new]],
            documents[2 + new :],
        )


def _answers(queries: bytes, results: bytes) -> list[Answer]:
    asked, answered = _decode_queries(queries), _decode_results(results)
    if _encode(asked) != queries or _encode(answered) != results:
        raise ValueError("not canonical")
    return [_answer(query, result) for query, result in zip(asked, answered, strict=True)]


def _answer(query: _Query, result: _Result) -> Answer:
    arguments = query.arguments
    operation = operation_of(arguments)
    success = result.content is not None
    if (
        result.action_id != query.action_id
        or result.operation != operation
        or result.provider != query.contract
        or (result.status == "ok") != success
        or (result.error is None) != success
        or not (success or result.order is None)
    ):
        raise ValueError("a result of another query, or one that is and is not an error")
    if isinstance(arguments, DatabaseRows | DatabaseSchema):
        name, kind = arguments.database, "database"
    else:
        name, kind = arguments.source, "source"
    return Answer(
        query.hypothesis_id,
        query.action_id,
        operation,
        KIND_OF[operation],
        name,
        kind,
        result.content,  # type: ignore[arg-type]  # compared with ids before it is one
        None if result.page is None else result.page.returned,
        result.order,
        _encode(result.truncated),
    )


def _new_contents(ids: list[ObjectId], answers: list[Answer]) -> int:
    """How many contents stand in a frame, in the order in which its reply first names them."""
    place = 2
    for oid in dict.fromkeys(one.content for one in answers):
        if ids[place] == oid:
            place += 1
    return place - 2
