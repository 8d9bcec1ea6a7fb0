"""The documents of a publication as the swift pass reads and writes them.

What the state determines is written out here in its canonical form and compared with the
bytes that are stored; what nothing determines stands between two determined parts, is read
into a strict type, and must give the same bytes when it is written again. Names and digests
need no escapes, by their patterns, so that they stand as they are. The forms here are tested
against the types that define them; were one wrong, no frame would match it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from vstore.evidence.documents import RULES
from vstore.objects.ids import Digest, ObjectId
from vstore.package.documents import Event, Generation

if TYPE_CHECKING:
    from vstore.evidence.state import EvidenceState

__all__ = [
    "INDEX",
    "Figures",
    "Form",
    "GenerationForm",
    "Member",
    "between",
    "index_bytes",
    "payload_bytes",
    "read_events",
    "record_bytes",
    "reply_head",
    "request_head",
]

#: The artifact that tool results change.
INDEX: Final = "evidence_index"
#: What stands before and behind a member of a document.
Form = tuple[bytes, bytes]


_events: Final = msgspec.json.Decoder(list[Event]).decode
_encode: Final = msgspec.json.Encoder(order="sorted", enc_hook=str.__str__).encode


def between(document: bytes, around: Form) -> bytes:
    """What a document has between two parts.

    Raises:
        ValueError: It doesn't begin and end with them.
    """
    before, after = around
    end = len(document) - len(after)
    if end < len(before) or not (document.startswith(before) and document.endswith(after)):
        raise ValueError("another form")
    return document[len(before) : end]


def read_events(raw: bytes) -> list[Event]:
    """The events of a generation.

    Raises:
        msgspec.DecodeError, ValueError: They are not valid or not canonical.
    """
    events = _events(raw)
    if _encode(events) != raw:
        raise ValueError("not canonical")
    return events


def request_head(state: EvidenceState, revision: int, generation: ObjectId) -> bytes:
    """A request up to its queries."""
    return (
        f'{{"analysis_revision":{revision},"case_id":"{state.case_id}",'
        f'"generation":"{generation}","package_id":"{state.package_id}","queries":'
    ).encode()


def reply_head(request: ObjectId, generation: ObjectId) -> bytes:
    """A reply up to its results."""
    return f'{{"generation":"{generation}","request":"{request}","results":'.encode()


def payload_bytes(state: EvidenceState, revision: int, queries: bytes, results: bytes) -> bytes:
    """What :func:`vstore.evidence.payload.tool_payload` gives the digest of."""
    return b'%b%b,"results":%b,"schema":"evidence-payload-v1"}' % (
        f'{{"analysis_revision":{revision},"case_id":"{state.case_id}",'
        f'"package_id":"{state.package_id}","queries":'.encode(),
        queries,
        results,
    )


class Member(NamedTuple):
    """What one record has of its own."""

    record_id: str
    hypothesis_id: str
    action_id: str
    content: ObjectId
    duplicate_of: str | None
    novel: list[Digest]
    score: int
    #: Its position in the reply.
    position: int


def record_bytes(
    state: EvidenceState,
    revision: int,
    operation_id: str,
    pair: Sequence[ObjectId],
    one: Member,
) -> bytes:
    """An ``evidence-record-v1``.

    Args:
        state: The evidence before it.
        revision: The analysis revision.
        operation_id: Of the publication.
        pair: The ids of request and reply, perhaps with others behind.
        one: The rest.
    """
    duplicate = "null" if one.duplicate_of is None else f'"{one.duplicate_of}"'
    novel = '"' + '","'.join(one.novel) + '"' if one.novel else ""
    return (
        f'{{"action_id":"{one.action_id}","analysis_revision":{revision},'
        f'"case_id":"{state.case_id}","content":"{one.content}","duplicate_of":{duplicate},'
        f'"hypothesis_id":"{one.hypothesis_id}","id":"{one.record_id}","novel_atoms":[{novel}],'
        f'"novelty_score":{one.score},"operation_id":"{operation_id}",'
        f'"origin":{{"kind":"tool","position":{one.position},"reply":"{pair[1]}",'
        f'"request":"{pair[0]}"}},"package_id":"{state.package_id}",'
        '"schema":"evidence-record-v1"}'
    ).encode()


class Figures(NamedTuple):
    """What an index says of the evidence with its own records."""

    next_id: str
    records: int
    distinct_atoms: int
    retained_bytes: int
    root: Digest


def index_bytes(
    state: EvidenceState,
    revision: int,
    operation_id: str,
    payload: Digest,
    records: Sequence[tuple[str, ObjectId]],
    figures: Figures,
) -> bytes:
    """An ``evidence-index-v1``.

    Args:
        state: The evidence before it.
        revision: The analysis revision.
        operation_id: Of the publication.
        payload: Digest of what was to be stored.
        records: Number and object id of each record.
        figures: Of the evidence after it.
    """
    parent = "null" if state.head is None else f'"{state.head}"'
    listed = ",".join([f'{{"id":"{name}","object":"{oid}"}}' for name, oid in records])
    return (
        f'{{"analysis_revision":{revision},"case_id":"{state.case_id}","count":{figures.records},'
        f'"distinct_atoms":{figures.distinct_atoms},"next_id":"{figures.next_id}",'
        f'"operation_id":"{operation_id}","package_id":"{state.package_id}","parent":{parent},'
        f'"payload":"{payload}","records":[{listed}],'
        f'"retained_bytes":{figures.retained_bytes},"rules":"{RULES}",'
        f'"schema":"evidence-index-v1","sequence":{state.sequence + 1},'
        f'"tree":{{"root":"{figures.root}","size":{figures.records}}}}}'
    ).encode()


class GenerationForm:
    """Generations that differ from this one by tool results alone, or by another artifact.

    Args:
        parent: The generation that others follow; not blocked.
        artifact: The one that is another.
    """

    def __init__(self, parent: Generation, artifact: str = INDEX) -> None:
        self.parent = parent
        others = sorted(name for name in parent.artifacts if name != artifact)
        before = [f'"{name}":"{parent.artifacts[name]}",' for name in others if name < artifact]
        after = [f',"{name}":"{parent.artifacts[name]}"' for name in others if name > artifact]
        attachments = "null" if parent.attachments is None else f'"{parent.attachments}"'
        snapshots = _encode(parent.snapshots).decode()
        self._begin = (
            f'{{"analysis_revision":{parent.analysis_revision},"artifacts":'
            f'{{{"".join(before)}"{artifact}":"'
        )
        self._middle = (
            f'"{"".join(after)}}},"attachments":{attachments},"blocked":null,'
            f'"case_id":"{parent.case_id}","declared":{{"{artifact}":["'
        )
        self._inputs = f'}},"inputs":"{parent.inputs}","package_generation":'
        self._package = f',"package_id":"{parent.package_id}","parent":"'
        self._end = (
            f'","schema":"package-generation-v1","snapshots":{snapshots},"state":"{parent.state}"}}'
        )

    def around_events(self, parent: ObjectId, size: int, root: Digest, index: ObjectId) -> Form:
        """A generation around its events.

        Args:
            parent: The id of the generation that it follows.
            size: How many generations there are before it.
            root: Root of the Merkle tree over those.
            index: Its evidence index, or the other artifact.
        """
        return (
            f'{self._begin}{index}{self._middle}{index}"]}},"events":'.encode(),
            (
                f',"history":{{"root":"{root}","size":{size}{self._inputs}{size + 1}'
                f"{self._package}{parent}{self._end}"
            ).encode(),
        )
